#include "base/arena.h"
#include "base/err.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* xorshift64*: the same numbers on every machine; a failure prints `seed`. */
static uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);

static uint64_t
random_below(uint64_t n)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return (seed * UINT64_C(0x2545f4914f6cdd1d)) % n;
}

/* Does it end the program by abort()? */
static bool
aborts(void (*f)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		fclose(stderr);
		f();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void
break_invariant(void)
{
	volatile int one = 1;

	CHECK(one == 2);
}

static void
keep_invariant(void)
{
	volatile int one = 1;

	CHECK(one == 1);
}

static void
grow_buf_beyond_memory(void)
{
	struct buf b = BUF_INIT;

	buf_put_char(&b, 'a');
	buf_reserve(&b, SIZE_MAX - 1);
}

static void
take_too_long_an_array(void)
{
	struct arena a = ARENA_INIT;

	arena_take_array(&a, SIZE_MAX / 4, 8);
}

static void
put_null_into_map(void)
{
	struct map m = MAP_INIT;

	map_put(&m, STR("a"), NULL);
}

static void
test_check(void **state)
{
	(void)state;
	assert_true(aborts(break_invariant));
	assert_false(aborts(keep_invariant));
	assert_true(aborts(grow_buf_beyond_memory));
	assert_true(aborts(take_too_long_an_array));
	assert_true(aborts(put_null_into_map));
}

static void
test_mem(void **state)
{
	char *p = mem_new(100);

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_int_equal(p[i], 0);
	p = mem_resize(p, 50, 4);
	mem_free(&p);
	assert_null(p);
	mem_free(&p);
	p = mem_copy_text("abc");
	assert_string_equal(p, "abc");
	mem_free(&p);
}

static void
test_err(void **state)
{
	(void)state;
	assert_int_equal(OK, 0);
	assert_string_equal(err_name(ERR_INPUT), "INPUT");
	for (int i = 0; i < ERR_COUNT; i++) {
		enum err e = (enum err)i;
		assert_true(strlen(err_text(e)) > 3);
		assert_true(err_grpc(e) >= 0 && err_grpc(e) <= 16);
		assert_true(e == OK || (err_exit(e) >= 64 &&
		    err_exit(e) <= 78));
		assert_true(e == OK || err_http(e) >= 400);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(err_name(e),
			    err_name((enum err)k));
	}
	assert_int_equal(err_exit(OK), 0);
	assert_int_equal(err_from_errno(0), OK);
	assert_int_equal(err_from_errno(ENOSPC), ERR_DISK_FULL);
	assert_int_equal(err_from_errno(ENOENT), ERR_ABSENT);
	assert_int_equal(err_from_errno(EIO), ERR_IO);
	assert_int_equal(err_from_errno(12345), ERR_IO);
}

static void
test_why(void **state)
{
	struct why w = WHY_INIT;
	char big[1000];

	(void)state;
	assert_int_equal(why(NULL, ERR_INPUT, "x"), ERR_INPUT);
	assert_int_equal(why(&w, ERR_ABSENT, "no %s", "thing"), ERR_ABSENT);
	assert_int_equal(why(&w, ERR_INPUT, "later"), ERR_INPUT);
	assert_int_equal(w.err, ERR_ABSENT);
	assert_string_equal(w.text, "no thing");
	w = WHY_INIT;
	errno = ENOENT;
	assert_int_equal(why_errno(&w, ERR_IO, "open %d", 5), ERR_IO);
	assert_string_equal(w.text, "open 5: No such file or directory");
	/* A text too long is cut, at every length. */
	memset(big, 'x', sizeof(big));
	for (int n = 380; n < 420; n++) {
		w = WHY_INIT;
		errno = ENOENT;
		assert_int_equal(why_errno(&w, ERR_IO, "%.*s", n, big), ERR_IO);
		assert_true(strlen(w.text) < sizeof(w.text));
		assert_true(strlen(w.text) >= 380);
	}
}

static void
test_arena(void **state)
{
	struct arena a = ARENA_INIT;
	char *taken[500];
	size_t sizes[500];

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
			sizes[i] = random_below(i % 50 == 0 ? 100000 : 300);
			if (random_below(3) == 0) {
				taken[i] = arena_bytes(&a, sizes[i] + 1);
			} else {
				taken[i] = arena_take(&a, sizes[i] + 1);
				assert_int_equal((uintptr_t)taken[i] % 16, 0);
				for (size_t k = 0; k <= sizes[i]; k++)
					assert_int_equal(taken[i][k], 0);
			}
			memset(taken[i], (int)i, sizes[i] + 1);
		}
		/* Nobody wrote into another's bytes. */
		for (size_t i = 0; i < ARRAY_LEN(taken); i++)
			for (size_t k = 0; k <= sizes[i]; k++)
				if (taken[i][k] != (char)i)
					fail_msg("%zu overlaps", i);
		assert_true(a.total > 0 && a.total < 8u << 20);
		size_t before = a.total;
		arena_reset(&a);
		assert_true(a.total > 0 && a.total <= before);
	}
	arena_free(&a);
	assert_null(a.blocks);
	assert_int_equal(a.total, 0);
	arena_free(&a);
	arena_reset(&a);
}

