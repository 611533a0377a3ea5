/*
 * Runs of web_crawl over a whole engine and a site on loopback: whole, again
 * after pages have changed, from each cursor after a crash, stopped, and with
 * the crawl taken away.
 */
#include "engine/harvest/web_documents.h"

#include "base/json.h"
#include "engine/control/engine_testing.h"
#include "engine/harvest/web_documents_cursor.h"

#define PAGES_MAX 1000u
#define IDS_MAX 2100u

static struct rig rig;
static struct web_documents *documents;
static struct web_run *run;
static struct arena arena;
static atomic_uint pages, changed, slow_ms;
static const char *start_body;       /* in place of the links, or NULL */

/* Documents that have come. */
static struct str ids[IDS_MAX], jsons[IDS_MAX];
static size_t ids_n, batches, notes;
static struct str last_cursor;
static bool waits;                   /* with a batch */
static bool takes;                   /* each batch, at once */
static bool checks;                  /* the next runs are checks */
static bool ended;
static struct document_end last;

/* --- the site -------------------------------------------------------- */

static void
put_links(struct buf *b)
{
	unsigned n = atomic_load(&pages);

	buf_put_text(b, "<title>Start</title><nav>");
	for (unsigned i = 1; i <= n; i++)
		buf_printf(b, "<a href=/p/%u>%u</a> ", i, i);
	buf_put_text(b, "</nav><p>Welcome");
}

/* Some that are no HTML, or are elsewhere. */
static bool
put_other(struct str path, struct rig_page *p)
{
	if (str_eq(path, STR("/moved"))) {
		p->status = 301;
		buf_put_text(&p->head, "Location: /plain\r\n");
	} else if (str_eq(path, STR("/plain"))) {
		p->type = "text/plain";
		buf_put_text(&p->body, "one\r\ntwo\r\n");
	} else if (str_eq(path, STR("/image"))) {
		p->type = "image/png";
		buf_put_text(&p->body, "<p>no");
	} else if (str_eq(path, STR("/pdf"))) {
		p->type = "application/pdf";
		buf_put_text(&p->body, "%PDF-1.4");
	} else if (str_eq(path, STR("/gone"))) {
		p->status = 404;
		buf_put_text(&p->body, "<p>no");
	} else if (str_eq(path, STR("/drop"))) {
		p->drop = true;
	} else if (str_eq(path, STR("/large"))) {
		buf_put_text(&p->body, "<p>first</p>");
		memset(buf_grow(&p->body, WEB_DOCUMENTS_BODY_BYTES_MAX), ' ',
		    WEB_DOCUMENTS_BODY_BYTES_MAX);
		buf_put_text(&p->body, "<p>last");
	} else {
		return false;
	}
	return true;
}

static void
site(struct str path, struct rig_page *p)
{
	uint64_t i = 0;

	if (str_eq(path, STR("/robots.txt"))) {
		p->status = 404;
		return;
	}
	if (put_other(path, p))
		return;
	if (str_eq(path, STR("/"))) {
		if (start_body != NULL)
			buf_put_text(&p->body, start_body);
		else
			put_links(&p->body);
		return;
	}
	p->delay_ms = (int)atomic_load(&slow_ms);
	(void)!str_to_u64(str_from(path, 3), &i);
	buf_printf(&p->body, "<title>Page %llu</title><header>no</header><p>"
	    "Text %llu%s", (unsigned long long)i, (unsigned long long)i,
	    i <= atomic_load(&changed) ? ", changed" : "");
}

/* --- the caller ------------------------------------------------------ */

static void
on_batch(void *arg, const struct document_batch *b)
{
	(void)arg;
	assert_false(waits);
	assert_false(ended);
	assert_true(b->n <= WEB_DOCUMENTS_PIECE_MAX);
	for (size_t i = 0; i < b->n; i++) {
		assert_true(ids_n < IDS_MAX);
		ids[ids_n] = arena_copy(&arena, b->list[i].id);
		jsons[ids_n++] = arena_copy(&arena, b->list[i].json);
	}
	last_cursor = arena_copy(&arena, b->cursor);
	batches++;
	waits = !takes;
	if (takes)
		web_documents_taken(run);
}

static void
on_note(void *arg, const struct document_note *n)
{
	(void)arg;
	notes += str_eq(n->code, STR("web_failures"));
}

