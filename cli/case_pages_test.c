/*
 * Answers from an archive to a case and back: a page behind a redirect, a
 * revisit, what is gone.
 */
#include "cli/case_pages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cli/verbs.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/tree.h"
#include "wire/gzip.h"

#define CRAWL 7u
#define DATE INT64_C(1795159500000000)
#define REQUEST STR("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")
#define HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"

static char dir[] = "/tmp/argiope-case-XXXXXX";
static struct warc_writer *writer;
static struct buf archive;

/* One exchange, numbered as the ledger numbers it. */
static void
put_exchange(uint64_t seq, uint32_t hop, const char *url, const char *head,
    const char *body, const struct warc_revisit *revisit)
{
	struct str piece = str_of(body);
	struct warc_capture facts = { .crawl = CRAWL, .hop = hop,
	    .start = { DATE }, .requested_url = str_of(url) };
	struct digest digest;
	struct warc_exchange x = { .target_uri = str_of(url),
	    .date = { DATE + (int64_t)seq * US_PER_S }, .request = REQUEST,
	    .response_head = str_of(head), .body = &piece, .body_n = 1,
	    .capture = &facts, .payload = &digest, .revisit = revisit,
	    .warcinfo_id = STR("00000000-0000-4000-8000-000000000000") };
	struct warc_member m[2];

	warc_digest_payload(writer, &piece, 1, &digest);
	assert_int_equal(warc_put_exchange(writer, &x, &archive, m, NULL),
	    OK);
	for (int i = 0; i < 2; i++)
		gzip_patch(archive.p + m[i].at, seq, 1);
}

static void
put_archive(void)
{
	struct digest digest;
	struct str body = STR("the same");
	struct warc_revisit revisit = { .profile = STR(WARC_PROFILE_SAME),
	    .refers_to_uri = STR("http://a.example/one"),
	    .refers_to_date = { DATE + US_PER_S }, .payload = &digest };

	warc_digest_payload(writer, &body, 1, &digest);
	put_exchange(1, 0, "http://a.example/one", HEAD "\r\n", "the same",
	    NULL);
	put_exchange(2, 0, "http://a.example/two", HEAD "X-Two: 2\r\n\r\n",
	    "the same", &revisit);
	put_exchange(3, 0, "http://a.example/old", "HTTP/1.1 302 Found\r\n"
	    "Location: /new\r\n\r\n", "moved", NULL);
	put_exchange(3, 1, "http://a.example/new", HEAD "\r\n", "the new one",
	    NULL);
	put_exchange(4, 0, "http://a.example/bad", "HTTP/1.1 404 Not Found"
	    "\r\n\r\n", "none", NULL);
}

#define CALL(n, crawl, seq) "{\"n\":" n ",\"kind\":\"fetch\",\"method\":"    \
	"\"GET\",\"url\":\"http://a.example/" n "\",\"value\":{\"status\":"  \
	"200,\"capture\":{\"crawl\":" crawl ",\"seq\":" seq "}}}"

static struct replay_record *
record_of(const char *calls)
{
	struct replay_record *r = NULL;
	struct arena a = ARENA_INIT;
	struct why w = WHY_INIT;

	if (replay_record_read(arena_printf(&a, "{\"replay\":{\"bundle\":"
	    "\"sha256:00\",\"input\":{\"task\":\"t\",\"item\":{\"id\":\"i\"}},"
	    "\"calls\":[%s],\"success\":true,\"mutations\":\"00\"}}", calls),
	    &r, &w) != OK)
		fail_msg("%s", w.text);
	arena_free(&a);
	return r;
}

static enum err
copy(const char *calls, struct buf *out, struct why *w)
{
	static const char *const nothing[] = { NULL };
	const char *argv[] = { "R1", "cases/one", "--data", dir };
	struct replay_record *r = record_of(calls);
	struct cli c;

	assert_int_equal(cli_open(&c, &task_record_verb, 4, argv, nothing, w),
	    OK);
	assert_int_equal(cli_data_dir(&c, w), OK);
	enum err e = case_pages_copy(&c, r, out, w);
	cli_close(&c);
	replay_record_free(&r);
	return e;
}

