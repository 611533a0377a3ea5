/*
 * Runs of documents over a whole engine and an invented list on loopback:
 * whole, from each cursor, stopped, failing, and with the crawl taken away; and
 * what they archive.
 */
#include "engine/harvest/document_own.h"

#include "engine/catalog/catalog.h"
#include "engine/control/engine_testing.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/tree.h"

#define PAGE 40u
#define ITEMS_MAX 400u

#define ORDER(OPTIONS)                                                       \
	"{\"type\":\"json_api\",\"options\":{" OPTIONS "\"api\":{\"url\":"   \
	"\"http://m.example/list\",\"label\":\"items\",\"items\":\"/items\","\
	"\"id\":\"/id\",\"next\":{\"cursor\":\"/next\",\"parameter\":"       \
	"\"after\"},\"since\":{\"parameter\":\"since\",\"from\":\"id\"}}}}"

static struct rig rig;
static struct documents *documents;
static struct document_run *run;
static struct arena arena;
static atomic_uint items, status, slow_ms;
static struct str private_host;      /* HOST:PORT; empty: none */
static const char *whole_body;       /* in place of a page, or NULL */
/* For the runs that open_from() opens; NULL: no archive. */
static const struct document_archive *archive;
static bool is_ending;

/* Documents that have come. */
static char ids[ITEMS_MAX][32];
static size_t ids_n, batches, notes;
static struct str cursors[ITEMS_MAX];
static struct str last_json;
static bool waits;                   /* with a batch */
static bool takes;                   /* each batch, at once */
static bool ended;
static struct document_end last;

/* --- the platform ---------------------------------------------------- */

static uint64_t
number_behind(struct str path, const char *name)
{
	size_t at = str_find(path, str_of(name));
	uint64_t n = 0;

	for (at += strlen(name); at < path.n && ascii_is_digit(path.p[at]);
	    at++)
		n = n * 10 + (uint64_t)(path.p[at] - '0');
	return n;
}

static void
site(struct str path, struct rig_page *p)
{
	uint64_t first = MAX(number_behind(path, "after="),
	    number_behind(path, "since=")) + 1;
	uint64_t n = atomic_load(&items);
	uint64_t end = MIN(first + PAGE, n + 1);

	p->type = "application/json";
	p->status = (int)atomic_load(&status);
	p->delay_ms = (int)atomic_load(&slow_ms);
	if (whole_body != NULL) {
		buf_put_text(&p->body, whole_body);
		return;
	}
	buf_put_text(&p->body, "{\"items\":[");
	for (uint64_t i = first; i < end; i++)
		buf_printf(&p->body, "%s{\"id\":%llu}", i > first ? "," : "",
		    (unsigned long long)i);
	buf_put_char(&p->body, ']');
	if (end <= n)
		buf_printf(&p->body, ",\"next\":\"%llu\"",
		    (unsigned long long)end - 1);
	buf_put_char(&p->body, '}');
}

/* --- the caller ------------------------------------------------------ */

static void
on_batch(void *arg, const struct document_batch *b)
{
	(void)arg;
	assert_false(waits);
	assert_false(ended);
	for (size_t i = 0; i < b->n; i++) {
		struct str id = b->list[i].id;
		assert_true(ids_n < ITEMS_MAX && id.n < sizeof(ids[0]));
		memcpy(ids[ids_n], id.p, id.n);
		ids[ids_n++][id.n] = '\0';
		last_json = arena_copy(&arena, b->list[i].json);
	}
	cursors[batches++] = arena_copy(&arena, b->cursor);
	waits = !takes;
	if (takes)
		document_run_taken(run);
}

