#include "engine/fetcher/fetcher_testing.h"


/* --- the web ------------------------------------------------------------- */

struct web {
	struct transport transport;
	struct fetch_rig *rig;
	struct list replies;
};

struct reply {
	struct list node;
	struct web *web;
	struct exchange *exchange;
	struct timer timer;
	struct answer answer;
};

static void
end_reply(struct reply *c, enum transport_end end)
{
	struct exchange *x = c->exchange;
	struct fetch_rig *r = c->web->rig;

	loop_timer_stop(r->rig.loop, &c->timer);
	list_take(&c->node);
	x->own = NULL;
	r->open--;
	free(c);
	x->events->done(x, end, STR("the web says so"));
}

/* An answer without an end, or with a late one. */
static void
next_piece(struct timer *t)
{
	struct reply *c = CONTAINER(t, struct reply, timer);
	struct exchange *x = c->exchange;
	struct answer *a = &c->answer;

	if (c->web->rig->paused) {
		loop_timer_set(c->web->rig->rig.loop, t, mono_add_ms(
		    world.mono, a->every_ms));
		return;
	}
	if (a->times-- == 0) {
		if (!a->endless)
			end_reply(c, TRANSPORT_DONE);
		return;
	}
	if (!x->events->body(x, str_of(a->body))) {
		end_reply(c, TRANSPORT_STOPPED);
		return;
	}
	loop_timer_set(c->web->rig->rig.loop, t, mono_add_ms(world.mono,
	    a->every_ms));
}

static void
answer(struct timer *t)
{
	struct reply *c = CONTAINER(t, struct reply, timer);
	struct exchange *x = c->exchange;
	struct answer a = { .status = 200, .head = "", .body = "" };
	char head[400];
	struct ip ip = x->addresses[0];

	if (c->web->rig->connects_to != NULL)
		assert_true(ip_from_text(str_of(c->web->rig->connects_to),
		    &ip));
	if (!x->events->connected(x, &ip)) {
		c->web->rig->blocked++;
		end_reply(c, TRANSPORT_BLOCKED);
		return;
	}
	c->web->rig->site(x->url, &a);
	snprintf(head, sizeof(head), "HTTP/1.1 %d X\r\n%s\r\n", a.status,
	    a.head);
	if (a.status == 0)
		end_reply(c, a.end);
	else if (!x->events->head(x, str_of(head), a.status))
		end_reply(c, TRANSPORT_STOPPED);
	else if (a.times > 0) {
		c->answer = a;
		t->fire = next_piece;
		next_piece(t);
	} else if (!x->events->body(x, str_of(a.body)))
		end_reply(c, TRANSPORT_STOPPED);
	else
		end_reply(c, TRANSPORT_DONE);
}

static void
start(struct transport *t, struct exchange *x)
{
	struct web *w = CONTAINER(t, struct web, transport);
	struct fetch_rig *r = w->rig;
	struct reply *c = calloc(1, sizeof(*c));

	assert_true(r->seen_n < FETCH_REQUESTS_MAX);
	struct request_seen *seen = &r->seen[r->seen_n++];
	snprintf(seen->url, sizeof(seen->url), "%.*s", STR_FMT(x->url));
	snprintf(seen->method, sizeof(seen->method), "%.*s",
	    STR_FMT(x->method));
	snprintf(seen->body, sizeof(seen->body), "%.*s", STR_FMT(x->body));
	for (size_t i = 0, n = 0; i < x->headers_n &&
	    n < sizeof(seen->headers); i++)
		n += (size_t)snprintf(seen->headers + n,
		    sizeof(seen->headers) - n, "%.*s: %.*s\n",
		    STR_FMT(x->headers[i].name),
		    STR_FMT(x->headers[i].value));
	seen->at = world.mono;
	seen->pause_ms = x->pause_ms;
	r->open++;
	r->open_max = MAX(r->open_max, r->open);
	c->web = w;
	c->exchange = x;
	c->timer.fire = answer;
	x->own = c;
	x->times = (struct transport_times){ 0, 1, -1, 2, 3 };
	x->request_sent = STR("GET / HTTP/1.1\r\n\r\n");
	list_put(&w->replies, &c->node);
	loop_timer_set(r->rig.loop, &c->timer, mono_add_ms(world.mono,
	    r->answer_ms));
}

static void
stop(struct transport *t, struct exchange *x)
{
	(void)t;
	end_reply(x->own, TRANSPORT_STOPPED);
}

static void
free_web(struct transport **tp)
{
	struct web *w = CONTAINER(*tp, struct web, transport);

	while (!list_empty(&w->replies))
		end_reply(LIST_ITEM(w->replies.next, struct reply, node),
		    TRANSPORT_STOPPED);
	free(w);
	*tp = NULL;
}

static bool
send_bytes(struct transport *t, struct exchange *x, struct str bytes)
{
	(void)x;
	buf_put_str(&CONTAINER(t, struct web, transport)->rig->sent, bytes);
	return true;
}

static void
pause_reading(struct transport *t, struct exchange *x, bool paused)
{
	(void)x;
	CONTAINER(t, struct web, transport)->rig->paused = paused;
}

