/* argiope frontier ListQueues, ListURLs, GetURLs -- what comes as a list. */
#include "cli/frontier.h"
#include "cli/remote.h"
#include "cli/verbs.h"
#include "server/json_writer.h"
#include "wire/urlfrontier/interchange.h"

/* A list on its way from a server to a file. */
struct listing {
	struct remote remote;
	struct frontier_out out;
	bool json, local_dates;
	size_t got;                      /* of the last page */
	struct buf line;
	struct why why;
};

static enum err
listing_open(struct listing *l, struct cli *c, const char *path)
{
	*l = (struct listing){ .json = cli_json(c), .line = BUF_INIT,
	    .why = WHY_INIT };
	enum err e = remote_open(c, &l->remote, &l->why);
	return e == OK ? frontier_out_open(&l->out, path, &l->why) : e;
}

/* The exit code; who reads no more has seen enough. */
static int
listing_end(struct listing *l, enum err e)
{
	enum err end = frontier_out_close(&l->out, &l->why);

	remote_close(&l->remote);
	buf_free(&l->line);
	e = l->why.err != OK ? l->why.err : e == OK ? end : e;
	return e == OK || e == ERR_CLOSED ? 0 : cli_fail(&l->why);
}

/* The line is complete; false when it cannot be written. */
static bool
put_line(struct listing *l)
{
	buf_put_char(&l->line, '\n');
	return frontier_out_put(&l->out, &l->line, &l->why) == OK;
}

/* --- ListQueues ----------------------------------------------------------- */

#define QUEUES_OPTIONS(X)                                                    \
	X(NUMBER, "number", 'n', "N", NUMBER, 1, UINT32_MAX,                 \
	    "at most N queues, or N a page (100)")                           \
	X(START, "start", 's', "N", NUMBER, 0, UINT32_MAX,                   \
	    "leave out the first N (0)")                                     \
	X(INACTIVE, "include-inactive", 'i', NULL, FLAG, 0, 0,               \
	    "also those that are blocked or have nothing left")              \
	X(OUTPUT, "output", 'o', "FILE", PATH, 0, 0,                         \
	    "write all of them to FILE, page by page")

static const struct option_row queues_rows[] = {
	QUEUES_OPTIONS(OPTION_ROW) FRONTIER_CRAWL(OPTION_ROW)
	FRONTIER_LOCAL(OPTION_ROW) FRONTIER_COMMON(OPTION_ROW)
};

const struct option_verb frontier_listqueues_verb = {
	"frontier ListQueues", NULL, 0, 0,
	"List the queues of a crawl",
	"One key a line; with --json one object for each page. With --output "
	"pages are asked for until one is empty; a FILE whose name ends in "
	".gz is packed.\n" FRONTIER_CODES,
	queues_rows, ARRAY_LEN(queues_rows)
};

static void
queues_json(struct buf *b, const Urlfrontier__QueueList *q)
{
	buf_put_text(b, "{\"values\":[");
	for (size_t i = 0; i < q->n_values; i++) {
		buf_put_text(b, i > 0 ? "," : "");
		interchange_put_text(b, q->values[i]);
	}
	buf_put_char(b, ']');
	json_u64(b, "start", q->start);
	json_u64(b, "size", q->size);
	json_name(b, "crawlID");
	interchange_put_text(b, q->crawlid);
	buf_put_char(b, '}');
}

static bool
put_queues(void *arg, const void *message)
{
	const Urlfrontier__QueueList *q = message;
	struct listing *l = arg;

	l->got = q->n_values;
	if (l->json) {
		queues_json(&l->line, q);
		return put_line(l);
	}
	for (size_t i = 0; i < q->n_values; i++) {
		frontier_out_text(&l->out, &l->line, q->values[i]);
		if (!put_line(l))
			return false;
	}
	return true;
}

int
frontier_listqueues_run(struct cli *c)
{
	Urlfrontier__Pagination p = URLFRONTIER__PAGINATION__INIT;
	const char *path = cli_text(c, "output", NULL);
	struct listing l;

	p.size = (uint32_t)cli_number(c, "number", 100);
	p.start = (uint32_t)cli_number(c, "start", 0);
	p.include_inactive = cli_count(c, "include-inactive") > 0;
	p.crawlid = frontier_text(c, "crawl", FRONTIER_CRAWL_DEFAULT);
	p.local = cli_count(c, "local") > 0;
	enum err e = listing_open(&l, c, path);
	do {
		l.got = 0;
		if (e == OK)
			e = remote_each(&l.remote, "ListQueues", &p,
			    &urlfrontier__queue_list__descriptor, put_queues,
			    &l, &l.why);
		p.start += (uint32_t)l.got;
	} while (e == OK && path != NULL && l.got > 0);
	return listing_end(&l, e);
}

/* --- ListURLs ------------------------------------------------------------- */

#define URLS_OPTIONS(X)                                                      \
	X(NUMBER, "number", 'n', "N", NUMBER, 1, UINT32_MAX,                 \
	    "at most N URLs (100)")                                          \
	X(START, "start", 's', "N", NUMBER, 0, UINT32_MAX,                   \
	    "leave out the first N (0)")                                     \
	X(OUTPUT, "output", 'o', "FILE", PATH, 0, 0, "write them to FILE")   \
	X(FILTER, "filter", 'f', "TEXT", TEXT, 0, 0,                         \
	    "only URLs that contain TEXT")                                   \
	X(IGNORE_CASE, "ignore-case", 'i', NULL, FLAG, 0, 0,                 \
	    "whatever the case of its letters")                              \
	X(JSON, "json", 'j', NULL, FLAG, 0, 0, "print JSON")                 \
	X(DATES, "parsedate", 'p', NULL, FLAG, 0, 0,                         \
	    "dates as they are here, not as seconds since 1970")

