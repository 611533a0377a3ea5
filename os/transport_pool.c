/*
 * The transport's turn, its origins and its timers.
 */
#include "os/transport_pool.h"

#include <signal.h>

#include "os/clock.h"
#include "os/system.h"

#define SPARE_MAX 256                /* calls kept, with their buffers */
#define TICK_MS 1000
#define PAUSE_MS_MAX (INT64_C(1000) * 3600 * 24 * 365)

/* ---- Origins ------------------------------------------------------------ */

enum { KEY_TLS = 1, KEY_VERIFY = 2, KEY_HTTP2 = 4 };

static void
put_proxy(struct buf *key, const struct transport_proxy *p)
{
	buf_put_char(key, (char)p->kind);
	buf_put_be16(key, p->port);
	buf_put_str(key, p->host);
	buf_put_char(key, '\0');
	if (!p->has_user)
		return;
	buf_put_text(key, p->user);
	buf_put_char(key, '\0');
	buf_put_text(key, p->password);
}

/* To an HTTP proxy that is asked for whole URLs all hosts are one. */
static void
write_key(struct transport_call *c)
{
	const struct exchange *x = c->x;
	struct buf *key = &c->pool->key;

	buf_clear(key);
	buf_put_char(key, (char)((x->tls ? KEY_TLS : 0) |
	    (x->tls && x->verify ? KEY_VERIFY : 0) |
	    (x->tls && x->http2 && !x->upgrade && !c->http1_only ?
	    KEY_HTTP2 : 0)));
	if (c->proxy.kind != TRANSPORT_PROXY_HTTP || x->tls || x->upgrade) {
		buf_put_be16(key, x->port);
		buf_put_str(key, x->host);
	}
	buf_put_char(key, '\0');
	if (c->proxy.kind != TRANSPORT_PROXY_NONE)
		put_proxy(key, &c->proxy);
}

void
transport_origin_enter(struct transport_call *c)
{
	struct transport_pool *pool = c->pool;
	struct transport_origin *o;

	transport_origin_leave(pool, &c->origin);
	write_key(c);
	o = map_get(&pool->origins, buf_str(&pool->key));
	if (o == NULL) {
		o = mem_new(sizeof(*o));
		buf_put_str(&o->key_bytes, buf_str(&pool->key));
		o->key = buf_str(&o->key_bytes);
		list_init(&o->links);
		map_put(&pool->origins, o->key, o);
	}
	o->calls_n++;
	c->origin = o;
}

static void
free_origin(struct transport_pool *pool, struct transport_origin *o)
{
	if (o->calls_n > 0 || o->links_n > 0)
		return;
	(void)map_take(&pool->origins, o->key);
	/* A proxy's password may be in it. */
	explicit_bzero(o->key_bytes.p, o->key_bytes.cap);
	buf_free(&o->key_bytes);
	mem_free(&o);
}

void
transport_origin_leave(struct transport_pool *pool,
    struct transport_origin **op)
{
	struct transport_origin *o = *op;

	*op = NULL;
	if (o == NULL)
		return;
	o->calls_n--;
	free_origin(pool, o);
}

void
transport_origin_lose_link(struct transport_pool *pool,
    struct transport_origin **op)
{
	struct transport_origin *o = *op;

	*op = NULL;
	o->links_n--;
	free_origin(pool, o);
}

/* ---- Launching ---------------------------------------------------------- */

void
transport_pool_wake(struct transport_pool *pool)
{
	if (!heap_holds(&pool->kick.node))
		loop_timer_set(pool->loop, &pool->kick, loop_now(pool->loop));
}

void
transport_pool_queue(struct transport_call *c)
{
	c->phase = TRANSPORT_QUEUED;
	list_take(&c->turn);
	list_put(&c->pool->todo, &c->turn);
	transport_pool_wake(c->pool);
}

void
transport_pool_serve_again(struct transport_link *l)
{
	list_take(&l->again);
	list_put(&l->pool->again, &l->again);
	transport_pool_wake(l->pool);
}

/* Its only purpose is a turn, and with it the hook. */
static void
kicked(struct timer *t)
{
	(void)t;
}

/* A call that takes none of the origin's idle links is in their place. */
static bool
close_idle_of(const struct transport_origin *o)
{
	LIST_EACH(l, &o->links, struct transport_link, node) {
		if (list_empty(&l->idle))
			continue;
		transport_link_close(l);
		return true;
	}
	return false;
}

/* ---- Idle links --------------------------------------------------------- */

void
transport_pool_put_idle(struct transport_link *l, int64_t pause_ms)
{
	struct transport_pool *pool = l->pool;

	transport_pool_take_idle(l);
	l->idle_since = loop_now(pool->loop);
	l->due = mono_add_ms(l->idle_since, MIN(MAX(pause_ms, 0),
	    PAUSE_MS_MAX));
	list_put(&pool->idle, &l->idle);
	heap_put(&pool->due_first, &l->due_first, l->due.ns, 0);
	heap_put(&pool->due_last, &l->due_last, -l->due.ns, 0);
}