static const struct transport_table web_table = { .start = start,
	.stop = stop, .free = free_web, .send = send_bytes,
	.pause = pause_reading };

/* --- the rig ------------------------------------------------------------- */

static void
keep_event(void *arg, const struct url_event *e)
{
	struct fetch_rig *r = arg;

	assert_true(r->events_n < FETCH_REQUESTS_MAX);
	r->events[r->events_n++] = *e;
}

void
fetch_rig_init(struct fetch_rig *r, site_fn *site)
{
	memset(r, 0, sizeof(*r));
	rig_init(&r->rig);
	r->fetchers_n = r->shard.ports_n = 1;
	r->site = site;
	r->answer_ms = 20;
	r->crawl.unarchived = true;
	r->settings = (struct fetch_settings){
		.tries_max = 3, .host_connections_max = 4,
		.address_connections_max = 8, .connections_max = 32,
		.body_bytes_max = 1 << 20, .redirects_max = 5,
		.decode_ratio_max = 100, .backoff_ms = 1000,
		.backoff_ms_max = 8000, .host_idle_ms = 60000,
		.robots_ttl_s = 3600, .robots_retry_s = 60, .links_max = 100,
		.sitemap_depth_max = 2, .parse_cpu_ms_max = 1000,
		.window = 16, .uncommitted_max = 100,
		.uncommitted_bytes_max = 1 << 20, .digest = DIGEST_SHA1,
		.user_agent = STR("test"), .product_token = STR("test"),
		.resolve = "*:*:93.184.216.34:80",
	};
}

static struct fetcher *
make_fetcher(struct fetch_rig *r)
{
	struct resolver_options names = { .ttl_s_min = 1, .ttl_s_max = 60,
	    .negative_s = 1, .cache_max = 10, .timeout_ms = 1000,
	    .fixed = "private.test=10.1.2.3,public.test=93.184.216.34" };
	struct web *w = calloc(1, sizeof(*w));

	w->transport.table = &web_table;
	w->rig = r;
	list_init(&w->replies);
	struct fetcher_options o = {
		.loop = r->rig.loop, .frontier = r->rig.frontier,
		.transport = &w->transport, .settings = &r->settings,
		.resolver = resolver_new(r->rig.loop, &names),
		.seen = r->filter, .uncommitted = &r->uncommitted,
		.all = r->fetchers, .all_n = r->fetchers_n,
		.host_shard = &r->shard,
		.event = keep_event, .arg = r,
	};
	return fetcher_new(&o);
}

static void
make_fetchers(struct fetch_rig *r)
{
	r->filter = digest_filter_new(64);
	for (size_t i = 0; i < r->fetchers_n; i++)
		r->fetchers[i] = make_fetcher(r);
	r->fetcher = r->fetchers[0];
	fetcher_port(r->fetcher, &r->rig.port);
}

void
fetch_rig_order(struct fetch_rig *r, enum fetch_order order)
{
	for (size_t i = 0; i < r->fetchers_n; i++)
		fetcher_order(r->fetchers[i], &r->crawl, order);
}

void
fetch_rig_begin(struct fetch_rig *r, const char *policy_json,
    const char *seed)
{
	struct policy *p = NULL;
	struct url u;
	struct why w = WHY_INIT;

	rig_open(&r->rig);
	make_fetchers(r);
	if (policy_parse(str_of(policy_json), &p, &w) != OK)
		fail_msg("policy: %s", w.text);
	policy_set_scope(p, SCOPE_ANY);
	assert_int_equal(url_parse(str_of(seed), NULL, &r->rig.arena, &u,
	    NULL), OK);
	assert_int_equal(policy_compile(p, &u, 1, &r->policy, &w), OK);
	r->rules.policy = r->policy;
	r->crawl.users = 1;
	r->crawl.rules = &r->rules;
	r->crawl.name = STR("test");
	r->crawl.delay_s = p->rate_limit;
	r->crawl.others.newest = r->crawl.others.oldest = UINT32_MAX;
	policy_free(&p);
	r->crawl.id = frontier_next_crawl(r->rig.frontier);
	fetch_rig_order(r, FETCH_RUN);
	rig_run(&r->rig);
	rig_begin(&r->rig, seed, NULL);
}

void
fetch_rig_pass(struct fetch_rig *r, int64_t ms)
{
	rig_pass(&r->rig, ms);
}

void
fetch_rig_asked(struct fetch_rig *r, unsigned n, const char *url)
{
	assert_true(n < r->seen_n);
	assert_string_equal(r->seen[n].url, url);
}

int64_t
fetch_rig_gap_ms(const struct fetch_rig *r, unsigned a, unsigned b)
{
	return mono_ns_between(r->seen[a].at, r->seen[b].at) / NS_PER_MS;
}

void
fetch_rig_end(struct fetch_rig *r)
{
	fetch_rig_order(r, FETCH_END);
	fetch_rig_pass(r, 100);
	r->fetcher = NULL;
	for (size_t i = 0; i < r->fetchers_n; i++)
		fetcher_free(&r->fetchers[i]);
	policy_compiled_free(&r->policy);
	digest_filter_free(&r->filter);
	rig_end(&r->rig);
}
