/*
 * Control, statistics, and what is known of one URL: one verb, one answer.
 *
 *     local, or this node's queue ─► here
 *     another node's queue ────────► there, and its answer as it came
 *     no queue in particular ──────► here, then all others at once
 */
#include "doors/urlfrontier/engine.h"
#include "doors/urlfrontier/fan.h"
#include "os/log.h"
#include "wire/urlfrontier/urlfrontier.pb-c.h"

enum { STATS_CRAWL = 5 };

/* Names of counts that all nodes together may have. */
#define COUNTS_MAX 32

struct count {
	const char *name;
	uint64_t n;
};

struct control {
	struct door_call call;
	struct lease_control control;      /* the sum, when others answer */
	struct lease_status_of status;     /* GetURLStatus */
	struct count counts[COUNTS_MAX];     /* GetStats */
	size_t counts_n;
	struct fan fan;
	bool spread;                         /* to all others, after this */
	struct str passed;                   /* what the owner answered */
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
	const struct lease_stats *s = &k->control.stats;
	Urlfrontier__Stats m = URLFRONTIER__STATS__INIT;
	Urlfrontier__Stats__CountsEntry entries[COUNTS_MAX];
	Urlfrontier__Stats__CountsEntry *counts[COUNTS_MAX];

	for (size_t i = 0; i < k->counts_n; i++) {
		urlfrontier__stats__counts_entry__init(&entries[i]);
		entries[i].key = text_of(str_of(k->counts[i].name));
		entries[i].value = k->counts[i].n;
		counts[i] = &entries[i];
	}
	m.size = s->active;
	m.inprocess = (uint32_t)MIN(s->leased, UINT32_MAX);
	m.n_counts = k->counts_n;
	m.counts = counts;
	m.numberofqueues = s->queues;
	call_reply_text(&k->call, &m.base, STATS_CRAWL, k->control.crawl);
}

static void
reply_number(struct control *k)
{
	call_reply_number(&k->call, k->control.value);
}

static void
reply_boolean(struct control *k)
{
	Urlfrontier__Boolean m = URLFRONTIER__BOOLEAN__INIT;

	m.state = k->control.value != 0;
	call_reply(&k->call, &m.base);
}

/*
 * A method that is one verb of the frontier.  With a key it is the owner's; of
 * all nodes, if there is none and `all` is set, each does its part.
 */
struct method {
	const ProtobufCMessageDescriptor *request, *answer;
	enum lease_verb verb;
	bool all;
	const char *crawl, *value;   /* names of fields; NULL: there is none */
	void (*reply)(struct control *);      /* NULL: with an empty message */
	/* Add another node's answer; false: it cannot be read. */
	bool (*add)(struct control *, struct str message);
};

static const struct method methods[RPC_COUNT];

static void
answer(struct control *k)
{
	const struct method *m = &methods[k->call.rpc];

	if (m->reply != NULL)
		m->reply(k);
	else
		call_reply_bytes(&k->call, STR(""));
}

static void
control_free(struct control *k)
{
	arena_free(&k->status.arena);
	call_free(&k->call);
}

/* ---- Other nodes --------------------------------------------------------- */

/* False: there are too many. */
static bool
add_count(struct control *k, const char *name, uint64_t n)
{
	size_t i = 0;

	while (i < k->counts_n && strcmp(k->counts[i].name, name) != 0)
		i++;
	if (i == COUNTS_MAX)
		return false;
	if (i == k->counts_n)
		k->counts[k->counts_n++] = (struct count){ name, 0 };
	k->counts[i].n += n;
	return true;
}

static bool
add_stats(struct control *k, struct str message)
{
	struct lease_stats *s = &k->control.stats;
	const Urlfrontier__Stats *m = call_unpack(&k->call,
	    &urlfrontier__stats__descriptor, message);

	if (m == NULL)
		return false;
	s->active += m->size;
	s->leased += m->inprocess;
	s->queues += m->numberofqueues;
	for (size_t i = 0; i < m->n_counts; i++)
		if (!add_count(k, m->counts[i]->key, m->counts[i]->value))
			return false;
	return true;
}

static bool
add_number(struct control *k, struct str message)
{
	const Urlfrontier__Long *m = call_unpack(&k->call,
	    &urlfrontier__long__descriptor, message);

	if (m != NULL)
		k->control.value += m->value;
	return m != NULL;
}

static bool
add_boolean(struct control *k, struct str message)
{
	const Urlfrontier__Boolean *m = call_unpack(&k->call,
	    &urlfrontier__boolean__descriptor, message);

	if (m != NULL && !m->state)
		k->control.value = 0;
	return m != NULL;
}

