#include "wire/warc_read.h"
#include "wire/warc_sample_test.h"

static const struct str page = STR("<html><title>x</title>page</html>");

/* Unpack the record that `m` describes, all of it. */
static struct str
unpack_member(struct buf *out, const struct warc_member *m, struct buf *text)
{
	struct str bytes = str_cut(buf_str(out), m->at, m->at + m->clen);
	struct unpack *u = unpack_new(sample_source(&bytes),
	    UNPACK_LIMITS_DEFAULT);
	struct str s;

	buf_clear(text);
	assert_int_equal(unpack_begin(u), UNPACK_GZIP);
	enum unpack_found f;
	while ((f = unpack_peek(u, &s)) == UNPACK_BYTES) {
		buf_put_str(text, s);
		unpack_take(u, s.n);
	}
	assert_int_equal(f, UNPACK_MEMBER_END);
	assert_int_equal(unpack_at(u), m->clen);
	assert_int_equal(text->n, m->ulen);
	unpack_free(&u);
	return buf_str(text);
}

static bool
has(struct str text, struct str part)
{
	return str_find(text, part) < text.n;
}

static void
test_exchange(void **state)
{
	struct warc_writer *w = sample_writer(1, NULL);
	struct warc_capture capture = sample_capture(1);
	struct warc_exchange x = sample_exchange(&page, &capture);
	struct warc_member m[2];
	struct buf out = BUF_INIT, text = BUF_INIT;
	char id[80];

	(void)state;
	assert_int_equal(warc_put_exchange(w, &x, &out, m, NULL), OK);
	assert_int_equal(m[0].type, WARC_RESPONSE);
	assert_int_equal(m[1].type, WARC_REQUEST);
	assert_int_equal(m[1].at, m[0].clen);
	assert_int_equal(out.n, m[0].clen + m[1].clen);
	struct str r = unpack_member(&out, &m[0], &text);
	assert_true(str_starts(r, STR("WARC/1.1\r\nWARC-Type: response\r\n"
	    "WARC-Record-ID: <urn:uuid:")));
	assert_true(has(r, STR("\r\nWARC-Date: 2026-10-28T08:38:16.123456Z"
	    "\r\nWARC-Target-URI: http://example.org/a?b=c\r\n"
	    "WARC-IP-Address: 192.0.2.1\r\nWARC-Warcinfo-ID: "
	    "<urn:uuid:01234567-89ab-4def-8123-456789abcdef>\r\n"
	    "Argiope-Capture: 7 1 2 1793176696123456 4321 "
	    "http://example.org/a?b=c\r\nWARC-Payload-Digest: sha1:")));
	struct str block = str_from(r, m[0].head_n);
	assert_true(str_starts(block, x.response_head));
	assert_true(str_eq(str_from(r, m[0].body_at),
	    STR("<html><title>x</title>page</html>\r\n\r\n")));
	r = unpack_member(&out, &m[1], &text);
	snprintf(id, sizeof(id), "WARC-Concurrent-To: <urn:uuid:%s>\r\n",
	    m[0].id);
	assert_true(has(r, str_of(id)));
	assert_false(has(r, STR("WARC-Payload-Digest")));
	assert_false(has(r, STR("Argiope-Redacted")));
	assert_true(str_starts(str_from(r, m[1].head_n), x.request));
	warc_writer_free(&w);
	buf_free(&out);
	buf_free(&text);
}

/* The digests are those of the bytes as stored, with either algorithm. */
static void
test_digests(void **state)
{
	static const enum digest_kind kinds[] = { DIGEST_SHA1, DIGEST_SHA256 };
	struct digest_hasher *h = digest_hasher_new();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct warc_options o = { 1, kinds[i], NULL, sample_random };
		struct warc_writer *w = warc_writer_new(&o);
		struct str body[2] = { STR("5\r\nhello\r\n"),
			STR("0\r\n\r\n") };
		struct warc_exchange x = sample_exchange(body, NULL);
		struct warc_member m[2];
		struct buf out = BUF_INIT;
		struct digest d;
		x.body_n = 2;
		assert_int_equal(warc_put_exchange(w, &x, &out, m, NULL), OK);
		digest_start(h, kinds[i]);
		digest_add(h, STR("5\r\nhello\r\n0\r\n\r\n"));
		digest_end(h, &d);
		assert_true(digest_eq(&d, &m[0].payload));
		digest_start(h, kinds[i]);
		digest_add(h, x.response_head);
		digest_add(h, STR("5\r\nhello\r\n0\r\n\r\n"));
		digest_end(h, &d);
		assert_true(digest_eq(&d, &m[0].block));
		assert_int_equal(m[1].payload.kind, DIGEST_NONE);
		buf_free(&out);
		warc_writer_free(&w);
	}
	digest_hasher_free(&h);
}