static void
on_ended(void *arg, const struct document_end *e)
{
	(void)arg;
	assert_false(ended);
	last = *e;
	last.code = arena_copy(&arena, e->code);
	last.text = arena_copy(&arena, e->text);
	ended = true;
}

/* Keeps the documents that have come. */
static void
go_on_from(const char *key, struct str cursor, bool resumes)
{
	FREED(buf_free) struct buf params = BUF_INIT;
	struct why w = WHY_INIT;

	buf_printf(&params, "{\"seeds\":[\"%.*s\"],\"scope\":\"host\"}",
	    STR_FMT(rig_url(&rig, "/")));
	const struct web_documents_options o = { .params = buf_str(&params),
	    .key = str_of(key), .name = STR("test"), .cursor = cursor,
	    .resumes = resumes, .is_check = checks, .batch = on_batch,
	    .note = on_note, .ended = on_ended };
	waits = ended = false;
	if (web_documents_open(documents, &o, &run, &w) != OK)
		fail_msg("%s", w.text);
}

static void
open_from(const char *key, struct str cursor)
{
	ids_n = batches = notes = 0;
	go_on_from(key, cursor, false);
}

static void
take_batch(void)
{
	assert_true(waits);
	waits = false;
	web_documents_taken(run);
}

static void
ends_as(enum document_end_kind kind)
{
	RIG_UNTIL_DONE(&rig, ended);
	if (last.kind != kind)
		fail_msg("%d: %.*s", last.kind, STR_FMT(last.text));
	web_documents_close(&run);
}

/* Those of the start and of so many pages, from a first one, each once. */
static void
has_pages(bool start, unsigned first, unsigned end)
{
	static bool seen[PAGES_MAX + 1];
	size_t host = rig_url(&rig, "/").n - 1;

	memset(seen, 0, sizeof(seen));
	if (ids_n != start + end - first)
		fail_msg("%zu documents, not %u; %zu notes of addresses that "
		    "could not be fetched", ids_n, start + end - first, notes);
	for (size_t i = 0; i < ids_n; i++) {
		struct str path = str_from(ids[i], host);
		uint64_t n = 0;
		if (!str_eq(path, STR("/")))
			assert_true(str_to_u64(str_from(path, 3), &n));
		assert_true(n == 0 ? start : n >= first && n < end);
		assert_false(seen[n]);
		seen[n] = true;
	}
}

static yyjson_doc *
read_document(const char *path)
{
	struct str id = rig_url(&rig, path);

	for (size_t i = 0; i < ids_n; i++)
		if (str_eq(ids[i], id))
			return yyjson_read(jsons[i].p, jsons[i].n, 0);
	return NULL;
}

static void
has_text(const char *path, const char *name, const char *text)
{
	yyjson_doc *doc = read_document(path);
	struct str s = json_text(yyjson_obj_get(yyjson_doc_get_root(doc),
	    name));

	if (!str_eq(s, str_of(text)))
		fail_msg("%s of %s: %.*s", name, path, STR_FMT(s));
	yyjson_doc_free(doc);
}

static uint32_t
crawl_now(void)
{
	uint32_t crawls[WEB_DOCUMENTS_CURSOR_CRAWLS_MAX];

	assert_true(web_documents_crawls(last_cursor, crawls) > 0);
	return crawls[0];
}

/* --- lives ----------------------------------------------------------- */

/* The crawls of an earlier process go on, as a daemon's do. */
static void
open_documents(struct rig *r)
{
	struct crawl_request q = { .spec.operator_seeds = false };
	struct crawl_view v;
	size_t at = 0;

	while (engine_next_view(r->engine, &at, &v))
		if (!crawl_state_is_ended(v.state))
			assert_int_equal(engine_continue(r->engine, v.id, &q,
			    NULL), OK);
	documents = web_documents_new(r->engine, r->home);
}

static void
free_documents(struct rig *r)
{
	(void)r;
	web_documents_close(&run);
	web_documents_free(&documents);
}

static bool stored;

static void
policy_stored(struct store_request *s)
{
	assert_int_equal(s->why.err, OK);
	arena_free(&s->arena);
	stored = true;
}

