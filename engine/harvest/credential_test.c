/* Credentials by name: sealed, opened, refused. */
#include "engine/harvest/credential.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "os/tree.h"

static char dir[64];
static struct store *store;
static struct arena arena;
static const struct wall t0 = { INT64_C(1795166296000000) };
static const struct seal_key key = { { 7 } };

static int
setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/argiope-credential-XXXXXX");
	assert_non_null(mkdtemp(dir));
	return store_open(dir, NULL, &store, NULL) != OK;
}

static int
teardown(void **state)
{
	(void)state;
	store_close(&store);
	arena_free(&arena);
	return tree_remove(dir, NULL) != OK;
}

static void
sealed_and_opened(void **state)
{
	static const char text[] = "{\"key\":\"canary-012345\",\"n\":5}";
	struct str json, sealed;

	(void)state;
	assert_int_equal(credential_put(store, &key, STR("a"), str_of(text),
	    t0, NULL), OK);
	assert_int_equal(credential_get(store, &key, STR("a"), &arena, &json,
	    NULL), OK);
	assert_true(str_eq(json, str_of(text)));
	assert_int_equal(store_credential_get(store, STR("a"), &arena,
	    &sealed, NULL), OK);
	assert_true(str_find(sealed, STR("canary")) == sealed.n);
	assert_int_equal(credential_get(store, &key, STR("b"), &arena, &json,
	    NULL), ERR_ABSENT);
	assert_int_equal(credential_get(store, &(struct seal_key){ { 8 } },
	    STR("a"), &arena, &json, NULL), ERR_CORRUPT);
	/* Under another name it is none. */
	assert_int_equal(store_credential_put(store, STR("b"), sealed, t0,
	    NULL), OK);
	assert_int_equal(credential_get(store, &key, STR("b"), &arena, &json,
	    NULL), ERR_CORRUPT);
}

static void
what_is_none_is_refused(void **state)
{
	static const char *const texts[] = { "", "{}", "[]", "{\"a\":null}",
		"{\"a\":{}}", "{\"a\":\"b\"", "\"a\"" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_int_equal(credential_put(store, &key, STR("a"),
		    str_of(texts[i]), t0, NULL), ERR_INPUT);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(sealed_and_opened),
		WITH(what_is_none_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
