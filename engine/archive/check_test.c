#include "engine/archive/check.h"

#include "engine/archive/archive_sample_testing.h"

struct result {
	struct archive_check_counts n;
	struct buf text;
};

static void
keep(void *arg, const struct archive_finding *f)
{
	archive_finding_text(f, arg);
}

static void
check(struct sample_dir *d, struct result *r, size_t ids_max)
{
	struct archive_catalogue c = sample_list(d);
	struct why w = WHY_INIT;
	struct archive_check_options o = { .finding = keep, .arg = &r->text,
		.ids_max = ids_max };

	buf_clear(&r->text);
	assert_int_equal(archive_check(&c, &o, &r->n, &w), OK);
}

static void
assert_rules(struct result *r, size_t n, ...)
{
	va_list ap;
	uint64_t all = 0;

	va_start(ap, n);
	for (size_t i = 0; i < n; i++) {
		int rule = va_arg(ap, int);
		if (r->n.rules[rule] != 1)
			fail_msg("%s %llu times:\n%s", archive_rule_text(
			    (enum archive_rule)rule),
			    (unsigned long long)r->n.rules[rule],
			    buf_text(&r->text));
	}
	va_end(ap);
	for (int i = 0; i < ARCHIVE_RULE_COUNT; i++)
		all += r->n.rules[i];
	if (all != n)
		fail_msg("%llu findings, not %zu:\n%s",
		    (unsigned long long)all, n, buf_text(&r->text));
}

static void
test_sound(void **state)
{
	struct sample_dir d;
	struct result r = { .text = BUF_INIT };

	(void)state;
	sample_dir_make(&d);
	sample_crawl(&d);
	check(&d, &r, 0);
	assert_rules(&r, 0);
	assert_int_equal(r.n.files, 2);
	assert_int_equal(r.n.records, 14);
	assert_int_equal(r.n.captures, 4);
	assert_int_equal(r.n.types[WARC_RESPONSE], 6);
	/* Block digests of all, payload digests of responses. */
	assert_int_equal(r.n.digests, 14 + 6);
	assert_int_equal(archive_check_exit(&r.n, true), 0);
	buf_clear(&r.text);
	archive_check_json(&r.n, &r.text);
	assert_true(str_starts(buf_str(&r.text), STR("{\"files\":2,")));
	buf_free(&r.text);
	sample_dir_remove(&d);
}

/* One page of number `seq` more, in a file of its own. */
static void
add_file(struct sample_dir *d, const char *name, uint64_t seq)
{
	struct sample_file f;

	sample_file_begin(&f, name);
	sample_page(&f, "http://example.org/more", "x", seq, 0);
	sample_file_end(&f, d, name);
}

#define SAMPLE_NAME_3 "7-20261028103816123-00003-abcd0123.warc.gz"

static void
test_numbers(void **state)
{
	static const struct {
		uint64_t seq;
		enum archive_rule rule;
	} rows[] = {
		{ 4, ARCHIVE_RULE_REPEATED }, { 2, ARCHIVE_RULE_SEQUENCE },
		{ 9, ARCHIVE_RULE_GAP },
	};
	struct result r = { .text = BUF_INIT };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sample_dir d;
		sample_dir_make(&d);
		sample_crawl(&d);
		add_file(&d, SAMPLE_NAME_3, rows[i].seq);
		check(&d, &r, 0);
		assert_rules(&r, 1, (int)rows[i].rule);
		if (rows[i].rule == ARCHIVE_RULE_GAP) {
			assert_int_equal(r.n.missing, 4);
			assert_int_equal(archive_check_exit(&r.n, false), 0);
			assert_int_equal(archive_check_exit(&r.n, true), 65);
		} else {
			assert_int_equal(archive_check_exit(&r.n, false), 70);
		}
		sample_dir_remove(&d);
	}
	buf_free(&r.text);
}

static void
test_ids(void **state)
{
	struct sample_dir d;
	struct sample_file f;
	struct result r = { .text = BUF_INIT };

	(void)state;
	sample_dir_make(&d);
	for (int i = 0; i < 2; i++) {
		const char *name = i == 0 ? SAMPLE_NAME_1 : SAMPLE_NAME_2;
		sample_file_begin(&f, SAMPLE_NAME_1);
		sample_file_end(&f, &d, name);
		if (i == 1)
			/* Of a copy also its stated name is wrong. */
			check(&d, &r, 0);
	}
	/* The writers' ids come from one counter, so these differ. */
	assert_rules(&r, 1, ARCHIVE_RULE_FILENAME);
	struct buf bytes = BUF_INIT;
	assert_int_equal(file_load(sample_path(&d, SAMPLE_NAME_1), 1 << 20,
	    &bytes, NULL), OK);
	sample_write(&d, SAMPLE_NAME_2, buf_str(&bytes));
	check(&d, &r, 0);
	assert_rules(&r, 2, ARCHIVE_RULE_FILENAME, ARCHIVE_RULE_ID_REPEATED);
	/* With room for one id the other is forgotten, and that is said. */
	sample_write(&d, SAMPLE_NAME_3, buf_str(&bytes));
	check(&d, &r, 1);
	assert_true(r.n.ids_forgotten);
	buf_free(&bytes);
	buf_free(&r.text);
	sample_dir_remove(&d);
}

