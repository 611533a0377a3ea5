#include "engine/backends/backends_own.h"

/* Any bytes as the file of back ends: what is accepted keeps its promises. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
check_backend(const struct backends *set, const struct backend *b)
{
	struct arena a = ARENA_INIT;
	struct str url;

	CHECK(b->name.n > 0 && backends_find(set, b->name) == b);
	CHECK(b->token.n > 0 && backends_of_token(set, b->token) == b);
	CHECK(b->headers_n <= BACKEND_HEADERS_MAX);
	CHECK(b->ticket_key.p == NULL ||
	    b->ticket_key.n >= BACKEND_TICKET_KEY_BYTES_MIN);
	CHECK(b->prefix_url.scheme == URL_HTTPS ||
	    backend_host_is_loopback(b->prefix_url.host));
	/* Each prefix is below itself, unless it became too long. */
	if (b->prefix.n <= BACKEND_URL_BYTES_MAX) {
		CHECK(backend_admit(b, b->prefix, &url, &a, NULL) == OK);
		CHECK(str_eq(url, b->prefix));
	}
	arena_free(&a);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct backends *set;
	struct why w = WHY_INIT;
	enum err err = backends_parse((struct str){ (const char *)data, n },
	    "", &set, &w);

	CHECK((err == OK) == (w.text[0] == '\0'));
	CHECK((err == OK) == (set != NULL));
	for (size_t i = 0; set != NULL && i < backends_n(set); i++)
		check_backend(set, backends_nth(set, i));
	backends_release(&set);
	return 0;
}
