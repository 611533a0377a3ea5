/* A page's steps: what becomes of a URL, told from its answers. */
#include "engine/fetcher/fetcher_testing.h"

#include "engine/fetcher/core.h"
#include "engine/frontier/journal.h"

static struct fetch_rig rig;

/* No robots.txt anywhere, a policy without delay. */
#define PLAIN "{\"robots\":\"ignore\",\"rate_limit\":0}"

static void
begin(site_fn *site, const char *seed)
{
	fetch_rig_init(&rig, site);
	fetch_rig_begin(&rig, PLAIN, seed);
}

static void
redirecting(struct str url, struct answer *a)
{
	if (str_ends(url, STR("/loop"))) {
		a->status = 302;
		a->head = "Location: /loop\r\n";
	} else if (str_ends(url, STR("/moved"))) {
		a->status = 301;
		a->head = "Location: http://b.test/here\r\n";
	}
}

static void
a_redirect_is_followed_to_its_end(void **state)
{
	(void)state;
	begin(redirecting, "http://a.test/moved");
	fetch_rig_pass(&rig, 1000);
	assert_int_equal(rig.seen_n, 2);
	fetch_rig_asked(&rig, 1, "http://b.test/here");
	assert_int_equal(rig.events_n, 1);
	assert_int_equal(rig.events[0].outcome, OUTCOME_ITEM);
	assert_int_equal(rig.events[0].hops, 1);
	assert_int_equal(rig.events[0].status, 200);
	fetch_rig_end(&rig);
}

/* The first request and one for each redirect that is allowed. */
static void
redirects_have_a_limit(void **state)
{
	(void)state;
	begin(redirecting, "http://a.test/loop");
	fetch_rig_pass(&rig, 1000);
	assert_int_equal(rig.seen_n, 1 + 5);
	assert_int_equal(rig.events_n, 1);
	assert_int_equal(rig.events[0].outcome, OUTCOME_EXCEPTION);
	assert_int_equal(rig.events[0].reason, EXCEPTION_REDIRECTS);
	fetch_rig_end(&rig);
}

static void
cut(struct str url, struct answer *a)
{
	(void)url;
	a->status = 0;
	a->end = TRANSPORT_RESET;
}

/* Each after the host's back-off, which doubles. */
static void
a_cut_answer_is_tried_again(void **state)
{
	(void)state;
	begin(cut, "http://a.test/");
	fetch_rig_pass(&rig, 60000);
	assert_int_equal(rig.seen_n, 3);
	assert_in_range(fetch_rig_gap_ms(&rig, 0, 1), 1020, 1030);
	assert_in_range(fetch_rig_gap_ms(&rig, 1, 2), 2020, 2030);
	assert_int_equal(rig.events_n, 1);
	assert_int_equal(rig.events[0].reason, EXCEPTION_RESET);
	assert_int_equal(rig.events[0].tries, 3);
	fetch_rig_end(&rig);
}

static void
linking(struct str url, struct answer *a)
{
	a->head = "Content-Type: text/html\r\n";
	if (str_ends(url, STR("a.test/")))
		a->body = "<a href=/1>x</a><a href=/2>x</a><a href=/1>x</a>";
}

static void
links_become_pages_once(void **state)
{
	(void)state;
	begin(linking, "http://a.test/");
	fetch_rig_pass(&rig, 1000);
	assert_int_equal(rig.seen_n, 3);
	assert_int_equal(rig.events_n, 3);
	assert_int_equal(rig_view(&rig.rig).counts.items, 3);
	fetch_rig_end(&rig);
}

static size_t
find_again(const char *href, enum link_kind kind, const uint64_t *recent)
{
	struct arena a = ARENA_INIT;
	struct lease lease = { .cost = 1 };
	struct http_head head = { .status = 200 };
	struct link link = { .kind = kind };
	struct parse_output parsed = { .links = &link, .links_n = 1 };
	struct found *found;
	struct link_finder f = { .crawl = &rig.crawl, .lease = &lease,
	    .sitemap_depth_max = 2, .recent = recent, .arena = &a };

	assert_int_equal(url_parse(str_of(href), NULL, &a, &link.url, NULL),
	    OK);
	size_t n = fetcher_links(&f, &head, &parsed, &found);
	arena_free(&a);
	return n;
}

