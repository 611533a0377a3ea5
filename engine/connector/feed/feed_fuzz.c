/* Any answers to a harvest of feeds; see connector_fuzzing.h. */
#include "engine/connector/connector_fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define SEEDS "\"seeds\":[{\"token\":\"https://f.example/feed\"},{\"token\":"  \
	"\"http://g.example\"}]"

static const struct connector_state states[] = {
	{ { "http://g.example/.etag", 22 }, { "\"x\"", 3 } },
	{ { "http://g.example/.last_modified", 31 }, { "x\ny", 3 } },
	{ { "http://g.example/.seen", 22 }, { "0123456789abcdef0", 17 } },
	{ { "https://f.example/feed.etag", 27 }, { "W/\"1\"", 5 } },
	{ { "https://f.example/feed.seen", 27 }, { "x", 1 } },
};

static const struct fuzzing fuzzing = {
	.base = "http",
	.harvests = {
		{ "feed_entries", "{" SEEDS "}" },
		{ "feed_entries", "{" SEEDS ",\"options\":{\"history\":true,"
		    "\"media\":true,\"web_resources\":true}}" },
		{ "feed_entries", "{" SEEDS ",\"options\":{\"history\":true,"
		    "\"incremental\":true,\"limit\":2}}" },
	},
	.harvests_n = 3, .states = states, .states_n = ARRAY_LEN(states),
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	fuzzing_run(&fuzzing, data, n);
	return 0;
}
