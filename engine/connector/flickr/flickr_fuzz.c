/* Any answers of Flickr; see connector_fuzzing.h. */
#include "engine/connector/connector_fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define KEYS "\"credentials\":{\"key\":\"x\",\"secret\":\"y\"}}"

static const struct connector_state states[] = {
	{ { "7@N01.last_photo_id", 19 }, { "8", 1 } },
};

static const struct fuzzing flickr = {
	.base = "https://api.flickr.com/services/rest/?method=flickr.",
	.harvests = {
		{ "flickr_user", "{\"seeds\":[{\"token\":\"ada\"},"
		    "{\"uid\":\"7@N01\",\"token\":\"bob\"}]," KEYS },
		{ "flickr_user", "{\"seeds\":[{\"uid\":\"7@N01\"}],"
		    "\"options\":{\"limit\":3,\"sizes\":[]}," KEYS },
		{ "flickr_photo", "{\"seeds\":[{\"uid\":\"9\"},{\"uid\":8}],"
		    "\"options\":{\"sizes\":[\"Square\"]}," KEYS },
	},
	.harvests_n = 3,
	.states = states,
	.states_n = ARRAY_LEN(states),
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	fuzzing_run(&flickr, data, n);
	return 0;
}
