/*
 * The port of a remote worker: claims, leases and completions over the worker
 * protocol.  A claim is asked anew until it finds something.  One that is under
 * way when the worker stops is waited for, since its leases would be lost with
 * its answer; so it waits a short time only.
 */
#include "base/json.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "os/clock.h"
#include "os/log.h"
#include "script/items/remote_own.h"

#define CLAIM_WAIT_MS 2000
#define CLAIM_MAX 1000u              /* of the protocol */
#define ANSWER_MS 30000
#define JSON_TYPE "application/json"

static struct remote_worker *
worker_of(const struct task_runner *r)
{
	return r->o.port_arg;
}

/* A request with JSON that is freed when it is done. */
struct question {
	struct remote_request request;
	struct buf body;
	yyjson_doc *doc;             /* of the answer */
	void *owner;                 /* of the port's request */
};

static void
question_free(struct question *q)
{
	remote_request_free(&q->request);
	buf_free(&q->body);
	yyjson_doc_free(q->doc);
	mem_free(&q);
}

/* POST what was put into `body`. */
static void
send_question(struct remote_worker *rw, struct question *q, const char *path,
    void (*done)(struct remote_request *))
{
	q->request.method = "POST";
	q->request.path = str_of(path);
	q->request.type = JSON_TYPE;
	q->request.body = buf_str(&q->body);
	q->request.total_ms = ANSWER_MS;
	q->request.done = done;
	remote_link_send(rw->link, &q->request);
}

/* The answer of a 200, parsed; NULL: it is none. */
static yyjson_val *
read_answer(struct question *q)
{
	const struct buf *b = &q->request.answer;

	if (q->request.status == 200)
		q->doc = yyjson_read(b->p, b->n, YYJSON_READ_BIGNUM_AS_RAW);
	return yyjson_doc_get_root(q->doc);
}

/* What the daemon says against it.  It lives with the answer. */
static struct str
refusal_of(struct question *q)
{
	const struct buf *b = &q->request.answer;

	if (q->doc == NULL)
		q->doc = yyjson_read(b->p, b->n, 0);
	struct str text = json_text(yyjson_obj_get(yyjson_doc_get_root(
	    q->doc), "error"));
	return text.p == NULL ? STR("the daemon did not answer") : text;
}

static enum err
use_config(struct task_runner *r, struct runner_config *c, struct why *w)
{
	(void)w;
	buf_put_str(&c->secrets, buf_str(&worker_of(r)->secrets));
	return OK;
}

/* -- Claims -- */

static void
answer_claim(struct port_claim *c, enum err e)
{
	c->own = NULL;
	c->result = e;
	c->done(c);
}

static void
put_leases(struct port_claim *c, yyjson_val *leases)
{
	yyjson_val *one;
	size_t i, max, n = 0;

	yyjson_arr_foreach(leases, i, max, one) {
		char *text = yyjson_val_write(one, 0, &n);
		json_comma(&c->leases);
		buf_put(&c->leases, text, n);
		free(text);
	}
	c->n = yyjson_arr_size(leases);
}

static void send_claim(struct task_runner *, struct port_claim *);

static void
claimed(struct remote_request *request)
{
	struct question *q = CONTAINER(request, struct question, request);
	struct port_claim *c = q->owner;
	struct task_runner *r = c->runner;
	struct remote_worker *rw = worker_of(r);
	yyjson_val *root = read_answer(q);

	if (root == NULL && request->status != 0)
		log_warn("worker.claim_refused", "status=%d why=%.*s",
		    request->status, STR_FMT(str_cut(refusal_of(q), 0, 200)));
	c->generation = yyjson_get_uint(yyjson_obj_get(root, "generation"));
	put_leases(c, yyjson_obj_get(root, "leases"));
	bool other = root != NULL &&
	    c->generation != r->claim_config->generation;
	/* Refused, or stopped: the heartbeat tries again. */
	enum err e = root == NULL ? ERR_UNREACHED : OK;
	question_free(q);
	c->own = NULL;
	if (other)
		remote_worker_check(rw);
	if (e == OK && c->n == 0 && !r->stopped && !c->cancelled)
		send_claim(r, c);
	else
		answer_claim(c, e);
}

