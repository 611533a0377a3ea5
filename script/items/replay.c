/*
 * A page of runs: read with their records on the reader's thread, then run here
 * a few at a time.  A run of which something is stored goes back and forth:
 *
 *     done ─► what its callbacks read is read now ─► recompute ─► done ─► store
 *                                                        ▲     conflict │
 *                                                        └──────────────┘
 */
#include "script/items/replay.h"

#include "base/json.h"
#include "base/json_writer.h"
#include "engine/items/item_query.h"
#include "engine/items/item_states.h"
#include "script/items/replay_source.h"
#include "script/items/runner_own.h"
#include "script/items/source.h"
#include "wire/digest.h"

#define AT_ONCE 8u
/* Their stores share commits. */
#define APPLY_AT_ONCE 32u
/* Then the differences of a page are left out. */
#define LINES_BYTES_MAX ((size_t)4 << 20)

struct replay_part {
	struct replay *job;
	struct run_replay row;
	struct replay_record *record;        /* NULL: `why` */
	struct why why;
	struct replay_source source;
	struct replay_run run;
	struct wall completed_at;
	struct buf diff;             /* of the first outcome */
	struct buf reason;
	/* What is stored. */
	struct items_write write;
	struct item_states states;
	struct buf mutations, log, replay, fetches, answer;
	yyjson_doc *doc, *log_doc;
	struct run_usage usage;
	struct completion completion;
	bool is_running, is_writing, is_refreshed, cut;
};

/* Code that runs have recorded. */
struct replay_bundle {
	struct str hash;
	struct buf files;            /* JSON; empty: not kept any more */
	struct script_bundle *bundle;        /* NULL: not read so far */
};

static void start_parts(struct replay *);

/* -- Results -- */

static const char *const status_texts[] = {
#define STATUS_TEXT(id, text, fails, help) text,
	REPLAY_STATUSES(STATUS_TEXT)
#undef STATUS_TEXT
};

static void
put_line(struct replay *r, struct replay_part *p, enum replay_status s,
    const struct script_outcome *o)
{
	struct buf *b = &r->lines;
	bool fits = b->n < LINES_BYTES_MAX;

	if (b->n > 0)
		buf_put_char(b, ',');
	json_object(b, NULL);
	json_name(b, "run");
	buf_printf(b, "\"R%lld\"", (long long)p->row.id);
	json_str(b, "task", p->row.task);
	json_str(b, "item", p->row.item.p == NULL ? STR("") : p->row.item);
	json_str(b, "status", str_of(status_texts[s]));
	json_raw(b, "diff", fits && p->diff.n > 0 ? buf_str(&p->diff) :
	    STR("null"));
	if (o != NULL && !o->is_success) {
		json_object(b, "error");
		json_str(b, "class", o->class);
		json_str(b, "code", o->code);
		json_str(b, "message", o->message);
		json_str(b, "stack", fits ? o->stack : STR(""));
		buf_put_char(b, '}');
	} else {
		json_null(b, "error");
	}
	if (p->reason.n > 0)
		json_str(b, "reason", buf_str(&p->reason));
	else
		json_null(b, "reason");
	buf_put_char(b, '}');
}

static void
put_answer(struct replay *r)
{
	struct buf *b = &r->json;

	json_object(b, NULL);
	json_object(b, "counts");
	for (size_t i = 0; i < REPLAY_STATUS_COUNT; i++)
		json_u64(b, status_texts[i], r->counts[i]);
	buf_put_char(b, '}');
	json_array(b, "runs");
	buf_put_str(b, buf_str(&r->lines));
	buf_put_char(b, ']');
	if (r->last == 0) {
		json_null(b, "next");
	} else {
		json_name(b, "next");
		buf_printf(b, "\"%lld-%lld\"", (long long)r->last,
		    (long long)r->upto);
	}
	buf_put_char(b, '}');
}

