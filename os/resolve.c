/*
 * resolve -- see resolve.h.  A name is asked for once, whoever waits for it:
 *
 *     fixed -> literal -> localhost -> kept answer -> c-ares (hosts file, DNS)
 *
 * A kept answer that is out of date is asked for again; of kept names the one
 * that was answered longest ago goes first.  Names that are being asked for
 * are not counted in cache_max: the askers bound them.  found() may start and
 * stop queries, but not free the resolver.
 */
#include "os/resolve.h"

#include <ares.h>
#include <netinet/in.h>
#include <pthread.h>

#include "base/arena.h"
#include "base/map.h"
#include "os/clock.h"

#define NAME_MAX_BYTES 253           /* RFC 1035 §2.3.4, without the last dot */
#define TTL_S_MAX_EVER 31536000

struct asked;
/* A name is in one of two lists: it is being asked for, or it is kept. */
struct name {
	struct list node;            /* in `asking` or `kept` */
	struct resolver *r;
	struct list waiters;         /* resolve_query.node */
	struct asked *asked;         /* not NULL: an answer is to come */
	struct timer timeout;
	struct mono good_until;
	struct ip *addresses;
	size_t n;
	const char *error;           /* a static text; NULL with addresses */
	struct str host;             /* the map's key; lies behind */
	char text[];
};

/* The argument of c-ares's callback; it outlives a cancelled query. */
struct asked {
	struct name *name;
};

/* A descriptor of c-ares; the memory stays until the resolver goes. */
struct resolver_socket {
	struct list node;
	struct watch watch;
	struct resolver *r;
};

struct fixed {
	struct str host;
	struct ip ip;
};

struct resolver {
	struct loop *loop;
	struct resolver_options options;
	ares_channel channel;
	struct timer timer;          /* c-ares' own */
	struct map names;
	struct list asking;
	struct list kept;            /* oldest answer first */
	size_t kept_n;
	struct list sockets, spare_sockets;
	struct arena fixed_memory;
	struct fixed *fixed;
	size_t fixed_n;
};

/* ---- descriptors and the timer ---- */

static void
set_timer(struct resolver *r)
{
	struct timeval tv, *next = ares_timeout(r->channel, NULL, &tv);

	if (next == NULL) {
		loop_timer_stop(r->loop, &r->timer);
		return;
	}
	loop_timer_set(r->loop, &r->timer, mono_add_ns(clock_mono(),
	    (int64_t)next->tv_sec * NS_PER_S +
	    (int64_t)next->tv_usec * 1000));
}

