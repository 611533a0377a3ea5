/* Crawls that are begun, steered and watched while the engine runs. */
#include "engine/control/engine_testing.h"

#include <time.h>

#include "base/metric.h"

#define SLOW "{\"rate_limit\":0,\"downloads\":1}"

static struct rig rig;

/* /0 links to /0 .. /19; /slow... takes a moment, /deep/N links to N + 1. */
static void
site(struct str path, struct rig_page *p)
{
	uint64_t n;

	if (str_starts(path, STR("/slow")))
		p->delay_ms = 150;
	if (str_starts(path, STR("/deep/")) &&
	    str_to_u64(str_from(path, 6), &n)) {
		p->delay_ms = 5;
		buf_printf(&p->body, "<a href=/deep/%llu>x</a>",
		    (unsigned long long)n + 1);
	} else if (!str_eq(path, STR("/robots.txt"))) {
		const char *dir = str_starts(path, STR("/slow")) ? "slow" :
		    "page";
		for (int i = 0; i < 20; i++)
			buf_printf(&p->body, "<a href=/%s%d>x</a>", dir, i);
	}
}

static const struct crawl_row *
row(uint32_t crawl)
{
	const struct crawl_row *r =
	    crawl_row(engine_registry(rig.engine), crawl);

	assert_non_null(r);
	return r;
}

/* --- again ---------------------------------------------------------------- */

static atomic_bool broken;

/* / links to /a and /b; while `broken`, the latter's connections end early. */
static void
brittle_site(struct str path, struct rig_page *p)
{
	if (str_eq(path, STR("/robots.txt")))
		return;
	p->drop = atomic_load(&broken) && str_eq(path, STR("/b"));
	buf_put_text(&p->body, "<a href=/a>x</a><a href=/b>x</a>");
}

static void
ran_again(struct rerun *r)
{
	*(bool *)r->arg = true;
}

static struct rerun
run_again(struct rerun r)
{
	bool done = false;

	r.done = ran_again;
	r.arg = &done;
	crawl_rerun(rig.engine, &r);
	RIG_UNTIL_DONE(&rig, done);
	return r;
}

static void
spec_came(struct spec_query *a)
{
	*(bool *)a->arg = true;
}

static void
read_spec(uint32_t crawl, struct spec_query *a)
{
	bool done = false;

	*a = (struct spec_query){ .crawl = crawl, .done = spec_came,
	    .arg = &done };
	catalog_spec(rig.engine, a);
	RIG_UNTIL_DONE(&rig, done);
	assert_int_equal(a->why.err, OK);
}

/* The same seeds, delays, tags and rules; then only what failed. */
static void
an_ended_crawl_is_run_again(void **state)
{
	const char *const set[] = { "fetch.tries_max=1", NULL };
	struct spec_query s;

	(void)state;
	atomic_store(&broken, true);
	rig_open(&rig, brittle_site, set);
	rig_start(&rig);
	struct str tags[] = { STR("a") };
	struct launch_seed seed = { rig_url(&rig, "/"), 0.01 };
	struct launch l = { .spec = { .name = STR("first"), .tags = tags,
	    .tags_n = 1, .policy = STR(
	    "{\"rate_limit\":7,\"limits\":{\"max_items\":50}}") },
	    .seeds = &seed, .seeds_n = 1 };
	rig_say_launch(&rig, &l);
	struct rerun r = run_again((struct rerun){ .of = 0 });
	if (r.why.err != OK)
		assert_string_equal(r.why.text, "crawl 0 is running: it can "
		    "be run again once it has ended");
	rig_until_state(&rig, 0, CRAWL_COMPLETE);
	assert_int_equal(row(0)->view.counts.items, 2);

	r = run_again((struct rerun){ .of = 0, .name = STR("second") });
	assert_int_equal(r.why.err, OK);
	assert_int_equal(r.crawl, 1);
	assert_int_equal(r.seeds_n, 1);
	rig_until_state(&rig, 1, CRAWL_COMPLETE);
	assert_int_equal(row(1)->view.counts.items, 2);
	assert_int_equal(row(1)->view.counts.exceptions[EXCEPTION_RESET] +
	    row(1)->view.counts.exceptions[EXCEPTION_PROTOCOL], 1);
	assert_true(str_eq(row(1)->name, STR("second")));
	assert_true(crawl_registry_has_tag(row(1), STR("a")));
	read_spec(1, &s);
	assert_true(s.delays[0] > 0.009 && s.delays[0] < 0.011);
	assert_true(str_find(s.spec.policy, STR("\"max_items\":50")) <
	    s.spec.policy.n);
	arena_free(&s.arena);

	atomic_store(&broken, false);
	r = run_again((struct rerun){ .of = 1, .failures = true });
	assert_int_equal(r.why.err, OK);
	assert_int_equal(r.failed, 1);
	assert_int_equal(r.seeds_n, 1);
	rig_until_state(&rig, 2, CRAWL_COMPLETE);
	/* /b and nothing else. */
	assert_int_equal(row(2)->view.counts.items, 1);
	assert_true(str_eq(row(2)->seed, rig_url(&rig, "/b")));
	assert_true(str_eq(row(2)->name, STR("second")));
	read_spec(2, &s);
	assert_true(s.delays[0] > 0.009 && s.delays[0] < 0.011);
	arena_free(&s.arena);

	r = run_again((struct rerun){ .of = 2, .failures = true });
	assert_int_equal(r.why.err, ERR_STATE);
	assert_string_equal(r.why.text, "nothing failed in crawl 2: there is "
	    "nothing to try again");
	r = run_again((struct rerun){ .of = 77 });
	assert_int_equal(r.why.err, ERR_ABSENT);
	rig_close(&rig);
}

