/*
 * POST /run: a connector that an operator runs by hand.  Its documents are the
 * answer, one object of JSON a line, as they come; nothing is kept.
 *
 *     parameters, credential ─► 400, or 200 and lines:
 *       {"document":{...}}
 *       {"rejected":{"pointer":"/name","message":"...","document":{...}}}
 *       {"note":{"level":"info","code":"...","text":"..."}}
 *       {"progress":{"documents":20,"rejected":1,"waiting":"..."}}
 *       {"end":{"ok":true,"reason":"done","message":"..."}}       the last one
 *
 * The source goes on when the client has taken the lines of its last batch, so
 * a run has one batch in memory.  It ends with the client's connection.
 */
#include "base/json_writer.h"
#include "doors/external/document_source.h"
#include "doors/external/handlers.h"
#include "doors/external/meter.h"
#include "doors/external/reply.h"
#include "doors/external/request.h"
#include "os/clock.h"
#include "os/log.h"

#define RUNS_MAX 4u                  /* at a time */
#define RUN_DOCUMENTS 1000u          /* unless documents_max is given */
#define RUN_DOCUMENTS_MAX 100000u
#define RUN_PROGRESS_MS 2000
#define RUN_FAULT_BYTES 400u

struct hand_run {
	struct list node;
	struct external_request *x;
	struct document_source *run; /* NULL: it has ended */
	struct web_pull pull;
	struct timer timer;
	struct buf lines;            /* that the client has not taken */
	size_t at;
	bool has_batch;              /* the source waits until they are taken */
	bool begun, left;            /* the answer has begun; its client left */
	bool ended;                  /* the last line is there */
	bool full;                   /* documents_max was reached */
	uint64_t documents, rejected, most;
	struct buf pointer, fault;   /* of the document that is looked at */
};

/* ---- Life --------------------------------------------------------------- */

static void
free_if_over(struct hand_run *h)
{
	struct external_door *d = h->x->door;

	if (h->run != NULL || !h->left)
		return;
	loop_timer_stop(d->host->home, &h->timer);
	list_take(&h->node);
	d->runs_n--;
	buf_free(&h->lines);
	buf_free(&h->pointer);
	buf_free(&h->fault);
	struct external_request *x = h->x;
	mem_free(&h);
	external_request_free(&x);
}

static void
wake_client(struct hand_run *h)
{
	if (h->begun && !h->left)
		web_pull_wake(&h->pull);
}

/* ---- Lines -------------------------------------------------------------- */

static void
end_line(struct hand_run *h)
{
	buf_put_text(&h->lines, "}\n");
}

static void
put_progress(struct hand_run *h)
{
	struct document_look look = { .waits_for = NULL };

	if (h->run != NULL)
		look = document_source_look(h->run);
	json_object(&h->lines, NULL);
	json_object(&h->lines, "progress");
	json_u64(&h->lines, "documents", h->documents);
	json_u64(&h->lines, "rejected", h->rejected);
	json_str(&h->lines, "waiting", str_of(look.waits_for == NULL ? "" :
	    look.waits_for));
	json_u64(&h->lines, "waits_s", (uint64_t)MAX(look.waits_ms, 0) /
	    1000);
	buf_put_char(&h->lines, '}');
	end_line(h);
}

static void
put_end(struct hand_run *h, bool ok, const char *reason, struct str message)
{
	put_progress(h);
	json_object(&h->lines, NULL);
	json_object(&h->lines, "end");
	json_bool(&h->lines, "ok", ok);
	json_str(&h->lines, "reason", str_of(reason));
	json_str(&h->lines, "message", message);
	buf_put_char(&h->lines, '}');
	end_line(h);
	h->ended = true;
}

static void
note_fault(void *arg, struct str pointer, struct str message)
{
	struct hand_run *h = arg;

	if (h->fault.n > 0)
		return;
	buf_put_str(&h->pointer, str_cut(pointer, 0, RUN_FAULT_BYTES));
	buf_put_str(&h->fault, str_cut(message, 0, RUN_FAULT_BYTES));
}

