#include "doors/items/openapi.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/map.h"
#include "base/text.h"
#include "doors/items/handlers.h"
#include "doors/items/routes.h"

#define METHODS_MAX 5

static yyjson_doc *document;

static int
setup(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	openapi_write(&b);
	document = yyjson_read(b.p, b.n, 0);
	buf_free(&b);
	return document == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
	(void)state;
	yyjson_doc_free(document);
	return 0;
}

/* Every "$ref" leads somewhere; how many there are. */
static size_t
check_refs(yyjson_val *v)
{
	size_t n = 0, i, max;
	yyjson_val *key, *one;
	const char *ref;

	if (yyjson_is_obj(v)) {
		yyjson_obj_foreach(v, i, max, key, one) {
			n += check_refs(one);
			if (!yyjson_equals_str(key, "$ref"))
				continue;
			n++;
			ref = yyjson_get_str(one);
			assert_non_null(ref);
			if (yyjson_doc_ptr_getn(document, ref + 1,
			    yyjson_get_len(one) - 1) == NULL)
				fail_msg("%s leads nowhere", ref);
		}
	}
	yyjson_arr_foreach(v, i, max, one)
		n += check_refs(one);
	return n;
}

static void
references(void **state)
{
	(void)state;
	assert_true(check_refs(yyjson_doc_get_root(document)) > 100);
	assert_string_equal(yyjson_get_str(yyjson_doc_ptr_get(document,
	    "/openapi")), "3.1.0");
}

/* Each operation has an id of its own, a sentence, and a parameter for each
 * name in its path. */
static void
check_operation(struct str path, yyjson_val *op, struct map *ids)
{
	struct str id = json_text(yyjson_obj_get(op, "operationId"));
	yyjson_val *params = yyjson_obj_get(op, "parameters"), *one;
	size_t i, max, braces = 0, in_path = 0;

	if (map_put(ids, id, op) != NULL)
		fail_msg("%.*s is there twice", STR_FMT(id));
	assert_true(yyjson_get_len(yyjson_obj_get(op, "summary")) > 5);
	for (i = 0; i < path.n; i++)
		braces += path.p[i] == '{';
	yyjson_arr_foreach(params, i, max, one)
		in_path += yyjson_equals_str(yyjson_obj_get(one, "in"), "path");
	if (braces != in_path)
		fail_msg("%.*s has %zu names and %zu parameters",
		    STR_FMT(path), braces, in_path);
	assert_non_null(yyjson_ptr_get(op, "/responses/401/content/"
	    "application~1json/schema"));
	assert_true(yyjson_obj_size(yyjson_obj_get(op, "responses")) >= 4);
}

static void
operations(void **state)
{
	yyjson_val *paths = yyjson_doc_ptr_get(document, "/paths");
	yyjson_val *path, *item, *method, *op;
	size_t i, max, k, n, count = 0;
	struct map ids = MAP_INIT;

	(void)state;
	yyjson_obj_foreach(paths, i, max, path, item) {
		assert_true(yyjson_get_str(path)[0] == '/');
		assert_null(strchr(yyjson_get_str(path), '*'));
		assert_in_range(yyjson_obj_size(item), 1, METHODS_MAX);
		yyjson_obj_foreach(item, k, n, method, op) {
			check_operation(json_text(path), op, &ids);
			count++;
		}
	}
	assert_int_equal(ids.n, count);
	assert_true(count >= 55);
	map_free(&ids);
}

/* A fetch may be refused by a site or its robots.txt, come too early, or name
 * a session that the configuration has not. */
static void
statuses_of_fetch(void **state)
{
	static const char *const wanted[] = { "200", "400", "401", "403",
		"404", "409", "415", "502", "503" };
	yyjson_val *responses = yyjson_doc_ptr_get(document,
	    "/paths/~1worker~1fetch/post/responses");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		if (yyjson_obj_get(responses, wanted[i]) == NULL)
			fail_msg("%s is missing", wanted[i]);
	assert_int_equal(yyjson_obj_size(responses), ARRAY_LEN(wanted));
}

/* Both spellings, and what they say is the same. */
static void
spellings(void **state)
{
	static const char *const tails[] = { "", "/{task}", "/{task}/pause",
		"/{task}/failures/handle" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
		char a[64], b[64];
		snprintf(a, sizeof(a), "/operations%s", tails[i]);
		snprintf(b, sizeof(b), "/tasks%s", tails[i]);
		yyjson_val *paths = yyjson_doc_ptr_get(document, "/paths");
		assert_non_null(yyjson_obj_get(paths, a));
		assert_non_null(yyjson_obj_get(paths, b));
	}
	assert_non_null(yyjson_obj_get(yyjson_doc_ptr_get(document, "/paths"),
	    "/items/{id}/operations/{task}/expire"));
	assert_non_null(yyjson_obj_get(yyjson_doc_ptr_get(document, "/paths"),
	    "/items/{id}/tasks/{task}/expire"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(references),
		cmocka_unit_test(operations),
		cmocka_unit_test(spellings),
		cmocka_unit_test(statuses_of_fetch),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