static void
end_replay(struct replay *r)
{
	struct task_runner *runner = r->runner;

	if (r->cut && r->why.err == OK)
		why(&r->why, ERR_CLOSED, "the program stops");
	if (r->why.err == OK)
		put_answer(r);
	for (size_t i = 0; i < r->parts_n; i++) {
		replay_record_free(&r->parts[i].record);
		buf_free(&r->parts[i].diff);
		buf_free(&r->parts[i].reason);
	}
	for (size_t i = 0; i < r->bundles_n; i++) {
		buf_free(&r->bundles[i].files);
		if (r->bundles[i].bundle != NULL)
			bundle_drop(&r->bundles[i].bundle);
	}
	buf_free(&r->lines);
	runner_config_drop(&r->config);
	arena_free(&r->read.arena);
	buf_free(&r->read.out);
	list_take(&r->node);
	runner->simulations--;
	r->done(r);
	task_runner_settled(runner);
}

static void
part_freed(struct replay_run *run)
{
	struct replay_part *p = CONTAINER(run, struct replay_part, run);
	struct replay *r = p->job;

	replay_record_free(&p->record);
	buf_free(&p->diff);
	buf_free(&p->reason);
	buf_free(&p->mutations);
	buf_free(&p->log);
	buf_free(&p->replay);
	buf_free(&p->fetches);
	buf_free(&p->answer);
	arena_free(&p->write.arena);
	p->is_running = false;
	r->under_way--;
	start_parts(r);
}

static void
end_part(struct replay_part *p, enum replay_status s,
    const struct script_outcome *o)
{
	p->job->counts[s]++;
	if (s != REPLAY_SAME)
		put_line(p->job, p, s, o);
	replay_run_finish(&p->run, part_freed);
}

/* -- Storing -- */

static void
give_up(struct replay_part *p, enum replay_status s, struct str reason)
{
	buf_clear(&p->reason);
	buf_put_str(&p->reason, reason);
	end_part(p, s, NULL);
}

/* Its callbacks are called again with this, and part_done() comes. */
static void
recompute(struct replay_part *p, struct str current)
{
	struct why w = WHY_INIT;

	if (replay_run_recompute(&p->run, current, &w) != OK)
		give_up(p, REPLAY_CHANGED, str_of(w.text));
}

static enum err
store_blobs(struct replay_part *p, struct item_tx *tx, struct why *w)
{
	struct digest d;
	enum err e = OK;

	LIST_EACH(b, &p->run.blobs, const struct replay_blob, node) {
		if (e == OK)
			e = item_blob_store(tx, b->bytes, d.bytes, w);
	}
	return e;
}

static enum err
store(struct items_write *write, struct item_tx *tx, struct why *w)
{
	struct replay_part *p = CONTAINER(write, struct replay_part, write);
	struct worklist_replay r = { .task = p->row.task, .item = p->row.item,
	    .was_success = p->row.success, .completed_at = p->completed_at,
	    .mutations = yyjson_doc_get_root(p->doc),
	    .log = yyjson_doc_get_root(p->log_doc) };

	buf_clear(&p->answer);
	enum err e = store_blobs(p, tx, w);
	if (e == OK)
		e = worklist_replay(tx, &r, &p->usage, &p->completion, w);
	return e == OK ? completion_json(tx, STR(""), &p->completion,
	    &p->answer, w) : e;
}

static void
resolve_conflict(struct replay_part *p)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	yyjson_doc *doc = yyjson_read(p->answer.p, p->answer.n, 0);
	size_t n = 0;
	char *current = yyjson_val_write(yyjson_obj_get(
	    yyjson_doc_get_root(doc), "current"), 0, &n);

	buf_put(&text, current, n);
	free(current);
	yyjson_doc_free(doc);
	recompute(p, buf_str(&text));
}

static void
stored(struct items_write *write)
{
	struct replay_part *p = CONTAINER(write, struct replay_part, write);

	p->is_writing = false;
	yyjson_doc_free(p->doc);
	yyjson_doc_free(p->log_doc);
	p->doc = p->log_doc = NULL;
	arena_reset(&write->arena);
	if (p->cut)
		end_part(p, REPLAY_SKIPPED, NULL);
	else if (write->result != OK)
		give_up(p, write->result == ERR_ABSENT ? REPLAY_CHANGED :
		    REPLAY_FAILED, str_of(write->why.text));
	else if (p->completion.status == COMPLETION_CONFLICT)
		resolve_conflict(p);
	else if (p->completion.status == COMPLETION_FAILED)
		give_up(p, REPLAY_FAILED, p->completion.reason);
	else if (p->completion.status == COMPLETION_LEASE_LOST)
		give_up(p, REPLAY_CHANGED, STR("the item has had another run "
		    "since, or has one now"));
	else
		end_part(p, REPLAY_APPLIED, NULL);
}

