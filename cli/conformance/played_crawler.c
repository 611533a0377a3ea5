/*
 * played_crawler -- the crawler by which a back end is judged: it accepts every
 * task and records the calls that it receives.
 */
#include "base/json_writer.h"
#include "cli/conformance/own.h"
#include "cli/simulator/envelope.h"
#include "cli/simulator/json_body.h"

static struct str
copy_field(struct conformance *c, struct web_request *r, const char *name)
{
	struct str value = STR("");

	(void)web_field(r, name, &value);
	return arena_copy(&c->arena, value);
}

static struct notice *
add_notice(struct web_request *r)
{
	struct conformance *c = web_arg(r);
	yyjson_doc *doc = NULL;
	struct str version = STR("");
	struct notice *n;

	c->notices = mem_room(c->notices, c->notices_n, &c->notices_cap, 16,
	    sizeof(*c->notices));
	n = &c->notices[c->notices_n++];
	*n = (struct notice){ .authorization = copy_field(c, r,
	    "authorization") };
	(void)web_param(r, "version", &version);
	n->version = arena_copy(&c->arena, version);
	if (json_body_read(web_body(r), "the body", &doc, NULL) == OK) {
		conformance_keep(c, doc);
		n->body = yyjson_doc_get_root(doc);
	}
	return n;
}

static void
answer_status(struct web_request *r, struct str callback, uint64_t code)
{
	FREED(buf_free) struct buf payload = BUF_INIT;
	FREED(buf_free) struct buf b = BUF_INIT;

	json_object(&payload, NULL);
	if (callback.n > 0)
		json_str(&payload, "callback", callback);
	json_object(&payload, "status");
	json_u64(&payload, "code", code);
	json_str(&payload, "message", STR(""));
	buf_put_text(&payload, "}}");
	envelope_put_success(&b, buf_str(&payload));
	web_answer(r, 200, ENVELOPE_TYPE, buf_str(&b));
}

static void
take_task(struct web_request *r)
{
	struct notice *n = add_notice(r);

	n->is_task = true;
	n->fid = json_text(yyjson_obj_get(n->body, "fid"));
	answer_status(r, arena_printf(web_arena(r), "/task/%.*s",
	    (int)n->fid.n, n->fid.p == NULL ? "" : n->fid.p), 0);
}

static void
take_patch(struct web_request *r)
{
	struct conformance *c = web_arg(r);
	struct notice *n = add_notice(r);
	struct str fid = STR("");

	(void)web_segment(r, 2, &fid);
	n->fid = arena_copy(&c->arena, fid);
	answer_status(r, STR(""), yyjson_get_uint(yyjson_obj_get(n->body,
	    "code")));
}

enum err
played_crawler_open(struct conformance *c, struct why *w)
{
	static const struct port_row rows[] = {
		{ "POST", "/crawler/task", take_task },
		{ "PATCH", "/crawler/task/*", take_patch },
		{ "POST", "/", port_refuse },
		{ "PATCH", "/", port_refuse },
	};

	return port_open(c, rows, ARRAY_LEN(rows), w);
}
