#include "engine/ledger/op_order.h"

/* Bytes of a key that are compared as numbers. */
#define PREFIX_BYTES 16
#define OPS_MIN 256

struct op_entry {
	uint64_t high, low;          /* the key's first bytes, or zeros */
	struct str key, value;
	uint32_t nth;                /* in the order of their coming */
	uint8_t family;
	bool deletes;
};

void
op_order_free(struct op_order *o)
{
	mem_free(&o->ops);
	*o = OP_ORDER_INIT;
}

static void
add_op(struct op_order *o, enum index_family f, struct str key,
    struct str value, bool deletes)
{
	char prefix[PREFIX_BYTES] = { 0 };

	if (o->n == o->cap) {
		o->cap = MAX(OPS_MIN, o->cap * 2);
		o->ops = mem_resize(o->ops, o->cap, sizeof(*o->ops));
	}
	if (key.n != 0)
		memcpy(prefix, key.p, MIN(key.n, PREFIX_BYTES));
	struct reader in = reader_of((struct str){ prefix, PREFIX_BYTES });
	uint64_t high = read_be64(&in), low = read_be64(&in);
	o->ops[o->n] = (struct op_entry){ .high = high, .low = low,
	    .key = key, .value = value, .nth = (uint32_t)o->n,
	    .family = (uint8_t)f, .deletes = deletes };
	o->n++;
}

void
op_order_put(struct op_order *o, enum index_family f, struct str key,
    struct str value)
{
	add_op(o, f, key, value, false);
}

void
op_order_delete(struct op_order *o, enum index_family f, struct str key)
{
	add_op(o, f, key, STR_NONE, true);
}

static int
compare_ops(const void *va, const void *vb)
{
	const struct op_entry *a = va, *b = vb;
	int c;

	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	if (a->high != b->high)
		return a->high < b->high ? -1 : 1;
	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	c = str_cmp(a->key, b->key);
	return c != 0 ? c : a->nth < b->nth ? -1 : 1;
}

void
op_order_write(struct op_order *o, struct index *x, struct index_batch *b)
{
	if (o->n > 1)
		qsort(o->ops, o->n, sizeof(*o->ops), compare_ops);
	for (size_t i = 0; i < o->n; i++) {
		const struct op_entry *e = &o->ops[i];
		if (e->deletes)
			index_delete(x, b, e->family, e->key);
		else
			index_put(x, b, e->family, e->key, e->value);
	}
	o->n = 0;
}
