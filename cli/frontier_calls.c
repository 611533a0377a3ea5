/*
 * The verbs of `argiope frontier` that send one message and print the answer,
 * or the stream of answers.
 *
 *     options ─► FIELDS ─► the call's message ─► answers ─► a row's put()
 */
#include "base/json_writer.h"
#include "cli/frontier.h"
#include "cli/remote.h"
#include "cli/verbs.h"
#include "wire/urlfrontier/interchange.h"

/* ---- From options to a message ------------------------------------------- */

/*
 * Each option's field of a message, and its value when it is not given.  A row
 * is skipped when the verb lacks the option or the message lacks the field.
 */
static const struct {
	const char *option, *field;
	const char *text;
	uint32_t number;
} FIELDS[] = {
	{ "crawl", "crawlID", FRONTIER_CRAWL_DEFAULT, 0 },
	{ "crawl", "value", FRONTIER_CRAWL_DEFAULT, 0 },
	{ "key", "key", "", 0 },
	{ "local", "local", NULL, 0 },
	{ "delay", "delay_requestable", NULL, 0 },
	{ "until", "time", NULL, 0 },
	{ "limit", "limit", NULL, 0 },
	{ "package", "package", "", 0 },
	/* The option's words stand in the order of the numbers. */
	{ "level", "level", NULL, URLFRONTIER__LOG_LEVEL_PARAMS__LEVEL__DEBUG },
	{ "days", "days", NULL, 0 },
	{ "url", "url", "", 0 },
	{ "filter", "filter", "", 0 },
	{ "ignore-case", "ignoreCase", NULL, 0 },
	{ "number", "size", NULL, 100 },
	{ "start", "start", NULL, 0 },
	{ "include-inactive", "include_inactive", NULL, 0 },
	{ "max-urls", "max_urls_per_queue", NULL, 1 },
	{ "max-queues", "max_queues", NULL, 1 },
};

static void
set_field(struct cli *c, size_t row, const ProtobufCFieldDescriptor *f,
    char *message)
{
	const char *option = FIELDS[row].option;
	void *at = message + f->offset;

	if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
		*(uint32_t *)(void *)(message + f->quantifier_offset) = f->id;
	if (f->type == PROTOBUF_C_TYPE_STRING)
		*(char **)at = frontier_text(c, option, FIELDS[row].text);
	else if (f->type == PROTOBUF_C_TYPE_BOOL)
		*(protobuf_c_boolean *)at = cli_count(c, option) > 0;
	else if (f->type == PROTOBUF_C_TYPE_UINT64)
		*(uint64_t *)at = (uint64_t)cli_number(c, option, 0);
	else
		*(uint32_t *)at = (uint32_t)cli_number(c, option,
		    FIELDS[row].number);
}

/* The verb's name behind "frontier " is the call's. */
static const char *
rpc_of(const struct cli *c)
{
	return c->verb->name + sizeof("frontier ") - 1;
}

/* The call's message as the options say.  Memory: the cli's. */
static void *
question(struct cli *c)
{
	const ProtobufCMessageDescriptor *d = remote_method(rpc_of(c))->input;
	char *message = arena_take(&c->arena, d->sizeof_message);

	protobuf_c_message_init(d, message);
	for (size_t i = 0; i < ARRAY_LEN(FIELDS); i++) {
		const ProtobufCFieldDescriptor *f =
		    protobuf_c_message_descriptor_get_field_by_name(d,
		    FIELDS[i].field);
		if (f != NULL && cli_has(c, FIELDS[i].option))
			set_field(c, i, f, message);
	}
	return message;
}

/* ---- From answers to lines ----------------------------------------------- */

struct answers {
	struct remote remote;
	struct frontier_out out;
	void *question;
	bool json, local_dates;
	bool all_pages;                  /* ListQueues: until one is empty */
	struct str first_key;            /* ListQueues: of the last page */
	bool again;                      /* ask for the next page */
	bool answered;
	struct buf lines;
	struct why *why;
	/* Append a message as text or JSON, with the ends of lines. */
	void (*put)(struct answers *, const void *message);
};

/* False when it cannot be written. */
static bool
put_message(void *arg, const void *message)
{
	struct answers *a = arg;

	a->answered = true;
	a->put(a, message);
	return frontier_out_put(&a->out, &a->lines, a->why) == OK;
}

