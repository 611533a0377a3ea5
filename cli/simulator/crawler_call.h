/*
 * crawler_call -- HTTP calls to external crawlers, and of a conformance test to
 * either side, on one loop.
 *
 *     start -> [name to addresses] -> exchange -> done
 *
 * Redirects are not followed and nothing is repeated.  Plain HTTP goes to
 * loopback only; over TLS certificate and name are verified.
 *
 * Thread: the loop's.
 * Limits: those of crawler_calls_new(); answers have at most
 * CRAWLER_ANSWER_BYTES_MAX.
 * Source: external.md §10, §12.
 */
#ifndef CLI_SIMULATOR_CRAWLER_CALL_H
#define CLI_SIMULATOR_CRAWLER_CALL_H

#include <yyjson.h>

#include "base/arena.h"
#include "base/err.h"
#include "engine/parser/url.h"
#include "os/loop.h"
#include "wire/http.h"

#define CRAWLER_ANSWER_BYTES_MAX ((size_t)1 << 20)
/* Header fields in an external object's `headers`. */
#define CRAWLER_HEADERS_MAX 32u

struct crawler_calls;

/* The outcome of a call: status 0 and a sentence when there was no answer. */
struct crawler_answer {
	int status;
	struct str body;         /* decoded */
	const char *error;
	const struct http_head *head;    /* NULL when there was no answer */
};

struct crawler_order {
	const char *method;
	const struct url *url;
	yyjson_val *headers;     /* see crawler_check_headers(); or NULL */
	const char *type;        /* of the body; NULL: none */
	const char *key;         /* Idempotency-Key, or NULL */
	struct str body;
	void (*done)(void *arg, const struct crawler_answer *);
	void *arg;
};

/* `agent`, the User-Agent, outlives it.  `ca_file`: certificates that peers
 * are verified against, PEM; NULL: the system's.  `ms` for one call; at most
 * `most` calls at once. */
struct crawler_calls *crawler_calls_new(struct loop *, const char *agent,
    const char *ca_file, int64_t ms, size_t most);
/* Calls under way end with an error: done() is called for each. */
void crawler_calls_free(struct crawler_calls **);

/*
 * Start a call; everything in the order is copied.  done() comes later, never
 * from within, exactly once.  Errors: FULL when `most` calls are under way;
 * done() is not called then.
 */
MUST_USE enum err crawler_call_start(struct crawler_calls *,
    const struct crawler_order *, struct why *);

/* An absolute http or https URL without user and fragment.  Memory: `a`.
 * `field` names it in errors.  Errors: INPUT. */
MUST_USE enum err crawler_read_url(struct str text, const char *field,
    struct arena *a, struct url *out, struct why *);
/*
 * `endpoint` with `suffix` behind its path and version=N behind its query.
 * Memory: `a`.
 */
MUST_USE enum err crawler_make_url(const struct url *endpoint,
    struct str suffix, uint64_t version, struct arena *a, struct url *out,
    struct why *);
/* `headers`: NULL, null, or an object of header fields that may be sent.
 * Errors: INPUT, naming the field; FULL. */
MUST_USE enum err crawler_check_headers(yyjson_val *headers, struct why *);

#endif
