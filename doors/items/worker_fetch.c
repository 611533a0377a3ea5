/*
 * /worker/fetch: a request of a remote worker, sent by the daemon, polite
 * and archived (contracts/items.md §8).  The answer is a line of JSON, then the
 * decoded body; our own response headers contain nothing that the site sent.
 */
#include "base/json_writer.h"
#include "doors/items/handlers.h"
#include "doors/items/input.h"
#include "script/items/task_service.h"
#include "engine/items/item_states.h"
#include "engine/tasks/task_fetch.h"
#include "os/clock.h"

#define FETCH_MS_MAX 600000          /* until the last try has begun */

struct fetching {
	struct exchange *x;
	struct str lease;
	struct task_fetch fetch;
};

static enum err
read_headers(struct input *in, struct fetching *f)
{
	yyjson_val *list = input_value(in, "headers"), *key, *v;
	size_t i, n;

	if (list == NULL || yyjson_is_null(list))
		return OK;
	if (!yyjson_is_obj(list))
		return why_field(&in->why, ERR_INPUT, "headers", "it is no "
		    "object");
	struct http_field *h = ARENA_ARRAY(&in->x->arena,
	    struct http_field, yyjson_obj_size(list));
	yyjson_obj_foreach(list, i, n, key, v) {
		if (!yyjson_is_str(v))
			return why_field(&in->why, ERR_INPUT, "headers", "a "
			    "value is no text");
		h[i] = (struct http_field){ json_text(key),
		    json_text(v) };
	}
	f->fetch.headers = h;
	f->fetch.headers_n = n;
	return OK;
}

/* Text is sent as it is; null stands for none. */
static struct str
text_or_none(struct input *in, const char *name)
{
	yyjson_val *v = input_value(in, name);

	if (v == NULL || yyjson_is_null(v))
		return STR_NONE;
	if (!yyjson_is_str(v))
		input_fault(in, ERR_INPUT, name, "it is no text");
	return json_text(v);
}

static void
put_head(const struct task_fetch *f, struct buf *b)
{
	json_object(b, NULL);
	json_u64(b, "status", (uint64_t)f->status);
	json_str(b, "url", f->final_url);
	json_array(b, "headers");
	for (size_t i = 0; i < f->fields_n; i++) {
		json_array(b, NULL);
		json_item(b, f->fields[i].name);
		json_item(b, f->fields[i].value);
		buf_put_char(b, ']');
	}
	buf_put_char(b, ']');
	if (f->number > 0) {
		json_object(b, "capture");
		json_u64(b, "crawl", f->crawl);
		json_u64(b, "seq", f->number);
		buf_put_char(b, '}');
	} else {
		json_null(b, "capture");
	}
	buf_put_text(b, "}\n");
}

static void
fetched(struct task_fetch *t)
{
	struct fetching *f = CONTAINER(t, struct fetching, fetch);
	struct exchange *x = f->x;
	struct why w = WHY_INIT;

	/* Any status is an answer here: the worker judges it. */
	if (t->end == TASK_FETCH_ANSWERED) {
		put_head(t, &x->out);
		buf_put_str(&x->out, t->content);
		web_answer(x->request, 200, "application/octet-stream",
		    buf_str(&x->out));
		task_fetch_free(t);
		exchange_free(&x);
		return;
	}
	x->refusal = strcmp(t->code, "input") == 0 ? 400 :
	    t->transient ? 502 : 403;
	x->refusal_code = t->code;
	why(&w, ERR_UNREACHED, "%.*s", (int)MIN(t->text.n, 300), t->text.p);
	task_fetch_free(t);
	exchange_refuse(x, ERR_UNREACHED, &w);
}

static enum err
check(struct exchange *x, struct item_tx *tx, struct why *w)
{
	const struct fetching *f = x->in;

	return worker_check_lease(x, tx, f->lease, w);
}

static void
checked(struct exchange *x)
{
	struct fetching *f = x->in;
	struct task_fetcher *fetcher = task_service_fetcher(
	    x->door->service);
	struct why w = WHY_INIT;

	if (fetcher == NULL) {
		why(&w, ERR_CLOSED, "no configuration is loaded: nothing can "
		    "be fetched");
		exchange_refuse(x, ERR_CLOSED, &w);
		return;
	}
	f->fetch.done = fetched;
	f->fetch.any_status = true;
	f->fetch.deadline = mono_add_ms(clock_mono(), FETCH_MS_MAX);
	task_fetch_start(fetcher, &f->fetch);
}

void
worker_fetch(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct fetching *f = in.x->in = ARENA_NEW(&in.x->arena,
	    struct fetching);

	f->x = in.x;
	input_json(&in);
	f->lease = input_need_str(&in, "lease");
	f->fetch.url = input_need_str(&in, "url");
	f->fetch.method = text_or_none(&in, "method");
	f->fetch.body = text_or_none(&in, "body");
	if (text_or_none(&in, "session").n > 0)
		input_fault(&in, ERR_INPUT, "session", "sessions are for tasks "
		    "that run in the daemon");
	if (in.e == OK)
		in.e = read_headers(&in, f);
	in.x->then = checked;
	if (input_end(&in))
		exchange_write(in.x, NULL, check);
}
