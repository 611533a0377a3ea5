/*
 * resolve -- names to addresses by c-ares on the loop, with a cache.
 *
 * /etc/hosts is honoured; "localhost" and its subdomains are loopback without
 * asking anyone (RFC 6761 §6.3).  Answers are kept for their TTL, at least
 * ttl_s_min and at most ttl_s_max; failures for negative_s.
 *
 * Thread: the loop's only.
 */
#ifndef OS_RESOLVE_H
#define OS_RESOLVE_H

#include "os/transport.h"

#define RESOLVE_ADDRESSES_MAX 16

struct resolver;
struct resolve_query {
	/* Fill these two, keep the query alive until found() was called. */
	struct str host;
	void (*found)(struct resolve_query *);
	/* The answer: n = 0 and a text on failure. */
	struct ip addresses[RESOLVE_ADDRESSES_MAX];
	size_t n;
	bool from_cache;
	char error[120];
	/* The resolver's. */
	struct list node;
	struct mail mail;
	struct resolver *resolver;
};
struct resolver_options {
	int64_t ttl_s_min, ttl_s_max, negative_s;
	size_t cache_max;                  /* names kept; the oldest go first */
	int64_t timeout_ms;
	const char *servers;               /* NULL: the system's; for tests */
	/* "HOST:PORT:ADDRESS:PORT,..." is the fetcher's; names only here: */
	const char *fixed;                 /* "host=ip,host=ip" or NULL */
};
struct resolver *resolver_new(struct loop *, const struct resolver_options *);
void resolver_free(struct resolver **);
/* found() is called before this returns when the answer is in the cache. */
void resolve_start(struct resolver *, struct resolve_query *);
/*
 * For a command that waits: resolve `host` with a resolver of its own, running
 * the loop meanwhile.  False when there is no address.
 */
bool resolve_now(struct loop *, struct str host, int64_t timeout_ms,
    struct resolve_query *);
/* found() will not be called any more. */
void resolve_stop(struct resolver *, struct resolve_query *);

#endif
