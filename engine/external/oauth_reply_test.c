/* Replies: what they give, and who must act when they give nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/external/external_testing.h"
#include "engine/external/oauth_testing.h"

#define NOW_US INT64_C(1795166296000000)      /* 2026-11-20 */

static struct arena arena;
static struct external_connector *connector;
static struct oauth_flow flow;

static void
begin_flow(const char *members)
{
	FREED(buf_free) struct buf text = BUF_INIT;

	external_connector_free(&connector);
	buf_printf(&text, OAUTH_DECLARED("%s"), members);
	connector = testing_load(buf_text(&text));
	flow = (struct oauth_flow){
		.declared = external_connector_oauth(connector),
		.now = { NOW_US },
	};
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

static struct str
in_quotes(const char *text)
{
	FREED(buf_free) struct buf b = testing_quoted(text);

	return arena_copy(&arena, buf_str(&b));
}

static int64_t
after_s(int64_t seconds)
{
	return NOW_US + seconds * US_PER_S;
}

/* Tokens of a reply that must be right. */
static struct oauth_tokens
tokens(const char *body, const struct oauth_tokens *before)
{
	struct oauth_tokens t;
	struct oauth_account account;
	struct oauth_fault f;

	if (!oauth_read_tokens(&flow, 200, in_quotes(body), before, &arena, &t,
	    &account, &f))
		fail_msg("%s", f.text);
	return t;
}

#define INVALID_CLIENT "the provider answered invalid_client"

/* A reply to a request for tokens that is refused, by actor and text. */
static void
refused(int status, const char *body, const char *actor, const char *text)
{
	struct oauth_tokens t;
	struct oauth_account account;
	struct oauth_fault f;

	assert_false(oauth_read_tokens(&flow, status, in_quotes(body), NULL,
	    &arena, &t, &account, &f));
	assert_string_equal(oauth_actor_text(f.actor), actor);
	if (!str_starts(str_of(f.text), str_of(text)))
		fail_msg("\"%s\" does not begin with \"%s\"", f.text, text);
	assert_int_equal(f.is_invalid_grant, strcmp(text,
	    "the provider answered invalid_grant") == 0);
	assert_int_equal(f.is_invalid_client, strncmp(text, INVALID_CLIENT,
	    strlen(INVALID_CLIENT)) == 0);
}

/* ---- Tokens ------------------------------------------------------------ */

/* external.md §8: expiry, and the refresh when 10 % of the life are left. */
static void
tokens_say_when_they_end(void **state)
{
	struct oauth_tokens t;

	(void)state;
	begin_flow(OAUTH_PLAIN);
	t = tokens("{'access_token':'a1','token_type':'Bearer','expires_in':"
	    "1000,'refresh_token':'r1','scope':'x'}", NULL);
	assert_text(t.access, "a1");
	assert_text(t.refresh, "r1");
	assert_int_equal(t.access_ends.us, after_s(1000));
	assert_int_equal(t.refresh_at.us, after_s(900));
	assert_int_equal(t.refresh_ends.us, OAUTH_NEVER.us);
	assert_int_equal(t.expiry.us, OAUTH_NEVER.us);
	/* The refresh token's own end. */
	t = tokens("{'access_token':'a','expires_in':'60','refresh_token':'r',"
	    "'refresh_token_expires_in':5000}", NULL);
	assert_int_equal(t.access_ends.us, after_s(60));
	assert_int_equal(t.expiry.us, after_s(5000));
	t = tokens("{'access_token':'a','expires_in':60,'refresh_token':'r',"
	    "'refresh_expires_in':7000}", NULL);
	assert_int_equal(t.expiry.us, after_s(7000));
	/* Without a refresh token. */
	t = tokens("{'access_token':'a','expires_in':60}", NULL);
	assert_int_equal(t.expiry.us, after_s(60));
	assert_int_equal(t.refresh_at.us, 0);
	assert_null(t.refresh.p);
	/* Without an end. */
	t = tokens("{'access_token':'a'}", NULL);
	assert_int_equal(t.expiry.us, OAUTH_NEVER.us);
	t = tokens("{'access_token':'a','refresh_token':'r'}", NULL);
	assert_int_equal(t.refresh_at.us, 0);
}

static void
lifetimes_that_make_no_sense_are_ignored(void **state)
{
	static const char *const lives[] = { "0", "-5", "null", "'x'",
	    "99999999999999999999", "1e300", "[]", "3153600001" };
	char body[100];

	(void)state;
	begin_flow(OAUTH_PLAIN);
	for (size_t i = 0; i < ARRAY_LEN(lives); i++) {
		snprintf(body, sizeof(body), "{'access_token':'a','expires_in'"
		    ":%s}", lives[i]);
		assert_int_equal(tokens(body, NULL).access_ends.us,
		    OAUTH_NEVER.us);
	}
	/* A hundred years are the most. */
	assert_int_equal(tokens("{'access_token':'a','expires_in':3153600000}",
	    NULL).access_ends.us, after_s(3153600000));
}

/* RFC 6749 §6: a refresh token that is not replaced stays. */
static void
a_refresh_keeps_what_is_not_replaced(void **state)
{
	struct oauth_tokens before, t;

	(void)state;
	begin_flow(OAUTH_PLAIN ",'profile':{'account':'/id'}");
	before = (struct oauth_tokens){ .access = STR("a1"),
		.refresh = STR("r1"), .refresh_ends = { after_s(5000) } };
	t = tokens("{'access_token':'a2','expires_in':100}", &before);
	assert_text(t.access, "a2");
	assert_text(t.refresh, "r1");
	assert_int_equal(t.expiry.us, after_s(5000));
	assert_int_equal(t.refresh_at.us, after_s(90));
	t = tokens("{'access_token':'a2','refresh_token':'r2'}", &before);
	assert_text(t.refresh, "r2");
	assert_int_equal(t.expiry.us, OAUTH_NEVER.us);
	/* The same token with a new end. */
	t = tokens("{'access_token':'a2','refresh_expires_in':9000}", &before);
	assert_text(t.refresh, "r1");
	assert_int_equal(t.expiry.us, after_s(9000));
}

/* Archives are kept free of the last ones, too; all fit into a sealed text. */
static void
a_refresh_knows_the_tokens_before_it(void **state)
{
	static char *const names[] = { "a1", "a2", "a3", "a4", "a5", "a6" };
	static char large[OAUTH_TOKEN_BYTES_MAX];
	struct oauth_tokens t = { .access = STR("a0") };

	(void)state;
	begin_flow(OAUTH_PLAIN);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char reply[60];
		struct oauth_tokens before = t;
		snprintf(reply, sizeof(reply), "{'access_token':'%s'}",
		    names[i]);
		t = tokens(reply, &before);
		assert_int_equal(t.former_n, MIN(i + 1, OAUTH_FORMER_MAX));
		assert_true(str_eq(t.former[0], before.access));
	}
	assert_text(t.former[OAUTH_FORMER_MAX - 1], "a2");
	/* The same one with a new end. */
	struct oauth_tokens before = t;
	t = tokens("{'access_token':'a6','expires_in':100}", &before);
	assert_text(t.former[0], "a5");
	/* Three of these are too many bytes. */
	memset(large, 'x', sizeof(large));
	before = (struct oauth_tokens){ .access = { large, sizeof(large) },
		.former = { { large, sizeof(large) }, STR("a7") },
		.former_n = 2 };
	t = tokens("{'access_token':'a8'}", &before);
	assert_int_equal(t.former_n, 2);
	assert_int_equal(t.former[1].n, sizeof(large));
}

