#include <math.h>

#include "base/hash.h"
#include "engine/schema/schema_own.h"

const char *const schema_type_names[SCHEMA_TYPES_N] = {
#define TYPE_NAME(name, text) text,
	SCHEMA_TYPES(TYPE_NAME)
#undef TYPE_NAME
};

bool
schema_budget_take(struct schema_budget *b, size_t n)
{
	if (b->steps < n) {
		b->steps = 0;
		b->too_long = true;
		return false;
	}
	b->steps -= n;
	return true;
}

/* A double is written as a text and read again. */
#define DOUBLE_STEPS 4u

bool
schema_budget_take_value(struct schema_budget *b, yyjson_val *v)
{
	size_t n = yyjson_is_real(v) ? DOUBLE_STEPS : 0;

	if (yyjson_is_str(v) || yyjson_is_raw(v))
		n = yyjson_get_len(v) / SCHEMA_STEP_BYTES;
	return schema_budget_take(b, n);
}

bool
schema_budget_enter(struct schema_budget *b)
{
	if (b->depth == 0) {
		b->too_deep = true;
		return false;
	}
	b->depth--;
	return true;
}

void
schema_budget_leave(struct schema_budget *b)
{
	b->depth++;
}

unsigned
schema_type_of(yyjson_val *v)
{
	char text[SCHEMA_NUMBER_TEXT_BYTES];
	struct schema_number x;

	if (yyjson_is_str(v))
		return SCHEMA_TYPE_STRING;
	if (yyjson_is_obj(v))
		return SCHEMA_TYPE_OBJECT;
	if (yyjson_is_arr(v))
		return SCHEMA_TYPE_ARRAY;
	if (yyjson_is_bool(v))
		return SCHEMA_TYPE_BOOLEAN;
	if (yyjson_is_int(v) || (yyjson_is_real(v) &&
	    yyjson_get_real(v) == floor(yyjson_get_real(v))))
		return SCHEMA_TYPE_NUMBER | SCHEMA_TYPE_INTEGER;
	if (yyjson_is_real(v))
		return SCHEMA_TYPE_NUMBER;
	if (schema_number_read(v, text, &x))
		return schema_number_is_integer(&x) ? SCHEMA_TYPE_NUMBER |
		    SCHEMA_TYPE_INTEGER : SCHEMA_TYPE_NUMBER;
	return yyjson_is_null(v) ? SCHEMA_TYPE_NULL : 0;
}

/* --- equality ----------------------------------------------------------- */

static bool
equal_numbers(yyjson_val *a, yyjson_val *b)
{
	char a_text[SCHEMA_NUMBER_TEXT_BYTES], b_text[SCHEMA_NUMBER_TEXT_BYTES];
	struct schema_number x, y;

	if (yyjson_is_int(a) && yyjson_is_int(b))
		return yyjson_equals(a, b);
	return schema_number_read(a, a_text, &x) &&
	    schema_number_read(b, b_text, &y) && schema_number_cmp(&x, &y) == 0;
}

static bool
equal_arrays(yyjson_val *a, yyjson_val *b, struct schema_budget *budget)
{
	yyjson_val *x, *y = yyjson_arr_get_first(b);
	size_t i, n;

	yyjson_arr_foreach(a, i, n, x) {
		if (!schema_value_equal(x, y, budget))
			return false;
		y = unsafe_yyjson_get_next(y);
	}
	return true;
}

static bool
equal_objects(yyjson_val *a, yyjson_val *b, struct schema_budget *budget)
{
	yyjson_obj_iter in_b = yyjson_obj_iter_with(b);
	yyjson_val *key, *x;
	size_t i, n;

	yyjson_obj_foreach(a, i, n, key, x) {
		size_t name_n = yyjson_get_len(key) / SCHEMA_STEP_BYTES;
		if (!schema_budget_take(budget, (1 + n / 8) * (1 + name_n)))
			return false;
		/* It goes on where the last name was: equal objects mostly
		 * have the same order. */
		yyjson_val *y = yyjson_obj_iter_getn(&in_b, yyjson_get_str(key),
		    yyjson_get_len(key));
		if (y == NULL || !schema_value_equal(x, y, budget))
			return false;
	}
	return true;
}

static bool
is_number(yyjson_val *v)
{
	return yyjson_is_num(v) || yyjson_is_raw(v);
}

