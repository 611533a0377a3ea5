/*
 * The life of a task:
 *
 *     begin, take up ─► the connector runs ─► it has ended: close ─► the
 *     delivery has ended: the store closes the task ─► idle: free
 *                                            ▲
 *     leave: the back end has closed it ─────┘
 */
#include "doors/external/task_run.h"

#include <stdarg.h>

#include "base/text.h"
#include "doors/external/meter.h"
#include "engine/engine.h"
#include "os/clock.h"
#include "os/log.h"
#include "script/connectors/module_run.h"

#define LINE_BYTES_MAX 1000u
#define WAITS_SAID_MS 60000
/* A module's progress text is cut to this length in a status. */
#define PROGRESS_BYTES_MAX 300u
#define CODE_DONE 200u
#define CODE_TIMEOUT 408u
#define CODE_ERROR 500u

/* ---- Jobs of the store -------------------------------------------------- */

static void
free_run(struct task_run *t)
{
	delivery_free(&t->delivery);
	task_grant_stop(t);
	connector_release(&t->connector);
	backends_release(&t->backends);
	mem_free(&t->window);
	buf_free(&t->endpoint);
	buf_free(&t->cursor);
	buf_free(&t->progress);
	struct task_call *calls[] = { &t->upload, &t->status };
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		buf_free(&calls[i]->url);
		buf_free(&calls[i]->key);
		buf_free(&calls[i]->body);
	}
	mem_free(&t->lines);
	arena_free(&t->lines_arena);
	arena_free(&t->arena);
	mem_free(&t);
}

static void
free_if_idle(struct task_run *t)
{
	struct external_door *d = t->door;

	if (!t->left || t->jobs > 0 || t->run != NULL)
		return;
	free_run(t);
	drain_gate_leave(&d->asked);
}

struct task_job *
task_job_new(struct task_run *t)
{
	struct task_job *x = mem_new(sizeof(*x));

	x->task = t;
	x->why = WHY_INIT;
	return x;
}

static void
run_job(struct store_job *j, struct store *st)
{
	struct task_job *x = CONTAINER(j, struct task_job, job);

	x->result = x->work(x, st, &x->why);
}

static void
job_done(struct store_job *j)
{
	struct task_job *x = CONTAINER(j, struct task_job, job);
	struct task_run *t = x->task;

	if (!t->left)
		x->then(x);
	buf_free(&x->delivery);
	if (x->grant.text.n > 0)
		arena_wipe(&x->arena);
	else
		arena_free(&x->arena);
	mem_free(&x);
	t->jobs--;
	free_if_idle(t);
}

void
task_job_put(struct task_job *x, enum err (*work)(struct task_job *,
    struct store *, struct why *), void (*then)(struct task_job *))
{
	x->work = work;
	x->then = then;
	x->job.run = run_job;
	x->job.done = job_done;
	x->task->jobs++;
	store_async_put(x->task->door->store, &x->job);
}

enum task_verdict
task_job_judge(struct task_job *x)
{
	struct task_run *t = x->task;

	switch (x->result) {
	case OK:
		return TASK_GO_ON;
	case ERR_STATE:
	case ERR_ABSENT:
		log_info("external.left", "task=%.*s why=%s",
		    STR_FMT(t->fid), log_why(&x->why));
		task_run_leave(t);
		return TASK_OVER;
	default:
		log_warn("external.store", "task=%.*s why=%s",
		    STR_FMT(t->fid), log_why(&x->why));
		return TASK_AGAIN;
	}
}

/* ---- The log ------------------------------------------------------------ */

static enum err
add_lines(struct task_job *x, struct store *st, struct why *w)
{
	return store_log_add(st, x->task->id, x->lines, x->n, w);
}

static void put_lines(struct task_run *);

static void
lines_added(struct task_job *x)
{
	struct task_run *t = x->task;

	t->logging = false;
	if (x->result != OK)
		log_warn("external.log", "task=%.*s why=%s", STR_FMT(t->fid),
		    log_why(&x->why));
	put_lines(t);
}

