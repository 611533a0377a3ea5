/*
 * exchange -- one request of the items door, from its arrival to its answer.
 *
 *     handler ─► exchange_new() ─► read the request (input.h)
 *                    │                 │
 *                    │                 ├─► exchange_read()    look()
 *                    │                 └─► exchange_write()   work()
 *                    ▼                           │ at home
 *            exchange_refuse()                   ▼
 *            400, 415 ...              then(), or the answer in `out`
 *
 * look() and work() use `in`, `arena` and `out` alone; the request's texts stay
 * as they are meanwhile.  The door waits for every exchange when it drains.
 *
 * Thread: home's, but for look(), want() and work().
 */
#ifndef DOORS_ITEMS_EXCHANGE_H
#define DOORS_ITEMS_EXCHANGE_H

#include "base/json.h"
#include "doors/items/items_door.h"

#define EXCHANGE_LOG_MS 1000

struct exchange {
	struct items_door *door;
	struct web_request *request;
	struct arena arena;
	void *in;                    /* the handler's */
	yyjson_doc *body;            /* NULL: none was read */
	enum err (*look)(struct exchange *, struct item_store *, struct why *);
	void (*want)(struct exchange *, struct item_tx *);
	enum err (*work)(struct exchange *, struct item_tx *, struct why *);
	void (*then)(struct exchange *);     /* NULL: answer with `out` */
	int status;                  /* of an answer that is no error */
	int refusal;                 /* of an error; 0: the error's own */
	const char *refusal_code;
	uint64_t rev;                /* of the ETag; 0: none */
	struct buf out;
	/* Of lists: see list.h. */
	struct str after;
	unsigned limit;
	struct buf next;
	void *more;                  /* list.c's and event_stream.c's; freed
	                              * with the exchange */
	struct items_write write;
	struct items_read read;
};

struct exchange *exchange_new(struct web_request *);
/* After its answer. */
void exchange_free(struct exchange **);

/*
 * Have look() or work() called on its thread, then `then` at home, or answer.
 * An error is answered here, and frees the exchange.  work() may be called
 * again, with `out` empty.
 */
void exchange_read(struct exchange *, enum err (*look)(struct exchange *,
    struct item_store *, struct why *));
/* The same with a done() of the caller's. */
void exchange_read_to(struct exchange *, enum err (*look)(struct exchange *,
    struct item_store *, struct why *), void (*done)(struct items_read *));
void exchange_write(struct exchange *, void (*want)(struct exchange *,
    struct item_tx *), enum err (*work)(struct exchange *, struct item_tx *,
    struct why *));

/* Answer with the JSON in `out`, and free it. */
void exchange_answer(struct exchange *);
/* Answer with a refusal, and free it. */
void exchange_refuse(struct exchange *, enum err, const struct why *);

/*
 * How an error is answered: its status (contracts/items.md §7), its code, and a
 * text without what only the log may have.  The log gets one each
 * EXCHANGE_LOG_MS.
 */
struct exchange_refusal {
	int status;
	char code[24];
	const char *text;
};
struct exchange_refusal exchange_refusal(struct items_door *, enum err,
    const struct why *);
/* Whether it is a fault of the request, after which others go on. */
bool exchange_is_fault(enum err);

/* "2026-11-20T07:00:00.000Z", or null for ITEM_TIME_NONE; a NULL name: the
 * value alone. */
void exchange_put_time(struct buf *, const char *name, struct wall);
/* The error text and code of a refusal as JSON, with more members to follow;
 * the caller closes the object. */
void exchange_put_error(struct buf *, const struct exchange_refusal *);

#endif
