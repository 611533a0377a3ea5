/* argiope frontier Set*, Block*, Delete*, Purge* -- one order each. */
#include "cli/frontier.h"
#include "cli/remote.h"
#include "cli/verbs.h"

/* Ask, and print the answer; the exit code. */
static int
order(struct cli *c, const char *rpc, const void *question,
    const ProtobufCMessageDescriptor *answer, const char *words)
{
	struct remote far;
	struct why w = WHY_INIT;
	void *got = NULL;

	enum err e = remote_open(c, &far, &w);
	if (e == OK)
		e = remote_ask(&far, rpc, question, answer, &got, &w);
	remote_close(&far);
	if (e != OK)
		return cli_fail(&w);
	bool counted = answer == &urlfrontier__long__descriptor;
	unsigned long long n = counted ? ((Urlfrontier__Long *)got)->value : 0;
	if (counted && cli_json(c))
		printf("{\"value\":%llu}\n", n);
	else if (counted)
		printf("%llu %s\n", n, words);
	else if (cli_json(c))
		printf("{}\n");
	return 0;
}

/* --- SetActive ------------------------------------------------------------ */

static const struct option_row active_rows[] = {
	FRONTIER_LOCAL(OPTION_ROW) FRONTIER_COMMON(OPTION_ROW)
};

const struct option_verb frontier_setactive_verb = {
	"frontier SetActive", "true|false", 1, 1,
	"Let GetURLs serve URLs, or not",
	"While a frontier is not active GetURLs gets nothing; URLs are taken "
	"as before.\n" FRONTIER_CODES,
	active_rows, ARRAY_LEN(active_rows)
};

int
frontier_setactive_run(struct cli *c)
{
	Urlfrontier__Active a = URLFRONTIER__ACTIVE__INIT;
	struct str word = str_of(c->options.operands[0]);
	struct why w = WHY_INIT;

	a.state = str_eq_nocase(word, STR("true"));
	a.local = cli_count(c, "local") > 0;
	if (a.state || str_eq_nocase(word, STR("false")))
		return order(c, "SetActive", &a,
		    &urlfrontier__empty__descriptor, NULL);
	(void)why(&w, ERR_USAGE, "frontier SetActive %.40s: must be true or "
	    "false", word.p);
	return cli_fail(&w);
}

/* --- SetDelay ------------------------------------------------------------- */

#define DELAY_OPTIONS(X)                                                     \
	X(DELAY, "delay", 'd', "SECONDS", NUMBER, 0, UINT32_MAX, "the delay")

static const struct option_row delay_rows[] = {
	DELAY_OPTIONS(OPTION_ROW) FRONTIER_CRAWL(OPTION_ROW)
	FRONTIER_KEY(OPTION_ROW) FRONTIER_LOCAL(OPTION_ROW)
	FRONTIER_COMMON(OPTION_ROW)
};

const struct option_verb frontier_setdelay_verb = {
	"frontier SetDelay", NULL, 0, 0,
	"Set the seconds between two servings of a queue",
	"Without -k the default of all queues that have no delay of their "
	"own is set.\n" FRONTIER_CODES,
	delay_rows, ARRAY_LEN(delay_rows)
};

int
frontier_setdelay_run(struct cli *c)
{
	Urlfrontier__QueueDelayParams p = URLFRONTIER__QUEUE_DELAY_PARAMS__INIT;
	struct why w = WHY_INIT;

	if (frontier_wants(c, "delay", &w) != OK)
		return cli_fail(&w);
	p.delay_requestable = (uint32_t)cli_number(c, "delay", 0);
	p.key = frontier_text(c, "key", "");
	p.crawlid = frontier_text(c, "crawl", FRONTIER_CRAWL_DEFAULT);
	p.local = cli_count(c, "local") > 0;
	return order(c, "SetDelay", &p, &urlfrontier__empty__descriptor,
	    NULL);
}

/* --- BlockQueueUntil ------------------------------------------------------ */

#define BLOCK_OPTIONS(X)                                                     \
	X(UNTIL, "until", 'u', "TIME", NUMBER, 0, INT64_MAX,                 \
	    "seconds since 1970-01-01T00:00:00Z; 0 ends the block")