/* Records as text, by whom the file is not ours. */
static void
check_text(struct str bytes, struct result *r)
{
	struct sample_dir d;

	sample_dir_make(&d);
	sample_write(&d, "a.warc", bytes);
	check(&d, r, 0);
	sample_dir_remove(&d);
}

#define INFO "WARC/1.0\r\nWARC-Type: warcinfo\r\n"                             \
	"WARC-Record-ID: <urn:uuid:1>\r\nWARC-Date: 2020-01-02T03:04:05Z\r\n" \
	"Content-Length: 0\r\n\r\n\r\n\r\n"
#define HEAD(type, id) "WARC/1.0\r\nWARC-Type: " type "\r\n"                   \
	"WARC-Record-ID: <urn:uuid:" id ">\r\n"                                \
	"WARC-Date: 2020-01-02T03:04:05Z\r\nWARC-Target-URI: http://a/\r\n"
#define RESOURCE(id, fields) HEAD("resource", id) fields                       \
	"Content-Length: 5\r\n\r\nhello\r\n\r\n"
/* sha1 of "hello" */
#define HELLO "sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N"

static void
test_foreign(void **state)
{
	struct result r = { .text = BUF_INIT };

	(void)state;
	check_text(STR(INFO RESOURCE("2", "WARC-Block-Digest: " HELLO "\r\n"
	    "WARC-Payload-Digest: SHA1:aaf4c61ddcc5e8a2dabede0f3b482cd9"
	    "aea9434d\r\n")), &r);
	assert_rules(&r, 0);
	assert_int_equal(r.n.digests, 2);
	check_text(STR(INFO RESOURCE("2", "WARC-Block-Digest: "
	    "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\r\n")), &r);
	assert_rules(&r, 1, ARCHIVE_RULE_BLOCK_DIGEST);
	check_text(STR(INFO RESOURCE("2", "WARC-Payload-Digest: "
	    "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\r\n")), &r);
	assert_rules(&r, 1, ARCHIVE_RULE_PAYLOAD_DIGEST);
	check_text(STR(INFO RESOURCE("2", "WARC-Block-Digest: x:y\r\n")), &r);
	assert_rules(&r, 1, ARCHIVE_RULE_DIGEST_FORM);
	check_text(STR(INFO RESOURCE("2", "") RESOURCE("2", "")), &r);
	assert_rules(&r, 1, ARCHIVE_RULE_ID_REPEATED);
	check_text(STR(INFO RESOURCE("2", "WARC-Concurrent-To: <urn:uuid:3>"
	    "\r\n") RESOURCE("3", "")), &r);
	assert_rules(&r, 0);
	check_text(STR(INFO RESOURCE("2", "WARC-Concurrent-To: <urn:uuid:4>"
	    "\r\n") RESOURCE("3", "")), &r);
	assert_rules(&r, 1, ARCHIVE_RULE_CONCURRENT);
	check_text(STR(INFO RESOURCE("2", "WARC-Warcinfo-ID: <urn:uuid:1>"
	    "\r\n") RESOURCE("3", "WARC-Warcinfo-ID: <urn:uuid:2>\r\n")), &r);
	assert_rules(&r, 1, ARCHIVE_RULE_WARCINFO);
	check_text(STR(INFO RESOURCE("2", "WARC-Truncated: tired\r\n")), &r);
	assert_rules(&r, 1, ARCHIVE_RULE_TRUNCATED);
	check_text(STR(RESOURCE("2", "")), &r);
	assert_rules(&r, 1, ARCHIVE_RULE_WARCINFO_FIRST);
	check_text(STR(INFO HEAD("revisit", "2") "Content-Length: 0\r\n\r\n"
	    "\r\n\r\n"), &r);
	assert_rules(&r, 1, ARCHIVE_RULE_REVISIT);
	check_text(STR(INFO HEAD("strange", "2") "Content-Length: 0\r\n\r\n"
	    "\r\n\r\n"), &r);
	assert_rules(&r, 1, ARCHIVE_RULE_TYPE);
	check_text(STR(INFO HEAD("response", "2") "Content-Type: "
	    "application/http\r\nContent-Length: 5\r\n\r\nhello\r\n\r\n"),
	    &r);
	assert_rules(&r, 1, ARCHIVE_RULE_HTTP);
	check_text(STR(INFO "rubbish\r\n" RESOURCE("2", "")), &r);
	assert_rules(&r, 1, ARCHIVE_RULE_DAMAGE);
	check_text(STR(""), &r);
	assert_rules(&r, 1, ARCHIVE_RULE_EMPTY);
	buf_free(&r.text);
}