/* Call and print.  An output that nobody reads is no failure. */
static enum err
call(struct cli *c, void *message, bool stream,
    void (*put)(struct answers *, const void *message), struct why *w)
{
	struct answers a = { .question = message, .put = put,
	    .json = cli_json(c), .local_dates = cli_given(c, "parsedate"),
	    .all_pages = cli_given(c, "output"), .lines = BUF_INIT,
	    .why = w };
	const char *path = cli_has(c, "output") ?
	    cli_text(c, "output", NULL) : NULL;

	enum err e = remote_open(c, &a.remote, w);
	if (e == OK)
		e = frontier_out_open(&a.out, path, w);
	do {
		a.again = false;
		if (e == OK)
			e = remote_each(&a.remote, rpc_of(c), message,
			    put_message, &a, w);
	} while (e == OK && a.again);
	if (e == OK && !stream && !a.answered)
		e = why(w, ERR_IO, "%s: no answer came", rpc_of(c));
	enum err end = frontier_out_close(&a.out, w);
	remote_close(&a.remote);
	buf_free(&a.lines);
	e = w->err != OK ? w->err : e == OK ? end : e;
	return e == ERR_CLOSED ? OK : e;
}

static void
put_done(struct answers *a, const void *message)
{
	(void)message;
	if (a->json)
		buf_put_text(&a->lines, "{}\n");
}

static void
put_number(struct answers *a, const void *message, const char *unit)
{
	unsigned long long n = ((const Urlfrontier__Long *)message)->value;

	if (a->json)
		buf_printf(&a->lines, "{\"value\":%llu}\n", n);
	else
		buf_printf(&a->lines, "%llu %s\n", n, unit);
}

static void
put_deleted(struct answers *a, const void *message)
{
	put_number(a, message, "URLs deleted");
}

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
		buf_printf(b, ":%llu", (unsigned long long)s->counts[i]->value);
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
put_stats(struct answers *a, const void *message)
{
	const Urlfrontier__Stats *stats = message;

	if (a->json) {
		stats_json(&a->lines, stats);
		return;
	}
	put_count(&a->lines, "Number of queues", stats->numberofqueues);
	put_count(&a->lines, "Active URLs", stats->size);
	put_count(&a->lines, "In process", stats->inprocess);
	for (size_t i = 0; i < stats->n_counts; i++) {
		frontier_out_text(&a->out, &a->lines, stats->counts[i]->key);
		buf_printf(&a->lines, " = %llu\n",
		    (unsigned long long)stats->counts[i]->value);
	}
}

static void
put_active(struct answers *a, const void *message)
{
	bool state = ((const Urlfrontier__Boolean *)message)->state;

	buf_printf(&a->lines, a->json ? "{\"state\":%s}\n" : "Active: %s\n",
	    state ? "true" : "false");
}

static void
put_item(struct answers *a, const void *message)
{
	const Urlfrontier__URLItem *item = message;
	bool known = item->item_case == URLFRONTIER__URLITEM__ITEM_KNOWN;

	if (a->json || !known || item->known->info == NULL) {
		interchange_put(&a->lines, item);
	} else {
		frontier_out_text(&a->out, &a->lines, item->known->info->url);
		buf_put_char(&a->lines, ';');
		frontier_out_date(&a->lines, item->known->refetchable_from_date,
		    a->local_dates);
	}
	buf_put_char(&a->lines, '\n');
}

static void
put_counted(struct answers *a, const void *message)
{
	put_number(a, message, "URLs in frontier");
}

/* One a line; or as JSON's array `values`, the first member of an object. */
static void
put_values(struct answers *a, char *const *values, size_t n)
{
	buf_put_text(&a->lines, a->json ? "{\"values\":[" : "");
	for (size_t i = 0; i < n; i++) {
		if (a->json) {
			buf_put_text(&a->lines, i > 0 ? "," : "");
			interchange_put_text(&a->lines, values[i]);
		} else {
			frontier_out_text(&a->out, &a->lines, values[i]);
			buf_put_char(&a->lines, '\n');
		}
	}
	buf_put_text(&a->lines, a->json ? "]" : "");
}

static void
put_list(struct answers *a, const void *message)
{
	const Urlfrontier__StringList *l = message;

	put_values(a, l->values, l->n_values);
	buf_put_text(&a->lines, a->json ? "}\n" : "");
}

static void
put_queues(struct answers *a, const void *message)
{
	const Urlfrontier__QueueList *q = message;
	Urlfrontier__Pagination *next = a->question;
	struct str first = str_of(q->n_values > 0 ? q->values[0] : NULL);

	/* A server that ignores `start` would send its page for ever. */
	if (first.p != NULL && a->first_key.p != NULL &&
	    str_eq(first, a->first_key))
		return;
	a->first_key = arena_copy(&a->remote.cli->arena, first);
	next->start += (uint32_t)q->n_values;
	a->again = a->all_pages && q->n_values > 0;
	put_values(a, q->values, q->n_values);
	if (!a->json)
		return;
	json_u64(&a->lines, "start", q->start);
	json_u64(&a->lines, "size", q->size);
	json_name(&a->lines, "crawlID");
	interchange_put_text(&a->lines, q->crawlid);
	buf_put_text(&a->lines, "}\n");
}