static void
tokens_that_are_of_no_use(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	begin_flow(OAUTH_PLAIN);
	refused(200, "", "system", "the provider's reply is not a JSON");
	refused(200, "[]", "system", "the provider's reply is not a JSON");
	refused(200, "access_token=a", "system", "the provider's reply is not");
	refused(200, "{}", "system", "the provider's reply has no access");
	refused(200, "{'access_token':''}", "system", "the provider's reply");
	refused(200, "{'access_token':7}", "system", "the provider's reply");
	refused(200, "{'access_token':'a\\r\\nX: y'}", "system",
	    "the provider's reply has no access");
	refused(200, "{'access_token':'a b'}", "system",
	    "the provider's reply has no access");
	refused(200, "{'access_token':'a','token_type':'mac'}", "system",
	    "the provider's token is not of type bearer");
	refused(200, "{'access_token':'a','token_type':null}", "system",
	    "the provider's token is not of type bearer");
	refused(200, "{'access_token':'a','refresh_token':'r\\n'}", "system",
	    "the provider's refresh token");
	/* The edge of a token's length. */
	for (size_t more = 0; more < 2; more++) {
		buf_clear(&b);
		buf_put_text(&b, "{'access_token':'");
		for (size_t i = 0; i < OAUTH_TOKEN_BYTES_MAX + more; i++)
			buf_put_char(&b, 'x');
		buf_put_text(&b, "'}");
		if (more)
			refused(200, buf_text(&b), "system",
			    "the provider's reply has no access");
		else
			assert_int_equal(tokens(buf_text(&b), NULL).access.n,
			    OAUTH_TOKEN_BYTES_MAX);
	}
}

