#include "engine/parser/suite_test.h"

#include "engine/parser/simhash.h"
#include "tests/rounds.h"

/*
 * The oracle: the definition, word by word and counter by counter.  A text ends
 * a word.
 */
struct oracle {
	int64_t count[64];
	uint64_t before;
	uint32_t words;
};

static uint64_t
oracle_word(const char *p, size_t n)
{
	uint64_t h = n;

	for (size_t i = 0; i < n; i += 8) {
		uint64_t part = 0;
		for (size_t k = i; k < MIN(i + 8, n); k++) {
			unsigned char c = (unsigned char)p[k];
			part |= (uint64_t)(c < 0x80 ? c | 0x20 : c) <<
			    8 * (k - i);
		}
		h = (h ^ part) * UINT64_C(0x9e3779b97f4a7c15);
		if (i + 8 < n)
			h ^= h >> 32;
	}
	return h;
}

static void
oracle_put(struct oracle *o, uint64_t h)
{
	uint64_t x = (o->before << 23 | o->before >> 41) ^ h;

	o->before = h;
	if (o->words++ == 0)
		return;
	for (int i = 0; i < 2; i++) {
		x ^= x >> 32;
		x *= UINT64_C(0xd6e8feb86659fd93);
	}
	x ^= x >> 32;
	for (int k = 0; k < 64; k++)
		o->count[k] += x >> k & 1;
}

static void
oracle_add(struct oracle *o, struct str s)
{
	for (size_t i = 0, n = 0; i < s.n; i += n + 1) {
		for (n = 0; i + n < s.n && (ascii_is_alpha(s.p[i + n]) ||
		    ascii_is_digit(s.p[i + n]) ||
		    (unsigned char)s.p[i + n] >= 0x80); n++)
			;
		if (n > 0)
			oracle_put(o, oracle_word(s.p + i, n));
	}
}

static uint64_t
oracle_value(const struct oracle *o)
{
	uint64_t value = 0;

	for (int k = 0; k < 64 && o->words > 1; k++)
		value |= (uint64_t)(o->count[k] > (o->words - 1) / 2) << k;
	return value;
}

/* One text by the oracle and by each form that this machine runs. */
struct all_forms {
	struct oracle oracle;
	struct simhash portable, wide;
};

static void
forms_begin(struct all_forms *f)
{
	memset(f, 0, sizeof(*f));
	f->portable.form = simhash_portable;
	f->wide.form = simhash_wide();
}

/* The text lies at the end of its memory, where a sanitizer sees each byte
 * that is read beyond it. */
static void
forms_add(struct all_forms *f, struct str text)
{
	char *copy = malloc(MAX(text.n, 1));

	assert_non_null(copy);
	if (text.n > 0)
		memcpy(copy, text.p, text.n);
	text.p = copy;
	oracle_add(&f->oracle, text);
	simhash_add(&f->portable, text);
	simhash_add(&f->wide, text);
	free(copy);
}

static void
forms_end(struct all_forms *f)
{
	uint32_t words, wide_words;
	uint64_t value = simhash_value(&f->portable, &words);
	uint64_t wide = simhash_value(&f->wide, &wide_words);

	assert_int_equal(words, f->oracle.words);
	assert_int_equal(wide_words, f->oracle.words);
	assert_true(value == oracle_value(&f->oracle));
	assert_true(wide == value);
}

static uint64_t
hash_and_count(struct str text, uint32_t *words)
{
	struct simhash s = SIMHASH_INIT;

	simhash_add(&s, text);
	return simhash_value(&s, words);
}

static uint64_t
hash_of(const char *text)
{
	uint32_t words;

	return hash_and_count(str_of(text), &words);
}

static uint32_t
words_of(struct str text)
{
	uint32_t words;

	hash_and_count(text, &words);
	return words;
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

/* Blocks must not show: words of every length at every place. */
static void
test_blocks(void **state)
{
	struct all_forms f;
	char text[300];

	(void)state;
	for (size_t at = 0; at < 130; at++) {
		for (size_t n = 1; n < 80; n++) {
			memset(text, '.', sizeof(text));
			text[0] = 'y';
			memset(text + at, 'x', n);
			forms_begin(&f);
			forms_add(&f, (struct str){ text, at + n });
			forms_add(&f, (struct str){ text, sizeof(text) });
			forms_add(&f, (struct str){ text + at, n });
			forms_end(&f);
		}
	}
}

/* Texts of random words, a few of them for each hash. */
static void
test_texts(void **state)
{
	struct all_forms f;
	char text[300];

	(void)state;
	forms_begin(&f);
	for (unsigned i = 0; i < ROUNDS(40000); i++) {
		size_t n = rnd(i % 2 == 0 ? 20 : sizeof(text));
		unsigned word = 1 + rnd(12);
		for (size_t k = 0; k < n; k++)
			text[k] = rnd(word) == 0 ? " .-\n"[rnd(4)] :
			    rnd(9) == 0 ? (char)rnd(256) :
			    "aZ09\xc3\xff"[rnd(6)];
		forms_add(&f, (struct str){ text, n });
		if (rnd(40) == 0) {
			forms_end(&f);
			forms_begin(&f);
		}
	}
	forms_end(&f);
}

/* Texts and words about as long as what is hashed at once, and longer. */
static void
test_long(void **state)
{
	static char text[5 * SIMHASH_GATHERED_MAX];
	struct all_forms f;

	(void)state;
	for (unsigned i = 0; i < ROUNDS(2000); i++) {
		size_t n = i % 3 == 0 ? rnd(sizeof(text)) :
		    (size_t)SIMHASH_GATHERED_MAX * (1 + rnd(2)) - 20 +
		    rnd(40);
		unsigned word = i % 2 == 0 ? 10 : 1 + rnd(3000);
		for (size_t k = 0; k < n; k++)
			text[k] = rnd(word) == 0 ? '.' : "aZ\xff"[rnd(3)];
		forms_begin(&f);
		if (rnd(2) == 0)
			forms_add(&f, STR("before it"));
		forms_add(&f, (struct str){ text, n });
		if (rnd(2) == 0)
			forms_add(&f, STR("after it"));
		forms_end(&f);
	}
}

/* The number of words stays where the next texts might make it too large. */
static void
test_words_max(void **state)
{
	struct simhash s = SIMHASH_INIT;
	uint32_t words, again;

	(void)state;
	simhash_add(&s, STR("one two three"));
	simhash_value(&s, &words);
	assert_int_equal(words, 3);
	s.words = SIMHASH_WORDS_MAX - SIMHASH_GATHERED_MAX;
	simhash_add(&s, STR("four"));
	simhash_value(&s, &words);
	assert_int_equal(words, SIMHASH_WORDS_MAX - SIMHASH_GATHERED_MAX + 1);
	simhash_add(&s, STR("five six"));
	simhash_value(&s, &again);
	assert_int_equal(again, words);
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

static void
test_case_and_pieces(void **state)
{
	struct simhash s = SIMHASH_INIT;
	uint32_t words;

	(void)state;
	assert_true(hash_of("One Two, THREE") == hash_of("one two three"));
	assert_true(hash_of("one two three") != hash_of("one three two"));
	assert_true(hash_of("\xc3\x89t\xc3\xa9 x") !=
	    hash_of("\xc3\xa9t\xc3\xa9 x"));
	assert_int_equal(hash_of("one"), 0);
	simhash_add(&s, STR("one tw"));
	simhash_add(&s, STR("o three"));
	simhash_value(&s, &words);
	assert_int_equal(words, 4);
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
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_words_max),
		cmocka_unit_test(test_case_and_pieces),
		cmocka_unit_test(test_similar),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