/* Where it is written as it was handed over, and was taken. */
static void
a_link_that_was_taken_is_not_judged_again(void **state)
{
	static const struct {
		const char *href;
		enum link_kind kind;
		size_t found;
	} cases[] = {
		{ "http://a.test/1", LINK_PAGE, 0 },
		{ "http://a.test/1#x", LINK_PAGE, 0 },
		{ "http://a.test/1", LINK_FEED, 0 },
		{ "http://a.test/1", LINK_SITEMAP, 1 },
		{ "http://u@a.test/1", LINK_PAGE, 1 },
		{ "http://a.test/3", LINK_PAGE, 1 },
		/* A seed comes from no page. */
		{ "http://a.test/", LINK_PAGE, 1 },
	};

	(void)state;
	begin(linking, "http://a.test/");
	fetch_rig_pass(&rig, 1000);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (find_again(cases[i].href, cases[i].kind, NULL) != 1 ||
		    find_again(cases[i].href, cases[i].kind,
		    rig.fetcher->recent) != cases[i].found)
			fail_msg("case %zu: %s", i, cases[i].href);
	fetch_rig_end(&rig);
}

/* Its lease goes back: the URL waits again, and nothing was reported. */
static void
a_page_whose_crawl_ends_goes_back(void **state)
{
	(void)state;
	begin(linking, "http://a.test/");
	assert_int_equal(rig.open, 1);
	fetcher_order(rig.fetcher, &rig.crawl, FETCH_END);
	fetch_rig_pass(&rig, 1000);
	assert_int_equal(rig.open, 0);
	assert_int_equal(rig.seen_n, 1);
	assert_int_equal(rig.events_n, 0);
	assert_int_equal(rig.crawl.downloads, 0);
	assert_int_equal(rig.crawl.users, 1);
	assert_int_equal(rig_url_state(&rig.rig, "http://a.test/"),
	    URL_WAITING);
	fetch_rig_end(&rig);
}

/*
 * Both pages wait for the one connection to their address.  The second one,
 * which the first one's end wakes, asks for nothing when the crawl has ended.
 */
static void
a_page_that_is_woken_after_the_end_asks_nothing(void **state)
{
	(void)state;
	fetch_rig_init(&rig, linking);
	rig.settings.address_connections_max = 1;
	rig.answer_ms = 500;
	fetch_rig_begin(&rig, PLAIN, "http://a.test/");
	fetch_rig_pass(&rig, 700);
	assert_int_equal(rig.seen_n, 2);
	assert_int_equal(rig.open, 1);
	fetcher_order(rig.fetcher, &rig.crawl, FETCH_END);
	fetch_rig_pass(&rig, 2000);
	assert_int_equal(rig.seen_n, 2);
	assert_int_equal(rig.crawl.users, 1);
	fetch_rig_end(&rig);
}

/* --- addresses ----------------------------------------------------------- */

static void
fetch_from(const char *resolve, const char *seed)
{
	fetch_rig_init(&rig, linking);
	rig.settings.resolve = resolve;
	fetch_rig_begin(&rig, PLAIN, seed);
	fetch_rig_pass(&rig, 1000);
	assert_int_equal(rig.events_n, 1);
}

/* A name's private address is refused, whatever fetch.resolve says of others;
 * the names that it has itself may be private. */
