/* A 304 answer is read as the capture that has its payload. */
#include "engine/catalog/link_scan.h"

#include "base/metric.h"
#include "engine/fetcher/collection.h"
#include "engine/frontier/frontier.h"
#include "engine/parser/parse.h"
#include "engine/policy/policy.h"
#include "os/clock.h"

#define BODY_BYTES_MAX ((size_t)16 << 20)
#define LINKS_MAX 100000u

#define LINKS_METRICS(X)                                                     \
	X(LINKS_READ, COUNTER, "argiope_feed_links_pages_total",             \
	    "Archived pages read to find those that link to a URL; "         \
	    "feed.links_pages_max is the limit of one question.")
enum { LINKS_METRICS(METRIC_ENUM) };
static struct metric metrics[] = { LINKS_METRICS(METRIC_ROW) };

struct link_scan {
	struct frontier *frontier;   /* or NULL: no crawl's policy */
	uint32_t crawl;
	struct str typed;            /* what is looked for, as it was given */
	struct str url;              /* canonical; empty: it is none */
	struct str collection;
	struct policy *policy;       /* NULL: it is not known yet */
	struct parser *parser;
	struct arena arena;          /* of the texts above */
	struct arena page;           /* of one page */
};

void
link_scan_open(void)
{
	metric_register(metrics, ARRAY_LEN(metrics));
}

struct link_scan *
link_scan_new(struct frontier *f, uint32_t crawl, struct str url)
{
	struct link_scan *l = mem_new(sizeof(*l));

	l->frontier = f;
	l->crawl = crawl;
	l->typed = arena_copy(&l->arena, url);
	return l;
}

void
link_scan_free(struct link_scan **lp)
{
	struct link_scan *l = *lp;

	if (l == NULL)
		return;
	policy_free(&l->policy);
	parser_free(&l->parser);
	arena_free(&l->arena);
	arena_free(&l->page);
	mem_free(lp);
}

/* On the pool: which URLs are one, by the crawl's policy. */
static void
begin(struct link_scan *l)
{
	struct crawl_spec spec;
	struct url plain, u;

	l->parser = parser_new();
	if (l->frontier != NULL && frontier_spec(l->frontier, l->crawl,
	    &l->arena, &spec, NULL) == OK) {
		l->collection = paths_collection(ledger_paths(
		    frontier_ledger(l->frontier)), spec.warc_dir, &l->arena);
		if (policy_parse(spec.policy, &l->policy, NULL) != OK)
			l->policy = NULL;
	}
	if (l->policy == NULL)
		l->policy = policy_new();
	if (url_parse(l->typed, NULL, &l->arena, &plain, NULL) == OK &&
	    url_canonical(&plain, l->policy->strip, l->policy->strip_n,
	    &l->arena, &u, NULL) == OK)
		l->url = u.href;
}

static bool
find_digest(struct link_scan *l, struct record_reader *r,
    const struct journal_entry *e, struct journal_entry *out)
{
	if (e->digest.kind == DIGEST_NONE)
		return false;
	buf_clear(&r->key);
	collection_digest_key(l->collection, &e->digest, &r->key);
	return collection_original(r->index, buf_str(&r->key), &l->page,
	    out) == OK;
}

/*
 * The capture that has the payload of an answer of 304.  Where the entry does
 * not say which that is, as those of earlier versions, the newest of its URL.
 */
static bool
find_payload(struct link_scan *l, struct record_reader *r,
    const struct journal_entry *e, struct journal_entry *out)
{
	return find_digest(l, r, e, out) || collection_validator_get(r->index,
	    collection_validator_key(l->collection, e->url, &l->page), e->url,
	    &l->page, out) == OK;
}

static bool
can_have_links(const struct journal_entry *e)
{
	static const struct str without[] = { { "image/", 6 },
	    { "video/", 6 }, { "audio/", 6 }, { "font/", 5 } };

	for (size_t i = 0; i < ARRAY_LEN(without); i++)
		if (str_starts_nocase(e->type, without[i]))
			return false;
	return e->file != 0 && (e->status == 304 ||
	    (e->status >= 200 && e->status <= 299));
}

static bool
names_it(struct link_scan *l, const struct parse_output *found)
{
	struct url u;

	for (size_t i = 0; i < found->links_n; i++)
		if (url_canonical(&found->links[i].url, l->policy->strip,
		    l->policy->strip_n, &l->page, &u, NULL) == OK &&
		    str_eq(u.href, l->url))
			return true;
	return false;
}

static bool
read_page(struct link_scan *l, struct record_reader *r,
    const struct journal_entry *e, struct journal_entry *payload)
{
	struct http_decode_limits limits = { BODY_BYTES_MAX,
	    HTTP_DECODE_LIMITS_DEFAULT.ratio_max };
	struct parse_output found;
	struct capture c;
	struct url own;
	struct parse_input in = { .url = &own, .links_max = LINKS_MAX,
	    .cpu_ns = clock_thread_cpu_ns };

	if (e->status == 304 && !find_payload(l, r, e, payload))
		return false;
	if (record_reader_read(r, e->status == 304 ? payload : e, &c, NULL) !=
	    OK || url_parse(e->final_url.n != 0 ? e->final_url : e->url, NULL,
	    &l->page, &own, NULL) != OK)
		return false;
	buf_clear(&r->body);
	/* The part before the damage is read, as when it was fetched. */
	(void)capture_decode(&c, limits, &r->body);
	in.body = str_cut(buf_str(&r->body), 0, BODY_BYTES_MAX);
	in.content_type = http_find(&c.http, STR("Content-Type"));
	in.nosniff = str_eq_nocase(http_find(&c.http,
	    STR("X-Content-Type-Options")), STR("nosniff"));
	return in.body.n > 0 && parse_document(l->parser, &in, &l->page,
	    &found, NULL) == OK && names_it(l, &found);
}

bool
link_scan_takes(struct link_scan *l, struct record_reader *r,
    const struct journal_entry *e, uint64_t *pages)
{
	struct journal_entry payload;

	if (l->parser == NULL)
		begin(l);
	if (l->url.n == 0 || !can_have_links(e) || str_eq(e->url, l->url))
		return false;
	++*pages;
	metric_add(&metrics[METRIC_LINKS_READ], 1);
	bool takes = read_page(l, r, e, &payload);
	arena_reset(&l->page);
	return takes;
}