static void
judge_document(struct hand_run *h, struct str json)
{
	const struct external_door *d = h->x->door;

	buf_clear(&h->pointer);
	buf_clear(&h->fault);
	if (json.n > d->set.document_bytes_max) {
		buf_printf(&h->fault, "it has %zu bytes; "
		    "external.document_bytes_max is %zu", json.n,
		    d->set.document_bytes_max);
		return;
	}
	yyjson_doc *doc = yyjson_read(json.p, json.n,
	    YYJSON_READ_BIGNUM_AS_RAW);
	(void)external_document_check(h->x->connector->connector,
	    yyjson_doc_get_root(doc), 1, note_fault, h);
	yyjson_doc_free(doc);
}

static void
put_document(struct hand_run *h, struct str json)
{
	judge_document(h, json);
	json_object(&h->lines, NULL);
	if (h->fault.n > 0) {
		json_object(&h->lines, "rejected");
		json_str(&h->lines, "pointer", buf_str(&h->pointer));
		json_str(&h->lines, "message", buf_str(&h->fault));
		h->rejected++;
	} else {
		h->documents++;
	}
	json_raw(&h->lines, "document", json);
	if (h->fault.n > 0)
		buf_put_char(&h->lines, '}');
	end_line(h);
}

/* ---- The source --------------------------------------------------------- */

static void
take_batch(void *arg, const struct document_batch *b)
{
	struct hand_run *h = arg;

	for (size_t i = 0; i < b->n && !h->full && !h->left; i++) {
		put_document(h, b->list[i].json);
		h->full = h->documents + h->rejected >= h->most;
	}
	h->has_batch = true;
	if (h->full)
		document_source_stop(h->run);
	wake_client(h);
}

static void
note_source(void *arg, const struct document_note *n)
{
	struct hand_run *h = arg;

	if (h->left)
		return;
	json_object(&h->lines, NULL);
	json_object(&h->lines, "note");
	json_str(&h->lines, "level", str_of(n->level));
	json_str(&h->lines, "code", n->code);
	json_str(&h->lines, "text", str_cut(n->text, 0, RUN_FAULT_BYTES));
	buf_put_char(&h->lines, '}');
	end_line(h);
	wake_client(h);
}

static void
run_ended(void *arg, const struct document_end *e)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct hand_run *h = arg;

	h->has_batch = false;
	if (e->kind == DOCUMENTS_FAILED) {
		buf_printf(&text, "%s: %.*s", document_fault_name(e->fault),
		    STR_FMT(e->text));
		put_end(h, false, "failed", buf_str(&text));
	} else if (h->full) {
		buf_printf(&text, "it was stopped at documents_max, %llu",
		    (unsigned long long)h->most);
		put_end(h, true, "limit", buf_str(&text));
	} else if (e->kind == DOCUMENTS_DONE) {
		put_end(h, true, "done", STR("the source has no more "
		    "documents"));
	} else {
		put_end(h, false, "stopped", STR("the server is ending, or "
		    "an operator has ended the crawl"));
	}
	document_source_free(&h->run);
	wake_client(h);
	free_if_over(h);
}

/* ---- The answer --------------------------------------------------------- */

static bool
pull_lines(struct web_pull *p, struct buf *out, size_t room)
{
	struct hand_run *h = CONTAINER(p, struct hand_run, pull);
	size_t n = MIN(room, h->lines.n - h->at);

	buf_put(out, h->lines.p + h->at, n);
	h->at += n;
	if (h->at < h->lines.n)
		return true;
	buf_clear(&h->lines);
	h->at = 0;
	if (h->has_batch && h->run != NULL && !h->full) {
		h->has_batch = false;
		document_source_taken(h->run);
	}
	return !h->ended || h->lines.n > 0;
}

static void
end_answer(struct web_pull *p)
{
	struct hand_run *h = CONTAINER(p, struct hand_run, pull);

	h->left = true;
	if (h->run != NULL)
		document_source_stop(h->run);
	free_if_over(h);
}

static void
say_progress(struct timer *timer)
{
	struct hand_run *h = CONTAINER(timer, struct hand_run, timer);

	if (h->ended || h->left)
		return;
	loop_timer_set(h->x->door->host->home, timer, mono_add_ms(
	    clock_mono(), RUN_PROGRESS_MS));
	/* A client that takes nothing is told nothing. */
	if (h->lines.n > 0)
		return;
	put_progress(h);
	wake_client(h);
}

/* ---- The request -------------------------------------------------------- */