static void
put_lines(struct task_run *t)
{
	if (t->logging || t->lines_n == 0)
		return;
	struct task_job *x = task_job_new(t);
	x->n = t->lines_n;
	x->lines = ARENA_ARRAY(&x->arena, struct store_log_line, x->n);
	for (size_t i = 0; i < x->n; i++)
		x->lines[i] = (struct store_log_line){
		    .time = t->lines[i].time,
		    .level = arena_copy(&x->arena, str_of(t->lines[i].level)),
		    .text = arena_copy(&x->arena, t->lines[i].text) };
	t->lines_n = 0;
	/* A task that waits has no line for long, and no block for them. */
	arena_free(&t->lines_arena);
	t->logging = true;
	task_job_put(x, add_lines, lines_added);
}

/* Servers send any bytes, and the store takes UTF-8 without NUL. */
static struct str
clean_text(struct arena *a, struct str s)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	while (s.n > 0) {
		size_t n = s.p[0] == '\0' ? 0 : text_utf8_length(s);
		if (n > 0)
			buf_put(&b, s.p, n);
		else
			buf_put_char(&b, '?');
		s = str_from(s, MAX(n, (size_t)1));
	}
	return arena_copy(a, buf_str(&b));
}

static void
add_line(struct task_run *t, const char *level, struct str text)
{
	if (t->lines_n == TASK_LINES_MAX)
		return;
	t->lines = mem_room(t->lines, t->lines_n, &t->lines_cap, 8,
	    sizeof(*t->lines));
	struct task_line *l = &t->lines[t->lines_n++];
	*l = (struct task_line){ .time = clock_wall(),
	    .text = clean_text(&t->lines_arena, text) };
	snprintf(l->level, sizeof(l->level), "%s", level);
}

