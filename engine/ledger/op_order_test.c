#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/hash.h"
#include "engine/ledger/op_order.h"

#define KEYS 300u
#define OPS 5000u

static struct index *
open_memory(void)
{
	struct index_options o = { .in_memory = true };
	struct why w = WHY_INIT;
	struct index *x;

	if (index_open("/op-order", &o, &x, &w) != OK)
		fail_msg("%s", w.text);
	return x;
}

/* Keys of all lengths up to 24, many of which begin alike. */
static struct str
key_of(unsigned i, char out[24])
{
	memset(out, 'a' + (int)(i % 3), 24);
	out[i / 3 % 24] = (char)('a' + i / 72);
	return (struct str){ out, i % 25 };
}

struct plan {
	char key[24];
	char value[4];
	uint8_t family;
	bool deletes;
};

static void
apply_as_they_come(struct index *x, const struct plan *plans)
{
	struct index_batch *b = index_batch_new();
	struct why w = WHY_INIT;
	char key[24];

	for (unsigned i = 0; i < OPS; i++) {
		const struct plan *p = &plans[i];
		struct str k = key_of((unsigned)hash_u64(i + 1) % KEYS, key);
		struct str v = { p->value, sizeof(p->value) };
		if (p->deletes)
			index_delete(x, b, p->family, k);
		else
			index_put(x, b, p->family, k, v);
	}
	assert_int_equal(index_write(x, b, &w), OK);
	index_batch_free(&b);
}

static void
apply_in_order(struct index *x, struct plan *plans, size_t each)
{
	struct op_order o = OP_ORDER_INIT;
	struct index_batch *b = index_batch_new();
	struct why w = WHY_INIT;

	for (unsigned i = 0; i < OPS; i++) {
		struct plan *p = &plans[i];
		struct str k = key_of((unsigned)hash_u64(i + 1) % KEYS,
		    p->key);
		struct str v = { p->value, sizeof(p->value) };
		if (p->deletes)
			op_order_delete(&o, p->family, k);
		else
			op_order_put(&o, p->family, k, v);
		if (i % each == each - 1)
			op_order_write(&o, x, b);
	}
	op_order_write(&o, x, b);
	assert_int_equal(o.n, 0);
	assert_int_equal(index_write(x, b, &w), OK);
	index_batch_free(&b);
	op_order_free(&o);
}

/* Both families in their order, as bytes. */
static void
dump(struct index *x, struct buf *out)
{
	struct str key, value;

	for (int f = INDEX_QUEUE; f <= INDEX_URL; f++) {
		struct index_iter *i = index_iter_new(x,
		    (enum index_family)f);
		for (index_iter_seek(i, STR("")); index_iter_valid(i, &key,
		    &value); index_iter_next(i)) {
			buf_put_char(out, (char)f);
			buf_put_field(out, key);
			buf_put_field(out, value);
		}
		index_iter_free(&i);
	}
}

static void
the_index_is_the_same_in_either_order(void **state)
{
	static const size_t each[] = { 1, 2, 97, OPS };
	struct plan *plans = mem_array(OPS, sizeof(*plans));
	struct buf want = BUF_INIT;

	(void)state;
	for (unsigned i = 0; i < OPS; i++) {
		uint64_t h = hash_u64(i + OPS);
		memcpy(plans[i].value, &h, sizeof(plans[i].value));
		plans[i].family = h >> 40 & 1 ? INDEX_QUEUE : INDEX_URL;
		plans[i].deletes = (h >> 41) % 3 == 0;
	}
	struct index *x = open_memory();
	apply_as_they_come(x, plans);
	dump(x, &want);
	assert_true(want.n > KEYS);
	index_close(&x);
	index_forget_memory();
	for (size_t i = 0; i < ARRAY_LEN(each); i++) {
		FREED(buf_free) struct buf got = BUF_INIT;
		x = open_memory();
		apply_in_order(x, plans, each[i]);
		dump(x, &got);
		assert_true(str_eq(buf_str(&got), buf_str(&want)));
		index_close(&x);
		index_forget_memory();
	}
	buf_free(&want);
	mem_free(&plans);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_index_is_the_same_in_either_order),
	};

	return cmocka_run_group_tests_name("op_order", tests, NULL, NULL);
}
