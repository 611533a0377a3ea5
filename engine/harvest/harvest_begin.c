/*
 * How a harvest begins, and how one is taken up again:
 *
 *     message ─► order ─► path, state.json ─► row, committed ─► claim
 *     claim ─► crawl ─► runs
 *     row ─► order ─► crawl continues │ path, state.json ─► replayed ─► runs
 *
 * A row without a crawl is that of a crash in between: its crawl begins then.
 *
 * A directory that is away, full or hangs refuses no harvest.  One that goes on
 * where earlier harvests were waits until state.json can be read; others run.
 * A data directory that is full holds up the beginning of all.
 */
#include "engine/catalog/crawl_registry.h"
#include "engine/harvest/harvest_own.h"
#include "engine/harvest/state_file.h"
#include "engine/harvest/web_plan.h"
#include "engine/store/store_outbox.h"
#include "os/clock.h"
#include "os/log.h"

/* Budgets take the place of delays, but not for calls as a crawl. */
#define POLICY "{\"rate_limit\":0,\"robots\":\"ignore\"}"
#define CRAWL_POLICY "{}"

/* "sfmui:45" as part of a path: "sfmui_45". */
static struct str
safe_id(struct str id, struct arena *a)
{
	char *p = arena_bytes(a, id.n + 1);

	for (size_t i = 0; i < id.n; i++)
		p[i] = ascii_is_digit(id.p[i]) || ascii_is_alpha(id.p[i]) ?
		    id.p[i] : '_';
	p[id.n] = '\0';
	return (struct str){ p, id.n };
}

static void
take_id(struct harvest *h, struct str id)
{
	h->id = arena_copy(&h->arena, id);
	h->dir = arena_printf(&h->arena, "%s/harvest/%.*s",
	    h->all->options.data_dir, STR_FMT(safe_id(id, &h->arena))).p;
}

/* ---- The answer to the requester ------------------------------------ */

static void
answer(struct harvest *h, const char *code, const struct why *w)
{
	struct harvest_request *r = h->request;

	if (r == NULL)
		return;
	h->request = NULL;
	r->given_id = w->err == OK ? h->id : STR_NONE;
	r->code = code;
	r->why = *w;
	if (r->why.err != OK)
		harvest_drop(h);
	r->done(r);
}

static const char *
code_of_path(enum err e)
{
	return e == ERR_INPUT || e == ERR_DENIED || e == ERR_EXISTS ?
	    "path_forbidden" : "root_unavailable";
}

static void start_look(struct harvest *);
static void wait_for_path(struct harvest *);
static void leave_for_later(struct harvest *);

/* Whether it goes on where an earlier harvest was, by state.json.  A stream
 * would miss what comes meanwhile. */
static bool
needs_state(const struct harvest *h)
{
	yyjson_val *v = yyjson_obj_get(h->text.order.options, "incremental");

	return h->web == NULL && h->text.connector->kind == CONNECTOR_BATCH &&
	    !(yyjson_is_bool(v) && !yyjson_get_bool(v));
}

/* ---- Running -------------------------------------------------------- */

/* The row is there, and the harvest cannot go on: it has failed. */
static void
fail_to_run(struct harvest *h, const char *code, const struct why *w)
{
	totals_note(&h->totals, TOTALS_ERROR, str_of(code), str_of(w->text),
	    STR_NONE);
	h->end = STORE_HARVEST_FAILURE;
	harvest_deliver(h);
}

static void
open_and_run(struct harvest *h)
{
	struct why w = WHY_INIT;

	if (h->web != NULL || harvest_open_driver(h, &h->driver, &w) == OK)
		harvest_run(h);
	else
		fail_to_run(h, "unknown_error", &w);
}

static void
running_noted(struct store_job *j)
{
	struct harvest *h = CONTAINER(j, struct harvest, store);

	h->shown = STORE_HARVEST_RUNNING;
	harvest_tell_changed(h);
	if (!h->started) {
		open_and_run(h);
		return;
	}
	/* It has paused.  What it was asked for meanwhile holds it. */
	if (h->aim == AIM_RUN && !h->settling.under_way) {
		harvest_set_roll_timer(h);
		if (h->web != NULL)
			harvest_web_go_on(h->web);
		else
			driver_go_on(h->driver);
	}
	harvest_deliver(h);
}

