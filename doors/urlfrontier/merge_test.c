/*
 * The merge against one sort of everything: random sets, spread over sources
 * that answer at once or later, and every page of them.
 */
#include "doors/urlfrontier/merge.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SOURCES_MAX 7
#define ENTRIES_MAX 60
#define ROUNDS 4000

struct entry {
	const char *key, *url;
	uint64_t date;
};

/* A source of the test: it waits `slow` times in a hundred. */
struct shelf {
	struct merge_source head;
	struct entry entries[ENTRIES_MAX];
	size_t n, at, asked;
	unsigned slow;
};

static uint64_t seed;

static uint64_t
chance(uint64_t n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (seed >> 33) % n;
}

static enum merge_state
next(struct merge_source *head)
{
	struct shelf *s = CONTAINER(head, struct shelf, head);

	s->asked++;
	/* What was lent is gone. */
	head->key = head->url = STR_NONE;
	if (chance(100) < s->slow)
		return MERGE_WAITS;
	if (s->at == s->n)
		return MERGE_OVER;
	head->key = str_of(s->entries[s->at].key);
	head->url = str_of(s->entries[s->at].url);
	head->date = s->entries[s->at].date;
	s->at++;
	return MERGE_HERE;
}

static int
by_order(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int c = strcmp(x->key, y->key);

	if (c == 0)
		c = (x->date > y->date) - (x->date < y->date);
	return c != 0 ? c : strcmp(x->url, y->url);
}

static void
put(struct shelf *s, const char *key, uint64_t date, const char *url)
{
	assert_true(s->n < ENTRIES_MAX);
	s->entries[s->n++] = (struct entry){ key, url, date };
	s->head.next = next;
}

/* The first one; asked again for as long as somebody waits. */
static struct merge_source *
first_of(struct merge *m)
{
	struct merge_source *s = merge_first(m);

	for (unsigned i = 0; s == NULL && !m->over; i++) {
		assert_true(i < 10000);
		s = merge_first(m);
	}
	return s;
}

/* Take the page, comparing it with `want`. */
static void
check_page(struct merge *m, const struct entry *want, size_t n)
{
	struct merge_source *s;
	size_t got = 0;

	while ((s = first_of(m)) != NULL) {
		if (merge_wants(m, s)) {
			assert_true(got < n);
			assert_true(str_eq(s->key, str_of(want[got].key)));
			if (!m->once) {
				assert_int_equal(s->date, want[got].date);
				assert_true(str_eq(s->url,
				    str_of(want[got].url)));
			}
			got++;
		}
		merge_take(m);
	}
	assert_int_equal(got, n);
	assert_true(m->over);
	/* And so it stays. */
	assert_null(merge_first(m));
	merge_free(m);
}

/* Key before date before URL; "a" before "ab"; bytes, not signs. */
static void
test_order(void **state)
{
	static const struct entry want[] = { { "a", "z", 0 }, { "a", "b", 5 },
	    { "a", "c", 5 }, { "a", "a", UINT32_MAX }, { "ab", "a", 1 },
	    { "b", "a", 0 }, { "\xc3\xa4", "a", 0 } };
	struct merge m = { .size = UINT64_MAX };
	struct shelf s[3] = { { .n = 0 } };

	(void)state;
	put(&s[0], "a", 5, "c");
	put(&s[0], "b", 0, "a");
	put(&s[0], "\xc3\xa4", 0, "a");
	put(&s[1], "a", 0, "z");
	put(&s[1], "ab", 1, "a");
	put(&s[2], "a", 5, "b");
	put(&s[2], "a", UINT32_MAX, "a");
	for (size_t i = 0; i < ARRAY_LEN(s); i++)
		merge_add(&m, &s[i].head);
	check_page(&m, want, ARRAY_LEN(want));
}

/* No sources, empty ones, and a page behind the end. */
static void
test_empty(void **state)
{
	struct merge none = { .size = 1 };
	struct merge empty = { .size = 1 };
	struct merge behind = { .skip = 2, .size = 1 };
	struct shelf s[3] = { { .slow = 50 }, { .slow = 0 },
		{ .slow = 0 } };

	(void)state;
	check_page(&none, NULL, 0);
	s[0].head.next = s[1].head.next = next;
	merge_add(&empty, &s[0].head);
	merge_add(&empty, &s[1].head);
	check_page(&empty, NULL, 0);
	put(&s[2], "a", 0, "a");
	put(&s[2], "b", 0, "a");
	merge_add(&behind, &s[2].head);
	check_page(&behind, NULL, 0);
}

