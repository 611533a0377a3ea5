/*
 * platforms -- what the files of the simulator share; see platforms.c.
 *
 * Each connection has a thread.  Whatever the threads share (world, clock,
 * budgets, faults, log) is touched under one lock, which is held while a
 * request is answered and not while the answer is sent.
 */
#ifndef TESTS_PLATFORMS_PLATFORMS_H
#define TESTS_PLATFORMS_PLATFORMS_H

#include "base/arena.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "base/time.h"
#include "wire/oauth1.h"
#include "wire/web/head.h"

/* ---- Numbers that are the same for the same seed ----------------------- */

static inline uint64_t
random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* True in so many of 100 cases. */
static inline bool
random_chance(uint64_t *state, unsigned percent)
{
	return random_next(state) % 100 < percent;
}

/* ---- Clock (clock.c) --------------------------------------------------- */

/* "real", "frozen" or "xN"; `start`: what it shows first, ISO 8601, or NULL.
 * False: it is none of these. */
bool clock_set(const char *mode, const char *start);
struct wall clock_wall(void);
void clock_advance(int64_t s);
/* Wait, in real time. */
void clock_sleep(int64_t ms);

/* ---- Faults (fault.c) -------------------------------------------------- */

enum fault_close { CLOSE_NOT, CLOSE_BEFORE, CLOSE_HEAD, CLOSE_BODY };
enum fault_body { BODY_FINE, BODY_HTML, BODY_PRETTY, BODY_UTF8, BODY_EMPTY };
enum fault_page { PAGE_FINE, PAGE_DUPLICATE, PAGE_OVERLAP, PAGE_REORDERED,
	PAGE_EMPTY, PAGE_LOOP };
enum fault_notice { NOTICE_NONE, NOTICE_LIMIT, NOTICE_DELETE,
	NOTICE_DISCONNECT };
/* Of a WebSocket: pings are not answered; it is closed; messages come in
 * fragments; a cursor is refused; the first messages come twice. */
enum fault_ws { WS_FINE, WS_UNANSWERED, WS_CLOSED, WS_SPLIT, WS_TOO_OLD,
	WS_REPLAY };
enum fault_date { DATE_NONE, DATE_IN, DATE_TEXT };

/* What goes wrong with one request; zeroed: nothing. */
struct fault {
	int status;                  /* in place of the answer's */
	enum fault_date reset;       /* of that status' rate header */
	int64_t reset_s;
	struct str retry_after;      /* as it is sent; or none */
	enum fault_close close;
	bool cuts;
	uint64_t cut;                /* bytes of the body, then the end */
	int64_t stall_ms;            /* once `stall_at` bytes were sent */
	uint64_t stall_at;
	int64_t drip_ms;             /* between two bytes of the body */
	int64_t length;              /* added to Content-Length */
	bool chunked;                /* in any case */
	enum fault_body body;
	enum fault_page page;
	uint64_t big;                /* bytes of the first item */
	bool silent;                 /* a stream sends nothing more */
	enum fault_notice notice;    /* a stream sends it first */
	enum fault_ws ws;
	int ws_code;                 /* of CLOSED; 1006: without a close */
	uint64_t ws_after;           /* messages before */
	bool expire;                 /* the credential, from now on */
	struct str rename, rename_to, suspend;    /* accounts, from now on */
};

/* ---- What worlds and their JSON have in common (world.c) --------------- */

/* A member that is a text, formatted; of up to 511 bytes. */
PRINTF_LIKE(3, 4) void json_format(struct buf *, const char *name,
    const char *fmt, ...);
/* A phrase of plain text, in one of several scripts. */
const char *world_phrase(uint64_t *random);
/* A text of some of them and `big` more bytes as a member. */
void json_phrases(struct buf *, const char *name, uint64_t look, uint64_t big);
/* An id of so many letters, digits, "-" and "_"; `out` has room for a NUL. */
void world_word(uint64_t *random, char *out, size_t n);

/* Of a list's entries those of one page, after what the fault says. */
struct slice {
	size_t at, n;                /* from there on, so many */
	size_t next;                 /* where the next page begins; the number
	                              * of all entries: nowhere */
	bool reversed;
};
void slice_cut(const struct fault *, size_t all, size_t at, size_t most,
    struct slice *);
/* The place in the list of its i-th entry. */
size_t slice_place(const struct slice *, size_t i);

struct request;
/* The plan, a JSON list, in place of the one before.  False, and `fault` says
 * why in a sentence. */
bool fault_plan(struct str json, char sentence[static 200]);
/* `"met":[...]`: of each row, how many requests it has matched. */
void fault_met(struct buf *out);
/* The fault of the first row that matches the request. */
void fault_find(const struct request *, struct fault *);

/* ---- Budgets (budget.c) ------------------------------------------------ */

