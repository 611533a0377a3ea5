/* Any answers to searches and timelines of both APIs; see calls_testing.h. */
#include "engine/connector/calls_testing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define V2 "https://api.twitter.com/2/"
#define BEARER ",\"credentials\":{\"bearer_token\":\"b\"}}"
#define KEYS ",\"credentials\":{\"consumer_key\":\"c\",\"consumer_secret\":" \
	"\"s\",\"access_token\":\"a\",\"access_token_secret\":\"t\"}}"
#define SEARCHES "{\"seeds\":[{\"token\":\"cats\"},{\"token\":{\"query\":"   \
	"\"owls\",\"start_time\":\"2023-03-01\",\"limit\":3}}]"
#define ACCOUNTS "{\"seeds\":[{\"token\":\"ada\"},{\"uid\":\"8\"}]"
#define ALL_URLS ",\"options\":{\"incremental\":true,\"limit\":5,"           \
	"\"media\":true,\"web_resources\":true,\"user_images\":true}"
#define KEY_ENDS { ".since_id", NULL }
#define SAVED_BYTES 1200

static const char *const state[] = { "cats.since_id", "41", "owls.since_id",
	"x", "timeline.7.since_id", "6", NULL };

static const struct testing_calls harvests[] = {
	{ "twitter_search_2", SEARCHES BEARER, state, V2, KEY_ENDS,
	    SAVED_BYTES },
	{ "twitter_search_2", SEARCHES ALL_URLS KEYS, state, V2, KEY_ENDS,
	    SAVED_BYTES },
	{ "twitter_academic_search", SEARCHES ALL_URLS BEARER, state, V2,
	    KEY_ENDS, SAVED_BYTES },
	{ "twitter_user_timeline_2", ACCOUNTS BEARER, state, V2, KEY_ENDS,
	    SAVED_BYTES },
	{ "twitter_user_timeline_2", ACCOUNTS ALL_URLS KEYS, state, V2,
	    KEY_ENDS, SAVED_BYTES },
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	testing_fuzz_calls(harvests, ARRAY_LEN(harvests), data, n);
	return 0;
}