struct wanted_metric {
	const char *name;
	int64_t value;
};

static void
find_metric(const struct metric *m, void *arg)
{
	struct wanted_metric *w = arg;

	if (strcmp(m->name, w->name) == 0)
		w->value = metric_value(m, 0);
}

static int64_t
metric_named(const char *name)
{
	struct wanted_metric w = { name, -1 };

	metric_each(find_metric, &w);
	assert_true(w.value >= 0);
	return w.value;
}

/* A site whose connections all end early. */
static void
broken_site(struct str path, struct rig_page *p)
{
	p->drop = !str_eq(path, STR("/robots.txt"));
}

static void
assert_retry(struct rerun r, uint64_t failed, size_t seeds, uint64_t left)
{
	assert_int_equal(r.why.err, OK);
	assert_int_equal(r.failed, failed);
	assert_int_equal(r.seeds_n, seeds);
	assert_int_equal(r.left, left);
	rig_until_state(&rig, r.crawl, CRAWL_COMPLETE);
	assert_int_equal(crawl_exceptions(&row(r.crawl)->view.counts), seeds);
}

/* crawl.retry_max failures make a crawl; `start` reaches the others. */
static void
failures_above_the_limit_are_retried_in_turn(void **state)
{
	const char *const set[] = { "fetch.tries_max=1", "crawl.retry_max=2",
		"fetch.backoff_ms=0", NULL };
	struct launch_seed seeds[5];
	char path[8];

	(void)state;
	rig_open(&rig, broken_site, set);
	rig_start(&rig);
	for (int i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "/%d", i);
		seeds[i] = (struct launch_seed){ rig_url(&rig, path), 0 };
	}
	struct launch l = { .seeds = seeds, .seeds_n = 5,
	    .spec.policy = STR("{\"rate_limit\":0}") };
	rig_say_launch(&rig, &l);
	rig_until_state(&rig, 0, CRAWL_COMPLETE);
	int64_t left = metric_named("argiope_retry_urls_left_total");
	assert_retry(run_again((struct rerun){ .failures = true }), 5, 2, 3);
	assert_retry(run_again((struct rerun){ .failures = true, .start = 2 }),
	    5, 2, 1);
	assert_retry(run_again((struct rerun){ .failures = true, .start = 4 }),
	    5, 1, 0);
	assert_int_equal(metric_named("argiope_retry_urls_left_total") - left,
	    4);
	/* Five URLs in three crawls, none of them twice. */
	assert_false(str_eq(row(1)->seed, row(2)->seed));
	assert_false(str_eq(row(2)->seed, row(3)->seed));
	/* As many as the limit: none is left. */
	assert_retry(run_again((struct rerun){ .of = 1, .failures = true }), 2,
	    2, 0);
	struct rerun r = run_again((struct rerun){ .failures = true,
	    .start = 5 });
	assert_int_equal(r.why.err, ERR_STATE);
	assert_string_equal(r.why.text, "5 URLs failed in crawl 0: there is "
	    "none left after the first 5");
	rig_close(&rig);
}

