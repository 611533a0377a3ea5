#include "engine/parser/suite_test.h"

#include "engine/parser/simhash.h"
#include "tests/rounds.h"

static uint64_t
hash_of(const char *text)
{
	struct simhash s = SIMHASH_INIT;

	simhash_add(&s, str_of(text));
	return simhash_value(&s);
}

static uint32_t
words_of(struct str text)
{
	struct simhash s = SIMHASH_INIT;

	simhash_add(&s, text);
	return s.words;
}

static uint64_t seed = 42;

static unsigned
rnd(unsigned n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(seed >> 33) % n;
}

static void
test_words(void **state)
{
	(void)state;
	assert_int_equal(words_of(STR("")), 0);
	assert_int_equal(words_of(STR(" .,;\n")), 0);
	assert_int_equal(words_of(STR("one")), 1);
	assert_int_equal(words_of(STR("one-two 3,four")), 4);
	assert_int_equal(words_of(STR("na\xc3\xafve caf\xc3\xa9")), 2);
	assert_int_equal(words_of(STR("@[`{/:")), 0);
	assert_int_equal(words_of(STR("a z A Z 0 9")), 6);
	assert_int_equal(words_of((struct str){ "a\0b\x7f" "c", 5 }), 3);
}

/* The 64-byte steps must not show: words of every length at every place. */
static void
test_blocks(void **state)
{
	char text[300];

	(void)state;
	for (size_t at = 0; at < 130; at++) {
		for (size_t n = 1; n < 80; n++) {
			struct simhash s = SIMHASH_INIT, t = SIMHASH_INIT;
			memset(text, '.', sizeof(text));
			memset(text + at, 'x', n);
			simhash_add(&s, (struct str){ text, at + n });
			simhash_add(&t, (struct str){ text, sizeof(text) });
			assert_int_equal(s.words, 1);
			assert_int_equal(t.words, 1);
			assert_int_equal(s.before, t.before);
			simhash_add(&t, (struct str){ text + at, n });
			assert_int_equal(s.before, t.before);
		}
	}
}

/* Texts of random words against the same words one by one. */
static void
test_texts(void **state)
{
	char text[300];

	(void)state;
	for (unsigned i = 0; i < ROUNDS(20000); i++) {
		struct simhash s = SIMHASH_INIT, t = SIMHASH_INIT;
		size_t n = rnd(i % 2 == 0 ? 20 : sizeof(text)), from = 0;
		unsigned word = 1 + rnd(12);
		for (size_t k = 0; k < n; k++)
			text[k] = rnd(word) == 0 ? " .-\n"[rnd(4)] :
			    "aZ09\xc3\xff"[rnd(6)];
		simhash_add(&s, (struct str){ text, n });
		for (size_t k = 0; k <= n; k++) {
			if (k < n && strchr(" .-\n", text[k]) == NULL)
				continue;
			simhash_add(&t, (struct str){ text + from, k - from });
			from = k + 1;
		}
		assert_memory_equal(&s, &t, sizeof(s));
	}
}

/* Archives have hashes of earlier versions: the same text, the same hash. */
static void
test_values(void **state)
{
	(void)state;
	assert_true(hash_of("The quick brown fox jumps over the lazy dog") ==
	    UINT64_C(0x87489c0351038518));
	assert_true(hash_of("caf\xc3\xa9 internationalisation 2026, and "
	    "Donaudampfschifffahrtsgesellschaft") ==
	    UINT64_C(0x85264a4249c96840));
}

/* The upright counters against 64 plain ones. */
static void
test_counters(void **state)
{
	struct simhash s = SIMHASH_INIT;
	int count[64] = { 0 };
	uint64_t want = 0;

	(void)state;
	for (int i = 0; i < 1001; i++) {
		char word[16];
		int n = snprintf(word, sizeof(word), "w%u ", rnd(50));
		simhash_add(&s, (struct str){ word, (size_t)n });
		if (i == 0)
			continue;
		/* What was added last stands in pending, or was summed. */
		uint64_t x = s.pending[s.pending_n != 0 ? s.pending_n - 1 :
		    SIMHASH_BATCH - 1];
		for (int k = 0; k < 64; k++)
			count[k] += (int)(x >> k & 1);
	}
	for (int k = 0; k < 64; k++)
		want |= (uint64_t)(count[k] > 500) << k;
	assert_true(simhash_value(&s) == want);
	assert_int_equal(s.words, 1001);
}

static void
test_case_and_pieces(void **state)
{
	struct simhash s = SIMHASH_INIT;

	(void)state;
	assert_true(hash_of("One Two, THREE") == hash_of("one two three"));
	assert_true(hash_of("one two three") != hash_of("one three two"));
	assert_true(hash_of("\xc3\x89t\xc3\xa9 x") !=
	    hash_of("\xc3\xa9t\xc3\xa9 x"));
	assert_int_equal(hash_of("one"), 0);
	simhash_add(&s, STR("one tw"));
	simhash_add(&s, STR("o three"));
	assert_int_equal(s.words, 4);
}

static void
make_text(struct buf *b, unsigned change)
{
	seed = 7;
	buf_clear(b);
	for (unsigned i = 0; i < 1000; i++) {
		unsigned w = rnd(500);
		if (change != 0 && i % change == change / 2)
			buf_printf(b, "changed%u ", i);
		else
			buf_printf(b, "word%u ", w);
	}
}

/* In how many bits two values differ. */
static unsigned
simhash_distance(uint64_t a, uint64_t b)
{
	return (unsigned)__builtin_popcountll(a ^ b);
}

static void
test_similar(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	make_text(&b, 0);
	uint64_t base = hash_of(buf_text(&b));
	make_text(&b, 500);
	unsigned near = simhash_distance(base, hash_of(buf_text(&b)));
	make_text(&b, 2);
	unsigned far = simhash_distance(base, hash_of(buf_text(&b)));
	print_message("2 of 1,000 words changed: %u bits; half of them: %u\n",
	    near, far);
	assert_true(near <= 6);
	assert_true(far >= 15);
	assert_int_equal(simhash_distance(0, UINT64_MAX), 64);
	assert_int_equal(simhash_distance(5, 5), 0);
	buf_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_case_and_pieces),
		cmocka_unit_test(test_similar),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