/* Digests made before the record are those that the record would have. */
static void
test_response_digests(void **state)
{
	static const enum digest_kind kinds[] = { DIGEST_SHA1, DIGEST_SHA256 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct warc_options o = { 1, kinds[i], NULL, sample_random };
		struct warc_writer *w = warc_writer_new(&o);
		struct warc_exchange x = sample_exchange(&page, NULL);
		struct warc_member m[2], n[2];
		struct buf out = BUF_INIT;
		struct digest block, payload;
		warc_digest_response(w, x.response_head, page, &block,
		    &payload);
		assert_true(kinds[i] == DIGEST_SHA1 ||
		    block.kind == DIGEST_NONE);
		assert_int_equal(warc_put_exchange(w, &x, &out, m, NULL), OK);
		assert_true(digest_eq(&payload, &m[0].payload));
		x.block = &block;
		x.payload = &payload;
		assert_int_equal(warc_put_exchange(w, &x, &out, n, NULL), OK);
		assert_true(digest_eq(&n[0].block, &m[0].block));
		assert_true(digest_eq(&n[0].payload, &m[0].payload));
		buf_free(&out);
		warc_writer_free(&w);
	}
}

/* A block's digest is not taken where the block is another one. */
static void
test_other_block(void **state)
{
	struct str value = STR("hunter2-hunter2");
	struct redact_rules rules = { .values = &value, .values_n = 1 };
	struct redactor *r = redact_new(&rules);
	struct warc_writer *w = sample_writer(1, r);
	struct warc_exchange x = sample_exchange(&page, NULL);
	struct warc_revisit rv = { .profile = STR(WARC_PROFILE_SAME) };
	struct warc_member m[2];
	struct buf out = BUF_INIT;
	struct digest block;

	(void)state;
	digest_of(DIGEST_SHA1, STR("as received"), &block);
	x.block = &block;
	assert_int_equal(warc_put_exchange(w, &x, &out, m, NULL), OK);
	assert_true(digest_eq(&m[0].block, &block));
	x.revisit = &rv;
	assert_int_equal(warc_put_exchange(w, &x, &out, m, NULL), OK);
	assert_false(digest_eq(&m[0].block, &block));
	x.revisit = NULL;
	x.response_head = STR("HTTP/1.1 302 Found\r\n"
	    "Location: /?hunter2-hunter2\r\n\r\n");
	assert_int_equal(warc_put_exchange(w, &x, &out, m, NULL), OK);
	assert_true(m[0].head_redacted);
	assert_false(digest_eq(&m[0].block, &block));
	warc_writer_free(&w);
	redact_free(&r);
	buf_free(&out);
}

static void
test_revisit(void **state)
{
	struct warc_writer *w = sample_writer(1, NULL);
	struct digest original;
	struct buf out = BUF_INIT, text = BUF_INIT;
	struct warc_exchange x = sample_exchange(&page, NULL);
	struct warc_member m[2];

	(void)state;
	assert_true(digest_from_text(
	    STR("sha1:G7HRM7BGOKSKMSXZAHMUQTTV53QOFSMK"), &original));
	struct warc_revisit rv = { STR(WARC_PROFILE_SAME), SAMPLE_INFO,
		STR("http://example.org/old"), SAMPLE_DATE, &original };
	x.revisit = &rv;
	assert_int_equal(warc_put_exchange(w, &x, &out, m, NULL), OK);
	assert_int_equal(m[0].type, WARC_REVISIT);
	struct str r = unpack_member(&out, &m[0], &text);
	assert_true(has(r, STR("WARC-Profile: " WARC_PROFILE_SAME "\r\n"
	    "WARC-Refers-To: <urn:uuid:01234567-89ab-4def-8123-456789abcdef>"
	    "\r\nWARC-Refers-To-Target-URI: http://example.org/old\r\n"
	    "WARC-Refers-To-Date: 2026-10-28T08:38:16.123456Z\r\n")));
	assert_true(has(r, STR("WARC-Payload-Digest: "
	    "sha1:G7HRM7BGOKSKMSXZAHMUQTTV53QOFSMK\r\n")));
	assert_false(has(r, STR("<html>")));
	assert_true(str_ends(r, STR("utf-8\r\n\r\n\r\n\r\n")));
	warc_writer_free(&w);
	buf_free(&out);
	buf_free(&text);
}

