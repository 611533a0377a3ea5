/* What outsiders may see of crawls of ours. */
#include "engine/frontier/crawl.h"
#include "engine/frontier/frontier_testing.h"
#include "engine/frontier/lease_service.h"
#include "engine/frontier/lease_testing.h"

#define MANY 3000

/* --- verbs ---------------------------------------------------------------- */

static const char *
name(void)
{
	static char text[32];

	snprintf(text, sizeof(text), "crawl/%u", rig.crawl);
	return text;
}

static void
keep(const struct lease_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct lease_entry *e = &got.entries[got.entries_n++];
		assert_true(got.entries_n <= GOT_MAX);
		*e = l->entries[i];
		e->key = arena_copy(&rig.arena, e->key);
		e->url = arena_copy(&rig.arena, e->url);
	}
	got.count = l->count;
}

static void
piece(struct lease_list *l)
{
	out_prepare(R, &l->call);
	lease_view_list(rig.frontier, l);
	out_wait(R, &out_back);
	assert_int_equal(l->call.result, OK);
	keep(l);
}

/* All pieces; keys, or URLs with their state: '!' is completed. */
static const char *
list(struct lease_list l)
{
	struct buf b = BUF_INIT;

	got.entries_n = 0;
	do {
		piece(&l);
	} while (l.more);
	arena_free(&l.arena);
	for (size_t i = 0; i < got.entries_n; i++) {
		const struct lease_entry *e = &got.entries[i];
		buf_printf(&b, "%s%.*s", i > 0 ? " " : "",
		    STR_FMT(e->url.n > 0 ? str_from(e->url, 7) : e->key));
		if (e->url.n > 0 && e->date_s == 0)
			buf_put_char(&b, '!');
		if (e->date_s != 0)
			assert_int_equal(e->date_s, e->created_s);
	}
	const char *text = arena_copy(&rig.arena, buf_str(&b)).p;
	buf_free(&b);
	return text;
}

#define LIST(what, ...) \
	list((struct lease_list){ .kind = LEASE_LIST_##what,             \
	    .crawl = str_of(name()), __VA_ARGS__ })

static uint64_t
count(const char *key, const char *filter)
{
	(void)list((struct lease_list){ .kind = LEASE_COUNT_URLS,
	    .crawl = str_of(name()), .key = str_of(key),
	    .filter = str_of(filter) });
	assert_int_equal(got.entries_n, 0);
	return got.count;
}

static void
stats(const char *crawl, const char *key, uint64_t active, uint64_t leased,
    uint64_t completed, uint64_t queues, uint64_t active_queues)
{
	struct lease_control k = { .verb = LEASE_STATS,
	    .crawl = str_of(crawl), .key = str_of(key) };

	out_prepare(R, &k.call);
	lease_view_stats(rig.frontier, &k);
	out_wait(R, &out_back);
	assert_int_equal(k.call.result, OK);
	assert_int_equal(k.stats.active, active);
	assert_int_equal(k.stats.leased, leased);
	assert_int_equal(k.stats.completed, completed);
	assert_int_equal(k.stats.queues, queues);
	assert_int_equal(k.stats.active_queues, active_queues);
}

static struct lease_status_of asked;

static void
ask(const char *key, const char *url)
{
	asked = (struct lease_status_of){ .crawl = str_of(name()),
	    .key = str_of(key), .url = str_of(url) };
	out_prepare(R, &asked.call);
	lease_view_status(rig.frontier, &asked);
}

/* -1: absent, 0: completed, 1: active. */
static int
answer(void)
{
	out_wait(R, &out_back);
	arena_free(&asked.arena);
	if (asked.call.result == ERR_ABSENT)
		return -1;
	assert_int_equal(asked.call.result, OK);
	assert_int_equal(asked.entry.date_s, asked.entry.created_s);
	return asked.entry.date_s != 0;
}

static int
status(const char *key, const char *url)
{
	ask(key, url);
	return answer();
}

/* --- a small crawl -------------------------------------------------------- */

