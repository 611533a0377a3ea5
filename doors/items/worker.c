/*
 * The worker protocol (contracts/items.md §8): claim, heartbeat, read, blob,
 * complete, release.  A lease is a row of the database, so a worker may go on
 * with it at another connection, and after a restart of the daemon.
 */
#include "base/json_writer.h"
#include "base/text.h"
#include "doors/items/edit.h"
#include "doors/items/handlers.h"
#include "doors/items/meter.h"
#include "engine/items/item_states.h"
#include "os/clock.h"
#include "script/items/far_pairs.h"
#include "script/items/lease_user.h"
#include "script/items/task_service.h"

#define WORKER_BYTES_MAX 200u
#define LEASE_MS_MIN 1000
#define USED_MAX ((int64_t)1 << 50)  /* of a run's figures */

/* -- Claims -- */

struct claim {
	struct items_claim items;
	struct exchange *x;
};

/* Give back what was leased for a client that has gone. */
struct give_back {
	struct str *leases;
	size_t n;
};

static enum err
release_leases(struct exchange *x, struct item_tx *tx, struct why *w)
{
	const struct give_back *g = x->in;
	bool was;
	enum err e = OK;

	for (size_t i = 0; e == OK && i < g->n; i++)
		e = worklist_release(tx, g->leases[i], true, &was, w);
	return e;
}

/* A run begins, or has said a line; `more` as items_live_event() takes it. */
static void
tell_live(struct items_door *d, const char *type, struct str lease,
    struct str item, struct str task, struct str more)
{
	items_live_event(d->items, &(struct items_live){ .type = type,
	    .item = item, .task = task, .lease = lease, .more = more });
}

static void
tell_started(struct exchange *x, struct str elements)
{
	struct str list = arena_printf(&x->arena, "[%.*s]", STR_FMT(elements));
	yyjson_doc *doc = yyjson_read(list.p, list.n,
	    YYJSON_READ_BIGNUM_AS_RAW);
	yyjson_val *root = yyjson_doc_get_root(doc), *one;
	size_t i, max;

	yyjson_arr_foreach(root, i, max, one)
		tell_live(x->door, "task.started", json_text(yyjson_obj_get(
		    one, "lease")), json_text(yyjson_obj_get(yyjson_obj_get(
		    one, "item"), "id")), json_text(yyjson_obj_get(one,
		    "task")), STR_NONE);
	yyjson_doc_free(doc);
}

/* The answer reaches nobody: its leases would count as failed runs. */
static void
give_back(struct exchange *x, struct str elements)
{
	struct str list = arena_printf(&x->arena, "[%.*s]", STR_FMT(elements));
	yyjson_doc *doc = yyjson_read(list.p, list.n,
	    YYJSON_READ_BIGNUM_AS_RAW);
	yyjson_val *root = yyjson_doc_get_root(doc), *one;
	struct give_back *g = x->in = ARENA_NEW(&x->arena, struct give_back);
	size_t i, max;

	g->leases = ARENA_ARRAY(&x->arena, struct str,
	    yyjson_arr_size(root) + 1);
	yyjson_arr_foreach(root, i, max, one)
		g->leases[g->n++] = json_text(yyjson_obj_get(one, "lease"));
	x->body = doc;
	exchange_write(x, NULL, release_leases);
}

static void
claimed(struct items_claim *c)
{
	struct claim *k = CONTAINER(c, struct claim, items);
	struct exchange *x = k->x;
	struct buf *b = &x->out;

	items_meter_claims(-1);
	if (c->result != OK) {
		exchange_refuse(x, c->result, &c->why);
	} else if (c->n > 0 && web_has_left(x->request)) {
		yyjson_doc_free(x->body);
		x->body = NULL;
		give_back(x, buf_str(&c->out));
	} else {
		if (x->door->readers > 0)
			tell_started(x, buf_str(&c->out));
		json_object(b, NULL);
		json_u64(b, "generation", c->generation);
		json_array(b, "leases");
		buf_put_str(b, buf_str(&c->out));
		buf_put_text(b, "]}");
		exchange_answer(x);
	}
	buf_free(&c->out);
	arena_free(&c->write.arena);
	mem_free(&k);
}