static void
begin_write(struct replay_part *p,
    enum err (*run)(struct items_write *, struct item_tx *, struct why *),
    void (*done)(struct items_write *))
{
	p->write.run = run;
	p->write.done = done;
	p->write.why = WHY_INIT;
	p->is_writing = true;
	items_write(p->job->runner->o.items, &p->write);
}

static void
apply_outcome(struct replay_part *p)
{
	p->doc = yyjson_read(p->mutations.p, p->mutations.n, 0);
	p->log_doc = yyjson_read(p->log.p, p->log.n, 0);
	begin_write(p, store, stored);
}

/* The outcome's texts are freed after this call, so copy them. */
static void
keep_outcome(struct replay_part *p, const struct script_outcome *o)
{
	buf_clear(&p->mutations);
	buf_put_str(&p->mutations, o->mutations);
	buf_clear(&p->log);
	buf_printf(&p->log, "[%.*s]", STR_FMT(buf_str(&p->run.log)));
	buf_clear(&p->fetches);
	buf_printf(&p->fetches, "[%.*s]", STR_FMT(buf_str(&p->run.fetches)));
	buf_clear(&p->replay);
	p->usage = (struct run_usage){ .started_at = p->row.started_at,
	    .wall_us = o->wall_ns / 1000, .cpu_us = o->cpu_ns / 1000,
	    .memory_bytes = o->heap_bytes,
	    .fetches_json = buf_str(&p->fetches) };
	if (replay_put(&p->run.writer, &p->run.run, o, &p->replay))
		p->usage.replay_json = buf_str(&p->replay);
}

/* -- The store's state, for callbacks that saw the recorded one -- */

static enum err
read_states(struct items_write *write, struct item_tx *tx, struct why *w)
{
	struct replay_part *p = CONTAINER(write, struct replay_part, write);

	buf_clear(&p->answer);
	buf_put_char(&p->answer, '{');
	enum err e = item_states_put(tx, &p->states, &p->answer, w);
	buf_put_char(&p->answer, '}');
	return e;
}

static void
states_read(struct items_write *write)
{
	struct replay_part *p = CONTAINER(write, struct replay_part, write);

	p->is_writing = false;
	yyjson_doc_free(p->doc);
	p->doc = NULL;
	arena_reset(&write->arena);
	p->is_refreshed = true;
	if (p->cut)
		end_part(p, REPLAY_SKIPPED, NULL);
	else if (write->result != OK)
		give_up(p, REPLAY_FAILED, str_of(write->why.text));
	else
		recompute(p, buf_str(&p->answer));
}

/* False: there is nothing to read. */
static bool
begin_refresh(struct replay_part *p)
{
	p->doc = yyjson_read(p->run.last_read.p, p->run.last_read.n, 0);
	if (p->doc == NULL || item_states_read(yyjson_doc_get_root(p->doc),
	    &p->write.arena, &p->states, NULL) != OK) {
		yyjson_doc_free(p->doc);
		p->doc = NULL;
		return false;
	}
	begin_write(p, read_states, states_read);
	return true;
}

/* -- Outcomes -- */

/* The recorded run was ended by a limit or a lost process, not by its code. */
static bool
was_chance(const struct replay_record *r)
{
	static const char *const codes[] = { "limit_wall", "limit_turn",
		"limit_cpu", "crashed", "lost_worker", "sandbox" };

	return !r->success && STR_ROW(r->code, codes) < ARRAY_LEN(codes);
}

static void
part_done(struct replay_run *run, const struct script_outcome *o)
{
	struct replay_part *p = CONTAINER(run, struct replay_part, run);
	struct replay *r = p->job;

	if (!p->is_refreshed && run->is_same && (r->mode != REPLAY_APPLY ||
	    p->record->success || !o->is_success)) {
		end_part(p, REPLAY_SAME, o);
		return;
	}
	if (!p->is_refreshed && o->is_success)
		replay_difference(p->record, o->mutations, &p->diff);
	if (!o->is_success) {
		end_part(p, run->missed ? REPLAY_MISSED : REPLAY_FAILED, o);
	} else if (r->mode != REPLAY_APPLY) {
		end_part(p, REPLAY_DIFFERENT, o);
	} else if (p->is_refreshed || !o->has_callbacks ||
	    !begin_refresh(p)) {
		keep_outcome(p, o);
		apply_outcome(p);
	}
}

