#include "engine/parser/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct str strip[] = { { "JSESSIONID", 10 }, { "sid", 3 } };

static void
same(const struct url *x, const struct url *y)
{
	CHECK(str_eq(x->href, y->href));
	CHECK(x->scheme == y->scheme && x->port == y->port);
	CHECK(x->port_given == y->port_given);
	CHECK(str_eq(x->username, y->username));
	CHECK(str_eq(x->password, y->password));
	CHECK(str_eq(x->host, y->host) && str_eq(x->path, y->path));
	CHECK(str_eq(x->query, y->query) && str_eq(x->fragment, y->fragment));
}

/*
 * Line 1 is the base, the rest the reference.  Both ways of parsing agree; what
 * was parsed parses to itself; the canonical form is one.
 */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct arena a = ARENA_INIT;
	struct str in = { (const char *)data, n }, base;
	struct url b, u, v, c, d;

	if (!str_split(&in, '\n', &base))
		return 0;
	bool based = url_parse(base, NULL, &a, &b, NULL) == OK;
	enum err e = url_parse(in, based ? &b : NULL, &a, &u, NULL);
	CHECK(e == url_parse_slow(in, based ? &b : NULL, &a, &v, NULL));
	if (e == OK) {
		same(&u, &v);
		CHECK(url_parse(u.href, NULL, &a, &v, NULL) == OK);
		same(&u, &v);
		(void)url_origin(&u, &a);
		(void)url_surt(&u, &a);
		CHECK(url_canonical(&u, strip, 2, &a, &c, NULL) == OK);
		CHECK(url_canonical(&c, strip, 2, &a, &d, NULL) == OK);
		same(&c, &d);
		CHECK(url_parse(c.href, NULL, &a, &d, NULL) == OK);
		same(&c, &d);
	}
	arena_free(&a);
	return 0;
}
