/* Asks each fetching loop for its state of one crawl. */
#include "engine/catalog/core.h"

void
host_view_of(const struct fetcher_host *h, uint64_t queued, struct arena *a,
    struct host_view *out)
{
	static const char *const states[] = {
		[HOST_WAITS_NOT] = "ready", [HOST_WAITS_DELAY] = "delayed",
		[HOST_WAITS_BACKOFF] = "backoff",
		[HOST_WAITS_ROBOTS] = "robots",
	};

	*out = (struct host_view){
		.host = arena_copy(a, h->host), .queued = queued,
		.state = states[h->wait], .delay_s = h->delay_s,
		.next_s = h->next_s, .in_flight = h->in_flight,
	};
}

struct fetcher_crawl *
loop_views_new(const struct catalog *c, uint32_t crawl, size_t urls_max,
    struct fetcher_host *hosts, size_t hosts_n)
{
	struct fetcher_crawl *views = mem_array(c->options.fetchers_n,
	    sizeof(*views));

	for (size_t i = 0; i < c->options.fetchers_n; i++)
		views[i] = (struct fetcher_crawl){ .crawl = crawl,
		    .urls_max = urls_max, .hosts = hosts, .hosts_n = hosts_n };
	return views;
}

void
loop_views_free(const struct catalog *c, struct fetcher_crawl **views)
{
	for (size_t i = 0; *views != NULL && i < c->options.fetchers_n; i++)
		arena_free(&(*views)[i].arena);
	mem_free(views);
}
