#include "engine/backends/backends_own.h"

/* Any bytes as an endpoint, for back ends with and without a prefix. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char file[] = "["
	"{\"name\":\"a\",\"token\":\"a\",\"prefix\":\"https://a.org/t/\"},"
	"{\"name\":\"b\",\"token\":\"b\",\"prefix\":\"https://a.org/t\"},"
	"{\"name\":\"c\",\"token\":\"c\",\"prefix\":\"http://[::1]:8/\"}]";

static void
check_endpoint(const struct backend *b, struct str endpoint)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf upload = BUF_INIT;
	struct str url, again;
	struct url u;

	if (backend_admit(b, endpoint, &url, &a, NULL) != OK)
		return;
	CHECK(url_parse(url, NULL, &a, &u, NULL) == OK);
	CHECK(str_eq(u.href, url));
	CHECK(u.username.n == 0 && u.password.n == 0 && u.fragment.n == 0);
	CHECK(u.scheme == URL_HTTPS || backend_host_is_loopback(u.host));
	CHECK(str_starts(url, b->prefix));
	CHECK(backend_append_path(url, "/upload", &upload) == OK);
	CHECK(url_parse(buf_str(&upload), NULL, &a, &u, NULL) == OK);
	CHECK(str_ends(u.path, STR("/upload")));
	/* Both are admitted, unless encoding has made them too long. */
	if (upload.n > BACKEND_URL_BYTES_MAX)
		return;
	CHECK(backend_admit(b, url, &again, &a, NULL) == OK);
	CHECK(str_eq(url, again));
	CHECK(backend_admit(b, buf_str(&upload), &again, &a, NULL) == OK);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct backends *set, *local;
	struct str endpoint = { (const char *)data, n };

	if (set == NULL) {
		CHECK(backends_parse(str_of(file), "", &set, NULL) == OK);
		local = backends_local();
	}
	for (size_t i = 0; i < backends_n(set); i++)
		check_endpoint(backends_nth(set, i), endpoint);
	check_endpoint(backends_nth(local, 0), endpoint);
	return 0;
}