/* --- the answer comes before the news ------------------------------------ */

struct watching {
	struct registry_watch watch;
	struct launch *launch;
	bool answered;
	unsigned changes;
	uint64_t version;
};

static void
changed(struct registry_watch *w)
{
	struct watching *x = CONTAINER(w, struct watching, watch);
	struct crawl_registry *b = engine_registry(rig.engine);

	/* Nobody is told of a crawl that its maker does not know yet. */
	assert_true(x->answered);
	assert_true(crawl_registry_version(b) > x->version);
	x->version = crawl_registry_version(b);
	x->changes++;
}

static void
answered(struct launch *l)
{
	struct watching *x = l->arg;

	assert_int_equal(l->why.err, OK);
	assert_non_null(crawl_row(engine_registry(rig.engine), l->crawl));
	assert_int_equal(x->changes, 0);
	x->answered = true;
}

static void
crawls_are_launched_and_watched(void **state)
{
	(void)state;
	rig_open(&rig, site, NULL);
	rig_start(&rig);
	struct str tags[] = { STR("a"), STR("news") };
	struct launch_seed seed = { rig_url(&rig, "/"), 0 };
	struct watching x = { .watch.changed = changed };
	struct launch l = { .spec = { .name = STR("first"), .tags = tags,
	    .tags_n = 2 }, .seeds = &seed, .seeds_n = 1,
	    .done = answered, .arg = &x };
	crawl_registry_watch(engine_registry(rig.engine), &x.watch);
	crawl_launch(rig.engine, &l);
	RIG_UNTIL_DONE(&rig, x.answered);
	/* The registry has copies. */
	tags[0] = tags[1] = STR("changed");
	seed.url = STR("changed");
	assert_int_equal(l.crawl, 0);
	rig_until_state(&rig, 0, CRAWL_COMPLETE);
	const struct crawl_row *r = row(0);
	assert_int_equal(r->view.counts.items, 21);
	assert_int_equal(r->view.counts.status[2], 21);
	assert_int_equal(r->view.counts.queued, 0);
	assert_true(str_eq(r->name, STR("first")));
	assert_true(str_eq(r->policy, STR("default")));
	assert_true(str_eq(r->seed, rig_url(&rig, "/")));
	assert_true(crawl_registry_has_tag(r, STR("news")));
	assert_false(crawl_registry_has_tag(r, STR("new")));
	assert_true(x.changes > 0);
	assert_true(
	    r->changed == crawl_registry_version(engine_registry(rig.engine)));
	crawl_registry_unwatch(&x.watch);
	/* The same seed again: it is another crawl, and fetches anew. */
	uint32_t id = rig_launch(&rig, "/", "{}");
	assert_int_equal(id, 1);
	rig_until_state(&rig, 1, CRAWL_COMPLETE);
	assert_int_equal(row(1)->view.counts.items, 21);
	assert_int_equal(row(1)->view.counts.status[2], 21);
	assert_int_equal(row(1)->view.counts.duplicates, 20);
	assert_int_equal(row(1)->policy.n, 0);
	assert_int_equal(rig_requests(&rig, "/page3"), 2);
	assert_ptr_equal(
	    crawl_registry_before(engine_registry(rig.engine), NULL), row(1));
	assert_ptr_equal(
	    crawl_registry_below(engine_registry(rig.engine), UINT32_MAX),
	    row(1));
	assert_ptr_equal(
	    crawl_registry_below(engine_registry(rig.engine), 1), row(0));
	assert_null(crawl_registry_below(engine_registry(rig.engine), 0));
	rig_close(&rig);
}

/* --- what is refused ----------------------------------------------------- */

static void
refused(struct launch l, enum err e, const char *text)
{
	rig_say_launch(&rig, &l);
	assert_int_equal(l.why.err, e);
	if (strncmp(l.why.text, text, strlen(text)) != 0)
		fail_msg("\"%s\" does not begin with \"%s\"", l.why.text,
		    text);
}

