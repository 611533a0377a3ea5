/*
 * backend_call -- one HTTP request of a command to a back end, with the header
 * fields and certificates of its entry in external.backends_file.
 *
 * Redirects are not followed and nothing is repeated.  TLS is 1.2 or newer, and
 * certificate and name are verified; plain HTTP goes to loopback only.
 *
 * Thread: the main one; blocks.
 * Limits: BACKEND_CALL_...
 * Source: contracts/external.md §1, §10.
 */
#ifndef CLI_BACKEND_CALL_H
#define CLI_BACKEND_CALL_H

#include "engine/backends/backends.h"

#define BACKEND_CALL_REPLY_BYTES_MAX ((size_t)4 << 20)
#define BACKEND_CALL_HEAD_BYTES_MAX 65536u

struct backend_call {
	const struct backend *backend;
	const char *method;
	const struct url *url;
	struct str body;             /* JSON */
	int64_t total_ms;
	/* The answer. */
	int status;
	struct str reply;            /* decoded */
};

/*
 * Make the call.  Memory of the reply: `a`.
 * Errors: UNREACHED: there was no whole answer, and whether the back end has
 * taken the request is not known; DENIED: its address is not allowed; FULL: the
 * answer is longer than BACKEND_CALL_REPLY_BYTES_MAX.
 */
MUST_USE enum err backend_call(struct backend_call *, struct arena *a,
    struct why *);

#endif
