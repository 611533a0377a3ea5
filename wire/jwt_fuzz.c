/*
 * Fuzz: bytes as a ticket, and, signed, as claims under a right header and as a
 * header over right claims, so that the code behind the signature is reached.
 */
#include "wire/jwt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
check_jwt(struct str ticket, struct str secret)
{
	const struct jwt_key key = { STR("acme"), secret };
	const struct jwt_request r = { .keys = &key, .keys_n = 1,
	    .audience = STR("feed"), .subject = STR("u7"),
	    .subdomain = STR("acme"), .act = JWT_LOGIN,
	    .now = { INT64_C(1795166296) * US_PER_S } };
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct jwt_claims c;
	struct why w = WHY_INIT;

	enum err e = jwt_verify(ticket, &r, &a, &c, &w);
	if (e != OK) {
		CHECK(e == ERR_DENIED && w.field[0] != '\0');
		return;
	}
	/* An accepted ticket matches the request. */
	CHECK(ticket.n <= JWT_BYTES_MAX);
	CHECK(str_eq(c.issuer, key.issuer));
	CHECK(str_eq(c.subject, r.subject));
	CHECK(str_eq(c.subdomain, r.subdomain));
	CHECK(c.id.n > 0 && c.id.n <= JWT_ID_BYTES_MAX);
	CHECK(c.expires.us > r.now.us && c.expires.us <= r.now.us +
	    JWT_AHEAD_S_MAX * US_PER_S);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	FREED(buf_free) struct buf ticket = BUF_INIT;
	struct str s = { (const char *)data, n };
	struct str secret = STR("0123456789abcdef0123456789abcdef");

	check_jwt(s, secret);
	jwt_put(STR("{\"alg\":\"HS256\"}"), s, secret, &ticket);
	check_jwt(buf_str(&ticket), secret);
	buf_clear(&ticket);
	jwt_put(s, STR("{\"iss\":\"acme\",\"aud\":\"feed\",\"sub\":\"u7\","
	    "\"subdomain\":\"acme\",\"act\":\"login\",\"exp\":1795166596,"
	    "\"jti\":\"1\"}"), secret, &ticket);
	check_jwt(buf_str(&ticket), secret);
	return 0;
}