static void
check_worker(struct input *in, struct str worker)
{
	if (worker.n > WORKER_BYTES_MAX || text_has_control(worker))
		input_fault(in, ERR_INPUT, "worker", "it is longer than 200 "
		    "bytes, or has control characters");
}

struct far_pairs *
worker_far_pairs(const struct items_door *d)
{
	const struct task_runner *r = task_service_runner(d->service);

	return r == NULL ? NULL : task_runner_far_pairs(r);
}

void
worker_claim(struct web_request *r)
{
	static const struct str every[] = { { "*", 1 } };
	struct input in = input_of(exchange_new(r));
	struct claim *k = mem_new(sizeof(*k));
	struct worklist_claim *c = &k->items.claim;

	k->x = in.x;
	input_json(&in);
	c->worker = input_need_str(&in, "worker");
	check_worker(&in, c->worker);
	c->tasks = input_strs(&in, "tasks", &c->tasks_n);
	c->max = (unsigned)input_int(&in, "max", 1, 1, ITEMS_CLAIM_MAX);
	int64_t wait = input_int(&in, "wait_ms", 0, 0, ITEMS_WAIT_MS_MAX);
	c->lease_us = 1000 * input_int(&in, "lease_ms", 0, LEASE_MS_MIN,
	    ITEMS_LEASE_MS_MAX);
	c->prefetch = input_strs(&in, "prefetch", &c->prefetch_n);
	if (c->tasks == NULL) {
		c->tasks = every;
		c->tasks_n = ARRAY_LEN(every);
	}
	if (!input_end(&in)) {
		mem_free(&k);
		return;
	}
	k->items.until = mono_add_ms(clock_mono(), wait);
	k->items.done = claimed;
	if (worker_far_pairs(in.x->door) != NULL)
		far_pairs_use(worker_far_pairs(in.x->door), c);
	items_meter_claims(1);
	items_claim(in.x->door->items, &k->items);
}

/* -- Leases -- */

struct leases {
	const struct str *list;
	size_t n;
	int64_t lease_us;
	struct far_pairs *far;       /* or NULL */
};

static struct leases *
read_leases(struct input *in)
{
	struct leases *l = in->x->in = ARENA_NEW(&in->x->arena, struct leases);

	input_json(in);
	l->list = input_strs(in, "leases", &l->n);
	if (l->list == NULL)
		input_fault(in, ERR_INPUT, "leases", "it is missing");
	if (l->n > ITEMS_LEASES_MAX)
		input_fault(in, ERR_INPUT, "leases",
		    "there are more than 10,000");
	return l;
}

static void
want_leases(struct exchange *x, struct item_tx *tx)
{
	const struct leases *l = x->in;
	uint32_t task;
	int64_t item;
	uint64_t lease;

	for (size_t i = 0; i < l->n; i++)
		if (worklist_lease_read(l->list[i], &task, &item, &lease))
			item_tx_want_pair_key(tx, task, item);
}

static enum err
extend(struct exchange *x, struct item_tx *tx, struct why *w)
{
	const struct leases *l = x->in;
	struct wall until;

	buf_put_text(&x->out, "{\"leases\":{");
	for (size_t i = 0; i < l->n; i++) {
		enum err e = worklist_heartbeat(tx, l->list[i], l->lease_us,
		    &until, w);
		if (e != OK)
			return e;
		json_comma(&x->out);
		text_json(&x->out, l->list[i]);
		buf_put_char(&x->out, ':');
		exchange_put_time(&x->out, NULL, until);
	}
	buf_put_text(&x->out, "}}");
	return OK;
}

void
worker_heartbeat(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct leases *l = read_leases(&in);

	l->lease_us = 1000 * input_int(&in, "lease_ms", 0, LEASE_MS_MIN,
	    ITEMS_LEASE_MS_MAX);
	if (input_end(&in))
		exchange_write(in.x, want_leases, extend);
}