void
task_run_log(struct task_run *t, const char *level, const char *fmt, ...)
{
	char text[LINE_BYTES_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	add_line(t, level, str_of(text));
	put_lines(t);
}

static void
note_event(void *arg, enum delivery_level level, const char *name,
    struct str text)
{
	static const char *const levels[] = { "info", "warning", "error" };
	struct task_run *t = arg;

	if (level != DELIVERY_INFO)
		log_warn("external.delivery", "event=%s backend=%.*s "
		    "task=%.*s text=%s", name, STR_FMT(t->backend->name),
		    STR_FMT(t->fid), log_quoted(text));
	add_line(t, levels[level], text);
}

/* ---- The end ------------------------------------------------------------ */

static enum err
close_task(struct task_job *x, struct store *st, struct why *w)
{
	return store_task_close(st, x->task->id, &x->end, clock_wall(),
	    &x->changed, w);
}

static void
closed(struct task_job *x)
{
	struct task_run *t = x->task;

	t->ending = false;
	switch (task_job_judge(x)) {
	case TASK_AGAIN:
		task_run_retry_later(t);
		break;
	case TASK_OVER:
		break;
	case TASK_GO_ON:
		log_info("external.closed", "backend=%.*s task=%.*s state=%s",
		    STR_FMT(t->backend->name), STR_FMT(t->fid),
		    store_task_state_name(x->end.status.state));
		task_run_leave(t);
	}
}

static enum store_task_state
state_of(enum delivery_end end, unsigned code)
{
	switch (end) {
	case DELIVERY_GONE:
		return STORE_TASK_GONE;
	case DELIVERY_UNDELIVERED:
		return STORE_TASK_UNDELIVERED;
	default:
		return code == CODE_DONE ? STORE_TASK_DONE :
		    code == CODE_TIMEOUT ? STORE_TASK_TIMEOUT :
		    STORE_TASK_FAILED;
	}
}

static void
end_task(struct task_run *t, enum delivery_end end)
{
	static const char *const texts[] = {
		[DELIVERY_GONE] = "The back end does not know the task any "
		    "more",
		[DELIVERY_UNDELIVERED] = "The back end could not be reached" };
	struct delivery_view v;

	if (t->ending)
		return;
	delivery_look(t->delivery, &v);
	struct task_job *x = task_job_new(t);
	bool own = end == DELIVERY_DONE;
	x->end = (struct store_task_end){ .by_owner = true,
	    .drop_spool = end == DELIVERY_GONE, .keep_cursor = own,
	    .status = { .state = state_of(end, v.code),
	    .code = own ? v.code : CODE_ERROR,
	    .message = arena_copy(&x->arena, own ? v.message :
	    str_of(texts[end])),
	    .detail = own ? arena_copy(&x->arena, v.detail) : STR_NONE } };
	if (t->run != NULL)
		document_source_stop(t->run);
	t->ending = true;
	task_job_put(x, close_task, closed);
}

void
task_run_close(struct task_run *t, unsigned code, const char *message,
    struct str detail)
{
	if (t->run != NULL)
		document_source_stop(t->run);
	task_grant_stop(t);
	t->has_batch = false;
	t->state = STORE_TASK_DRAINING;
	t->progress_new = true;
	delivery_close(t->delivery, t->spooled_end, code, str_of(message),
	    detail);
	task_run_pump(t);
}

void
task_run_leave(struct task_run *t)
{
	struct loop *home = t->door->host->home;

	if (t->left)
		return;
	t->left = true;
	loop_timer_stop(home, &t->wake);
	loop_timer_stop(home, &t->retry);
	task_grant_stop(t);
	list_take(&t->looks);
	list_take(&t->node);
	/* A later attempt may have taken its place. */
	if (map_get_id(&t->door->tasks_by_id, t->id) == t)
		map_take_id(&t->door->tasks_by_id, t->id);
	t->door->tasks_n--;
	t->has_batch = false;
	task_spool_forget(t);
	task_call_cancel(t);
	if (t->run != NULL)
		document_source_stop(t->run);
	free_if_idle(t);
}

/* ---- Steps -------------------------------------------------------------- */

void
task_run_pump(struct task_run *t)
{
	struct delivery_step s;

	for (;;) {
		if (t->left) {
			free_if_idle(t);
			return;
		}
		if (t->door->stopping)
			return;
		delivery_next(t->delivery, (struct delivery_time){
		    clock_mono(), clock_wall() }, &s);
		put_lines(t);
		switch (s.kind) {
		case DELIVERY_SAVE:
			task_spool_save(t, &s);
			return;
		case DELIVERY_UPLOAD:
			task_call_upload(t, &s);
			break;
		case DELIVERY_STATUS:
			task_call_status(t, &s);
			break;
		case DELIVERY_WAIT:
			task_spool_fill(t);
			loop_timer_set(t->door->host->home, &t->wake, s.wake);
			return;
		case DELIVERY_ENDED:
			end_task(t, s.end);
			return;
		}
	}
}

static void
wake_up(struct timer *timer)
{
	task_run_pump(CONTAINER(timer, struct task_run, wake));
}

static void
try_again(struct timer *timer)
{
	struct task_run *t = CONTAINER(timer, struct task_run, retry);

	task_spool_go_on(t);
	task_run_pump(t);
}

void
task_run_retry_later(struct task_run *t)
{
	loop_timer_set(t->door->host->home, &t->retry, mono_add_ms(
	    clock_mono(), TASK_STORE_RETRY_MS));
}

/* ---- What it says meanwhile --------------------------------------------- */

void
task_run_describe_wait(const struct task_run *t, struct buf *out)
{
	char iso[WALL_ISO_MAX];

	if (!list_empty(&t->waits)) {
		buf_put_text(out, "room in the spool");
		return;
	}
	if (t->grant.waits_from.ns != 0)
		buf_put_text(out, "a new token of the provider");
	if (t->run == NULL)
		return;
	struct document_look x = document_source_look(t->run);
	if (x.waits_for == NULL)
		return;
	struct wall until = { (clock_wall().us / 1000 + x.waits_ms) * 1000 };
	wall_to_iso(until, iso);
	/* "2026-11-20T09:18:16.123456Z": the time of the day, in seconds. */
	buf_printf(out, "%s until %.8sZ", x.waits_for, iso + 11);
}

void
task_run_describe_delivery(const struct task_run *t, struct buf *out)
{
	struct caller_look look;
	struct delivery_view v;
	char iso[WALL_ISO_MAX];

	delivery_look(t->delivery, &v);
	if (v.tries == 0)
		return;
	struct wall again = { clock_wall().us + (v.retry.ns -
	    clock_mono().ns) / 1000 };
	wall_to_iso(again, iso);
	buf_printf(out, "the back end %.*s", STR_FMT(t->backend->name));
	if (caller_look_at(t->door->caller, t->backend->name, &look) &&
	    look.failure[0] != '\0')
		buf_printf(out, " (%s)", look.failure);
	buf_printf(out, ", asked again at %.8sZ", iso + 11);
}

void
task_run_look(struct task_run *t)
{
	FREED(buf_free) struct buf now = BUF_INIT;
	FREED(buf_free) struct buf wait = BUF_INIT;
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct delivery_view v;

	delivery_look(t->delivery, &v);
	task_run_describe_wait(t, &wait);
	/* As the first status has it: that nothing has come is no news. */
	if (v.uploaded == 0 && wait.n == 0)
		buf_put_text(&now, "Running");
	else
		buf_printf(&now, "%llu documents",
		    (unsigned long long)v.uploaded);
	struct str own = clean_text(&a, document_source_progress(t->run));
	if (own.n > 0)
		buf_printf(&now, "; %.*s", STR_FMT(str_cut(own, 0,
		    PROGRESS_BYTES_MAX)));
	if (wait.n > 0)
		buf_printf(&now, "; waits for %s", buf_text(&wait));
	if (str_eq(buf_str(&now), buf_str(&t->progress)))
		return;
	buf_clear(&t->progress);
	buf_put_str(&t->progress, buf_str(&now));
	t->progress_new = true;
	delivery_report(t->delivery, buf_str(&now));
	task_run_pump(t);
}

/* ---- The connector's run ------------------------------------------------ */

static void
note_connector(void *arg, const struct document_note *n)
{
	task_run_log(arg, n->level, "%.*s: %.*s", STR_FMT(n->code),
	    STR_FMT(str_cut(n->text, 0, LINE_BYTES_MAX / 2)));
}

static void
put_counts(const struct task_run *t, struct buf *out)
{
	struct delivery_view v;

	delivery_look(t->delivery, &v);
	buf_printf(out, "%llu uploaded, %llu rejected", (unsigned long long)
	    (v.uploaded + t->spooled_end - v.first),
	    (unsigned long long)v.rejected);
}

void
task_run_fail(struct task_run *t, enum document_fault fault,
    struct str text)
{
	FREED(buf_free) struct buf detail = BUF_INIT;

	buf_printf(&detail, "%s: %.*s; ", document_fault_name(fault),
	    STR_FMT(text));
	put_counts(t, &detail);
	task_run_log(t, "error", "%.*s", STR_FMT(text));
	task_run_close(t, CODE_ERROR, fault == DOCUMENT_CONFIG ?
	    "The source refused the parameters or the account" :
	    fault == DOCUMENT_TRANSIENT ? "The source could not be read; try "
	    "again later" : "The connector failed", buf_str(&detail));
}

/* A connector that has done nothing for longer than it may. */
static void
close_by_limit(struct task_run *t, struct str text)
{
	FREED(buf_free) struct buf detail = BUF_INIT;

	buf_printf(&detail, "system: %.*s; ", STR_FMT(text));
	put_counts(t, &detail);
	task_run_log(t, "error", "%.*s", STR_FMT(text));
	task_run_close(t, CODE_TIMEOUT, "The connector took too long",
	    buf_str(&detail));
}

static void
close_by_success(struct task_run *t)
{
	FREED(buf_free) struct buf message = BUF_INIT;

	put_counts(t, &message);
	task_run_close(t, CODE_DONE, buf_text(&message), STR_NONE);
}

static void
run_ended(void *arg, const struct document_end *e)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct task_run *t = arg;
	struct str text = clean_text(&a, str_cut(e->text, 0,
	    LINE_BYTES_MAX));
	enum document_end_kind kind = e->kind;
	enum document_fault fault = e->fault;
	bool is_late = str_eq(e->code, STR(MODULE_CODE_WALL));

	t->has_batch = false;
	list_take(&t->waits);
	bool goes_on = !t->left && !t->door->stopping && !t->ending &&
	    task_grant_run_ended(t, e);
	document_source_free(&t->run);
	list_take(&t->looks);
	if (t->left) {
		free_if_idle(t);
		return;
	}
	if (t->door->stopping || t->ending || goes_on)
		return;
	switch (kind) {
	case DOCUMENTS_DONE:
		close_by_success(t);
		break;
	case DOCUMENTS_FAILED:
		if (is_late)
			close_by_limit(t, text);
		else
			task_run_fail(t, fault, text);
		break;
	case DOCUMENTS_INTERRUPTED:
		if (!t->door->host->stopping)
			task_run_fail(t, DOCUMENT_SYSTEM, STR("an operator "
			    "has stopped it"));
		break;
	case DOCUMENTS_STOPPED:
		break;
	}
}

