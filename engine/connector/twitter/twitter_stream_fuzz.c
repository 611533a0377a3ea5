/* Any lines and answers of streams of both APIs; see connector_fuzzing.h. */
#include "engine/connector/connector_fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define KEYS "\"credentials\":{\"consumer_key\":\"c\",\"consumer_secret\":"  \
	"\"s\",\"access_token\":\"a\",\"access_token_secret\":\"t\"}}"
#define URLS "\"options\":{\"media\":true,\"web_resources\":true,"           \
	"\"user_images\":true},"
#define RULES "\"seeds\":[{\"token\":{\"rule\":\"cat\",\"tag\":\"cats\"}},"  \
	"{\"token\":\"dog\"},{\"token\":\"dog\"}],"

static const struct fuzzing fuzzing = {
	.base = "https://",
	.harvests = {
		{ "twitter_sample", "{" URLS KEYS },
		{ "twitter_filter", "{\"seeds\":[{\"token\":\"a\"}]," KEYS },
		{ "twitter_filter_stream", "{" RULES KEYS },
		{ "twitter_filter_stream", "{" RULES URLS
		    "\"credentials\":{\"bearer_token\":\"b\"}}" },
	},
	.harvests_n = 4,
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	fuzzing_run(&fuzzing, data, n);
	return 0;
}
