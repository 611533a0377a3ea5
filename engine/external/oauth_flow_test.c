/* Addresses and requests, as the standards' examples have them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/external/external_testing.h"
#include "engine/external/oauth_testing.h"

static struct arena arena;
static struct external_connector *connector;
static struct str values[OAUTH_PARAMS_MAX];
static struct oauth_flow flow;

/* A flow of a connector whose `oauth` has these members; its parameters have
 * their defaults. */
static void
begin_flow(const char *members)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct why w = WHY_INIT;

	external_connector_free(&connector);
	buf_printf(&text, OAUTH_DECLARED("%s"), members);
	connector = testing_load(buf_text(&text));
	flow = (struct oauth_flow){
		.declared = external_connector_oauth(connector),
		.values = values,
		.client = { STR("s6BhdRkqt3"), STR("7Fjfp0Z:r1/KtD") },
		.redirect_uri = STR("https://c.example/cb"),
	};
	for (size_t i = 0; i < flow.declared->params_n; i++)
		if (oauth_param_read(flow.declared, i, STR_NONE, &arena,
		    &values[i], &w) != OK)
			fail_msg("%s", w.text);
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
assert_text(struct str s, const char *text)
{
	if (!str_eq(s, str_of(text)))
		fail_msg("\"%.*s\" is not \"%s\"", STR_FMT(s), text);
}

/* `headers` are lines "NAME: VALUE" without those for Accept. */
static void
expect(const struct oauth_request *r, const char *method, const char *url,
    const char *headers, const char *body)
{
	FREED(buf_free) struct buf all = BUF_INIT;

	assert_string_equal(r->method, method);
	assert_text(r->url, url);
	for (size_t i = 0; i < r->headers_n; i++) {
		const struct oauth_field *f = &r->headers[i];
		if (strcmp(f->name, "Accept") == 0)
			assert_text(f->value, "application/json");
		else
			buf_printf(&all, "%s: %.*s\n", f->name,
			    STR_FMT(f->value));
	}
	assert_string_equal(buf_text(&all), headers);
	assert_text(r->body, body);
}

#define FORM "Content-Type: application/x-www-form-urlencoded\n"

/* ---- OAuth 2.0 --------------------------------------------------------- */

