/* Any answers of YouTube; see connector_fuzzing.h. */
#include "engine/connector/connector_fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define KEY "\"credentials\":{\"key\":\"x\"}}"

static const struct connector_state states[] = {
	{ { "UCa.since", 9 }, { "2026-01-05T10:00:00Z", 20 } },
	{ { "abc.since", 9 }, { "2026-01-05T10:00:00Z", 20 } },
};

static const struct fuzzing youtube = {
	.base = "https://www.googleapis.com/youtube/v3/",
	.harvests = {
		{ "youtube_channel", "{\"seeds\":[{\"token\":\"@ada\"},"
		    "{\"uid\":\"UCb\",\"token\":\"@bob\"}]," KEY },
		{ "youtube_channel", "{\"seeds\":[{\"token\":\"@ada\"}],"
		    "\"options\":{\"incremental\":true,\"comments\":true,"
		    "\"limit\":3}," KEY },
		{ "youtube_comments", "{\"seeds\":[{\"uid\":\"abc\"},"
		    "{\"token\":\"https://youtu.be/d\"}]," KEY },
		{ "youtube_comments", "{\"seeds\":[{\"uid\":\"abc\"}],"
		    "\"options\":{\"incremental\":true,\"limit\":3}," KEY },
	},
	.harvests_n = 4,
	.states = states,
	.states_n = ARRAY_LEN(states),
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	fuzzing_run(&youtube, data, n);
	return 0;
}