static void
on_note(void *arg, const struct document_note *n)
{
	(void)arg;
	notes += strcmp(n->level, "warning") == 0;
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

static enum err
try_open(const char *order, struct str cursor, bool resumes, struct why *w)
{
	const struct document_run_options o = { .order = str_of(order),
	    .cursor = cursor, .resumes = resumes, .call_tries_max = 1,
	    .private_hosts = &private_host, .private_n = private_host.n > 0,
	    .archive = archive,
	    .tries_max = 1, .batch = on_batch, .note = on_note,
	    .ended = on_ended };
	const char *code = NULL;

	ids_n = batches = notes = 0;
	waits = ended = false;
	return document_run_open(documents, &o, &run, &code, w);
}

static void
open_from(const char *order, struct str cursor)
{
	struct why w = WHY_INIT;

	if (try_open(order, cursor, false, &w) != OK)
		fail_msg("%s", w.text);
}

static void
take(void)
{
	assert_true(waits);
	waits = false;
	document_run_taken(run);
}

static void
ends_as(enum document_end_kind kind)
{
	RIG_UNTIL_DONE(&rig, ended);
	if (last.kind != kind)
		fail_msg("%d: %.*s", last.kind, STR_FMT(last.text));
	document_run_free(&run);
}

/* The numbers from one to another, each once. */
static void
has_ids(unsigned first, unsigned end)
{
	char text[24];

	assert_int_equal(ids_n, end - first);
	for (unsigned i = first; i < end; i++) {
		snprintf(text, sizeof(text), "%u", i);
		assert_string_equal(ids[i - first], text);
	}
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
	documents = documents_new(r->engine, r->home);
}

static void
free_documents(struct rig *r)
{
	(void)r;
	document_run_free(&run);
	documents_free(&documents);
}

static void
open_rig(void)
{
	struct why w = WHY_INIT;

	arena = ARENA_INIT;
	rig_open(&rig, site, NULL);
	rig.opened = open_documents;
	rig.freed = free_documents;
	assert_int_equal(conf_flag(&rig.conf, arena_printf(&arena,
	    "fetch.resolve=m.example:80:127.0.0.1:%u", rig.port), &w), OK);
	atomic_store(&items, 100);
	atomic_store(&status, 200);
	atomic_store(&slow_ms, 0);
	whole_body = NULL;
	archive = NULL;
	is_ending = false;
	takes = true;
	rig_start(&rig);
}

static void
close_rig(void)
{
	rig_close(&rig);
	arena_free(&arena);
}

static bool
time_has_passed(struct rig *r, void *arg)
{
	(void)r;
	return !mono_before(clock_mono(), *(struct mono *)arg);
}

static void
pass_ms(int64_t ms)
{
	struct mono until = mono_add_ms(clock_mono(), ms);

	rig_until(&rig, time_has_passed, &until);
}

static enum err
is_no_warc(void *arg, const char *path, uint64_t bytes, struct why *w)
{
	(void)arg, (void)bytes, (void)w;
	assert_false(str_find(str_of(path), STR(".warc")) < strlen(path));
	return OK;
}

/* --- tests ----------------------------------------------------------- */

static void
all_items_come_in_order_and_nothing_is_archived(void **state)
{
	(void)state;
	open_rig();
	open_from(ORDER(""), STR_NONE);
	ends_as(DOCUMENTS_DONE);
	has_ids(1, 101);
	assert_true(str_eq(last_json, STR("{\"id\":100}")));
	assert_int_equal(rig_requests(&rig, NULL), 3);
	assert_int_equal(rig.view.counts.items, 0);
	rig_stop(&rig);
	assert_int_equal(tree_walk(rig.dir, is_no_warc, NULL, NULL), OK);
	close_rig();
}

/* However long the caller has a batch, no further page is asked for. */
static void
no_call_is_made_while_a_batch_waits(void **state)
{
	(void)state;
	open_rig();
	takes = false;
	open_from(ORDER(""), STR_NONE);
	for (unsigned i = 1; i <= 3; i++) {
		RIG_UNTIL_DONE(&rig, waits);
		pass_ms(50);
		assert_int_equal(rig_requests(&rig, NULL), i);
		assert_int_equal(batches, i);
		assert_false(ended);
		assert_int_equal(document_run_look(run).answers, i);
		take();
	}
	ends_as(DOCUMENTS_DONE);
	has_ids(1, 101);
	close_rig();
}

/* The process ends while the caller has kept so many batches. */
static void
each_cursor_is_a_place_to_go_on_from(void **state)
{
	(void)state;
	for (size_t kept = 0; kept < 3; kept++) {
		open_rig();
		takes = false;
		open_from(ORDER(""), STR_NONE);
		RIG_UNTIL_DONE(&rig, waits);
		for (size_t i = 0; i < kept; i++) {
			take();
			RIG_UNTIL_DONE(&rig, waits);
		}
		struct str cursor = kept == 0 ? STR_NONE : cursors[kept - 1];
		rig_crash(&rig);
		rig_start(&rig);
		takes = true;
		open_from(ORDER(""), cursor);
		ends_as(DOCUMENTS_DONE);
		has_ids(1 + (unsigned)kept * PAGE, 101);
		close_rig();
	}
}

static void
the_next_run_asks_for_what_is_new(void **state)
{
	struct why w = WHY_INIT;

	(void)state;
	open_rig();
	open_from(ORDER(""), STR_NONE);
	ends_as(DOCUMENTS_DONE);
	struct str cursor = cursors[batches - 1];
	uint64_t requests = rig_requests(&rig, NULL);
	/* The same run has ended. */
	assert_int_equal(try_open(ORDER(""), cursor, true, &w), OK);
	ends_as(DOCUMENTS_DONE);
	assert_int_equal(batches, 0);
	assert_int_equal(rig_requests(&rig, NULL), requests);
	/* And has left something for the next one. */
	atomic_store(&items, 130);
	open_from(ORDER(""), cursor);
	ends_as(DOCUMENTS_DONE);
	has_ids(101, 131);
	/* Which may not want it. */
	open_from(ORDER("\"incremental\":false,"), cursors[batches - 1]);
	ends_as(DOCUMENTS_DONE);
	has_ids(1, 131);
	close_rig();
}

/* A place of another order is none. */
static void
another_order_starts_over(void **state)
{
	(void)state;
	open_rig();
	takes = false;
	open_from(ORDER(""), STR_NONE);
	RIG_UNTIL_DONE(&rig, waits);
	document_run_stop(run);
	struct str cursor = cursors[0];
	ends_as(DOCUMENTS_STOPPED);
	takes = true;
	open_from(ORDER("\"limit\":60,"), cursor);
	ends_as(DOCUMENTS_DONE);
	has_ids(1, 81);
	close_rig();
}

/* A place that the connector has not saved is refused. */
static void
a_place_that_is_damaged_is_refused(void **state)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct document_cursor c;
	struct why w = WHY_INIT;

	(void)state;
	open_rig();
	takes = false;
	open_from(ORDER(""), STR_NONE);
	RIG_UNTIL_DONE(&rig, waits);
	document_run_stop(run);
	ends_as(DOCUMENTS_STOPPED);
	assert_int_equal(document_cursor_read(cursors[0], &arena, &c, NULL),
	    OK);
	c.saved = STR("elsewhere");
	document_cursor_put(&c, &text);
	assert_int_equal(try_open(ORDER(""), buf_str(&text), false, &w),
	    ERR_INPUT);
	assert_string_equal(w.field, "cursor.saved");
	assert_null(run);
	close_rig();
}