/* Their logins, too, are over. */
static void
end_sessions(struct exchange *x, struct str lease)
{
	struct task_runner *r = task_service_runner(x->door->service);

	if (r != NULL)
		lease_users_end(task_runner_lease_users(r), lease);
}

/* Its host's turn is far: its tokens go back, too. */
static bool
is_put_back(const struct leases *l, struct str lease)
{
	uint32_t task;
	int64_t item;
	uint64_t random;

	return l->far != NULL && worklist_lease_read(lease, &task, &item,
	    &random) && far_pairs_wait_ms(l->far, task, item) > 0;
}

static enum err
store_release(struct exchange *x, struct item_tx *tx, struct why *w)
{
	const struct leases *l = x->in;
	size_t released = 0;

	for (size_t i = 0; i < l->n; i++) {
		bool was;
		enum err e = worklist_release(tx, l->list[i],
		    is_put_back(l, l->list[i]), &was, w);
		if (e != OK)
			return e;
		released += was;
	}
	json_object(&x->out, NULL);
	json_u64(&x->out, "released", released);
	buf_put_char(&x->out, '}');
	return OK;
}

static void
released(struct exchange *x)
{
	const struct leases *l = x->in;

	for (size_t i = 0; i < l->n; i++)
		end_sessions(x, l->list[i]);
	exchange_answer(x);
}

void
worker_release(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));

	read_leases(&in)->far = worker_far_pairs(in.x->door);
	in.x->then = released;
	if (input_end(&in))
		exchange_write(in.x, want_leases, store_release);
}

/* Whether the pair is still leased under that text. */
enum err
worker_check_lease(struct exchange *x, struct item_tx *tx, struct str text,
    struct why *w)
{
	struct pair_row *pair;
	uint32_t task;
	int64_t item;
	uint64_t lease;

	if (!worklist_lease_read(text, &task, &item, &lease))
		return why_field(w, ERR_INPUT, "lease", "it is none");
	enum err e = item_tx_pair(tx, task, item, &pair, w);
	x->refusal = 0;
	if (e == OK && (!pair->exists || pair->lease != lease)) {
		x->refusal = 409;
		x->refusal_code = "lease_lost";
		e = why_field(w, ERR_STATE, "lease", "it is lost");
	}
	return e;
}

enum err
worker_find_item(struct exchange *x, struct item_tx *tx, struct why *w)
{
	struct worker_lease *l = x->in;
	struct item_row *row;
	uint32_t task;
	int64_t item;
	uint64_t lease;

	enum err e = worker_check_lease(x, tx, l->text, w);
	if (e == OK && worklist_lease_read(l->text, &task, &item, &lease))
		e = item_tx_item(tx, item, &row, w);
	if (e == OK)
		l->item = arena_copy(&x->arena, row->id);
	return e;
}

/* -- Reads -- */

struct reads {
	struct str lease;
	struct item_states states;
};

static void
want_reads(struct exchange *x, struct item_tx *tx)
{
	const struct reads *q = x->in;

	item_states_want(tx, &q->states);
}

static enum err
read_rows(struct exchange *x, struct item_tx *tx, struct why *w)
{
	const struct reads *q = x->in;

	enum err e = worker_check_lease(x, tx, q->lease, w);
	buf_put_char(&x->out, '{');
	if (e == OK)
		e = item_states_put(tx, &q->states, &x->out, w);
	buf_put_char(&x->out, '}');
	return e;
}

void
worker_read(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct reads *q = in.x->in = ARENA_NEW(&in.x->arena, struct reads);

	input_json(&in);
	q->lease = input_need_str(&in, "lease");
	(void)input_value(&in, "items");
	(void)input_value(&in, "metadata");
	if (in.e == OK)
		in.e = item_states_read(in.root, &in.x->arena, &q->states,
		    &in.why);
	if (input_end(&in))
		exchange_write(in.x, want_reads, read_rows);
}

/* -- Blobs -- */

struct blob {
	struct str lease, bytes;
};

