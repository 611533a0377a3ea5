/* Logins and grants come back from their texts as they were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/external/external_testing.h"
#include "engine/external/oauth_testing.h"

static struct arena arena;
static struct external_connector *connector;
static const struct oauth_declaration *declared;

static void
declare(const char *members)
{
	FREED(buf_free) struct buf text = BUF_INIT;

	external_connector_free(&connector);
	buf_printf(&text, OAUTH_DECLARED("%s"), members);
	connector = testing_load(buf_text(&text));
	declared = external_connector_oauth(connector);
}

static int
teardown(void **state)
{
	(void)state;
	external_connector_free(&connector);
	arena_free(&arena);
	return 0;
}

static void
a_login_comes_back(void **state)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct oauth_pending p = { .client = { STR("i\""), STR("s") },
	    .verifier = STR("v"), .values = { STR("x.b.example") } }, back;
	struct why w = WHY_INIT;

	(void)state;
	declare(OAUTH_MASTODON_MEMBERS);
	oauth_pending_write(declared, &p, &text);
	assert_int_equal(oauth_pending_read(declared, buf_str(&text), &arena,
	    &back, &w), OK);
	assert_true(str_eq(back.client.id, p.client.id));
	assert_true(str_eq(back.client.secret, p.client.secret));
	assert_true(str_eq(back.verifier, p.verifier));
	assert_int_equal(back.request_secret.n, 0);
	assert_true(str_eq(back.values[0], STR("x.b.example")));
}

static void
a_grant_comes_back(void **state)
{
	FREED(buf_free) struct buf text = BUF_INIT, again = BUF_INIT;
	struct oauth_granted g = { .client = { STR("i"), STR_NONE },
	    .tokens = { .access = STR("a"), .refresh = STR("r"),
	    .access_ends = { 5 }, .refresh_ends = OAUTH_NEVER,
	    .expiry = OAUTH_NEVER, .refresh_at = { 4 },
	    .former = { STR("b"), STR("\"c") }, .former_n = 2 },
	    .account = { STR("acc"), STR("Ada \xc3\xa4"), STR_NONE },
	    .values = { STR("social.example") } }, back;
	struct why w = WHY_INIT;

	(void)state;
	declare(OAUTH_MASTODON_MEMBERS);
	oauth_granted_write(declared, &g, &text);
	assert_int_equal(oauth_granted_read(declared, buf_str(&text), &arena,
	    &back, &w), OK);
	assert_true(str_eq(back.tokens.refresh, STR("r")));
	assert_int_equal(back.tokens.access_ends.us, 5);
	assert_int_equal(back.tokens.expiry.us, OAUTH_NEVER.us);
	assert_int_equal(back.tokens.former_n, 2);
	assert_true(str_eq(back.tokens.former[1], STR("\"c")));
	assert_true(str_eq(back.account.name, g.account.name));
	/* All of it. */
	oauth_granted_write(declared, &back, &again);
	assert_string_equal(buf_text(&again), buf_text(&text));
}

static void
a_declaration_may_have_changed(void **state)
{
	FREED(buf_free) struct buf text = testing_quoted("{'client_id':'i',"
	    "'access':'a','access_ends':1,'refresh_ends':1,'expiry':1,"
	    "'refresh_at':0,'parameters':{'instance':'social.example'}}");
	struct oauth_granted g;
	struct why w = WHY_INIT;

	(void)state;
	declare(OAUTH_PLAIN ",'revoke':'https://{instance}/{x}','parameters':{"
	    "'instance':null,'x':'d'}");
	assert_int_equal(oauth_granted_read(declared, buf_str(&text), &arena,
	    &g, &w), OK);
	assert_true(str_eq(g.values[0], STR("social.example")));
	assert_true(str_eq(g.values[1], STR("d")));
	declare(OAUTH_PLAIN ",'revoke':'https://{instance}/','parameters':{"
	    "'instance':null},'hosts':['a.example']");
	assert_int_equal(oauth_granted_read(declared, buf_str(&text), &arena,
	    &g, &w), ERR_INPUT);
	assert_string_equal(w.field, "instance");
}

static void
other_texts_are_refused(void **state)
{
	static const char *const rows[] = { "", "[]", "{}", "{'client_id':'i'}",
	    "{'client_id':1,'parameters':{}}",
	    "{'client_id':'i','verifier':1,'parameters':{}}",
	    "{'client_id':'i','parameters':[]}",
	    ("{'client_id':'i','access':'a','access_ends':-1,'refresh_ends':1,"
	    "'expiry':1,'refresh_at':0,'parameters':{}}"),
	    ("{'client_id':'i','access':'a','access_ends':1,'refresh_ends':1,"
	    "'expiry':1,'refresh_at':0,'former':[1],'parameters':{}}") };
	struct oauth_pending p;
	struct oauth_granted g;

	(void)state;
	declare(OAUTH_PLAIN);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		FREED(buf_free) struct buf text = testing_quoted(rows[i]);
		assert_int_equal(oauth_granted_read(declared, buf_str(&text),
		    &arena, &g, NULL), ERR_CORRUPT);
		/* The last ones are logins, with members of no use. */
		if (i < ARRAY_LEN(rows) - 2)
			assert_int_equal(oauth_pending_read(declared,
			    buf_str(&text), &arena, &p, NULL), ERR_CORRUPT);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_login_comes_back),
		cmocka_unit_test(a_grant_comes_back),
		cmocka_unit_test(a_declaration_may_have_changed),
		cmocka_unit_test(other_texts_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
