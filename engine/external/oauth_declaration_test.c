/* Valid and invalid `oauth` declarations with their messages, and values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/external/external_testing.h"
#include "engine/external/oauth_testing.h"

static void
a_declaration_has_what_its_file_says(void **state)
{
	struct external_connector *c = testing_load(OAUTH_DECLARED(
	    OAUTH_MASTODON_MEMBERS));
	const struct oauth_declaration *d = external_connector_oauth(c);

	(void)state;
	assert_non_null(d);
	assert_int_equal(d->kind, OAUTH_2);
	assert_int_equal(d->client_auth, OAUTH_POST);
	assert_true(str_eq(d->urls[OAUTH_TOKEN],
	    STR("https://{instance}/oauth/token")));
	assert_true(str_eq(d->scope, STR("read profile")));
	assert_true(str_eq(d->select_name, STR("force_login")));
	assert_true(str_eq(d->select_value, STR("true")));
	assert_true(str_eq(d->account, STR("/url")));
	assert_true(str_eq(d->name, STR("/display_name")));
	assert_int_equal(d->email.n, 0);
	assert_int_equal(d->register_form, OAUTH_MASTODON);
	assert_int_equal(d->params_n, 1);
	assert_true(str_eq(d->params[0].name, STR("instance")));
	assert_true(str_eq(d->params[0].otherwise, STR("social.example")));
	assert_true(d->params[0].is_host);
	assert_int_equal(d->hosts_n, 2);
	external_connector_free(&c);
}

static void
what_is_left_out_has_a_default(void **state)
{
	struct external_connector *c = testing_load(OAUTH_DECLARED(
	    OAUTH_PLAIN ",'profile':'https://a.example/me'"));
	const struct oauth_declaration *d = external_connector_oauth(c);

	(void)state;
	assert_int_equal(d->client_auth, OAUTH_BASIC);
	assert_int_equal(d->scope.n, 0);
	assert_true(str_eq(d->select_name, STR("prompt")));
	assert_true(str_eq(d->select_value, STR("select_account")));
	/* OpenID Connect's members. */
	assert_true(str_eq(d->account, STR("/sub")));
	assert_true(str_eq(d->email, STR("/email")));
	assert_int_equal(d->urls[OAUTH_REVOKE].n, 0);
	external_connector_free(&c);
	c = testing_load(DECLARED_P("'x-ui':'string'"));
	assert_null(external_connector_oauth(c));
	external_connector_free(&c);
}

static void
wrong_members_are_named(void **state)
{
	static const struct { const char *members, *message; } rows[] = {
		{ "'kind':'oauth3'", "oauth.kind: it is none of" },
		{ "'kind':'oauth2','authorize':'https://a.example/'",
		    "oauth.token: it is missing" },
		{ OAUTH_PLAIN ",'clientAuth':'jwt'",
		    "oauth.clientAuth: it is none of: basic post none" },
		{ OAUTH_PLAIN ",'request':'https://a.example/'",
		    "oauth.request: the kind is oauth2" },
		{ OAUTH_OLD ",'scopes':['a']", "oauth.scopes: the kind is" },
		{ OAUTH_OLD ",'revoke':'https://a.example/'",
		    "oauth.revoke: the kind is oauth1" },
		{ OAUTH_PLAIN ",'scopes':['a b']",
		    "oauth.scopes: it is not a list of texts" },
		{ OAUTH_PLAIN ",'scopes':'a'",
		    "oauth.scopes: it is not a list of at most" },
		{ OAUTH_PLAIN ",'selectAccount':'prompt'",
		    "oauth.selectAccount: it is not a name" },
		{ OAUTH_PLAIN ",'profile':{'account':'id'}",
		    "oauth.profile.account: it is not a JSON pointer" },
		{ OAUTH_PLAIN ",'profile':{'user':'/id'}",
		    "oauth.profile: it has a member that is not known: user" },
		{ OAUTH_PLAIN ",'profile':'http://a.example/'",
		    "oauth.profile: it is not an address" },
		{ OAUTH_PLAIN ",'register':{'form':'mastodon'}",
		    "oauth.register.url: it is missing" },
		{ OAUTH_PLAIN ",'register':{'url':'https://a.example/'}",
		    "oauth.register.form: it is none of: rfc7591 mastodon" },
		{ OAUTH_PLAIN ",'parameters':['a']",
		    "oauth.parameters: it is not an object" },
		{ OAUTH_PLAIN ",'parameters':{'A':'b'}",
		    "oauth.parameters: a name is not" },
		{ OAUTH_PLAIN ",'parameters':{'a':null,'a':null}",
		    "oauth.parameters: a is there twice" },
		{ OAUTH_PLAIN ",'parameters':{'uuid':'b'}",
		    "oauth.parameters: uuid is a parameter of every login" },
		{ OAUTH_PLAIN ",'parameters':{'confirm':null}",
		    "oauth.parameters: confirm is a parameter of" },
		{ OAUTH_PLAIN ",'parameters':{'a':1}",
		    "oauth.parameters.a: the default is not a text" },
		{ OAUTH_PLAIN ",'parameters':{'a':null}",
		    "oauth.parameters.a: no address has {a}" },
		{ OAUTH_PLAIN ",'hosts':['a.example']",
		    "oauth.hosts: no parameter is a host" },
		{ OAUTH_PLAIN ",'hosts':[]", "oauth.hosts: it is not a list" },
		{ OAUTH_PLAIN ",'hosts':['https://a.example']",
		    "oauth.hosts: it has something other than names" },
		{ OAUTH_PLAIN ",'hosts':['*']", "oauth.hosts: it has" },
	};
	FREED(buf_free) struct buf text = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		buf_clear(&text);
		buf_printf(&text, OAUTH_DECLARED("%s"), rows[i].members);
		testing_refused(buf_text(&text), rows[i].message);
	}
}

