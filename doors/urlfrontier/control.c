/*
 * Control, statistics, and what is known of one URL: one verb, one answer.
 */
#include "doors/urlfrontier/urlfrontier_own.h"
#include "os/log.h"
#include "wire/urlfrontier/urlfrontier.pb-c.h"

enum { STATS_CRAWL = 5 };

struct control {
	struct door_call call;
	struct outside_control control;
	struct outside_status_of status;     /* GetURLStatus */
};

/* ---- Answers ------------------------------------------------------------- */

static char *
text_of(struct str s)
{
	return (char *)(uintptr_t)s.p;
}

static void
reply_stats(struct control *k)
{
	const struct outside_stats *s = &k->control.stats;
	Urlfrontier__Stats m = URLFRONTIER__STATS__INIT;
	Urlfrontier__Stats__CountsEntry completed =
	    URLFRONTIER__STATS__COUNTS_ENTRY__INIT, active = completed;
	Urlfrontier__Stats__CountsEntry *counts[] = { &completed, &active };

	completed.key = text_of(STR("completed"));
	completed.value = s->completed;
	active.key = text_of(STR("active_queues"));
	active.value = s->active_queues;
	m.size = s->active;
	m.inprocess = (uint32_t)MIN(s->leased, UINT32_MAX);
	m.n_counts = ARRAY_LEN(counts);
	m.counts = counts;
	m.numberofqueues = s->queues;
	call_reply_text(&k->call, &m.base, STATS_CRAWL, k->control.crawl);
}

static void
reply_number(struct control *k)
{
	Urlfrontier__Long m = URLFRONTIER__LONG__INIT;

	m.value = k->control.value;
	call_reply(&k->call, &m.base);
}

static void
reply_boolean(struct control *k)
{
	Urlfrontier__Boolean m = URLFRONTIER__BOOLEAN__INIT;

	m.state = k->control.value != 0;
	call_reply(&k->call, &m.base);
}

static void
answer(struct control *k)
{
	switch (k->control.verb) {
	case OUTSIDE_STATS:
	case OUTSIDE_TOTALS:
		reply_stats(k);
		break;
	case OUTSIDE_GET_ACTIVE:
		reply_boolean(k);
		break;
	case OUTSIDE_DELETE_QUEUE:
	case OUTSIDE_DELETE_CRAWL:
		reply_number(k);
		break;
	case OUTSIDE_SET_ACTIVE:
	case OUTSIDE_SET_DELAY:
	case OUTSIDE_BLOCK_UNTIL:
	case OUTSIDE_SET_LIMIT:
		call_reply_bytes(&k->call, STR(""));
		break;
	}
}

static void
control_free(struct control *k)
{
	arena_free(&k->status.arena);
	call_free(&k->call);
}

static void
done(struct outside_call *c)
{
	struct control *k = CONTAINER(c, struct control, control.call);

	k->call.out--;
	if (k->call.grpc == NULL)
		control_free(k);
	else if (c->result == OK)
		answer(k);
	else if (c->result == ERR_ABSENT)
		call_fail(&k->call, GRPC_UNKNOWN, "there is no such queue");
	else if (c->result == ERR_FULL)
		call_fail(&k->call, GRPC_RESOURCE_EXHAUSTED,
		    "too many queues are remembered that hold no URL yet");
	else
		call_fail_err(&k->call, c->result);
}

static void
ask(struct control *k, enum outside_verb verb, struct str crawl,
    struct str key, uint64_t value)
{
	k->control.verb = verb;
	k->control.crawl = call_crawl(crawl);
	k->control.key = key;
	k->control.value = value;
	call_ask(&k->call, &k->control.call, done);
	outside_control(k->call.door->frontier, &k->control);
}

static struct str
crawl_of(const struct control *k)
{
	return call_text(&k->call, "crawlID");
}

static struct str
key_of(const struct control *k)
{
	return call_text(&k->call, "key");
}

/* ---- A call's life ------------------------------------------------------- */

static void
on_open(struct grpc_call *c)
{
	call_open(c, sizeof(struct control));
}

static void
on_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	struct control *k = grpc_data(c);

	(void)text;
	call_end(&k->call, code);
	if (k->call.out == 0)
		control_free(k);
}

#define EVENTS(handler) \
	const struct grpc_events urlfrontier_##handler = {                   \
		.on_open = on_open, .on_message = handler, .on_end = on_end }

/* ---- Statistics ---------------------------------------------------------- */

static void
get_stats(struct grpc_call *c, struct str message)
{
	struct control *k = grpc_data(c);

	if (call_read(&k->call,
	    &urlfrontier__queue_within_crawl_params__descriptor, message) !=
	    NULL)
		ask(k, OUTSIDE_STATS, crawl_of(k), key_of(k), 0);
}
EVENTS(get_stats);

static void
list_nodes(struct grpc_call *c, struct str message)
{
	struct control *k = grpc_data(c);
	Urlfrontier__StringList m = URLFRONTIER__STRING_LIST__INIT;
	char *self = k->call.door->address;

	if (call_read(&k->call, &urlfrontier__empty__descriptor, message) ==
	    NULL)
		return;
	m.n_values = 1;
	m.values = &self;
	call_reply(&k->call, &m.base);
}
EVENTS(list_nodes);

/* ---- Control ------------------------------------------------------------- */

