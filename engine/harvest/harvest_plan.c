#include "engine/harvest/harvest_plan.h"

#include "base/json_writer.h"
#include "engine/harvest/harvest_service.h"
#include "engine/harvest/order_text.h"

/* ---- What a row keeps -------------------------------------------------- */

void
harvest_plan_put(const struct harvest_plan *p, struct buf *b)
{
	json_object(b, NULL);
	json_str(b, "path", p->path);
	json_str(b, "credential", p->credential);
	json_bool(b, "client", p->client);
	json_raw(b, "message", p->message);
	buf_put_char(b, '}');
}

struct run {
	struct harvest_request request;
	struct scheduled_harvest *scheduled;
	struct arena arena;
};

static bool
read_plan(struct str text, struct arena *a, struct harvest_plan *p)
{
	yyjson_doc *doc = yyjson_read(text.p, text.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	yyjson_val *message = yyjson_obj_get(root, "message");
	size_t n = 0;
	char *written = message == NULL ? NULL : yyjson_val_write(message, 0,
	    &n);

	*p = (struct harvest_plan){
		.path = arena_copy(a, json_text(yyjson_obj_get(root, "path"))),
		.credential = arena_copy(a, json_text(yyjson_obj_get(root,
		    "credential"))),
		.client = yyjson_is_true(yyjson_obj_get(root, "client")),
		.message = arena_copy(a, (struct str){ written, n }),
	};
	free(written);
	yyjson_doc_free(doc);
	return p->message.n > 0;
}

/* ---- A run ------------------------------------------------------------- */

static void
begun(struct harvest_request *q)
{
	struct run *r = CONTAINER(q, struct run, request);
	struct scheduled_harvest *x = r->scheduled;

	x->why = q->why;
	arena_free(&r->arena);
	mem_free(&r);
	x->done(x);
}

static bool
is_under_way(struct harvest_service *s, struct str id)
{
	struct harvest_view v;

	return id.n > 0 && harvest_look(harvest_service_list(s), id, &v) &&
	    !store_harvest_is_over(v.state);
}

void
harvest_plan_begin(void *service, struct scheduled_harvest *x)
{
	struct harvest_service *s = service;
	struct harvest_plan plan;

	x->skipped = is_under_way(s, x->last);
	if (x->skipped) {
		x->done(x);
		return;
	}
	struct run *r = mem_new(sizeof(*r));
	r->scheduled = x;
	if (!read_plan(x->schedule->harvest, &r->arena, &plan)) {
		r->request.why = WHY_INIT;
		(void)!why(&r->request.why, ERR_CORRUPT, "schedule %llu has "
		    "no harvest", (unsigned long long)x->schedule->id);
		begun(&r->request);
		return;
	}
	r->request = (struct harvest_request){ .id = x->id,
	    .message = plan.message, .path = plan.path, .origin = plan.client ?
	    HARVEST_OF_CLIENT : HARVEST_OF_OPERATOR, .done = begun };
	harvest_service_begin(s, &r->request, plan.credential);
}

/* ---- Before it is put --------------------------------------------------- */

enum err
harvest_check(struct str message, bool has_credential, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct connector_run *run = NULL;
	const char *code = "";
	struct order_text t;
	struct why inner = WHY_INIT;

	enum err e = order_text_read(message, &a, &t, &code, &inner);
	if (e != OK && !has_credential &&
	    strcmp(code, "credentials_missing") == 0)
		e = OK;
	else if (e == OK)
		e = t.connector->open(&t.order, &run, &inner);
	if (run != NULL)
		t.connector->close(&run);
	order_text_free(&t);
	if (e != OK)
		*w = inner;
	return e;
}