/* NULL: the address is right. */
static void
judge_url(const char *url, const char *message)
{
	FREED(buf_free) struct buf text = BUF_INIT;

	buf_printf(&text, OAUTH_DECLARED(OAUTH_PLAIN ",'revoke':'%s',"
	    "'profile':'https://{x}/{y}','parameters':{'x':null,'y':null}"),
	    url);
	if (message != NULL) {
		testing_refused(buf_text(&text), message);
		return;
	}
	struct external_connector *c = testing_load(buf_text(&text));
	external_connector_free(&c);
}

static void
placeholders_are_where_they_can_do_no_harm(void **state)
{
	static const struct { const char *url, *message; } rows[] = {
		{ "https://a.example/{y}/r?q={y}", NULL },
		{ "https://{x}/r", NULL }, { "https://{x}", NULL },
		{ "https://{x}?q=1", NULL },
		{ "https://{x}.a.example/r", NULL },
		{ "https://a.example:8443/r", NULL },
		{ "https://{z}/r", "oauth.revoke: oauth.parameters has no {z" },
		{ "https://a.example/{}",
		    "oauth.revoke: oauth.parameters has no" },
		{ "https://a.{x}/r", "oauth.revoke: {x} is neither" },
		{ "https://{x}a.example/r", "oauth.revoke: {x} is neither" },
		{ "https://{x}.com/r", "oauth.revoke: {x} is neither" },
		{ "https://{x}{y}/r", "oauth.revoke: {x} is neither" },
		{ "https://{x}:8443/r", "oauth.revoke: {x} is neither" },
		{ "https://a@{x}/r", "oauth.revoke: it has no host" },
		{ "https://a.example\\\\@{x}/",
		    "oauth.revoke: it has no host" },
		{ "https:///r", "oauth.revoke: it has no host" },
		{ "https://a.example/{y", "oauth.revoke: it has a brace" },
		{ "https://a.example/y}", "oauth.revoke: it has a brace" },
		{ "https://{x/}/", "oauth.revoke: it has a brace" },
		{ "https://{x?}/", "oauth.revoke: it has a brace" },
		{ "https://a.example/{{y}}", "oauth.revoke: it has a brace" },
		{ "https://a.example/#{y}", "oauth.revoke: it has a brace" },
		{ "http://{x}/r", "oauth.revoke: it is not an address" },
		{ "http://a.example/r", "oauth.revoke: it is not an address" },
		{ "http://127.0.0.1.a.example/", "oauth.revoke: it is not an" },
		{ "http://localhost.a.example/", "oauth.revoke: it is not an" },
		{ "http://127.0.0.1:8080/r?q={y}", NULL },
		{ "http://localhost/r", NULL }, { "http://[::1]:1/r", NULL },
		{ "http://{x}@127.0.0.1/", "oauth.revoke: it is not an" },
		{ "ftp://127.0.0.1/", "oauth.revoke: it is not an address" },
		{ "{x}", "oauth.revoke: it is not an address" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		judge_url(rows[i].url, rows[i].message);
}

static void
hosts_that_users_name_are_told_apart(void **state)
{
	struct external_connector *c = testing_load(OAUTH_DECLARED(
	    "'kind':'oauth2','authorize':'https://{x}/a','token':"
	    "'https://{x}.a.example/t','revoke':'https://a.example/{x}',"
	    "'parameters':{'x':null}"));
	const struct oauth_declaration *d = external_connector_oauth(c);

	(void)state;
	assert_true(oauth_host_is_filled(d, OAUTH_AUTHORIZE));
	assert_true(oauth_host_is_filled(d, OAUTH_TOKEN));
	assert_false(oauth_host_is_filled(d, OAUTH_REVOKE));
	external_connector_free(&c);
}

/* ---- Values ------------------------------------------------------------ */

/* NULL: it is refused. */
static void
judge_value(const struct oauth_declaration *d, size_t i, const char *value,
    const char *expected)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct why w = WHY_INIT;
	struct str out;

	enum err e = oauth_param_read(d, i, str_of(value), &a, &out, &w);
	assert_int_equal(e, expected == NULL ? ERR_INPUT : OK);
	if (expected == NULL)
		assert_string_equal(w.field, d->params[i].name.p);
	else
		assert_string_equal(out.p, expected);
}

static void
a_host_is_a_host_name(void **state)
{
	static const char *const bad[] = { "localhost", "a", "127.0.0.1",
	    "10.1", "0x7f.1", "a.0x7f", "[::1]", "::1", "a.example:443",
	    "https://a.example", "a.example/", "a.example/x", "u@a.example",
	    "a..example", ".a.example", "a.example.", "-a.example",
	    "a-.example", "a_b.example", "a.example\\@b.example", "a b.example",
	    "a.ex%61mple", "\xc3\xa4.example", "a.example#", "a.example?x",
	    "2130706433", "a.1" };
	struct external_connector *c = testing_load(OAUTH_DECLARED(
	    OAUTH_PLAIN ",'revoke':'https://{x}/','parameters':{'x':null}"));
	const struct oauth_declaration *d = external_connector_oauth(c);

	(void)state;
	judge_value(d, 0, "a.example", "a.example");
	judge_value(d, 0, "Mastodon.Example", "mastodon.example");
	judge_value(d, 0, "xn--4ca.example", "xn--4ca.example");
	judge_value(d, 0, "1.2.3.a4", "1.2.3.a4");
	judge_value(d, 0, "", NULL);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		judge_value(d, 0, bad[i], NULL);
		assert_false(oauth_host_is_valid(str_of(bad[i])));
	}
	external_connector_free(&c);
}