/* While a call is out, while a batch is, and before the first call. */
static void
password_is(const char *text)
{
	for (size_t i = 0; i < run->text.secrets_n; i++)
		if (str_eq(run->text.secrets[i].name, STR("password"))) {
			assert_true(str_eq(run->text.secrets[i].value,
			    str_of(text)));
			return;
		}
	fail_msg("there is no password");
}

/* A call may be out, or a batch with the caller. */
static void
another_credential_is_taken_up(void **state)
{
	struct why w = WHY_INIT;

	(void)state;
	open_rig();
	takes = false;
	atomic_store(&slow_ms, 200);
	open_from(ORDER(""), STR_NONE);
	assert_int_equal(document_run_set_credential(run, STR("{\"username\":"
	    "\"ada\",\"password\":\"first\"}"), &w), OK);
	RIG_UNTIL_DONE(&rig, waits);
	password_is("first");
	assert_int_equal(document_run_set_credential(run, STR("{\"username\":"
	    "\"ada\",\"password\":\"second\"}"), &w), OK);
	password_is("second");
	take();
	pass_ms(50);
	assert_int_equal(run->state, DOCUMENT_RUN_ASKS);
	assert_int_equal(document_run_set_credential(run, STR("{\"username\":"
	    "\"ada\",\"password\":\"third\"}"), &w), OK);
	password_is("second");
	/* A credential that the connector refuses changes nothing. */
	assert_int_equal(document_run_set_credential(run, STR("{\"password\":"
	    "[]}"), &w), ERR_INPUT);
	assert_string_equal(w.field, "credential");
	RIG_UNTIL_DONE(&rig, waits);
	password_is("third");
	takes = true;
	take();
	ends_as(DOCUMENTS_DONE);
	has_ids(1, 101);
	assert_int_equal(rig_requests(&rig, NULL), 3);
	rig_stop(&rig);
	close_rig();
}

