/* Tickets that are good, and what each wrong one is refused for. */
#include "wire/jwt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "wire/base64.h"

#define NOW_S INT64_C(1795166296)             /* 2026-11-20 */
#define SECRET "0123456789abcdef0123456789abcdef"
#define HS256 "{'alg':'HS256','typ':'JWT'}"
/* Claims with these times and this act; `more` begins with a comma. */
#define CLAIMS(exp, act, more) "{'iss':'acme','aud':'feed','sub':'u7',"      \
	"'subdomain':'acme','act':'" act "','exp':" exp ",'jti':'j1'" more "}"
#define SOON "1795166596"
#define GOOD CLAIMS(SOON, "login", "")

static const struct jwt_key keys[] = {
	{ { "other", 5 }, { "fedcba9876543210fedcba9876543210", 32 } },
	{ { "acme", 4 }, { SECRET, 32 } },
};

/* The text with " in place of '. */
static struct buf
in_quotes(const char *text)
{
	struct buf b = BUF_INIT;

	for (; *text != '\0'; text++)
		buf_put_char(&b, *text == '\'' ? '"' : *text);
	return b;
}

static void
sign(const char *header, const char *claims, const char *secret,
    struct buf *out)
{
	FREED(buf_free) struct buf h = in_quotes(header), c = in_quotes(claims);

	jwt_put(buf_str(&h), buf_str(&c), str_of(secret), out);
}

static enum err
check_jwt(struct str ticket, enum jwt_act act, struct arena *a,
    struct jwt_claims *out, struct why *w)
{
	const struct jwt_request r = { .keys = keys,
	    .keys_n = ARRAY_LEN(keys), .audience = STR("feed"),
	    .subject = STR("u7"), .subdomain = STR("acme"), .act = act,
	    .now = { NOW_S * US_PER_S } };

	return jwt_verify(ticket, &r, a, out, w);
}

/* The ticket is accepted. */
static void
accepts(struct str ticket)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct jwt_claims c;
	struct why w = WHY_INIT;

	if (check_jwt(ticket, JWT_LOGIN, &a, &c, &w) != OK)
		fail_msg("%s", w.text);
	assert_true(str_eq(c.id, STR("j1")));
}

/* The ticket is refused, and this is the field. */
static void
refuses(struct str ticket, const char *field)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct jwt_claims c;
	struct why w = WHY_INIT;

	assert_int_equal(check_jwt(ticket, JWT_LOGIN, &a, &c, &w), ERR_DENIED);
	assert_string_equal(w.field, field);
}

/* These are accepted, or refused for that field, when signed rightly. */
static void
judges(const char *header, const char *claims, const char *field)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	sign(header, claims, SECRET, &b);
	if (field == NULL)
		accepts(buf_str(&b));
	else
		refuses(buf_str(&b), field);
}

/* ---- Tests ------------------------------------------------------------- */

/* RFC 7515 appendix A.1: the signature of others' making. */
static void
the_example_of_the_rfc_is_signed_as_there(void **state)
{
	static const char key[] = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T"
	    "-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
	FREED(buf_free) struct buf secret = BUF_INIT, out = BUF_INIT;

	(void)state;
	assert_true(base64url_read(&secret, str_of(key)));
	jwt_put(STR("{\"typ\":\"JWT\",\r\n \"alg\":\"HS256\"}"),
	    STR("{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n "
	    "\"http://example.com/is_root\":true}"), buf_str(&secret), &out);
	assert_string_equal(buf_text(&out), "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJI"
	    "UzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6"
	    "Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU"
	    "1p1r_wW1gFWFOEjXk");
}

static void
a_good_ticket_gives_its_claims(void **state)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf b = BUF_INIT;
	struct jwt_claims c;
	struct why w = WHY_INIT;

	(void)state;
	sign(HS256, CLAIMS(SOON, "clear", ",'name':'Ada \\u00e4','x':1"),
	    SECRET, &b);
	if (check_jwt(buf_str(&b), JWT_CLEAR, &a, &c, &w) != OK)
		fail_msg("%s", w.text);
	assert_true(str_eq(c.issuer, STR("acme")));
	assert_true(str_eq(c.subject, STR("u7")));
	assert_true(str_eq(c.subdomain, STR("acme")));
	assert_true(str_eq(c.id, STR("j1")));
	assert_true(str_eq(c.name, STR("Ada \xc3\xa4")));
	assert_int_equal(c.expires.us, (NOW_S + 300) * US_PER_S);
	/* Values that it does not allow. */
	assert_int_equal(check_jwt(buf_str(&b), JWT_TOKEN, &a, &c, &w),
	    ERR_DENIED);
	assert_string_equal(w.field, "act");
}

