/*
 * command -- reads a client's message: its envelope, and its arguments by a
 * table of which command takes which arguments, of which types.
 *
 *     {"command":"start_crawl","command_id":1,"args":{"seeds":[...]}}
 *
 * Numbers are lenient (docs/protocols/realtime.md section 2): a number, or a
 * numeric string; "" and null are absent.  An error is a code and a sentence.
 *
 * Thread: any; pure.
 * Limits: COMMAND_DEPTH_MAX, COMMAND_ECHO_BYTES_MAX, SEED_LIST_MAX, STORE_*
 *         of tags and names, COMMAND_TOKENS_MAX.
 */
#ifndef DOORS_REALTIME_COMMAND_H
#define DOORS_REALTIME_COMMAND_H

#include <yyjson.h>

#include "engine/control/control.h"

#define COMMAND_DEPTH_MAX 32u
#define COMMAND_ECHO_BYTES_MAX 4096u  /* of a command_id */
#define COMMAND_TOKENS_MAX 10000u
#define COMMAND_URLS_MAX 10000u
#define COMMAND_LIST_MAX 1000u        /* rows of a list in one answer */
#define COMMAND_ID_MAX ((uint64_t)1 << 53)

#define REALTIME_CODES(X)                                                    \
	X(OK, "ok") X(BAD_JSON, "bad_json") X(BAD_MESSAGE, "bad_message")     \
	X(UNKNOWN_COMMAND, "unknown_command") X(BAD_ARGS, "bad_args")         \
	X(UNKNOWN_CRAWL, "unknown_crawl")                                     \
	X(UNKNOWN_SUBSCRIPTION, "unknown_subscription")                       \
	X(UNKNOWN_POLICY, "unknown_policy") X(BAD_POLICY, "bad_policy")       \
	X(BAD_TOKEN, "bad_token") X(BAD_STATE, "bad_state")                   \
	X(LIMIT, "limit") X(STORAGE, "storage") X(INTERNAL, "internal")       \
	X(FORBIDDEN, "forbidden") X(UNKNOWN_EXPORT, "unknown_export")         \
	X(UNKNOWN_HARVEST, "unknown_harvest")
enum code {
#define CODE_ENUM(id, text) CODE_##id,
	REALTIME_CODES(CODE_ENUM)
#undef CODE_ENUM
	CODE_COUNT
};
const char *code_text(enum code);   /* "bad_json" */

/*
 * Arguments.  Types: ID and COUNT (whole numbers), NUMBER, BOOL, TEXT, TEXTS
 * (a list of texts), SEEDS, and VALUE (any JSON, which the command parses).
 *
 *        id  name  type  member of struct command  help
 */