/* Whether it was written does not matter: it is, with what comes next. */
static void
note_running(struct store_job *j, struct store *st)
{
	struct harvest *h = CONTAINER(j, struct harvest, store);

	h->why = WHY_INIT;
	if (store_begin(st, &h->why) != OK)
		return;
	enum err e = store_harvest_set_totals(st, h->id, buf_str(
	    &h->noted), &h->why);
	if (e == OK)
		e = store_harvest_set_state(st, h->id, STORE_HARVEST_RUNNING,
		    clock_wall(), &h->why);
	(void)!store_end(st, e, &h->why);
}

void
harvest_note_running(struct harvest *h)
{
	/* No answer has come since they were settled; a note may have. */
	buf_clear(&h->noted);
	totals_put(&h->totals, &h->noted);
	harvest_store(h, &h->store, note_running, running_noted);
}

static void
launched(struct launch *l)
{
	struct harvest *h = l->arg;

	switch (l->why.err) {
	case OK:
		h->delivery.failing = false;
		h->crawl = l->crawl;
		harvest_note_running(h);
		return;
	case ERR_DISK_FULL:
		/* It was accepted: it begins when there is room again. */
		h->why = WHY_INIT;
		(void)!why(&h->why, ERR_DISK_FULL, "its crawl cannot begin in "
		    "%s: %s", h->dir, l->why.text);
		wait_for_path(h);
		return;
	case ERR_CLOSED:
	case ERR_BROKEN:
		h->why = l->why;
		leave_for_later(h);
		return;
	default:
		fail_to_run(h, "unknown_error", &l->why);
	}
}

static void
launch_crawl(struct harvest *h)
{
	struct str about = order_text_description(&h->text, &h->arena);

	h->launch = (struct launch){
		.spec.kind = CRAWL_HARVEST, .spec.name = h->id,
		.spec.policy = h->text.connector->as_crawl ?
		    STR(CRAWL_POLICY) : STR(POLICY),
		.spec.key = arena_printf(&h->arena, "harvest %.*s",
		    STR_FMT(h->id)),
		.spec.warc_dir = str_of(h->dir),
		.spec.tags = &h->type, .spec.tags_n = 1,
		.spec.about = about,
		.spec.about_uri = STR(CONNECTOR_DESCRIPTION_URI),
		.done = launched, .arg = h,
	};
	if (h->web != NULL)
		harvest_web_fill_launch(h, &h->launch);
	else if (h->text.connector->as_crawl)
		h->launch.spec.collection = web_plan_collection(
		    yyjson_doc_get_root(h->text.doc), h->path);
	crawl_launch(h->all->options.engine, &h->launch);
}

static void
policy_read(struct store_job *j)
{
	struct harvest *h = CONTAINER(j, struct harvest, store);

	if (h->why.err == OK)
		launch_crawl(h);
	else
		fail_to_run(h, "unknown_error", &h->why);
}

static void
read_policy(struct store_job *j, struct store *st)
{
	struct harvest *h = CONTAINER(j, struct harvest, store);

	h->why = WHY_INIT;
	(void)!harvest_web_read_policy(h, st, &h->why);
}

/* ---- A new one ------------------------------------------------------ */

/* Nothing of it is left, if the store allows it. */
static void
dropped(struct store_job *j)
{
	struct harvest *h = CONTAINER(j, struct harvest, store);
	struct why w = WHY_INIT;

	(void)!why(&w, ERR_EXISTS, "another daemon has the harvest");
	if (h->continued) {
		h->over = true;
		harvest_tell_ended(h);
	} else {
		answer(h, "claimed", &w);
	}
}

static void
drop_row(struct store_job *j, struct store *st)
{
	struct harvest *h = CONTAINER(j, struct harvest, store);

	(void)!store_harvest_drop(st, h->id, NULL);
}

/* The row is committed, and nothing is known that speaks against it. */
static void
go_to_work(struct harvest *h)
{
	if (!h->state_known && needs_state(h) && h->aim != AIM_STOP) {
		wait_for_path(h);
		return;
	}
	h->waits_for_path = false;
	h->text.order.state = h->state;
	h->text.order.state_n = h->state_n;
	if (h->crawl == UINT32_MAX && h->web != NULL)
		harvest_store(h, &h->store, read_policy, policy_read);
	else if (h->crawl == UINT32_MAX)
		launch_crawl(h);
	else if (h->aim == AIM_STOP)
		/* It makes no call any more, and does not say that it runs. */
		open_and_run(h);
	else
		harvest_note_running(h);
}

