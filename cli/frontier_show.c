/*
 * argiope frontier GetStats, GetActive, GetURLStatus, CountURLs, ListNodes,
 * ListCrawls -- one question, one answer.
 */
#include "cli/frontier.h"
#include "cli/remote.h"
#include "cli/verbs.h"
#include "server/json_writer.h"
#include "wire/urlfrontier/interchange.h"

struct show {
	struct frontier_out out;
	bool json, local_dates;
	struct buf b;
};

/* Ask, have print() append the answer, and write that; the exit code. */
static int
show(struct cli *c, const char *rpc, const void *question,
    const ProtobufCMessageDescriptor *answer,
    void (*print)(struct show *, const void *answer))
{
	struct show s = { .json = cli_json(c), .b = BUF_INIT,
	    .local_dates = cli_has(c, "parsedate") &&
	    cli_count(c, "parsedate") > 0 };
	struct remote far;
	struct why w = WHY_INIT;
	void *got;

	enum err e = remote_open(c, &far, &w);
	if (e == OK)
		e = remote_ask(&far, rpc, question, answer, &got, &w);
	remote_close(&far);
	if (e == OK)
		e = frontier_out_open(&s.out, NULL, &w);
	if (e == OK) {
		print(&s, got);
		e = frontier_out_put(&s.out, &s.b, &w);
	}
	buf_free(&s.b);
	return e == OK || e == ERR_CLOSED ? 0 : cli_fail(&w);
}

/* --- GetStats ------------------------------------------------------------- */

static const struct option_row queue_rows[] = {
	FRONTIER_CRAWL(OPTION_ROW) FRONTIER_KEY(OPTION_ROW)
	FRONTIER_LOCAL(OPTION_ROW) FRONTIER_COMMON(OPTION_ROW)
};

const struct option_verb frontier_getstats_verb = {
	"frontier GetStats", NULL, 0, 0,
	"Print the counts of a crawl, or of a queue", FRONTIER_CODES,
	queue_rows, ARRAY_LEN(queue_rows)
};

static void
stats_json(struct buf *b, const Urlfrontier__Stats *s)
{
	buf_put_char(b, '{');
	json_u64(b, "size", s->size);
	json_u64(b, "inProcess", s->inprocess);
	json_object(b, "counts");
	for (size_t i = 0; i < s->n_counts; i++) {
		buf_put_text(b, i > 0 ? "," : "");
		interchange_put_text(b, s->counts[i]->key);
		buf_printf(b, ":%llu",
		    (unsigned long long)s->counts[i]->value);
	}
	buf_put_char(b, '}');
	json_u64(b, "numberOfQueues", s->numberofqueues);
	json_name(b, "crawlID");
	interchange_put_text(b, s->crawlid);
	buf_put_text(b, "}\n");
}

static void
put_count(struct buf *b, const char *name, uint64_t n)
{
	buf_printf(b, "%s: %llu\n", name, (unsigned long long)n);
}

static void
print_stats(struct show *s, const void *answer)
{
	const Urlfrontier__Stats *stats = answer;

	if (s->json) {
		stats_json(&s->b, stats);
		return;
	}
	put_count(&s->b, "Number of queues", stats->numberofqueues);
	put_count(&s->b, "Active URLs", stats->size);
	put_count(&s->b, "In process", stats->inprocess);
	for (size_t i = 0; i < stats->n_counts; i++) {
		frontier_out_text(&s->out, &s->b, stats->counts[i]->key);
		buf_printf(&s->b, " = %llu\n",
		    (unsigned long long)stats->counts[i]->value);
	}
}

int
frontier_getstats_run(struct cli *c)
{
	Urlfrontier__QueueWithinCrawlParams p =
	    URLFRONTIER__QUEUE_WITHIN_CRAWL_PARAMS__INIT;

	p.key = frontier_text(c, "key", "");
	p.crawlid = frontier_text(c, "crawl", FRONTIER_CRAWL_DEFAULT);
	p.local = cli_count(c, "local") > 0;
	return show(c, "GetStats", &p, &urlfrontier__stats__descriptor,
	    print_stats);
}

/* --- GetActive ------------------------------------------------------------ */

static const struct option_row node_rows[] = {
	FRONTIER_LOCAL(OPTION_ROW) FRONTIER_COMMON(OPTION_ROW)
};

const struct option_verb frontier_getactive_verb = {
	"frontier GetActive", NULL, 0, 0,
	"Print whether GetURLs serves URLs", FRONTIER_CODES,
	node_rows, ARRAY_LEN(node_rows)
};

static void
print_active(struct show *s, const void *answer)
{
	bool state = ((const Urlfrontier__Boolean *)answer)->state;

	buf_printf(&s->b, s->json ? "{\"state\":%s}\n" : "Active: %s\n",
	    state ? "true" : "false");
}

int
frontier_getactive_run(struct cli *c)
{
	Urlfrontier__Local l = URLFRONTIER__LOCAL__INIT;

	l.local = cli_count(c, "local") > 0;
	return show(c, "GetActive", &l, &urlfrontier__boolean__descriptor,
	    print_active);
}

/* --- GetURLStatus --------------------------------------------------------- */

#define STATUS_OPTIONS(X)                                                    \
	X(URL, "url", 'u', "URL", TEXT, 0, 0, "the URL")                     \
	X(DATES, "parsedate", 'p', NULL, FLAG, 0, 0,                         \
	    "dates as they are here, not as seconds since 1970")

static const struct option_row status_rows[] = {
	STATUS_OPTIONS(OPTION_ROW) FRONTIER_CRAWL(OPTION_ROW)
	FRONTIER_KEY(OPTION_ROW) FRONTIER_COMMON(OPTION_ROW)
};