void
task_run_cancel(struct task_run *t)
{
	FREED(buf_free) struct buf detail = BUF_INIT;

	buf_put_text(&detail, "system: an operator has cancelled the task; ");
	put_counts(t, &detail);
	task_run_close(t, CODE_ERROR, "Cancelled by an operator",
	    buf_str(&detail));
}

/*
 * Texts of tasks of all back ends, and of each attempt, differ; those of a task
 * that has the fid of a forgotten one, too.  crawls.c reads the number.
 */
static struct str
make_key(const struct task_run *t, struct arena *a)
{
	return arena_printf(a, CRAWLS_KEY "%llu:%llu:%.*s:%.*s",
	    (unsigned long long)t->id, (unsigned long long)t->attempt,
	    STR_FMT(t->backend->name), STR_FMT(t->fid));
}

/* With the number, since the rest may be cut and a fid be used again. */
struct str
task_run_archive_name(const struct task_run *t, struct arena *a)
{
	return str_cut(arena_printf(a, DOCUMENT_ARCHIVE_PREFIX
	    "%llu: %.*s/%.*s/%.*s", (unsigned long long)t->id,
	    STR_FMT(t->backend->name), STR_FMT(t->connector->name),
	    STR_FMT(t->fid)), 0, STORE_NAME_BYTES_MAX);
}

