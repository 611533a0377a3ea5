/* Pages that a busy loop lends to an idle one, and what stays the same. */
#include "base/metric.h"
#include "engine/fetcher/call.h"
#include "engine/fetcher/core.h"
#include "engine/fetcher/fetcher_testing.h"
#include "engine/fetcher/host.h"
#include "engine/fetcher/page.h"

static struct fetch_rig rig;

#define PLAIN "{\"robots\":\"ignore\",\"rate_limit\":0,\"downloads\":100}"

static void
take_lent(const struct metric *m, void *arg)
{
	if (strcmp(m->name, "argiope_pages_lent_total") == 0)
		*(int64_t *)arg = metric_value(m, 0);
}

/* Pages that were lent since the process began. */
static int64_t
count_lent(void)
{
	int64_t n = 0;

	metric_each(take_lent, &n);
	return n;
}

/* The crawl ends, and leaves no page, request or download on any loop. */
static void
end_crawl(void)
{
	fetch_rig_order(&rig, FETCH_END);
	fetch_rig_pass(&rig, 100);
	assert_int_equal(rig.open, 0);
	assert_int_equal(rig.crawl.downloads, 0);
	assert_int_equal(rig.crawl.users, 1);
	assert_int_equal(rig.uncommitted.pages, 0);
	assert_int_equal(rig.uncommitted.bytes, 0);
	for (size_t i = 0; i < rig.fetchers_n; i++) {
		struct page_table *t = rig.fetchers[i]->pages;
		assert_true(list_empty(&t->all));
		assert_int_equal(t->borrowed, 0);
	}
	fetch_rig_end(&rig);
}

/* --- one loop and two ----------------------------------------------------- */

static void
site_of_all_kinds(struct str url, struct answer *a)
{
	static char body[200];

	a->head = "Content-Type: text/html\r\n";
	if (str_ends(url, STR("a.test/"))) {
		a->body = "<title>All</title><a href=/1>x</a><a href=/2>x</a>"
		    "<a href=/3>x</a><a href=/4>x</a><a href=/moved>x</a>"
		    "<a href=/gone>x</a><a href=/loop>x</a>"
		    "<a href=/damaged>x</a><a href=/reset>x</a>"
		    "<a href=/secret>x</a><a href=//b.test/>x</a>";
	} else if (str_ends(url, STR("/robots.txt"))) {
		a->head = "Content-Type: text/plain\r\n";
		a->body = "User-agent: *\nDisallow: /secret\n"
		    "Sitemap: http://a.test/map.txt\n";
	} else if (str_ends(url, STR("/map.txt"))) {
		a->head = "Content-Type: text/plain\r\n";
		a->body = "http://a.test/5\nhttp://a.test/6\n";
	} else if (str_ends(url, STR("/moved"))) {
		a->status = 301;
		a->head = "Location: http://b.test/here\r\n";
	} else if (str_ends(url, STR("/loop"))) {
		a->status = 302;
		a->head = "Location: /loop\r\n";
	} else if (str_ends(url, STR("/gone"))) {
		a->status = 404;
		a->body = "gone";
	} else if (str_ends(url, STR("/damaged"))) {
		a->head = "Content-Encoding: gzip\r\n";
		a->body = "this was never packed";
	} else if (str_ends(url, STR("/reset"))) {
		a->status = 0;
		a->end = TRANSPORT_RESET;
	} else {
		snprintf(body, sizeof(body), "<p>%.*s</p><a href=/1>x</a>"
		    "<a href=/7>x</a><a href=//b.test/9>x</a>", STR_FMT(url));
		a->body = body;
	}
}

struct told {
	char urls[FETCH_REQUESTS_MAX][120];      /* requested, sorted */
	unsigned urls_n;
	struct url_event events[FETCH_REQUESTS_MAX];
	unsigned events_n;
	struct crawl_counts counts;
	int64_t lent;
};

static int
by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static uint64_t
rank_event(const struct url_event *e)
{
	return (uint64_t)e->outcome << 56 | (uint64_t)e->reason << 48 |
	    (uint64_t)e->status << 32 | e->body_bytes << 8 | e->depth;
}

static int
by_rank(const void *a, const void *b)
{
	uint64_t x = rank_event(a), y = rank_event(b);

	return (x > y) - (x < y);
}

static void
crawl_all_kinds(struct told *t, size_t fetchers, size_t loops)
{
	fetch_rig_init(&rig, site_of_all_kinds);
	rig.fetchers_n = fetchers;
	rig.shard.ports_n = (unsigned)loops;
	int64_t before = count_lent();
	fetch_rig_begin(&rig, "{\"rate_limit\":0,\"sitemaps\":true,"
	    "\"downloads\":100}", "http://a.test/");
	fetch_rig_pass(&rig, 60000);
	memset(t, 0, sizeof(*t));
	t->urls_n = rig.seen_n;
	for (unsigned i = 0; i < rig.seen_n; i++)
		memcpy(t->urls[i], rig.seen[i].url, sizeof(t->urls[i]));
	qsort(t->urls, t->urls_n, sizeof(t->urls[0]), by_text);
	t->events_n = rig.events_n;
	memcpy(t->events, rig.events, rig.events_n * sizeof(t->events[0]));
	qsort(t->events, t->events_n, sizeof(t->events[0]), by_rank);
	t->counts = rig_view(&rig.rig).counts;
	/* Which of two pages is like the other is a question of order. */
	t->counts.near_duplicates = 0;
	t->lent = count_lent() - before;
	end_crawl();
}

