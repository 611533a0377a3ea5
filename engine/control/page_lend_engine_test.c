/* One host, crawled by its loop and by another one that builds pages. */
#include "base/metric.h"
#include "engine/archive/walk.h"
#include "engine/control/engine_own.h"
#include "engine/control/engine_testing.h"

#define PAGES 400
#define POLICY "{\"rate_limit\":0,\"downloads\":64,\"robots\":\"ignore\"}"

static struct rig rig;

/* / links to all pages; each has some text, and links to the next ones. */
static void
site(struct str path, struct rig_page *p)
{
	uint64_t n = 0;

	if (str_eq(path, STR("/"))) {
		for (int i = 0; i < PAGES; i++)
			buf_printf(&p->body, "<a href=/%d>x</a>", i);
		return;
	}
	if (!str_to_u64(str_from(path, 1), &n))
		return;
	buf_printf(&p->body, "<title>Page %u</title><p>", (unsigned)n);
	for (unsigned i = 0; i < 400; i++)
		buf_printf(&p->body, "w%u ", (unsigned)n * 7919 % (i + 11));
	for (unsigned i = 1; i <= 20; i++)
		buf_printf(&p->body, "<a href=/%u>x</a>", (unsigned)(n + i) %
		    PAGES);
}

static void
take_lent(const struct metric *m, void *arg)
{
	if (strcmp(m->name, "argiope_pages_lent_total") == 0)
		*(int64_t *)arg = metric_value(m, 0);
}

static int64_t
count_lent(void)
{
	int64_t n = 0;

	metric_each(take_lent, &n);
	return n;
}

/* A loop lends pages however little it has to do: the web may be slow. */
static void
start_engine(void)
{
	rig_start(&rig);
	((struct fetch_settings *)(uintptr_t)atomic_load(
	    &rig.engine->settings))->lend_busy_min = 0;
}

static void
open_engine(unsigned loops)
{
	rig_open(&rig, site, NULL);
	rig.loops = loops;
	start_engine();
}

static struct crawl_counts
counts_of(uint32_t crawl)
{
	return crawl_row(engine_registry(rig.engine), crawl)->view.counts;
}

/* --- records -------------------------------------------------------------- */

/* The unpacked records of an archive, sorted, but for what differs always. */
struct records {
	struct str *texts;
	size_t n, cap;
	uint16_t port;
	struct arena arena;
};

/* warcinfo records are not compared: they name the file and the date. */
static bool
is_compared(const struct warc_entry *e, struct str name)
{
	static const char *const left_out[] = { "WARC-Date",
	    "WARC-Record-ID", "WARC-Concurrent-To", "WARC-Warcinfo-ID",
	    "Argiope-Capture" };

	for (size_t i = 0; i < ARRAY_LEN(left_out); i++)
		if (str_eq_nocase(name, str_of(left_out[i])))
			return false;
	/* A request names the web's port. */
	return e->type != WARC_REQUEST ||
	    !str_eq_nocase(name, STR("WARC-Block-Digest"));
}

/* Each web has a port of its own. */
static void
put_without_port(const struct records *r, struct str s, struct buf *out)
{
	char port[8];

	snprintf(port, sizeof(port), ":%u", r->port);
	for (size_t at; (at = str_find(s, str_of(port))) < s.n;
	    s = str_from(s, at + strlen(port))) {
		buf_put_str(out, str_cut(s, 0, at));
		buf_put_text(out, ":PORT");
	}
	buf_put_str(out, s);
}

static enum err
take_record(void *arg, struct walk_visit *v, struct why *w)
{
	struct records *r = arg;
	struct warc_entry *e = v->entry;
	FREED(buf_free) struct buf block = BUF_INIT, text = BUF_INIT;
	struct str piece;

	(void)w;
	if (e->type == WARC_WARCINFO)
		return OK;
	for (size_t i = 0; i < e->head.fields_n; i++)
		if (is_compared(e, e->head.fields[i].name))
			buf_printf(&block, "%.*s: %.*s\n",
			    STR_FMT(e->head.fields[i].name),
			    STR_FMT(e->head.fields[i].value));
	while (warc_read_block(v->reader, &piece))
		buf_put_str(&block, piece);
	put_without_port(r, buf_str(&block), &text);
	assert_true(r->n < r->cap);
	r->texts[r->n++] = arena_copy(&r->arena, buf_str(&text));
	return OK;
}

static enum err
end_record(void *arg, struct walk_visit *v, bool whole, struct why *w)
{
	(void)arg, (void)v, (void)whole, (void)w;
	return OK;
}

static enum err
meet_damage(void *arg, const struct archive_file *f,
    const struct warc_damage *d, struct why *w)
{
	(void)arg, (void)d;
	return why(w, ERR_CORRUPT, "%s is damaged", f->path);
}

