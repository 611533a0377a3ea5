/*
 * Heads and chunks: whatever comes, in pieces or at once, ends the same way,
 * and what is let through has the form that handlers rely on.
 */
#include "base/text.h"
#include "wire/http.h"
#include "wire/web/head.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static const struct head_limits limits = { 2000, 20 };

static void
check_head(struct str bytes)
{
	struct arena a = ARENA_INIT;
	struct head h;
	struct head_refusal r;
	struct str v;

	if (head_parse(bytes, &limits, &a, &h, &r)) {
		CHECK(h.path.n > 0 && h.path.p[0] == '/');
		CHECK(str_find(h.path, STR("/../")) == h.path.n);
		CHECK(text_is_token(h.method) && text_is_field_value(h.path));
		CHECK(h.fields_n <= limits.fields_max);
		CHECK(!h.chunked || h.length == 0);
		for (size_t i = 0; i < h.fields_n; i++)
			CHECK(text_is_token(h.fields[i].name) &&
			    text_is_field_value(h.fields[i].value));
		(void)head_param(h.query, &(size_t){ 0 }, STR("a"), &a, &v);
		(void)head_find(&h, STR("a"), &a, &v);
	} else {
		CHECK(r.status >= 400);
	}
	arena_free(&a);
}

static void
check_chunks(struct str bytes)
{
	struct http_chunks one = { .strict = true }, many = one;
	struct buf a = BUF_INIT, b = BUF_INIT;
	struct str rest = bytes;
	enum http_chunks_found other = HTTP_CHUNKS_MORE, found =
	    http_chunks_feed(&one, &rest, &a, 1000);

	CHECK(a.n <= 1000);
	for (size_t i = 0; i < bytes.n && other == HTTP_CHUNKS_MORE; i++) {
		struct str in = str_cut(bytes, i, i + 1);
		other = http_chunks_feed(&many, &in, &b, 1000);
	}
	CHECK(found == other && str_eq(buf_str(&a), buf_str(&b)));
	buf_free(&a);
	buf_free(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct str all = { (const char *)p, n };
	struct head_scan whole = { 0, 0, false }, parts = whole;
	struct head_refusal r, s = { 0, NULL, NULL };
	size_t end = head_scan(&whole, all, &limits, &r), found = 0;

	for (size_t i = 1; i <= n && found == 0 && s.status == 0; i++)
		found = head_scan(&parts, str_cut(all, 0, i), &limits, &s);
	CHECK(end == found && (r.status == 0) == (s.status == 0));
	if (end > 0)
		check_head(str_cut(all, 0, end));
	check_chunks(str_from(all, end));
	return 0;
}