/* a: one done, one leased, two wait; b: done; c: waits; d: never queued. */
static void
crawl(void)
{
	rig_begin(R, "http://a/0", "http://b/0", NULL);
	struct lease a = rig_next(R, "a", "http://a/0");
	struct lease b = rig_next(R, "b", "http://b/0");
	struct submission *s = rig_page(R, &a, OUTCOME_ITEM);
	rig_add(R, s, "http://a/Five", 5, SKIP_NONE);
	rig_add(R, s, "http://a/two", 2, SKIP_NONE);
	rig_add(R, s, "http://a/one", 1, SKIP_NONE);
	rig_add(R, s, "http://c/four", 0, SKIP_NONE);
	rig_add(R, s, "http://d/far", 1, SKIP_SCOPE);
	rig_hand_in(R, s);
	rig_done(R, &b, OUTCOME_EXCEPTION);
	rig_next(R, "a", "http://a/one");
}

static void
names_are_numbers(void **state)
{
	uint32_t id;

	(void)state;
	assert_true(lease_view_name(STR("crawl/0"), &id));
	assert_int_equal(id, 0);
	assert_true(lease_view_name(STR("crawl/4294967294"), &id));
	assert_int_equal(id, 4294967294);
	assert_true(lease_view_name(STR("crawl/4294967295"), &id));
	assert_int_equal(id, LEASE_VIEW_NO_CRAWL);
	assert_true(lease_view_name(STR("crawl/99999999999999999999999"), &id));
	assert_int_equal(id, LEASE_VIEW_NO_CRAWL);
	assert_true(lease_view_name(STR("crawl/07"), &id));
	assert_int_equal(id, LEASE_VIEW_NO_CRAWL);
	assert_false(lease_view_name(STR("crawl/"), &id));
	assert_false(lease_view_name(STR("crawl/7a"), &id));
	assert_false(lease_view_name(STR("crawl/-7"), &id));
	assert_false(lease_view_name(STR("Crawl/7"), &id));
	assert_false(lease_view_name(STR("crawl"), &id));
	assert_false(lease_view_name(STR(""), &id));
}

static void
assert_ours(unsigned leased)
{
	assert_string_equal(LIST(QUEUES), "a c");
	assert_string_equal(LIST(QUEUES, .include_inactive = true),
	    "a b c");
	assert_string_equal(LIST(QUEUES, .include_inactive = true,
	    .start = 1, .size = 1), "b");
	assert_string_equal(LIST(QUEUES, .include_inactive = true,
	    .after = STR("b")), "c");
	assert_string_equal(LIST(URLS),
	    "a/0! a/one a/two a/Five b/0! c/four");
	assert_string_equal(LIST(URLS, .key = STR("a"), .start = 1,
	    .size = 2), "a/one a/two");
	assert_string_equal(LIST(URLS, .filter = STR("/f")), "c/four");
	assert_string_equal(LIST(URLS, .filter = STR("/f"),
	    .ignore_case = true), "a/Five c/four");
	assert_string_equal(LIST(URLS, .key = STR("d")), "");
	assert_int_equal(count("", ""), 6);
	assert_int_equal(count("a", ""), 4);
	assert_int_equal(count("", "o"), 3);
	stats(name(), "", 4, leased, 2, 3, 2);
	stats(name(), "a", 3, leased, 1, 1, 1);
	stats(name(), "b", 0, 0, 1, 1, 0);
	stats(name(), "d", 0, 0, 0, 0, 0);
	assert_int_equal(status("a", "http://a/0"), 0);
	assert_int_equal(status("a", "http://a/one"), 1);
	assert_int_equal(status("", "http://a/Five"), 1);
	assert_int_equal(status("", "http://c/four"), 1);
	assert_int_equal(status("", "http://b/0"), 0);
	assert_int_equal(status("", "http://a/none"), -1);
	assert_int_equal(status("", "http://d/far"), -1);
	assert_int_equal(status("d", "http://d/far"), -1);
}