static void
compare_told(const struct told *a, const struct told *b)
{
	assert_int_equal(a->urls_n, b->urls_n);
	for (unsigned i = 0; i < a->urls_n; i++)
		assert_string_equal(a->urls[i], b->urls[i]);
	assert_int_equal(a->events_n, b->events_n);
	for (unsigned i = 0; i < a->events_n; i++) {
		assert_int_equal(rank_event(&a->events[i]),
		    rank_event(&b->events[i]));
		assert_int_equal(a->events[i].tries, b->events[i].tries);
		assert_int_equal(a->events[i].hops, b->events[i].hops);
	}
	assert_memory_equal(&a->counts, &b->counts, sizeof(a->counts));
}

static void
two_loops_tell_what_one_tells(void **state)
{
	static struct told one, helped, two;

	(void)state;
	crawl_all_kinds(&one, 1, 1);
	crawl_all_kinds(&helped, 2, 1);
	crawl_all_kinds(&two, 2, 2);
	assert_int_equal(one.counts.items, 15);
	assert_int_equal(one.counts.aux, 1);
	assert_int_equal(crawl_exceptions(&one.counts), 2);
	assert_int_equal(one.counts.skips[SKIP_ROBOTS], 1);
	assert_int_equal(one.lent, 0);
	assert_true(helped.lent > 0);
	compare_told(&one, &helped);
	compare_told(&one, &two);
}

/* --- calls ---------------------------------------------------------------- */

#define CALLS 8u

struct asked {
	struct call call;
	char url[40];
	unsigned answered, done;
};

static void
answered(struct call *c)
{
	struct asked *a = CONTAINER(c, struct asked, call);

	assert_int_equal(a->done, 0);
	a->answered++;
}

static void
done(struct call *c)
{
	CONTAINER(c, struct asked, call)->done++;
}

/* The content is the URL, which each answer must have of its own call. */
static void
echoing_site(struct str url, struct answer *a)
{
	static char body[120];

	snprintf(body, sizeof(body), "%.*s", STR_FMT(url));
	a->body = body;
}

/* An answer that is archived is built elsewhere; one that is not stays. */
static void
answers_to_calls_are_lent(void **state)
{
	static struct asked asked[CALLS];
	static const enum call_archive kinds[] = { CALL_RESPONSE,
	    CALL_METADATA, CALL_UNARCHIVED };

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
		fetch_rig_init(&rig, echoing_site);
		rig.rig.kind = CRAWL_TASKS;
		rig.fetchers_n = 2;
		rig.settings.host_connections_max = CALLS;
		fetch_rig_begin(&rig, PLAIN, "http://seed.test/");
		fetch_rig_pass(&rig, 1000);
		int64_t before = count_lent();
		for (unsigned i = 0; i < CALLS; i++) {
			asked[i] = (struct asked){ .call = {
			    .method = STR("GET"), .crawl = rig.crawl.id,
			    .home = rig.rig.loop, .archive = kinds[k],
			    .collected = k == 0 && i % 2 == 0,
			    .answered = answered, .done = done } };
			snprintf(asked[i].url, sizeof(asked[i].url),
			    "http://a.test/%u", i);
			asked[i].call.url = str_of(asked[i].url);
			call_start(rig.fetcher, &asked[i].call);
		}
		fetch_rig_pass(&rig, 1000);
		for (unsigned i = 0; i < CALLS; i++) {
			struct asked *a = &asked[i];
			assert_int_equal(a->answered, 1);
			assert_int_equal(a->done, 1);
			assert_int_equal(a->call.end, CALL_ANSWERED);
			assert_int_equal(a->call.result, OK);
			assert_true(str_eq(buf_str(&a->call.content),
			    a->call.url));
			assert_int_equal(a->call.number != 0,
			    kinds[k] != CALL_UNARCHIVED);
			call_free_answer(&a->call);
		}
		assert_int_equal(count_lent() - before,
		    kinds[k] == CALL_UNARCHIVED ? 0 : CALLS - 2);
		end_crawl();
	}
}

/* --- limits --------------------------------------------------------------- */

/* The first page links to 60; all are answered in one turn. */
static void
sixty_pages(struct str url, struct answer *a)
{
	static char body[60 * 32];
	size_t n = 0;

	a->head = "Content-Type: text/html\r\n";
	if (!str_ends(url, STR("a.test/")))
		return;
	for (int i = 0; i < 60; i++)
		n += (size_t)snprintf(body + n, sizeof(body) - n,
		    "<a href=/%d>x</a>", i);
	a->body = body;
}

