/*
 * backends_own -- what backends.c and backends_read.c share.
 */
#ifndef ENGINE_BACKENDS_BACKENDS_OWN_H
#define ENGINE_BACKENDS_BACKENDS_OWN_H

#include <stdatomic.h>

#include "engine/backends/backends.h"
#include "os/secret_memory.h"

struct backends {
	atomic_uint users;
	struct backend *items;       /* `n` of them, in the file's order */
	size_t n;
	struct arena arena;
	struct secret_memory secrets;        /* header values, ticket keys */
};

/* A set of `n` empty back ends, with one user. */
struct backends *backends_new(size_t n);
/*
 * Parse an absolute URL without user and fragment.  NULL, or what it must be,
 * as the rest of a sentence.
 */
const char *backend_url_fault(struct str text, struct arena *a,
    struct url *out);
/* A host of a URL: a loopback address, "localhost", or a name below it. */
bool backend_host_is_loopback(struct str host);
/*
 * Whether a server that decodes the path more often than a URL parser, or that
 * takes "\" for "/" and cuts parameters behind ";", would find "." or ".." as a
 * segment of it.
 */
bool backend_path_hides_dots(struct str path);

#endif