/* Cases like those of JWAT's own tests. */
static void
test_jwat_cases(void **state)
{
	static const char *const single[] = {
		"WARC-Date: 2020-01-02T03:04:05Z", "warc-type: resource",
		"Content-Length: 5", "WARC-Record-ID: <urn:uuid:2>",
		"WARC-Target-URI: http://a/" };
	struct result r = { .text = BUF_INIT };
	struct buf b = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(single); i++) {
		buf_clear(&b);
		buf_printf(&b, INFO HEAD("resource", "2") "%s\r\n%s"
		    "\r\n\r\nhello\r\n\r\n", single[i], i == 2 ? single[2] :
		    "Content-Length: 5");
		check_text(buf_str(&b), &r);
		assert_rules(&r, 1, ARCHIVE_RULE_FIELD_REPEATED);
		assert_int_equal(r.n.errors, 1);
	}
	/* Three of a kind are one finding; two kinds are two. */
	check_text(STR(INFO RESOURCE("2", "WARC-Filename: a\r\n"
	    "WARC-Filename: a\r\nwarc-filename: b\r\n")), &r);
	assert_rules(&r, 1, ARCHIVE_RULE_FIELD_REPEATED);
	check_text(STR(INFO RESOURCE("2", "WARC-Filename: a\r\n"
	    "WARC-Filename: a\r\nWARC-Truncated: length\r\n"
	    "WARC-Truncated: length\r\n")), &r);
	assert_int_equal(r.n.rules[ARCHIVE_RULE_FIELD_REPEATED], 2);
	/* Fields that may be repeated. */
	check_text(STR(INFO RESOURCE("2", "WARC-Concurrent-To: <urn:uuid:1>"
	    "\r\nWARC-Concurrent-To: <urn:uuid:3>\r\nX-Own: 1\r\n"
	    "X-Own: 2\r\n") RESOURCE("3", "")), &r);
	assert_rules(&r, 0);
	/* The digest is of the whole payload, of which these are parts. */
	check_text(STR(INFO RESOURCE("2", "WARC-Segment-Number: 1\r\n"
	    "WARC-Payload-Digest: sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\r\n")
	    HEAD("continuation", "3") "WARC-Segment-Number: 2\r\n"
	    "WARC-Segment-Origin-ID: <urn:uuid:2>\r\n"
	    "WARC-Payload-Digest: sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\r\n"
	    "WARC-Block-Digest: " HELLO "\r\n"
	    "Content-Length: 5\r\n\r\nhello\r\n\r\n"), &r);
	assert_rules(&r, 0);
	assert_int_equal(r.n.digests, 1);
	/* Its block digest is its own all the same. */
	check_text(STR(INFO HEAD("continuation", "3") "WARC-Block-Digest: "
	    "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\r\n"
	    "Content-Length: 5\r\n\r\nhello\r\n\r\n"), &r);
	assert_rules(&r, 1, ARCHIVE_RULE_BLOCK_DIGEST);
	/* Version, date, names and type in lower case. */
	check_text(STR("warc/1.0\r\nwarc-type: warcinfo\r\n"
	    "warc-record-id: <urn:uuid:1>\r\nwarc-date: "
	    "2020-01-02t03:04:05z\r\ncontent-length: 0\r\n\r\n\r\n\r\n"
	    "warc/1.0\r\nwarc-type: resource\r\n"
	    "warc-record-id: <urn:uuid:2>\r\nwarc-date: "
	    "2020-01-02t03:04:05.25z\r\nwarc-target-uri: http://a/\r\n"
	    "content-length: 5\r\n\r\nhello\r\n\r\n"), &r);
	assert_rules(&r, 0);
	assert_int_equal(r.n.records, 2);
	buf_free(&b);
	buf_free(&r.text);
}

/* A file that follows another may name that one's warcinfo. */
static void
test_warcinfo_before(void **state)
{
	struct sample_dir d;
	struct result r = { .text = BUF_INIT };

	(void)state;
	sample_dir_make(&d);
	sample_write(&d, "a.warc", STR(INFO RESOURCE("2", "")));
	sample_write(&d, "b.warc", STR(HEAD("warcinfo", "3")
	    "Content-Length: 0\r\n\r\n\r\n\r\n"
	    RESOURCE("4", "WARC-Warcinfo-ID: <urn:uuid:1>\r\n")
	    RESOURCE("5", "WARC-Warcinfo-ID: <urn:uuid:3>\r\n")));
	check(&d, &r, 0);
	assert_rules(&r, 0);
	buf_free(&r.text);
	sample_dir_remove(&d);
}