/* `n` bytes, or `depth` levels; refused one beyond. */
static void
replies_are_bounded(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	begin_flow(OAUTH_PLAIN);
	buf_put_text(&b, "{'access_token':'a'}");
	while (b.n < OAUTH_REPLY_BYTES_MAX)
		buf_put_char(&b, ' ');
	tokens(buf_text(&b), NULL);
	buf_put_char(&b, ' ');
	refused(200, buf_text(&b), "system", "the provider's reply is not");
	for (size_t more = 0; more < 2; more++) {
		size_t inner = OAUTH_REPLY_DEPTH_MAX - 1 + more;
		buf_clear(&b);
		buf_put_text(&b, "{'access_token':'a','x':");
		for (size_t i = 0; i < inner; i++)
			buf_put_char(&b, '[');
		for (size_t i = 0; i < inner; i++)
			buf_put_char(&b, ']');
		buf_put_char(&b, '}');
		if (more)
			refused(200, buf_text(&b), "system",
			    "the provider's reply is not");
		else
			tokens(buf_text(&b), NULL);
	}
}

/* ---- Errors ------------------------------------------------------------ */

static void
an_error_says_who_must_act(void **state)
{
	static const struct { int status; const char *body, *actor, *text; }
	    rows[] = {
		{ 400, "{'error':'invalid_grant','error_description':'s3cr3t'"
		    "}", "config", "the provider answered invalid_grant" },
		/* As some do it. */
		{ 200, "{'error':'invalid_grant'}", "config",
		    "the provider answered invalid_grant" },
		{ 401, "{'error':'invalid_client'}", "system",
		    "the provider answered invalid_client (status 401)" },
		{ 400, "{'error':'invalid_scope'}", "system",
		    "the provider answered invalid_scope" },
		{ 400, "{'error':'temporarily_unavailable'}", "transient",
		    "the provider answered temporarily_unavailable" },
		{ 400, "{'error':'access_denied'}", "config",
		    "the provider answered access_denied" },
		/* Not known: by the status. */
		{ 400, "{'error':'E-12.x'}", "system",
		    "the provider answered E-12.x (status 400)" },
		{ 503, "{'error':'busy'}", "transient",
		    "the provider answered busy (status 503)" },
		/* Not shown, as it could repeat a secret. */
		{ 400, "{'error':'no token s3cr3t'}", "system",
		    "the provider answered an error (status 400)" },
		{ 400, "{'error':{'code':1}}", "system",
		    "the provider answered with status 400" },
		{ 404, "<html>", "system",
		    "the provider answered with status 404" },
		{ 302, "", "system",
		    "the provider answered with a redirect (status 302)" },
		{ 408, "", "transient", "the provider answered with" },
		{ 429, "", "transient", "the provider answered with" },
		{ 500, "{}", "transient", "the provider answered with" },
		{ 502, "<html>", "transient", "the provider answered with" },
	};

	(void)state;
	begin_flow(OAUTH_PLAIN);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		refused(rows[i].status, rows[i].body, rows[i].actor,
		    rows[i].text);
}

