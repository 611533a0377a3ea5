#include "cli/registration.h"

/* A status and any bytes as the answer of a back end: what is accepted can be
 * a part of an address, and no sentence has a secret. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define SECRET "Bearer hush-1"
#define TOKEN "argiope_0123"

static const char file[] = "[{\"name\":\"a\",\"token\":\"a\","
	"\"prefix\":\"https://a.org/actions/tasks/\","
	"\"headers\":{\"Authorization\":\"" SECRET "\"}}]";

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const int statuses[] = { 200, 201, 302, 400, 401, 404, 500 };
	static struct backends *set;
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct registration_reply r;
	struct why w = WHY_INIT;
	struct url base, url;

	if (set == NULL)
		CHECK(backends_parse(str_of(file), "", &set, NULL) == OK);
	if (n == 0)
		return 0;
	const struct backend *b = backends_nth(set, 0);
	struct str reply = { (const char *)data + 1, n - 1 };
	enum err e = registration_read(b, statuses[data[0] %
	    ARRAY_LEN(statuses)], reply, STR(""), str_of(TOKEN), &a, &r, &w);
	CHECK((e == OK) == (w.text[0] == '\0'));
	CHECK(strstr(w.text, SECRET) == NULL && strstr(w.text, TOKEN) == NULL);
	if (e != OK)
		return 0;
	CHECK(r.version >= 1 && r.version <= INT64_MAX);
	CHECK(registration_base(b, STR(""), &a, &base, NULL) == OK);
	CHECK(registration_url(&base, r.fid, &a, &url, NULL) == OK);
	CHECK(str_eq(url.path, arena_printf(&a, "/externals/%.*s",
	    STR_FMT(r.fid))));
	return 0;
}