static void
put_info(struct answers *a, const void *message)
{
	const Urlfrontier__URLInfo *info = message;

	if (a->json)
		interchange_put_info(&a->lines, info);
	else
		frontier_out_text(&a->out, &a->lines, info->url);
	buf_put_char(&a->lines, '\n');
}

/* ---- What all verbs do --------------------------------------------------- */

static enum err
run(struct cli *c, bool stream, void (*put)(struct answers *, const void *),
    const char *const *wanted, struct why *w)
{
	for (; *wanted != NULL; wanted++)
		if (frontier_wants(c, *wanted, w) != OK)
			return w->err;
	return call(c, question(c), stream, put, w);
}

/*
 * A verb: its name, the call's, its help and options; whether a stream answers,
 * put(), and options that must be given, or NULL.
 */
#define CALL(verb, rpc, summary, about, rows, stream, put, ...)              \
	const struct option_verb frontier_##verb##_verb = {                  \
		"frontier " rpc, NULL, 0, 0, summary, about,                 \
		rows, ARRAY_LEN(rows)                                        \
	};                                                                   \
	enum err                                                             \
	frontier_##verb##_run(struct cli *c, struct why *w)                  \
	{                                                                    \
		return run(c, stream, put,                                   \
		    (const char *const[]){ __VA_ARGS__, NULL }, w);          \
	}

/* ---- Verbs --------------------------------------------------------------- */

static const struct option_row crawl_rows[] = {
	FRONTIER_CRAWL(OPTION_ROW) FRONTIER_LOCAL(OPTION_ROW)
	FRONTIER_COMMON(OPTION_ROW)
};

static const struct option_row queue_rows[] = {
	FRONTIER_CRAWL(OPTION_ROW) FRONTIER_KEY(OPTION_ROW)
	FRONTIER_LOCAL(OPTION_ROW) FRONTIER_COMMON(OPTION_ROW)
};

static const struct option_row node_rows[] = {
	FRONTIER_LOCAL(OPTION_ROW) FRONTIER_COMMON(OPTION_ROW)
};
static const struct option_row nodes_rows[] = { FRONTIER_COMMON(OPTION_ROW) };

static const struct option_row delay_rows[] = {
	OPTION_ROW(DELAY, "delay", 'd', "SECONDS", NUMBER, 0, UINT32_MAX,
	    "the delay")
	FRONTIER_CRAWL(OPTION_ROW) FRONTIER_KEY(OPTION_ROW)
	FRONTIER_LOCAL(OPTION_ROW) FRONTIER_COMMON(OPTION_ROW)
};

CALL(setdelay, "SetDelay",
    "Set the seconds between two servings of a queue",
    "Without -k the default of all queues that have no delay of their "
    "own is set.\n" FRONTIER_CODES,
    delay_rows, false, put_done, "delay")

static const struct option_row block_rows[] = {
	OPTION_ROW(UNTIL, "until", 'u', "TIME", NUMBER, 0, INT64_MAX,
	    "seconds since 1970-01-01T00:00:00Z; 0 ends the block")
	FRONTIER_CRAWL(OPTION_ROW) FRONTIER_KEY(OPTION_ROW)
	FRONTIER_LOCAL(OPTION_ROW) FRONTIER_COMMON(OPTION_ROW)
};

CALL(blockqueueuntil, "BlockQueueUntil",
    "Serve nothing of a queue until a date", FRONTIER_CODES,
    block_rows, false, put_done, "until", "key")

static const struct option_row limit_rows[] = {
	OPTION_ROW(LIMIT, "limit", 'l', "N", NUMBER, 0, UINT32_MAX,
	    "completed URLs; 0 lifts the limit (0)")
	OPTION_ROW(LOCAL, "local", 0, NULL, FLAG, 0, 0,
	    "only the node that is asked, not its cluster")
	FRONTIER_CRAWL(OPTION_ROW) FRONTIER_KEY(OPTION_ROW)
	FRONTIER_COMMON(OPTION_ROW)
};

CALL(setcrawllimit, "SetCrawlLimit",
    "Serve a queue until so many of its URLs are completed", FRONTIER_CODES,
    limit_rows, false, put_done, NULL)

