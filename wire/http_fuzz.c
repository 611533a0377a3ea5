/*
 * Fuzz: a head, its body decoded at once and in pieces; both must agree.  The
 * first byte is the size of the pieces.
 */
#include "wire/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static enum http_damage
decode_pieces(const struct http_head *h, struct str raw, size_t step,
    struct http_decode_limits l, struct buf *out)
{
	struct http_decoder *x = http_decoder_new(h, l);

	for (size_t at = 0; at < raw.n; at += step)
		http_decoder_feed(x, str_cut(raw, at, at + step), out);
	enum http_damage d = http_decoder_end(x, out);
	http_decoder_free(&x);
	return d;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct http_decode_limits l = { 1 << 20, 1u << 30 };
	struct str s = { (const char *)data, n };
	struct arena a = ARENA_INIT;
	struct http_head h;
	struct buf one = BUF_INIT, two = BUF_INIT;
	uint64_t length;

	if (n == 0)
		return 0;
	size_t step = (size_t)data[0] % 40 + 1;
	s = str_from(s, 1);
	if (http_parse_head(s, true, HTTP_LIMITS_DEFAULT, &a, &h, NULL) == OK)
		CHECK(h.method.n > 0);
	if (http_parse_head(s, false, HTTP_LIMITS_DEFAULT, &a, &h, NULL) ==
	    OK) {
		struct str raw = str_from(s, h.n);
		CHECK(h.n <= s.n);
		CHECK(!h.complete || http_head_end(s) == h.n);
		http_content_length(&h, &length);
		http_content_type(&h, &a);
		http_find_all(&h, STR("via"), &a);
		enum http_damage d1 = http_decode_body(&h, raw, l, &one);
		enum http_damage d2 = decode_pieces(&h, raw, step, l, &two);
		CHECK(one.n <= l.bytes_max);
		CHECK(d1 == d2);
		/* How much comes out before damage is the library's choice. */
		size_t same = MIN(one.n, two.n);
		if (d1 != HTTP_FINE)
			CHECK(same == 0 || memcmp(one.p, two.p, same) == 0);
		else
			CHECK(str_eq(buf_str(&one), buf_str(&two)));
	}
	buf_free(&one);
	buf_free(&two);
	arena_free(&a);
	return 0;
}