/* Exactly so much is taken; what comes behind it has a page's block. */
static void
test_arena_grow(void **state)
{
	struct arena a = ARENA_INIT;
	int *list = NULL;
	size_t cap = 0;

	(void)state;
	for (size_t n = 0; n < 100; n++) {
		list = arena_grow(&a, list, n, &cap, 3, sizeof(*list));
		assert_true(cap > n && list[n] == 0);
		list[n] = (int)n;
	}
	for (int i = 0; i < 100; i++)
		assert_int_equal(list[i], i);
	assert_int_equal(cap, 192);
	arena_free(&a);
}

static void
test_arena_room(void **state)
{
	struct arena a = ARENA_INIT;

	(void)state;
	arena_room(&a, 100);
	arena_bytes(&a, 99);
	arena_bytes(&a, 1);
	arena_room(&a, 1000);
	assert_int_equal(a.total, 100);
	arena_bytes(&a, 1);
	assert_true(a.total > 1000);
	arena_free(&a);
}

/* A reset arena serves the next page from the block that it kept. */
static void
test_arena_reset(void **state)
{
	struct arena a = ARENA_INIT;

	(void)state;
	arena_take(&a, 100);
	size_t total = a.total;
	for (int i = 0; i < 1000; i++) {
		arena_take(&a, 4000);
		arena_reset(&a);
		assert_int_equal(a.total, total);
	}
	arena_free(&a);
}

static void
print_to_end(struct arena *a, int more)
{
	arena_bytes(a, 10);
	int n = (int)(a->end - a->at) + more;
	const char *end = a->end;

	struct str s = arena_printf(a, "%0*d", n, 7);
	assert_int_equal(s.n, n);
	assert_int_equal(strlen(s.p), n);
	assert_true(s.p[n - 1] == '7');
	/* With its NUL it fits or it goes to a new block. */
	assert_true((s.p + n + 1 == end) == (more == -1));
}

static void
test_arena_texts(void **state)
{
	struct arena a = ARENA_INIT;
	struct pair {
		int64_t a, b;
	};

	(void)state;
	struct str s = arena_copy(&a, STR("a\0b"));
	assert_int_equal(s.n, 3);
	assert_memory_equal(s.p, "a\0b", 4);
	s = arena_copy(&a, STR_NONE);
	assert_true(s.n == 0 && s.p[0] == '\0');
	s = arena_printf(&a, "%s-%d", "x", 7);
	assert_string_equal(s.p, "x-7");
	assert_int_equal(s.n, 3);
	s = arena_printf(&a, "%0*d", 20000, 1);
	assert_int_equal(strlen(s.p), 20000);
	/* Fits into the block; all but its NUL fits; does not fit. */
	for (int more = -1; more <= 1; more++)
		print_to_end(&a, more);
	struct pair *p = ARENA_ARRAY(&a, struct pair, 1000);
	assert_int_equal(p[999].b, 0);
	p = ARENA_NEW(&a, struct pair);
	assert_int_equal(p->a, 0);
	arena_free(&a);
	assert_non_null(arena_bytes(&a, 0));
	assert_non_null(arena_take_array(&a, 0, 8));
	assert_non_null(arena_take(&a, 0));
	arena_free(&a);
}