static const struct option_row level_rows[] = {
	OPTION_ROW(PACKAGE, "package", 'p', "NAME", TEXT, 0, 0,
	    "a module of Argiope, or a package of Java")
	OPTION_ROW(LEVEL, "level", 'l', "TRACE|DEBUG|INFO|WARN|ERROR",
	    CHOICE, 0, 0, "from which level on (DEBUG)")
	OPTION_ROW(LOCAL, "local", 0, NULL, FLAG, 0, 0,
	    "only the node that is asked, not its cluster")
	FRONTIER_COMMON(OPTION_ROW)
};

CALL(setloglevel, "SetLogLevel",
    "Set how much the server logs, until it restarts", FRONTIER_CODES,
    level_rows, false, put_done, "package")

static const struct option_row purge_rows[] = {
	OPTION_ROW(DAYS, "days", 'd', "N", NUMBER, 0, UINT32_MAX,
	    "those that were created more than N days ago")
	FRONTIER_CRAWL(OPTION_ROW) FRONTIER_KEY(OPTION_ROW)
	FRONTIER_COMMON(OPTION_ROW)
};

CALL(purgeurls, "PurgeURLs",
    "Delete the old URLs of a queue or a crawl", FRONTIER_CODES,
    purge_rows, false, put_deleted, "days")

CALL(deletequeue, "DeleteQueue",
    "Delete a queue with all its URLs", FRONTIER_CODES,
    queue_rows, false, put_deleted, "key")

CALL(deletecrawl, "DeleteCrawl",
    "Delete a crawl with all its queues", FRONTIER_CODES,
    crawl_rows, false, put_deleted, NULL)

const struct option_verb frontier_setactive_verb = {
	"frontier SetActive", "true|false", 1, 1,
	"Let GetURLs serve URLs, or not",
	"While a frontier is not active GetURLs gets nothing; URLs are taken "
	"as before.\n" FRONTIER_CODES,
	node_rows, ARRAY_LEN(node_rows)
};

enum err
frontier_setactive_run(struct cli *c, struct why *w)
{
	struct str word = str_of(c->options.operands[0]);
	Urlfrontier__Active *a = question(c);

	a->state = str_eq_nocase(word, STR("true"));
	if (a->state || str_eq_nocase(word, STR("false")))
		return call(c, a, false, put_done, w);
	return why(w, ERR_USAGE, "frontier SetActive %.40s: must be true or "
	    "false", word.p);
}

CALL(getstats, "GetStats",
    "Print the counts of a crawl, or of a queue", FRONTIER_CODES,
    queue_rows, false, put_stats, NULL)

CALL(getactive, "GetActive",
    "Print whether GetURLs serves URLs", FRONTIER_CODES,
    node_rows, false, put_active, NULL)

static const struct option_row status_rows[] = {
	OPTION_ROW(URL, "url", 'u', "URL", TEXT, 0, 0, "the URL")
	OPTION_ROW(DATES, "parsedate", 'p', NULL, FLAG, 0, 0,
	    "dates as they are here, not as seconds since 1970")
	FRONTIER_CRAWL(OPTION_ROW) FRONTIER_KEY(OPTION_ROW)
	FRONTIER_COMMON(OPTION_ROW)
};

CALL(geturlstatus, "GetURLStatus",
    "Print what is known of a URL",
    "The URL, a semicolon, and the date from which it is served; 0: it is "
    "completed. With --json the whole record.\n" FRONTIER_CODES,
    status_rows, false, put_item, "url")

static const struct option_row count_rows[] = {
	OPTION_ROW(FILTER, "filter", 'f', "TEXT", TEXT, 0, 0,
	    "only URLs that contain TEXT")
	OPTION_ROW(IGNORE_CASE, "ignore-case", 'i', NULL, FLAG, 0, 0,
	    "whatever the case of its letters")
	FRONTIER_CRAWL(OPTION_ROW) FRONTIER_KEY(OPTION_ROW)
	FRONTIER_LOCAL(OPTION_ROW) FRONTIER_COMMON(OPTION_ROW)
};

CALL(counturls, "CountURLs",
    "Count the URLs of a crawl or a queue", FRONTIER_CODES,
    count_rows, false, put_counted, NULL)

CALL(listnodes, "ListNodes",
    "List the nodes of the cluster", FRONTIER_CODES,
    nodes_rows, false, put_list, NULL)

CALL(listcrawls, "ListCrawls",
    "List the crawls that have a queue", FRONTIER_CODES,
    node_rows, false, put_list, NULL)

