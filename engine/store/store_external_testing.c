#include "engine/store/store_external_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/store/store_testing.h"
#include "os/tree.h"

char dir[64];
struct store *store;
struct arena arena;
const struct wall t0 = { INT64_C(1795166296000000) };  /* 2026-11-20 */

int
open_test_store(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/argiope-store-XXXXXX");
	assert_non_null(mkdtemp(dir));
	store_test_renew();
	assert_int_equal(store_test_open(dir, NULL, &store, NULL), OK);
	arena = ARENA_INIT;
	return 0;
}

int
close_test_store(void **state)
{
	(void)state;
	assert_int_equal(store_test_check(dir, store, NULL), OK);
	store_close(&store);
	arena_free(&arena);
	return tree_remove(dir, NULL) != OK;
}

void
expect_ok(enum err e, struct why *w)
{
	if (e != OK)
		fail_msg("%s", w->text);
}

void
expect_refused(enum err got, enum err wanted, const char *field, struct why *w)
{
	assert_int_equal(got, wanted);
	assert_string_equal(w->field, field);
	*w = WHY_INIT;
}

struct wall
at_second(int n)
{
	return (struct wall){ t0.us + n * US_PER_S };
}

void
assert_text(struct str s, const char *text)
{
	assert_int_equal(s.n, strlen(text));
	if (s.n > 0)
		assert_memory_equal(s.p, text, s.n);
}

struct str
x_text(size_t n)
{
	char *p = arena_take(&arena, n);

	memset(p, 'x', n);
	return (struct str){ p, n };
}

struct store_task
sample_task(const char *backend, const char *fid)
{
	return (struct store_task){ .backend = str_of(backend),
	    .connector = STR("feed"), .fid = str_of(fid),
	    .crawler = STR("c1"), .params = STR("{\"a\":\"\xc3\xa4\"}"),
	    .endpoint = STR("https://be.example.org/t/1?sig=s"),
	    .version = 4 };
}

struct store_task
put_task(const char *backend, const char *fid)
{
	struct store_task t = sample_task(backend, fid), out;
	struct why w = WHY_INIT;
	bool made;

	expect_ok(store_task_put(store, &t, OPEN_MAX, t0, &arena, &out, &made,
	    &w), &w);
	assert_true(made);
	return out;
}

struct store_task
get_task(uint64_t id)
{
	struct store_task t;
	struct why w = WHY_INIT;

	expect_ok(store_task_get(store, id, &arena, &t, &w), &w);
	assert_int_equal(t.emitted, t.uploaded + t.spooled + t.rejected +
	    t.dropped);
	return t;
}

void
close_task(uint64_t id, enum store_task_state s, bool drop, bool keep,
    struct wall now)
{
	struct store_task_end end = { .status = { s, 200, STR("Done"),
	    STR("") }, .drop_spool = drop, .keep_cursor = keep,
	    .by_owner = true };
	struct why w = WHY_INIT;
	bool changed;

	expect_ok(store_task_close(store, id, &end, now, &changed, &w), &w);
	assert_true(changed);
}

void
emit_documents(uint64_t id, uint64_t first, const struct store_document *d,
    size_t n, const char *cursor)
{
	struct store_emit m = { .first = first, .documents = d, .n = n,
	    .cursor = str_of(cursor), .checkpoint = { "\0c", 2 } };
	struct why w = WHY_INIT;

	expect_ok(store_spool_emit(store, id, &m, t0, &w), &w);
}

void
ack_documents(uint64_t id, uint64_t first, uint64_t last,
    const struct store_document *d, size_t n)
{
	struct store_ack k = { .first = first, .last = last, .refused = d,
	    .refused_n = n, .delivery = STR("{\"seq\":1}") };
	struct why w = WHY_INIT;

	expect_ok(store_spool_ack(store, id, &k, t0, &w), &w);
}

size_t
read_spool(uint64_t id, uint64_t from, size_t most, size_t bytes,
    struct store_document **d)
{
	struct why w = WHY_INIT;
	size_t n;

	expect_ok(store_spool_read(store, id, from, most, bytes, &arena, d, &n,
	    &w), &w);
	return n;
}

size_t
list_rejected(uint64_t id, struct store_document **d)
{
	struct why w = WHY_INIT;
	size_t n;

	expect_ok(store_rejected_list(store, id, 0, 0, &arena, d, &n, &w), &w);
	return n;
}

struct store_spool_totals
read_totals(void)
{
	struct store_spool_totals t;
	struct why w = WHY_INIT;

	expect_ok(store_spool_total(store, &t, &w), &w);
	return t;
}