static void
test_list(void **state)
{
	struct thing {
		int n;
		struct list node;
	} things[4];
	struct list head;
	int seen = 0;

	(void)state;
	list_init(&head);
	assert_true(list_empty(&head));
	for (int i = 0; i < 4; i++) {
		things[i].n = i;
		list_put(&head, &things[i].node);
	}
	list_take(&things[1].node);
	list_take(&things[1].node);
	LIST_EACH(t, &head, struct thing, node)
		seen = seen * 10 + t->n;
	assert_int_equal(seen, 23);       /* 0, 2, 3 */
	list_put(head.next, &things[1].node);
	assert_ptr_equal(head.next, &things[1].node);
	for (int i = 0; i < 4; i++)
		list_take(&things[i].node);
	assert_true(list_empty(&head));
}

#define KEYS 400

/* Random puts, takes and gets against an array that is the truth. */
static void
map_against_model(bool ids, size_t keys_n)
{
	char names[KEYS][16];
	int values[KEYS], *truth[KEYS] = { NULL };
	struct map m = MAP_INIT;
	size_t n = 0;

	for (size_t i = 0; i < keys_n; i++)
		snprintf(names[i], sizeof(names[i]), "k%zu", i);
	names[0][0] = '\0';
	for (int round = 0; round < 40000; round++) {
		size_t i = random_below(keys_n);
		struct str key = str_of(names[i]);
		uint64_t id = i * UINT64_C(0x100000001);
		int *was = truth[i], *got;
		/* Phases of growth and of shrinking. */
		uint64_t what = random_below(round / 5000 % 2 == 0 ? 3 : 5);
		if (what == 0) {
			got = ids ? map_put_id(&m, id, &values[i]) :
			    map_put(&m, key, &values[i]);
			n += was == NULL;
			truth[i] = &values[i];
		} else if (what == 1) {
			got = ids ? map_get_id(&m, id) : map_get(&m, key);
		} else {
			got = ids ? map_take_id(&m, id) : map_take(&m, key);
			n -= was != NULL;
			truth[i] = NULL;
		}
		if (got != was || m.n != n)
			fail_msg("round %d, seed %llx", round,
			    (unsigned long long)seed);
		assert_true(m.n * 8 <= m.cap * 7);
	}
	/* The walk meets each value once. */
	size_t met = 0;
	MAP_EACH(value, &m, int) {
		size_t i = (size_t)(value - values);
		assert_ptr_equal(truth[i], value);
		truth[i] = NULL;
		met++;
	}
	assert_int_equal(met, n);
	map_free(&m);
	assert_int_equal(m.n, 0);
	assert_null(map_get(&m, STR("a")));
	assert_null(map_take(&m, STR("a")));
}

static void
test_map(void **state)
{
	(void)state;
	map_against_model(false, KEYS);
	map_against_model(true, KEYS);
	map_against_model(false, 14);
	map_against_model(true, 3);
}