static const struct option_row queues_rows[] = {
	OPTION_ROW(NUMBER, "number", 'n', "N", NUMBER, 1, UINT32_MAX,
	    "at most N queues, or N a page (100)")
	OPTION_ROW(START, "start", 's', "N", NUMBER, 0, UINT32_MAX,
	    "leave out the first N (0)")
	OPTION_ROW(INACTIVE, "include-inactive", 'i', NULL, FLAG, 0, 0,
	    "also those that are blocked or have nothing left")
	OPTION_ROW(OUTPUT, "output", 'o', "FILE", PATH, 0, 0,
	    "write all of them to FILE, page by page")
	FRONTIER_CRAWL(OPTION_ROW) FRONTIER_LOCAL(OPTION_ROW)
	FRONTIER_COMMON(OPTION_ROW)
};

CALL(listqueues, "ListQueues",
    "List the queues of a crawl",
    "One key a line; with --json one object for each page. With --output "
    "pages are asked for until one is empty; a FILE whose name ends in "
    ".gz is packed.\n" FRONTIER_CODES,
    queues_rows, true, put_queues, NULL)

static const struct option_row urls_rows[] = {
	OPTION_ROW(NUMBER, "number", 'n', "N", NUMBER, 1, UINT32_MAX,
	    "at most N URLs (100)")
	OPTION_ROW(START, "start", 's', "N", NUMBER, 0, UINT32_MAX,
	    "leave out the first N (0)")
	OPTION_ROW(OUTPUT, "output", 'o', "FILE", PATH, 0, 0,
	    "write them to FILE")
	OPTION_ROW(FILTER, "filter", 'f', "TEXT", TEXT, 0, 0,
	    "only URLs that contain TEXT")
	OPTION_ROW(IGNORE_CASE, "ignore-case", 'i', NULL, FLAG, 0, 0,
	    "whatever the case of its letters")
	OPTION_ROW(JSON, "json", 'j', NULL, FLAG, 0, 0, "print JSON")
	OPTION_ROW(DATES, "parsedate", 'p', NULL, FLAG, 0, 0,
	    "dates as they are here, not as seconds since 1970")
	FRONTIER_CRAWL(OPTION_ROW) FRONTIER_KEY(OPTION_ROW)
	FRONTIER_LOCAL(OPTION_ROW) FRONTIER_SERVER(OPTION_ROW)
	OPTION_COMMON_LONG(OPTION_ROW)
};

CALL(listurls, "ListURLs",
    "List the URLs of a crawl or a queue",
    "A URL a line, a semicolon, and the date from which it is served; 0: "
    "it is completed. With --json the whole record, as PutURLs reads it. "
    "A FILE whose name ends in .gz is packed.\n" FRONTIER_CODES,
    urls_rows, true, put_item, NULL)

static const struct option_row get_rows[] = {
	OPTION_ROW(URLS, "max-urls", 'm', "N", NUMBER, 0, UINT32_MAX,
	    "at most N URLs of a queue; 0: all (1)")
	OPTION_ROW(QUEUES, "max-queues", 'q', "N", NUMBER, 0, UINT32_MAX,
	    "of at most N queues; 0: of all (1)")
	OPTION_ROW(DELAY, "delay", 'd', "SECONDS", NUMBER, 0, UINT32_MAX,
	    "lease them for so long; 0: as the server does (0)")
	OPTION_ROW(CRAWL, "crawl", 'c', "CRAWL", TEXT, 0, 0,
	    "of this crawl (any; DEFAULT with --key)")
	FRONTIER_KEY(OPTION_ROW) FRONTIER_COMMON(OPTION_ROW)
};

const struct option_verb frontier_geturls_verb = {
	"frontier GetURLs", NULL, 0, 0,
	"Lease URLs that are due, and print them",
	"One URL a line; with --json its key, crawl and metadata too. Nothing "
	"is printed when nothing is due.\n" FRONTIER_CODES,
	get_rows, ARRAY_LEN(get_rows)
};

enum err
frontier_geturls_run(struct cli *c, struct why *w)
{
	Urlfrontier__AnyCrawlID any = URLFRONTIER__ANY_CRAWL_ID__INIT;
	Urlfrontier__GetParams *p = question(c);

	/* A key means nothing without a crawl. */
	if (cli_count(c, "crawl") == 0 && p->key[0] == '\0') {
		p->item_case = URLFRONTIER__GET_PARAMS__ITEM_ANY_CRAWL_ID;
		p->anycrawlid = &any;
	}
	return call(c, p, true, put_info, w);
}
