#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "engine/external/external_testing.h"

struct external_connector *
testing_load(const char *text)
{
	FREED(buf_free) struct buf b = testing_quoted(text);
	struct external_connector *c;
	struct why w = WHY_INIT;

	if (external_connector_load(buf_str(&b), "f.json", &c, &w) != OK)
		fail_msg("%s", w.text);
	return c;
}

struct external_connector *
testing_built_in(const char *name)
{
	struct external_connector *c;

	for (size_t i = 0; (c = external_connector_builtin(i)) != NULL; i++) {
		if (str_eq(external_connector_name(c), str_of(name)))
			return c;
		external_connector_free(&c);
	}
	fail_msg("there is no %s", name);
	return NULL;
}

void
testing_refused(const char *text, const char *message)
{
	FREED(buf_free) struct buf b = testing_quoted(text);
	FREED(buf_free) struct buf expected = BUF_INIT;
	struct external_connector *c;
	struct why w = WHY_INIT;

	assert_int_equal(external_connector_load(buf_str(&b), "f.json", &c,
	    &w), ERR_INPUT);
	assert_null(c);
	assert_false(str_ends(str_of(w.text), STR(": ")));
	buf_printf(&expected, "f.json: %s", message);
	if (!str_starts(str_of(w.text), buf_str(&expected)))
		fail_msg("\"%s\" does not begin with \"%s\"", w.text,
		    buf_text(&expected));
}

static void
note_wrong(void *arg, struct str name, struct str message)
{
	struct buf *said = arg;

	assert_true(str_starts(message, name));
	buf_printf(said, "%s%.*s", said->n == 0 ? "" : "|", STR_FMT(message));
}

static void
note_unknown(void *arg, struct str name)
{
	struct buf *said = arg;

	buf_printf(said, "%s?%.*s", said->n == 0 ? "" : "|", STR_FMT(name));
}

void
testing_params(const char *declaration, const char *params,
    const char *expected)
{
	FREED(buf_free) struct buf text = testing_quoted(params);
	FREED(buf_free) struct buf want = testing_quoted(expected);
	struct external_connector *c = testing_load(declaration);

	for (int raw = 0; raw < 2; raw++) {
		FREED(buf_free) struct buf said = BUF_INIT, normal = BUF_INIT;
		struct external_params_faults faults = { &said, note_wrong,
			note_unknown };
		struct why w = WHY_INIT;
		yyjson_doc *doc = yyjson_read(text.p, text.n, raw ?
		    YYJSON_READ_NUMBER_AS_RAW : 0);
		assert_non_null(doc);
		enum err e = external_params_check(c,
		    yyjson_doc_get_root(doc), &faults, &normal, &w);
		yyjson_doc_free(doc);
		if (*expected == '{') {
			assert_int_equal(e, OK);
			assert_string_equal(buf_text(&normal),
			    buf_text(&want));
		} else {
			assert_string_equal(buf_text(&said), expected);
		}
		/* The first fault is the cause. */
		if (e != OK) {
			assert_int_equal(e, ERR_INPUT);
			assert_int_equal(normal.n, 0);
			assert_true(str_starts(buf_str(&said),
			    str_of(w.text)));
		}
	}
	external_connector_free(&c);
}

void
testing_url(const char *declaration, const char *params, const char *expected)
{
	FREED(buf_free) struct buf text = testing_quoted(params);
	FREED(buf_free) struct buf order = BUF_INIT;
	struct external_connector *c = testing_load(declaration);
	struct why w = WHY_INIT;

	if (external_order_make(c, buf_str(&text), &order, &w) != OK)
		fail_msg("%s", w.text);
	yyjson_doc *doc = yyjson_read(order.p, order.n, 0);
	assert_string_equal(yyjson_get_str(yyjson_ptr_get(
	    yyjson_doc_get_root(doc), "/options/api/url")), expected);
	yyjson_doc_free(doc);
	external_connector_free(&c);
}
