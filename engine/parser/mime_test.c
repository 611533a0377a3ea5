#include "engine/parser/suite_test.h"

#include <yyjson.h>

#include "base/text.h"
#include "engine/parser/charset.h"
#include "engine/parser/mime.h"

/* The suites write bytes as the characters U+0000 to U+00FF. */
static struct str
to_bytes(struct str s, struct arena *a)
{
	char *p = arena_bytes(a, s.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c >= 0xc2 && c <= 0xc3 && i + 1 < s.n)
			c = (unsigned char)((c & 3) << 6 |
			    ((unsigned char)s.p[++i] & 0x3f));
		p[n++] = (char)c;
	}
	return (struct str){ p, n };
}

static struct str
text_of(yyjson_val *v, struct arena *a)
{
	return yyjson_is_str(v) ? to_bytes((struct str){ yyjson_get_str(v),
	    yyjson_get_len(v) }, a) : STR_NONE;
}

/* Serialize a MIME type: https://mimesniff.spec.whatwg.org/. */
static struct str
mime_text(const struct mime *m, struct arena *a)
{
	struct buf b = BUF_INIT;

	buf_put_str(&b, m->type);
	buf_put_char(&b, '/');
	buf_put_str(&b, m->subtype);
	for (size_t i = 0; i < m->params_n; i++) {
		struct str v = m->params[i].value;
		buf_put_char(&b, ';');
		buf_put_str(&b, m->params[i].name);
		buf_put_char(&b, '=');
		if (text_is_token(v)) {
			buf_put_str(&b, v);
			continue;
		}
		buf_put_char(&b, '"');
		for (size_t k = 0; k < v.n; k++) {
			if (v.p[k] == '"' || v.p[k] == '\\')
				buf_put_char(&b, '\\');
			buf_put_char(&b, v.p[k]);
		}
		buf_put_char(&b, '"');
	}
	struct str s = arena_copy(a, buf_str(&b));
	buf_free(&b);
	return s;
}

static bool
run_case(yyjson_val *c, struct arena *a)
{
	struct str in = text_of(yyjson_obj_get(c, "input"), a);
	struct str want = text_of(yyjson_obj_get(c, "output"), a);
	yyjson_val *encoding = yyjson_obj_get(c, "encoding");
	struct mime m;
	bool ok = mime_parse(in, a, &m);
	struct str got = ok ? mime_text(&m, a) : STR_NONE;
	bool good = ok == (want.p != NULL) && str_eq(got, want);

	if (good && encoding != NULL) {
		const char *name = !ok ? NULL :
		    charset_by_label(mime_param(&m, STR("charset")));
		const char *e = yyjson_get_str(encoding);
		good = e == NULL ? name == NULL :
		    name != NULL && str_eq_nocase(str_of(name), str_of(e));
	}
	if (!good)
		print_message("  \"%.*s\": got \"%.*s\", want \"%.*s\"\n",
		    STR_FMT(in), STR_FMT(got), STR_FMT(want));
	return good;
}

/* U+FFFD and the like are no bytes: no header can hold them. */
static bool
is_bytes(yyjson_val *v)
{
	const char *p = yyjson_get_str(v);

	for (size_t i = 0; i < yyjson_get_len(v); i++)
		if ((unsigned char)p[i] > 0xc3)
			return false;
	return true;
}

static void
run_suite(const char *file)
{
	struct arena a = ARENA_INIT;
	struct str text = suite_need(file, &a);
	size_t i, max, n = 0, good = 0, left_out = 0;
	yyjson_val *c;

	yyjson_doc *doc = yyjson_read(text.p, text.n, 0);
	assert_non_null(doc);
	yyjson_arr_foreach(yyjson_doc_get_root(doc), i, max, c) {
		if (!yyjson_is_obj(c))
			continue;
		if (!is_bytes(yyjson_obj_get(c, "input"))) {
			left_out++;
			continue;
		}
		n++;
		good += run_case(c, &a);
	}
	print_message("conformance: %s: %zu of %zu, %zu that are no bytes left "
	    "out\n", file, good, n, left_out);
	assert_true(left_out <= 2);
	yyjson_doc_free(doc);
	arena_free(&a);
	assert_true(n > 50);
	assert_int_equal(good, n);
}

static void
test_suite(void **state)
{
	(void)state;
	run_suite("mimesniff/mime-types.json");
}

static void
test_suite_generated(void **state)
{
	(void)state;
	run_suite("mimesniff/generated-mime-types.json");
}

static void
test_params_limit(void **state)
{
	struct arena a = ARENA_INIT;
	struct buf b = BUF_INIT;
	struct mime m;

	(void)state;
	buf_put_text(&b, "a/b");
	for (unsigned i = 0; i <= MIME_PARAMS_MAX; i++)
		buf_printf(&b, ";p%u=%u", i, i);
	assert_true(mime_parse(buf_str(&b), &a, &m));
	assert_int_equal(m.params_n, MIME_PARAMS_MAX);
	assert_str(mime_param(&m, STR("p31")), "31");
	assert_null(mime_param(&m, STR("p32")).p);
	buf_free(&b);
	arena_free(&a);
}

