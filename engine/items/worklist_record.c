/*
 * Run records: what a run logged, fetched, read and changed, as JSON.
 *
 *     {"lease":"L...","generation":3,"seed":"9f...","worker":"n7",
 *      "completed_at_us":1795159200000000,
 *      "log":[...],"fetches":[...],"error":null,
 *      "mutations":[{"op":...,"effect":"updated"}],"replay":{...}}
 *
 * Without mutations and replay it is a short one, for runs whose record is too
 * big to be kept whole.  The replay is script/items/replay_record.h's.
 */
#include "base/json.h"
#include "base/json_writer.h"
#include "engine/items/worklist_own.h"

#define RECORD_BYTES_MOSTLY 1024u

/* -- JSON -- */

void
worklist_put_value(struct buf *b, struct yyjson_val *v)
{
	size_t n;
	char *text = yyjson_val_write(v, 0, &n);

	if (text == NULL) {
		buf_put_text(b, "null");
		return;
	}
	buf_put(b, text, n);
	free(text);
}

void
worklist_put_date(struct buf *b, const char *name, struct wall t)
{
	char iso[WALL_ISO_MAX];

	if (t.us == ITEM_TIME_NONE.us) {
		json_null(b, name);
		return;
	}
	wall_to_iso(t, iso);
	/* "2026-11-20T07:00:00.000" and then three digits more. */
	json_name(b, name);
	buf_put_char(b, '"');
	buf_put(b, iso, 23);
	buf_put_text(b, "Z\"");
}

void
worklist_put_seed(struct buf *b, uint64_t seed)
{
	char hex[16];

	for (size_t i = sizeof(hex); i-- > 0; seed >>= 4)
		hex[i] = "0123456789abcdef"[seed & 15];
	json_name(b, "seed");
	buf_put_char(b, '"');
	buf_put(b, hex, sizeof(hex));
	buf_put_char(b, '"');
}

static struct str
cut_line(struct str line)
{
	size_t n = RUN_LOG_LINE_BYTES_MAX;

	if (line.n <= n)
		return line;
	while (n > 0 && ((unsigned char)line.p[n] & 0xC0) == 0x80)
		n--;
	return str_cut(line, 0, n);
}

static void
put_line(struct buf *b, yyjson_val *line)
{
	json_object(b, NULL);
	json_str(b, "category", json_text(yyjson_obj_get(line, "category")));
	json_str(b, "message",
	    cut_line(json_text(yyjson_obj_get(line, "message"))));
	buf_put_char(b, '}');
}

void
worklist_log_tail(struct buf *b, struct yyjson_val *log, size_t lines)
{
	size_t n = yyjson_arr_size(log);
	size_t i, max;
	yyjson_val *line;

	yyjson_arr_foreach(log, i, max, line)
		if (i + lines >= n)
			put_line(b, line);
}

/* -- The record -- */

static void
put_mutations(struct buf *b, const struct run_record *r)
{
	size_t i, n;
	yyjson_val *m;

	json_array(b, "mutations");
	yyjson_arr_foreach(r->mutations, i, n, m) {
		if (i > 0)
			buf_put_char(b, ',');
		worklist_put_value(b, m);
		if (r->effects == NULL || !yyjson_is_obj(m))
			continue;
		b->n--;         /* its closing bracket */
		json_str(b, "effect", str_of(item_effect_text(r->effects[i])));
		buf_put_char(b, '}');
	}
	buf_put_char(b, ']');
}

static void
put_head(struct buf *b, const struct run_record *r, const struct run_usage *u,
    struct wall now)
{
	const struct worklist_run *run = r->run;
	struct wall completed = r->completed_at.us != 0 ? r->completed_at : now;

	json_object(b, NULL);
	json_str(b, "lease", run->lease_text);
	json_u64(b, "generation", run->generation);
	worklist_put_seed(b, worklist_lease_seed(run->lease));
	json_u64(b, "completed_at_us", (uint64_t)completed.us);
	json_array(b, "log");
	worklist_log_tail(b, r->log, RUN_LOG_LINES_MAX);
	buf_put_char(b, ']');
	json_raw(b, "fetches", u->fetches_json.n > 0 ? u->fetches_json :
	    STR("[]"));
	json_raw(b, "error", r->error.n > 0 ? r->error : STR("null"));
}

static bool
run_is_kept(const struct run_record *r)
{
	const struct task *t = r->run->task;
	enum task_runs runs = t == NULL ? TASK_RUNS_LAST : t->runs;

	return runs == TASK_RUNS_LAST ||
	    (runs == TASK_RUNS_FAILED && !r->success);
}

/* `*short_n` bytes of the record and a bracket are the short one. */
static void
put_record(struct buf *b, const struct run_record *r,
    const struct run_usage *u, struct wall now, size_t *short_n)
{
	put_head(b, r, u, now);
	*short_n = b->n;
	put_mutations(b, r);
	if (u->replay_json.n > 0)
		json_raw(b, "replay", u->replay_json);
	buf_put_char(b, '}');
}

void
worklist_put_run(struct item_tx *tx, const struct run_record *r)
{
	static const struct run_usage none;
	const struct run_usage *u = r->usage == NULL ? &none : r->usage;
	const struct worklist_run *run = r->run;
	struct arena *a = item_tx_scratch(tx);
	FREED(buf_free) struct buf b = BUF_INIT;
	size_t short_n;

	/* A replay is no further run. */
	if (!r->is_replay)
		item_tx_add_usage(tx, run->task_id, 1, u->wall_us, u->cpu_us,
		    u->fetches, u->bytes);
	if (!run_is_kept(r) || !run->item->exists)
		return;
	struct item_run *out = ARENA_NEW(a, struct item_run);
	*out = (struct item_run){ .task = run->task_id,
	    .item = run->item->key, .started_at = u->started_at,
	    .success = r->success, .attempt = run->attempt,
	    .task_version = run->version, .wall_us = u->wall_us,
	    .cpu_us = u->cpu_us, .memory_bytes = u->memory_bytes,
	    .fetches = u->fetches, .bytes = u->bytes };
	if (u->started_at.us == 0)
		out->started_at = item_tx_now(tx);
	buf_reserve(&b, RECORD_BYTES_MOSTLY);
	put_record(&b, r, u, item_tx_now(tx), &short_n);
	out->record = arena_copy(a, buf_str(&b));
	if (b.n > ITEM_RUN_BYTES_MAX) {
		b.n = short_n;
		buf_put_text(&b, ",\"short\":true}");
		out->short_record = arena_copy(a, buf_str(&b));
	}
	item_tx_put_run(tx, out, !r->success);
}
