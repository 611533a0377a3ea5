/* Launch tickets: the signature of RFC 4231, and a ticket's three parts. */
#include "cli/conformance/ticket.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void
expect_hmac(struct str key, struct str text, const char *want)
{
	FREED(buf_free) struct buf hex = BUF_INIT;
	struct digest d;

	ticket_hmac(key, text, &d);
	digest_put_hex(&hex, d.bytes, digest_size(DIGEST_SHA256));
	assert_string_equal(buf_text(&hex), want);
}

/* RFC 4231 §4.3 and §4.7: a short key, and one longer than a block. */
static void
signs_as_the_standard(void **state)
{
	char key[131];

	(void)state;
	expect_hmac(STR("Jefe"), STR("what do ya want for nothing?"),
	    "5bdcc146bf60754e6a042426089575c7"
	    "5a003f089d2739839dec58b964ec3843");
	memset(key, 0xaa, sizeof(key));
	expect_hmac((struct str){ key, sizeof(key) },
	    STR("Test Using Larger Than Block-Size Key - Hash Key First"),
	    "60e431591ee0b67f0d8a26aacbf5b77f"
	    "8e0bc6213728c5140546040f0ee37f54");
}

/* The parts of a JWT are base64url without padding. */
static void
has_three_parts(void **state)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct ticket t = { .issuer = STR("acme"), .audience = STR("demo"),
	    .uuid = STR("u>>>?"), .subdomain = STR("s"), .act = "login",
	    .exp_s = 1700000000, .jti = STR("1") };
	struct str text = ticket_make(&t, STR("key"), &a), part;
	size_t parts = 0;

	(void)state;
	assert_true(str_starts(text,
	    STR("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.")));
	assert_int_equal(str_find_char(text, '='), text.n);
	assert_int_equal(str_find_char(text, '+'), text.n);
	assert_int_equal(str_find_char(text, '/'), text.n);
	while (str_split(&text, '.', &part)) {
		assert_true(part.n > 0);
		parts++;
	}
	assert_int_equal(parts, 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signs_as_the_standard),
		cmocka_unit_test(has_three_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
