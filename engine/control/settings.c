/* Settings, as the fetching loops, the ledger and the frontier have them. */
#include "base/text.h"
#include "engine/control/engine_own.h"

/* A foreground crawl's own budgets; a daemon takes the configuration's. */
#define SMALL_SEGMENT_BYTES ((size_t)4 << 20)
#define SMALL_GROUP_MS 10
#define SMALL_CACHE ((size_t)4 << 20)
#define SMALL_UNCOMMITTED_PAGES 384
#define SMALL_UNCOMMITTED_BYTES ((size_t)8 << 20)
#define UNCOMMITTED_PAGES 4096
#define UNCOMMITTED_BYTES ((size_t)64 << 20)
/* Permille of its time that a loop works before it lends pages to idle ones. */
#define LEND_BUSY_MIN 100

/* Pages under way may still read the settings that others replaced. */
struct settings_kept {
	struct settings_kept *next;
	struct fetch_settings settings;
};

void
engine_settings(const struct engine *e, const struct conf *c,
    struct fetch_settings *s)
{
	s->tries_max = (unsigned)conf_int(c, CONF_FETCH_TRIES_MAX);
	s->host_connections_max =
	    (unsigned)conf_int(c, CONF_FETCH_HOST_CONNECTIONS_MAX);
	s->address_connections_max =
	    (unsigned)conf_int(c, CONF_FETCH_ADDRESS_CONNECTIONS_MAX);
	s->address_delay_ms = conf_ms(c, CONF_FETCH_ADDRESS_DELAY_MS);
	s->connections_max = (size_t)conf_int(c, CONF_FETCH_CONNECTIONS_MAX);
	s->connect_ms = conf_ms(c, CONF_FETCH_CONNECT_MS);
	s->total_ms = conf_ms(c, CONF_FETCH_TIMEOUT_MS);
	s->speed_bytes_min = (int64_t)conf_size(c, CONF_FETCH_SPEED_BYTES_MIN);
	s->speed_s = 10;
	s->body_bytes_max = conf_size(c, CONF_FETCH_BODY_BYTES_MAX);
	s->head_bytes_max = conf_size(c, CONF_FETCH_HEAD_BYTES_MAX);
	s->redirects_max = (unsigned)conf_int(c, CONF_FETCH_REDIRECTS_MAX);
	s->decode_ratio_max =
	    (uint32_t)conf_double(c, CONF_FETCH_DECODE_RATIO_MAX);
	s->allow_private = conf_bool(c, CONF_FETCH_ALLOW_PRIVATE);
	s->backoff_ms = conf_ms(c, CONF_FETCH_BACKOFF_MS);
	s->backoff_ms_max = conf_ms(c, CONF_FETCH_BACKOFF_MAX_MS);
	s->host_idle_ms = conf_ms(c, CONF_FETCH_HOST_IDLE_MS);
	s->robots_ttl_s = conf_ms(c, CONF_ROBOTS_TTL_S) / 1000;
	s->robots_retry_s = 60;
	s->links_max = (size_t)conf_int(c, CONF_PARSE_LINKS_MAX);
	s->sitemap_depth_max = (unsigned)conf_int(c, CONF_SITEMAP_DEPTH_MAX);
	s->sitemap_bytes_max = conf_size(c, CONF_SITEMAP_BYTES_MAX);
	s->parse_cpu_ms_max = (uint32_t)conf_ms(c, CONF_PARSE_CPU_MS_MAX);
	s->window = (size_t)conf_int(c, CONF_FRONTIER_WINDOW);
	bool small = e->options.small;
	s->uncommitted_max = small ? SMALL_UNCOMMITTED_PAGES :
	    UNCOMMITTED_PAGES;
	s->uncommitted_bytes_max = small ? SMALL_UNCOMMITTED_BYTES :
	    UNCOMMITTED_BYTES;
	/* A simulator's loops take no time, and lend all the same. */
	s->lend_busy_min = e->options.no_threads ? 0 : LEND_BUSY_MIN;
	s->compression_level =
	    (int)conf_int(c, CONF_WARC_COMPRESSION_LEVEL);
	s->digest = conf_choice(c, CONF_WARC_DIGEST) == 0 ? DIGEST_SHA1 :
	    DIGEST_SHA256;
	s->redact = conf_bool(c, CONF_WARC_REDACT);
	s->http2 = true;
	s->user_agent = conf_str(c, CONF_FETCH_USER_AGENT);
	s->product_token = text_product_token(s->user_agent);
	struct str resolve = conf_str(c, CONF_FETCH_RESOLVE);
	s->resolve = resolve.n == 0 ? NULL : resolve.p;
}