/* -- Parts -- */

static struct script_bundle *
read_bundle(struct replay_bundle *b, struct why *w)
{
	yyjson_doc *doc = yyjson_read(b->files.p, b->files.n, 0);
	yyjson_obj_iter walk = yyjson_obj_iter_with(yyjson_doc_get_root(doc));
	yyjson_val *first = yyjson_obj_iter_next(&walk);
	enum err e = OK;

	/* The main file comes first. */
	if (b->bundle == NULL && first != NULL)
		e = source_from_json(buf_str(&b->files), json_text(first),
		    &b->bundle, w);
	yyjson_doc_free(doc);
	if (e == OK && b->bundle != NULL && !str_eq(b->hash,
	    str_of(bundle_hash(b->bundle))))
		bundle_drop(&b->bundle);
	if (e == OK && b->bundle == NULL)
		(void)!why(w, ERR_STATE, "the recorded code is not kept");
	return b->bundle;
}

static struct script_bundle *
find_bundle(struct replay *r, struct replay_part *p)
{
	if (r->mode != REPLAY_VERIFY)
		return r->config->bundle;
	for (size_t i = 0; i < r->bundles_n; i++)
		if (str_eq(r->bundles[i].hash, p->record->bundle))
			return read_bundle(&r->bundles[i], &p->why);
	return NULL;
}

/* Without a run: its record or its code are not there. */
static void
skip_part(struct replay *r, struct replay_part *p)
{
	enum replay_status s = p->why.err == ERR_CORRUPT ? REPLAY_FAILED :
	    REPLAY_SKIPPED;

	buf_put_str(&p->reason, str_of(p->why.text));
	r->counts[s]++;
	put_line(r, p, s, NULL);
}

static bool
may_run(struct replay *r, struct replay_part *p)
{
	struct script_bundle *b = p->record == NULL ? NULL : find_bundle(r, p);

	if (b != NULL && p->row.item.p == NULL && r->mode == REPLAY_APPLY)
		(void)!why(&p->why, ERR_STATE, "its item is gone");
	if (b != NULL && r->mode == REPLAY_VERIFY && was_chance(p->record))
		(void)!why(&p->why, ERR_STATE, "it was ended by %.*s, which "
		    "depends on the moment", STR_FMT(p->record->code));
	p->run.bundle = b;
	return b != NULL && p->why.err == OK;
}

static void
start_part(struct replay *r, struct replay_part *p)
{
	const struct task *task = task_find(r->config->config, p->row.task);

	if (!may_run(r, p)) {
		skip_part(r, p);
		return;
	}
	/* It may have been renamed. */
	if (r->mode != REPLAY_VERIFY)
		p->record->task = p->row.task;
	p->completed_at = (struct wall){ yyjson_get_sint(yyjson_obj_get(
	    yyjson_doc_get_root(p->record->doc), "completed_at_us")) };
	p->source = replay_source_of(r->runner);
	p->run.record = p->record;
	p->run.loose = r->loose;
	p->run.keep_blobs = r->mode == REPLAY_APPLY;
	p->run.limits = task == NULL ? r->runner->limits :
	    task_run_limits(r->runner, task);
	p->run.source = &p->source;
	p->run.loop = r->runner->o.home;
	p->run.done = part_done;
	p->is_running = true;
	r->under_way++;
	replay_run_start(r->runner->o.host, &p->run);
}

static void
start_parts(struct replay *r)
{
	size_t most = r->mode == REPLAY_APPLY ? APPLY_AT_ONCE : AT_ONCE;

	r->cut |= r->runner->stopped;
	while (!r->cut && r->next < r->parts_n && r->under_way < most)
		start_part(r, &r->parts[r->next++]);
	if (r->under_way == 0 && (r->cut || r->next == r->parts_n))
		end_replay(r);
}