/* Without a pause between two requests. */
static void
open_rig(void)
{
	static struct store_request s;

	arena = ARENA_INIT;
	rig_open(&rig, site, NULL);
	rig.opened = open_documents;
	rig.freed = free_documents;
	atomic_store(&pages, 120);
	atomic_store(&changed, 0);
	atomic_store(&slow_ms, 0);
	start_body = NULL;
	takes = true;
	rig_start(&rig);
	stored = false;
	s = (struct store_request){ .verb = STORE_POLICY_PUT,
	    .name = STR("default"), .json = STR("{\"rate_limit\":0}"),
	    .done = policy_stored };
	engine_store(rig.engine, &s);
	RIG_UNTIL_DONE(&rig, stored);
}

static void
close_rig(void)
{
	rig_close(&rig);
	arena_free(&arena);
}

/* --- tests ----------------------------------------------------------- */

static void
a_site_comes_whole_and_then_what_has_changed(void **state)
{
	(void)state;
	open_rig();
	atomic_store(&pages, PAGES_MAX);
	open_from("1", STR_NONE);
	ends_as(DOCUMENTS_DONE);
	has_pages(true, 1, PAGES_MAX + 1);
	has_text("/", "text", "Welcome");
	has_text("/p/7", "text", "Text 7");
	has_text("/p/7", "title", "Page 7");
	struct str cursor = last_cursor;
	/* The same run has ended. */
	ids_n = batches = 0;
	go_on_from("1", cursor, true);
	ends_as(DOCUMENTS_DONE);
	assert_int_equal(batches, 0);
	atomic_store(&changed, 50);
	open_from("2", cursor);
	ends_as(DOCUMENTS_DONE);
	has_pages(false, 1, 51);
	has_text("/p/7", "text", "Text 7, changed");
	/* Compared with the second crawl, nothing has. */
	open_from("3", last_cursor);
	ends_as(DOCUMENTS_DONE);
	assert_int_equal(ids_n, 0);
	close_rig();
}

static void
a_new_page_comes_with_its_links(void **state)
{
	(void)state;
	open_rig();
	atomic_store(&pages, 10);
	open_from("1", STR_NONE);
	ends_as(DOCUMENTS_DONE);
	has_pages(true, 1, 11);
	atomic_store(&pages, 13);
	open_from("2", last_cursor);
	ends_as(DOCUMENTS_DONE);
	has_pages(true, 11, 14);
	close_rig();
}

/* The process ends while the caller has kept so many batches. */
static void
each_cursor_is_a_place_to_go_on_from(void **state)
{
	(void)state;
	for (size_t kept = 0; kept < 3; kept++) {
		struct str cursor = STR_NONE;
		size_t kept_n = 0;
		open_rig();
		takes = false;
		open_from("1", STR_NONE);
		RIG_UNTIL_DONE(&rig, waits);
		for (size_t i = 0; i < kept; i++) {
			cursor = last_cursor;
			kept_n = ids_n;
			take_batch();
			RIG_UNTIL_DONE(&rig, waits);
		}
		rig_crash(&rig);
		rig_start(&rig);
		ids_n = kept_n;
		takes = true;
		go_on_from("1", cursor, kept > 0);
		ends_as(DOCUMENTS_DONE);
		has_pages(true, 1, 121);
		close_rig();
	}
}

/* The same key takes the crawl that began before the crash. */
static void
a_crash_begins_no_second_crawl(void **state)
{
	(void)state;
	open_rig();
	takes = false;
	open_from("1", STR_NONE);
	RIG_UNTIL_DONE(&rig, waits);
	uint32_t crawl = crawl_now();
	rig_crash(&rig);
	rig_start(&rig);
	takes = true;
	open_from("1", STR_NONE);
	ends_as(DOCUMENTS_DONE);
	assert_int_equal(crawl_now(), crawl);
	has_pages(true, 1, 121);
	/* Another key does not. */
	open_from("2", STR_NONE);
	ends_as(DOCUMENTS_DONE);
	assert_int_not_equal(crawl_now(), crawl);
	close_rig();
}

static void
pages_of_text_have_documents_and_others_none(void **state)
{
	(void)state;
	open_rig();
	start_body = "<a href=/moved><a href=/image><a href=/pdf><a href="
	    "/gone><a href=/large>";
	open_from("1", STR_NONE);
	ends_as(DOCUMENTS_DONE);
	assert_int_equal(ids_n, 3);
	has_text("/moved", "text", "one\ntwo");
	has_text("/moved", "url", rig_url(&rig, "/plain").p);
	has_text("/large", "text", "first");
	close_rig();
}