/* No growth up to what was reserved, whose last entry fills the table. */
static void
test_map_reserve(void **state)
{
	struct map m = MAP_INIT;
	int value;

	(void)state;
	map_reserve(&m, 1);
	assert_int_equal(m.cap, 16);
	map_reserve(&m, 14);
	assert_int_equal(m.cap, 16);
	map_reserve(&m, 896);
	size_t cap = m.cap;
	assert_int_equal(cap, 1024);
	for (uint64_t i = 0; i < 896; i++)
		assert_null(map_put_id(&m, i, &value));
	assert_int_equal(m.cap, cap);
	map_reserve(&m, 10);
	assert_int_equal(m.cap, cap);
	assert_int_equal(m.n, 896);
	map_reserve(&m, 897);
	assert_int_equal(m.cap, 2 * cap);
	assert_int_equal(m.n, 896);
	assert_ptr_equal(map_get_id(&m, 895), &value);
	map_free(&m);
}

static void
test_map_keys(void **state)
{
	struct map m = MAP_INIT;
	int a, b;

	(void)state;
	assert_null(map_put(&m, STR("x\0y"), &a));
	assert_null(map_get(&m, STR("x\0z")));
	assert_null(map_get(&m, STR("x")));
	assert_ptr_equal(map_put(&m, STR("x\0y"), &b), &a);
	assert_ptr_equal(map_get(&m, STR("x\0y")), &b);
	/* The empty key is a key, whatever its pointer. */
	assert_null(map_put(&m, STR(""), &a));
	assert_ptr_equal(map_get(&m, STR_NONE), &a);
	assert_ptr_equal(map_take(&m, STR_NONE), &a);
	map_free(&m);
	assert_null(map_put_id(&m, UINT64_MAX, &a));
	assert_null(map_put_id(&m, 0, &b));
	assert_ptr_equal(map_get_id(&m, 0), &b);
	assert_ptr_equal(map_get_id(&m, UINT64_MAX), &a);
	map_free(&m);
}

/* Whoever leaves the heap is the least; against a search through all. */
static void
test_heap(void **state)
{
	struct heap_node nodes[200];
	struct heap h = HEAP_INIT;
	size_t n = 0;

	(void)state;
	memset(nodes, 0, sizeof(nodes));
	assert_null(heap_first(&h));
	for (int round = 0; round < 40000; round++) {
		size_t i = random_below(ARRAY_LEN(nodes));
		bool was = heap_holds(&nodes[i]);
		if (random_below(round / 5000 % 2 == 0 ? 2 : 4) == 0) {
			heap_put(&h, &nodes[i],
			    (int64_t)random_below(50) - 25, random_below(5));
			n += !was;
			assert_true(heap_holds(&nodes[i]));
		} else {
			heap_take(&h, &nodes[i]);
			n -= was;
			assert_false(heap_holds(&nodes[i]));
		}
		assert_int_equal(h.n, n);
		const struct heap_node *first = heap_first(&h);
		assert_int_equal(first == NULL, n == 0);
		for (size_t k = 0; n > 0 && k < ARRAY_LEN(nodes); k++)
			if (heap_holds(&nodes[k]) &&
			    (nodes[k].key < first->key ||
			    (nodes[k].key == first->key &&
			    nodes[k].tie < first->tie)))
				fail_msg("round %d, seed %llx", round,
				    (unsigned long long)seed);
	}
	int64_t last = INT64_MIN;
	while (heap_first(&h) != NULL) {
		struct heap_node *first = heap_first(&h);
		assert_true(first->key >= last);
		last = first->key;
		heap_take(&h, first);
	}
	heap_free(&h);
	heap_put(&h, &nodes[0], INT64_MAX, UINT64_MAX);
	heap_put(&h, &nodes[1], INT64_MIN, 0);
	assert_ptr_equal(heap_first(&h), &nodes[1]);
	heap_free(&h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_mem),
		cmocka_unit_test(test_err),
		cmocka_unit_test(test_why),
		cmocka_unit_test(test_arena),
		cmocka_unit_test(test_arena_grow),
		cmocka_unit_test(test_arena_room),
		cmocka_unit_test(test_arena_reset),
		cmocka_unit_test(test_arena_texts),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_map_keys),
		cmocka_unit_test(test_map_reserve),
		cmocka_unit_test(test_heap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