static void
hosts_may_be_limited(void **state)
{
	struct external_connector *c = testing_load(OAUTH_DECLARED(
	    OAUTH_MASTODON_MEMBERS));
	const struct oauth_declaration *d = external_connector_oauth(c);

	(void)state;
	judge_value(d, 0, "", "social.example");
	judge_value(d, 0, "SOCIAL.example", "social.example");
	judge_value(d, 0, "a.b.example", "a.b.example");
	judge_value(d, 0, "x.a.b.example", "x.a.b.example");
	judge_value(d, 0, "b.example", NULL);
	judge_value(d, 0, "xb.example", NULL);
	judge_value(d, 0, "other.example", NULL);
	judge_value(d, 0, "a.social.example", NULL);
	external_connector_free(&c);
	testing_refused(OAUTH_DECLARED(OAUTH_PLAIN ",'revoke':'https://{x}/',"
	    "'parameters':{'x':'c.example'},'hosts':['a.example']"),
	    "oauth.parameters.x: the default: this host is not one");
}

static void
labels_and_parts_of_paths(void **state)
{
	struct external_connector *c = testing_load(OAUTH_DECLARED(
	    OAUTH_PLAIN ",'revoke':'https://{shop}.a.example/{t}',"
	    "'parameters':{'shop':null,'t':'common'}"));
	const struct oauth_declaration *d = external_connector_oauth(c);

	(void)state;
	judge_value(d, 0, "Ada-1", "ada-1");
	judge_value(d, 0, "a.b", NULL);
	judge_value(d, 0, "a/b", NULL);
	judge_value(d, 0, "a@b", NULL);
	judge_value(d, 1, "", "common");
	judge_value(d, 1, "a/../b", "a/../b");       /* it is encoded */
	judge_value(d, 1, "..", NULL);
	judge_value(d, 1, ".", NULL);
	judge_value(d, 1, "a\nb", NULL);
	judge_value(d, 1, "\xff", NULL);
	external_connector_free(&c);
}