const struct option_verb frontier_geturlstatus_verb = {
	"frontier GetURLStatus", NULL, 0, 0,
	"Print what is known of a URL",
	"The URL, a semicolon, and the date from which it is served; 0: it is "
	"completed. With --json the whole record.\n" FRONTIER_CODES,
	status_rows, ARRAY_LEN(status_rows)
};

static void
print_status(struct show *s, const void *answer)
{
	const Urlfrontier__URLItem *item = answer;
	bool known = item->item_case == URLFRONTIER__URLITEM__ITEM_KNOWN;

	if (s->json || !known || item->known->info == NULL) {
		interchange_put(&s->b, item);
	} else {
		frontier_out_text(&s->out, &s->b, item->known->info->url);
		buf_put_char(&s->b, ';');
		frontier_out_date(&s->b, item->known->refetchable_from_date,
		    s->local_dates);
	}
	buf_put_char(&s->b, '\n');
}

int
frontier_geturlstatus_run(struct cli *c)
{
	Urlfrontier__URLStatusRequest r = URLFRONTIER__URLSTATUS_REQUEST__INIT;
	struct why w = WHY_INIT;

	if (frontier_wants(c, "url", &w) != OK)
		return cli_fail(&w);
	r.url = frontier_text(c, "url", "");
	r.key = frontier_text(c, "key", "");
	r.crawlid = frontier_text(c, "crawl", FRONTIER_CRAWL_DEFAULT);
	return show(c, "GetURLStatus", &r, &urlfrontier__urlitem__descriptor,
	    print_status);
}

/* --- CountURLs ------------------------------------------------------------ */

#define COUNT_OPTIONS(X)                                                     \
	X(FILTER, "filter", 'f', "TEXT", TEXT, 0, 0,                         \
	    "only URLs that contain TEXT")                                   \
	X(IGNORE_CASE, "ignore-case", 'i', NULL, FLAG, 0, 0,                 \
	    "whatever the case of its letters")

static const struct option_row count_rows[] = {
	COUNT_OPTIONS(OPTION_ROW) FRONTIER_CRAWL(OPTION_ROW)
	FRONTIER_KEY(OPTION_ROW) FRONTIER_LOCAL(OPTION_ROW)
	FRONTIER_COMMON(OPTION_ROW)
};

const struct option_verb frontier_counturls_verb = {
	"frontier CountURLs", NULL, 0, 0,
	"Count the URLs of a crawl or a queue", FRONTIER_CODES,
	count_rows, ARRAY_LEN(count_rows)
};

static void
print_urls(struct show *s, const void *answer)
{
	unsigned long long n = ((const Urlfrontier__Long *)answer)->value;

	buf_printf(&s->b, s->json ? "{\"value\":%llu}\n" :
	    "%llu URLs in frontier\n", n);
}

int
frontier_counturls_run(struct cli *c)
{
	Urlfrontier__CountUrlParams p = URLFRONTIER__COUNT_URL_PARAMS__INIT;

	p.key = frontier_text(c, "key", "");
	p.crawlid = frontier_text(c, "crawl", FRONTIER_CRAWL_DEFAULT);
	p.filter_given_case =
	    URLFRONTIER__COUNT_URL_PARAMS__FILTER_GIVEN_FILTER;
	p.filter = frontier_text(c, "filter", "");
	p.ignore_case_given_case =
	    URLFRONTIER__COUNT_URL_PARAMS__IGNORE_CASE_GIVEN_IGNORE_CASE;
	p.ignorecase = cli_count(c, "ignore-case") > 0;
	p.local_given_case = URLFRONTIER__COUNT_URL_PARAMS__LOCAL_GIVEN_LOCAL;
	p.local = cli_count(c, "local") > 0;
	return show(c, "CountURLs", &p, &urlfrontier__long__descriptor,
	    print_urls);
}

/* --- ListNodes, ListCrawls ------------------------------------------------ */

static const struct option_row nodes_rows[] = { FRONTIER_COMMON(OPTION_ROW) };

const struct option_verb frontier_listnodes_verb = {
	"frontier ListNodes", NULL, 0, 0,
	"List the nodes of the cluster", FRONTIER_CODES,
	nodes_rows, ARRAY_LEN(nodes_rows)
};
const struct option_verb frontier_listcrawls_verb = {
	"frontier ListCrawls", NULL, 0, 0,
	"List the crawls that have a queue", FRONTIER_CODES,
	node_rows, ARRAY_LEN(node_rows)
};

static void
print_list(struct show *s, const void *answer)
{
	const Urlfrontier__StringList *l = answer;

	buf_put_text(&s->b, s->json ? "{\"values\":[" : "");
	for (size_t i = 0; i < l->n_values; i++) {
		if (s->json) {
			buf_put_text(&s->b, i > 0 ? "," : "");
			interchange_put_text(&s->b, l->values[i]);
		} else {
			frontier_out_text(&s->out, &s->b, l->values[i]);
			buf_put_char(&s->b, '\n');
		}
	}
	buf_put_text(&s->b, s->json ? "]}\n" : "");
}

int
frontier_listnodes_run(struct cli *c)
{
	Urlfrontier__Empty e = URLFRONTIER__EMPTY__INIT;

	return show(c, "ListNodes", &e, &urlfrontier__string_list__descriptor,
	    print_list);
}

int
frontier_listcrawls_run(struct cli *c)
{
	Urlfrontier__Local l = URLFRONTIER__LOCAL__INIT;

	l.local = cli_count(c, "local") > 0;
	return show(c, "ListCrawls", &l,
	    &urlfrontier__string_list__descriptor, print_list);
}