#define REALTIME_ARGS(X)                                                     \
	X(CRAWL_ID, "crawl_id", ID, crawl_id, "a crawl's number")            \
	X(TAG, "tag", TEXT, tag, "crawls that have this tag")                \
	X(KIND, "kind", TEXT, kind, "crawl, or frontier: those of outsiders") \
	X(SEEDS, "seeds", SEEDS, seeds, "[{url, rate_limit}] or [url]")      \
	X(NAME, "name", TEXT, name, "a name for people")                     \
	X(TAGS, "tags", TEXTS, tags, "words to find it by")                  \
	X(POLICY, "policy", VALUE, policy, "a policy's name, or an object")  \
	X(MIN_INTERVAL, "min_interval", NUMBER, min_interval,                \
	    "seconds between two events")                                    \
	X(CLOSED_EVENT, "closed_event", BOOL, closed_event,                  \
	    "tell when nothing more will come")                              \
	X(SYNC_TOKEN, "sync_token", VALUE, sync_token,                       \
	    "go on behind that one")                                         \
	X(SYNC_TOKENS, "sync_tokens", VALUE, sync_tokens,                    \
	    "the same by crawl: {\"0\": token}")                             \
	X(TAIL, "tail", COUNT, tail,                                         \
	    "without a token: so many of the newest entries, then new ones") \
	X(BODY, "body", BOOL, body, "with the body")                         \
	X(HEADERS, "headers", TEXT, headers, "object, or list")              \
	X(SUBSCRIPTION_ID, "subscription_id", ID, subscription_id,           \
	    "a subscription's number")                                       \
	X(STATUS, "status", TEXT, status,                                    \
	    "of a crawl, or of pages: 404, 4xx")                             \
	X(START, "start", COUNT, start, "pass over so many")                 \
	X(SIZE, "size", COUNT, size, "so many at most")                      \
	X(HOSTS, "hosts", COUNT, hosts, "so many hosts at most")             \
	X(URLS_MAX, "urls", COUNT, urls_max, "so many URLs at most")         \
	X(URLS, "urls", TEXTS, urls, "URLs")                                 \
	X(PATTERN, "pattern", TEXT, pattern, "a regular expression")         \
	X(PREVIEW, "preview", BOOL, preview, "only show what would go")      \
	X(REASON, "reason", TEXT, reason, "of an exception or a skip")       \
	X(TEXT, "text", TEXT, text_arg, "in the URL or the title")           \
	X(TYPE, "type", TEXT, type, "a media type")                          \
	X(HOST, "host", TEXT, host, "a host")                                \
	X(ORDER, "order", TEXT, order, "oldest, newest, slowest, largest")   \
	X(DIGEST, "digest", TEXT, digest, "of the body, as get_page says it") \
	X(LINKS_TO, "links_to", TEXT, links_to, "a URL that pages link to")  \
	X(PARTIAL, "partial", BOOL, partial,                                 \
	    "answer soon, if need be with what is known so far")             \
	X(DUPLICATES, "duplicates", BOOL, duplicates,                        \
	    "with other pages of the same body")                             \
	X(FAILURES, "failures", BOOL, failures,                              \
	    "only what ended in an exception, without following links")      \
	X(NUMBER, "number", ID, number, "an item's number")                  \
	X(URL, "url", TEXT, url, "a URL")                                    \
	X(PARENT_COST, "parent_cost", NUMBER, parent_cost,                   \
	    "the cost of the page that links to it")                         \
	X(DEPTH, "depth", COUNT, depth, "its depth")                         \
	X(SCHEDULE_ID, "schedule_id", ID, schedule_id, "a schedule's number") \
	X(EVERY, "every", COUNT, every, "so many units between two runs")    \
	X(UNIT, "unit", TEXT, unit, "minutes to years")                      \
	X(TIMING, "timing", TEXT, timing,                                    \
	    "regular_interval, or after_previous")                           \
	X(NAME_TEMPLATE, "name_template", TEXT, name_template,               \
	    "with {COUNT}, {DATE}, {TIME}")                                  \
	X(START_AT, "start_at", NUMBER, start_at, "Unix seconds")            \
	X(EXPORT_ORDER, "order", VALUE, export_order,                        \
	    "an object: type, format, and collection, seeds or harvests")\
	X(ID, "id", TEXT, id_arg, "a harvest's id")                          \
	X(HARVEST_TYPE, "type", TEXT, type,                                  \
	    "a type of harvests, as harvest.types has it")                   \
	X(HARVEST_SEEDS, "seeds", VALUE, order_seeds,                        \
	    "[text] or [{token, uid, id}]; what they are says the type")     \
	X(OPTIONS, "options", VALUE, options, "an object: the type's options") \
	X(CREDENTIAL, "credential", TEXT, credential,                        \
	    "the name of a credential, as credential.list has it")           \
	X(COLLECTION_SET, "collection_set", VALUE, collection_set,           \
	    "{id}: where incremental harvests of a user's feed go on")       \
	X(MESSAGE, "message", VALUE, message,                                \
	    "a start message of SFM, in place of type, seeds and options")   \
	X(PATH, "path", TEXT, path, "the directory for its files")           \
	X(HARVEST, "harvest", VALUE, harvest,                                \
	    "an object, in place of seeds: harvest.start's arguments")