/* A source that waits holds all back, whatever the others have. */
static void
test_waiting(void **state)
{
	struct merge m = { .size = 10 };
	struct shelf s[2] = { { .slow = 0 }, { .slow = 100 } };

	(void)state;
	put(&s[0], "a", 0, "a");
	put(&s[1], "b", 0, "b");
	merge_add(&m, &s[0].head);
	merge_add(&m, &s[1].head);
	for (unsigned i = 0; i < 100; i++)
		assert_null(merge_first(&m));
	assert_false(m.over);
	assert_int_equal(s[0].asked, 1);
	s[1].slow = 0;
	assert_ptr_equal(merge_first(&m), &s[0].head);
	assert_ptr_equal(merge_first(&m), &s[0].head);
	merge_take(&m);
	assert_ptr_equal(merge_first(&m), &s[1].head);
	merge_take(&m);
	assert_null(merge_first(&m));
	assert_true(m.over);
	merge_free(&m);
}

/* A page that is full asks nobody for more. */
static void
test_early_end(void **state)
{
	struct merge m = { .skip = 1, .size = 2 };
	struct shelf s[2] = { { .slow = 0 }, { .slow = 0 } };

	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		put(&s[0], "a", i, "a");
		put(&s[1], "b", i, "a");
	}
	merge_add(&m, &s[0].head);
	merge_add(&m, &s[1].head);
	check_page(&m, s[0].entries + 1, 2);
	assert_int_equal(s[0].asked, 3);
	assert_int_equal(s[1].asked, 1);
}

/* A key of two nodes is one, before the page and in it. */
static void
test_once(void **state)
{
	static const struct entry want[] = { { "b", "", 0 }, { "c", "", 0 } };
	struct merge m = { .skip = 1, .size = 2, .once = true };
	struct shelf s[3] = { { .n = 0 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(s); i++) {
		put(&s[i], "a", 0, "");
		put(&s[i], i == 2 ? "d" : "b", 0, "");
		put(&s[i], i == 2 ? "e" : "c", 0, "");
		merge_add(&m, &s[i].head);
	}
	check_page(&m, want, ARRAY_LEN(want));
}

/* ---- Against a sort ------------------------------------------------------ */

static struct entry
any_entry(void)
{
	static const char *const keys[] = { "a", "ab", "abc", "b", "b.org",
	    "\xe4\xb8\xad", "_", "z" };
	static const char *const urls[] = { "", "http://a", "http://a/",
	    "http://b/\xff", "http://b/~" };

	return (struct entry){ keys[chance(ARRAY_LEN(keys))],
	    urls[chance(ARRAY_LEN(urls))], chance(4) };
}

/* Sorted; with `once` each key stands once. */
static size_t
sort_all(struct shelf *s, size_t n, bool once, struct entry *all)
{
	size_t total = 0, kept = 0;

	for (size_t i = 0; i < n; i++) {
		qsort(s[i].entries, s[i].n, sizeof(*s[i].entries), by_order);
		for (size_t k = 0; k < s[i].n; k++)
			all[total++] = s[i].entries[k];
	}
	qsort(all, total, sizeof(*all), by_order);
	for (size_t i = 0; i < total; i++)
		if (!once || kept == 0 ||
		    strcmp(all[kept - 1].key, all[i].key) != 0)
			all[kept++] = all[i];
	return kept;
}

static void
test_model(void **state)
{
	static struct entry all[SOURCES_MAX * ENTRIES_MAX];

	(void)state;
	for (uint64_t round = 0; round < ROUNDS; round++) {
		struct shelf s[SOURCES_MAX] = { { .n = 0 } };
		seed = round + 1;
		size_t n = 1 + chance(SOURCES_MAX);
		size_t most = chance(ENTRIES_MAX);
		for (size_t i = 0; i < n; i++) {
			s[i].head.next = next;
			s[i].slow = (unsigned)chance(3) * 30;
			for (size_t k = chance(most + 1); k > 0; k--)
				s[i].entries[s[i].n++] = any_entry();
		}
		bool once = chance(2);
		size_t total = sort_all(s, n, once, all);
		struct merge m = { .skip = chance(total + 3),
		    .size = 1 + chance(total + 3), .once = once };
		for (size_t i = 0; i < n; i++)
			merge_add(&m, &s[i].head);
		size_t from = MIN((size_t)m.skip, total);
		check_page(&m, all + from, MIN((size_t)m.size, total - from));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_early_end),
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