static void
open_run(struct hand_run *h)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct external_request *x = h->x;
	struct external_door *d = x->door;
	struct document_source_options o = { .documents = d->documents,
		.web = d->web, .modules = d->modules,
		.is_ending = &d->stopping, .connector = x->connector,
		.params = buf_str(&x->params),
		.credential = buf_str(&x->credential),
		.key = arena_printf(&a, CRAWLS_KEY "run:%lld:%llu",
		(long long)clock_wall().us,
		(unsigned long long)++d->runs_begun),
		.batch = take_batch, .note = note_source, .ended = run_ended,
		.arg = h };
	struct why w = WHY_INIT;

	if (document_source_open(&o, &h->run, &w) != OK)
		put_end(h, false, "failed", str_of(w.text));
	external_request_forget(x);
	log_info("external.run", "connector=%.*s most=%llu",
	    STR_FMT(x->connector_name), (unsigned long long)h->most);
	loop_timer_set(d->host->home, &h->timer, mono_add_ms(clock_mono(),
	    RUN_PROGRESS_MS));
	h->begun = true;
	web_answer_pull(x->request, 200, "application/x-ndjson; "
	    "charset=utf-8", UINT64_MAX, &h->pull);
}

/* False: refused, and freed. */
static bool
check_input(struct external_request *x)
{
	const struct external_connector *c = x->connector->connector;
	struct task_faults *f = ARENA_NEW(&x->arena, struct task_faults);
	struct why w = WHY_INIT;
	bool fine = true;

	f->arena = &x->arena;
	/* As POST /task does, so that no copy of a password stays behind. */
	buf_reserve(&x->params, web_body(x->request).n + 1);
	if (task_params_check(c, x->order.params, f, &x->params) != OK) {
		reply_fail_all(x->request, 400, f->messages, f->n);
		fine = false;
	} else if (external_connector_oauth(c) != NULL) {
		reply_fail(x->request, 400, "credential: people sign in at "
		    "the front end of a back end, and what they grant is of "
		    "use in its tasks alone");
		fine = false;
	} else if (task_credential_make(c, x->order.credential,
	    &x->credential, &w) != OK) {
		reply_fail(x->request, 400, "credential: %s", w.text);
		fine = false;
	}
	if (!fine)
		external_request_free(&x);
	return fine;
}

/* The member documents_max; false: refused, and freed. */
static bool
read_most(struct external_request *x, uint64_t *most)
{
	yyjson_val *v = yyjson_obj_get(yyjson_doc_get_root(x->order.doc),
	    "documents_max");
	struct str text = yyjson_is_raw(v) ? (struct str){
	    yyjson_get_raw(v), yyjson_get_len(v) } : STR_NONE;

	*most = RUN_DOCUMENTS;
	if (v == NULL || (str_to_u64(text, most) && *most > 0 && *most <=
	    RUN_DOCUMENTS_MAX))
		return true;
	reply_fail(x->request, 400, "documents_max: it is no whole number "
	    "from 1 to %u", RUN_DOCUMENTS_MAX);
	external_request_free(&x);
	return false;
}

void
external_post_run(struct web_request *r)
{
	struct external_request *x = external_request_open(r,
	    EXTERNAL_OPERATORS, EXTERNAL_CONNECTOR);
	struct why w = WHY_INIT;
	uint64_t most;

	if (x == NULL)
		return;
	if (x->door->runs_n >= RUNS_MAX) {
		external_meter_limit("runs_max");
		web_add_field(r, "Retry-After", "30");
		reply_fail(r, 429, "%u connectors are run by hand already",
		    RUNS_MAX);
		external_request_free(&x);
		return;
	}
	if (task_order_read_check(web_body(r), &x->order, &w) != OK) {
		reply_fail(r, 400, "%s", w.text);
		external_request_free(&x);
		return;
	}
	if (!read_most(x, &most) || !check_input(x))
		return;
	struct hand_run *h = mem_new(sizeof(*h));
	h->x = x;
	h->most = most;
	h->timer.fire = say_progress;
	h->pull.pull = pull_lines;
	h->pull.end = end_answer;
	list_put(&x->door->runs, &h->node);
	x->door->runs_n++;
	open_run(h);
}

void
hand_run_stop_all(struct external_door *d)
{
	LIST_EACH(h, &d->runs, struct hand_run, node)
		if (h->run != NULL)
			document_source_stop(h->run);
}