static void
a_callback_may_bring_an_error(void **state)
{
	struct oauth_fault f;

	(void)state;
	oauth_callback_fault(STR("access_denied"), &f);
	assert_int_equal(f.actor, OAUTH_ACTOR_USER);
	assert_string_equal(f.text, "the provider answered access_denied");
	oauth_callback_fault(STR("server_error"), &f);
	assert_int_equal(f.actor, OAUTH_ACTOR_LATER);
	oauth_callback_fault(STR("<script>"), &f);
	assert_int_equal(f.actor, OAUTH_ACTOR_OPERATOR);
	assert_string_equal(f.text, "the provider answered an error");
}

/* ---- Accounts ---------------------------------------------------------- */

static bool
profile(int status, const char *body, struct oauth_account *out,
    struct oauth_fault *f)
{
	return oauth_read_profile(&flow, status, in_quotes(body), &arena, out,
	    f);
}

static void
a_profile_names_the_account(void **state)
{
	struct oauth_account p;
	struct oauth_fault f;

	(void)state;
	begin_flow(OAUTH_PLAIN ",'profile':{'url':'https://a.example/me',"
	    "'account':'/data/id','name':'/data/name','email':'/email'}");
	assert_true(profile(200, "{'data':{'id':12345678901234567890123,"
	    "'name':'Ada'},'email':'a@a.example'}", &p, &f));
	assert_text(p.account, "12345678901234567890123");
	assert_text(p.name, "Ada");
	assert_text(p.email, "a@a.example");
	/* Only the account is needed. */
	assert_true(profile(200, "{'data':{'id':'x','name':'a\\nb'},'email':"
	    "'none'}", &p, &f));
	assert_text(p.account, "x");
	assert_int_equal(p.name.n, 0);
	assert_int_equal(p.email.n, 0);
	assert_false(profile(200, "{'data':{}}", &p, &f));
	assert_int_equal(f.actor, OAUTH_ACTOR_OPERATOR);
	assert_string_equal(f.text, "the provider's reply does not name the "
	    "account");
	assert_false(profile(401, "{}", &p, &f));
	assert_int_equal(f.actor, OAUTH_ACTOR_USER);
	assert_false(profile(503, "", &p, &f));
	assert_int_equal(f.actor, OAUTH_ACTOR_LATER);
}

static void
texts_of_a_profile_are_bounded(void **state)
{
	struct oauth_account p;
	struct oauth_fault f;
	char body[3000];

	(void)state;
	begin_flow(OAUTH_PLAIN ",'profile':{'url':'https://a.example/me',"
	    "'account':'/id','name':'/name'}");
	for (int more = 0; more < 2; more++) {
		snprintf(body, sizeof(body), "{'id':'x','name':'%0*d'}",
		    (int)OAUTH_NAME_BYTES_MAX + more, 0);
		assert_true(profile(200, body, &p, &f));
		assert_int_equal(p.name.n, more ? 0 : OAUTH_NAME_BYTES_MAX);
		snprintf(body, sizeof(body), "{'id':'%0*d'}",
		    (int)OAUTH_ACCOUNT_BYTES_MAX + more, 0);
		assert_int_equal(profile(200, body, &p, &f), !more);
	}
}

/* A profile without an address: the token's reply tells it. */
static void
a_tokens_reply_may_name_the_account(void **state)
{
	struct oauth_tokens t;
	struct oauth_account p;
	struct oauth_fault f;

	(void)state;
	begin_flow(OAUTH_PLAIN ",'profile':{'account':'/user/id'}");
	assert_true(oauth_read_tokens(&flow, 200, in_quotes(
	    "{'access_token':'a','user':{'id':'u1'}}"), NULL, &arena, &t, &p,
	    &f));
	assert_text(p.account, "u1");
	refused(200, "{'access_token':'a'}", "system", "the provider's reply "
	    "does not name");
}

/* ---- OAuth 1.0a -------------------------------------------------------- */