void
task_run_open(struct task_run *t, struct str params, struct str credential,
    const struct oauth_tokens *tokens, bool resumes)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	const struct str tags[] = { t->backend->name, t->connector->name };
	const struct document_archive archive = { .tags = tags,
	    .tags_n = ARRAY_LEN(tags), .is_ending = &t->door->stopping,
	    .key = arena_printf(&a, DOCUMENT_ARCHIVE_PREFIX "%llu:%llu",
	    (unsigned long long)t->id, (unsigned long long)t->attempt),
	    .name = task_run_archive_name(t, &a) };
	struct document_source_options o = { .documents = t->door->documents,
	    .web = t->door->web, .modules = t->door->modules,
	    .is_ending = &t->door->stopping,
	    .connector = t->connector, .params = params,
	    .archive = t->door->set.archives ? &archive : NULL,
	    .credential = credential, .granted = t->grant.has_values ?
	    t->grant.values : NULL,
	    .former = tokens != NULL ? tokens->former : NULL,
	    .former_n = tokens != NULL ? tokens->former_n : 0,
	    .key = make_key(t, &a),
	    .cursor = buf_str(&t->cursor), .resumes = resumes,
	    .batch = task_spool_take, .note = note_connector,
	    .ended = run_ended, .arg = t };
	struct why w = WHY_INIT;

	enum err e = document_source_open(&o, &t->run, &w);
	if (e != OK) {
		task_run_fail(t, e == ERR_INPUT || e == ERR_FULL ?
		    DOCUMENT_CONFIG : DOCUMENT_SYSTEM, str_of(w.text));
		return;
	}
	t->state = STORE_TASK_RUNNING;
	t->progress_new = true;
	tend_look_at(t->door, t);
	task_run_pump(t);
}