static const struct str secret = STR("hunter2-hunter2");

static void
test_redaction(void **state)
{
	struct redact_rules rules = { .values = &secret, .values_n = 1 };
	struct redactor *r = redact_new(&rules);
	struct warc_writer *w = sample_writer(1, r);
	struct str body = STR("it is hunter2-hunter2");
	struct warc_capture c = sample_capture(0);
	struct warc_exchange x = sample_exchange(&body, &c);
	struct warc_member m[2];
	struct buf out = BUF_INIT, text = BUF_INIT;

	(void)state;
	c.requested_url = x.target_uri =
	    STR("http://example.org/?k=hunter2-hunter2&x=1");
	x.request = STR("GET /?k=hunter2%2dhunter2&x=1 HTTP/1.1\r\n"
	    "Host: example.org\r\nCookie: a=b\r\n\r\n");
	x.response_head = STR("HTTP/1.1 302 Found\r\n"
	    "Location: /?hunter2-hunter2\r\n\r\n");
	assert_int_equal(warc_put_exchange(w, &x, &out, m, NULL), OK);
	assert_true(m[0].redacted && m[1].redacted);
	assert_true(m[0].secret_in_response);
	struct str s = unpack_member(&out, &m[0], &text);
	/* Response bodies are never altered; nothing else shows it. */
	size_t at = str_find(s, secret);
	assert_int_equal(at, m[0].body_at + 6);
	assert_true(has(s, STR("WARC-Target-URI: "
	    "http://example.org/?k=REDACTED&x=1\r\n")));
	assert_true(has(s, STR("4321 http://example.org/?k=REDACTED&x=1")));
	assert_true(has(s, STR("Location: /?REDACTED\r\n")));
	assert_true(has(s, STR("Argiope-Redacted: credential, cookie\r\n")));
	s = unpack_member(&out, &m[1], &text);
	assert_false(has(s, STR("hunter2")));
	assert_true(has(s, STR("Cookie: REDACTED\r\n")));
	warc_writer_free(&w);
	redact_free(&r);
	buf_free(&out);
	buf_free(&text);
}

static void
test_info(void **state)
{
	struct warc_writer *w = sample_writer(1, NULL);
	struct str seeds[2] = { STR("http://a/"), STR("http://b/x y") };
	struct warc_info i = { .filename = STR("a.warc.gz"),
		.date = SAMPLE_DATE, .software = STR("argiope 0.1.0"),
		.crawl = 7, .crawl_kind = STR("crawl"),
		.crawl_name = STR("two\r\nlines: x"),
		.seeds = seeds, .seeds_n = 2, .policy = STR("{\"a\":1}") };
	struct warc_member m;
	struct buf out = BUF_INIT, text = BUF_INIT;

	(void)state;
	assert_int_equal(warc_put_info(w, &i, &out, &m, NULL), OK);
	struct str s = unpack_member(&out, &m, &text);
	assert_true(has(s, STR("\r\nWARC-Filename: a.warc.gz\r\n")));
	assert_true(has(s, STR("\r\nsoftware: argiope 0.1.0\r\n"
	    "format: WARC File Format 1.1\r\nconformsTo: ")));
	assert_true(has(s, STR("\r\nargiope-crawl-id: 7\r\n"
	    "argiope-crawl-name: two  lines: x\r\n"
	    "argiope-crawl-kind: crawl\r\nargiope-seed: http://a/\r\n"
	    "argiope-seed: http://b/x%20y\r\nargiope-policy: {\"a\":1}\r\n"
	    "argiope-redaction: rules 1; ")));
	assert_false(has(s, STR("WARC-Warcinfo-ID")));
	assert_false(has(s, STR("WARC-Payload-Digest")));
	warc_writer_free(&w);
	buf_free(&out);
	buf_free(&text);
}

static void
test_document(void **state)
{
	struct warc_writer *w = sample_writer(1, NULL);
	struct str block[2] = { STR("{\"a\":1}\n"), STR("{\"b\":2}\n") };
	struct warc_document d = { .type = WARC_RESOURCE,
		.target_uri = STR("https://a/\r\nX: y"), .date = SAMPLE_DATE,
		.content_type = STR("application/x-ndjson"),
		.concurrent_to = SAMPLE_INFO, .block = block, .block_n = 2 };
	struct warc_member m;
	struct buf out = BUF_INIT, text = BUF_INIT;

	(void)state;
	assert_int_equal(warc_put_document(w, &d, &out, &m, NULL), OK);
	struct str s = unpack_member(&out, &m, &text);
	/* A line end in a URI cannot make a field of its own. */
	assert_true(has(s, STR("WARC-Target-URI: https://a/%0D%0AX:%20y\r\n"
	    "WARC-Concurrent-To: <urn:uuid:01234567")));
	assert_true(has(s, STR("WARC-Payload-Digest: sha1:")));
	assert_true(str_ends(s, STR("{\"a\":1}\n{\"b\":2}\n\r\n\r\n")));
	warc_writer_free(&w);
	buf_free(&out);
	buf_free(&text);
}

