/*
 * What `argiope worker` needs beside the requests of contracts/items.md §8:
 * sessions, whose login() a remote worker calls while the daemon keeps cookies
 * and data; the configuration's hash and the names of its secrets; blobs.
 */
#include "base/json_writer.h"
#include "doors/items/handlers.h"
#include "doors/items/input.h"
#include "engine/items/item_query.h"
#include "engine/items/item_states.h"
#include "script/items/lease_user.h"
#include "script/items/session_call.h"
#include "script/items/task_service.h"

/* -- Sessions -- */

struct session_request {
	struct worker_lease lease;
	struct exchange *x;
	struct session_call call;
};

static void
answer_session(struct session_call *c)
{
	struct session_request *q = CONTAINER(c, struct session_request, call);
	struct exchange *x = q->x;
	struct lease_users *users = task_runner_lease_users(
	    task_service_runner(x->door->service));

	buf_put_str(&x->out, buf_str(&c->out));
	buf_free(&c->out);
	/* Nobody is there to log in. */
	if (c->login && web_has_left(x->request))
		lease_users_end(users, q->lease.text);
	lease_user_leave(users, c->user);
	if (c->why.err == OK) {
		exchange_answer(x);
		return;
	}
	web_fail(x->request, c->why.err == ERR_ABSENT ? 404 : c->why.err ==
	    ERR_CLOSED ? 503 : 502, "session", "%s", c->why.text);
	exchange_free(&x);
}

static void
lease_checked(struct exchange *x)
{
	struct session_request *q = x->in;
	struct task_runner *r = task_service_runner(x->door->service);
	struct why w = WHY_INIT;

	if (r != NULL && !x->door->stopping)
		q->call.user = lease_user_enter(task_runner_lease_users(r),
		    q->lease.text, q->lease.item);
	if (q->call.user == NULL) {
		(void)!why(&w, r == NULL ? ERR_ABSENT : ERR_CLOSED, "no "
		    "configuration with sessions is in force");
		exchange_refuse(x, w.err, &w);
		return;
	}
	q->call.sessions = task_runner_sessions(r);
	q->call.done = answer_session;
	session_call_start(&q->call);
}

static void
read_kind(struct input *in, struct session_call *c)
{
	static const struct {
		const char *word;
		enum script_call_kind kind;
	} kinds[] = {
		{ "ask", SCRIPT_CALL_SESSION },
		{ "expired", SCRIPT_CALL_SESSION_EXPIRED },
		{ "store", SCRIPT_CALL_SESSION_STORE },
		{ "fail", SCRIPT_CALL_SESSION_FAIL },
		{ "invalidate", SCRIPT_CALL_SESSION_INVALIDATE },
	};
	struct str word = input_need_str(in, "do");

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (str_eq(word, str_of(kinds[i].word))) {
			c->kind = kinds[i].kind;
			return;
		}
	input_fault(in, ERR_INPUT, "do", "it is none of ask, expired, store, "
	    "fail, invalidate");
}

void
worker_session(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct session_request *q = in.x->in = ARENA_NEW(&in.x->arena,
	    struct session_request);

	q->x = in.x;
	input_json(&in);
	q->lease.text = input_need_str(&in, "lease");
	read_kind(&in, &q->call);
	(void)input_need_str(&in, "name");
	(void)input_str(&in, "message");
	(void)input_int(&in, "version", 0, 0, INT64_MAX);
	yyjson_val *data = input_value(&in, "data");
	if (q->call.kind == SCRIPT_CALL_SESSION_STORE && !yyjson_is_obj(data))
		input_fault(&in, ERR_INPUT, "data", "it is no object");
	q->call.args = in.root;
	in.x->then = lease_checked;
	if (input_end(&in))
		exchange_write(in.x, NULL, worker_find_item);
}

/* -- The configuration -- */

static enum err
read_config(struct exchange *x, struct item_store *st, struct why *w)
{
	return item_query_config(st, &x->next, w);
}

static void
answer_config(struct exchange *x)
{
	yyjson_doc *doc = yyjson_read(x->next.p, x->next.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	struct str hash = json_text(yyjson_obj_get(root, "hash"));
	FREED(buf_free) struct buf secrets = BUF_INIT;

	task_service_put_secrets(x->door->service, &secrets);
	json_object(&x->out, NULL);
	json_u64(&x->out, "generation", yyjson_get_uint(yyjson_obj_get(root,
	    "generation")));
	if (hash.p == NULL)
		json_null(&x->out, "hash");
	else
		json_str(&x->out, "hash", hash);
	json_raw(&x->out, "secrets", buf_str(&secrets));
	buf_put_char(&x->out, '}');
	yyjson_doc_free(doc);
	exchange_answer(x);
}

void
worker_config(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));

	in.x->then = answer_config;
	if (input_end(&in))
		exchange_read(in.x, read_config);
}

/* -- Blobs: as fetches, a line of JSON and bytes -- */

struct blob_request {
	struct worker_lease lease;
	struct str id, name;
	struct buf type;
	bool is_there;
};

static enum err
read_blob(struct exchange *x, struct item_store *st, struct why *w)
{
	struct blob_request *q = x->in;
	struct why inner = WHY_INIT;

	buf_clear(&x->next);
	buf_clear(&q->type);
	enum err e = item_query_blob(st, q->id, q->name, &x->next, &q->type,
	    &inner);
	q->is_there = e == OK;
	return e == OK || e == ERR_ABSENT ? OK : why(w, e, "%s", inner.text);
}

static void
answer_blob(struct exchange *x)
{
	struct blob_request *q = x->in;

	if (q->is_there) {
		json_object(&x->out, NULL);
		json_str(&x->out, "type", buf_str(&q->type));
		buf_put_char(&x->out, '}');
	} else {
		buf_put_text(&x->out, "null");
	}
	buf_put_char(&x->out, '\n');
	if (q->is_there)
		buf_put_str(&x->out, buf_str(&x->next));
	buf_free(&q->type);
	web_answer(x->request, 200, "application/octet-stream",
	    buf_str(&x->out));
	exchange_free(&x);
}

static void
blob_lease_checked(struct exchange *x)
{
	x->then = answer_blob;
	exchange_read(x, read_blob);
}

void
worker_get_blob(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct blob_request *q = in.x->in = ARENA_NEW(&in.x->arena,
	    struct blob_request);
	struct { const char *name; struct str *to; } params[] = {
		{ "lease", &q->lease.text }, { "id", &q->id },
		{ "name", &q->name },
	};

	for (size_t i = 0; i < ARRAY_LEN(params); i++) {
		*params[i].to = input_param(&in, params[i].name);
		if (params[i].to->p == NULL)
			input_fault(&in, ERR_INPUT, params[i].name,
			    "it is missing");
	}
	in.x->then = blob_lease_checked;
	if (input_end(&in))
		exchange_write(in.x, NULL, worker_find_item);
}