static void
set_active(struct grpc_call *c, struct str message)
{
	struct control *k = grpc_data(c);
	const Urlfrontier__Active *m = call_read(&k->call,
	    &urlfrontier__active__descriptor, message);

	if (m != NULL)
		ask(k, OUTSIDE_SET_ACTIVE, STR_NONE, STR_NONE, m->state);
}
EVENTS(set_active);

static void
get_active(struct grpc_call *c, struct str message)
{
	struct control *k = grpc_data(c);

	if (call_read(&k->call, &urlfrontier__local__descriptor, message) !=
	    NULL)
		ask(k, OUTSIDE_GET_ACTIVE, STR_NONE, STR_NONE, 0);
}
EVENTS(get_active);

static void
set_delay(struct grpc_call *c, struct str message)
{
	struct control *k = grpc_data(c);
	const Urlfrontier__QueueDelayParams *m = call_read(&k->call,
	    &urlfrontier__queue_delay_params__descriptor, message);

	if (m != NULL)
		ask(k, OUTSIDE_SET_DELAY, crawl_of(k), key_of(k),
		    m->delay_requestable);
}
EVENTS(set_delay);

static void
block_queue(struct grpc_call *c, struct str message)
{
	struct control *k = grpc_data(c);
	const Urlfrontier__BlockQueueParams *m = call_read(&k->call,
	    &urlfrontier__block_queue_params__descriptor, message);

	if (m != NULL)
		ask(k, OUTSIDE_BLOCK_UNTIL, crawl_of(k), key_of(k), m->time);
}
EVENTS(block_queue);

static void
set_limit(struct grpc_call *c, struct str message)
{
	struct control *k = grpc_data(c);
	const Urlfrontier__CrawlLimitParams *m = call_read(&k->call,
	    &urlfrontier__crawl_limit_params__descriptor, message);

	if (m != NULL)
		ask(k, OUTSIDE_SET_LIMIT, crawl_of(k), key_of(k), m->limit);
}
EVENTS(set_limit);

static void
delete_queue(struct grpc_call *c, struct str message)
{
	struct control *k = grpc_data(c);

	if (call_read(&k->call,
	    &urlfrontier__queue_within_crawl_params__descriptor, message) !=
	    NULL)
		ask(k, OUTSIDE_DELETE_QUEUE, crawl_of(k), key_of(k), 0);
}
EVENTS(delete_queue);

static void
delete_crawl(struct grpc_call *c, struct str message)
{
	struct control *k = grpc_data(c);

	if (call_read(&k->call,
	    &urlfrontier__delete_crawl_message__descriptor, message) !=
	    NULL)
		ask(k, OUTSIDE_DELETE_CRAWL, call_text(&k->call, "value"),
		    STR_NONE, 0);
}
EVENTS(delete_crawl);

static enum log_level
level_of(Urlfrontier__LogLevelParams__Level level)
{
	switch (level) {
	case URLFRONTIER__LOG_LEVEL_PARAMS__LEVEL__INFO:
		return LOG_INFO;
	case URLFRONTIER__LOG_LEVEL_PARAMS__LEVEL__WARN:
		return LOG_WARN;
	case URLFRONTIER__LOG_LEVEL_PARAMS__LEVEL__ERROR:
		return LOG_ERROR;
	default:
		return LOG_DEBUG;
	}
}

/* A module of ours; else, as for packages of others, this door's level. */
static void
set_level(struct grpc_call *c, struct str message)
{
	struct control *k = grpc_data(c);
	const Urlfrontier__LogLevelParams *m = call_read(&k->call,
	    &urlfrontier__log_level_params__descriptor, message);
	struct log_text quoted;

	if (m == NULL)
		return;
	struct str package = call_text(&k->call, "package");
	enum log_level level = level_of(m->level);
	if (!log_set_module(package, level))
		CHECK(log_set_module(STR("urlfrontier"), level));
	log_debug("urlfrontier.log_level", "package=%s level=%d",
	    log_quote(&quoted, package), (int)level);
	call_reply_bytes(&k->call, STR(""));
}
EVENTS(set_level);

/* ---- One URL ------------------------------------------------------------- */

static void
reply_status(struct control *k)
{
	const struct outside_entry *e = &k->status.entry;
	struct item_info i = { e->url, e->key, e->metadata, k->status.crawl };
	size_t n = item_known_size(&i, e->date_s, e->created_s);
	char *p = arena_bytes(&k->call.arena, n);

	item_known_write(p, &i, e->date_s, e->created_s);
	call_reply_bytes(&k->call, (struct str){ p, n });
}

static void
status_came(struct outside_call *c)
{
	struct control *k = CONTAINER(c, struct control, status.call);

	k->call.out--;
	if (k->call.grpc == NULL)
		control_free(k);
	else if (c->result == OK)
		reply_status(k);
	else if (c->result == ERR_ABSENT)
		call_fail(&k->call, GRPC_NOT_FOUND, "the URL is not known");
	else if (c->result == ERR_INPUT)
		call_fail(&k->call, GRPC_INVALID_ARGUMENT,
		    "there is no key, and none can be derived from the URL");
	else
		call_fail_err(&k->call, c->result);
}

static void
url_status(struct grpc_call *c, struct str message)
{
	struct control *k = grpc_data(c);

	if (call_read(&k->call, &urlfrontier__urlstatus_request__descriptor,
	    message) == NULL)
		return;
	k->status.crawl = call_crawl(crawl_of(k));
	k->status.key = key_of(k);
	k->status.url = call_text(&k->call, "url");
	call_ask(&k->call, &k->status.call, status_came);
	outside_status_of(k->call.door->frontier, &k->status);
}
EVENTS(url_status);