static void
a_stop_ends_it_soon(void **state)
{
	(void)state;
	open_rig();
	atomic_store(&slow_ms, 5000);
	open_from(ORDER(""), STR_NONE);
	pass_ms(100);
	struct mono began = clock_mono();
	document_run_stop(run);
	document_run_stop(run);
	ends_as(DOCUMENTS_STOPPED);
	assert_true(mono_ns_between(began, clock_mono()) <
	    4000 * NS_PER_MS);
	assert_int_equal(batches, 0);
	atomic_store(&slow_ms, 0);
	takes = false;
	open_from(ORDER(""), STR_NONE);
	RIG_UNTIL_DONE(&rig, waits);
	document_run_stop(run);
	document_run_taken(run);
	ends_as(DOCUMENTS_STOPPED);
	assert_int_equal(batches, 1);
	open_from(ORDER(""), STR_NONE);
	document_run_stop(run);
	ends_as(DOCUMENTS_STOPPED);
	assert_int_equal(batches, 0);
	close_rig();
}

static void
fails_with(unsigned with, enum document_fault fault, const char *code)
{
	atomic_store(&status, with);
	open_from(ORDER(""), STR_NONE);
	ends_as(DOCUMENTS_FAILED);
	assert_int_equal(last.fault, fault);
	assert_true(str_eq(last.code, str_of(code)));
	assert_true(last.text.n > 0);
	assert_int_equal(batches, 0);
}

static void
failures_say_who_can_do_something(void **state)
{
	(void)state;
	open_rig();
	fails_with(401, DOCUMENT_CONFIG, "harvest_Unauthorized");
	fails_with(404, DOCUMENT_SYSTEM, "unknown_error");
	fails_with(418, DOCUMENT_SYSTEM, "unknown_error");
	fails_with(500, DOCUMENT_TRANSIENT, "unknown_error");
	whole_body = "no JSON";
	fails_with(200, DOCUMENT_TRANSIENT, "unknown_error");
	assert_string_equal(document_fault_name(DOCUMENT_SYSTEM), "system");
	assert_string_equal(document_fault_name(DOCUMENT_CONFIG), "config");
	assert_string_equal(document_fault_name(DOCUMENT_TRANSIENT),
	    "transient");
	close_rig();
}

/* Batches from before a failure stay; the next run continues behind them. */
static void
a_failure_moves_no_cursor(void **state)
{
	(void)state;
	open_rig();
	takes = false;
	open_from(ORDER(""), STR_NONE);
	RIG_UNTIL_DONE(&rig, waits);
	atomic_store(&status, 500);
	take();
	ends_as(DOCUMENTS_FAILED);
	has_ids(1, 41);
	struct str cursor = cursors[0];
	atomic_store(&status, 200);
	takes = true;
	open_from(ORDER(""), cursor);
	ends_as(DOCUMENTS_DONE);
	has_ids(41, 101);
	close_rig();
}

static void
items_without_an_id_are_left_out_and_told(void **state)
{
	(void)state;
	open_rig();
	whole_body = "{\"items\":[{\"id\":1},{\"name\":\"b\"},{\"id\":3}]}";
	open_from(ORDER(""), STR_NONE);
	RIG_UNTIL_DONE(&rig, ended);
	assert_int_equal(document_run_look(run).broken, 1);
	assert_int_equal(document_run_look(run).documents, 2);
	assert_int_equal(notes, 1);
	ends_as(DOCUMENTS_DONE);
	close_rig();
}

/* Numbers keep their digits. */
static void
documents_are_json_on_one_line(void **state)
{
	(void)state;
	open_rig();
	whole_body = "{\"items\":[\n{ \"id\":123456789012345678901234,\n"
	    "\"text\":\"a\\nb \xc3\xa9\" }]}";
	open_from(ORDER(""), STR_NONE);
	ends_as(DOCUMENTS_DONE);
	assert_string_equal(ids[0], "123456789012345678901234");
	assert_true(str_eq(last_json, STR("{\"id\":123456789012345678901234,"
	    "\"text\":\"a\\nb \xc3\xa9\"}")));
	close_rig();
}

/* Half of a surrogate pair stays an escape, as platforms' own readers have it;
 * the driver takes no such JSON, other kinds of answers may have it. */
