/* Start messages taken apart, kept and sealed, and put together again. */
#include "engine/harvest/order_text.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define TOKEN "canary-0123456789"
static const char message[] =
    "{\"id\":\"x\",\"type\":\"mastodon_account\",\"seeds\":["
    "{\"id\":\"s\",\"uid\":12345678901234567890123,\"token\":\"a\"}],"
    "\"credentials\":{\"instance\":\"https://m.example\","
    "\"access_token\":\"" TOKEN "\"},\"options\":{\"limit\":40}}";

static const struct seal_key key = { { 1, 2, 3 } };
static struct arena arena;

static bool
contains(struct str s, const char *needle)
{
	return str_find(s, str_of(needle)) < s.n;
}

static void
is_order(const struct order_text *o)
{
	assert_string_equal(o->connector->type, "mastodon_account");
	assert_int_equal(o->order.seeds_n, 1);
	assert_true(str_eq(o->order.seeds[0].uid,
	    STR("12345678901234567890123")));
	assert_int_equal(o->secrets_n, 1);
	assert_true(str_eq(o->secrets[0].name, STR("access_token")));
	assert_true(str_eq(o->secrets[0].value, STR(TOKEN)));
	/* The connector gets the key without its value. */
	for (size_t i = 0; i < o->order.credentials_n; i++)
		assert_false(contains(o->order.credentials[i].value, TOKEN));
}

static void
kept_and_read_again(void **state)
{
	struct order_text o, again;
	struct buf sealed = BUF_INIT;
	struct str credentials;
	const char *code;

	(void)state;
	assert_int_equal(order_text_read(str_of(message), &arena, &o, &code,
	    NULL), OK);
	is_order(&o);
	assert_false(contains(o.message, TOKEN));
	assert_true(contains(o.message, "12345678901234567890123"));
	order_text_seal(&o, &key, STR("h-1"), &sealed);
	assert_false(contains(buf_str(&sealed), TOKEN));
	assert_int_equal(order_text_unseal(buf_str(&sealed), &key, STR("h-1"),
	    &arena, &credentials, NULL), OK);
	assert_int_equal(order_text_read_kept(o.message, credentials, &arena,
	    &again, NULL), OK);
	is_order(&again);
	/* Another harvest's, or with another key, it cannot be opened. */
	assert_int_equal(order_text_unseal(buf_str(&sealed), &key, STR("h-2"),
	    &arena, &credentials, NULL), ERR_CORRUPT);
	assert_int_equal(order_text_unseal(buf_str(&sealed),
	    &(struct seal_key){ { 1 } }, STR("h-1"), &arena, &credentials,
	    NULL), ERR_CORRUPT);
	order_text_free(&o);
	order_text_free(&again);
	buf_free(&sealed);
}

static void
without_a_credential_nothing_is_sealed(void **state)
{
	struct order_text o;
	struct buf sealed = BUF_INIT;
	struct str credentials = STR("x");
	const char *code;

	(void)state;
	assert_int_equal(order_text_read(STR("{\"type\":\"mastodon_account\","
	    "\"seeds\":[{\"token\":\"a\"}],\"credentials\":{}}"), &arena, &o,
	    &code, NULL), ERR_INPUT);
	assert_string_equal(code, "credentials_missing");
	order_text_seal(&o, &key, STR("h-1"), &sealed);
	assert_int_equal(sealed.n, 0);
	order_text_free(&o);
	assert_int_equal(order_text_unseal(STR_NONE, &key, STR("h-1"), &arena,
	    &credentials, NULL), OK);
	assert_int_equal(credentials.n, 0);
}

static void
hostile_messages_are_refused(void **state)
{
	static const char *const texts[] = { "", "{", "[]", "1", "null",
		"{\"type\":5}", "{\"type\":\"mastodon_account\"",
		"{\"type\":\"mastodon_account\",\"seeds\":{}}",
		"{\"type\":\"mastodon_account\",\"credentials\":[1]}",
		"{\"type\":\"mastodon_account\",\"options\":7}" };
	struct buf deep = BUF_INIT;
	struct order_text o;
	const char *code;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		assert_int_equal(order_text_read(str_of(texts[i]), &arena, &o,
		    &code, NULL), ERR_INPUT);
		assert_non_null(code);
		order_text_free(&o);
		assert_int_equal(order_text_read_kept(str_of(texts[i]),
		    STR_NONE, &arena, &o, NULL), ERR_CORRUPT);
		order_text_free(&o);
	}
	buf_put_text(&deep, "{\"type\":\"mastodon_account\",\"x\":");
	for (int i = 0; i < 100000; i++)
		buf_put_char(&deep, '[');
	for (int i = 0; i < 100000; i++)
		buf_put_char(&deep, ']');
	buf_put_char(&deep, '}');
	assert_int_equal(order_text_read(buf_str(&deep), &arena, &o, &code,
	    NULL), ERR_INPUT);
	order_text_free(&o);
	buf_free(&deep);
}

/* Once it is freed. */
static void
credentials_are_overwritten(void **state)
{
	struct order_text o;
	const char *code;

	(void)state;
	assert_int_equal(order_text_read(STR("{\"type\":\"mastodon_account\","
	    "\"seeds\":[{\"token\":\"a\"}],\"credentials\":{\"instance\":"
	    "\"http://m.example\",\"access_token\":\"s3cret\"}}"), &arena, &o,
	    &code, NULL), OK);
	struct str kept = o.credentials;
	assert_true(str_find(kept, STR("s3cret")) < kept.n);
	order_text_free(&o);
	for (size_t i = 0; i < kept.n; i++)
		assert_int_equal(kept.p[i], 0);
}

/* Once it lies in memory that is locked. */
static void
credentials_are_moved(void **state)
{
	struct secret_memory m = SECRET_MEMORY_INIT;
	struct order_text o;
	const char *code;

	(void)state;
	assert_int_equal(order_text_read(str_of(message), &arena, &o, &code,
	    NULL), OK);
	struct str kept = o.credentials, read = o.secrets[0].value;
	order_text_hide(&o, &m);
	is_order(&o);
	assert_int_equal(o.credentials.n, 0);
	assert_int_equal(o.order.credentials_n, 2);
	assert_true(str_eq(o.order.credentials[0].value,
	    STR("https://m.example")));
	for (size_t i = 0; i < kept.n; i++)
		assert_int_equal(kept.p[i], 0);
	for (size_t i = 0; i < read.n; i++)
		assert_int_equal(read.p[i], 0);
	struct str moved = o.secrets[0].value;
	order_text_free(&o);
	for (size_t i = 0; i < moved.n; i++)
		assert_int_equal(moved.p[i], 0);
	secret_memory_free(&m);
}

static int
free_arena(void **state)
{
	(void)state;
	arena_free(&arena);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept_and_read_again),
		cmocka_unit_test(without_a_credential_nothing_is_sealed),
		cmocka_unit_test(hostile_messages_are_refused),
		cmocka_unit_test(credentials_are_overwritten),
		cmocka_unit_test(credentials_are_moved),
	};

	return cmocka_run_group_tests(tests, NULL, free_arena);
}
