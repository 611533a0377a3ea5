/* Any answers of declared platforms, and any description; see
 * connector_fuzzing.h. */
#include "engine/connector/connector_fuzzing.h"
#include "engine/connector/json/json_description.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define API(url, more)                                                       \
	"\"options\":{\"incremental\":true,\"limit\":9,\"api\":{\"url\":\""  \
	url "\",\"label\":\"topics\",\"items\":\"/list\",\"id\":\"/id\","    \
	"\"date\":\"/at\"," more "}}}"

static const struct connector_state states[] = {
	{ { "https://a.example/cats.since", 28 }, { "2026-01-05", 10 } },
	{ { "https://a.example/x.since", 25 }, { "99", 2 } },
};

static const struct fuzzing platforms = {
	.base = "https://a.example",
	.is_host = true,
	.harvests = {
		{ "json_api", "{\"seeds\":[{\"token\":\"cats\"},{\"token\":"
		    "\"owls\"}]," API("https://a.example/{seed}", "\"next\":"
		    "{\"cursor\":\"/next\",\"parameter\":\"after\"},\"since\":"
		    "{\"parameter\":\"from\",\"from\":\"date\"}") },
		{ "json_api", "{" API("https://a.example/x", "\"next\":"
		    "{\"url\":\"/next\"},\"since\":{\"parameter\":\"from\","
		    "\"from\":\"id\"}") },
		{ "json_api", "{" API("https://a.example/x", "\"next\":"
		    "{\"link\":\"next\"}") },
		{ "json_api", "{" API("https://a.example/x?n=2", "\"next\":"
		    "{\"offset\":\"o\",\"by\":2}") },
	},
	.harvests_n = 4,
	.states = states,
	.states_n = ARRAY_LEN(states),
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct arena a = ARENA_INIT;
	struct json_description d;
	yyjson_doc *doc = yyjson_read((const char *)data, n, 0);

	(void)!json_description_read(yyjson_doc_get_root(doc), &a, &d, NULL);
	yyjson_doc_free(doc);
	arena_free(&a);
	fuzzing_run(&platforms, data, n);
	return 0;
}
