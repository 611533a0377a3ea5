/*
 * demo_crawler -- an external crawler inside the simulator, for GET /demo: it
 * uploads numbered documents in batches and then reports that it is done.
 *
 *     POST task ─► [batch ─► answer]* ─► status 200 ─► gone
 *                     └── not accepted: again, under the same key
 */
#include "base/json.h"
#include "base/json_writer.h"
#include "cli/simulator/own.h"

#define BATCH_DOCUMENTS 5u
#define DOCUMENTS_MAX 1000u
#define TRIES_MAX 6u
#define PAUSE_MS 20              /* before a call; doubled with each retry */

struct demo_run {
	struct list node;
	struct simulator *simulator;
	char fid[FID_BYTES_MAX];
	struct buf endpoint;
	uint64_t documents, sent, batch;
	unsigned tries;              /* of the present call */
	bool calling, stopped;
	struct timer timer;
};

static void
free_run(struct demo_run *d)
{
	loop_timer_stop(d->simulator->loop, &d->timer);
	list_take(&d->node);
	d->simulator->demos_n--;
	buf_free(&d->endpoint);
	mem_free(&d);
}

static struct demo_run *
find_run(struct simulator *s, struct str fid)
{
	LIST_EACH(d, &s->demos, struct demo_run, node)
		if (str_eq(str_of(d->fid), fid) && !d->stopped)
			return d;
	return NULL;
}

/* ---- Calls to the back end ------------------------------------------ */

static void
plan_step(struct demo_run *d)
{
	struct simulator *s = d->simulator;

	loop_timer_set(s->loop, &d->timer, mono_add_ms(loop_now(s->loop),
	    PAUSE_MS << d->tries));
}

static void
batch_answered(struct demo_run *d, int status)
{
	/* Of a batch that is refused in part, the rest was accepted. */
	bool fine = (status >= 200 && status < 300) || status == 406;
	bool was_last = d->sent == d->documents;

	if (fine && !was_last) {
		d->sent = MIN(d->sent + BATCH_DOCUMENTS, d->documents);
		d->batch++;
		d->tries = 0;
		plan_step(d);
	} else if (fine || status == 404 || ++d->tries == TRIES_MAX) {
		free_run(d);
	} else {
		plan_step(d);
	}
}

static void
answered(void *arg, const struct crawler_answer *a)
{
	struct demo_run *d = arg;

	d->calling = false;
	if (d->stopped || d->simulator->closing)
		free_run(d);
	else
		batch_answered(d, a->status);
}

static void
put_batch(const struct demo_run *d, struct buf *b)
{
	uint64_t end = MIN(d->sent + BATCH_DOCUMENTS, d->documents);

	for (uint64_t i = d->sent; i < end; i++)
		buf_printf(b, "%s{\"id\":%llu,\"text\":\"Document %llu\"}",
		    i == d->sent ? "" : "\n", (unsigned long long)i + 1,
		    (unsigned long long)i + 1);
}

/* The next batch or, after the last, the closing status. */
static void
send_next(struct timer *timer)
{
	struct demo_run *d = CONTAINER(timer, struct demo_run, timer);
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf body = BUF_INIT;
	bool is_status = d->sent == d->documents;
	struct url url;
	struct why w = WHY_INIT;
	struct str text = arena_printf(&a, "%.*s%s",
	    STR_FMT(buf_str(&d->endpoint)), is_status ? "/status" :
	    "/upload");
	struct crawler_order o = { .method = "POST", .url = &url,
	    .type = is_status ? "application/json" :
	    "application/x-ndjson; charset=utf-8", .done = answered,
	    .arg = d };

	if (is_status)
		buf_printf(&body, "{\"code\":%d,\"message\":\"%llu "
		    "documents\",\"detail\":null}", TASK_DONE,
		    (unsigned long long)d->documents);
	else
		put_batch(d, &body);
	o.body = buf_str(&body);
	o.key = arena_printf(&a, is_status ? "%s:s%llu" : "%s:%llu", d->fid,
	    (unsigned long long)d->batch + 1).p;
	if (crawler_read_url(text, "endpoint", &a, &url, &w) == OK &&
	    simulator_call(d->simulator, &o, &w) == OK)
		d->calling = true;
	else
		free_run(d);
}