static void
begin_sixty(site_fn *site, unsigned connections, const char *policy)
{
	fetch_rig_init(&rig, site);
	rig.fetchers_n = 2;
	rig.settings.host_connections_max = connections;
	rig.settings.address_connections_max = 64;
	rig.settings.connections_max = 64;
	rig.settings.window = 64;
	fetch_rig_begin(&rig, policy, "http://a.test/");
}

static void
lent_pages_have_a_limit(void **state)
{
	(void)state;
	begin_sixty(sixty_pages, 64, PLAIN);
	int64_t before = count_lent();
	fetch_rig_pass(&rig, 1000);
	assert_int_equal(rig.open_max, 60);
	assert_int_equal(count_lent() - before, PAGE_LENT_MAX);
	assert_int_equal(rig_view(&rig.rig).counts.items, 61);
	end_crawl();
}

/* Its loop has the time for the last pages of a host itself. */
static void
a_loop_with_little_to_do_lends_nothing(void **state)
{
	(void)state;
	begin_sixty(sixty_pages, 2, PLAIN);
	int64_t before = count_lent();
	fetch_rig_pass(&rig, 10000);
	assert_int_equal(rig.open_max, 2);
	assert_int_equal(rig_view(&rig.rig).counts.items, 61);
	assert_int_equal(count_lent(), before);
	end_crawl();
}

static void
a_loop_that_mostly_waits_lends_nothing(void **state)
{
	(void)state;
	begin_sixty(sixty_pages, 64, PLAIN);
	rig.settings.lend_busy_min = 1;
	int64_t before = count_lent();
	fetch_rig_pass(&rig, 1000);
	assert_int_equal(rig_view(&rig.rig).counts.items, 61);
	assert_int_equal(count_lent(), before);
	end_crawl();
}

static void
a_loop_with_own_work_borrows_nothing(void **state)
{
	(void)state;
	begin_sixty(sixty_pages, 64, PLAIN);
	struct loop_load *load = &rig.fetchers[1]->pages->load;
	int64_t before = count_lent();
	atomic_store(&load->permille, 1);
	/* No measurement follows. */
	load->since = mono_add_ms(world.mono, 60000);
	atomic_store(&load->measured_ns, load->since.ns);
	fetch_rig_pass(&rig, 1000);
	assert_int_equal(rig_view(&rig.rig).counts.items, 61);
	assert_int_equal(count_lent(), before);
	end_crawl();
}

/* Only the host's own loop knows which directories it has seen. */
static void
pages_under_traps_are_parsed_at_home(void **state)
{
	(void)state;
	begin_sixty(sixty_pages, 64, "{\"robots\":\"ignore\",\"rate_limit\":0,"
	    "\"downloads\":100,\"traps\":{\"stale_max\":5}}");
	int64_t before = count_lent();
	fetch_rig_pass(&rig, 1000);
	assert_int_equal(rig_view(&rig.rig).counts.items, 61);
	assert_int_equal(count_lent(), before);
	end_crawl();
}

/* --- ends ----------------------------------------------------------------- */

static unsigned answers, end_at;

static void
ending_site(struct str url, struct answer *a)
{
	sixty_pages(url, a);
	if (++answers == end_at)
		fetch_rig_order(&rig, FETCH_END);
}

static unsigned
count_state(enum url_state state)
{
	char url[80];
	unsigned n = rig_url_state(&rig.rig, "http://a.test/") == state;

	for (int i = 0; i < 60; i++) {
		snprintf(url, sizeof(url), "http://a.test/%d", i);
		n += rig_url_state(&rig.rig, url) == state;
	}
	return n;
}

/* Its order comes between any two answers, and some pages wait. */
static void
a_crawl_may_end_while_pages_are_lent(void **state)
{
	(void)state;
	for (end_at = 2; end_at <= 50; end_at++) {
		answers = 0;
		begin_sixty(ending_site, 8, PLAIN);
		int64_t before = count_lent();
		fetch_rig_pass(&rig, 1000);
		assert_true(count_lent() > before);
		unsigned done = count_state(URL_DONE);
		assert_int_equal(done + count_state(URL_WAITING), 61);
		assert_int_equal(rig.events_n, done);
		assert_int_equal(rig_view(&rig.rig).counts.items, done);
		end_crawl();
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_loops_tell_what_one_tells),
		cmocka_unit_test(answers_to_calls_are_lent),
		cmocka_unit_test(lent_pages_have_a_limit),
		cmocka_unit_test(a_loop_with_little_to_do_lends_nothing),
		cmocka_unit_test(a_loop_that_mostly_waits_lends_nothing),
		cmocka_unit_test(a_loop_with_own_work_borrows_nothing),
		cmocka_unit_test(pages_under_traps_are_parsed_at_home),
		cmocka_unit_test(a_crawl_may_end_while_pages_are_lent),
	};

	return cmocka_run_group_tests(tests, world_setup, world_teardown);
}