static void
half_a_surrogate_stays_an_escape(void **state)
{
	const struct driver_answered x = { .url = STR("https://m.example/api"),
	    .body = STR("[{\"uri\":\"u\",\"content\":\"\\ud83d\"}]") };
	struct document_list l = { .n = 0 };

	(void)state;
	assert_int_equal(document_items_take(item_type_find(
	    STR("mastodon_account")), &x, &l, NULL), OK);
	assert_int_equal(l.n, 1);
	assert_true(str_eq(l.list[0].json, STR("{\"uri\": \"u\", "
	    "\"content\": \"\\ud83d\"}")));
	arena_free(&l.arena);
}

/* Calls reach private addresses where the caller says so, and nowhere else. */
static void
private_addresses_are_allowed_by_name(void **state)
{
	(void)state;
	open_rig();
	const char *order = arena_printf(&arena, "{\"type\":\"json_api\","
	    "\"options\":{\"api\":{\"url\":\"http://127.0.0.1:%u/list\","
	    "\"label\":\"items\",\"items\":\"/items\",\"id\":\"/id\"}}}",
	    rig.port).p;
	open_from(order, STR_NONE);
	ends_as(DOCUMENTS_FAILED);
	assert_int_equal(last.fault, DOCUMENT_SYSTEM);
	assert_int_equal(rig_requests(&rig, NULL), 0);
	private_host = arena_printf(&arena, "127.0.0.1:%u", rig.port + 1);
	open_from(order, STR_NONE);
	ends_as(DOCUMENTS_FAILED);
	private_host = arena_printf(&arena, "127.0.0.1:%u", rig.port);
	open_from(order, STR_NONE);
	ends_as(DOCUMENTS_DONE);
	has_ids(1, PAGE + 1);
	private_host = STR_NONE;
	close_rig();
}

static void
no_order_is_taken_that_gives_no_documents(void **state)
{
	static const struct {
		const char *order;
		enum err err;
		const char *field;
	} orders[] = {
		{ "{}", ERR_INPUT, "type" },
		{ "{\"type\":\"none\"}", ERR_INPUT, "type" },
		{ "{\"type\":\"json_api\",\"options\":{\"api\":{}}}",
		    ERR_INPUT, "options.api.url" },
		{ "{\"type\":\"mastodon_stream\",\"credentials\":{"
		    "\"instance\":\"https://m.example\","
		    "\"access_token\":\"a-token\"}}", ERR_STATE, "" },
		{ "{\"type\":\"web\",\"seeds\":[{\"token\":\"http://a/\"}]}",
		    ERR_STATE, "" },
	};
	struct why w;

	(void)state;
	open_rig();
	for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
		w = WHY_INIT;
		assert_int_equal(try_open(orders[i].order, STR_NONE, false,
		    &w), orders[i].err);
		assert_string_equal(w.field, orders[i].field);
		assert_null(run);
	}
	w = WHY_INIT;
	assert_int_equal(try_open(ORDER(""), STR("{"), false, &w), ERR_INPUT);
	assert_string_equal(w.field, "cursor");
	close_rig();
}

/* An operator cancels the crawl: the next run begins another one. */
static void
a_cancelled_crawl_interrupts_it(void **state)
{
	struct crawl_order order = { .want = CRAWL_CANCELLED };

	(void)state;
	open_rig();
	takes = false;
	open_from(ORDER(""), STR_NONE);
	RIG_UNTIL_DONE(&rig, waits);
	uint32_t first = rig.view.id;
	rig_steer(&rig, first, CRAWL_CANCELLED, &order);
	take();
	ends_as(DOCUMENTS_INTERRUPTED);
	struct str cursor = cursors[0];
	takes = true;
	open_from(ORDER(""), cursor);
	ends_as(DOCUMENTS_DONE);
	has_ids(41, 101);
	assert_true(rig.view.id != first);
	close_rig();
}

/* --- archives -------------------------------------------------------- */

#define ARCHIVE_NAME DOCUMENT_ARCHIVE_PREFIX "1: acme/things/t1"
static const struct str archive_tags[] = { STR("acme"), STR("things") };
static const struct document_archive an_archive = {
	.key = STR(DOCUMENT_ARCHIVE_PREFIX "1:1"), .name = STR(ARCHIVE_NAME),
	.tags = archive_tags, .tags_n = ARRAY_LEN(archive_tags),
	.is_ending = &is_ending };

/* The newest crawl of the archive; `*n`: how many there are. */
static const struct crawl_row *
find_archive(size_t *n)
{
	const struct crawl_registry *all = engine_registry(rig.engine);
	const struct crawl_row *found = NULL;

	*n = 0;
	for (const struct crawl_row *r = crawl_registry_below(all,
	    UINT32_MAX); r != NULL; r = crawl_registry_below(all, r->id)) {
		if (!str_eq(r->name, STR(ARCHIVE_NAME)))
			continue;
		found = *n == 0 ? r : found;
		++*n;
	}
	return found;
}

