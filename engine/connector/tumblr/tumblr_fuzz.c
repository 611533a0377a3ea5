/* Any answers of Tumblr; see connector_fuzzing.h. */
#include "engine/connector/connector_fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define KEY "\"credentials\":{\"api_key\":\"x\"}}"

static const struct connector_state states[] = {
	{ { "ada.since_post_id", 17 }, { "8", 1 } },
};

static const struct fuzzing tumblr = {
	.base = "https://api.tumblr.com/v2/blog/",
	.harvests = {
		{ "tumblr_blog_posts", "{\"seeds\":[{\"uid\":\"ada\"},"
		    "{\"uid\":\"b.example\"}]," KEY },
		{ "tumblr_blog_posts", "{\"seeds\":[{\"uid\":\"ada\"}],"
		    "\"options\":{\"incremental\":true,\"limit\":5}," KEY },
	},
	.harvests_n = 2,
	.states = states,
	.states_n = ARRAY_LEN(states),
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	fuzzing_run(&tumblr, data, n);
	return 0;
}