#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"        \
	"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"

/* A digest of the unchunked body is a known habit, one of a request too. */
static void
test_other_payloads(void **state)
{
	struct result r = { .text = BUF_INIT };

	(void)state;
	check_text(STR(INFO HEAD("response", "2") "Content-Type: "
	    "application/http\r\nWARC-Payload-Digest: " HELLO "\r\n"
	    "Content-Length: 67\r\n\r\n" CHUNKED "\r\n\r\n"), &r);
	assert_rules(&r, 1, ARCHIVE_RULE_ENTITY_DIGEST);
	assert_int_equal(r.n.errors, 0);
	check_text(STR(INFO HEAD("request", "2") "Content-Type: "
	    "application/http\r\nWARC-Payload-Digest: "
	    "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\r\n"
	    "Content-Length: 18\r\n\r\nGET / HTTP/1.1\r\n\r\n\r\n\r\n"), &r);
	assert_rules(&r, 1, ARCHIVE_RULE_REQUEST_PAYLOAD);
	assert_int_equal(r.n.errors, 0);
	check_text(STR(INFO HEAD("request", "2") "Content-Type: "
	    "application/http\r\nWARC-Payload-Digest: " HELLO "\r\n"
	    "Content-Length: 18\r\n\r\nGET / HTTP/1.1\r\n\r\n\r\n\r\n"), &r);
	assert_rules(&r, 1, ARCHIVE_RULE_PAYLOAD_DIGEST);
	buf_free(&r.text);
}

/* What warcio finds in its own files is found here as well. */
static void
test_suite(void **state)
{
	static const struct {
		const char *name;
		uint64_t errors;
		enum archive_rule rule;
	} rows[] = {
		{ "example.warc", 0, 0 }, { "example.warc.gz", 0, 0 },
		/* The four ids of this file are one. */
		{ "example-digest.warc", 4, ARCHIVE_RULE_PAYLOAD_DIGEST },
		{ "example-trunc.warc", 2, ARCHIVE_RULE_BLOCK_DIGEST },
		{ "example-iana.org-chunked.warc", 0, 0 },
		{ "example-resource.warc.gz", 0, 0 },
		{ "example-wget-bad-target-uri.warc.gz", 0, 0 },
		{ "post-test.warc.gz", 0, 0 },
	};
	struct buf bytes = BUF_INIT;
	struct result r = { .text = BUF_INIT };
	uint64_t records = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char path[128];
		snprintf(path, sizeof(path), "warc/test/data/%s",
		    rows[i].name);
		sample_suite(path, &bytes);
		struct sample_dir d;
		sample_dir_make(&d);
		sample_write(&d, str_ends(str_of(rows[i].name), STR(".gz")) ?
		    "a.warc.gz" : "a.warc", buf_str(&bytes));
		check(&d, &r, 0);
		if (r.n.errors != rows[i].errors)
			fail_msg("%s: %llu errors\n%s", rows[i].name,
			    (unsigned long long)r.n.errors,
			    buf_text(&r.text));
		if (rows[i].errors > 0)
			assert_int_equal(r.n.rules[rows[i].rule], 1);
		records += r.n.records;
		sample_dir_remove(&d);
	}
	print_message("conformance: WARC files: %zu, %llu records checked\n",
	    ARRAY_LEN(rows), (unsigned long long)records);
	buf_free(&bytes);
	buf_free(&r.text);
}

/* Every flip in a file of ours is found, but for fields nobody can know. */
static void
test_flips(void **state)
{
	struct sample_dir d;
	struct sample_file f;
	struct result r = { .text = BUF_INIT };
	size_t silent = 0, all;

	(void)state;
	sample_dir_make(&d);
	sample_file_begin(&f, SAMPLE_NAME_1);
	sample_page(&f, "http://example.org/", "x", 1, 0);
	all = 8 * f.bytes.n;
	for (size_t bit = 0; bit < all; bit += 7) {
		f.bytes.p[bit / 8] ^= (char)(1 << bit % 8);
		sample_write(&d, SAMPLE_NAME_1, buf_str(&f.bytes));
		check(&d, &r, 0);
		silent += r.n.errors + r.n.warnings == 0;
		f.bytes.p[bit / 8] ^= (char)(1 << bit % 8);
	}
	/* FTEXT, time, XFL, OS and numbers of three heads: 177 bits each. */
	print_message("%zu of %zu flips cannot be known\n", silent, all / 7);
	assert_true(silent <= 3 * 177 / 7 + 3);
	buf_free(&r.text);
	sample_file_end(&f, &d, SAMPLE_NAME_1);
	sample_dir_remove(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sound),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_jwat_cases),
		cmocka_unit_test(test_warcinfo_before),
		cmocka_unit_test(test_other_payloads),
		cmocka_unit_test(test_suite),
		cmocka_unit_test(test_flips),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