struct wanted {
	size_t crawls;
	uint64_t captures;
	enum crawl_state state;
};

static bool
is_as_wanted(struct rig *r, void *arg)
{
	const struct wanted *x = arg;
	size_t n;
	const struct crawl_row *row = find_archive(&n);

	(void)r;
	return n == x->crawls && row->view.state == x->state &&
	    row->view.counts.items == x->captures;
}

/* Soon there are so many crawls, and the newest one has so many captures and is
 * complete or runs. */
static uint32_t
has_archived(size_t crawls, uint64_t captures, enum crawl_state state)
{
	struct wanted x = { crawls, captures, state };
	size_t n;

	rig_until(&rig, is_as_wanted, &x);
	const struct crawl_row *row = find_archive(&n);
	assert_int_equal(row->tags_n, ARRAY_LEN(archive_tags));
	assert_true(str_eq(row->tags[0], archive_tags[0]));
	return row->id;
}

static void
set_done(struct capture_query *q)
{
	*(bool *)q->arg = true;
}

/* The body of an archived answer. */
static struct str
archived_body(uint32_t crawl, uint64_t number)
{
	bool done = false;
	struct capture_query q = { .crawl = crawl, .number = number,
	    .body = true, .body_bytes_max = 1 << 20, .done = set_done,
	    .arg = &done };

	catalog_capture(engine_catalog(rig.engine), &q);
	RIG_UNTIL_DONE(&rig, done);
	assert_int_equal(q.why.err, OK);
	struct str body = arena_copy(&arena, q.body_bytes);
	arena_free(&q.arena);
	return body;
}

static void
an_archive_has_every_answer(void **state)
{
	(void)state;
	open_rig();
	archive = &an_archive;
	open_from(ORDER(""), STR_NONE);
	ends_as(DOCUMENTS_DONE);
	has_ids(1, 101);
	uint32_t crawl = has_archived(1, 3, CRAWL_COMPLETE);
	assert_true(str_ends(archived_body(crawl, 3), STR("{\"id\":100}]}")));
	/* A run without one has no part in it. */
	archive = NULL;
	open_from(ORDER(""), STR_NONE);
	ends_as(DOCUMENTS_DONE);
	has_archived(1, 3, CRAWL_COMPLETE);
	/* The same key again: its crawl has ended. */
	archive = &an_archive;
	open_from(ORDER(""), STR_NONE);
	ends_as(DOCUMENTS_DONE);
	has_archived(2, 3, CRAWL_COMPLETE);
	close_rig();
}

/* When a caller has a batch the disk has its answer, whatever comes then; and
 * the next process goes on in the same crawl. */
static void
a_crash_loses_no_answer_of_a_batch(void **state)
{
	(void)state;
	for (size_t kept = 0; kept < 3; kept++) {
		open_rig();
		takes = false;
		archive = &an_archive;
		open_from(ORDER(""), STR_NONE);
		RIG_UNTIL_DONE(&rig, waits);
		for (size_t i = 0; i < kept; i++) {
			take();
			RIG_UNTIL_DONE(&rig, waits);
		}
		struct str cursor = kept == 0 ? STR_NONE : cursors[kept - 1];
		rig_crash(&rig);
		rig_start(&rig);
		uint32_t crawl = has_archived(1, kept + 1, CRAWL_RUNNING);
		takes = true;
		open_from(ORDER(""), cursor);
		ends_as(DOCUMENTS_DONE);
		has_ids(1 + (unsigned)kept * PAGE, 101);
		/* The batch that was not kept is asked for again. */
		assert_int_equal(has_archived(1, 4, CRAWL_COMPLETE), crawl);
		close_rig();
	}
}

static bool
is_never_used(void *arg, struct str name)
{
	(void)arg, (void)name;
	return false;
}

static bool
is_this_used(void *arg, struct str name)
{
	return str_eq(name, str_of(arg));
}

/* While the program ends the next one goes on with the crawl; what is still
 * left then is completed by its owner. */