void
replay_cut(struct replay *r)
{
	r->cut = true;
	/* Until records_read() they are another thread's. */
	if (!r->has_records)
		return;
	r->under_way++;                 /* `r` stays until the end of this */
	for (size_t i = 0; i < r->next; i++) {
		struct replay_part *p = &r->parts[i];
		p->cut = true;
		/* One that is being stored ends by itself. */
		if (p->is_running && !p->is_writing && !p->run.ended)
			replay_run_cancel(&p->run, part_freed);
	}
	r->under_way--;
	start_parts(r);
}

/* -- Records, on the reader's thread -- */

static struct replay_bundle *
bundle_named(struct replay *r, struct str hash)
{
	for (size_t i = 0; i < r->bundles_n; i++)
		if (str_eq(r->bundles[i].hash, hash))
			return &r->bundles[i];
	return NULL;
}

static enum err
read_sources(struct replay *r, struct item_store *s, struct why *w)
{
	struct arena *a = &r->read.arena;
	enum err e = OK;

	r->bundles = ARENA_ARRAY(a, struct replay_bundle, r->parts_n + 1);
	for (size_t i = 0; i < r->parts_n && e == OK; i++) {
		const struct replay_record *record = r->parts[i].record;
		struct why inner = WHY_INIT;
		if (record == NULL || bundle_named(r, record->bundle) != NULL)
			continue;
		struct replay_bundle *b = &r->bundles[r->bundles_n++];
		b->hash = arena_copy(a, record->bundle);
		e = item_query_sources(s, b->hash, &b->files, &inner);
		e = e == ERR_ABSENT ? OK : e;
		if (e != OK)
			(void)!why(w, e, "%s", inner.text);
	}
	return e;
}

static enum err
list_runs(struct replay *r, struct item_store *s, struct run_replay **rows,
    size_t *n, struct why *w)
{
	struct replay_list l = { .task = r->task, .item = r->item,
	    .tag = r->tag, .since = r->since, .after = r->after,
	    .upto = r->upto, .max = r->max };
	struct arena *a = &r->read.arena;

	if (r->run.p == NULL) {
		enum err e = item_query_replays(s, &l, a, rows, n, w);
		r->upto = l.upto;
		return e;
	}
	*rows = ARENA_NEW(a, struct run_replay);
	*n = 1;
	return item_query_replay(s, r->run, a, *rows, w);
}

static enum err
read_records(struct items_read *read, struct item_store *s, struct why *w)
{
	struct replay *r = CONTAINER(read, struct replay, read);
	struct run_replay *rows;
	size_t n;

	enum err e = list_runs(r, s, &rows, &n, w);
	if (e != OK)
		return e;
	r->parts = ARENA_ARRAY(&read->arena, struct replay_part, n + 1);
	for (size_t i = 0; i < n; i++) {
		struct replay_part *p = &r->parts[i];
		p->job = r;
		p->row = rows[i];
		p->why = WHY_INIT;
		/* What is wrong with it is said of this run alone. */
		(void)!replay_record_read(rows[i].record, &p->record, &p->why);
	}
	r->parts_n = n;
	r->last = r->run.p == NULL && n > 0 ? rows[n - 1].id : 0;
	return r->mode == REPLAY_VERIFY ? read_sources(r, s, w) : OK;
}

static void
records_read(struct items_read *read)
{
	struct replay *r = CONTAINER(read, struct replay, read);

	r->has_records = true;
	if (read->result != OK)
		r->why = read->why;
	else if (r->config == NULL)
		why(&r->why, ERR_STATE, "no configuration with tasks runs "
		    "here");
	if (r->why.err == OK)
		start_parts(r);
	else
		end_replay(r);
}

void
replay_start(struct task_runner *runner, struct replay *r)
{
	r->runner = runner;
	r->why = WHY_INIT;
	if (r->max == 0)
		r->max = REPLAY_PAGE_DEFAULT;
	runner->simulations++;
	list_put(&runner->replays, &r->node);
	if (runner->config != NULL)
		r->config = runner_config_hold(runner->config);
	r->read.run = read_records;
	r->read.done = records_read;
	r->read.why = WHY_INIT;
	items_read(runner->o.items, &r->read);
}
