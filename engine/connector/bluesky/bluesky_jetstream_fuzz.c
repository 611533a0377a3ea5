/* Any frames and ends of streams; see connector_fuzzing.h. */
#include "engine/connector/connector_fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct connector_state states[] = {
	{ { "jetstream.j.example.cursor", 26 }, { "1763798400000000", 16 } },
	{ { "jetstream.jetstream.us-east.bsky.network.cursor", 47 },
	    { "7", 1 } },
};

static const struct fuzzing fuzzing = {
	.base = "https://j",
	.harvests = {
		{ "bluesky_jetstream", "{}" },
		{ "bluesky_jetstream", "{\"options\":{\"incremental\":true,"
		    "\"endpoint\":\"j.example\"}}" },
		{ "bluesky_jetstream", "{\"seeds\":[{\"token\":{\"dids\":["
		    "\"did:plc:a\"]}}],\"options\":{\"incremental\":true,"
		    "\"protocol\":\"v2\"}}" },
	},
	.harvests_n = 3, .states = states, .states_n = ARRAY_LEN(states),
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	fuzzing_run(&fuzzing, data, n);
	return 0;
}