static const struct option_row block_rows[] = {
	BLOCK_OPTIONS(OPTION_ROW) FRONTIER_CRAWL(OPTION_ROW)
	FRONTIER_KEY(OPTION_ROW) FRONTIER_LOCAL(OPTION_ROW)
	FRONTIER_COMMON(OPTION_ROW)
};

const struct option_verb frontier_blockqueueuntil_verb = {
	"frontier BlockQueueUntil", NULL, 0, 0,
	"Serve nothing of a queue until a date", FRONTIER_CODES,
	block_rows, ARRAY_LEN(block_rows)
};

int
frontier_blockqueueuntil_run(struct cli *c)
{
	Urlfrontier__BlockQueueParams p = URLFRONTIER__BLOCK_QUEUE_PARAMS__INIT;
	struct why w = WHY_INIT;

	if (frontier_wants(c, "until", &w) != OK ||
	    frontier_wants(c, "key", &w) != OK)
		return cli_fail(&w);
	p.time = (uint64_t)cli_number(c, "until", 0);
	p.key = frontier_text(c, "key", "");
	p.crawlid = frontier_text(c, "crawl", FRONTIER_CRAWL_DEFAULT);
	p.local = cli_count(c, "local") > 0;
	return order(c, "BlockQueueUntil", &p,
	    &urlfrontier__empty__descriptor, NULL);
}

/* --- SetCrawlLimit -------------------------------------------------------- */

#define LIMIT_OPTIONS(X)                                                     \
	X(LIMIT, "limit", 'l', "N", NUMBER, 0, UINT32_MAX,                   \
	    "completed URLs; 0 lifts the limit (0)")                         \
	X(LOCAL, "local", 0, NULL, FLAG, 0, 0,                               \
	    "only the node that is asked, not its cluster")

static const struct option_row limit_rows[] = {
	LIMIT_OPTIONS(OPTION_ROW) FRONTIER_CRAWL(OPTION_ROW)
	FRONTIER_KEY(OPTION_ROW) FRONTIER_COMMON(OPTION_ROW)
};

const struct option_verb frontier_setcrawllimit_verb = {
	"frontier SetCrawlLimit", NULL, 0, 0,
	"Serve a queue until so many of its URLs are completed",
	FRONTIER_CODES, limit_rows, ARRAY_LEN(limit_rows)
};

int
frontier_setcrawllimit_run(struct cli *c)
{
	Urlfrontier__CrawlLimitParams p = URLFRONTIER__CRAWL_LIMIT_PARAMS__INIT;

	p.limit = (uint32_t)cli_number(c, "limit", 0);
	p.key = frontier_text(c, "key", "");
	p.crawlid = frontier_text(c, "crawl", FRONTIER_CRAWL_DEFAULT);
	p.local = cli_count(c, "local") > 0;
	return order(c, "SetCrawlLimit", &p, &urlfrontier__empty__descriptor,
	    NULL);
}

/* --- SetLogLevel ---------------------------------------------------------- */

#define LEVEL_OPTIONS(X)                                                     \
	X(PACKAGE, "package", 'p', "NAME", TEXT, 0, 0,                       \
	    "a module of Argiope, or a package of Java")                     \
	X(LEVEL, "level", 'l', "TRACE|DEBUG|INFO|WARN|ERROR", CHOICE, 0, 0,  \
	    "from which level on (DEBUG)")                                   \
	X(LOCAL, "local", 0, NULL, FLAG, 0, 0,                               \
	    "only the node that is asked, not its cluster")

static const struct option_row level_rows[] = {
	LEVEL_OPTIONS(OPTION_ROW) FRONTIER_COMMON(OPTION_ROW)
};

const struct option_verb frontier_setloglevel_verb = {
	"frontier SetLogLevel", NULL, 0, 0,
	"Set how much the server logs, until it restarts", FRONTIER_CODES,
	level_rows, ARRAY_LEN(level_rows)
};