static void
send_claim(struct task_runner *r, struct port_claim *c)
{
	struct remote_worker *rw = worker_of(r);

	if (rw->stale) {
		rw->held = c;
		return;
	}
	struct question *q = c->own = mem_new(sizeof(*q));
	struct buf *b = &q->body;
	q->owner = c;
	json_object(b, NULL);
	json_str(b, "worker", str_of(rw->name));
	json_array(b, "tasks");
	for (size_t i = 0; i < c->tasks_n; i++)
		json_item(b, c->tasks[i]);
	buf_put_char(b, ']');
	json_u64(b, "max", MIN(c->max, CLAIM_MAX));
	json_u64(b, "wait_ms", CLAIM_WAIT_MS);
	buf_put_char(b, '}');
	send_question(rw, q, "/worker/claim", claimed);
}

/* One that only waits to be sent is over; one that was sent is waited for. */
static void
cancel_claim(struct port_claim *c)
{
	struct remote_worker *rw = worker_of(c->runner);
	struct question *q = c->own;

	c->cancelled = true;
	if (rw->held == c) {
		rw->held = NULL;
		answer_claim(c, OK);
	} else if (q != NULL && q->request.state != REMOTE_SENT) {
		remote_link_stop(&q->request);
		question_free(q);
		answer_claim(c, OK);
	}
}

void
remote_port_let_go(struct remote_worker *rw)
{
	struct port_claim *c = rw->held;

	rw->held = NULL;
	if (c != NULL)
		answer_claim(c, OK);
}

/* -- Leases -- */

static void
put_lease_list(const struct port_leases *l, struct buf *b)
{
	json_object(b, NULL);
	json_array(b, "leases");
	for (size_t i = 0; i < l->n; i++)
		json_item(b, l->list[i].text);
	buf_put_text(b, "]}");
}

static struct question *
leases_question(struct port_leases *l)
{
	struct question *q = l->own = mem_new(sizeof(*q));

	q->owner = l;
	put_lease_list(l, &q->body);
	return q;
}

static void
leases_answered(struct question *q, enum err e)
{
	struct port_leases *l = q->owner;

	question_free(q);
	l->result = e;
	l->done(l);
}

static void
extended(struct remote_request *request)
{
	struct question *q = CONTAINER(request, struct question, request);
	struct port_leases *l = q->owner;
	yyjson_val *root = read_answer(q);
	yyjson_val *times = yyjson_obj_get(root, "leases");

	for (size_t i = 0; i < l->n; i++) {
		struct str text = l->list[i].text;
		l->list[i].lost = yyjson_is_null(yyjson_obj_getn(times,
		    text.p, text.n));
	}
	leases_answered(q, root == NULL ? ERR_UNREACHED : OK);
}

static void
extend(struct task_runner *r, struct port_leases *l)
{
	send_question(worker_of(r), leases_question(l), "/worker/heartbeat",
	    extended);
}

static void
released(struct remote_request *request)
{
	leases_answered(CONTAINER(request, struct question, request),
	    request->status == 200 ? OK : ERR_UNREACHED);
}

static void
release(struct task_runner *r, struct port_leases *l)
{
	send_question(worker_of(r), leases_question(l), "/worker/release",
	    released);
}

/* -- Completions -- */

static void
put_used(const struct run_usage *u, struct buf *b)
{
	char iso[WALL_ISO_MAX];

	wall_to_iso(u->started_at, iso);
	json_object(b, "used");
	json_str(b, "started_at", str_of(iso));
	json_u64(b, "wall_ms", (uint64_t)MAX(u->wall_us / 1000, 0));
	json_u64(b, "cpu_ms", (uint64_t)MAX(u->cpu_us / 1000, 0));
	json_u64(b, "memory_bytes", (uint64_t)MAX(u->memory_bytes, 0));
	json_u64(b, "fetches", (uint64_t)MAX(u->fetches, 0));
	json_u64(b, "bytes", (uint64_t)MAX(u->bytes, 0));
	if (u->fetches_json.n > 0)
		json_raw(b, "requests", u->fetches_json);
	if (u->replay_json.n > 0)
		json_raw(b, "replay", u->replay_json);
	buf_put_char(b, '}');
}

