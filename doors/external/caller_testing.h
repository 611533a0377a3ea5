/*
 * caller_testing -- for tests of calls: a back end on loopback, whose handlers
 * note what they were sent, and calls that are made to their end.
 */
#ifndef DOORS_EXTERNAL_CALLER_TESTING_H
#define DOORS_EXTERNAL_CALLER_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

#include <cmocka.h>

#include "doors/external/caller.h"
#include "os/clock.h"
#include "server/web.h"

#define SECRET "hush-0123456789"
#define CALLS_MAX 300u
#define BODY "{\"id\":1}\n{\"id\":2}"

/* ---- A back end ------------------------------------------------------ */

/*
 * POST /ok, /slow/MS/X (answered so much later), /abort (not answered),
 * /redirect (307 to /ok), /busy (503 with Retry-After), /big/BYTES,
 * /chunks/BYTES (of unknown length).
 */
extern struct web *server;
/* Handlers that were called; that wait now, and did at most. */
extern atomic_int requests, held, held_most;
/* The last request, and the last letters of the paths of all; to be read after
 * wait_for_calls(). */
struct seen_request {
	char key[64], type[64], coding[64], accept[64], token[64], agent[64];
	char order[CALLS_MAX];
	size_t order_n;
	struct buf body;
};
extern struct seen_request seen;

void open_server(bool tls);
/* Takes no more requests, and waits until none is held. */
void close_server(void);

/* A folder; the server's certificate, which is for 127.0.0.1 and signs itself,
 * and another one. */
extern char folder[64], chain_path[128], other_path[128];
int make_files(void **state);
int remove_files(void **state);

/* ---- Calls ----------------------------------------------------------- */

extern struct loop *home;          /* the test's, which runs it */
extern struct caller *caller;
extern struct backends *set;
extern bool was_stopped;
extern size_t calls_left;

struct made_call {
	struct caller_call call;
	char url[256], reply[4096], retry_after[64];
	size_t reply_n;
	int done_n;
};

/* Make `home` and `caller`; NULL: 10 s for a call. */
void begin_caller(const struct caller_options *);
/* Stop and free them, and release `set`. */
void end_caller(void);
/* stopped(), with the address of `was_stopped`. */
void note_stopped(void *arg);
/*
 * `set` becomes "acme" with that prefix, a secret in Authorization, and `more`
 * members, each after a comma; and "other" with the server's address and a
 * User-Agent.
 */
void know_backends(const char *prefix, const char *more);
/* The same with the server's port. */
void know_server(const char *scheme, const char *host, const char *more);

/* A POST of BODY. */
void prepare_call(struct made_call *, const char *backend, const char *path);
void start_call(struct made_call *);
void wait_for_calls(void);
/* One call of acme's, to its end. */
void make_call(struct made_call *, const char *path);
void turn_home_for(int ms);

#define assert_end(m, word)                                                  \
	do {                                                                 \
		if ((m)->call.end != TRANSPORT_##word)                       \
			fail_msg("ended with %s (%s), expected %s",          \
			    transport_end_word((m)->call.end),               \
			    (m)->call.detail,                                \
			    transport_end_word(TRANSPORT_##word));           \
		assert_true(((m)->call.status == 0) ==                       \
		    ((m)->call.end != TRANSPORT_DONE));                      \
	} while (0)

#endif
