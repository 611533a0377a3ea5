/* Tickets, origins and subdomains of back ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "doors/external/login_ticket.h"
#include "wire/base64.h"

#define KEY_A "key-of-acme-0123456789-0123456789"
#define KEY_B "key-of-beta-0123456789-0123456789"
#define NOW_S INT64_C(1795166296)
#define HEADER "{\"alg\":\"HS256\"}"

static struct backends *set;

static int
read_set(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	buf_put_text(&b, "[{\"name\":\"acme\",\"token\":\"a\",\"prefix\":"
	    "\"https://be.example/\",\"origins\":[\"https://acme.example\","
	    "\"http://localhost:3000\"],\"subdomains\":[\"acme\",\"one\"],"
	    "\"ticket_key\":\"");
	base64_put(&b, STR(KEY_A));
	buf_put_text(&b, "\"},{\"name\":\"beta\",\"token\":\"b\",\"prefix\":"
	    "\"https://be.example/b/\",\"subdomains\":[\"beta\"],"
	    "\"ticket_key\":\"");
	base64_put(&b, STR(KEY_B));
	buf_put_text(&b, "\"},{\"name\":\"keyless\",\"token\":\"c\","
	    "\"prefix\":\"https://be.example/c/\",\"subdomains\":[\"gamma\"]}"
	    "]");
	return backends_parse(buf_str(&b), "/", &set, NULL) == OK ? 0 : -1;
}

static int
release_set(void **state)
{
	(void)state;
	backends_release(&set);
	return 0;
}

static void
subdomains_name_back_ends(void **state)
{
	(void)state;
	assert_ptr_equal(login_backend_of(set, STR("acme")),
	    backends_nth(set, 0));
	assert_ptr_equal(login_backend_of(set, STR("one")),
	    backends_nth(set, 0));
	assert_ptr_equal(login_backend_of(set, STR("beta")),
	    backends_nth(set, 1));
	assert_null(login_backend_of(set, STR("Acme")));
	assert_null(login_backend_of(set, STR("")));
	assert_null(login_backend_of(set, STR("acm")));
}

static void
names(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	assert_true(login_name_is_valid(STR("u 7/\xc3\xa4")));
	assert_false(login_name_is_valid(STR("")));
	assert_false(login_name_is_valid(STR("a\nb")));
	assert_false(login_name_is_valid(STR("a\xff")));
	memset(buf_grow(&b, STORE_USER_BYTES_MAX), 'a', STORE_USER_BYTES_MAX);
	assert_true(login_name_is_valid(buf_str(&b)));
	buf_put_char(&b, 'a');
	assert_false(login_name_is_valid(buf_str(&b)));
}

static void
origins(void **state)
{
	static const struct {
		const char *referer;
		bool is_known;
	} t[] = {
		{ "https://acme.example/", true },
		{ "https://acme.example/page?q=1", true },
		{ "https://ACME.example:443/page", true },
		{ "http://localhost:3000/", true },
		{ "http://localhost:3001/", false },
		{ "http://acme.example/", false },
		{ "https://acme.example.evil.example/", false },
		{ "https://evil.example/https://acme.example/", false },
		{ "https://acme.example@evil.example/", false },
		{ "https://acme.example:8443/", false },
		{ "about:blank", false }, { "null", false }, { "", false },
	};
	FREED(arena_free) struct arena a = ARENA_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		if (login_referer_is_known(backends_nth(set, 0),
		    str_of(t[i].referer)) != t[i].is_known)
			fail_msg("%s", t[i].referer);
	assert_false(login_referer_is_known(backends_nth(set, 1),
	    STR("https://acme.example/")));
	assert_true(str_eq(login_origins(backends_nth(set, 0), &a),
	    STR("https://acme.example,http://localhost:3000")));
	assert_int_equal(login_origins(backends_nth(set, 1), &a).n, 0);
}

/* The field that denies the ticket; "": none. */
static const char *
judge(size_t backend, const char *header, const char *claims, const char *key,
    struct jwt_claims *c, struct arena *a)
{
	static struct why w;
	FREED(buf_free) struct buf ticket = BUF_INIT;
	const struct store_user user = { STR("acme"), STR("feed"),
	    STR("acme"), STR("u7") };

	w = WHY_INIT;
	jwt_put(str_of(header), str_of(claims), str_of(key), &ticket);
	enum err e = login_ticket_judge(backends_nth(set, backend),
	    buf_str(&ticket), &user, JWT_LOGIN,
	    (struct wall){ NOW_S * US_PER_S }, a, c, &w);
	assert_true(e == OK || e == ERR_DENIED);
	return e == OK ? "" : w.field;
}

#define CLAIMS(iss, aud, sub, subdomain, act, exp) "{\"iss\":\"" iss      \
	"\",\"aud\":\"" aud "\",\"sub\":\"" sub "\",\"subdomain\":\""         \
	subdomain "\",\"act\":\"" act "\",\"exp\":" exp ",\"jti\":\"j1\","    \
	"\"name\":\"Ada\"}"
#define GOOD CLAIMS("acme", "feed", "u7", "acme", "login", "1795166896")

static void
tickets_are_judged(void **state)
{
	static const struct {
		const char *claims, *field;
	} t[] = {
		{ GOOD, "" },
		{ CLAIMS("acme", "feed", "u7", "acme", "login", "1795166897"),
		    "exp" },
		{ CLAIMS("acme", "feed", "u7", "acme", "login", "1795166296"),
		    "exp" },
		{ CLAIMS("beta", "feed", "u7", "acme", "login", "1795166896"),
		    "iss" },
		{ CLAIMS("acme", "food", "u7", "acme", "login", "1795166896"),
		    "aud" },
		{ CLAIMS("acme", "feed", "u8", "acme", "login", "1795166896"),
		    "sub" },
		{ CLAIMS("acme", "feed", "u7", "one", "login", "1795166896"),
		    "subdomain" },
		{ CLAIMS("acme", "feed", "u7", "acme", "token", "1795166896"),
		    "act" },
	};
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct jwt_claims c;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		assert_string_equal(judge(0, HEADER, t[i].claims, KEY_A, &c,
		    &a), t[i].field);
	assert_string_equal(judge(0, HEADER, GOOD, KEY_A, &c, &a), "");
	assert_true(str_eq(c.id, STR("j1")) && str_eq(c.name, STR("Ada")));
	assert_string_equal(judge(0, HEADER, GOOD, KEY_B, &c, &a),
	    "signature");
	/* The algorithm is not the header's choice. */
	assert_string_equal(judge(0, "{\"alg\":\"none\"}", GOOD, KEY_A, &c,
	    &a), "alg");
	assert_string_equal(judge(0, "{\"alg\":\"HS512\"}", GOOD, KEY_A, &c,
	    &a), "alg");
	/* Another back end's ticket, and a back end without a key. */
	assert_string_equal(judge(1, HEADER, GOOD, KEY_A, &c, &a), "iss");
	assert_string_equal(judge(2, HEADER, GOOD, KEY_A, &c, &a), "iss");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(subdomains_name_back_ends),
		cmocka_unit_test(names),
		cmocka_unit_test(origins), cmocka_unit_test(tickets_are_judged),
	};

	return cmocka_run_group_tests(tests, read_set, release_set);
}