static void
test_capture_field(void **state)
{
	struct warc_capture c = sample_capture(3), back;
	struct buf b = BUF_INIT;
	static const struct str bad[] = { STR(""), STR("1 2 3 4 5"),
		STR("1 2 3 4 5 "), STR("a 2 3 4 5 http://x/"),
		STR("4294967296 2 3 4 5 http://x/"),
		STR("1 2 3 4 5 http://x/ y") };

	(void)state;
	warc_capture_put(&c, &b);
	assert_true(warc_capture_parse(buf_str(&b), &back));
	assert_int_equal(back.crawl, 7);
	assert_int_equal(back.hop, 3);
	assert_int_equal(back.depth, 2);
	assert_true(back.start.us == c.start.us);
	assert_true(back.duration_us == 4321);
	assert_true(str_eq(back.requested_url, c.requested_url));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(warc_capture_parse(bad[i], &back));
	buf_free(&b);
}

static void
test_ids_differ(void **state)
{
	struct warc_writer *w = sample_writer(1, NULL);
	char first[WARC_ID_MAX], next[WARC_ID_MAX];

	(void)state;
	warc_new_id(w, first);
	assert_int_equal(strlen(first), WARC_ID_TEXT);
	for (int i = 0; i < 1000; i++) {
		warc_new_id(w, next);
		assert_string_not_equal(first, next);
		assert_int_equal(next[14], '4');
		assert_non_null(strchr("89ab", next[19]));
		assert_int_equal(next[8], '-');
	}
	warc_writer_free(&w);
}

/* Too big a body leaves the output as it was. */
static void
test_limit(void **state)
{
	struct warc_writer *w = sample_writer(1, NULL);
	struct str many[3000];
	struct warc_exchange x = sample_exchange(many, NULL);
	struct digest known;
	struct warc_member m[2];
	struct buf out = BUF_INIT;
	static char piece[1 << 20];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(many); i++)
		many[i] = (struct str){ piece, sizeof(piece) };
	x.body_n = 2048;
	memset(&known, 0, sizeof(known));
	known.kind = DIGEST_SHA1;
	x.payload = &known;
	buf_put_text(&out, "kept");
	assert_int_equal(warc_put_exchange(w, &x, &out, m, NULL), ERR_FULL);
	assert_string_equal(buf_text(&out), "kept");
	warc_writer_free(&w);
	buf_free(&out);
}

/* A big body in pieces; a credential lies over an edge. */
static void
test_big(void **state)
{
	struct redact_rules rules = { .values = &secret, .values_n = 1 };
	struct redactor *r = redact_new(&rules);
	struct warc_writer *w = sample_writer(1, r);
	static char piece[1 << 20];
	struct str body[34];
	struct warc_exchange x = sample_exchange(body, NULL);
	struct warc_member m[2];
	struct buf out = BUF_INIT, text = BUF_INIT;

	(void)state;
	memset(piece, 'x', sizeof(piece));
	for (size_t i = 0; i < ARRAY_LEN(body); i++)
		body[i] = (struct str){ piece, sizeof(piece) };
	body[16] = str_cut(secret, 0, 5);
	body[17] = str_from(secret, 5);
	x.body_n = ARRAY_LEN(body);
	assert_int_equal(warc_put_exchange(w, &x, &out, m, NULL), OK);
	assert_true(m[0].secret_in_response);
	struct str s = unpack_member(&out, &m[0], &text);
	assert_int_equal(s.n, m[0].body_at + 32 * sizeof(piece) + secret.n +
	    4);
	assert_true(str_eq(m[0].uri, x.target_uri));
	warc_writer_free(&w);
	redact_free(&r);
	buf_free(&out);
	buf_free(&text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exchange),
		cmocka_unit_test(test_digests),
		cmocka_unit_test(test_response_digests),
		cmocka_unit_test(test_other_block),
		cmocka_unit_test(test_revisit),
		cmocka_unit_test(test_redaction),
		cmocka_unit_test(test_info),
		cmocka_unit_test(test_document),
		cmocka_unit_test(test_capture_field),
		cmocka_unit_test(test_ids_differ),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_big),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