struct budget {
	uint64_t limit, left;        /* left, this request taken */
	struct wall reset;
	bool exceeded;
};
/* Take one call off the budget of that name: so many in each period. */
void budget_take(struct str name, uint64_t limit, int64_t period_s,
    struct budget *);
/* The same for a period that ends then. */
void budget_take_until(struct str name, uint64_t limit, int64_t ends_s,
    struct budget *);
/* All budgets of so many calls in place of their defaults; 0: the defaults. */
void budget_set(uint64_t limit);

/* ---- A request and its answer (serve.c) -------------------------------- */

struct request {
	struct arena arena;
	struct head head;
	struct str host;             /* without its port, in small letters */
	struct str body;
	uint64_t n;                  /* of all requests, from 1 */
	struct wall now;
	struct fault fault;

	/* The answer. */
	int status;                  /* 0: there is no such thing, 404 */
	const char *type;            /* of the body */
	struct buf fields;           /* "Name: value\r\n" ... */
	struct buf out;
	uint64_t memo;               /* under which it is kept; 0: it is not */
	bool packed;                 /* `out` is gzip already */
	const char *who;             /* whose credential, or NULL */
	/* A stream, in place of `out`: what is new since `stream_at`. */
	void (*stream)(struct request *, struct buf *out);
	size_t stream_at;
	unsigned stream_arg;         /* the platform's */
	const char *heartbeat;       /* what it sends when there is nothing */
	bool stream_packs;           /* it is gzip for those who take it */
	bool stream_over;            /* it ends after what it has sent */
	void (*stream_end)(struct request *);    /* or NULL */
	void *stream_data;           /* the platform's, of the arena */
	/* A WebSocket: `stream` writes a message a line, and what the client
	 * sends goes to `message`; NULL: that is against the protocol. */
	bool socket;
	const char *protocol;        /* that was chosen; or NULL */
	void (*message)(struct request *, struct str);
};

/* ---- Lists that were asked for before (memo.c) ------------------------- */

/* An answer that follows from the URL and the world alone: whether `out` is it,
 * packed.  Else it will be kept. */
bool memo_find(struct request *);
/* `out` is packed. */
void memo_keep(const struct request *);
/* The world has changed. */
void memo_forget(void);

/* The next segment of a path, decoded; false: there is none. */
bool request_segment(struct request *, struct str *path, struct str *segment);
/* The first value of a parameter; false: there is none. */
bool request_param(struct request *, const char *name, struct str *value);
uint64_t request_number(struct request *, const char *name,
    uint64_t otherwise);
/* The token of "Authorization: Bearer", or STR_NONE. */
struct str request_bearer(struct request *);

/* Whether a request is signed by OAuth 1.0a with these keys, and was not seen
 * before (oauth.c). */
bool oauth_is_signed(struct request *, const struct oauth1_keys *);

/* ---- Platforms --------------------------------------------------------- */

struct platform {
	const char *name;
	/* Make the world, at this date. */
	void (*make)(uint64_t seed, struct wall now, unsigned items);
	const char *const *hosts;    /* up to NULL */
	void (*answer)(struct request *);
	/* Show the world to tests, and change it; NULL: not supported. */
	void (*describe)(struct str host, struct buf *out);
	bool (*change)(struct str host, yyjson_val *what,
	    char sentence[static 200]);
};
extern const struct platform *const platforms[];     /* up to NULL */
extern const struct platform bluesky_platform, declared_platform,
    feed_platform,
    flickr_platform, mastodon_platform, tumblr_platform, twitter_platform,
    weibo_platform, youtube_platform;

/* ---- TLS (tls.c) ------------------------------------------------------- */

struct tls;
/*
 * Make an authority of our own, write its certificate to that file, and make a
 * certificate for these names, "DNS:a,DNS:b".  False: it cannot be written.
 */
bool tls_make(const char *ca_file, const char *names);
struct tls *tls_accept(int fd);      /* NULL: no handshake; fd is closed */
/* Bytes read, 0 at the end or when nothing has come for a minute. */
size_t tls_read(struct tls *, char *, size_t n);
/* The same after at most so many ms; 0 and `*ended` unchanged: nothing came. */
size_t tls_poll(struct tls *, char *, size_t n, int ms, bool *ended);
bool tls_write(struct tls *, struct str);
/* Whether the client has sent something, or has left. */
bool tls_has_input(struct tls *);
void tls_close(struct tls *, bool in_order);     /* or as if cut */

/* ---- WebSockets (socket.c) --------------------------------------------- */

/* Whether a request is a handshake. */
bool socket_is_wanted(struct request *);
/* Answer the handshake, and serve until either side ends it. */
void socket_serve(struct tls *, struct request *);
/* What `stream` and `message` do, under the lock (serve.c). */
void serve_news(struct request *, struct buf *out);
void serve_message(struct request *, struct str);

/* Serve one connection until it ends. */
void serve_connection(int fd);
/* Where requests are logged, beside the log that tests ask for; or NULL. */
void serve_log_to(FILE *);

#endif