static enum err
store_blob(struct exchange *x, struct item_tx *tx, struct why *w)
{
	const struct blob *b = x->in;
	uint8_t sha256[32];

	enum err e = worker_check_lease(x, tx, b->lease, w);
	if (e == OK)
		e = item_blob_store(tx, b->bytes, sha256, w);
	if (e == OK)
		edit_put_blob(&x->out, STR_NONE, sha256, b->bytes, STR_NONE);
	return e;
}

void
worker_blob(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct blob *b = in.x->in = ARENA_NEW(&in.x->arena, struct blob);

	b->lease = input_param(&in, "lease");
	if (b->lease.p == NULL)
		input_fault(&in, ERR_INPUT, "lease", "it is missing");
	b->bytes = edit_blob_bytes(&in);
	if (input_end(&in))
		exchange_write(in.x, NULL, store_blob);
}

/* -- Completions -- */

struct completions {
	yyjson_val **list;
	struct said {
		struct str item, task;
	} *said;                     /* of whose log; NULL: nobody hears */
	size_t n;
	size_t from, to;             /* of this commit */
};

static void
want_completions(struct exchange *x, struct item_tx *tx)
{
	const struct completions *c = x->in;

	for (size_t i = c->from; i < c->to; i++)
		worklist_complete_want(tx, c->list[i]);
}

static int64_t
read_count(yyjson_val *used, const char *name)
{
	yyjson_val *v = yyjson_obj_get(used, name);

	return yyjson_is_uint(v) ? (int64_t)MIN(yyjson_get_uint(v),
	    (uint64_t)USED_MAX) : 0;
}

/* "used": what the run has cost, what it has fetched, and what a replay needs;
 * all 0 without. */
static struct run_usage
read_usage(struct exchange *x, yyjson_val *completion)
{
	yyjson_val *used = yyjson_obj_get(completion, "used");
	yyjson_val *fetches = yyjson_obj_get(used, "requests");
	yyjson_val *replay = yyjson_obj_get(used, "replay");
	struct run_usage u = { .started_at = ITEM_TIME_NONE };

	if (!yyjson_is_obj(used))
		return (struct run_usage){ .wall_us = 0 };
	if (!wall_from_iso(json_text(yyjson_obj_get(used, "started_at")),
	    &u.started_at))
		u.started_at = clock_wall();
	u.wall_us = 1000 * read_count(used, "wall_ms");
	u.cpu_us = 1000 * read_count(used, "cpu_ms");
	u.memory_bytes = read_count(used, "memory_bytes");
	u.fetches = read_count(used, "fetches");
	u.bytes = read_count(used, "bytes");
	if (yyjson_is_arr(fetches))
		u.fetches_json = input_raw(x, fetches);
	if (yyjson_is_obj(replay))
		u.replay_json = input_raw(x, replay);
	return u;
}

static enum err
complete_one(struct exchange *x, struct item_tx *tx, size_t i, struct why *w)
{
	const struct completions *c = x->in;
	struct run_usage usage = read_usage(x, c->list[i]);
	struct item_mark mark = item_tx_mark(tx);
	struct why inner = WHY_INIT;
	struct completion done = { .reason = STR_NONE };
	struct str lease = json_text(yyjson_obj_get(c->list[i], "lease"));

	enum err e = worklist_complete(tx, c->list[i], &usage, &done, &inner);
	if (e == OK && c->said != NULL && done.status != COMPLETION_CONFLICT)
		c->said[i] = (struct said){ arena_copy(&x->arena, done.item),
			arena_copy(&x->arena, done.task) };
	if (e == OK)
		return completion_json(tx, lease, &done, &x->out, w);
	if (!exchange_is_fault(e))
		return why(w, e, "%s", inner.text);
	if (e == ERR_FULL)
		items_meter_limit(inner.field);
	/* It is no completion: the worker has a fault, the others go on. */
	item_tx_undo(tx, mark);
	json_object(&x->out, NULL);
	json_str(&x->out, "lease", lease);
	json_str(&x->out, "status", STR("refused"));
	json_str(&x->out, "reason", str_of(inner.text));
	buf_put_char(&x->out, '}');
	return OK;
}