void
transport_pool_take_idle(struct transport_link *l)
{
	list_take(&l->idle);
	heap_take(&l->pool->due_first, &l->due_first);
	heap_take(&l->pool->due_last, &l->due_last);
}

/*
 * The idle link that is worth least; NULL: none is idle.  Of those whose host
 * pauses it is the one due last: hosts with the same pause come in turn, and
 * the link that was used longest ago is the next one needed.  A host that is
 * overdue may have nothing more to ask for; the longer, the more likely.
 */
static struct transport_link *
least_needed(const struct transport_pool *pool)
{
	struct heap_node *first = heap_first(&pool->due_first);
	int64_t now = loop_now(pool->loop).ns;

	if (first == NULL)
		return NULL;
	struct heap_node *last = heap_first(&pool->due_last);
	return now - first->key >= -last->key - now ?
	    CONTAINER(first, struct transport_link, due_first) :
	    CONTAINER(last, struct transport_link, due_last);
}

/* Another link for the origin; one that is idle may have to go for it. */
static bool
has_room(struct transport_pool *pool, const struct transport_origin *o)
{
	if (o->links_n >= pool->host_connections_max && !close_idle_of(o))
		return false;
	if (pool->links_n < pool->connections_max)
		return true;
	struct transport_link *l = least_needed(pool);
	if (l == NULL)
		return false;
	transport_link_close(l);
	return true;
}

static void
proxy_found(struct resolve_query *q)
{
	struct transport_call *c = CONTAINER(q, struct transport_call, query);

	if (q->n == 0) {
		c->has_end = true;
		c->end = TRANSPORT_PROXY;
		snprintf(c->reason, sizeof(c->reason), "%s", q->error);
	} else {
		c->proxy_ip = q->addresses[0];
		c->proxy_known = true;
	}
	transport_pool_queue(c);
}

static void
resolve_proxy(struct transport_call *c)
{
	static const struct resolver_options options = { .ttl_s_min = 60,
	    .ttl_s_max = 3600, .negative_s = 10, .cache_max = 64,
	    .timeout_ms = 10000 };
	struct transport_pool *pool = c->pool;

	if (pool->resolver == NULL)
		pool->resolver = resolver_new(pool->loop, &options);
	c->phase = TRANSPORT_RESOLVING;
	c->query = (struct resolve_query){ .host = c->proxy.host,
	    .found = proxy_found };
	resolve_start(pool->resolver, &c->query);
}

static void
launch(struct transport_call *c)
{
	struct transport_pool *pool = c->pool;
	struct transport_link *l;

	if (c->has_end) {
		transport_call_finish(c, c->end, c->reason);
		return;
	}
	if (c->origin == NULL)
		transport_origin_enter(c);
	l = c->fresh || c->x->upgrade ? NULL : transport_link_find(c);
	if (l != NULL)
		transport_link_use(l, c);
	else if (c->proxy.kind != TRANSPORT_PROXY_NONE && !c->proxy_known)
		resolve_proxy(c);
	else if (has_room(pool, c->origin))
		transport_call_connect(c);
	else
		list_put(&pool->waiting, &c->turn);
}

static void
bury_dead(struct transport_pool *pool)
{
	while (!list_empty(&pool->dead_links)) {
		struct transport_link *l = LIST_POP(&pool->dead_links,
		    struct transport_link, node);
		transport_link_free(&l);
	}
	while (!list_empty(&pool->dead_calls)) {
		struct transport_call *c = LIST_POP(&pool->dead_calls,
		    struct transport_call, node);
		if (pool->spare_n == SPARE_MAX) {
			transport_call_free(&c);
			continue;
		}
		list_put(pool->spare.next, &c->node);
		pool->spare_n++;
	}
}

static void
serve_again(struct transport_pool *pool)
{
	struct list links;

	list_init(&links);
	list_move_all(&links, &pool->again);
	while (!list_empty(&links))
		transport_link_serve(LIST_POP(&links, struct transport_link,
		    again));
}

static void
end_turn(struct turn_hook *hook)
{
	struct transport_pool *pool = CONTAINER(hook, struct transport_pool,
	    hook);

	loop_timer_stop(pool->loop, &pool->kick);
	serve_again(pool);
	if (pool->released) {
		/* The calls that have waited go first. */
		pool->released = false;
		list_move_all(&pool->waiting, &pool->todo);
		list_move_all(&pool->todo, &pool->waiting);
	}
	while (!list_empty(&pool->todo))
		launch(LIST_POP(&pool->todo, struct transport_call, turn));
	/* Requests over HTTP/2, and what a callback of a launch has sent. */
	serve_again(pool);
	bury_dead(pool);
}

/* ---- Each second -------------------------------------------------------- */

