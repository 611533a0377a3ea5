#include "engine/connector/web.h"

static const struct connector_param params[] = {
	{ "max_hops", CONNECTOR_INT, false, 0, 1000, NULL,
	    "follow links within the host of a seed, so many from the seed; "
	    "0 fetches the seeds alone" },
	{ "embeds", CONNECTOR_BOOL, false, 0, 0, NULL,
	    "fetch also what a page is made of, such as images and styles" },
	{ "max_bytes", CONNECTOR_INT, false, 1, INT64_C(1000000000000000),
	    NULL, "end after this much in WARC files" },
	{ "robots", CONNECTOR_CHOICE, false, 0, 0, "obey ignore",
	    "what to do with robots.txt" },
	{ "limit", CONNECTOR_INT, false, 1, INT64_C(1000000000000000), NULL,
	    "end after so many URLs" },
	{ NULL, CONNECTOR_BOOL, false, 0, 0, NULL, NULL },
};
static const struct connector_key credential[] = {
	{ NULL, false, false, NULL },
};
static const char *const hosts[] = { NULL };

const struct connector web_pages = {
	.type = "web", .platform = "web", .label = "web resources",
	.title = "Web pages",
	.help = "URLs, and with options what they link to and are made of.",
	.kind = CONNECTOR_BATCH, .is_crawl = true, .params = params,
	.seeds = { 1, WEB_SEEDS_MAX, "URL", NULL, NULL },
	.credential = credential, .hosts = hosts,
};