void
engine_read_settings(struct engine *e)
{
	struct settings_kept *k = mem_new(sizeof(*k));

	engine_settings(e, e->options.conf, &k->settings);
	k->next = e->settings_kept;
	e->settings_kept = k;
	e->settings = &k->settings;
}

void
engine_free_settings(struct engine *e)
{
	while (e->settings_kept != NULL) {
		struct settings_kept *k = e->settings_kept;
		e->settings_kept = k->next;
		mem_free(&k);
	}
}

void
engine_reload(struct engine *e)
{
	engine_read_settings(e);
	for (unsigned i = 0; i < e->loops_n; i++)
		fetcher_set(e->fetchers[i], e->settings);
	crawl_runtime_set(e->crawls, e->settings);
}

static struct ledger_options
ledger_settings(struct engine *e)
{
	const struct conf *c = e->options.conf;
	bool small = e->options.small;

	return (struct ledger_options){
		.group_bytes_max = conf_size(c, CONF_LEDGER_GROUP_BYTES_MAX),
		.group_records_max =
		    (uint32_t)conf_int(c, CONF_LEDGER_GROUP_RECORDS_MAX),
		/* A foreground crawl has no client that waits for single
		 * pages; harvests seal their groups at once. */
		.group_ms_max = MAX(conf_ms(c, CONF_LEDGER_GROUP_MS_MAX),
		    small ? SMALL_GROUP_MS : 0),
		.group_promises_few = small ? 0 : 16,
		.checkpoint_part = e->options.checkpoint_part,
		.segment_bytes = e->options.segment_bytes != 0 ?
		    e->options.segment_bytes : small ? SMALL_SEGMENT_BYTES :
		    conf_size(c, CONF_LEDGER_SEGMENT_BYTES),
		.segment_bytes_max = e->options.segment_bytes != 0 ? 0 :
		    conf_size(c, CONF_LEDGER_SEGMENT_BYTES),
		.free_bytes_min = conf_size(c, CONF_DATA_FREE_BYTES_MIN),
		.open_files_max =
		    (unsigned)conf_int(c, CONF_ARCHIVE_OPEN_FILES),
		.index = {
			.write_buffer_bytes =
			    conf_size(c, CONF_LEDGER_WRITE_BUFFER),
			.write_buffers = 4,
			.block_cache_bytes = small ? SMALL_CACHE :
			    conf_size(c, CONF_LEDGER_BLOCK_CACHE),
			.in_memory = e->options.no_threads,
		},
		.threads = !e->options.no_threads,
		.pool = e->pool,
	};
}

struct frontier_options
engine_frontier_settings(struct engine *e)
{
	const struct conf *c = e->options.conf;

	return (struct frontier_options){
		.data_dir = e->data_dir, .load_later = true,
		.urls_loaded = e->options.urls_loaded,
		.known_bytes_max = conf_size(c, CONF_FRONTIER_KNOWN_MEM),
		.ledger = ledger_settings(e),
		.ports = e->ports, .ports_n = e->loops_n,
		.host_shard = &e->host_shard,
		.hosts_active_max =
		    (unsigned)conf_int(c, CONF_FRONTIER_HOSTS_ACTIVE_MAX),
		.token = e->token,
		.lease_relaxed =
		    conf_choice(c, CONF_URLFRONTIER_DURABILITY) == 1,
		.lease_listings_max = (unsigned)conf_int(c,
		    CONF_URLFRONTIER_LISTINGS_MAX),
		.lease_counts_max = (unsigned)conf_int(c,
		    CONF_URLFRONTIER_COUNTS_MAX),
		.rollover_bytes = conf_size(c, CONF_WARC_ROLLOVER_BYTES),
		.rollover_s = conf_ms(c, CONF_WARC_ROLLOVER_S) / 1000,
		.running_max = e->options.small ? 0 :
		    (unsigned)conf_int(c, CONF_CRAWL_RUNNING_MAX),
		.pending_max = e->options.small ? 0 :
		    (unsigned)conf_int(c, CONF_CRAWL_PENDING_MAX),
		.log_max = (unsigned)conf_int(c, CONF_CRAWL_LOG_MAX),
		.sitemap_files_max =
		    (uint64_t)conf_int(c, CONF_SITEMAP_FILES_MAX),
		.sitemap_bytes_max = conf_size(c, CONF_SITEMAP_BYTES_MAX),
		.archive_bytes_max = conf_size(c, CONF_ARCHIVE_BYTES_MAX),
	};
}
