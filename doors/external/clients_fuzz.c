#include "doors/external/clients.h"

/* Any bytes as the file of clients: what is accepted can be sent. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str json = { (const char *)data, n };
	struct clients *set;
	struct why w = WHY_INIT;
	enum err e = clients_parse(json, &set, &w);

	CHECK((e == OK) == (w.text[0] == '\0'));
	CHECK((e == OK) == (set != NULL));
	if (set != NULL)
		CHECK(clients_count(set) <= CLIENTS_MAX);
	const struct oauth_client *c = set == NULL ? NULL : clients_find(set,
	    STR("m"));
	CHECK(c == NULL || (c->id.n > 0 && c->id.n <= OAUTH_TOKEN_BYTES_MAX));
	clients_free(&set);
	return 0;
}