static void
faults_are_named(void **state)
{
	static const char *const set[] = { "fetch.allow_private=off",
	    "crawl.running_max=1", "crawl.pending_max=1", NULL };
	struct launch_seed good = { STR("http://127.0.0.1/"), -1 };
	struct launch_seed bad[] = { good, { STR("mailto:a@b"), 0 } };
	struct launch_seed pass[] = { good, { STR("http://u:p@a.org/"), 0 } };
	struct launch_seed user[] = { good, { STR("http:///u@a.org/"), 0 } };
	struct launch_seed slash[] = { good, { STR("http://a\\@b/"), 0 } };
	struct str tag = STR("");
	struct launch l = { .seeds = &good, .seeds_n = 1 }, m = l;

	(void)state;
	rig_open(&rig, site, set);
	rig_start(&rig);
	refused((struct launch){ .spec.name = STR("x") }, ERR_INPUT, "seeds: ");
	refused((struct launch){ .seeds = bad, .seeds_n = 2 }, ERR_INPUT,
	    "seeds[1].url: ");
	refused((struct launch){ .seeds = pass, .seeds_n = 2 }, ERR_INPUT,
	    "seeds[1].url: it holds a user or a password");
	refused((struct launch){ .seeds = user, .seeds_n = 2 }, ERR_INPUT,
	    "seeds[1].url: it holds a user or a password");
	refused((struct launch){ .seeds = slash, .seeds_n = 2 }, ERR_INPUT,
	    "seeds[1].url: a backslash");
	m = l;
	m.spec.policy = STR("{\"url_rules\":[{\"pattern\":\"(\"},{}]}");
	refused(m, ERR_INPUT, "policy: url_rules[0]");
	m.spec.policy = STR("{\"allow_private\":true}");
	refused(m, ERR_INPUT, "policy: allow_private");
	m.spec.policy = STR("{\"proxy\":\"http://127.0.0.1:3128\"}");
	refused(m, ERR_INPUT, "policy: proxy");
	m.spec.policy = STR("{\"proxy\":\"http://10.1.2.3:3128\"}");
	refused(m, ERR_INPUT, "policy: proxy");
	m = l;
	m.spec.policy_name = STR("nobody's");
	refused(m, ERR_ABSENT, "");
	m = l;
	m.spec.tags = &tag;
	m.spec.tags_n = 1;
	refused(m, ERR_INPUT, "tags[0]");
	m = l;
	m.spec.name = STR("a\nb");
	refused(m, ERR_INPUT, "name");
	/* Nothing of all that was begun; a private seed is, and is skipped. */
	assert_null(
	    crawl_registry_below(engine_registry(rig.engine), UINT32_MAX));
	uint32_t id = rig_launch(&rig, "/", "{}");
	rig_until_state(&rig, id, CRAWL_COMPLETE);
	assert_int_equal(row(id)->view.counts.skips[SKIP_BLOCKED], 1);
	assert_int_equal(rig_requests(&rig, NULL), 0);
	rig_close(&rig);
}

/* --- steering ------------------------------------------------------------ */

static void
steer(uint32_t crawl, enum crawl_state want, enum err e, enum crawl_state is)
{
	struct crawl_order o;

	rig_steer(&rig, crawl, want, &o);
	assert_int_equal(o.why.err, e);
	if (e == OK) {
		assert_int_equal(o.state, is);
		assert_int_equal(row(crawl)->view.state, is);
	}
}

static bool
has_items(struct rig *r, void *arg)
{
	(void)r;
	return row(0)->view.counts.items >= *(uint64_t *)arg;
}