/* ---- The beginning ------------------------------------------------------ */

struct str
task_run_checkpoint(uint64_t attempt, struct arena *a)
{
	return arena_printf(a, "attempt %llu", (unsigned long long)attempt);
}

static bool
has_moved(const struct store_task *row)
{
	FREED(arena_free) struct arena a = ARENA_INIT;

	return str_eq(row->checkpoint, task_run_checkpoint(row->attempt, &a));
}

static void
set_backend(struct task_run *t, struct backends *set,
    const struct backend *b)
{
	struct backends *before = t->backends;

	t->backends = backends_hold(set);
	t->backend = b;
	backends_release(&before);
}

static struct task_run *
new_run(struct external_door *d, const struct store_task *row,
    struct backends *set, const struct backend *b, struct held_connector *c)
{
	struct task_run *t = mem_new(sizeof(*t));

	t->door = d;
	t->id = row->id;
	t->attempt = row->attempt;
	/* Few texts stay as long as the task; a block would be 8 KiB. */
	arena_room(&t->arena, row->fid.n + row->params.n + row->grant.n + 16);
	t->fid = arena_copy(&t->arena, row->fid);
	t->params = arena_copy(&t->arena, row->params);
	t->grant.id = arena_copy(&t->arena, row->grant);
	buf_put_str(&t->endpoint, row->endpoint);
	buf_put_str(&t->cursor, row->cursor);
	t->has_moved = has_moved(row);
	t->connector = connector_hold(c);
	set_backend(t, set, b);
	t->state = row->state;
	buf_put_text(&t->progress, "Running");
	t->emitted = row->emitted;
	t->spool_bytes = row->spool_bytes;
	d->spool_bytes += row->spool_bytes;
	t->wake.fire = wake_up;
	t->retry.fire = try_again;
	list_init(&t->waits);
	list_init(&t->looks);
	list_put(&d->tasks, &t->node);
	map_put_id(&d->tasks_by_id, t->id, t);
	d->tasks_n++;
	drain_gate_enter(&d->asked);
	struct delivery_settings set_ = { .fid = t->fid, .backend = b->name,
	    .batch_bytes = b->batch_bytes,
	    .batch_documents = b->batch_documents, .silence_s = b->silence_s,
	    .retry_s_max = d->set.retry_s_max,
	    .rejected_max = d->set.rejected_max, .event = note_event,
	    .arg = t };
	t->delivery = delivery_new(&set_);
	return t;
}

/* False: its state cannot be read; the task has been left. */
static bool
load_delivery(struct task_run *t, const struct store_task *row)
{
	struct delivery_view v;
	struct why w = WHY_INIT;

	if (row->delivery.n > 0 && delivery_load(t->delivery, row->delivery,
	    &w) != OK) {
		log_error("external.corrupt", "backend=%.*s task=%.*s why=%s",
		    STR_FMT(row->backend), STR_FMT(row->fid), log_why(&w));
		task_run_leave(t);
		return false;
	}
	delivery_look(t->delivery, &v);
	t->window_first = v.first;
	t->spooled_end = v.first + row->spooled;
	return true;
}

void
task_run_begin(struct external_door *d, const struct store_task *row,
    struct backends *set, const struct backend *b, struct held_connector *c,
    struct str params, struct str credential, struct str warning)
{
	struct task_run *t = new_run(d, row, set, b, c);
	struct delivery_view v;