int
frontier_setloglevel_run(struct cli *c)
{
	Urlfrontier__LogLevelParams p = URLFRONTIER__LOG_LEVEL_PARAMS__INIT;
	struct why w = WHY_INIT;

	if (frontier_wants(c, "package", &w) != OK)
		return cli_fail(&w);
	p.package = frontier_text(c, "package", "");
	/* The words stand in the order of the numbers. */
	p.level = (Urlfrontier__LogLevelParams__Level)cli_number(c, "level",
	    URLFRONTIER__LOG_LEVEL_PARAMS__LEVEL__DEBUG);
	p.local = cli_count(c, "local") > 0;
	return order(c, "SetLogLevel", &p, &urlfrontier__empty__descriptor,
	    NULL);
}

/* --- DeleteQueue ---------------------------------------------------------- */

static const struct option_row queue_rows[] = {
	FRONTIER_CRAWL(OPTION_ROW) FRONTIER_KEY(OPTION_ROW)
	FRONTIER_LOCAL(OPTION_ROW) FRONTIER_COMMON(OPTION_ROW)
};

const struct option_verb frontier_deletequeue_verb = {
	"frontier DeleteQueue", NULL, 0, 0,
	"Delete a queue with all its URLs", FRONTIER_CODES,
	queue_rows, ARRAY_LEN(queue_rows)
};

int
frontier_deletequeue_run(struct cli *c)
{
	Urlfrontier__QueueWithinCrawlParams p =
	    URLFRONTIER__QUEUE_WITHIN_CRAWL_PARAMS__INIT;
	struct why w = WHY_INIT;

	if (frontier_wants(c, "key", &w) != OK)
		return cli_fail(&w);
	p.key = frontier_text(c, "key", "");
	p.crawlid = frontier_text(c, "crawl", FRONTIER_CRAWL_DEFAULT);
	p.local = cli_count(c, "local") > 0;
	return order(c, "DeleteQueue", &p, &urlfrontier__long__descriptor,
	    "URLs deleted");
}

/* --- DeleteCrawl ---------------------------------------------------------- */

static const struct option_row crawl_rows[] = {
	FRONTIER_CRAWL(OPTION_ROW) FRONTIER_LOCAL(OPTION_ROW)
	FRONTIER_COMMON(OPTION_ROW)
};

const struct option_verb frontier_deletecrawl_verb = {
	"frontier DeleteCrawl", NULL, 0, 0,
	"Delete a crawl with all its queues", FRONTIER_CODES,
	crawl_rows, ARRAY_LEN(crawl_rows)
};

int
frontier_deletecrawl_run(struct cli *c)
{
	Urlfrontier__DeleteCrawlMessage m =
	    URLFRONTIER__DELETE_CRAWL_MESSAGE__INIT;

	m.value = frontier_text(c, "crawl", FRONTIER_CRAWL_DEFAULT);
	m.local = cli_count(c, "local") > 0;
	return order(c, "DeleteCrawl", &m, &urlfrontier__long__descriptor,
	    "URLs deleted");
}

/* --- PurgeURLs ------------------------------------------------------------ */

#define PURGE_OPTIONS(X)                                                     \
	X(DAYS, "days", 'd', "N", NUMBER, 0, UINT32_MAX,                     \
	    "those that were created more than N days ago")

static const struct option_row purge_rows[] = {
	PURGE_OPTIONS(OPTION_ROW) FRONTIER_CRAWL(OPTION_ROW)
	FRONTIER_KEY(OPTION_ROW) FRONTIER_COMMON(OPTION_ROW)
};

const struct option_verb frontier_purgeurls_verb = {
	"frontier PurgeURLs", NULL, 0, 0,
	"Delete the old URLs of a queue or a crawl", FRONTIER_CODES,
	purge_rows, ARRAY_LEN(purge_rows)
};

int
frontier_purgeurls_run(struct cli *c)
{
	Urlfrontier__PurgeUrlParams p = URLFRONTIER__PURGE_URL_PARAMS__INIT;
	struct why w = WHY_INIT;

	if (frontier_wants(c, "days", &w) != OK)
		return cli_fail(&w);
	p.days = (uint32_t)cli_number(c, "days", 0);
	p.key = frontier_text(c, "key", "");
	p.crawlid = frontier_text(c, "crawl", FRONTIER_CRAWL_DEFAULT);
	return order(c, "PurgeURLs", &p, &urlfrontier__long__descriptor,
	    "URLs deleted");
}