static void
crawls_are_steered(void **state)
{
	uint64_t some = 2, more;

	(void)state;
	rig_open(&rig, site, NULL);
	rig_start(&rig);
	assert_int_equal(rig_launch(&rig, "/slow", SLOW), 0);
	rig_until(&rig, has_items, &some);
	steer(0, CRAWL_PAUSED, OK, CRAWL_PAUSED);
	steer(0, CRAWL_PAUSED, OK, CRAWL_PAUSED);
	assert_string_equal(row(0)->view.reason, "by a client");
	/* Paused stays paused over restarts. */
	rig_stop(&rig);
	uint64_t asked = rig_requests(&rig, NULL);
	rig_start(&rig);
	assert_int_equal(row(0)->view.state, CRAWL_PAUSED);
	steer(0, CRAWL_PAUSED, OK, CRAWL_PAUSED);
	assert_int_equal(rig_requests(&rig, NULL), asked);
	more = row(0)->view.counts.items + 1;
	steer(0, CRAWL_RUNNING, OK, CRAWL_RUNNING);
	assert_string_equal(row(0)->view.reason, "");
	steer(0, CRAWL_RUNNING, OK, CRAWL_RUNNING);
	rig_until(&rig, has_items, &more);
	steer(0, CRAWL_CANCELLED, OK, CRAWL_CANCELLED);
	steer(0, CRAWL_CANCELLED, OK, CRAWL_CANCELLED);
	steer(0, CRAWL_PAUSED, ERR_STATE, 0);
	steer(0, CRAWL_RUNNING, ERR_STATE, 0);
	steer(77, CRAWL_PAUSED, ERR_ABSENT, 0);
	assert_true(row(0)->view.counts.items < 21);
	assert_int_not_equal(row(0)->view.ended.us, 0);
	/* A complete one stays so. */
	rig_launch(&rig, "/",
	    "{\"rate_limit\":0,\"limits\":{\"max_depth\":0}}");
	rig_until_state(&rig, 1, CRAWL_COMPLETE);
	steer(1, CRAWL_CANCELLED, OK, CRAWL_COMPLETE);
	rig_close(&rig);
}

/* --- limits -------------------------------------------------------------- */

static void
limits_end_crawls_and_say_so(void **state)
{
	(void)state;
	rig_open(&rig, site, NULL);
	rig_start(&rig);
	rig_launch(&rig, "/deep/0", "{\"rate_limit\":0,\"limits\":"
	    "{\"max_depth\":null,\"max_items\":7}}");
	rig_launch(&rig, "/deep/0", "{\"rate_limit\":0,\"limits\":"
	    "{\"max_depth\":null,\"max_duration\":0.4}}");
	rig_until_state(&rig, 0, CRAWL_COMPLETE);
	assert_string_equal(row(0)->view.reason, "max_items");
	assert_int_equal(row(0)->view.counts.items, 7);
	rig_until_state(&rig, 1, CRAWL_COMPLETE);
	assert_string_equal(row(1)->view.reason, "max_duration");
	int64_t us = row(1)->view.ended.us - row(1)->view.started.us;
	assert_in_range(us, 400000, 3000000);
	/* It goes on being counted while no process runs. */
	rig_launch(&rig, "/deep/0", "{\"rate_limit\":0,\"limits\":"
	    "{\"max_depth\":null,\"max_duration\":1}}");
	rig_stop(&rig);
	struct timespec wait = { 1, 0 };
	nanosleep(&wait, NULL);
	rig_start(&rig);
	rig_until_state(&rig, 2, CRAWL_COMPLETE);
	assert_string_equal(row(2)->view.reason, "max_duration");
	rig_close(&rig);
}

static void
crawls_wait_for_others(void **state)
{
	static const char *const set[] = { "crawl.running_max=2",
	    "crawl.pending_max=2", NULL };
	struct crawl_order o;

	(void)state;
	rig_open(&rig, site, set);
	rig_start(&rig);
	for (uint32_t i = 0; i < 4; i++)
		rig_launch(&rig, "/deep/0",
		    "{\"rate_limit\":0,\"limits\":{\"max_depth\":null}}");
	assert_int_equal(row(1)->view.state, CRAWL_RUNNING);
	assert_int_equal(row(2)->view.state, CRAWL_PENDING);
	assert_int_equal(row(3)->view.state, CRAWL_PENDING);
	struct launch_seed seed = { STR("http://127.0.0.1/"), -1 };
	refused((struct launch){ .seeds = &seed, .seeds_n = 1 }, ERR_FULL,
	    "2 crawls are waiting");
	/* One that is paused makes room, for the oldest. */
	steer(0, CRAWL_PAUSED, OK, CRAWL_PAUSED);
	rig_until_state(&rig, 2, CRAWL_RUNNING);
	assert_int_equal(row(3)->view.state, CRAWL_PENDING);
	assert_int_equal(row(3)->view.counts.items, 0);
	/* It comes back behind those that run; before those that came later. */
	steer(0, CRAWL_RUNNING, OK, CRAWL_PENDING);
	rig_stop(&rig);
	rig_start(&rig);
	assert_int_equal(row(0)->view.state, CRAWL_PENDING);
	assert_int_equal(row(3)->view.state, CRAWL_PENDING);
	steer(1, CRAWL_CANCELLED, OK, CRAWL_CANCELLED);
	rig_until_state(&rig, 0, CRAWL_RUNNING);
	uint64_t more = row(0)->view.counts.items + 3;
	rig_until(&rig, has_items, &more);
	/* What waits can be cancelled. */
	rig_steer(&rig, 3, CRAWL_CANCELLED, &o);
	assert_int_equal(o.state, CRAWL_CANCELLED);
	assert_int_equal(row(3)->view.started.us, 0);
	rig_close(&rig);
}