static void
a_stop_at_the_programs_end_leaves_the_crawl(void **state)
{
	static char name[] = ARCHIVE_NAME;

	(void)state;
	open_rig();
	archive = &an_archive;
	takes = false;
	open_from(ORDER(""), STR_NONE);
	RIG_UNTIL_DONE(&rig, waits);
	is_ending = true;
	document_run_stop(run);
	ends_as(DOCUMENTS_STOPPED);
	rig_stop(&rig);
	rig_start(&rig);
	is_ending = false;
	uint32_t crawl = has_archived(1, 1, CRAWL_RUNNING);
	document_crawls_complete_left(rig.engine, is_this_used, name);
	open_from(ORDER(""), STR_NONE);
	RIG_UNTIL_DONE(&rig, waits);
	assert_int_equal(has_archived(1, 2, CRAWL_RUNNING), crawl);
	document_run_stop(run);
	ends_as(DOCUMENTS_STOPPED);
	has_archived(1, 2, CRAWL_COMPLETE);
	/* This time no run of the next process takes the crawl up. */
	is_ending = true;
	open_from(ORDER(""), STR_NONE);
	RIG_UNTIL_DONE(&rig, waits);
	document_run_stop(run);
	ends_as(DOCUMENTS_STOPPED);
	rig_crash(&rig);
	rig_start(&rig);
	has_archived(2, 1, CRAWL_RUNNING);
	document_crawls_complete_left(rig.engine, is_never_used, NULL);
	has_archived(2, 1, CRAWL_COMPLETE);
	close_rig();
}

/* A run that begins when the one before has just ended, whose crawl is about to
 * be complete, has another one: all its calls are answered. */
static void
a_run_begins_while_the_last_crawl_ends(void **state)
{
	size_t n;

	(void)state;
	open_rig();
	archive = &an_archive;
	for (unsigned i = 1; i <= 20; i++) {
		open_from(ORDER(""), STR_NONE);
		ends_as(DOCUMENTS_DONE);
		has_ids(1, 101);
		(void)find_archive(&n);
		assert_int_equal(n, i);
	}
	has_archived(20, 3, CRAWL_COMPLETE);
	/* A run that is left while its crawl begins. */
	for (unsigned i = 0; i < 20; i++) {
		open_from(ORDER(""), STR_NONE);
		document_run_stop(run);
		ends_as(DOCUMENTS_STOPPED);
	}
	open_from(ORDER(""), STR_NONE);
	ends_as(DOCUMENTS_DONE);
	close_rig();
}

/* Also while its crawl is being launched, and with the engine gone. */
static void
an_archive_can_be_left_at_any_time(void **state)
{
	(void)state;
	open_rig();
	archive = &an_archive;
	open_from(ORDER(""), STR_NONE);
	document_run_stop(run);
	ends_as(DOCUMENTS_STOPPED);
	has_archived(1, 0, CRAWL_COMPLETE);
	open_from(ORDER(""), STR_NONE);
	rig_crash(&rig);
	rig_start(&rig);
	open_from(ORDER(""), STR_NONE);
	ends_as(DOCUMENTS_DONE);
	close_rig();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    all_items_come_in_order_and_nothing_is_archived),
		cmocka_unit_test(no_call_is_made_while_a_batch_waits),
		cmocka_unit_test(each_cursor_is_a_place_to_go_on_from),
		cmocka_unit_test(the_next_run_asks_for_what_is_new),
		cmocka_unit_test(another_order_starts_over),
		cmocka_unit_test(a_place_that_is_damaged_is_refused),
		cmocka_unit_test(another_credential_is_taken_up),
		cmocka_unit_test(a_stop_ends_it_soon),
		cmocka_unit_test(failures_say_who_can_do_something),
		cmocka_unit_test(a_failure_moves_no_cursor),
		cmocka_unit_test(items_without_an_id_are_left_out_and_told),
		cmocka_unit_test(documents_are_json_on_one_line),
		cmocka_unit_test(half_a_surrogate_stays_an_escape),
		cmocka_unit_test(private_addresses_are_allowed_by_name),
		cmocka_unit_test(no_order_is_taken_that_gives_no_documents),
		cmocka_unit_test(a_cancelled_crawl_interrupts_it),
		cmocka_unit_test(an_archive_has_every_answer),
		cmocka_unit_test(a_crash_loses_no_answer_of_a_batch),
		cmocka_unit_test(a_stop_at_the_programs_end_leaves_the_crawl),
		cmocka_unit_test(a_run_begins_while_the_last_crawl_ends),
		cmocka_unit_test(an_archive_can_be_left_at_any_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
