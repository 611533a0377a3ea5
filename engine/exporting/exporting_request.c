/* What is asked of exports: new ones, lists, one of them, its end. */
#include "engine/exporting/exporting_own.h"
#include "os/clock.h"

/* ---- On the store's thread ------------------------------------------ */

/* A place that a requester has named, or none. */
static enum err
find_place(struct exporting *e, const struct exporting_order *o,
    bool by_broker, struct arena *a, struct str *local, const char **code,
    struct why *w)
{
	const struct exporting_places *p = &e->places;

	*local = STR("");
	*code = "bad_request";
	if (o->path.n == 0)
		return by_broker ? why_field(w, ERR_INPUT, "path",
		    "is missing") : OK;
	if (o->path.n > STORE_HARVEST_PATH_BYTES_MAX)
		return why_field(w, ERR_INPUT, "path", "is longer than %u "
		    "bytes", STORE_HARVEST_PATH_BYTES_MAX);
	*code = "path_forbidden";
	return p->to_local == NULL ? why_field(w, ERR_INPUT, "path",
	    "exports are made below the data directory only") :
	    p->to_local(p->arg, o->path, a, local, w);
}

static enum err
add_row(struct store *st, struct store_export *row, struct outcome *refusal,
    struct arena *a, struct why *w)
{
	FREED(buf_free) struct buf result = BUF_INIT;
	struct wall now = clock_wall();
	enum err e = store_begin(st, w);

	if (e != OK)
		return e;
	e = store_export_add(st, row, now, a, w);
	if (e == OK && refusal->notes_n > 0) {
		outcome_put(refusal, &result);
		e = store_export_set_state(st, row->id, STORE_HARVEST_FAILED,
		    buf_str(&result), now, w);
	}
	return store_end(st, e, w);
}

enum err
exporting_put(struct exporting *e, struct store *st, struct str message,
    struct str routing_key, struct arena *a, struct str *id, bool *over,
    struct why *w)
{
	struct exporting_order o;
	struct outcome refusal = { .success = false };
	struct why inner = WHY_INIT;
	const char *code;
	struct str local = STR("");

	enum err err = exporting_order_read(message, a, &o, &code, &inner);
	if (err == OK)
		err = find_place(e, &o, routing_key.n > 0, a, &local, &code,
		    &inner);
	if (err != OK && routing_key.n == 0) {
		*w = inner;
		return err;
	}
	*over = err != OK;
	if (*over)
		outcome_add(&refusal, a, OUTCOME_ERROR, code,
		    str_of(inner.text));
	struct store_export row = { .id = o.id, .path = local,
		.type = o.type.n <= STORE_NAME_BYTES_MAX ? o.type : STR(""),
		.format = o.format_name.n <= STORE_NAME_BYTES_MAX ?
		o.format_name : STR(""),
		.message = message, .routing_key = routing_key };
	err = add_row(st, &row, &refusal, a, w);
	*id = row.id;
	return err;
}

/* ---- Commands ------------------------------------------------------- */

static void
ask(struct exporting *e, struct exporting_request *r,
    void (*run)(struct store_job *, struct store *),
    void (*done)(struct store_job *))
{
	r->exporting = e;
	r->why = WHY_INIT;
	r->arena = ARENA_INIT;
	r->n = 0;
	work_do_job(e, &r->job, run, done);
}

static void
answered(struct store_job *j)
{
	struct exporting_request *r = CONTAINER(j, struct exporting_request,
	    job);
	struct exporting *e = r->exporting;

	r->done(r);
	work_job_done(e);
}

static enum err
read_one(struct exporting_request *r, struct store *st, struct str id)
{
	r->list = ARENA_NEW(&r->arena, struct store_export);
	enum err e = store_export_get(st, id, &r->arena, r->list, &r->why);
	r->n = e == OK;
	if (e == OK) {
		r->summaries = ARENA_NEW(&r->arena, struct exporting_summary);
		exporting_summary_read(r->list, &r->arena, r->summaries);
	}
	return e;
}

static void
run_get(struct store_job *j, struct store *st)
{
	struct exporting_request *r = CONTAINER(j, struct exporting_request,
	    job);

	(void)!read_one(r, st, r->id);
}

void
exporting_get(struct exporting *e, struct exporting_request *r)
{
	ask(e, r, run_get, answered);
}

/* Messages and results may be long: one at a time is in memory. */
static enum err
read_summaries(struct exporting_request *r, struct store *st)
{
	FREED(arena_free) struct arena one = ARENA_INIT;
	struct store_export row;
	enum err e = OK;

	r->summaries = ARENA_ARRAY(&r->arena, struct exporting_summary, r->n);
	for (size_t i = 0; i < r->n && e == OK; i++) {
		arena_reset(&one);
		e = store_export_get(st, r->list[i].id, &one, &row, &r->why);
		if (e == OK)
			exporting_summary_read(&row, &r->arena,
			    &r->summaries[i]);
	}
	return e;
}

static void
run_list(struct store_job *j, struct store *st)
{
	struct exporting_request *r = CONTAINER(j, struct exporting_request,
	    job);

	if (store_export_page(st, r->start, r->size, &r->arena, &r->list,
	    &r->n, &r->total, &r->why) == OK)
		(void)!read_summaries(r, st);
}

void
exporting_list(struct exporting *e, struct exporting_request *r)
{
	ask(e, r, run_list, answered);
}

static void
run_put(struct store_job *j, struct store *st)
{
	struct exporting_request *r = CONTAINER(j, struct exporting_request,
	    job);
	struct str id;

	if (exporting_put(r->exporting, st, r->message, STR_NONE, &r->arena,
	    &id, &r->over, &r->why) == OK)
		(void)!read_one(r, st, id);
}

static void
was_put(struct store_job *j)
{
	struct exporting_request *r = CONTAINER(j, struct exporting_request,
	    job);

	if (r->why.err == OK)
		exporting_start(r->exporting, r->list->id);
	answered(j);
}

void
exporting_begin(struct exporting *e, struct exporting_request *r)
{
	ask(e, r, run_put, was_put);
}

static void
run_cancel(struct store_job *j, struct store *st)
{
	struct exporting_request *r = CONTAINER(j, struct exporting_request,
	    job);
	enum err e = read_one(r, st, r->id);

	if (e == OK && store_harvest_is_over(r->list->state))
		e = why(&r->why, ERR_STATE, "the export is over");
	if (e == OK)
		(void)!store_export_cancel(st, r->id, &r->why);
}

static void
was_cancelled(struct store_job *j)
{
	struct exporting_request *r = CONTAINER(j, struct exporting_request,
	    job);

	if (r->why.err == OK)
		work_cancel(r->exporting, r->list->id);
	answered(j);
}

void
exporting_cancel(struct exporting *e, struct exporting_request *r)
{
	ask(e, r, run_cancel, was_cancelled);
}
