/*
 * Fuzz schemas and values: the first line is a schema, the rest a value.  A
 * check must end, say the same with and without a report, say it again in
 * another run, and name a part of the value that is there.  A name that an
 * object has twice makes a pointer ambiguous: then only the form counts.
 */
#include "engine/schema/schema.h"

#include "base/text.h"
#include "engine/schema/schema_format.h"

#define FAULTS_MAX 20u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct faults {
	yyjson_val *value;           /* NULL: it has a name twice */
	size_t n;
	struct buf text;
};

static void
note_fault(void *arg, struct str pointer, struct str message)
{
	struct faults *f = arg;

	CHECK(message.n > 0 && message.n <= SCHEMA_MESSAGE_BYTES_MAX);
	CHECK(text_is_utf8(message));
	CHECK(schema_format_find(STR("json-pointer"))->is_valid(pointer));
	CHECK(f->value == NULL ||
	    yyjson_ptr_getn(f->value, pointer.p, pointer.n) != NULL);
	CHECK(++f->n <= FAULTS_MAX);
	buf_put_str(&f->text, pointer);
	buf_put_str(&f->text, message);
}

/* Whether an object in the value has a name twice. */
static bool
has_double_name(yyjson_val *v)
{
	yyjson_val *key, *one;
	size_t i, n;

	if (yyjson_is_arr(v)) {
		yyjson_arr_foreach(v, i, n, one)
			if (has_double_name(one))
				return true;
	} else if (yyjson_is_obj(v)) {
		yyjson_obj_foreach(v, i, n, key, one)
			if (has_double_name(one) || yyjson_obj_getn(v,
			    yyjson_get_str(key), yyjson_get_len(key)) != one)
				return true;
	}
	return false;
}

static void
check_value(const struct schema *s, yyjson_val *value)
{
	yyjson_val *named = has_double_name(value) ? NULL : value;
	struct faults one = { .value = named }, two = { .value = named };

	bool valid = schema_check(s, value, FAULTS_MAX, note_fault, &one);
	CHECK(valid == (one.n == 0));
	CHECK(schema_check(s, value, FAULTS_MAX, note_fault, &two) == valid);
	CHECK(str_eq(buf_str(&one.text), buf_str(&two.text)));
	/* Quiet, a check leaves earlier: it may need less than the budget. */
	if (valid)
		CHECK(schema_check(s, value, 0, NULL, NULL));
	buf_free(&one.text);
	buf_free(&two.text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str rest = { (const char *)data, n }, line;
	struct why w = WHY_INIT;
	struct schema *s;

	if (n == 0 || !str_split(&rest, '\n', &line) || rest.p == NULL)
		return 0;
	yyjson_doc *text = yyjson_read(line.p, line.n,
	    YYJSON_READ_BIGNUM_AS_RAW);
	yyjson_doc *value = yyjson_read(rest.p, rest.n,
	    YYJSON_READ_BIGNUM_AS_RAW);
	if (text != NULL) {
		enum err e = schema_compile(yyjson_doc_get_root(text), &s, &w);
		CHECK(e == OK || e == ERR_INPUT || e == ERR_FULL);
		CHECK((e == OK) == (s != NULL) && e == w.err);
		if (s != NULL && value != NULL)
			check_value(s, yyjson_doc_get_root(value));
		schema_free(&s);
	}
	yyjson_doc_free(value);
	yyjson_doc_free(text);
	return 0;
}