static void
the_header_is_hs256_and_nothing_else(void **state)
{
	static const struct { const char *header, *field; } rows[] = {
		{ HS256, NULL }, { "{'alg':'HS256'}", NULL },
		{ "{'alg':'HS256','typ':'jwt','kid':'1'}", NULL },
		{ "{'alg':'none'}", "alg" }, { "{'alg':'None'}", "alg" },
		{ "{'alg':'hs256'}", "alg" }, { "{'alg':'HS512'}", "alg" },
		{ "{'alg':'RS256'}", "alg" }, { "{'alg':''}", "alg" },
		{ "{'alg':['HS256']}", "alg" }, { "{}", "alg" },
		{ "{'alg':'HS256','crit':['exp']}", "crit" },
		{ "{'alg':'HS256','crit':null}", "crit" },
		{ "{'alg':'HS256','typ':'at+jwt'}", "typ" },
		{ "{'alg':'HS256','alg':'HS256'}", "ticket" },
		{ "['HS256']", "ticket" }, { "{'alg':'HS256'", "ticket" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		judges(rows[i].header, GOOD, rows[i].field);
}

/* `alg` none as it is sent: without a signature. */
static void
an_unsigned_ticket_is_refused(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	sign("{'alg':'none'}", GOOD, SECRET, &b);
	b.n = (size_t)(strrchr(buf_text(&b), '.') - b.p);
	refuses(buf_str(&b), "ticket");
	buf_put_char(&b, '.');
	refuses(buf_str(&b), "ticket");
	buf_clear(&b);
	sign(HS256, GOOD, SECRET, &b);
	b.n = (size_t)(strrchr(buf_text(&b), '.') - b.p) + 1;
	refuses(buf_str(&b), "ticket");
}

static void
each_claim_is_checked(void **state)
{
	static const struct { const char *claims, *field; } rows[] = {
		{ GOOD, NULL },
		{ "[]", "ticket" },
		{ CLAIMS(SOON, "login", ",'jti':'j1'"), "ticket" },
		{ CLAIMS(SOON, "login", ",'iss':'acme'"), "ticket" },
		{ "{}", "iss" }, { "{'iss':7}", "iss" },
		{ "{'iss':'nobody'}", "iss" },
		{ "{'iss':'acme'}", "aud" },
		{ "{'iss':'acme','aud':'feeds'}", "aud" },
		{ "{'iss':'acme','aud':['a','b']}", "aud" },
		{ "{'iss':'acme','aud':['a','feed']}", "sub" },
		{ "{'iss':'acme','aud':'feed','sub':'u8'}", "sub" },
		{ "{'iss':'acme','aud':'feed','sub':'u7'}", "subdomain" },
		{ "{'iss':'acme','aud':'feed','sub':'u7','subdomain':'b'}",
		    "subdomain" },
		{ "{'iss':'acme','aud':'feed','sub':'u7','subdomain':'acme'}",
		    "act" },
		{ CLAIMS(SOON, "token", ""), "act" },
		{ CLAIMS(SOON, "all", ""), "act" },
		{ CLAIMS("'" SOON "'", "login", ""), "exp" },
		{ CLAIMS("null", "login", ""), "exp" },
		{ CLAIMS("-1", "login", ""), "exp" },
		{ CLAIMS("1e300", "login", ""), "exp" },
		{ CLAIMS(SOON, "login", ",'nbf':1795166296"), NULL },
		{ CLAIMS(SOON, "login", ",'nbf':1795166297"), "nbf" },
		{ CLAIMS(SOON, "login", ",'nbf':'x'"), "nbf" },
		{ CLAIMS(SOON, "login", ",'name':null"), NULL },
		{ CLAIMS(SOON, "login", ",'name':7"), "name" },
		{ CLAIMS(SOON, "login", ",'name':'a\\nb'"), "name" },
		{ "{'iss':'acme','aud':'feed','sub':'u7','subdomain':'acme',"
		    "'act':'login','exp':" SOON "}", "jti" },
		{ "{'iss':'acme','aud':'feed','sub':'u7','subdomain':'acme',"
		    "'act':'login','exp':" SOON ",'jti':''}", "jti" },
		{ "{'iss':'acme','aud':'feed','sub':'u7','subdomain':'acme',"
		    "'act':'login','jti':'j1'}", "exp" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		judges(HS256, rows[i].claims, rows[i].field);
}

/* The edges: this second has passed, and 600 seconds are the most. */
static void
it_is_good_for_at_most_ten_minutes(void **state)
{
	static const struct { int64_t ahead; const char *field; } rows[] = {
		{ -3600, "exp" }, { 0, "exp" }, { 1, NULL }, { 600, NULL },
		{ 601, "exp" }, { 86400, "exp" } };
	char claims[300];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		snprintf(claims, sizeof(claims), CLAIMS("%lld", "login", ""),
		    (long long)(NOW_S + rows[i].ahead));
		judges(HS256, claims, rows[i].field);
	}
	judges(HS256, CLAIMS("1795166296.5", "login", ""), NULL);
}

static void
a_foreign_key_is_refused(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	sign(HS256, GOOD, "another key of 32 bytes or more.", &b);
	refuses(buf_str(&b), "signature");
	/* The other back end's key signs none of this one's. */
	buf_clear(&b);
	sign(HS256, GOOD, keys[0].secret.p, &b);
	refuses(buf_str(&b), "signature");
}

/* No letter can be another one, left out or doubled. */
static void
any_change_is_refused(void **state)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf b = BUF_INIT, changed = BUF_INIT;
	struct jwt_claims c;

	(void)state;
	sign(HS256, GOOD, SECRET, &b);
	accepts(buf_str(&b));
	for (size_t i = 0; i < b.n; i++) {
		char was = b.p[i];
		b.p[i] = was == 'A' ? 'B' : 'A';
		assert_int_equal(check_jwt(buf_str(&b), JWT_LOGIN, &a, &c,
		    NULL), ERR_DENIED);
		b.p[i] = was;
		buf_clear(&changed);
		buf_put_str(&changed, str_cut(buf_str(&b), 0, i));
		buf_put_str(&changed, str_from(buf_str(&b), i + 1));
		assert_int_equal(check_jwt(buf_str(&changed), JWT_LOGIN, &a, &c,
		    NULL), ERR_DENIED);
	}
	accepts(buf_str(&b));
}

static void
the_form_is_strict(void **state)
{
	static const char *const rows[] = { "", ".", "..", "...", "a.b",
	    "a.b.c", "e30.e30.", ".e30.e30", "e30..e30", "e30.e30.e30.e30" };
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		refuses(str_of(rows[i]), "ticket");
	refuses(STR_NONE, "ticket");
	sign(HS256, GOOD, SECRET, &b);
	/* Padded, with a blank, and with a part more. */
	buf_put_char(&b, '=');
	refuses(buf_str(&b), "signature");
	b.p[b.n - 1] = ' ';
	refuses(buf_str(&b), "signature");
	b.p[b.n - 1] = '.';
	refuses(buf_str(&b), "ticket");
}

/* A ticket of `n` bytes, which has a claim as long as that needs. */
static void
sign_sized(struct buf *b, size_t n)
{
	FREED(buf_free) struct buf claims = BUF_INIT;

	for (size_t fill = 0; b->n < n; fill++) {
		buf_clear(&claims);
		buf_clear(b);
		buf_printf(&claims, CLAIMS(SOON, "login", ",'x':'%*s'"),
		    (int)fill, "");
		sign(HS256, buf_text(&claims), SECRET, b);
	}
	assert_int_equal(b->n, n);
}

static void
sizes_are_bounded(void **state)
{
	static const struct { const char *name; size_t most; } rows[] = {
		{ "name", JWT_CLAIM_BYTES_MAX }, { "jti", JWT_ID_BYTES_MAX } };
	FREED(buf_free) struct buf b = BUF_INIT, claims = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t more = 0; more < 2; more++) {
			buf_clear(&claims);
			buf_printf(&claims, "{'iss':'acme','aud':'feed','sub':"
			    "'u7','subdomain':'acme','act':'login','exp':" SOON
			    ",'%s':'", rows[i].name);
			for (size_t k = 0; k < rows[i].most + more; k++)
				buf_put_char(&claims, 'x');
			buf_printf(&claims, "'%s}", i == 0 ? ",'jti':'j1'" :
			    "");
			buf_clear(&b);
			sign(HS256, buf_text(&claims), SECRET, &b);
			FREED(arena_free) struct arena a = ARENA_INIT;
			struct jwt_claims c;
			struct why w = WHY_INIT;
			enum err e = check_jwt(buf_str(&b), JWT_LOGIN, &a, &c,
			    &w);
			assert_int_equal(e, more ? ERR_DENIED : OK);
			assert_string_equal(w.field, more ? rows[i].name :
			    "");
		}
	buf_clear(&b);
	sign_sized(&b, JWT_BYTES_MAX);
	accepts(buf_str(&b));
	buf_clear(&b);
	sign_sized(&b, JWT_BYTES_MAX + 1);
	refuses(buf_str(&b), "ticket");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_example_of_the_rfc_is_signed_as_there),
		cmocka_unit_test(a_good_ticket_gives_its_claims),
		cmocka_unit_test(the_header_is_hs256_and_nothing_else),
		cmocka_unit_test(an_unsigned_ticket_is_refused),
		cmocka_unit_test(each_claim_is_checked),
		cmocka_unit_test(it_is_good_for_at_most_ten_minutes),
		cmocka_unit_test(a_foreign_key_is_refused),
		cmocka_unit_test(any_change_is_refused),
		cmocka_unit_test(the_form_is_strict),
		cmocka_unit_test(sizes_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
