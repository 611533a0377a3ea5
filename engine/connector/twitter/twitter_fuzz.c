/* Any answers to searches and timelines of both APIs; see connector_fuzzing.h.
 */
#include "engine/connector/connector_fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define BEARER ",\"credentials\":{\"bearer_token\":\"b\"}}"
#define KEYS ",\"credentials\":{\"consumer_key\":\"c\",\"consumer_secret\":" \
	"\"s\",\"access_token\":\"a\",\"access_token_secret\":\"t\"}}"
#define SEARCHES "{\"seeds\":[{\"token\":\"cats\"},{\"token\":{\"query\":"   \
	"\"owls\",\"start_time\":\"2023-03-01\",\"limit\":3}}]"
#define PLACES "{\"seeds\":[{\"token\":\"cats\"},{\"token\":{"          \
	"\"geocode\":\"1,2,3mi\"}}]"
#define ACCOUNTS "{\"seeds\":[{\"token\":\"ada\"},{\"uid\":\"8\"}]"
#define ALL_URLS ",\"options\":{\"incremental\":true,\"limit\":5,"           \
	"\"media\":true,\"web_resources\":true,\"user_images\":true}"

static const struct connector_state states[] = {
	{ { "cats.since_id", 13 }, { "41", 2 } },
	{ { "owls.since_id", 13 }, { "x", 1 } },
	{ { "timeline.7.since_id", 19 }, { "6", 1 } },
};

static const struct fuzzing fuzzing = {
	.base = "https://api.twitter.com/",
	.harvests = {
		{ "twitter_search_2", SEARCHES BEARER },
		{ "twitter_search_2", SEARCHES ALL_URLS KEYS },
		{ "twitter_academic_search", SEARCHES ALL_URLS BEARER },
		{ "twitter_user_timeline_2", ACCOUNTS BEARER },
		{ "twitter_user_timeline_2", ACCOUNTS ALL_URLS KEYS },
		{ "twitter_search", PLACES ALL_URLS KEYS },
		{ "twitter_user_timeline", ACCOUNTS KEYS },
		{ "twitter_user_timeline", ACCOUNTS ALL_URLS KEYS },
	},
	.harvests_n = 8, .states = states, .states_n = ARRAY_LEN(states),
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	fuzzing_run(&fuzzing, data, n);
	return 0;
}