static void
a_stop_cancels_the_crawl(void **state)
{
	(void)state;
	open_rig();
	takes = false;
	atomic_store(&slow_ms, 200);
	open_from("1", STR_NONE);
	RIG_UNTIL_DONE(&rig, waits);
	uint32_t crawl = crawl_now();
	web_documents_stop(run);
	web_documents_stop(run);
	web_documents_taken(run);
	ends_as(DOCUMENTS_STOPPED);
	assert_int_equal(batches, 1);
	rig_until_state(&rig, crawl, CRAWL_CANCELLED);
	/* Its cursor leads to another crawl, which gives all. */
	atomic_store(&slow_ms, 0);
	takes = true;
	open_from("2", last_cursor);
	ends_as(DOCUMENTS_DONE);
	assert_int_not_equal(crawl_now(), crawl);
	has_pages(true, 1, 121);
	/* Before anything was asked. */
	open_from("3", STR_NONE);
	web_documents_stop(run);
	ends_as(DOCUMENTS_STOPPED);
	assert_int_equal(batches, 0);
	close_rig();
}

static size_t
list_crawls(const char *prefix, struct web_crawl *list, size_t most)
{
	uint32_t below = UINT32_MAX;

	size_t n = web_documents_list_crawls(documents, str_of(prefix), &below,
	    list, most);
	if (n < most)
		assert_int_equal(below, UINT32_MAX);
	else
		assert_int_equal(below, list[n - 1].id);
	return n;
}

static void
the_crawl_of_a_check_goes(void **state)
{
	(void)state;
	struct web_crawl list[4];

	open_rig();
	/* Stopped after its first batch. */
	takes = false;
	checks = true;
	atomic_store(&slow_ms, 50);
	open_from("check:1", STR_NONE);
	RIG_UNTIL_DONE(&rig, waits);
	uint32_t crawl = crawl_now();
	web_documents_stop(run);
	ends_as(DOCUMENTS_STOPPED);
	assert_true(crawl_row(engine_registry(rig.engine), crawl)->deleted);
	/* Read to its end; and one that stays. */
	atomic_store(&slow_ms, 0);
	takes = true;
	open_from("check:2", STR_NONE);
	ends_as(DOCUMENTS_DONE);
	assert_true(crawl_row(engine_registry(rig.engine), crawl_now())->
	    deleted);
	assert_int_equal(list_crawls("", list, 4), 0);
	checks = false;
	open_from("task:1", STR_NONE);
	ends_as(DOCUMENTS_DONE);
	uint32_t stays = crawl_now();
	open_from("task:2", last_cursor);
	ends_as(DOCUMENTS_DONE);
	assert_int_equal(list_crawls("check:", list, 4), 0);
	assert_int_equal(list_crawls("task:", list, 4), 2);
	assert_int_equal(list[1].id, stays);
	assert_true(str_eq(list[1].key, STR("task:1")));
	assert_true(list[1].ended.us > 0);
	assert_int_equal(list_crawls("task:", list, 1), 1);
	assert_true(str_eq(list[0].key, STR("task:2")));
	close_rig();
}

static void
a_crawl_that_an_operator_ends_interrupts_the_run(void **state)
{
	struct crawl_order order;

	(void)state;
	open_rig();
	takes = false;
	atomic_store(&slow_ms, 200);
	open_from("1", STR_NONE);
	RIG_UNTIL_DONE(&rig, waits);
	rig_steer(&rig, crawl_now(), CRAWL_CANCELLED, &order);
	takes = true;
	take_batch();
	ends_as(DOCUMENTS_INTERRUPTED);
	/* The next process gives no document a second time. */
	struct str cursor = last_cursor;
	size_t n = ids_n;
	go_on_from("1", cursor, true);
	ends_as(DOCUMENTS_INTERRUPTED);
	assert_int_equal(ids_n, n);
	close_rig();
}

static void
what_could_not_be_fetched_is_noted(void **state)
{
	(void)state;
	open_rig();
	start_body = "<a href=/drop>";
	open_from("1", STR_NONE);
	ends_as(DOCUMENTS_DONE);
	assert_int_equal(ids_n, 1);
	assert_int_equal(notes, 1);
	close_rig();
}

static bool deleted;

static void
crawl_deleted(struct delete_request *q)
{
	assert_int_equal(q->why.err, OK);
	deleted = true;
}

