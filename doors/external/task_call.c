/* Calls to the back end: a body, a call, and what the delivery hears of it. */
#include "doors/external/task_run.h"
#include "os/clock.h"

static struct delivery_time
time_now(void)
{
	return (struct delivery_time){ clock_mono(), clock_wall() };
}

static uint64_t
draw_random(void)
{
	uint64_t r;

	clock_random(&r, sizeof(r));
	return r;
}

static void
tell_reply(struct task_run *t, enum delivery_kind kind,
    const struct delivery_reply *reply)
{
	delivery_reply(t->delivery, kind, reply, draw_random(), time_now());
	task_run_pump(t);
}

static void
call_done(struct caller_call *c)
{
	struct task_call *x = CONTAINER(c, struct task_call, call);
	struct task_run *t = x->task;
	struct external_door *d = t->door;
	const struct delivery_reply reply = { .status = c->status,
		.retry_after = c->retry_after, .body = c->reply };

	x->busy = false;
	if (c->status == 0 && !t->left)
		task_run_log(t, "warning", "%s: no answer: %s", x->kind ==
		    DELIVERY_UPLOAD ? "upload" : "status", c->detail);
	if (!t->left)
		tell_reply(t, x->kind, &reply);
	t->jobs--;
	task_run_pump(t);
	drain_gate_leave(&d->asked);
}

static void
start_call(struct task_run *t, struct task_call *x, const char *what,
    const char *type, bool gzip)
{

	buf_clear(&x->url);
	if (backend_append_path(buf_str(&t->endpoint), what, &x->url) != OK) {
		const struct delivery_reply none = { .status = 0 };
		task_run_log(t, "error", "the endpoint is no URL");
		x->busy = false;
		tell_reply(t, x->kind, &none);
		return;
	}
	x->task = t;
	x->call = (struct caller_call){ .set = t->backends,
		.backend = t->backend, .method = STR("POST"),
		.url = buf_str(&x->url), .content_type = str_of(type),
		.key = buf_str(&x->key), .gzip = gzip,
		.body = buf_str(&x->body),
		.reply_max = DELIVERY_REPLY_BYTES_MAX, .done = call_done };
	t->jobs++;
	drain_gate_enter(&t->door->asked);
	caller_start(t->door->caller, &x->call);
}

/* ---- Uploads ------------------------------------------------------------ */

static enum err
read_documents(struct task_job *x, struct store *st, struct why *w)
{
	return store_spool_read(st, x->task->id, x->from, x->n, x->bytes_max,
	    &x->arena, &x->documents, &x->n, w);
}

static void
send_documents(struct task_job *x)
{
	struct task_run *t = x->task;
	struct task_call *c = &t->upload;
	const struct delivery_reply none = { .status = 0 };
	size_t wanted = (size_t)x->first;

	if (x->result != OK || x->n != wanted) {
		if (task_job_judge(x) == TASK_OVER)
			return;
		if (x->result == OK)
			task_run_log(t, "error", "the spool has %zu of %zu "
			    "documents of an upload", x->n, wanted);
		c->busy = false;
		tell_reply(t, DELIVERY_UPLOAD, &none);
		return;
	}
	buf_clear(&c->body);
	for (size_t i = 0; i < x->n; i++) {
		if (i > 0)
			buf_put_char(&c->body, '\n');
		buf_put_str(&c->body, x->documents[i].json);
	}
	start_call(t, c, "/upload", "application/x-ndjson; charset=utf-8",
	    x->changed);
}

void
task_call_upload(struct task_run *t, const struct delivery_step *s)
{
	struct task_call *c = &t->upload;
	struct task_job *x = task_job_new(t);

	c->kind = DELIVERY_UPLOAD;
	c->busy = true;
	buf_clear(&c->key);
	buf_put_str(&c->key, s->key);
	x->from = t->window[s->from - t->window_first].number;
	x->n = (size_t)(s->to - s->from);
	x->first = x->n;
	x->bytes_max = s->body_bytes;
	x->changed = s->gzip;
	task_job_put(x, read_documents, send_documents);
}

/* ---- Statuses ----------------------------------------------------------- */

void
task_call_status(struct task_run *t, const struct delivery_step *s)
{
	struct task_call *c = &t->status;

	c->kind = DELIVERY_STATUS;
	c->busy = true;
	buf_clear(&c->key);
	buf_put_str(&c->key, s->key);
	buf_clear(&c->body);
	buf_put_str(&c->body, s->body);
	start_call(t, c, "/status", "application/json", false);
}

void
task_call_cancel(struct task_run *t)
{
	struct task_call *all[] = { &t->upload, &t->status };

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (all[i]->busy && all[i]->call.own != NULL)
			caller_cancel(t->door->caller, &all[i]->call);
}