/* A directory that cannot be written to has no claim, and need not have one:
 * it only tells several daemons apart whose broker gave both the message. */
static void
judge_claim(struct harvest *h, const struct path_job *p)
{
	h->why = p->why;
	if (h->why.err == ERR_EXISTS) {
		harvest_store(h, &h->store, drop_row, dropped);
		return;
	}
	answer(h, "", &WHY_INIT);
	if (h->why.err == OK || path_error_waits(p))
		go_to_work(h);
	else
		fail_to_run(h, code_of_path(h->why.err), &h->why);
}

static void
claimed(struct path_job *p)
{
	struct harvest *h = p->h;

	h->look = NULL;
	judge_claim(h, p);
	path_job_free(&p);
}

static void
claim_is_late(struct path_job *p)
{
	struct harvest *h = p->h;

	path_job_leave(&h->look);
	answer(h, "", &WHY_INIT);
	go_to_work(h);
}

static void
run_claim(struct path_job *p)
{
	const struct harvests_options *o = &p->all->options;

	if (o->claim != NULL)
		(void)!o->claim(o->arg, p->origin, p->id, p->path, &p->why);
}

static void
claim_it(struct harvest *h)
{
	h->look = path_job_new(h);
	path_job_start(h->look, run_claim, claimed, claim_is_late);
}

static void
row_added(struct store_job *j)
{
	struct harvest *h = CONTAINER(j, struct harvest, store);

	if (h->why.err != OK) {
		answer(h, "msg_persist_error", &h->why);
		return;
	}
	take_id(h, h->row.id);
	claim_it(h);
}

/*
 * What is sealed is bound to the harvest's id, which may be known only now: so
 * the row is put first, and both are one commit.
 */
static void
add_row(struct store_job *j, struct store *st)
{
	struct harvest *h = CONTAINER(j, struct harvest, store);

	h->why = WHY_INIT;
	enum err e = h->text.credentials.n == 0 ? OK :
	    harvests_read_key(h->all, &h->why);
	if (e == OK)
		e = store_begin(st, &h->why);
	if (e != OK)
		return;
	e = store_harvest_add(st, &h->row, clock_wall(), &h->arena, &h->why);
	if (e == OK) {
		order_text_seal(&h->text, &h->all->key, h->row.id, &h->sealed);
		e = store_harvest_seal(st, h->row.id, buf_str(&h->sealed),
		    &h->why);
	}
	(void)!store_end(st, e, &h->why);
}

/* Its place is forbidden now, its state is damaged, or the engine does no more:
 * it stays as it is. */
static void
leave_for_later(struct harvest *h)
{
	h->aim = AIM_PAUSE;
	h->delivery.failing = true;
	h->delivery.why = h->why;
	harvest_delivered(h);
}

static void
put_row(struct harvest *h)
{
	h->row = (struct store_harvest){ .id = h->request->id,
	    .type = h->type, .path = h->path, .message = h->text.message };
	harvest_store(h, &h->store, add_row, row_added);
}

/* What is known of the directory is all that will be, for now. */
static void
go_on_beginning(struct harvest *h)
{
	if (h->request != NULL)
		put_row(h);
	else if (h->crawl == UINT32_MAX && !h->waits_for_path)
		claim_it(h);
	else
		go_to_work(h);
}

static void
take_look(struct harvest *h, const struct path_job *p)
{
	h->state_known = p->state_known;
	h->state = ARENA_ARRAY(&h->arena, struct connector_state, p->state_n);
	h->state_n = p->state_n;
	for (size_t i = 0; i < p->state_n; i++)
		h->state[i] = (struct connector_state){
			arena_copy(&h->arena, p->state[i].key),
			arena_copy(&h->arena, p->state[i].value) };
}

static void
looked(struct path_job *p)
{
	struct harvest *h = p->h;
	bool waits = path_error_waits(p);

	h->look = NULL;
	h->why = p->why;
	take_look(h, p);
	path_job_free(&p);
	if (h->why.err == OK || waits)
		go_on_beginning(h);
	else if (h->request != NULL)
		answer(h, code_of_path(h->why.err), &h->why);
	else
		leave_for_later(h);
}