/* ---- Calls from the back end ---------------------------------------- */

static void
answer_status(struct web_request *r, struct str callback, int code)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	json_object(&b, NULL);
	if (callback.n > 0)
		json_str(&b, "callback", callback);
	json_object(&b, "status");
	json_u64(&b, "code", (uint64_t)code);
	json_str(&b, "message", code == TASK_NEW ? STR("New") :
	    STR("Stopped"));
	buf_put_text(&b, "}}");
	answer_payload(r, 200, buf_str(&b));
}

static void
begin_run(struct web_request *r, struct str fid, struct str endpoint,
    uint64_t documents)
{
	struct simulator *s = request_simulator(r);
	struct demo_run *d = mem_new(sizeof(*d));

	d->simulator = s;
	snprintf(d->fid, sizeof(d->fid), "%.*s", STR_FMT(fid));
	buf_put_str(&d->endpoint, endpoint);
	d->documents = documents;
	d->timer.fire = send_next;
	list_put(&s->demos, &d->node);
	s->demos_n++;
	plan_step(d);
	answer_status(r, arena_printf(web_arena(r), "/task/%s", d->fid),
	    TASK_NEW);
}

void
demo_post_task(struct web_request *r)
{
	FREED(json_doc_free) yyjson_doc *doc = NULL;
	struct simulator *s = request_simulator(r);
	yyjson_val *body, *documents;
	struct str fid, endpoint;

	if (!request_json(r, &doc))
		return;
	body = yyjson_doc_get_root(doc);
	fid = json_text(yyjson_obj_get(body, "fid"));
	endpoint = json_text(yyjson_obj_get(body, "endpoint"));
	documents = yyjson_obj_get(yyjson_obj_get(body, "params"),
	    "documents");
	if (map_get(&s->tasks, fid) == NULL)
		answer_fault(r, 400, "fid: must be a task of this simulator");
	else if (!str_starts(endpoint, simulator_base(s, web_arena(r))))
		answer_fault(r, 400, "endpoint: must be this simulator's");
	else if (!yyjson_is_uint(documents) ||
	    yyjson_get_uint(documents) - 1 >= DOCUMENTS_MAX)
		answer_fault(r, 400, "params.documents: must be a whole number "
		    "from 1 to %u", DOCUMENTS_MAX);
	else if (s->demos_n >= (size_t)s->limits.demo_runs_max)
		answer_fault(r, 429, "demo_runs_max: %zu demos are running",
		    s->demos_n);
	else
		begin_run(r, fid, endpoint, yyjson_get_uint(documents));
}

void
demo_patch_task(struct web_request *r)
{
	FREED(json_doc_free) yyjson_doc *doc = NULL;
	struct demo_run *d = find_run(request_simulator(r),
	    request_segment(r, 3));
	uint64_t code;

	if (!request_json(r, &doc))
		return;
	code = yyjson_get_uint(yyjson_obj_get(yyjson_doc_get_root(doc),
	    "code"));
	if (d == NULL) {
		answer_fault(r, 404, "there is no such task");
		return;
	}
	if (code >= TASK_CLOSED_FROM) {
		d->stopped = true;
		if (!d->calling)
			free_run(d);
	}
	answer_status(r, STR(""), (int)MIN(code, TASK_CODE_MAX));
}

void
demo_free(struct simulator *s)
{
	struct list *next;

	for (struct list *n = s->demos.next; n != &s->demos; n = next) {
		next = n->next;
		free_run(LIST_ITEM(n, struct demo_run, node));
	}
}