	if (!load_delivery(t, row))
		return;
	delivery_look(t->delivery, &v);
	if (row->attempt > 1) {
		/* The back end had closed it. */
		if (v.end == DELIVERY_RUNNING)
			delivery_stop(t->delivery);
		delivery_restart(t->delivery, v.first);
	}
	d->accepted++;
	task_run_log(t, "info", "attempt %llu begins",
	    (unsigned long long)row->attempt);
	if (warning.n > 0) {
		task_run_log(t, "warning", "%.*s", STR_FMT(warning));
		delivery_report(t->delivery, warning);
	}
	if (t->grant.id.n > 0)
		task_grant_begin(t, params);
	else
		task_run_open(t, params, credential, NULL, false);
}

/* Whether the run had a secret that only this process's memory had. */
static bool
has_lost_secret(const struct task_run *t)
{
	FREED(buf_free) struct buf same = BUF_INIT;

	return (t->grant.id.n == 0 && strcmp(external_connector_credential(
	    t->connector->connector), "none") != 0) ||
	    external_params_conceal(t->connector->connector, t->params,
	    &same);
}

/* It is looked for again and again; the log has it now and then. */
static void
say_waiting(struct external_door *d, const struct store_task *row,
    const char *what, struct str name)
{
	struct wall now = clock_wall();

	if (now.us - d->waits_said.us < WAITS_SAID_MS * INT64_C(1000))
		return;
	d->waits_said = now;
	log_error("external.waits", "backend=%.*s task=%.*s why=\"the %s %.*s "
	    "is not configured any more\"", STR_FMT(row->backend),
	    STR_FMT(row->fid), what, STR_FMT(name));
}

void
task_run_take_up(struct external_door *d, const struct store_task *row,
    struct held_connector *c)
{
	const struct backend *b = backends_find(d->backends, row->backend);

	if (b == NULL || c == NULL) {
		say_waiting(d, row, b == NULL ? "back end" : "connector",
		    b == NULL ? row->backend : row->connector);
		return;
	}
	struct task_run *t = new_run(d, row, d->backends, b, c);
	if (!load_delivery(t, row))
		return;
	struct delivery_view v;
	delivery_look(t->delivery, &v);
	log_info("external.taken_up", "backend=%.*s task=%.*s state=%s",
	    STR_FMT(row->backend), STR_FMT(row->fid),
	    store_task_state_name(row->state));
	/* An operator has asked for it. */
	if (v.end == DELIVERY_UNDELIVERED)
		delivery_resume(t->delivery);
	if (v.code != 0 || v.end != DELIVERY_RUNNING) {
		t->state = STORE_TASK_DRAINING;
		task_run_pump(t);
	} else if (has_lost_secret(t)) {
		task_run_fail(t, DOCUMENT_CONFIG, STR("the credential was "
		    "lost in a restart; start the task again"));
	} else if (t->grant.id.n > 0) {
		task_grant_begin(t, t->params);
	} else {
		task_run_open(t, t->params, STR_NONE, NULL, t->has_moved);
	}
}

/* ---- Asked from outside ------------------------------------------------- */

struct task_run *
task_run_find(const struct external_door *d, struct str backend,
    struct str fid)
{
	LIST_EACH(t, &d->tasks, struct task_run, node)
		if (str_eq(t->fid, fid) && str_eq(t->backend->name, backend))
			return t;
	return NULL;
}

struct task_run *
task_run_of_id(const struct external_door *d, uint64_t id)
{
	return map_get_id(&d->tasks_by_id, id);
}

void
task_run_set_endpoint(struct task_run *t, struct str endpoint)
{
	buf_clear(&t->endpoint);
	buf_put_str(&t->endpoint, endpoint);
}

enum err
task_run_set_credential(struct task_run *t, struct str credential,
    struct why *w)
{
	return t->run == NULL ? OK : document_source_set_credential(t->run,
	    credential, w);
}

void
task_run_use_backends(struct task_run *t, struct backends *set)
{
	const struct backend *b = backends_find(set, t->backend->name);

	/* One that is not there any more is called as it was. */
	if (b != NULL)
		set_backend(t, set, b);
}