static struct case_pages *
open_case(const char *calls)
{
	struct buf pages = BUF_INIT;
	struct case_pages *p = NULL;
	struct arena a = ARENA_INIT;
	struct why w = WHY_INIT;
	const char *path = arena_printf(&a, "%s/pages.warc.gz", dir).p;

	if (copy(calls, &pages, &w) != OK || file_store(path, buf_str(&pages),
	    &w) != OK || case_pages_open(path, &p, &w) != OK)
		fail_msg("%s", w.text);
	buf_free(&pages);
	arena_free(&a);
	return p;
}

static void
assert_answer(struct case_pages *p, uint64_t number, int status,
    const char *field, const char *body)
{
	struct replay_need need = { .kind = REPLAY_CAPTURE, .crawl = CRAWL,
	    .number = number };

	case_pages_answer(p, HTTP_DECODE_LIMITS_DEFAULT, &need);
	assert_int_equal(need.found, body != NULL);
	if (body != NULL) {
		assert_int_equal(need.status, status);
		assert_true(str_eq(need.body, str_of(body)));
		assert_true(field == NULL || str_eq(
		    need.fields[need.fields_n - 1].name, str_of(field)));
	}
	arena_free(&need.arena);
}

static void
answers_come_back(void **state)
{
	struct case_pages *p = open_case(CALL("1", "7", "3") ","
	    CALL("2", "7", "4") "," CALL("3", "7", "3"));

	(void)state;
	assert_answer(p, 3, 200, NULL, "the new one");
	assert_answer(p, 4, 404, NULL, "none");
	assert_answer(p, 1, 0, NULL, NULL);          /* not asked for */
	case_pages_free(&p);
}

/* Its own head, with the body of the record that it refers to. */
static void
a_revisit_has_a_body(void **state)
{
	struct case_pages *p = open_case(CALL("1", "7", "2"));

	(void)state;
	assert_answer(p, 2, 200, "X-Two", "the same");
	case_pages_free(&p);
}

static void
what_is_gone_is_named(void **state)
{
	struct buf pages = BUF_INIT;
	struct why w = WHY_INIT;

	(void)state;
	assert_int_equal(copy(CALL("1", "7", "9"), &pages, &w), ERR_ABSENT);
	assert_string_equal(w.text, "the archive has no answer 7:9 any more");
	w = WHY_INIT;
	assert_int_equal(copy(CALL("1", "8", "1"), &pages, &w), ERR_ABSENT);
	assert_string_equal(w.text, "the archive has no answer 8:1 any more");
	buf_free(&pages);
}

static void
no_pages_are_no_file(void **state)
{
	struct buf pages = BUF_INIT;
	struct case_pages *p;
	struct why w = WHY_INIT;

	(void)state;
	assert_int_equal(copy("", &pages, &w), OK);
	assert_int_equal(pages.n, 0);
	assert_int_equal(case_pages_open("/nowhere/pages.warc.gz", &p, &w),
	    OK);
	assert_answer(p, 1, 0, NULL, NULL);
	case_pages_free(&p);
}

static int
setup(void **state)
{
	static const struct warc_options options = { .level = 6,
	    .digest = DIGEST_SHA1, .random = clock_random };
	struct arena a = ARENA_INIT;

	(void)state;
	assert_non_null(mkdtemp(dir));
	writer = warc_writer_new(&options);
	put_archive();
	const char *place = arena_printf(&a, "%s/archive/crawl-7", dir).p;
	assert_int_equal(file_make_dir(place, NULL), OK);
	assert_int_equal(file_store(arena_printf(&a, "%s/a.warc.gz",
	    place).p, buf_str(&archive), NULL), OK);
	arena_free(&a);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	buf_free(&archive);
	warc_writer_free(&writer);
	return tree_remove(dir, NULL) != OK;
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_come_back),
		cmocka_unit_test(a_revisit_has_a_body),
		cmocka_unit_test(what_is_gone_is_named),
		cmocka_unit_test(no_pages_are_no_file),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