/* --- keys ---------------------------------------------------------------- */

static void
a_key_has_one_crawl(void **state)
{
	(void)state;
	rig_open(&rig, site, NULL);
	rig_start(&rig);
	struct launch_seed seed = { rig_url(&rig, "/deep/0"), 0 };
	struct launch l = { .seeds = &seed, .seeds_n = 1,
	    .spec = { .key = STR("3/1"), .schedule = 3 } };
	rig_say_launch(&rig, &l);
	assert_int_equal(l.crawl, 0);
	rig_say_launch(&rig, &l);
	assert_int_equal(l.crawl, 0);
	rig_crash(&rig);
	rig_start(&rig);
	assert_int_equal(row(0)->schedule, 3);
	rig_say_launch(&rig, &l);
	assert_int_equal(l.why.err, OK);
	assert_int_equal(l.crawl, 0);
	l.spec.key = STR("3/2");
	rig_say_launch(&rig, &l);
	assert_int_equal(l.crawl, 1);
	rig_close(&rig);
}

/* --- delays -------------------------------------------------------------- */

static double
seconds(uint32_t crawl)
{
	const struct crawl_view *v = &row(crawl)->view;

	return (double)(v->ended.us - v->started.us) / 1e6;
}

/* Four pages at a host have three pauses between them, and robots.txt. */
static void
a_seed_has_its_own_delay(void **state)
{
	static const char policy[] = "{\"rate_limit\":30,\"limits\":"
	    "{\"max_items\":4}}";

	(void)state;
	rig_open(&rig, site, NULL);
	rig_start(&rig);
	/* Of two seeds at one host the larger counts; 0 does not stall. */
	struct launch_seed seeds[] = { { rig_url(&rig, "/"), 0.1 },
	    { rig_url(&rig, "/page1"), 0.2 } };
	struct launch l = { .seeds = seeds, .seeds_n = 2,
	    .spec.policy = str_of(policy) };
	rig_say_launch(&rig, &l);
	rig_until_state(&rig, 0, CRAWL_COMPLETE);
	assert_true(seconds(0) >= 0.6);
	assert_true(seconds(0) < 5);
	seeds[0].rate_limit = 0;
	l.seeds_n = 1;
	rig_say_launch(&rig, &l);
	rig_until_state(&rig, 1, CRAWL_COMPLETE);
	assert_true(seconds(1) < 2);
	/* It is kept over a restart. */
	seeds[0].rate_limit = 0.1;
	rig_say_launch(&rig, &l);
	rig_stop(&rig);
	rig_start(&rig);
	rig_until_state(&rig, 2, CRAWL_COMPLETE);
	assert_int_equal(row(2)->view.counts.items, 4);
	rig_close(&rig);
}

/* Crawls share a host: the largest wish of those that run wins. */
static void
hosts_are_shared(void **state)
{
	(void)state;
	rig_open(&rig, site, NULL);
	rig_start(&rig);
	struct launch_seed seed = { rig_url(&rig, "/deep/0"), 0.3 };
	struct launch l = { .seeds = &seed, .seeds_n = 1,
	    .spec.policy = STR("{\"limits\":{\"max_depth\":null}}") };
	rig_say_launch(&rig, &l);
	uint64_t one = 1;
	rig_until(&rig, has_items, &one);
	rig_launch(&rig, "/page", "{\"rate_limit\":0,\"limits\":"
	    "{\"max_items\":4}}");
	rig_until_state(&rig, 1, CRAWL_COMPLETE);
	assert_true(seconds(1) >= 0.9);
	/* Without the other one it is quick, but not each time on a busy
	 * machine. */
	steer(0, CRAWL_PAUSED, OK, CRAWL_PAUSED);
	uint32_t last = 1;
	do {
		rig_launch(&rig, "/page",
		    "{\"rate_limit\":0,\"limits\":{\"max_items\":4}}");
		rig_until_state(&rig, ++last, CRAWL_COMPLETE);
	} while (seconds(last) >= 0.9 && last < 6);
	assert_true(seconds(last) < 0.9);
	rig_close(&rig);
}