static enum err
complete(struct exchange *x, struct item_tx *tx, struct why *w)
{
	const struct completions *c = x->in;
	enum err e = OK;

	buf_put_char(&x->out, '[');
	for (size_t i = c->from; e == OK && i < c->to; i++)
		e = complete_one(x, tx, i, w);
	return e;
}

static void
write_completions(struct exchange *x)
{
	const struct completions *c = x->in;

	x->write.parts = c->to - c->from;
	exchange_write(x, want_completions, complete);
}

/* {"category":"info","message":"ok"} of a completion's log. */
static void
tell_line(struct items_door *d, const struct said *run, struct str lease,
    yyjson_val *line)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	json_object(&b, NULL);
	json_str(&b, "category", json_text(yyjson_obj_get(line, "category")));
	json_str(&b, "message", json_text(yyjson_obj_get(line, "message")));
	tell_live(d, "log", lease, run->item, run->task,
	    str_from(buf_str(&b), 1));
}

static void
tell_logs(struct exchange *x, const struct completions *c)
{
	yyjson_val *line;
	size_t k, max;

	for (size_t i = c->from; c->said != NULL && i < c->to; i++) {
		yyjson_val *one = c->list[i];

		if (c->said[i].item.n == 0)
			continue;
		yyjson_arr_foreach(yyjson_obj_get(one, "log"), k, max, line)
			tell_line(x->door, &c->said[i], json_text(
			    yyjson_obj_get(one, "lease")), line);
	}
}

static void
completed(struct exchange *x)
{
	struct completions *c = x->in;
	struct str part = str_from(buf_str(&x->out), 1);

	/* x->next: the results of the commits before. */
	if (part.n > 0)
		json_comma(&x->next);
	buf_put_str(&x->next, part);
	for (size_t i = c->from; i < c->to; i++)
		end_sessions(x, json_text(yyjson_obj_get(c->list[i],
		    "lease")));
	tell_logs(x, c);
	c->from = c->to;
	c->to = MIN(c->n, c->from +
	    (size_t)x->door->limits.completions_max);
	if (c->from < c->n) {
		write_completions(x);
		return;
	}
	buf_clear(&x->out);
	buf_put_text(&x->out, "{\"results\":[");
	buf_put_str(&x->out, buf_str(&x->next));
	buf_put_text(&x->out, "]}");
	exchange_answer(x);
}

static void
read_completions(struct input *in, struct completions *c)
{
	yyjson_val *list = input_array(in, "completions", SIZE_MAX), *one;
	size_t i, max;

	if (list == NULL)
		return;
	c->list = ARENA_ARRAY(&in->x->arena, yyjson_val *,
	    yyjson_arr_size(list) + 1);
	yyjson_arr_foreach(list, i, max, one) {
		if (!yyjson_is_str(yyjson_obj_get(one, "lease")))
			input_fault(in, ERR_INPUT, "completions",
			    "one has no lease");
		c->list[c->n++] = one;
	}
}

void
worker_complete(struct web_request *r)
{
	static const char *const json[] = { "application/json", NULL };
	struct input in = input_of(exchange_new(r));
	struct items_door *d = in.x->door;
	struct completions *c = in.x->in = ARENA_NEW(&in.x->arena,
	    struct completions);
	int64_t most = d->limits.complete_bytes_max;

	if (!input_is_media(in.x, json)) {
		in.x->refusal = 415;
		in.x->refusal_code = "media_type";
		input_fault(&in, ERR_INPUT, "content-type",
		    "application/json is expected");
	} else if ((int64_t)web_body(r).n > most) {
		in.e = why_field(&in.why, ERR_FULL, "completions",
		    "they may have %lld bytes", (long long)most);
	} else {
		input_text(&in, web_body(r));
	}
	read_completions(&in, c);
	if (d->readers > 0)
		c->said = ARENA_ARRAY(&in.x->arena, struct said, c->n + 1);
	in.x->then = completed;
	if (!input_end(&in))
		return;
	c->to = MIN(c->n, (size_t)d->limits.completions_max);
	write_completions(in.x);
}