static void
without_the_earlier_crawl_all_pages_come(void **state)
{
	struct delete_request q = { .done = crawl_deleted };

	(void)state;
	open_rig();
	open_from("1", STR_NONE);
	ends_as(DOCUMENTS_DONE);
	q.crawl = crawl_now();
	deleted = false;
	crawl_delete(rig.engine, &q);
	RIG_UNTIL_DONE(&rig, deleted);
	open_from("2", last_cursor);
	ends_as(DOCUMENTS_DONE);
	has_pages(true, 1, 121);
	close_rig();
}

/* As when a task is taken over: here, its crawl's number is another one's. */
static void
a_crawl_of_another_daemon_is_not_read(void **state)
{
	struct web_documents_cursor c;
	FREED(buf_free) struct buf middle = BUF_INIT, end = BUF_INIT;

	(void)state;
	open_rig();
	takes = false;
	open_from("1", STR_NONE);
	RIG_UNTIL_DONE(&rig, waits);
	uint32_t crawl = crawl_now();
	assert_int_equal(web_documents_cursor_read(last_cursor, &arena, &c,
	    NULL), OK);
	assert_false(c.ended);
	c.crawl_created--;
	web_documents_cursor_put(&c, &middle);
	takes = true;
	take_batch();
	ends_as(DOCUMENTS_DONE);
	open_from("2", buf_str(&middle));
	ends_as(DOCUMENTS_DONE);
	assert_int_not_equal(crawl_now(), crawl);
	has_pages(true, 1, 121);
	/* Nor is it compared with. */
	assert_int_equal(web_documents_cursor_read(last_cursor, &arena, &c,
	    NULL), OK);
	assert_true(c.ended);
	c.crawl_created--;
	web_documents_cursor_put(&c, &end);
	open_from("3", buf_str(&end));
	ends_as(DOCUMENTS_DONE);
	has_pages(true, 1, 121);
	/* With its own it is. */
	open_from("4", last_cursor);
	ends_as(DOCUMENTS_DONE);
	assert_int_equal(ids_n, 0);
	close_rig();
}

/* A place in the middle of a crawl with other parameters is none. */
static void
other_parameters_begin_another_crawl(void **state)
{
	struct web_documents_cursor c;
	FREED(buf_free) struct buf text = BUF_INIT;

	(void)state;
	open_rig();
	takes = false;
	open_from("1", STR_NONE);
	RIG_UNTIL_DONE(&rig, waits);
	uint32_t crawl = crawl_now();
	rig_crash(&rig);
	rig_start(&rig);
	assert_int_equal(web_documents_cursor_read(last_cursor, &arena, &c,
	    NULL), OK);
	c.params = STR("other");
	web_documents_cursor_put(&c, &text);
	takes = true;
	open_from("2", buf_str(&text));
	ends_as(DOCUMENTS_DONE);
	assert_int_not_equal(crawl_now(), crawl);
	has_pages(true, 1, 121);
	close_rig();
}

static void
what_is_malformed_is_refused(void **state)
{
	struct web_documents_options o = { .params = STR("{}"),
	    .batch = on_batch, .ended = on_ended };
	struct why w = WHY_INIT;

	(void)state;
	open_rig();
	assert_int_equal(web_documents_open(documents, &o, &run, &w),
	    ERR_INPUT);
	assert_null(run);
	assert_string_equal(w.field, "params");
	w = WHY_INIT;
	o.params = STR("{\"seeds\":[\"http://a.example/\"]}");
	o.cursor = STR("{}");
	assert_int_equal(web_documents_open(documents, &o, &run, &w),
	    ERR_INPUT);
	assert_null(run);
	assert_string_equal(w.field, "cursor.version");
	close_rig();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_site_comes_whole_and_then_what_has_changed),
		cmocka_unit_test(a_new_page_comes_with_its_links),
		cmocka_unit_test(each_cursor_is_a_place_to_go_on_from),
		cmocka_unit_test(a_crash_begins_no_second_crawl),
		cmocka_unit_test(pages_of_text_have_documents_and_others_none),
		cmocka_unit_test(a_stop_cancels_the_crawl),
		cmocka_unit_test(the_crawl_of_a_check_goes),
		cmocka_unit_test(
		    a_crawl_that_an_operator_ends_interrupts_the_run),
		cmocka_unit_test(what_could_not_be_fetched_is_noted),
		cmocka_unit_test(without_the_earlier_crawl_all_pages_come),
		cmocka_unit_test(a_crawl_of_another_daemon_is_not_read),
		cmocka_unit_test(other_parameters_begin_another_crawl),
		cmocka_unit_test(what_is_malformed_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