static const struct option_row urls_rows[] = {
	URLS_OPTIONS(OPTION_ROW) FRONTIER_CRAWL(OPTION_ROW)
	FRONTIER_KEY(OPTION_ROW) FRONTIER_LOCAL(OPTION_ROW)
	FRONTIER_SERVER(OPTION_ROW) OPTION_COMMON_LONG(OPTION_ROW)
};

const struct option_verb frontier_listurls_verb = {
	"frontier ListURLs", NULL, 0, 0,
	"List the URLs of a crawl or a queue",
	"A URL a line, a semicolon, and the date from which it is served; 0: "
	"it is completed. With --json the whole record, as PutURLs reads it. "
	"A FILE whose name ends in .gz is packed.\n" FRONTIER_CODES,
	urls_rows, ARRAY_LEN(urls_rows)
};

static bool
put_item(void *arg, const void *message)
{
	struct listing *l = arg;
	const Urlfrontier__URLItem *item = message;
	bool known = item->item_case == URLFRONTIER__URLITEM__ITEM_KNOWN;

	if (l->json || !known || item->known->info == NULL) {
		interchange_put(&l->line, item);
		return put_line(l);
	}
	frontier_out_text(&l->out, &l->line, item->known->info->url);
	buf_put_char(&l->line, ';');
	frontier_out_date(&l->line, item->known->refetchable_from_date,
	    l->local_dates);
	return put_line(l);
}

int
frontier_listurls_run(struct cli *c)
{
	Urlfrontier__ListUrlParams p = URLFRONTIER__LIST_URL_PARAMS__INIT;
	struct listing l;

	p.size = (uint32_t)cli_number(c, "number", 100);
	p.start = (uint32_t)cli_number(c, "start", 0);
	p.key = frontier_text(c, "key", "");
	p.crawlid = frontier_text(c, "crawl", FRONTIER_CRAWL_DEFAULT);
	p.local = cli_count(c, "local") > 0;
	p.filter_given_case = URLFRONTIER__LIST_URL_PARAMS__FILTER_GIVEN_FILTER;
	p.filter = frontier_text(c, "filter", "");
	p.ignore_case_given_case =
	    URLFRONTIER__LIST_URL_PARAMS__IGNORE_CASE_GIVEN_IGNORE_CASE;
	p.ignorecase = cli_count(c, "ignore-case") > 0;
	enum err e = listing_open(&l, c, cli_text(c, "output", NULL));
	l.local_dates = cli_count(c, "parsedate") > 0;
	if (e == OK)
		e = remote_each(&l.remote, "ListURLs", &p,
		    &urlfrontier__urlitem__descriptor, put_item, &l, &l.why);
	return listing_end(&l, e);
}

/* --- GetURLs -------------------------------------------------------------- */

#define GET_OPTIONS(X)                                                       \
	X(URLS, "max-urls", 'm', "N", NUMBER, 0, UINT32_MAX,                 \
	    "at most N URLs of a queue; 0: all (1)")                         \
	X(QUEUES, "max-queues", 'q', "N", NUMBER, 0, UINT32_MAX,             \
	    "of at most N queues; 0: of all (1)")                            \
	X(DELAY, "delay", 'd', "SECONDS", NUMBER, 0, UINT32_MAX,             \
	    "lease them for so long; 0: as the server does (0)")             \
	X(CRAWL, "crawl", 'c', "CRAWL", TEXT, 0, 0,                          \
	    "of this crawl (any; DEFAULT with --key)")

static const struct option_row get_rows[] = {
	GET_OPTIONS(OPTION_ROW) FRONTIER_KEY(OPTION_ROW)
	FRONTIER_COMMON(OPTION_ROW)
};

const struct option_verb frontier_geturls_verb = {
	"frontier GetURLs", NULL, 0, 0,
	"Lease URLs that are due, and print them",
	"One URL a line; with --json its key, crawl and metadata too. Nothing "
	"is printed when nothing is due.\n" FRONTIER_CODES,
	get_rows, ARRAY_LEN(get_rows)
};

static bool
put_info(void *arg, const void *message)
{
	struct listing *l = arg;
	const Urlfrontier__URLInfo *info = message;

	if (l->json)
		interchange_put_info(&l->line, info);
	else
		frontier_out_text(&l->out, &l->line, info->url);
	return put_line(l);
}

int
frontier_geturls_run(struct cli *c)
{
	Urlfrontier__GetParams p = URLFRONTIER__GET_PARAMS__INIT;
	Urlfrontier__AnyCrawlID any = URLFRONTIER__ANY_CRAWL_ID__INIT;
	struct listing l;

	p.max_urls_per_queue = (uint32_t)cli_number(c, "max-urls", 1);
	p.max_queues = (uint32_t)cli_number(c, "max-queues", 1);
	p.delay_requestable = (uint32_t)cli_number(c, "delay", 0);
	p.key = frontier_text(c, "key", "");
	/* A key means nothing without a crawl. */
	if (cli_count(c, "crawl") > 0 || p.key[0] != '\0') {
		p.item_case = URLFRONTIER__GET_PARAMS__ITEM_CRAWL_ID;
		p.crawlid = frontier_text(c, "crawl", FRONTIER_CRAWL_DEFAULT);
	} else {
		p.item_case = URLFRONTIER__GET_PARAMS__ITEM_ANY_CRAWL_ID;
		p.anycrawlid = &any;
	}
	enum err e = listing_open(&l, c, NULL);
	if (e == OK)
		e = remote_each(&l.remote, "GetURLs", &p,
		    &urlfrontier__urlinfo__descriptor, put_info, &l, &l.why);
	return listing_end(&l, e);
}