static void
all_is_shown(void **state)
{
	(void)state;
	crawl();
	out_put(R, "theirs", "k", "http://k/", DISCOVERED);
	out_put(R, name(), "k", "http://k/", DISCOVERED);
	assert_string_equal(LIST(CRAWLS), "crawl/0 theirs");
	assert_ours(1);
	ask("", "http:///x");
	out_wait(R, &out_back);
	assert_int_equal(asked.call.result, ERR_INPUT);
}

/* Its queues left the memory: their records are read. */
static void
what_has_ended_is_shown(void **state)
{
	(void)state;
	crawl();
	rig_state(R, CRAWL_CANCELLED, OK);
	for (int life = 0; life < 3; life++) {
		if (life > 0)
			out_restart(R, life == 2);
		rig_run(R);
		assert_true(crawl_get(rig.frontier, rig.crawl)->retired);
		assert_string_equal(LIST(CRAWLS), "crawl/0");
		assert_ours(0);
	}
}

static void
what_is_no_crawl_is_empty(void **state)
{
	struct lease_list l = { .kind = LEASE_LIST_URLS,
	    .crawl = STR("crawl/12") };

	(void)state;
	crawl();
	stats("crawl/12", "", 0, 0, 0, 0, 0);
	stats("crawl/00", "a", 0, 0, 0, 0, 0);
	assert_string_equal(list(l), "");
	l.kind = LEASE_LIST_QUEUES;
	assert_string_equal(list(l), "");
}

/* An outsider's crawl is not one of ours, though its number is. */
static void
theirs_have_no_number(void **state)
{
	(void)state;
	out_put(R, "theirs", "k", "http://k/", DISCOVERED);
	crawl();
	for (unsigned id = 0; id < 4; id++) {
		char text[16];
		snprintf(text, sizeof(text), "crawl/%u", id);
		if (id == rig.crawl)
			stats(text, "", 4, 1, 2, 3, 2);
		else
			stats(text, "", 0, 0, 0, 0, 0);
	}
}

/* --- through a restart ---------------------------------------------------- */

/* Nobody goes on with it, so the known table does not have its URLs. */
static void
it_is_read_from_the_index(void **state)
{
	(void)state;
	crawl();
	for (int crash = 0; crash < 2; crash++) {
		out_restart(R, crash == 1);
		assert_string_equal(LIST(CRAWLS), "crawl/0");
		assert_string_equal(LIST(QUEUES), "a c");
		assert_string_equal(LIST(URLS),
		    "a/0! a/one a/two a/Five b/0! c/four");
		stats(name(), "", 4, 0, 2, 3, 2);
		assert_int_equal(status("", "http://a/0"), 0);
		assert_int_equal(status("", "http://a/two"), 1);
		assert_int_equal(status("", "http://a/none"), -1);
		assert_int_equal(status("", "http://d/far"), -1);
	}
}

/* --- many ----------------------------------------------------------------- */

static void
find_many(void)
{
	char url[48];

	rig_begin(R, "http://a/0", NULL);
	struct lease l = rig_next(R, "a", "http://a/0");
	struct submission *s = rig_page(R, NULL, OUTCOME_NONE);
	for (unsigned i = 0; i < MANY; i++) {
		if (i % 50 == 0 && i > 0) {
			rig_hand_in(R, s);
			rig.notes_n = 0;
			s = rig_page(R, NULL, OUTCOME_NONE);
		}
		snprintf(url, sizeof(url), "http://%c%u/%u", 'b' + i % 3,
		    i / 2, i);
		rig_add(R, s, url, 1, SKIP_NONE);
	}
	rig_hand_in(R, s);
	rig_done(R, &l, OUTCOME_ITEM);
	rig.notes_n = 0;
}

static void
assert_order(void)
{
	for (size_t i = 1; i < got.entries_n; i++)
		assert_true(str_cmp(got.entries[i - 1].key,
		    got.entries[i].key) <= 0);
}

static struct lease_control sum;
static bool sum_goes_on;

static void
other_came(struct lease_call *c)
{
	(void)c;
	sum_goes_on = sum.at < sum.cap;
}