static void
fetch_resolve_permits_only_the_hosts_it_names(void **state)
{
	(void)state;
	fetch_from("a.test:*:10.1.2.3:80", "http://a.test/x");
	assert_int_equal(rig.events[0].outcome, OUTCOME_ITEM);
	fetch_rig_end(&rig);
	fetch_from("a.test:*:10.1.2.3:80", "http://public.test/x");
	assert_int_equal(rig.events[0].outcome, OUTCOME_ITEM);
	fetch_rig_end(&rig);
	fetch_from("a.test:*:10.1.2.3:80", "http://private.test/x");
	assert_int_equal(rig.events[0].outcome, OUTCOME_SKIPPED);
	assert_int_equal(rig.events[0].reason, SKIP_BLOCKED);
	assert_int_equal(rig.seen_n, 0);
	fetch_rig_end(&rig);
}

/* As when a kept connection leads elsewhere than the name did. */
static void
a_connection_elsewhere_is_refused(void **state)
{
	(void)state;
	for (int named = 0; named <= 1; named++) {
		fetch_rig_init(&rig, linking);
		rig.settings.resolve = named ? "public.test:*:93.184.216.34:80"
		    : "a.test:*:10.1.2.3:80";
		rig.connects_to = "10.9.9.9";
		fetch_rig_begin(&rig, PLAIN, "http://public.test/x");
		fetch_rig_pass(&rig, 1000);
		assert_int_equal(rig.seen_n, 1);
		assert_int_equal(rig.blocked, !named);
		assert_int_equal(rig.events[0].outcome, named ? OUTCOME_ITEM :
		    OUTCOME_SKIPPED);
		fetch_rig_end(&rig);
	}
}

/* --- without an archive --------------------------------------------------- */

static void
site_of_all_kinds(struct str url, struct answer *a)
{
	if (str_ends(url, STR("/start"))) {
		a->head = "Content-Type: text/html\r\nETag: \"1\"\r\n";
		a->body = "<title>Start</title><a href=/same1>x</a>"
		    "<a href=/same2>x</a><a href=/moved>x</a>"
		    "<a href=/gone>x</a><a href=/loop>x</a>";
	} else if (str_find(url, STR("/same")) < url.n) {
		a->body = "the same text";
	} else if (str_ends(url, STR("/gone"))) {
		a->status = 404;
		a->body = "gone";
	} else {
		redirecting(url, a);
	}
}

/* The journal entries and events of a crawl. */
struct told {
	struct journal_entry entries[16];
	size_t entries_n;
	struct url_event events[16];
	size_t events_n;
	struct crawl_counts counts;
	struct arena arena;
};

static void
read_journal(struct told *t)
{
	struct index_iter *i = index_iter_new(ledger_index(frontier_ledger(
	    rig.rig.frontier)), INDEX_JOURNAL);
	struct str key, value;

	for (index_iter_seek(i, STR("")); index_iter_valid(i, &key, &value);
	    index_iter_next(i)) {
		struct journal_entry *e = &t->entries[t->entries_n++];
		assert_true(t->entries_n <= ARRAY_LEN(t->entries));
		assert_true(journal_parse(arena_copy(&t->arena, key),
		    arena_copy(&t->arena, value), e));
	}
	index_iter_free(&i);
}

static void
crawl_all_kinds(struct told *t, bool unarchived)
{
	fetch_rig_init(&rig, site_of_all_kinds);
	rig.settings.host_connections_max = 1;
	rig.crawl.unarchived = unarchived;
	rig.crawl.collection = STR("here");
	rig.crawl.warcinfo_id = "urn:uuid:00000000-0000-4000-8000-000000000000";
	fetch_rig_begin(&rig, PLAIN, "http://a.test/start");
	fetch_rig_pass(&rig, 5000);
	memset(t, 0, sizeof(*t));
	read_journal(t);
	assert_true(rig.events_n <= ARRAY_LEN(t->events));
	memcpy(t->events, rig.events, rig.events_n * sizeof(*t->events));
	t->events_n = rig.events_n;
	t->counts = rig_view(&rig.rig).counts;
	fetch_rig_end(&rig);
}

/* The journal of an archived crawl has the answers of failures, too. */
static size_t
drop_failed(struct told *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->entries_n; i++)
		if (t->entries[i].seq < JOURNAL_FAILED)
			t->entries[n++] = t->entries[i];
	return n;
}