static bool
read_status(struct str text, enum completion_status *out)
{
	static const enum completion_status all[] = { COMPLETION_APPLIED,
		COMPLETION_CONFLICT, COMPLETION_LEASE_LOST,
		COMPLETION_FAILED };

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (str_eq(text, str_of(completion_status_text(all[i])))) {
			*out = all[i];
			return true;
		}
	return false;
}

static void send_completion(struct port_completion *, struct str text);

/* What the daemon does not take as a completion becomes a failed run, once: the
 * lease would expire otherwise, and the run be tried again and again. */
static void
send_refused(struct port_completion *c, struct str reason)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	yyjson_doc *doc = yyjson_read(c->text.p, c->text.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);

	json_object(&b, NULL);
	json_str(&b, "lease", json_text(yyjson_obj_get(root, "lease")));
	json_str(&b, "outcome", STR("failure"));
	json_object(&b, "error");
	json_str(&b, "class", STR("permanent"));
	json_str(&b, "code", STR("completion"));
	json_str(&b, "message", reason);
	buf_put_text(&b, "},\"mutations\":[]}");
	yyjson_doc_free(doc);
	c->is_refused = true;
	send_completion(c, buf_str(&b));
}

static void
completed(struct remote_request *request)
{
	struct question *q = CONTAINER(request, struct question, request);
	struct port_completion *c = q->owner;
	yyjson_val *one = yyjson_arr_get(yyjson_obj_get(read_answer(q),
	    "results"), 0);
	struct str reason = json_text(yyjson_obj_get(one, "reason"));
	size_t n = 0;

	c->result = OK;
	buf_clear(&c->answer);
	if (!read_status(json_text(yyjson_obj_get(one, "status")),
	    &c->status)) {
		if (request->status != 0 && !c->is_refused) {
			send_refused(c, one == NULL ? refusal_of(q) : reason);
			question_free(q);
			return;
		}
		c->result = ERR_UNREACHED;
	}
	char *text = yyjson_val_write(one, 0, &n);
	if (text != NULL)
		buf_put(&c->answer, text, n);
	free(text);
	c->reason = reason.p == NULL ? STR_NONE : arena_copy(&c->write.arena,
	    reason);
	question_free(q);
	c->done(c);
}

static void
send_completion(struct port_completion *c, struct str text)
{
	struct question *q = c->own = mem_new(sizeof(*q));
	struct buf *b = &q->body;

	q->owner = c;
	json_object(b, NULL);
	json_array(b, "completions");
	buf_put_str(b, str_cut(text, 0, text.n - 1));
	put_used(&c->usage, b);
	buf_put_text(b, "}]}");
	send_question(worker_of(c->runner), q, "/worker/complete", completed);
}

static void
complete(struct task_runner *r, struct port_completion *c)
{
	c->runner = r;
	c->is_refused = false;
	arena_reset(&c->write.arena);
	send_completion(c, c->text);
}

/* -- Runs -- */

/* A completion or a release ends its logins there. */
static void
end_run(struct task_run *t)
{
	(void)t;
}

/* The daemon tells its clients at claims and completions. */
static void
put_event(struct task_runner *r, const struct items_live *e)
{
	(void)r;
	(void)e;
}

const struct task_port_table remote_port = {
	.use = use_config, .claim = send_claim, .cancel_claim = cancel_claim,
	.extend = extend, .release = release, .complete = complete,
	.begin_call = remote_call_begin, .cancel_call = remote_call_cancel,
	.end_run = end_run, .event = put_event,
};