/* RFC 5849 §2.1, §2.3. */
static void
oauth1_replies_are_forms(void **state)
{
	struct oauth_tokens t;
	struct oauth_account p;
	struct oauth_fault f;
	struct str token, secret;

	(void)state;
	begin_flow(OAUTH_OLD ",'profile':{'account':'/user_id','name':"
	    "'/screen_name'}");
	assert_true(oauth_read_request_token(200, STR("oauth_token=hh%2B5"
	    "&oauth_token_secret=hd&oauth_callback_confirmed=true\n"), &arena,
	    &token, &secret, &f));
	assert_text(token, "hh+5");
	assert_text(secret, "hd");
	assert_false(oauth_read_request_token(200, STR("oauth_token=h"
	    "&oauth_token_secret=hd"), &arena, &token, &secret, &f));
	assert_true(str_starts(str_of(f.text), STR("the provider does not "
	    "confirm")));
	assert_false(oauth_read_request_token(401, STR(""), &arena, &token,
	    &secret, &f));
	assert_int_equal(f.actor, OAUTH_ACTOR_OPERATOR);
	assert_false(oauth_read_request_token(200, STR("oauth_token=h"), &arena,
	    &token, &secret, &f));

	assert_true(oauth_read_tokens(&flow, 200, STR("oauth_token=nn&"
	    "oauth_token_secret=pf&user_id=38&screen_name=a+b"), NULL, &arena,
	    &t, &p, &f));
	assert_text(t.access, "nn");
	assert_text(t.secret, "pf");
	assert_int_equal(t.expiry.us, OAUTH_NEVER.us);
	assert_int_equal(t.refresh_at.us, 0);
	assert_text(p.account, "38");
	assert_text(p.name, "a b");
	refused(200, "oauth_token=a&oauth_token_secret=b", "system",
	    "the provider's reply does not name");
	refused(200, "oauth_token=a", "system", "the provider's reply has no");
	refused(401, "", "config", "the provider answered with status 401");
	refused(500, "", "transient", "the provider answered with status");
}

/* ---- Clients and revocation -------------------------------------------- */

static void
a_registration_gives_a_client(void **state)
{
	struct oauth_client c;
	struct oauth_fault f;

	(void)state;
	assert_true(oauth_read_client(201, in_quotes("{'client_id':'i',"
	    "'client_secret':'s','client_secret_expires_at':0}"), &arena, &c,
	    &f));
	assert_text(c.id, "i");
	assert_text(c.secret, "s");
	assert_true(oauth_read_client(200, in_quotes("{'client_id':'i'}"),
	    &arena, &c, &f));
	assert_int_equal(c.secret.n, 0);
	assert_false(oauth_read_client(200, in_quotes("{'client_secret':'s'}"),
	    &arena, &c, &f));
	assert_false(oauth_read_client(200, in_quotes("{'client_id':'a\\nb'}"),
	    &arena, &c, &f));
	assert_false(oauth_read_client(400, in_quotes("{'error':"
	    "'invalid_redirect_uri'}"), &arena, &c, &f));
	assert_string_equal(f.text, "the provider answered "
	    "invalid_redirect_uri (status 400)");
}

/* RFC 7009 §2.2: whatever the body is. */
static void
a_revocation_is_judged_by_its_status(void **state)
{
	struct oauth_fault f;

	(void)state;
	assert_true(oauth_read_revocation(200, STR(""), &f));
	assert_true(oauth_read_revocation(204, STR("x"), &f));
	assert_false(oauth_read_revocation(503, STR(""), &f));
	assert_int_equal(f.actor, OAUTH_ACTOR_LATER);
	assert_false(oauth_read_revocation(400, in_quotes("{'error':"
	    "'unsupported_token_type'}"), &f));
	assert_int_equal(f.actor, OAUTH_ACTOR_OPERATOR);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens_say_when_they_end),
		cmocka_unit_test(lifetimes_that_make_no_sense_are_ignored),
		cmocka_unit_test(a_refresh_keeps_what_is_not_replaced),
		cmocka_unit_test(a_refresh_knows_the_tokens_before_it),
		cmocka_unit_test(tokens_that_are_of_no_use),
		cmocka_unit_test(replies_are_bounded),
		cmocka_unit_test(an_error_says_who_must_act),
		cmocka_unit_test(a_callback_may_bring_an_error),
		cmocka_unit_test(a_profile_names_the_account),
		cmocka_unit_test(texts_of_a_profile_are_bounded),
		cmocka_unit_test(a_tokens_reply_may_name_the_account),
		cmocka_unit_test(oauth1_replies_are_forms),
		cmocka_unit_test(a_registration_gives_a_client),
		cmocka_unit_test(a_revocation_is_judged_by_its_status),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