enum arg {
#define ARG_ENUM(id, name, type, member, help) ARG_##id,
	REALTIME_ARGS(ARG_ENUM)
#undef ARG_ENUM
	ARG_COUNT
};
#define ARG_BIT(id) ((uint64_t)1 << ARG_##id)

#define OF1(a) ARG_BIT(a)
#define OF2(a, b) (OF1(a) | OF1(b))
#define OF3(a, b, c) (OF2(a, b) | OF1(c))
#define OF4(a, b, c, d) (OF3(a, b, c) | OF1(d))
#define OF5(a, b, c, d, e) (OF4(a, b, c, d) | OF1(e))
#define OF7(a, b, c, d, e, f, g) (OF5(a, b, c, d, e) | OF2(f, g))

/*
 * What the token of a command must allow: reading or writing of the door
 * realtime or of harvest.  Whoever is let in may read.
 */
enum right { RIGHT_READ, RIGHT_WRITE, RIGHT_HARVEST_READ,
	RIGHT_HARVEST_WRITE, RIGHT_COUNT };
#define RIGHT_BIT(right) (1u << (right))
#define RIGHTS_ALL (RIGHT_BIT(RIGHT_COUNT) - 1)

/*      id  handler  name  right  required  optional  help */
#define REALTIME_COMMANDS(X)                                                 \
	X(START_CRAWL, start_crawl, "start_crawl", WRITE, OF1(SEEDS),        \
	    OF3(NAME, TAGS, POLICY), "begin a crawl")                        \
	X(SUBSCRIBE_STATS, subscribe_stats, "subscribe_crawl_stats", READ, 0, \
	    OF5(MIN_INTERVAL, CRAWL_ID, TAG, KIND, CLOSED_EVENT),            \
	    "counters of crawls, as they change")                            \
	X(SUBSCRIBE_ITEMS, subscribe_items, "subscribe_crawl_items", READ, 0, \
	    OF7(CRAWL_ID, SYNC_TOKEN, TAG, SYNC_TOKENS, BODY, HEADERS,       \
	    CLOSED_EVENT), "pages, from the first on")                       \
	X(UNSUBSCRIBE, unsubscribe, "unsubscribe", READ,                     \
	    OF1(SUBSCRIPTION_ID), 0, "end a subscription")                   \
	X(PAUSE, set_state, "job.pause", WRITE, OF1(CRAWL_ID), 0,            \
	    "fetch nothing more")                                            \
	X(RESUME, set_state, "job.resume", WRITE, OF1(CRAWL_ID), 0, "go on") \
	X(CANCEL, set_state, "job.cancel", WRITE, OF1(CRAWL_ID), 0,          \
	    "end it for good")                                               \
	X(PING, ping, "ping", READ, 0, 0, "answer")                          \
	X(LIST_CRAWLS, list_crawls, "list_crawls", READ, 0, OF5(STATUS, TAG, \
	    KIND, START, SIZE), "crawls, the newest first")                  \
	X(GET_CRAWL, get_crawl, "get_crawl", READ, OF1(CRAWL_ID), OF1(START), \
	    "one crawl, with its policy and its seeds from `start` on")      \
	X(GET_HISTORY, get_history, "get_history", READ, OF1(CRAWL_ID), 0,   \
	    "a crawl's counters over time")                                  \
	X(POLICY_PUT, store, "policy.put", WRITE, OF2(NAME, POLICY), 0,      \
	    "keep a policy under a name")                                    \
	X(POLICY_GET, store, "policy.get", READ, OF1(NAME), 0, "one policy") \
	X(POLICY_DELETE, store, "policy.delete", WRITE, OF1(NAME), 0,        \
	    "forget a policy")                                               \
	X(POLICY_LIST, store, "policy.list", READ, 0, 0, "names of policies") \
	X(SCHEDULE_PUT, store, "schedule.put", WRITE, OF3(NAME, EVERY, UNIT), \
	    OF5(SCHEDULE_ID, POLICY, TAGS, TIMING, NAME_TEMPLATE) |          \
	    OF3(START_AT, SEEDS, HARVEST), "crawl or harvest again and again") \
	X(SCHEDULE_DELETE, store, "schedule.delete", WRITE, OF1(SCHEDULE_ID), \
	    0, "forget a schedule")                                          \
	X(SCHEDULE_LIST, store, "schedule.list", READ, 0, 0, "all schedules") \
	X(SUBSCRIBE_LOG, subscribe_log, "subscribe_crawl_log", READ, 0,      \
	    OF5(CRAWL_ID, TAG, SYNC_TOKEN, TAIL, CLOSED_EVENT),              \
	    "what crawls decided")                                           \
	X(SUBSCRIBE_MONITOR, subscribe_monitor, "subscribe_monitor", READ, 0, \
	    0, "what the crawler does, each second")                         \
	X(GET_FRONTIER, get_frontier, "get_frontier", READ, OF1(CRAWL_ID),   \
	    OF2(HOSTS, URLS_MAX), "what is fetched next")                    \
	X(SUBSCRIBE_FRONTIER, subscribe_frontier, "subscribe_frontier", READ, \
	    OF1(CRAWL_ID), OF3(HOSTS, URLS_MAX, MIN_INTERVAL),               \
	    "the same, as it changes")                                       \
	X(WHY, get_frontier, "why", READ, OF1(CRAWL_ID), 0,                  \
	    "why nothing is fetched")                                        \
	X(EXCLUDE, exclude, "job.exclude", WRITE, OF2(CRAWL_ID, PATTERN),    \
	    OF2(PREVIEW, PARTIAL), "leave out URLs from now on")             \
	X(RETRY, retry, "job.retry", WRITE, OF1(CRAWL_ID), OF2(REASON, URLS), \
	    "try what failed again")                                         \
	X(RERUN, rerun, "job.rerun", WRITE, OF1(CRAWL_ID), OF3(NAME,         \
	    FAILURES, START), "run an ended crawl again, as a new one")      \
	X(DELETE, delete, "job.delete", WRITE, OF1(CRAWL_ID), 0,             \
	    "forget an ended crawl")                                         \
	X(LIST_PAGES, list_pages, "list_pages", READ, OF1(CRAWL_ID),         \
	    OF7(START, SIZE, TEXT, STATUS, TYPE, HOST, ORDER) | OF3(DIGEST,  \
	    LINKS_TO, PARTIAL), "stored pages, without bodies")              \
	X(GET_PAGE, get_page, "get_page", READ, OF2(CRAWL_ID, NUMBER),       \
	    OF2(BODY, DUPLICATES), "all about one page")                     \
	X(LIST_PROBLEMS, list_problems, "list_problems", READ, OF1(CRAWL_ID), \
	    0, "what went wrong, in groups")                                 \
	X(FIND_URL, find_url, "find_url", READ, OF2(CRAWL_ID, URL), 0,       \
	    "what became of a URL")                                          \
	X(SNAPSHOT, snapshot, "snapshot", WRITE, 0, 0,                       \
	    "copy the data directory into itself, for argiope backup")       \
	X(EXPLAIN, explain, "explain", READ, OF1(URL), OF4(POLICY,           \
	    PARENT_COST, SEEDS, DEPTH), "which rule decides")                \
	X(EXPORT_TYPES, export_types, "export.types", HARVEST_READ, 0, 0,    \
	    "what can be exported: types, formats, columns")                 \
	X(EXPORT_START, export_start, "export.start", HARVEST_WRITE,         \
	    OF1(EXPORT_ORDER), 0, "make a table of what was harvested")      \
	X(EXPORT_LIST, export_list, "export.list", HARVEST_READ, 0,          \
	    OF2(START, SIZE), "exports, the newest first")                   \
	X(EXPORT_GET, export_get, "export.get", HARVEST_READ, OF1(ID), 0,    \
	    "one export, with what came of it")                              \
	X(EXPORT_CANCEL, export_cancel, "export.cancel", HARVEST_WRITE,      \
	    OF1(ID), 0, "end one that is not over")                          \
	X(HARVEST_TYPES, harvest_types, "harvest.types", HARVEST_READ, 0,    \
	    OF1(HARVEST_TYPE), "what can be harvested, and what it takes")   \
	X(HARVEST_START, harvest_start, "harvest.start", HARVEST_WRITE,      \
	    OF1(PATH), OF5(HARVEST_TYPE, HARVEST_SEEDS, OPTIONS, CREDENTIAL, \
	    COLLECTION_SET) | OF1(MESSAGE), "begin a harvest")               \
	X(HARVEST_LIST, harvest_list, "harvest.list", HARVEST_READ, 0,       \
	    OF3(STATUS, START, SIZE), "harvests, the newest first")          \
	X(HARVEST_GET, harvest_get, "harvest.get", HARVEST_READ, OF1(ID),    \
	    OF1(START), "one harvest, with its WARC files from `start` on")  \
	X(HARVEST_STOP, harvest_order, "harvest.stop", HARVEST_WRITE,        \
	    OF1(ID), 0, "end it, as a success with what it has")             \
	X(HARVEST_PAUSE, harvest_order, "harvest.pause", HARVEST_WRITE,      \
	    OF1(ID), 0, "ask for nothing more")                              \
	X(HARVEST_RESUME, harvest_order, "harvest.resume", HARVEST_WRITE,    \
	    OF1(ID), 0, "go on with one that has paused")                    \
	X(CREDENTIAL_LIST, credential_list, "credential.list", HARVEST_READ, \
	    0, 0, "names of credentials")
