/*
 * frontier_load -- what the parts of the load generator share; see
 * frontier_load.c.
 *
 * A run is a list of steps.  Each begins something, returns, and calls
 * load_next() when it is over.
 *
 * URLs are numbers.  Text, key and queue follow from the number, so that an
 * answer of the server can be checked without remembering what was sent.
 *
 * Thread: the loop's.
 */
#ifndef BENCH_FRONTIER_LOAD_H
#define BENCH_FRONTIER_LOAD_H

#include "server/grpc_port.h"
#include "wire/urlfrontier/urlfrontier.pb-c.h"

/*  name       default    what it is */
#define LOAD_OPTIONS(X)                                                      \
	X(count,      100000, "items to put, or calls to make")               \
	X(seconds,    120,    "when to stop all the same")                    \
	X(queues,     1000,   "queues that the URLs lie in, in turn")         \
	X(from,       0,      "URLs 0 to N - 1 are at the server already")    \
	X(streams,    1,      "put: streams, each on its own connection")     \
	X(window,     10000,  "put: items of a stream that are not answered") \
	X(batch,      0,      "put: items of a batch; 0: PutURLs")            \
	X(known,      0,      "put: per cent of items that are no news")      \
	X(later,      0,      "put: per cent of queues with nothing due")     \
	X(workers,    1,      "get: clients, each on its own connection")     \
	X(queues_max, 10,     "get: max_queues")                              \
	X(urls_max,   10,     "get: max_urls_per_queue")                      \
	X(lease,      30,     "get: delay_requestable, in seconds")           \
	X(delay,      0,      "get: the pause of all queues, in seconds")     \
	X(answer,     1,      "get: put each URL as known, due in an hour")   \
	X(control,    0,      "get: ms between calls of control; 0: none")

struct load_options {
#define LOAD_FIELD(name, value, help) uint64_t name;
	LOAD_OPTIONS(LOAD_FIELD)
#undef LOAD_FIELD
};

#define LOAD_PORTS_MAX 64
#define LOAD_TEXT_MAX 100           /* a URL, a key or an ID, with its NUL */
#define LOAD_LATER_S 3600
#define LOAD_UPDATES 4              /* of one URL, in mode updates */

/* What must be true of a URL in the end. */
struct load_sample {
	uint64_t url, date_s;
};

extern struct load {
	struct load_options o;
	const char *mode;
	struct loop *loop;
	struct net *net;
	struct net_target target;
	struct grpc_port *ports[LOAD_PORTS_MAX];   /* NULL: closed */
	size_t ports_n;
	void (*const *step)(void);
	bool over;                  /* nothing matters any more */
	bool may_close;             /* a closed connection is no failure */
	struct mono until;          /* when --seconds are over */
	uint64_t now_s;             /* UTC, when the run began */
	char failed[500];
	struct buf json;            /* what is told, after the mode */
	uint64_t wrong;             /* answers that must not be */
	uint64_t created;           /* records that this run made */
	int64_t *took_ns;
	size_t took_n, took_cap;
	struct load_sample *samples;
	size_t samples_n, samples_cap;
} load;

/* --- steps ---------------------------------------------------------------- */

void load_next(void);
/* The run ends here; the first reason is told. */
void load_fail(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* Whether --seconds are over. */
bool load_is_late(void);

void load_put(void);
void load_get(void);

/* --- calls ---------------------------------------------------------------- */

/* NULL: the run has failed. */
struct grpc_call *load_call(size_t port, const char *rpc,
    const struct grpc_events *, void *arg);
enum grpc_room load_send(struct grpc_call *, const ProtobufCMessage *);
/* `text` is the message, or what the server said instead. */
typedef void load_answer(uint64_t tag, enum grpc_code, struct str text);
/* One message and half-close, on the first port. */
void load_ask(const char *rpc, const ProtobufCMessage *, load_answer *,
    uint64_t tag);
/* False when the code is not OK, and the run has failed. */
bool load_is_ok(const char *rpc, enum grpc_code, struct str text);
/* For unpack; what was unpacked before it is gone. */
ProtobufCAllocator *load_allocator(void);

/* --- URLs ----------------------------------------------------------------- */

/* A permutation of 64 bits that looks random. */
uint64_t load_mix(uint64_t);
uint64_t load_queue(uint64_t url);
/* Texts of one length each, with their NUL. */
void load_url_text(uint64_t url, char out[static LOAD_TEXT_MAX]);
void load_key_text(uint64_t queue, char out[static LOAD_TEXT_MAX]);
void load_id_text(uint64_t n, char out[static LOAD_TEXT_MAX]);
/* False when it is none of ours. */
bool load_url_read(const char *text, uint64_t *url);
/* Set the bit; what it was. */
bool load_bit(uint64_t *bits, uint64_t at);
uint64_t *load_bits(uint64_t n);

/* --- results -------------------------------------------------------------- */

void load_tell(const char *name, uint64_t);
void load_tell_real(const char *name, double);
/* The same, and each of them is wrong. */
void load_tell_wrong(const char *name, uint64_t);
void load_took(int64_t ns);
/* Median, 99 %, most and sum of what took how long; they are forgotten. */
void load_tell_took(void);
void load_expect(uint64_t url, uint64_t date_s);

#endif