/* The figures of a large crawl are added up in more than one turn. */
static void
sums_let_others_go_first(void **state)
{
	struct lease_control other = { .verb = LEASE_GET_ACTIVE };

	(void)state;
	find_many();
	out_prepare(R, &other.call);
	other.call.done = other_came;
	sum = (struct lease_control){ .verb = LEASE_STATS,
	    .crawl = str_of(name()) };
	out_prepare(R, &sum.call);
	lease_view_stats(rig.frontier, &sum);
	lease_control(rig.frontier, &other);
	out_wait(R, &out_back);
	assert_true(sum_goes_on);
	assert_int_equal(sum.stats.active, MANY);
}

static void
pieces_make_a_whole(void **state)
{
	(void)state;
	find_many();
	(void)LIST(QUEUES, .size = 10000);
	size_t queues = got.entries_n;
	assert_true(queues > 2048);
	assert_order();
	(void)LIST(URLS, .size = 10000);
	assert_int_equal(got.entries_n, MANY + 1);
	assert_order();
	(void)LIST(URLS, .start = 1500, .size = 1200);
	assert_int_equal(got.entries_n, 1200);
	assert_int_equal(count("", ""), MANY + 1);
	stats(name(), "", MANY, 0, 1, queues + 1, queues);
}

/* What happens beside a listing is not in it; one may be left. */
static void
a_listing_is_of_one_moment(void **state)
{
	struct lease_list l = { .kind = LEASE_LIST_URLS,
	    .crawl = str_of(name()), .size = 10000 };

	(void)state;
	find_many();
	l.crawl = str_of(name());
	got.entries_n = 0;
	piece(&l);
	assert_true(l.more);
	size_t first = got.entries_n;
	struct lease z = { 0 };
	struct submission *s = rig_page(R, NULL, OUTCOME_NONE);
	rig_add(R, s, "http://z/new", 1, SKIP_NONE);
	rig_add(R, s, "http://d1499/new", 1, SKIP_NONE);
	rig_hand_in(R, s);
	z = rig_next(R, "d1498", "http://d1498/2996");
	rig_done(R, &z, OUTCOME_ITEM);
	while (l.more)
		piece(&l);
	assert_true(first < got.entries_n);
	assert_int_equal(got.entries_n, MANY + 1);
	for (size_t i = 1; i < got.entries_n; i++)
		assert_int_not_equal(got.entries[i].date_s, 0);
	arena_free(&l.arena);
	assert_int_equal(status("", "http://d1498/2996"), 0);
	assert_int_equal(count("", ""), MANY + 3);

	l = (struct lease_list){ .kind = LEASE_LIST_URLS,
	    .crawl = str_of(name()), .size = 10000 };
	got.entries_n = 0;
	piece(&l);
	l.stop = true;
	piece(&l);
	assert_false(l.more);
	assert_int_equal(l.n, 0);
	arena_free(&l.arena);
}

/* --- what is being gathered ----------------------------------------------- */

/* Asked right behind the page that found it, or that ended it. */
static void
an_answer_waits_for_what_it_tells(void **state)
{
	(void)state;
	rig_begin(R, "http://a/0", NULL);
	struct lease l = rig_next(R, "a", "http://a/0");
	struct submission *s = rig_page(R, &l, OUTCOME_ITEM);
	rig_add(R, s, "http://a/1", 1, SKIP_NONE);
	frontier_submit(rig.frontier, s);
	ask("", "http://a/1");
	assert_int_equal(answer(), 1);
	l = rig_next(R, "a", "http://a/1");
	s = rig_page(R, &l, OUTCOME_ITEM);
	frontier_submit(rig.frontier, s);
	ask("", "http://a/1");
	assert_int_equal(answer(), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, out_setup, out_teardown)
		cmocka_unit_test(names_are_numbers),
		TEST(all_is_shown),
		TEST(what_has_ended_is_shown),
		TEST(what_is_no_crawl_is_empty),
		TEST(theirs_have_no_number),
		TEST(it_is_read_from_the_index),
		TEST(sums_let_others_go_first),
		TEST(pieces_make_a_whole),
		TEST(a_listing_is_of_one_moment),
		TEST(an_answer_waits_for_what_it_tells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