bool
schema_value_equal(yyjson_val *a, yyjson_val *b, struct schema_budget *budget)
{
	if (!schema_budget_take(budget, 1))
		return false;
	if (is_number(a) && is_number(b))
		return schema_budget_take_value(budget, a) &&
		    schema_budget_take_value(budget, b) && equal_numbers(a, b);
	if (yyjson_get_type(a) != yyjson_get_type(b))
		return false;
	if (yyjson_is_bool(a))
		return yyjson_get_bool(a) == yyjson_get_bool(b);
	if (yyjson_get_len(a) != yyjson_get_len(b) ||
	    !schema_budget_take_value(budget, a))
		return false;
	if (yyjson_is_str(a))
		return str_eq(json_text(a), json_text(b));
	if (!yyjson_is_ctn(a))
		return true;
	if (!schema_budget_enter(budget))
		return false;
	bool equal = yyjson_is_arr(a) ? equal_arrays(a, b, budget) :
	    equal_objects(a, b, budget);
	schema_budget_leave(budget);
	return equal;
}

/* --- twins -------------------------------------------------------------- */

static uint64_t hash_value(yyjson_val *, struct schema_budget *);

static uint64_t
hash_array(yyjson_val *v, struct schema_budget *budget)
{
	uint64_t h = 1;
	yyjson_val *x;
	size_t i, n;

	yyjson_arr_foreach(v, i, n, x)
		h = hash_u64(h + hash_value(x, budget));
	return h;
}

/* The sum does not depend on the order. */
static uint64_t
hash_object(yyjson_val *v, struct schema_budget *budget)
{
	uint64_t h = 2;
	yyjson_val *key, *x;
	size_t i, n;

	yyjson_obj_foreach(v, i, n, key, x)
		h += hash_u64(hash_value(key, budget) ^
		    hash_u64(hash_value(x, budget)));
	return h;
}

/* Equal values have equal hashes.  Any number when the budget is used up. */
static uint64_t
hash_value(yyjson_val *v, struct schema_budget *budget)
{
	char text[SCHEMA_NUMBER_TEXT_BYTES];
	struct schema_number x;

	if (!schema_budget_take(budget, 1))
		return 0;
	if (yyjson_is_ctn(v)) {
		if (!schema_budget_enter(budget))
			return 0;
		uint64_t h = yyjson_is_arr(v) ? hash_array(v, budget) :
		    hash_object(v, budget);
		schema_budget_leave(budget);
		return h;
	}
	if (!schema_budget_take_value(budget, v))
		return 0;
	if (yyjson_is_str(v))
		return hash_bytes(json_text(v), 3);
	if (schema_number_read(v, text, &x))
		return schema_number_hash(&x);
	return hash_u64(4 + yyjson_get_type(v) + yyjson_get_bool(v));
}

struct hashed {
	uint64_t hash;
	yyjson_val *value;
};

/* Values are in the order of the array. */
static int
compare_hashed(const void *ap, const void *bp)
{
	const struct hashed *a = ap, *b = bp;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return a->value < b->value ? -1 : 1;
}

/* Find two that are equal among `n` with the same hash. */
static bool
find_equal(const struct hashed *h, size_t n, struct schema_budget *budget,
    yyjson_val **first, yyjson_val **second)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t j = i + 1; j < n; j++) {
			if (budget->too_long)
				return false;
			*first = h[i].value;
			*second = h[j].value;
			if (schema_value_equal(*first, *second, budget))
				return true;
		}
	}
	return false;
}

static size_t
index_of(yyjson_val *array, const yyjson_val *element)
{
	yyjson_val *v;
	size_t i, n;

	yyjson_arr_foreach(array, i, n, v)
		if (v == element)
			break;
	return i;
}

bool
schema_value_find_twin(yyjson_val *array, struct schema_budget *budget,
    size_t *first, size_t *second)
{
	size_t n = yyjson_arr_size(array), i, all;
	bool found = false;
	yyjson_val *v, *a = NULL, *b = NULL;

	if (n < 2 || !schema_budget_take(budget, n))
		return false;
	struct hashed *h = mem_array(n, sizeof(*h));
	yyjson_arr_foreach(array, i, all, v)
		h[i] = (struct hashed){ hash_value(v, budget), v };
	qsort(h, n, sizeof(*h), compare_hashed);
	for (size_t from = 0, to; from < n && !found; from = to) {
		for (to = from + 1; to < n && h[to].hash == h[from].hash; )
			to++;
		found = find_equal(h + from, to - from, budget, &a, &b);
	}
	mem_free(&h);
	if (found) {
		*first = index_of(array, a);
		*second = index_of(array, b);
	}
	return found;
}