static void
one_answered(struct fan *f, size_t node, struct str message)
{
	struct control *k = CONTAINER(f, struct control, fan);
	const struct method *m = &methods[k->call.rpc];

	if (m->add != NULL && !m->add(k, message))
		fan_unreadable(f, node);
}

static void
all_answered(struct fan *f)
{
	struct control *k = CONTAINER(f, struct control, fan);

	if (f->code == GRPC_OK)
		answer(k);
	else
		call_fail(&k->call, f->code, f->why.text);
}

/* As it came, but nothing that the caller's library would choke on. */
static void
owner_answered(struct fan *f, size_t node, struct str message)
{
	struct control *k = CONTAINER(f, struct control, fan);

	if (call_unpack(&k->call, methods[k->call.rpc].answer, message) ==
	    NULL)
		fan_unreadable(f, node);
	k->passed = arena_copy(&k->call.arena, message);
}

static void
owner_done(struct fan *f)
{
	struct control *k = CONTAINER(f, struct control, fan);

	if (f->code == GRPC_OK)
		call_reply_bytes(&k->call, k->passed);
	else
		call_fail(&k->call, f->code, f->why.text);
}

static void
begin_fan(struct control *k, size_t node,
    void (*each)(struct fan *, size_t node, struct str message),
    void (*end)(struct fan *))
{
	k->fan = (struct fan){ .cluster = k->call.door->cluster,
	    .loop = k->call.door->loop,
	    .rpc = urlfrontier_rpc_name(k->call.rpc),
	    .timeout_ns = call_time_left_ns(&k->call), .answer = each,
	    .done = end };
	fan_begin(&k->fan, node, k->call.request);
}

/* This node has done its part: the answer, or the others' parts. */
static void
go_on(struct control *k)
{
	if (k->spread)
		begin_fan(k, FAN_ALL, one_answered, all_answered);
	else
		answer(k);
}

/* True: the queue is another node's, and that one is asked. */
static bool
is_elsewhere(struct control *k, struct str crawl, struct str key, bool local)
{
	const struct cluster *c = k->call.door->cluster;

	if (key.n == 0 || call_is_local(&k->call, local))
		return false;
	size_t owner = cluster_owner(c, crawl, key);
	if (owner == cluster_self(c))
		return false;
	begin_fan(k, owner, owner_answered, owner_done);
	return true;
}

/* ---- This node ----------------------------------------------------------- */

static void
done(struct lease_call *c)
{
	struct control *k = CONTAINER(c, struct control, control.call);
	const struct lease_stats *s = &k->control.stats;

	k->call.out--;
	if (k->call.grpc == NULL) {
		control_free(k);
	} else if (c->result == OK) {
		add_count(k, "completed", s->completed);
		add_count(k, "active_queues", s->active_queues);
		go_on(k);
	} else if (c->result == ERR_ABSENT) {
		call_fail(&k->call, GRPC_UNKNOWN, "there is no such queue");
	} else if (c->result == ERR_FULL) {
		call_fail(&k->call, GRPC_RESOURCE_EXHAUSTED,
		    "too many queues are remembered that hold no URL yet");
	} else {
		call_fail_err(&k->call, c->result);
	}
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
	fan_stop(&k->fan);
	if (k->call.out == 0) {
		control_free(k);
		return;
	}
	lease_cancel(&k->control.call);
	lease_cancel(&k->status.call);
}

#define EVENTS(handler) \
	const struct grpc_events urlfrontier_##handler = {                   \
		.on_open = on_open, .on_message = handler, .on_end = on_end }

/* ---- Verbs --------------------------------------------------------------- */