/* --- memory --------------------------------------------------------------- */

static bool
holds(struct rig *r, void *arg)
{
	(void)r;
	return metric_named("argiope_crawls_held") == *(int64_t *)arg;
}

static void
ended_crawls_leave_the_memory(void **state)
{
	int64_t wanted = 1;
	uint64_t some = 1;
	struct crawl_order o;

	(void)state;
	rig_open(&rig, site, NULL);
	rig_start(&rig);
	/* Before it can end, however slow this machine is. */
	rig_launch(&rig, "/slow", SLOW);
	rig_until(&rig, has_items, &some);
	steer(0, CRAWL_PAUSED, OK, CRAWL_PAUSED);
	/* Some end by themselves, some are cancelled on the wire. */
	for (int i = 0; i < 10; i++)
		rig_launch(&rig, i % 2 == 0 ? "/" : "/deep/0", i % 2 == 0 ?
		    "{\"rate_limit\":0,\"limits\":{\"max_items\":3}}" :
		    "{\"rate_limit\":0,\"limits\":{\"max_depth\":null}}");
	rig_until_state(&rig, 1, CRAWL_COMPLETE);
	for (uint32_t i = 2; i <= 10; i += 2)
		steer(i, CRAWL_CANCELLED, OK, CRAWL_CANCELLED);
	for (uint32_t i = 1; i <= 10; i += 2)
		rig_until_state(&rig, i, CRAWL_COMPLETE);
	rig_until(&rig, holds, &wanted);
	/* Their hosts go on serving others. */
	steer(0, CRAWL_RUNNING, OK, CRAWL_RUNNING);
	rig_until_state(&rig, 0, CRAWL_COMPLETE);
	assert_int_equal(row(0)->view.counts.items, 21);
	wanted = 0;
	rig_until(&rig, holds, &wanted);
	rig_steer(&rig, 4, CRAWL_CANCELLED, &o);
	assert_int_equal(o.why.err, OK);
	rig_close(&rig);
}

/* --- specs --------------------------------------------------------------- */

static void
specs_can_be_read(void **state)
{
	bool done = false;
	struct spec_query a = { .done = spec_came, .arg = &done };

	(void)state;
	rig_open(&rig, site, NULL);
	rig_start(&rig);
	rig_launch(&rig, "/", "{\"downloads\":3}");
	catalog_spec(rig.engine, &a);
	RIG_UNTIL_DONE(&rig, done);
	assert_int_equal(a.why.err, OK);
	assert_int_equal(a.spec.seeds_n, 1);
	assert_true(str_find(a.spec.policy, STR("\"downloads\":3")) <
	    a.spec.policy.n);
	assert_true(str_ends(a.spec.warc_dir, STR("/archive/crawl-0")));
	arena_free(&a.arena);
	a = (struct spec_query){ .crawl = 9, .done = spec_came, .arg = &done };
	done = false;
	catalog_spec(rig.engine, &a);
	RIG_UNTIL_DONE(&rig, done);
	assert_int_equal(a.why.err, ERR_ABSENT);
	arena_free(&a.arena);
	rig_close(&rig);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crawls_are_launched_and_watched),
		cmocka_unit_test(faults_are_named),
		cmocka_unit_test(crawls_are_steered),
		cmocka_unit_test(an_ended_crawl_is_run_again),
		cmocka_unit_test(failures_above_the_limit_are_retried_in_turn),
		cmocka_unit_test(limits_end_crawls_and_say_so),
		cmocka_unit_test(crawls_wait_for_others),
		cmocka_unit_test(a_key_has_one_crawl),
		cmocka_unit_test(a_seed_has_its_own_delay),
		cmocka_unit_test(hosts_are_shared),
		cmocka_unit_test(ended_crawls_leave_the_memory),
		cmocka_unit_test(specs_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
