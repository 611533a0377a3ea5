/* Any answers of the API to a harvest of authors; see calls_testing.h. */
#include "engine/connector/calls_testing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define BASE "https://public.api.bsky.app/xrpc/app.bsky."
#define SEEDS "\"seeds\":[{\"token\":\"ada.example\"},{\"uid\":"             \
	"\"did:plc:bob\",\"token\":\"bob.example\"}]"

static const char *const state[] = { "did:plc:a.posts_no_replies.since",
	"2026-11-20T09:00:00Z", "did:plc:a.since", "2026-11-20T09:00:00Z",
	"did:plc:bob.since", "x", NULL };

static const struct testing_calls harvests[] = {
	{ "bluesky_author_feed", "{" SEEDS "}", state, BASE,
	    { ".since", NULL }, 20000 },
	{ "bluesky_author_feed", "{" SEEDS ",\"options\":{\"incremental\":true,"
	    "\"limit\":3}}", state, BASE, { ".since", NULL }, 20000 },
	{ "bluesky_author_feed", "{" SEEDS ",\"options\":{\"incremental\":true,"
	    "\"filter\":\"posts_no_replies\"}}", state, BASE,
	    { ".since", NULL }, 20000 },
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	testing_fuzz_calls(harvests, ARRAY_LEN(harvests), data, n);
	return 0;
}
