/* Any answers of Weibo; see connector_fuzzing.h. */
#include "engine/connector/connector_fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define TOKEN "\"credentials\":{\"access_token\":\"x\"}}"

static const struct connector_state states[] = {
	{ { "cats.since_id", 13 }, { "8", 1 } },
	{ { "set.since_id", 12 }, { "8", 1 } },
};

static const struct fuzzing weibo = {
	.base = "https://api.weibo.com/2/",
	.harvests = {
		{ "weibo_timeline", "{\"collection_set\":{\"id\":\"set\"},"
		    TOKEN },
		{ "weibo_timeline", "{\"collection_set\":{\"id\":\"set\"},"
		    "\"options\":{\"incremental\":true,\"limit\":5}," TOKEN },
		{ "weibo_search", "{\"seeds\":[{\"token\":\"cats\"},"
		    "{\"token\":\"owls\"}]," TOKEN },
		{ "weibo_search", "{\"seeds\":[{\"token\":\"cats\"}],"
		    "\"options\":{\"incremental\":true}," TOKEN },
	},
	.harvests_n = 4,
	.states = states,
	.states_n = ARRAY_LEN(states),
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	fuzzing_run(&weibo, data, n);
	return 0;
}