static void
timer_due(struct timer *t)
{
	struct resolver *r = CONTAINER(t, struct resolver, timer);

	ares_process_fd(r->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	set_timer(r);
}

static void
socket_ready(struct watch *w, unsigned events)
{
	struct resolver_socket *s = CONTAINER(w, struct resolver_socket, watch);
	struct resolver *r = s->r;

	ares_process_fd(r->channel,
	    events & (LOOP_READ | LOOP_ERROR) ? w->fd : ARES_SOCKET_BAD,
	    events & LOOP_WRITE ? w->fd : ARES_SOCKET_BAD);
	set_timer(r);
}

static struct resolver_socket *
find_socket(struct resolver *r, int fd)
{
	LIST_EACH(s, &r->sockets, struct resolver_socket, node) {
		if (s->watch.fd == fd)
			return s;
	}
	return NULL;
}

static struct resolver_socket *
add_socket(struct resolver *r, int fd)
{
	struct resolver_socket *s;

	if (list_empty(&r->spare_sockets)) {
		s = mem_new(sizeof(*s));
		list_init(&s->node);
	} else {
		s = LIST_ITEM(r->spare_sockets.next, struct resolver_socket,
		    node);
	}
	s->r = r;
	s->watch = (struct watch){ .fd = fd, .ready = socket_ready };
	list_take(&s->node);
	list_put(&r->sockets, &s->node);
	return s;
}

/* ARES_OPT_SOCK_STATE_CB; neither: c-ares is about to close it. */
static void
socket_wanted(void *arg, ares_socket_t fd, int readable, int writable)
{
	struct resolver *r = arg;
	struct resolver_socket *s = find_socket(r, fd);
	unsigned events = (readable ? LOOP_READ : 0u) |
	    (writable ? LOOP_WRITE : 0u);

	if (s == NULL && events == 0)
		return;
	if (s == NULL)
		s = add_socket(r, fd);
	loop_watch(r->loop, &s->watch, events);
	if (events == 0) {
		s->watch.fd = -1;
		list_take(&s->node);
		list_put(&r->spare_sockets, &s->node);
	}
}

/* ---- answers ---- */

static void
give(struct resolve_query *q, const struct ip *addresses, size_t n,
    const char *error, bool from_cache)
{
	q->n = MIN(n, (size_t)RESOLVE_ADDRESSES_MAX);
	if (q->n > 0)
		memcpy(q->addresses, addresses, q->n * sizeof(*addresses));
	snprintf(q->error, sizeof(q->error), "%s", q->n > 0 ? "" : error);
	q->from_cache = from_cache;
	q->found(q);
}

static void
name_free(struct name **np)
{
	struct name *n = *np;
	struct resolver *r = n->r;

	CHECK(map_take(&r->names, n->host) == n);
	loop_timer_stop(r->loop, &n->timeout);
	if (n->asked == NULL)
		r->kept_n--;
	list_take(&n->node);
	mem_free(&n->addresses);
	mem_free(np);
}

static void
keep(struct name *n, int64_t seconds)
{
	struct resolver *r = n->r;

	n->good_until = mono_add_ms(clock_mono(), seconds * 1000);
	list_take(&n->node);
	list_put(&r->kept, &n->node);
	r->kept_n++;
}

static void
drop_oldest(struct resolver *r)
{
	while (r->kept_n > r->options.cache_max) {
		struct name *n = LIST_ITEM(r->kept.next, struct name, node);
		name_free(&n);
	}
}

/*
 * The answer has come and lies in the name.  It is kept before anyone is told,
 * so that a query that found() starts is answered from it; and the waiters
 * leave the name first, since what they do may push the name out.
 */
static void
tell(struct name *n, int64_t seconds)
{
	struct resolver *r = n->r;
	struct list waiters;
	struct ip addresses[RESOLVE_ADDRESSES_MAX];
	size_t count = n->n;
	const char *error = n->error;

	if (count > 0)
		memcpy(addresses, n->addresses, count * sizeof(*addresses));
	list_init(&waiters);
	list_move_all(&waiters, &n->waiters);
	loop_timer_stop(r->loop, &n->timeout);
	keep(n, seconds);
	drop_oldest(r);
	while (!list_empty(&waiters))
		give(LIST_POP(&waiters, struct resolve_query, node), addresses,
		    count, error, false);
}

static const char *
error_text(int status)
{
	switch (status) {
	case ARES_ENOTFOUND:
		return "no such host";
	case ARES_ENODATA:
		return "the host has no address";
	case ARES_ETIMEOUT:
		return "the name servers did not answer in time";
	case ARES_EBADNAME:
		return "the host name is malformed";
	default:
		return ares_strerror(status);
	}
}

/* The addresses into the name, the first ones; returns the least TTL. */
static int64_t
take_answer(struct name *n, const struct ares_addrinfo *info)
{
	int64_t ttl = TTL_S_MAX_EVER;
	struct ip found[RESOLVE_ADDRESSES_MAX];

	for (const struct ares_addrinfo_cname *c = info->cnames; c != NULL;
	    c = c->next)
		ttl = MIN(ttl, (int64_t)c->ttl);
	for (const struct ares_addrinfo_node *a = info->nodes; a != NULL &&
	    n->n < RESOLVE_ADDRESSES_MAX; a = a->ai_next) {
		if (!ip_from_socket(a->ai_addr, &found[n->n], NULL))
			continue;
		ttl = MIN(ttl, (int64_t)a->ai_ttl);
		n->n++;
	}
	n->addresses = mem_array(MAX(n->n, (size_t)1), sizeof(*n->addresses));
	memcpy(n->addresses, found, n->n * sizeof(*found));
	return MAX(ttl, (int64_t)0);
}

/* ares_getaddrinfo()'s callback, at once or later. */
static void
answered(void *arg, int status, int timeouts, struct ares_addrinfo *info)
{
	struct asked *asked = arg;
	struct name *n = asked->name;
	int64_t seconds;

	(void)timeouts;
	mem_free(&asked);
	if (n == NULL) {
		if (info != NULL)
			ares_freeaddrinfo(info);
		return;
	}
	const struct resolver_options *o = &n->r->options;
	n->asked = NULL;
	seconds = o->negative_s;
	if (status == ARES_SUCCESS && info != NULL) {
		seconds = take_answer(n, info);
		seconds = MAX(MIN(seconds, o->ttl_s_max), o->ttl_s_min);
	}
	if (info != NULL)
		ares_freeaddrinfo(info);
	if (n->n == 0) {
		seconds = o->negative_s;
		n->error = error_text(status == ARES_SUCCESS ? ARES_ENODATA :
		    status);
	}
	tell(n, seconds);
}

static void
timed_out(struct timer *t)
{
	struct name *n = CONTAINER(t, struct name, timeout);

	n->asked->name = NULL;
	n->asked = NULL;
	n->error = error_text(ARES_ETIMEOUT);
	tell(n, n->r->options.negative_s);
}

/* ---- questions ---- */

static struct name *
name_new(struct resolver *r, struct str host)
{
	struct name *n = mem_new(sizeof(*n) + host.n + 1);

	n->r = r;
	list_init(&n->node);
	list_put(&r->asking, &n->node);
	list_init(&n->waiters);
	n->timeout.fire = timed_out;
	memcpy(n->text, host.p, host.n);
	n->host = (struct str){ n->text, host.n };
	CHECK(map_put(&r->names, n->host, n) == NULL);
	return n;
}

static void
ask(struct name *n)
{
	static const struct ares_addrinfo_hints hints = {
	    .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct resolver *r = n->r;

	n->asked = mem_new(sizeof(*n->asked));
	n->asked->name = n;
	loop_timer_set(r->loop, &n->timeout,
	    mono_add_ms(clock_mono(), r->options.timeout_ms));
	/* May answer before it returns; `n` can be gone then. */
	ares_getaddrinfo(r->channel, n->text, NULL, &hints, answered,
	    n->asked);
	set_timer(r);
}

/* In lower case and without the last dot; false when it is no host name. */
static bool
normalize(struct str host, char out[static NAME_MAX_BYTES + 1], size_t *n)
{
	if (host.n > 0 && host.p[host.n - 1] == '.')
		host.n--;
	if (host.n == 0 || host.n > NAME_MAX_BYTES)
		return false;
	for (size_t i = 0; i < host.n; i++) {
		unsigned char c = (unsigned char)host.p[i];
		if (c <= ' ' || c >= 0x7f || c == '%' || c == '/' || c == '\\')
			return false;
		out[i] = ascii_lower((char)c);
	}
	out[host.n] = '\0';
	*n = host.n;
	return true;
}

static bool
give_fixed(struct resolver *r, struct resolve_query *q, struct str host)
{
	struct ip found[RESOLVE_ADDRESSES_MAX];
	size_t n = 0;

	for (size_t i = 0; i < r->fixed_n && n < ARRAY_LEN(found); i++)
		if (str_eq_nocase(r->fixed[i].host, host))
			found[n++] = r->fixed[i].ip;
	if (n == 0)
		return false;
	give(q, found, n, "", false);
	return true;
}

static bool
give_literal(struct resolve_query *q, struct str host)
{
	struct ip ip;

	if (str_starts(host, STR("[")) && str_ends(host, STR("]")))
		host = str_cut(host, 1, host.n - 1);
	if (!ip_from_text(host, &ip))
		return false;
	give(q, &ip, 1, "", false);
	return true;
}

static bool
give_localhost(struct resolve_query *q, struct str host)
{
	static const struct ip loopback[] = {
		{ { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 } },
		{ { [15] = 1 } },
	};

	if (!str_eq(host, STR("localhost")) &&
	    !str_ends(host, STR(".localhost")))
		return false;
	give(q, loopback, ARRAY_LEN(loopback), "", false);
	return true;
}

void
resolve_start(struct resolver *r, struct resolve_query *q)
{
	char text[NAME_MAX_BYTES + 1];
	struct str host = { text, 0 };
	struct name *n;

	q->resolver = r;
	q->n = 0;
	list_init(&q->node);
	if (give_literal(q, q->host))
		return;
	if (!normalize(q->host, text, &host.n)) {
		give(q, NULL, 0, error_text(ARES_EBADNAME), false);
		return;
	}
	if (give_fixed(r, q, host) || give_localhost(q, host))
		return;
	n = map_get(&r->names, host);
	if (n != NULL && n->asked == NULL) {
		if (mono_before(clock_mono(), n->good_until)) {
			give(q, n->addresses, n->n, n->error, true);
			return;
		}
		name_free(&n);
	}
	if (n != NULL) {
		list_put(&n->waiters, &q->node);
		return;
	}
	n = name_new(r, host);
	list_put(&n->waiters, &q->node);
	ask(n);
}

void
resolve_stop(struct resolver *r, struct resolve_query *q)
{
	(void)r;
	/* The question goes on: its answer is of use to the next asker. */
	if (q->resolver != NULL)
		list_take(&q->node);
	q->resolver = NULL;
}

/* ---- life ---- */

static void
read_fixed(struct resolver *r, struct str text)
{
	struct str part;

	text = arena_copy(&r->fixed_memory, text);
	r->fixed = ARENA_ARRAY(&r->fixed_memory, struct fixed, text.n / 2 + 1);
	while (str_split(&text, ',', &part)) {
		size_t at = str_find_char(part, '=');
		struct fixed f = { .host = str_trim(str_cut(part, 0, at)) };
		if (f.host.n > 0 && ip_from_text(str_trim(str_from(part,
		    at + 1)), &f.ip))
			r->fixed[r->fixed_n++] = f;
	}
}

static void
start_cares(void)
{
	CHECK(ares_library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS);
}

static void
open_channel(struct resolver *r)
{
	/* No search domains: a host of a URL is whole (RFC 3986 §3.2.2). */
	struct ares_options o = {
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
		.timeout = (int)MAX(r->options.timeout_ms / 3, (int64_t)1),
		.tries = 2,
		.lookups = (char[]){ "fb" },
		.sock_state_cb = socket_wanted,
		.sock_state_cb_data = r,
	};

	CHECK(ares_init_options(&r->channel, &o, ARES_OPT_FLAGS |
	    ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS |
	    ARES_OPT_DOMAINS | ARES_OPT_SOCK_STATE_CB) == ARES_SUCCESS);
	if (r->options.servers != NULL)
		CHECK(ares_set_servers_ports_csv(r->channel,
		    r->options.servers) == ARES_SUCCESS);
}

struct resolver *
resolver_new(struct loop *loop, const struct resolver_options *options)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct resolver *r = mem_new(sizeof(*r));

	pthread_once(&once, start_cares);
	r->loop = loop;
	r->options = *options;
	if (r->options.timeout_ms <= 0)
		r->options.timeout_ms = 10000;
	r->timer.fire = timer_due;
	list_init(&r->asking);
	list_init(&r->kept);
	list_init(&r->sockets);
	list_init(&r->spare_sockets);
	if (options->fixed != NULL)
		read_fixed(r, str_of(options->fixed));
	r->options.fixed = NULL;
	open_channel(r);
	r->options.servers = NULL;
	return r;
}

static void
free_sockets(struct list *l)
{
	while (!list_empty(l)) {
		struct resolver_socket *s = LIST_POP(l, struct resolver_socket,
		    node);
		mem_free(&s);
	}
}

/* Queries that still wait are not answered. */
static void
forget_name(struct name *n)
{
	while (!list_empty(&n->waiters))
		LIST_POP(&n->waiters, struct resolve_query, node)->resolver =
		    NULL;
	n->asked->name = NULL;
	name_free(&n);
}

void
resolver_free(struct resolver **rp)
{
	struct resolver *r = *rp;

	if (r == NULL)
		return;
	while (!list_empty(&r->asking))
		forget_name(LIST_ITEM(r->asking.next, struct name, node));
	r->options.cache_max = 0;
	drop_oldest(r);
	ares_destroy(r->channel);
	loop_timer_stop(r->loop, &r->timer);
	free_sockets(&r->sockets);
	free_sockets(&r->spare_sockets);
	map_free(&r->names);
	arena_free(&r->fixed_memory);
	mem_free(rp);
}

struct waiting {
	struct resolve_query query;
	bool done;
};

static void
waited(struct resolve_query *q)
{
	CONTAINER(q, struct waiting, query)->done = true;
}

bool
resolve_now(struct loop *l, struct str host, int64_t timeout_ms,
    struct resolve_query *out)
{
	const struct resolver_options o = { .cache_max = 16,
	    .timeout_ms = timeout_ms };
	struct waiting w = { .query = { .host = host, .found = waited } };
	FREED(resolver_free) struct resolver *r = resolver_new(l, &o);

	resolve_start(r, &w.query);
	loop_run_until(l, &w.done);
	*out = w.query;
	return out->n > 0;
}