/* RFC 7636 appendix B. */
static void
a_challenge_is_the_verifiers_digest(void **state)
{
	(void)state;
	assert_text(oauth_pkce_challenge(
	    STR("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"), &arena),
	    "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
}

static void
the_browser_is_sent_to_authorize(void **state)
{
	(void)state;
	begin_flow(OAUTH_MASTODON_MEMBERS);
	assert_text(oauth_authorize_url(&flow, STR("a&b"), STR("ch"), false,
	    &arena), "https://social.example/oauth/authorize?response_type="
	    "code&client_id=s6BhdRkqt3&redirect_uri=https%3A%2F%2Fc.example"
	    "%2Fcb&scope=read%20profile&state=a%26b&code_challenge=ch"
	    "&code_challenge_method=S256");
	assert_true(str_ends(oauth_authorize_url(&flow, STR("s"), STR("ch"),
	    true, &arena), STR("&force_login=true")));
	/* Without scopes; the address has a query of its own. */
	begin_flow("'kind':'oauth2','authorize':'https://a.example/?v=2',"
	    "'token':'https://a.example/'");
	assert_text(oauth_authorize_url(&flow, STR("s"), STR("ch"), true,
	    &arena), "https://a.example/?v=2&response_type=code&client_id="
	    "s6BhdRkqt3&redirect_uri=https%3A%2F%2Fc.example%2Fcb&state=s"
	    "&code_challenge=ch&code_challenge_method=S256&prompt="
	    "select_account");
	begin_flow(OAUTH_PLAIN ",'selectAccount':''");
	assert_true(str_ends(oauth_authorize_url(&flow, STR("s"), STR("ch"),
	    true, &arena), STR("&code_challenge_method=S256")));
}

/* RFC 6749 §2.3.1, §4.1.3, §6; RFC 7636 §4.5. */
static void
the_client_authenticates_as_declared(void **state)
{
	struct oauth_request r;

	(void)state;
	begin_flow(OAUTH_PLAIN);
	r = oauth_exchange(&flow, STR("Splx+10"), STR("ver~1"), &arena);
	/* "s6BhdRkqt3:7Fjfp0Z%3Ar1%2FKtD" */
	expect(&r, "POST", "https://a.example/token", "Authorization: Basic "
	    "czZCaGRSa3F0Mzo3RmpmcDBaJTNBcjElMkZLdEQ=\n" FORM,
	    "grant_type=authorization_code&code=Splx%2B10&redirect_uri="
	    "https%3A%2F%2Fc.example%2Fcb&code_verifier=ver~1");
	begin_flow(OAUTH_PLAIN ",'clientAuth':'post'");
	r = oauth_refresh(&flow, STR("tGz/v3"), &arena);
	expect(&r, "POST", "https://a.example/token", FORM,
	    "grant_type=refresh_token&refresh_token=tGz%2Fv3&client_id="
	    "s6BhdRkqt3&client_secret=7Fjfp0Z%3Ar1%2FKtD");
	begin_flow(OAUTH_PLAIN ",'clientAuth':'none'");
	r = oauth_refresh(&flow, STR("t"), &arena);
	expect(&r, "POST", "https://a.example/token", FORM,
	    "grant_type=refresh_token&refresh_token=t&client_id=s6BhdRkqt3");
}

/* RFC 7009 §2.1. */
static void
tokens_are_revoked(void **state)
{
	struct oauth_request r;

	(void)state;
	begin_flow(OAUTH_MASTODON_MEMBERS);
	r = oauth_revoke(&flow, STR("45gh"), true, &arena);
	expect(&r, "POST", "https://social.example/oauth/revoke", FORM,
	    "token=45gh&token_type_hint=refresh_token&client_id=s6BhdRkqt3"
	    "&client_secret=7Fjfp0Z%3Ar1%2FKtD");
	r = oauth_revoke(&flow, STR("45gh"), false, &arena);
	assert_true(str_starts(r.body,
	    STR("token=45gh&token_type_hint=access_token&")));
}

static void
the_profile_is_asked_by_the_token(void **state)
{
	struct oauth_request r;

	(void)state;
	begin_flow(OAUTH_MASTODON_MEMBERS);
	r = oauth_profile(&flow, STR("mF_9.B5f-4.1JqM"), STR_NONE, &arena);
	expect(&r, "GET", "https://social.example/api/v1/accounts/"
	    "verify_credentials", "Authorization: Bearer mF_9.B5f-4.1JqM\n",
	    "");
}

static void
a_client_registers_itself(void **state)
{
	struct oauth_request r;

	(void)state;
	begin_flow(OAUTH_MASTODON_MEMBERS);
	r = oauth_register(&flow, STR("A & B"), &arena);
	expect(&r, "POST", "https://social.example/api/v1/apps", FORM,
	    "client_name=A%20%26%20B&redirect_uris=https%3A%2F%2Fc.example"
	    "%2Fcb&scopes=read%20profile");
	begin_flow(OAUTH_PLAIN ",'register':{'form':'rfc7591','url':"
	    "'https://a.example/reg'}");
	r = oauth_register(&flow, STR("A \"B\""), &arena);
	expect(&r, "POST", "https://a.example/reg",
	    "Content-Type: application/json\n", "{\"client_name\":"
	    "\"A \\\"B\\\"\",\"redirect_uris\":[\"https://c.example/cb\"],"
	    "\"grant_types\":[\"authorization_code\",\"refresh_token\"],"
	    "\"response_types\":[\"code\"],\"token_endpoint_auth_method\":"
	    "\"client_secret_basic\"}");
}

/* ---- Addresses --------------------------------------------------------- */

/* No value can leave its place. */
static void
values_are_encoded_in_addresses(void **state)
{
	(void)state;
	begin_flow("'kind':'oauth2','authorize':'https://a.example/{t}/x?q="
	    "{t}','token':'https://{s}.a.example/','parameters':{'t':"
	    "'a/../?#&{s}','s':'Shop'}");
	assert_text(oauth_url_fill(&flow, OAUTH_AUTHORIZE, &arena),
	    "https://a.example/a%2F..%2F%3F%23%26%7Bs%7D/x?q=a%2F..%2F%3F%23"
	    "%26%7Bs%7D");
	assert_text(oauth_url_fill(&flow, OAUTH_TOKEN, &arena),
	    "https://shop.a.example/");
	assert_int_equal(oauth_url_fill(&flow, OAUTH_REVOKE, &arena).n, 0);
}

/* RFC 9207 §2.4. */
static void
an_issuer_is_the_declared_one_or_the_origin(void **state)
{
	(void)state;
	begin_flow(OAUTH_MASTODON_MEMBERS);
	assert_true(oauth_issuer_is(&flow, STR("https://social.example")));
	assert_true(oauth_issuer_is(&flow, STR("https://social.example/")));
	assert_false(oauth_issuer_is(&flow, STR("https://other.example")));
	assert_false(oauth_issuer_is(&flow, STR("https://social.example.b")));
	assert_false(oauth_issuer_is(&flow, STR("http://social.example")));
	assert_false(oauth_issuer_is(&flow, STR("")));
	begin_flow(OAUTH_PLAIN ",'issuer':'https://a.example/realms/x'");
	assert_true(oauth_issuer_is(&flow,
	    STR("https://a.example/realms/x")));
	assert_false(oauth_issuer_is(&flow, STR("https://a.example")));
}

/* ---- OAuth 1.0a -------------------------------------------------------- */

static void
oauth1_asks_for_a_request_token_first(void **state)
{
	struct oauth_request r;

	(void)state;
	begin_flow(OAUTH_OLD ",'profile':{'url':'https://a.example/me',"
	    "'account':'/id'}");
	flow.nonce = STR("n1");
	flow.now = (struct wall){ INT64_C(137131200) * US_PER_S };
	r = oauth_request_token(&flow, &arena);
	assert_string_equal(r.method, "POST");
	assert_text(r.url, "https://a.example/request");
	assert_int_equal(r.headers_n, 2);
	assert_true(str_starts(r.headers[1].value, STR("OAuth oauth_callback="
	    "\"https%3A%2F%2Fc.example%2Fcb\", oauth_consumer_key="
	    "\"s6BhdRkqt3\", oauth_nonce=\"n1\", oauth_signature_method="
	    "\"HMAC-SHA1\", oauth_timestamp=\"137131200\", oauth_version="
	    "\"1.0\", oauth_signature=\"")));
	assert_text(oauth_authorize_url(&flow, STR("t/1"), STR_NONE, true,
	    &arena), "https://a.example/auth?oauth_token=t%2F1");
	r = oauth_exchange1(&flow, STR("t1"), STR("s1"), STR("v1"), &arena);
	assert_text(r.url, "https://a.example/token");
	struct str header = r.headers[1].value;
	assert_true(str_find(header, STR("oauth_token=\"t1\", "
	    "oauth_verifier=\"v1\"")) < header.n);
	assert_true(str_find(header, STR("oauth_callback")) == header.n);
	r = oauth_profile(&flow, STR("t2"), STR("s2"), &arena);
	assert_string_equal(r.method, "GET");
	header = r.headers[1].value;
	assert_true(str_find(header, STR("oauth_token=\"t2\"")) < header.n);
	assert_int_equal(r.body.n, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_challenge_is_the_verifiers_digest),
		cmocka_unit_test(the_browser_is_sent_to_authorize),
		cmocka_unit_test(the_client_authenticates_as_declared),
		cmocka_unit_test(tokens_are_revoked),
		cmocka_unit_test(the_profile_is_asked_by_the_token),
		cmocka_unit_test(a_client_registers_itself),
		cmocka_unit_test(values_are_encoded_in_addresses),
		cmocka_unit_test(an_issuer_is_the_declared_one_or_the_origin),
		cmocka_unit_test(oauth1_asks_for_a_request_token_first),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
