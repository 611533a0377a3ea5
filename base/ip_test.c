#include "base/ip.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/rounds.h"

static uint64_t seed = 42;

static unsigned
rnd(unsigned n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(seed >> 33) % n;
}

/* By inet_pton() alone. */
static bool
parse_by_system(const char *text, struct ip *out)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	memcpy(out->b, mapped, sizeof(mapped));
	return inet_pton(AF_INET, text, out->b + sizeof(mapped)) == 1 ||
	    inet_pton(AF_INET6, text, out->b) == 1;
}

/* True when it is an address. */
static bool
compare_both(const char *text)
{
	struct ip found, want;
	bool is = parse_by_system(text, &want);

	if (ip_from_text(str_of(text), &found) != is)
		fail_msg("\"%s\" is%s an address", text, is ? "" : " not");
	if (is)
		assert_memory_equal(&found, &want, sizeof(want));
	return is;
}

static void
test_edges(void **state)
{
	static const char *const good[] = { "0.0.0.0", "255.255.255.255",
		"127.0.0.1", "1.2.3.4", "::", "::1", "::ffff:1.2.3.4",
		"2001:db8::1" };
	static const char *const bad[] = { "", ".", "1.2.3", "1.2.3.4.",
		".1.2.3.4", "1.2.3.4.5", "1..2.3", "256.1.1.1", "1.1.1.256",
		"01.2.3.4", "1.2.3.00", "1.2.3.0004", "1.2.3.4 ", " 1.2.3.4",
		"1.2.3.a", "0x1.2.3.4", "1", "[::1]", ":", "1:2", "a.b",
		"1.2.3.4:80" };
	struct ip ip;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_true(compare_both(good[i]));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(compare_both(bad[i]));
	assert_false(ip_from_text((struct str){ "1.2.3.4\0", 8 }, &ip));
	assert_false(ip_from_text((struct str){ "::1\0", 4 }, &ip));
	assert_false(ip_from_text(STR_NONE, &ip));
}

/* Every text of up to seven of these, and longer ones by lot. */
static void
test_by_system(void **state)
{
	static const char letters[] = "0129.:a";
	unsigned addresses = 0;
	char text[64];

	(void)state;
	for (unsigned i = 0; i < 1u << 20; i++) {
		size_t n = 0;
		for (unsigned left = i; left > 0; left /= 8)
			if (left % 8 != 0)
				text[n++] = letters[left % 8 - 1];
		text[n] = '\0';
		addresses += compare_both(text);
	}
	for (unsigned i = 0; i < ROUNDS(400000); i++) {
		size_t n = 0, parts = 3 + rnd(10) / 3;
		for (size_t k = 0; k < parts; k++)
			n += (size_t)snprintf(text + n, sizeof(text) - n,
			    "%s%u", k == 0 ? "" : rnd(50) == 0 ? ":" : ".",
			    rnd(rnd(4) == 0 ? 1100 : 256));
		addresses += compare_both(text);
	}
	print_message("%u addresses\n", addresses);
	assert_true(addresses > ROUNDS(10000));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_by_system),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