static void
end_slow_calls(struct transport_pool *pool)
{
	struct list slow, *next;

	list_init(&slow);
	for (struct list *n = pool->active.next; n != &pool->active;
	    n = next) {
		next = n->next;
		if (transport_call_is_slow(LIST_ITEM(n, struct transport_call,
		    node))) {
			list_take(n);
			list_put(&slow, n);
		}
	}
	/* done() may stop others of them: always the first one that is left. */
	while (!list_empty(&slow))
		transport_call_finish(LIST_ITEM(slow.next,
		    struct transport_call, node), TRANSPORT_TIMEOUT,
		    "the answer came too slowly");
}

static void
close_old_links(struct transport_pool *pool)
{
	struct mono now = loop_now(pool->loop);

	while (pool->idle_ns_max > 0 && !list_empty(&pool->idle)) {
		struct transport_link *l = LIST_ITEM(pool->idle.next,
		    struct transport_link, idle);
		if (mono_ns_between(l->idle_since, now) < pool->idle_ns_max)
			break;
		transport_link_close(l);
	}
}

static void
ticked(struct timer *t)
{
	struct transport_pool *pool = CONTAINER(t, struct transport_pool,
	    tick);

	end_slow_calls(pool);
	close_old_links(pool);
	if (!list_empty(&pool->active) || !list_empty(&pool->idle))
		loop_timer_set(pool->loop, &pool->tick,
		    mono_add_ms(loop_now(pool->loop), TICK_MS));
}

static void
start(struct transport *base, struct exchange *x)
{
	struct transport_pool *pool = CONTAINER(base, struct transport_pool,
	    base);

	if (!heap_holds(&pool->tick.node))
		loop_timer_set(pool->loop, &pool->tick,
		    mono_add_ms(clock_mono(), TICK_MS));
	transport_call_start(base, x);
}

/* ---- The whole ---------------------------------------------------------- */

static void
free_pool(struct transport **tp)
{
	struct transport_pool *pool = CONTAINER(*tp, struct transport_pool,
	    base);

	while (!list_empty(&pool->active))
		transport_call_finish(LIST_ITEM(pool->active.next,
		    struct transport_call, node), TRANSPORT_STOPPED,
		    "stopped");
	while (!list_empty(&pool->idle))
		transport_link_close(LIST_ITEM(pool->idle.next,
		    struct transport_link, idle));
	CHECK(pool->links_n == 0);
	bury_dead(pool);
	while (!list_empty(&pool->spare)) {
		struct transport_call *c = LIST_POP(&pool->spare,
		    struct transport_call, node);
		transport_call_free(&c);
	}
	loop_timer_stop(pool->loop, &pool->kick);
	loop_timer_stop(pool->loop, &pool->tick);
	list_take(&pool->hook.node);
	resolver_free(&pool->resolver);
	transport_tls_free(&pool->tls);
	map_free(&pool->origins);
	heap_free(&pool->due_first);
	heap_free(&pool->due_last);
	if (pool->key.cap > 0)
		explicit_bzero(pool->key.p, pool->key.cap);
	buf_free(&pool->key);
	mem_free(&pool->ca_file);
	mem_free(&pool->in);
	mem_free(&pool);
	*tp = NULL;
}

/* OpenSSL writes without MSG_NOSIGNAL: a peer that goes would end us. */
static void
ignore_sigpipe(void)
{
	struct sigaction now;

	if (sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
		system_ignore_sigpipe();
}

struct transport *
transport_new(struct loop *loop, const struct transport_options *options)
{
	static const struct transport_table table = { start,
	    transport_call_stop, free_pool, transport_call_send,
	    transport_call_pause };
	struct transport_pool *pool = mem_new(sizeof(*pool));
	struct list *lists[] = { &pool->idle, &pool->active, &pool->todo,
	    &pool->waiting, &pool->again, &pool->dead_calls,
	    &pool->dead_links, &pool->spare };

	ignore_sigpipe();
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		list_init(lists[i]);
	pool->base.table = &table;
	pool->loop = loop;
	pool->connections_max = options->connections_max > 0 ?
	    options->connections_max : SIZE_MAX;
	pool->host_connections_max = options->host_connections_max > 0 ?
	    options->host_connections_max : SIZE_MAX;
	pool->idle_ns_max = options->idle_s_max * NS_PER_S;
	/* As every program with OpenSSL has it. */
	const char *ca_file = options->ca_file != NULL ? options->ca_file :
	    getenv("SSL_CERT_FILE");
	if (ca_file != NULL && ca_file[0] != '\0')
		pool->ca_file = mem_copy_text(ca_file);
	pool->tls = transport_tls_new(pool->ca_file, options->tls_1_2);
	pool->in = mem_new(TRANSPORT_IN_BYTES);
	pool->kick.fire = kicked;
	pool->tick.fire = ticked;
	pool->hook.run = end_turn;
	loop_hook(loop, &pool->hook);
	return &pool->base;
}