static void
compare_entries(const struct journal_entry *with,
    const struct journal_entry *without)
{
	struct journal_entry a = *with, b = *without;

	assert_int_equal(b.file + b.offset + b.clen + b.ulen + b.body_at, 0);
	assert_int_not_equal(a.clen, 0);
	assert_int_equal(a.flags & ~JOURNAL_SOURCED, b.flags);
	assert_int_equal(a.seq, b.seq);
	assert_int_equal(a.start.us, b.start.us);
	assert_int_equal(a.status, b.status);
	assert_int_equal(a.depth, b.depth);
	assert_int_equal(a.hops, b.hops);
	assert_int_equal(a.body_bytes, b.body_bytes);
	assert_int_equal(a.decoded, b.decoded);
	assert_int_equal(a.simhash, b.simhash);
	assert_true(digest_eq(&a.digest, &b.digest));
	assert_true(str_eq(a.url, b.url));
	assert_true(str_eq(a.final_url, b.final_url));
	assert_true(str_eq(a.type, b.type));
	assert_true(str_eq(a.title, b.title));
	assert_true(str_eq(a.via, b.via));
}

static void
compare_events(const struct url_event *a, const struct url_event *b)
{
	assert_int_equal(a->outcome, b->outcome);
	assert_int_equal(a->reason, b->reason);
	assert_int_equal(a->seq, b->seq);
	assert_int_equal(a->status, b->status);
	assert_int_equal(a->depth, b->depth);
	assert_int_equal(a->tries, b->tries);
	assert_int_equal(a->hops, b->hops);
	assert_int_equal(a->body_bytes, b->body_bytes);
	assert_int_equal(a->start.us, b->start.us);
	assert_int_equal(a->duplicate, b->duplicate);
	assert_int_equal(a->near_duplicate, b->near_duplicate);
	assert_int_equal(a->truncated, b->truncated);
}

static void
an_unarchived_crawl_tells_what_an_archived_one_tells(void **state)
{
	static struct told with, without;
	size_t n, revisits = 0;

	(void)state;
	crawl_all_kinds(&with, false);
	crawl_all_kinds(&without, true);
	n = drop_failed(&with);
	assert_int_equal(n, 5);
	assert_int_equal(with.entries_n, n + 1);
	assert_int_equal(without.entries_n, n);
	for (size_t i = 0; i < n; i++) {
		compare_entries(&with.entries[i], &without.entries[i]);
		revisits += without.entries[i].flags & JOURNAL_REVISIT;
	}
	assert_int_equal(revisits, 1);
	assert_int_equal(with.events_n, 6);
	assert_int_equal(without.events_n, with.events_n);
	for (size_t i = 0; i < with.events_n; i++)
		compare_events(&with.events[i], &without.events[i]);
	assert_memory_equal(&with.counts, &without.counts,
	    sizeof(with.counts));
	assert_int_equal(with.counts.duplicates, 1);
	assert_int_equal(with.counts.not_found, 1);
	arena_free(&with.arena);
	arena_free(&without.arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_redirect_is_followed_to_its_end),
		cmocka_unit_test(redirects_have_a_limit),
		cmocka_unit_test(a_cut_answer_is_tried_again),
		cmocka_unit_test(links_become_pages_once),
		cmocka_unit_test(a_link_that_was_taken_is_not_judged_again),
		cmocka_unit_test(a_page_whose_crawl_ends_goes_back),
		cmocka_unit_test(
		    a_page_that_is_woken_after_the_end_asks_nothing),
		cmocka_unit_test(fetch_resolve_permits_only_the_hosts_it_names),
		cmocka_unit_test(a_connection_elsewhere_is_refused),
		cmocka_unit_test(
		    an_unarchived_crawl_tells_what_an_archived_one_tells),
	};

	return cmocka_run_group_tests(tests, world_setup, world_teardown);
}