/* When it comes back the directory can be looked at again. */
static void
late_look_came(struct path_job *p)
{
	struct harvest *h = p->h;

	h->look = NULL;
	path_job_free(&p);
	if (h->waits_for_path)
		start_look(h);
}

static void
look_is_late(struct path_job *p)
{
	struct harvest *h = p->h;

	if (p->root.path == NULL)
		return;
	p->done = late_look_came;
	h->why = WHY_INIT;
	(void)!why(&h->why, ERR_TIMEOUT, "the directory %.*s has not answered "
	    "for %d s", STR_FMT(h->path), HARVEST_PATH_MS / 1000);
	go_on_beginning(h);
}

/* A directory that can only be read has its state as well. */
static void
run_look(struct path_job *p)
{
	struct why reading = WHY_INIT;
	struct shared_dir dir;

	enum err e = path_job_open(p, SHARED_DIR_MAKE, &dir, &p->why);
	if (e != OK && path_error_waits(p)) {
		e = path_job_open(p, SHARED_DIR_LOOK, &dir, &reading);
		p->state_known = e == ERR_ABSENT;
	}
	if (e == OK) {
		e = state_file_read(&dir, &p->arena, &p->state, &p->state_n,
		    p->why.err == OK ? &p->why : &reading);
		p->state_known = e == OK;
	}
	shared_dir_close(&dir);
}

static void
start_look(struct harvest *h)
{
	h->look = path_job_new(h);
	path_job_start(h->look, run_look, looked, look_is_late);
}

/* ---- Waiting for the directory, or for room -------------------------- */

static void
look_again(struct timer *t)
{
	start_look(CONTAINER(t, struct harvest, look_timer));
}

static void
wait_for_path(struct harvest *h)
{
	struct delivery *d = &h->delivery;

	if (h->aim == AIM_PAUSE) {
		leave_for_later(h);
		return;
	}
	if (!h->waits_for_path)
		log_warn("harvest.waits", "harvest=%s why=%s", log_quoted(
		    h->id), log_why(&h->why));
	h->waits_for_path = true;
	d->failing = true;
	d->why = h->why;
	/* One that is late comes back by itself. */
	if (h->look != NULL)
		return;
	h->look_pause_ms = MIN(MAX(h->look_pause_ms * 2, HARVEST_RETRY_MS),
	    HARVEST_RETRY_MS_MAX);
	h->look_timer.fire = look_again;
	loop_timer_set(h->all->options.home, &h->look_timer, mono_add_ms(
	    clock_mono(), h->look_pause_ms));
}

void
harvest_stop_waiting(struct harvest *h)
{
	if (!h->waits_for_path)
		return;
	loop_timer_stop(h->all->options.home, &h->look_timer);
	path_job_leave(&h->look);
	go_to_work(h);
}

/* The connector has the last word about an order. */
static enum err
try_order(struct harvest *h, const char **code, struct why *w)
{
	struct driver *d = NULL;

	enum err e = order_text_read(h->request->message, &h->arena, &h->text,
	    code, w);
	if (e == OK)
		*code = "bad_request";
	if (e == OK && h->request->path.n == 0)
		e = why_field(w, ERR_INPUT, "path", "it is missing");
	if (e == OK && h->text.connector->is_crawl)
		return OK;
	if (e == OK)
		e = harvest_open_driver(h, &d, w);
	driver_close(&d);
	return e;
}

void
harvest_begin(struct harvests *all, struct harvest_request *r)
{
	struct harvest *h = harvest_new(all);
	struct why w = WHY_INIT;
	const char *code = "bad_request";

	h->request = r;
	r->given_id = STR_NONE;
	if (try_order(h, &code, &w) != OK) {
		answer(h, code, &w);
		return;
	}
	h->type = str_of(h->text.connector->type);
	h->path = arena_copy(&h->arena, r->path);
	h->origin = r->origin;
	if (h->text.connector->is_crawl)
		harvest_web_make(h);
	start_look(h);
}

/* ---- One of an earlier process -------------------------------------- */