/* ---- Limits ------------------------------------------------------------ */

/* `n` times `item`, in which %zu is a number, with commas. */
static void
put_items(struct buf *b, size_t n, const char *before, const char *after)
{
	for (size_t i = 0; i < n; i++)
		buf_printf(b, "%s%s%zu%s", i == 0 ? "" : ",", before, i,
		    after);
}

static void
expect_edge(const char *before, const char *item, const char *item_end,
    const char *after, size_t most, const char *message)
{
	for (size_t more = 0; more < 2; more++) {
		FREED(buf_free) struct buf members = BUF_INIT, text = BUF_INIT;
		buf_put_text(&members, before);
		put_items(&members, most + more, item, item_end);
		buf_put_text(&members, after);
		buf_printf(&text, OAUTH_DECLARED("%s"), buf_text(&members));
		if (more) {
			testing_refused(buf_text(&text), message);
			continue;
		}
		struct external_connector *c = testing_load(buf_text(&text));
		external_connector_free(&c);
	}
}

static void
lists_are_bounded(void **state)
{
	FREED(buf_free) struct buf before = BUF_INIT;

	(void)state;
	expect_edge(OAUTH_PLAIN ",'scopes':[", "'s", "'", "]",
	    OAUTH_SCOPES_MAX, "oauth.scopes: it is not a list of at most 100");
	expect_edge(OAUTH_PLAIN ",'revoke':'https://{x}/','parameters':"
	    "{'x':null},'hosts':[", "'h", ".example'", "]", OAUTH_HOSTS_MAX,
	    "oauth.hosts: it is not a list of 1 to 100 names");
	buf_put_text(&before, OAUTH_PLAIN ",'revoke':'https://a.example/");
	for (size_t i = 0; i < OAUTH_PARAMS_MAX; i++)
		buf_printf(&before, "{p%zu}", i);
	buf_put_text(&before, "','parameters':{");
	expect_edge(buf_text(&before), "'p", "':null", "}", OAUTH_PARAMS_MAX,
	    "oauth.parameters: it has more than 10 members");
}

static void
a_value_has_at_most_253_bytes(void **state)
{
	struct external_connector *c = testing_load(OAUTH_DECLARED(
	    OAUTH_PLAIN ",'revoke':'https://a.example/{x}','parameters':"
	    "{'x':null}"));
	const struct oauth_declaration *d = external_connector_oauth(c);
	char value[OAUTH_VALUE_BYTES_MAX + 2];

	(void)state;
	memset(value, 'x', sizeof(value));
	value[OAUTH_VALUE_BYTES_MAX + 1] = '\0';
	judge_value(d, 0, value, NULL);
	value[OAUTH_VALUE_BYTES_MAX] = '\0';
	judge_value(d, 0, value, value);
	external_connector_free(&c);
	/* A label has at most 63. */
	memset(value, 'x', 64);
	memcpy(value + 64, ".example", 9);
	assert_false(oauth_host_is_valid(str_of(value)));
	assert_true(oauth_host_is_valid(str_of(value + 1)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_declaration_has_what_its_file_says),
		cmocka_unit_test(what_is_left_out_has_a_default),
		cmocka_unit_test(wrong_members_are_named),
		cmocka_unit_test(placeholders_are_where_they_can_do_no_harm),
		cmocka_unit_test(hosts_that_users_name_are_told_apart),
		cmocka_unit_test(a_host_is_a_host_name),
		cmocka_unit_test(hosts_may_be_limited),
		cmocka_unit_test(labels_and_parts_of_paths),
		cmocka_unit_test(lists_are_bounded),
		cmocka_unit_test(a_value_has_at_most_253_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
