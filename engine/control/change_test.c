/* Exclusions, retries and deletions, while loops run. */
#include "engine/control/engine_testing.h"
#include "engine/control/control.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "os/clock.h"

#define SLOW "{\"rate_limit\":0,\"downloads\":1}"
#define BRANCHES 30

static struct rig rig;
static atomic_bool broken, forbidden, slow_robots, slow_pages;

/*
 * "/": links to /a/0 ... and /b/0 ...; /a/N links to /b/late/N.  /flaky/...
 * ends the connection while `broken`; robots.txt forbids /shy/ while
 * `forbidden`.  While `slow_pages` a crawl takes some ten seconds.
 */
static void
site(struct str path, struct rig_page *p)
{
	uint64_t n;

	if (str_eq(path, STR("/robots.txt"))) {
		p->status = 200;
		p->delay_ms = atomic_load(&slow_robots) ? 500 : 0;
		p->type = "text/plain";
		buf_printf(&p->body, "User-agent: *\nDisallow:%s\n",
		    atomic_load(&forbidden) ? " /shy/" : "");
	} else if (str_eq(path, STR("/"))) {
		for (int i = 0; i < BRANCHES; i++)
			buf_printf(&p->body, "<a href=/a/%d>x</a>"
			    "<a href=/b/%d>x</a>", i, i);
	} else if (str_starts(path, STR("/a/")) &&
	    str_to_u64(str_from(path, 3), &n)) {
		p->delay_ms = atomic_load(&slow_pages) ? 400 : 10;
		buf_printf(&p->body, "<a href=/b/late/%d>x</a>", (int)n);
	} else if (str_eq(path, STR("/trouble"))) {
		buf_put_text(&p->body, "<a href=/flaky/0>x</a>"
		    "<a href=/flaky/1>x</a><a href=/shy/0>x</a>"
		    "<a href=http://other.invalid/>x</a>");
	} else if (str_eq(path, STR("/wait"))) {
		p->delay_ms = 3000;
	} else if (str_starts(path, STR("/flaky/"))) {
		p->drop = atomic_load(&broken);
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

/* --- verbs that are waited for ------------------------------------------- */

static void
excluded(struct exclude_request *a)
{
	*(bool *)a->arg = true;
}

static void
exclude(struct exclude_request *a, uint32_t crawl, const char *pattern,
    bool preview)
{
	bool done = false;

	*a = (struct exclude_request){ .crawl = crawl,
		.pattern = str_of(pattern),
		.preview = preview,
		.done = excluded,
		.arg = &done };
	crawl_exclude(rig.engine, a);
	RIG_UNTIL_DONE(&rig, done);
}

static void
retried(struct retry_request *a)
{
	*(bool *)a->arg = true;
}

static void
retry(struct retry_request *a, uint32_t crawl, const char *reason,
    const struct str *urls, size_t n)
{
	bool done = false;

	*a = (struct retry_request){ .crawl = crawl, .reason = str_of(reason),
	    .urls = urls, .urls_n = n, .done = retried, .arg = &done };
	crawl_retry(rig.engine, a);
	RIG_UNTIL_DONE(&rig, done);
}

static void
deleted(struct delete_request *a)
{
	*(bool *)a->arg = true;
}

static enum err
delete(uint32_t crawl)
{
	bool done = false;
	struct delete_request a = { .crawl = crawl, .done = deleted,
	    .arg = &done };

	crawl_delete(rig.engine, &a);
	RIG_UNTIL_DONE(&rig, done);
	return a.why.err;
}

static void
steer(uint32_t crawl, enum crawl_state want)
{
	struct crawl_order o = { 0 };

	rig_steer(&rig, crawl, want, &o);
	assert_int_equal(o.why.err, OK);
}

struct wanted {
	uint32_t crawl;
	uint64_t items;
};

static bool
has_items(struct rig *r, void *arg)
{
	const struct wanted *w = arg;

	(void)r;
	return row(w->crawl)->view.counts.items >= w->items;
}

static void
until_items(uint32_t crawl, uint64_t n)
{
	struct wanted w = { crawl, n };

	rig_until(&rig, has_items, &w);
}

static bool
is_over(struct rig *r, void *arg)
{
	const struct mono *until = arg;

	(void)r;
	return mono_before(*until, clock_mono());
}

/* So long nothing is expected to happen, or something in the background. */
static void
pass(int64_t ms)
{
	struct mono until = mono_add_ms(clock_mono(), ms);

	rig_until(&rig, is_over, &until);
}

static uint64_t
asked_b(void)
{
	char path[40];
	uint64_t n = 0;

	for (int i = 0; i < BRANCHES; i++) {
		snprintf(path, sizeof(path), "/b/%d", i);
		n += rig_requests(&rig, path);
		snprintf(path, sizeof(path), "/b/late/%d", i);
		n += rig_requests(&rig, path);
	}
	return n;
}

/* --- exclusions ----------------------------------------------------------- */

static void
check_refusals(uint32_t crawl)
{
	struct exclude_request a;

	exclude(&a, crawl, "(", false);
	assert_int_equal(a.why.err, ERR_INPUT);
	assert_memory_equal(a.why.text, "pattern: ", 9);
	exclude(&a, crawl, "", true);
	assert_int_equal(a.why.err, ERR_INPUT);
	exclude(&a, 99, "/b/", false);
	assert_int_equal(a.why.err, ERR_ABSENT);
	exclude(&a, 99, "/b/", true);
	assert_int_equal(a.why.err, ERR_ABSENT);
}

static void
excluded_while_it_is_paused(void **state)
{
	struct exclude_request a;

	(void)state;
	rig_open(&rig, site, NULL);
	rig_start(&rig);
	uint32_t crawl = rig_launch(&rig, "/", SLOW);
	until_items(crawl, 3);
	check_refusals(crawl);
	steer(crawl, CRAWL_PAUSED);
	/* What was under way has ended. */
	pass(200);
	struct crawl_counts before = row(crawl)->view.counts;
	exclude(&a, crawl, "/b/", true);
	assert_int_equal(a.why.err, OK);
	uint64_t previewed = a.removed;
	assert_true(previewed > 0);
	assert_int_equal(a.sample_n, MIN(previewed, CHANGES_SAMPLE_MAX));
	for (size_t i = 0; i < a.sample_n; i++)
		assert_true(str_find(a.sample[i], STR("/b/")) <
		    a.sample[i].n);
	arena_free(&a.arena);
	/* Nothing has changed. */
	assert_int_equal(row(crawl)->view.counts.queued, before.queued);
	exclude(&a, crawl, "/b/", false);
	assert_int_equal(a.why.err, OK);
	assert_int_equal(a.removed, previewed);
	assert_int_equal(a.sample_n, previewed);
	arena_free(&a.arena);
	assert_int_equal(row(crawl)->view.counts.skips[SKIP_SCOPE],
	    before.skips[SKIP_SCOPE] + previewed);
	assert_int_equal(row(crawl)->view.counts.queued,
	    before.queued - previewed);
	/* Once more: there is nothing left. */
	exclude(&a, crawl, "/b/", false);
	assert_int_equal(a.why.err, OK);
	assert_int_equal(a.removed, 0);
	arena_free(&a.arena);
	uint64_t asked = asked_b();
	/* It holds after a restart. */
	rig_stop(&rig);
	rig_start(&rig);
	steer(crawl, CRAWL_RUNNING);
	rig_until_state(&rig, crawl, CRAWL_COMPLETE);
	assert_int_equal(asked_b(), asked);
	const struct crawl_counts *n = &row(crawl)->view.counts;
	assert_int_equal(n->items, 1 + BRANCHES + asked);
	assert_int_equal(n->skips[SKIP_SCOPE], 2 * BRANCHES - asked);
	/* Of a crawl that is over. */
	exclude(&a, crawl, "/a/", true);
	assert_int_equal(a.why.err, OK);
	assert_int_equal(a.removed, 0);
	assert_int_equal(a.sample_n, 0);
	arena_free(&a.arena);
	exclude(&a, crawl, "/a/", false);
	assert_int_equal(a.why.err, ERR_STATE);
	rig_close(&rig);
}

/* What is found under way, leased ahead, or behind the answer: none. */
static void
excluded_while_it_runs(void **state)
{
	struct exclude_request a;

	(void)state;
	for (unsigned items = 1; items < 12; items += 5) {
		rig_open(&rig, site, NULL);
		rig_start(&rig);
		uint32_t crawl = rig_launch(&rig, "/", SLOW);
		until_items(crawl, items);
		exclude(&a, crawl, "/b/", false);
		assert_int_equal(a.why.err, OK);
		arena_free(&a.arena);
		uint64_t asked = asked_b();
		rig_until_state(&rig, crawl, CRAWL_COMPLETE);
		/* One may have been on its way. */
		assert_true(asked_b() <= asked + 1);
		const struct crawl_counts *n = &row(crawl)->view.counts;
		assert_int_equal(n->items, 1 + BRANCHES + asked_b());
		assert_int_equal(n->skips[SKIP_SCOPE],
		    2 * BRANCHES - asked_b());
		rig_close(&rig);
	}
}

/* It waits for robots.txt, or for its turn: it has not been asked for. */
static void
excluded_before_it_was_asked_for(void **state)
{
	struct exclude_request a;

	(void)state;
	atomic_store(&slow_robots, true);
	rig_open(&rig, site, NULL);
	rig_start(&rig);
	uint32_t crawl = rig_launch(&rig, "/b/7", SLOW);
	pass(100);
	assert_int_equal(rig_requests(&rig, "/robots.txt"), 1);
	exclude(&a, crawl, "/b/", false);
	assert_int_equal(a.why.err, OK);
	arena_free(&a.arena);
	rig_until_state(&rig, crawl, CRAWL_COMPLETE);
	assert_int_equal(rig_requests(&rig, "/b/7"), 0);
	assert_int_equal(row(crawl)->view.counts.skips[SKIP_SCOPE], 1);
	atomic_store(&slow_robots, false);
	rig_close(&rig);
}

static void
too_many_rules(void **state)
{
	struct buf json = BUF_INIT;
	struct exclude_request a;

	(void)state;
	rig_open(&rig, site, NULL);
	rig_start(&rig);
	buf_put_text(&json, "{\"rate_limit\":0,\"downloads\":1,"
	    "\"url_rules\":[");
	for (int i = 0; i < 998; i++)
		buf_printf(&json, "{\"pattern\":\"x%d\",\"action\":\"add\","
		    "\"amount\":1},", i);
	buf_printf(&json, "{\"action\":\"add\",\"amount\":1}]}");
	uint32_t crawl = rig_launch(&rig, "/", buf_text(&json));
	steer(crawl, CRAWL_PAUSED);
	exclude(&a, crawl, "/b/", false);
	assert_int_equal(a.why.err, OK);
	arena_free(&a.arena);
	exclude(&a, crawl, "/c/", false);
	assert_int_equal(a.why.err, ERR_FULL);
	buf_free(&json);
	rig_close(&rig);
}

/* Several at once, of one crawl and of two: each is answered. */
static void
many_at_once(void **state)
{
	struct exclude_request a[8];
	bool done[8] = { false };
	char pattern[8][20];

	(void)state;
	atomic_store(&slow_pages, true);
	rig_open(&rig, site, NULL);
	rig_start(&rig);
	uint32_t first = rig_launch(&rig, "/", SLOW);
	uint32_t second = rig_launch(&rig, "/", SLOW);
	for (unsigned i = 0; i < 8; i++) {
		snprintf(pattern[i], sizeof(pattern[i]), "/[ab]/.*%u$", i);
		a[i] =
		    (struct exclude_request){ .crawl = i % 3 ? first : second,
			    .pattern = str_of(pattern[i]),
			    .preview = i == 4,
			    .done = excluded,
			    .arg = &done[i] };
		crawl_exclude(rig.engine, &a[i]);
	}
	for (unsigned i = 0; i < 8; i++) {
		RIG_UNTIL_DONE(&rig, done[i]);
		assert_int_equal(a[i].why.err, OK);
		arena_free(&a[i].arena);
	}
	/* The program ends in the midst of others. */
	for (unsigned i = 0; i < 8; i++) {
		done[i] = false;
		crawl_exclude(rig.engine, &a[i]);
	}
	rig_stop(&rig);
	for (unsigned i = 0; i < 8; i++) {
		assert_true(done[i]);
		assert_true(a[i].why.err == OK ||
		    a[i].why.err == ERR_CLOSED);
		arena_free(&a[i].arena);
	}
	atomic_store(&slow_pages, false);
	rig_start(&rig);
	rig_until_state(&rig, first, CRAWL_COMPLETE);
	rig_until_state(&rig, second, CRAWL_COMPLETE);
	rig_close(&rig);
}

/* --- another try ---------------------------------------------------------- */

static const char *const trouble[] = { "fetch.tries_max=1", NULL };

static bool
has_trouble(struct rig *r, void *arg)
{
	const struct crawl_counts *n = &row(*(uint32_t *)arg)->view.counts;

	(void)r;
	return crawl_exceptions(n) == 2 && n->skips[SKIP_ROBOTS] == 1 &&
	    n->skips[SKIP_SCOPE] == 1 && n->leased == 1;
}

static const char *
reason_of(const struct crawl_counts *n)
{
	for (int i = 0; i < EXCEPTION_COUNT; i++)
		if (n->exceptions[i] == 2)
			return exception_name(i);
	fail();
	return "";
}

static void
tried_again(void **state)
{
	struct retry_request a;

	(void)state;
	atomic_store(&broken, true);
	atomic_store(&forbidden, true);
	rig_open(&rig, site, trouble);
	rig_start(&rig);
	/* Another host keeps it running. */
	struct launch_seed seeds[] = { { rig_url(&rig, "/trouble"), 0 },
	    { arena_printf(&rig.arena, "http://localhost:%u/wait", rig.port),
	    0 } };
	struct launch l = { .seeds = seeds, .seeds_n = 2,
	    .spec.policy = STR("{\"rate_limit\":0}") };
	rig_say_launch(&rig, &l);
	assert_int_equal(l.why.err, OK);
	uint32_t crawl = l.crawl;
	rig_until(&rig, has_trouble, &crawl);
	const char *reason = reason_of(&row(crawl)->view.counts);
	retry(&a, crawl, "nonsense", NULL, 0);
	assert_int_equal(a.why.err, ERR_INPUT);
	assert_memory_equal(a.why.text, "reason: ", 8);
	retry(&a, crawl, "", NULL, 0);
	assert_int_equal(a.why.err, ERR_INPUT);
	struct str bad[] = { rig_url(&rig, "/shy/0"), STR("http://[") };
	retry(&a, crawl, "", bad, 2);
	assert_int_equal(a.why.err, ERR_INPUT);
	assert_memory_equal(a.why.text, "urls[1]: ", 9);
	retry(&a, 99, "dns", NULL, 0);
	assert_int_equal(a.why.err, ERR_ABSENT);
	/* Nothing failed so; items and what is out of scope stay. */
	retry(&a, crawl, "decode", NULL, 0);
	assert_int_equal(a.why.err, OK);
	assert_int_equal(a.requeued, 0);
	retry(&a, crawl, "scope", NULL, 0);
	assert_int_equal(a.why.err, OK);
	assert_int_equal(a.requeued, 0);
	atomic_store(&broken, false);
	retry(&a, crawl, reason, NULL, 0);
	assert_int_equal(a.why.err, OK);
	assert_int_equal(a.requeued, 2);
	assert_int_equal(crawl_exceptions(&row(crawl)->view.counts), 0);
	/* robots.txt is asked again, though it is not a minute old. */
	atomic_store(&forbidden, false);
	struct str urls[] = { rig_url(&rig, "/shy/0"), rig_url(&rig, "/none"),
	    rig_url(&rig, "/trouble") };
	retry(&a, crawl, "", urls, 3);
	assert_int_equal(a.why.err, OK);
	assert_int_equal(a.requeued, 1);
	rig_until_state(&rig, crawl, CRAWL_COMPLETE);
	const struct crawl_counts *n = &row(crawl)->view.counts;
	assert_int_equal(n->items, 5);
	assert_int_equal(crawl_exceptions(n), 0);
	assert_int_equal(n->skips[SKIP_ROBOTS], 0);
	assert_int_equal(n->skips[SKIP_SCOPE], 1);
	assert_int_equal(rig_requests(&rig, "/trouble"), 1);
	assert_int_equal(rig_requests(&rig, "/shy/0"), 1);
	retry(&a, crawl, "scope", NULL, 0);
	assert_int_equal(a.why.err, ERR_STATE);
	rig_close(&rig);
}

/* --- deletion ------------------------------------------------------------- */

static void
spec_known(struct spec_query *a)
{
	*(bool *)a->arg = true;
}

static enum err
ask_spec(uint32_t crawl)
{
	bool done = false;
	struct spec_query a = { .crawl = crawl, .done = spec_known,
	    .arg = &done };

	catalog_spec(rig.engine, &a);
	RIG_UNTIL_DONE(&rig, done);
	arena_free(&a.arena);
	return a.why.err;
}

static unsigned
count_files(const char *pattern)
{
	char command[200];
	unsigned n = 0;

	snprintf(command, sizeof(command), "ls %s/archive/*/%s 2>&1 | "
	    "grep -c warc", rig.dir, pattern);
	FILE *p = popen(command, "r");
	assert_non_null(p);
	assert_int_equal(fscanf(p, "%u", &n), 1);
	pclose(p);
	return n;
}

static void
a_crawl_is_deleted(void **state)
{
	(void)state;
	atomic_store(&broken, false);
	rig_open(&rig, site, NULL);
	rig_start(&rig);
	uint32_t kept = rig_launch(&rig, "/a/1", SLOW);
	uint32_t crawl = rig_launch(&rig, "/", SLOW);
	assert_int_equal(delete(99), ERR_ABSENT);
	assert_int_equal(delete(crawl), ERR_STATE);
	rig_until_state(&rig, crawl, CRAWL_COMPLETE);
	rig_until_state(&rig, kept, CRAWL_COMPLETE);
	unsigned files = count_files("*");
	assert_true(files >= 2);
	assert_int_equal(ask_spec(crawl), OK);
	assert_int_equal(delete(crawl), OK);
	assert_true(row(crawl)->deleted);
	assert_int_equal(ask_spec(crawl), ERR_ABSENT);
	assert_int_equal(ask_spec(kept), OK);
	assert_int_equal(delete(crawl), ERR_ABSENT);
	/* Its number does not come again, nor after a restart. */
	rig_stop(&rig);
	assert_true(count_files("*") >= files);
	rig_start(&rig);
	assert_null(crawl_row(engine_registry(rig.engine), crawl));
	assert_non_null(crawl_row(engine_registry(rig.engine), kept));
	uint32_t next = rig_launch(&rig, "/a/2", SLOW);
	assert_int_equal(next, crawl + 1);
	rig_until_state(&rig, next, CRAWL_COMPLETE);
	assert_int_equal(row(next)->view.counts.items, 2);
	rig_close(&rig);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(excluded_while_it_is_paused),
		cmocka_unit_test(excluded_while_it_runs),
		cmocka_unit_test(excluded_before_it_was_asked_for),
		cmocka_unit_test(too_many_rules),
		cmocka_unit_test(many_at_once),
		cmocka_unit_test(tried_again),
		cmocka_unit_test(a_crawl_is_deleted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