enum err
harvests_unfinished(struct harvests *all, struct arena *a,
    struct store_harvest **list, size_t *n, struct why *w)
{
	return store_harvest_list(store_async_store(engine_store_async(
	    all->options.engine)), true, a, list, n, w);
}

static enum harvest_origin
origin_of(struct harvest *h, struct store *st, struct str id)
{
	struct store_order o;

	return store_order_get(st, id, &h->arena, &o, NULL) == OK ?
	    HARVEST_OF_BROKER : HARVEST_TAKEN_UP;
}

static enum err
read_row(struct harvest *h, struct str id, struct why *w)
{
	struct store *st = store_async_store(engine_store_async(
	    h->all->options.engine));
	struct store_harvest *row = &h->row;
	struct str credentials;

	enum err e = store_harvest_get(st, id, &h->arena, row, w);
	if (e == OK && store_harvest_is_over(row->state))
		return why(w, ERR_STATE, "harvest %.*s is over: %s",
		    STR_FMT(id), store_harvest_state_name(row->state));
	if (e == OK && row->sealed.n > 0)
		e = harvests_read_key(h->all, w);
	if (e == OK)
		e = order_text_unseal(row->sealed, &h->all->key, id,
		    &h->arena, &credentials, w);
	if (e == OK)
		e = order_text_read_kept(row->message, credentials, &h->arena,
		    &h->text, w);
	if (e == OK && row->totals.n > 0)
		e = totals_read(&h->totals, row->totals, w);
	if (e == OK)
		e = store_stop_find(st, id, clock_wall(), &h->is_stopped, w);
	h->origin = origin_of(h, st, id);
	return e == OK ? store_harvest_warcs(st, id, &h->arena, &h->warcs,
	    &h->warcs_n, w) : e;
}

/* Its crawl goes on, unless it was never begun or has ended. */
static enum err
continue_crawl(struct harvest *h, struct why *w)
{
	struct engine *engine = h->all->options.engine;
	struct crawl_request q = { .spec.operator_seeds = false };
	struct crawl_view v;

	h->crawl = engine_find(engine, h->id);
	if (h->crawl == UINT32_MAX ||
	    engine_view(engine, h->crawl, &v) != OK ||
	    crawl_state_is_ended(v.state))
		return OK;
	return engine_continue(engine, h->crawl, &q, w);
}

static void
take_row(struct harvest *h)
{
	const struct store_harvest *row = &h->row;

	take_id(h, row->id);
	h->type = str_of(h->text.connector->type);
	h->path = row->path;
	h->shown = row->state;
	h->end = row->end;
	h->captures = row->captures;
	buf_put_str(&h->saved, row->saved);
	if (h->text.connector->is_crawl)
		harvest_web_make(h);
	harvest_take_state(h);
	h->delivery.merged = row->merged;
	h->aim = h->is_stopped ? AIM_STOP : AIM_RUN;
}

enum err
harvest_continue(struct harvests *all, struct str id, struct why *w)
{
	struct harvest *h = harvest_new(all);

	h->continued = true;
	enum err e = read_row(h, id, w);
	if (e == OK) {
		take_row(h);
		e = continue_crawl(h, w);
	}
	if (e != OK)
		harvest_drop(h);
	return e;
}

void
harvest_note_resumed(struct harvest *h)
{
	totals_note(&h->totals, TOTALS_WARNING, STR("harvest_resumed"),
	    STR("the harvest was interrupted, and goes on where it was"),
	    STR_NONE);
}

static void
spools_are_read(struct mail *m)
{
	start_look(CONTAINER(CONTAINER(m, struct job, mail), struct harvest,
	    job));
}

static void
read_spools(struct job *j)
{
	struct harvest *h = CONTAINER(j, struct harvest, job);

	(void)!spools_read(h->dir, &h->arena, &h->spools, &h->spools_n, NULL);
}

void
harvest_take_up(struct harvest *h)
{
	h->taken_up = true;
	/* Its run has ended; only files may be left. */
	if (h->end != STORE_HARVEST_GOES_ON) {
		h->shown = STORE_HARVEST_RUNNING;
		harvest_deliver(h);
		return;
	}
	if (h->aim != AIM_STOP)
		harvest_note_resumed(h);
	harvest_work(h, &h->job, read_spools, spools_are_read);
}