enum verb {
#define VERB_ENUM(id, ...) VERB_##id,
	REALTIME_COMMANDS(VERB_ENUM)
#undef VERB_ENUM
	VERB_COUNT                   /* of the metrics: none was known */
};

struct command_row {
	const char *name;
	enum right right;
	uint64_t must, may;          /* ARG_BIT()s */
	const char *help;
};
extern const struct command_row command_rows[];   /* by enum verb */

/* A command, or the reason why the message is not one. */
struct command {
	enum verb verb;
	enum code code;              /* OK: `verb` and arguments are there */
	char text[400];              /* else: a sentence */
	struct buf id;               /* the JSON of command_id: "null" ... */
	uint64_t given;              /* ARG_BIT()s */
	uint64_t crawl_id, subscription_id, schedule_id, number;
	uint64_t start, size, hosts, urls_max, every, depth, tail;
	double min_interval, parent_cost, start_at;
	bool closed_event, body, preview, partial, duplicates, failures;
	struct str tag, kind, name, headers, status, pattern, reason, text_arg,
	    type, host, order, digest, links_to, url, unit, timing,
	    name_template, id_arg, credential, path;
	struct command_texts {
		struct str *p;
		size_t n;
	} tags, urls;
	struct launch_seed *seeds;
	size_t seeds_n;
	yyjson_val *policy, *sync_token, *sync_tokens, *export_order,
	    *order_seeds, *options, *collection_set, *message, *harvest;
	unsigned rights;             /* of the sender */
	struct arena arena;
	yyjson_doc *doc;
};
static inline bool
command_has(const struct command *c, uint64_t bits)
{
	return (c->given & bits) != 0;
}

/*
 * Always fills `c`, which the caller frees by command_free().  `rights`:
 * RIGHT_BIT()s of the sender; without the command's it is CODE_FORBIDDEN.
 */
void command_read(struct str message, unsigned rights, struct command *c);
void command_free(struct command *);
/* Record what is wrong, unless a fault is recorded already.  Returns false. */
bool command_refuse(struct command *, enum code, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* Append all commands and their arguments as JSON, as documentation. */
void command_help(struct buf *);

#endif