static const struct method methods[RPC_COUNT] = {
	[RPC_GET_STATS] = { .verb = LEASE_STATS, .all = true,
	    .request = &urlfrontier__queue_within_crawl_params__descriptor,
	    .answer = &urlfrontier__stats__descriptor,
	    .crawl = "crawlID", .reply = reply_stats, .add = add_stats },
	[RPC_SET_ACTIVE] = { .verb = LEASE_SET_ACTIVE, .all = true,
	    .request = &urlfrontier__active__descriptor, .value = "state" },
	[RPC_GET_ACTIVE] = { .verb = LEASE_GET_ACTIVE, .all = true,
	    .request = &urlfrontier__local__descriptor,
	    .reply = reply_boolean, .add = add_boolean },
	[RPC_SET_DELAY] = { .verb = LEASE_SET_DELAY, .all = true,
	    .request = &urlfrontier__queue_delay_params__descriptor,
	    .answer = &urlfrontier__empty__descriptor,
	    .crawl = "crawlID", .value = "delay_requestable" },
	[RPC_BLOCK_QUEUE] = { .verb = LEASE_BLOCK_UNTIL,
	    .request = &urlfrontier__block_queue_params__descriptor,
	    .answer = &urlfrontier__empty__descriptor,
	    .crawl = "crawlID", .value = "time" },
	[RPC_SET_LIMIT] = { .verb = LEASE_SET_LIMIT,
	    .request = &urlfrontier__crawl_limit_params__descriptor,
	    .answer = &urlfrontier__empty__descriptor,
	    .crawl = "crawlID", .value = "limit" },
	[RPC_DELETE_QUEUE] = { .verb = LEASE_DELETE_QUEUE,
	    .request = &urlfrontier__queue_within_crawl_params__descriptor,
	    .answer = &urlfrontier__long__descriptor,
	    .crawl = "crawlID", .reply = reply_number },
	[RPC_DELETE_CRAWL] = { .verb = LEASE_DELETE_CRAWL, .all = true,
	    .request = &urlfrontier__delete_crawl_message__descriptor,
	    .crawl = "value", .reply = reply_number, .add = add_number },
	/* url_status() asks; the owner may answer. */
	[RPC_GET_URL_STATUS] = { .answer = &urlfrontier__urlitem__descriptor },
};

static void
control(struct grpc_call *c, struct str message)
{
	struct control *k = grpc_data(c);
	const struct method *m = &methods[k->call.rpc];
	struct lease_control *o = &k->control;

	if (call_read(&k->call, m->request, message) == NULL)
		return;
	bool local = call_u64(&k->call, "local") != 0;
	o->verb = m->verb;
	o->crawl = call_crawl(m->crawl == NULL ? STR_NONE :
	    call_text(&k->call, m->crawl));
	o->key = call_text(&k->call, "key");
	o->value = m->value == NULL ? 0 : call_u64(&k->call, m->value);
	k->spread = m->all && o->key.n == 0 && !call_is_local(&k->call, local);
	if (o->verb != LEASE_STATS && engine_crawls_refuse(&k->call, o->crawl))
		return;
	if (is_elsewhere(k, o->crawl, o->key, local))
		return;
	call_ask(&k->call, &o->call, done);
	engine_crawls_control(k->call.door, o);
}
EVENTS(control);

static void
list_nodes(struct grpc_call *c, struct str message)
{
	struct control *k = grpc_data(c);
	const struct cluster *all = k->call.door->cluster;
	Urlfrontier__StringList m = URLFRONTIER__STRING_LIST__INIT;

	if (call_read(&k->call, &urlfrontier__empty__descriptor, message) ==
	    NULL)
		return;
	m.n_values = all == NULL ? 1 : cluster_nodes(all);
	m.values = ARENA_ARRAY(&k->call.arena, char *, m.n_values);
	for (size_t i = 0; i < m.n_values; i++)
		m.values[i] = all == NULL ? k->call.door->node :
		    text_of(str_of(cluster_node(all, i)));
	call_reply(&k->call, &m.base);
}
EVENTS(list_nodes);

/* ---- Log level ----------------------------------------------------------- */

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
	k->spread = !call_is_local(&k->call, m->local);
	go_on(k);
}
EVENTS(set_level);

/* ---- One URL ------------------------------------------------------------- */

static void
reply_status(struct control *k)
{
	const struct lease_entry *e = &k->status.entry;
	struct item_info i = { e->url, e->key, e->metadata, k->status.crawl };
	size_t n = item_known_size(&i, e->date_s, e->created_s);
	char *p = arena_bytes(&k->call.arena, n);

	item_known_write(p, &i, e->date_s, e->created_s);
	call_reply_bytes(&k->call, (struct str){ p, n });
}

static void
status_came(struct lease_call *c)
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
	k->status.crawl = call_crawl(call_text(&k->call, "crawlID"));
	k->status.key = call_text(&k->call, "key");
	k->status.url = call_text(&k->call, "url");
	if (k->status.key.n == 0)
		k->status.key = lease_key(k->status.url);
	if (is_elsewhere(k, k->status.crawl, k->status.key, false))
		return;
	call_ask(&k->call, &k->status.call, status_came);
	engine_crawls_status_of(k->call.door, &k->status);
}
EVENTS(url_status);
