#include "wire/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void
test_known(void **state)
{
	struct digest_hasher *h = digest_hasher_new();
	struct digest d;
	char text[DIGEST_TEXT_MAX];

	(void)state;
	digest_start(h, DIGEST_SHA1);
	digest_end(h, &d);
	digest_to_text(&d, text);
	assert_string_equal(text, "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
	digest_start(h, DIGEST_SHA256);
	digest_add(h, STR("a"));
	digest_add(h, STR("bc"));
	digest_end(h, &d);
	digest_to_text(&d, text);
	assert_string_equal(text, "sha256:ba7816bf8f01cfea414140de5dae2223"
	    "b00361a396177a9cb410ff61f20015ad");
	digest_hasher_free(&h);
	digest_of(DIGEST_SHA1, STR_NONE, &d);
	digest_to_text(&d, text);
	assert_string_equal(text, "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
	digest_of(DIGEST_SHA256, STR("abc"), &d);
	digest_to_text(&d, text);
	assert_string_equal(text, "sha256:ba7816bf8f01cfea414140de5dae2223"
	    "b00361a396177a9cb410ff61f20015ad");
}

static void
assert_pair(const struct digest_hasher *h, struct str head, struct str body)
{
	struct digest whole, alone, want;
	FREED(buf_free) struct buf all = BUF_INIT;

	assert_true(digest_pair(h, DIGEST_SHA1, head, body, &whole, &alone));
	buf_put_str(&all, head);
	buf_put_str(&all, body);
	digest_of(DIGEST_SHA1, buf_str(&all), &want);
	assert_memory_equal(&whole, &want, sizeof(want));
	digest_of(DIGEST_SHA1, body, &want);
	assert_memory_equal(&alone, &want, sizeof(want));
}

/* The pair against OpenSSL, for all lengths about a block. */
static void
test_pair(void **state)
{
	struct digest_hasher *h = digest_hasher_new();
	struct digest d;
	char text[9000];
	uint64_t seed = 42;

	(void)state;
	assert_false(digest_pair(h, DIGEST_SHA256, STR("a"), STR("b"), &d,
	    &d));
	if (!digest_pair(h, DIGEST_SHA1, STR("a"), STR("b"), &d, &d)) {
		digest_hasher_free(&h);
		skip();
	}
	for (size_t i = 0; i < sizeof(text); i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1;
		text[i] = (char)(seed >> 56);
	}
	for (size_t n = 0; n < 200; n++)
		for (size_t k = 0; k < 200; k++)
			assert_pair(h, (struct str){ text, n },
			    (struct str){ text + n, k });
	for (size_t n = 0; n < 400; n += 7)
		for (size_t k = 0; k < sizeof(text) - n; k += 331)
			assert_pair(h, (struct str){ text, n },
			    (struct str){ text + n, k });
	assert_pair(h, STR_NONE, STR_NONE);
	digest_hasher_free(&h);
}

static void
test_forms(void **state)
{
	static const struct str same[] = {
		STR("sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"),
		STR("SHA1:3i42h3s6nnfq2msvx7xzkyayscx5qbyj"),
		STR("sha-1: da39a3ee5e6b4b0d3255bfef95601890afd80709"),
		STR("sha1:2jmj7l5rSw0yVb/vlWAYkK/YBwk="),
		STR("sha1:2jmj7l5rSw0yVb_vlWAYkK_YBwk="),
	};
	static const struct str bad[] = {
		STR(""), STR("sha1:"), STR("sha1"), STR("crc32:00000000"),
		STR("sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBY"),
		STR("sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBY1"),
		STR("sha1:zz39a3ee5e6b4b0d3255bfef95601890afd80709"),
		STR("sha256:da39a3ee5e6b4b0d3255bfef95601890afd80709"),
	};
	struct digest first, d;

	(void)state;
	assert_true(digest_from_text(same[0], &first));
	for (size_t i = 0; i < ARRAY_LEN(same); i++) {
		assert_true(digest_from_text(same[i], &d));
		assert_true(digest_eq(&first, &d));
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(digest_from_text(bad[i], &d));
	assert_true(digest_from_text(
	    STR("md5:d41d8cd98f00b204e9800998ecf8427e"), &d));
	assert_false(digest_eq(&first, &d));
}

/* RFC 4231 §4.2 and §4.3 (SHA-256), RFC 2202 §3 (SHA-1). */
static void
test_hmac(void **state)
{
	static const struct {
		enum digest_kind kind;
		const char *key, *text, *hex;
	} rows[] = {
		{ DIGEST_SHA256, "\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b"
		    "\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b", "Hi There",
		    "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e"
		    "32cff7" },
		{ DIGEST_SHA256, "Jefe", "what do ya want for nothing?",
		    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964"
		    "ec3843" },
		{ DIGEST_SHA1, "Jefe", "what do ya want for nothing?",
		    "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79" },
	};
	struct buf hex = BUF_INIT;
	struct digest d;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		digest_hmac(rows[i].kind, str_of(rows[i].key),
		    str_of(rows[i].text), &d);
		size_t n = digest_size(rows[i].kind);
		buf_clear(&hex);
		digest_put_hex(&hex, d.bytes, n);
		assert_string_equal(buf_text(&hex), rows[i].hex);
		struct digest same = d;
		struct str bytes = { (const char *)same.bytes, n };
		assert_true(digest_is_mac(&d, bytes));
		assert_false(digest_is_mac(&d, str_cut(bytes, 0, n - 1)));
		assert_false(digest_is_mac(&d, STR_NONE));
		same.bytes[n - 1] ^= 1;
		assert_false(digest_is_mac(&d, bytes));
	}
	buf_free(&hex);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_pair),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_hmac),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