static void
read_records(struct records *r)
{
	static const struct walk_events events = { .record = take_record,
	    .record_end = end_record, .damage = meet_damage,
	    .io_ends = true };
	const char *dir = rig.dir;
	struct archive_catalogue c;
	struct why w = WHY_INIT;

	r->cap = 4 * (PAGES + 10);
	r->texts = ARENA_ARRAY(&r->arena, struct str, r->cap);
	r->port = rig.port;
	if (archive_list(&dir, 1, false, &r->arena, &c, &w) != OK ||
	    walk_files(&c, &events, r, &w) != OK)
		fail_msg("%s", w.text);
	qsort(r->texts, r->n, sizeof(*r->texts), str_order);
}

static struct crawl_counts
crawl_with(unsigned loops, struct records *r)
{
	open_engine(loops);
	uint32_t crawl = rig_launch(&rig, "/", POLICY);
	rig_until_state(&rig, crawl, CRAWL_COMPLETE);
	struct crawl_counts n = counts_of(crawl);
	assert_int_equal(rig_requests(&rig, NULL), PAGES + 1);
	rig_stop(&rig);
	read_records(r);
	rig_close(&rig);
	return n;
}

static void
two_loops_archive_what_one_archives(void **state)
{
	struct records of_one = { 0 }, of_two = { 0 };

	(void)state;
	int64_t before = count_lent();
	struct crawl_counts one = crawl_with(1, &of_one);
	assert_int_equal(count_lent(), before);
	struct crawl_counts two = crawl_with(2, &of_two);
	assert_true(count_lent() > before);
	assert_int_equal(of_one.n, 2 * (PAGES + 1));
	assert_int_equal(of_two.n, of_one.n);
	for (size_t i = 0; i < of_one.n; i++)
		assert_true(str_eq(of_one.texts[i], of_two.texts[i]));
	arena_free(&of_one.arena);
	arena_free(&of_two.arena);
	assert_int_equal(one.items, PAGES + 1);
	assert_int_equal(two.items, one.items);
	assert_int_equal(two.status[2], one.status[2]);
	assert_int_equal(two.body_bytes, one.body_bytes);
	assert_int_equal(two.queued + two.leased, 0);
	assert_int_equal(crawl_exceptions(&two) + crawl_skips(&two), 0);
}

/* Whatever is under way at any loop when the last one counts. */
static void
a_limit_of_pages_is_exact(void **state)
{
	static const unsigned limits[] = { 1, 2, 9, 150, PAGES + 1 };
	char policy[120];

	(void)state;
	open_engine(2);
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		snprintf(policy, sizeof(policy), "{\"rate_limit\":0,"
		    "\"downloads\":64,\"robots\":\"ignore\","
		    "\"limits\":{\"max_items\":%u}}", limits[i]);
		uint32_t crawl = rig_launch(&rig, "/", policy);
		rig_until_state(&rig, crawl, CRAWL_COMPLETE);
		assert_int_equal(counts_of(crawl).items, limits[i]);
	}
	rig_close(&rig);
}

struct items_wanted {
	uint32_t crawl;
	uint64_t items;
};

static bool
has_items(struct rig *r, void *arg)
{
	const struct items_wanted *want = arg;

	(void)r;
	return counts_of(want->crawl).items >= want->items;
}

static uint32_t
crawl_until(uint64_t items)
{
	struct items_wanted want = { rig_launch(&rig, "/", POLICY), items };

	rig_until(&rig, has_items, &want);
	return want.crawl;
}

static void
deleted(struct delete_request *a)
{
	*(bool *)a->arg = true;
}

/* Cancelled and deleted at once, while its pages are at both loops. */
static void
a_crawl_is_deleted_while_pages_are_lent(void **state)
{
	(void)state;
	open_engine(2);
	for (unsigned i = 0; i < 5; i++) {
		struct crawl_order o;
		bool done = false;
		uint32_t crawl = crawl_until(20 + 40 * i);
		rig_steer(&rig, crawl, CRAWL_CANCELLED, &o);
		assert_int_equal(o.why.err, OK);
		struct delete_request a = { .crawl = crawl, .done = deleted,
		    .arg = &done };
		crawl_delete(rig.engine, &a);
		RIG_UNTIL_DONE(&rig, done);
		assert_int_equal(a.why.err, OK);
	}
	/* The loops go on. */
	uint32_t last = rig_launch(&rig, "/", POLICY);
	rig_until_state(&rig, last, CRAWL_COMPLETE);
	assert_int_equal(counts_of(last).items, PAGES + 1);
	rig_close(&rig);
}

/* In order, and as by a kill: nothing is lost, nothing counts twice. */
static void
an_engine_ends_while_pages_are_lent(void **state)
{
	(void)state;
	for (int crashes = 0; crashes <= 1; crashes++) {
		open_engine(2);
		uint32_t crawl = crawl_until(50);
		if (crashes)
			rig_crash(&rig);
		else
			rig_stop(&rig);
		rig_start(&rig);
		rig_until_state(&rig, crawl, CRAWL_COMPLETE);
		assert_int_equal(counts_of(crawl).items, PAGES + 1);
		rig_close(&rig);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_loops_archive_what_one_archives),
		cmocka_unit_test(a_limit_of_pages_is_exact),
		cmocka_unit_test(a_crawl_is_deleted_while_pages_are_lent),
		cmocka_unit_test(an_engine_ends_while_pages_are_lent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
