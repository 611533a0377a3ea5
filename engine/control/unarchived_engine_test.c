/*
 * A crawl without an archive, killed and gone on with: it counts as any other,
 * leaves no file, and readers of its captures are told why.
 */
#include "engine/archive/archive_port.h"
#include "engine/catalog/catalog.h"
#include "engine/control/engine_testing.h"

#define PAGES 60

static struct rig rig;

/* A chain of pages, and at its end one with the body of an earlier one. */
static void
site(struct str path, struct rig_page *p)
{
	uint64_t n;

	if (!str_starts(path, STR("/page/")) ||
	    !str_to_u64(str_from(path, 6), &n) || n > PAGES) {
		p->status = 404;
		return;
	}
	p->delay_ms = 3;
	if (n < PAGES)
		buf_printf(&p->body, "<a href=/page/%llu>x</a>",
		    (unsigned long long)(n + 1));
	else
		buf_put_text(&p->body, "<a href=/page/2>x</a>");
}

static void
begin_or_go_on(struct rig *r)
{
	FREED(policy_free) struct policy *policy = NULL;
	struct str seed = rig_url(r, "/page/1");
	struct crawl_request q = { .spec = { .seeds = &seed, .seeds_n = 1,
	    .operator_seeds = true, .unarchived = true } };
	struct why w = WHY_INIT;
	struct crawl_view v;
	size_t at = 0;
	uint32_t id;

	if (engine_next_view(r->engine, &at, &v)) {
		assert_int_equal(engine_continue(r->engine, v.id, &q, &w), OK);
		return;
	}
	assert_int_equal(policy_parse(STR("{\"rate_limit\":0,\"limits\":"
	    "{\"max_depth\":null}}"), &policy, &w), OK);
	q.policy = policy;
	assert_int_equal(engine_begin(r->engine, &q, &id, &w), OK);
	assert_int_equal(id, 0);
}

static bool
has_some_items(struct rig *r, void *arg)
{
	return r->view.counts.items >= *(const uint64_t *)arg;
}

static void
crash_at(uint64_t items)
{
	rig_until(&rig, has_some_items, &items);
	rig_crash(&rig);
	rig_start(&rig);
}

static void
capture_came(struct capture_query *q)
{
	*(bool *)q->arg = true;
}

static void
records_came(struct records_query *q)
{
	*(bool *)q->arg = true;
}

static void
check_capture(uint64_t number)
{
	bool done = false;
	struct capture_query q = { .crawl = 0, .number = number, .body = true,
	    .body_bytes_max = 1000, .done = capture_came, .arg = &done };
	struct records_query r = { .crawl = 0, .number = number,
	    .done = records_came, .arg = &done };

	catalog_capture(engine_catalog(rig.engine), &q);
	RIG_UNTIL_DONE(&rig, done);
	assert_int_equal(q.why.err, OK);
	assert_int_equal(q.entry.seq, number);
	assert_int_equal(q.entry.file, 0);
	assert_int_equal(q.entry.status, 200);
	assert_int_not_equal(q.entry.digest.kind, DIGEST_NONE);
	assert_int_equal(q.hops_n + q.body_bytes.n + q.links_n, 0);
	assert_false(q.damaged);
	arena_free(&q.arena);
	done = false;
	catalog_records(engine_catalog(rig.engine), &r);
	RIG_UNTIL_DONE(&rig, done);
	assert_int_equal(r.why.err, ERR_ABSENT);
	assert_string_equal(r.why.text, "the page is not archived");
	arena_free(&r.arena);
}

static void
a_crawl_without_an_archive_survives_crashes(void **state)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct archive_file *files;
	struct str *names;
	size_t n;

	(void)state;
	rig_open(&rig, site, NULL);
	rig.opened = begin_or_go_on;
	rig_start(&rig);
	crash_at(10);
	crash_at(30);
	rig_until_state(&rig, 0, CRAWL_COMPLETE);
	const struct crawl_row *row = crawl_row(engine_registry(rig.engine), 0);
	assert_int_equal(row->view.counts.items, PAGES);
	assert_int_equal(row->view.item_last, PAGES);
	assert_int_equal(row->view.counts.status[2], PAGES);
	assert_int_equal(row->view.counts.queued, 0);
	/* Pages 1 and 60: what an earlier process captured is remembered. */
	assert_int_equal(row->view.counts.duplicates, 1);
	assert_int_equal(row->view.counts.warc_bytes, 0);
	for (uint64_t i = 1; i <= PAGES; i += 59)
		check_capture(i);
	assert_int_equal(archive_port()->list(arena_printf(&a, "%s/archive",
	    rig.dir).p, &a, &names, &n, NULL), ERR_ABSENT);
	assert_int_equal(catalog_crawl_files("", 0, &a, &files), 0);
	rig_close(&rig);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_crawl_without_an_archive_survives_crashes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