#define BODY(s) { s, sizeof(s) - 1 }

static const struct row {
	const char *type;     /* NULL: no header */
	bool nosniff;
	struct str body;
	enum mime_kind want;
} rows[] = {
	{ NULL, false, BODY(" <!DOCTYPE html>"), MIME_HTML },
	{ NULL, false, BODY("<HtMl >"), MIME_HTML },
	{ NULL, false, BODY("<htmlx>"), MIME_TEXT },
	{ NULL, false, BODY("<!-- x"), MIME_HTML },
	{ NULL, false, BODY("\xef\xbb\xbf<p>x"), MIME_HTML },
	{ NULL, false, BODY("<?xml version='1.0'?><x/>"), MIME_XML },
	{ NULL, false, BODY("<?xml?><!-- --><rss>"), MIME_FEED },
	{ NULL, false, BODY("<?xml?>\n<s:urlset xmlns:s=x>"), MIME_SITEMAP },
	{ NULL, false, BODY("<sitemapindex/>"), MIME_SITEMAP },
	{ NULL, false, BODY("%PDF-1.4"), MIME_PDF },
	{ NULL, false, BODY("\x89PNG\r\n\x1a\n."), MIME_PNG },
	{ NULL, false, BODY("GIF89a"), MIME_GIF },
	{ NULL, false, BODY("\xff\xd8\xff\xe0"), MIME_JPEG },
	{ NULL, false, BODY("RIFF....WEBPVP8 "), MIME_WEBP },
	{ NULL, false, BODY("\x1f\x8b\x08\x00"), MIME_GZIP },
	{ NULL, false, BODY("PK\x03\x04"), MIME_ZIP },
	{ NULL, false, BODY("plain"), MIME_TEXT },
	{ NULL, false, BODY(""), MIME_TEXT },
	{ NULL, false, BODY("\x00\x01"), MIME_NONE },
	{ "application/octet-stream", false, BODY("<html>"), MIME_HTML },
	{ "application/octet-stream", true, BODY("<html>"), MIME_NONE },
	{ "rubbish", true, BODY("<html>"), MIME_HTML },
	{ "text/plain", false, BODY("<html>"), MIME_TEXT },
	{ "text/plain", false, BODY("\x1f\x8b\x08"), MIME_GZIP },
	{ "text/plain", false, BODY("\x00\x01"), MIME_NONE },
	{ "text/plain", true, BODY("\x00\x01"), MIME_TEXT },
	{ "text/plain", false, BODY("<?xml?><urlset>"), MIME_SITEMAP },
	{ "text/html; charset=x", false, BODY("x"), MIME_HTML },
	{ "text/html", false, BODY("<?xml?><rss >"), MIME_FEED },
	{ "text/html", true, BODY("<?xml?><rss >"), MIME_HTML },
	{ "text/html", false, BODY("<?xml?><html>"), MIME_HTML },
	{ "application/xhtml+xml", false, BODY("<html>"), MIME_HTML },
	{ "text/xml", true, BODY("<feed>"), MIME_FEED },
	{ "application/xml", false, BODY("<html>"), MIME_HTML },
	{ "application/foo+xml", false, BODY("<x>"), MIME_XML },
	{ "application/rss+xml", false, BODY("?"), MIME_FEED },
	{ "text/css", false, BODY("<html>"), MIME_CSS },
	{ "TEXT/CSV", false, BODY(""), MIME_TEXT },
	{ "image/png", false, BODY("<html>"), MIME_PNG },
	{ "video/mp4", false, BODY("<html>"), MIME_NONE },
	{ "application/json", false, BODY("{}"), MIME_NONE },
};

static const char *
mime_kind_text(enum mime_kind k)
{
	static const char *const text[] = {
#define MIME_TEXT_OF(name, t) t,
		MIME_KINDS(MIME_TEXT_OF)
#undef MIME_TEXT_OF
	};

	return text[k];
}

static void
test_sniff(void **state)
{
	struct arena a = ARENA_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *r = &rows[i];
		struct mime m;
		bool typed = mime_parse(str_of(r->type), &a, &m);
		enum mime_kind k = mime_sniff(typed ? &m : NULL, r->nosniff,
		    r->body);
		if (k != r->want)
			fail_msg("row %zu: got %s, want %s", i,
			    mime_kind_text(k), mime_kind_text(r->want));
	}
	arena_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_suite),
		cmocka_unit_test(test_suite_generated),
		cmocka_unit_test(test_params_limit),
		cmocka_unit_test(test_sniff),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
