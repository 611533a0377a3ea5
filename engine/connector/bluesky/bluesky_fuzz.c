/* Any answers of the API to a harvest of authors; see connector_fuzzing.h. */
#include "engine/connector/connector_fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define SEEDS "\"seeds\":[{\"token\":\"ada.example\"},{\"uid\":"             \
	"\"did:plc:bob\",\"token\":\"bob.example\"}]"

static const struct connector_state states[] = {
	{ { "did:plc:a.posts_no_replies.since", 32 },
	    { "2026-11-20T09:00:00Z", 20 } },
	{ { "did:plc:a.since", 15 }, { "2026-11-20T09:00:00Z", 20 } },
	{ { "did:plc:bob.since", 17 }, { "x", 1 } },
};

static const struct fuzzing fuzzing = {
	.base = "https://public.api.bsky.app/xrpc/app.bsky.",
	.harvests = {
		{ "bluesky_author_feed", "{" SEEDS "}" },
		{ "bluesky_author_feed", "{" SEEDS ",\"options\":{"
		    "\"incremental\":true,\"limit\":3}}" },
		{ "bluesky_author_feed", "{" SEEDS ",\"options\":{"
		    "\"incremental\":true,\"filter\":\"posts_no_replies\"}}" },
	},
	.harvests_n = 3, .states = states, .states_n = ARRAY_LEN(states),
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	fuzzing_run(&fuzzing, data, n);
	return 0;
}
