/*
 * peer -- calls to the crawler or the back end that is judged, one after the
 * other.
 */
#include "base/json_writer.h"
#include "cli/conformance/own.h"
#include "cli/simulator/envelope.h"
#include "cli/simulator/json_body.h"

struct pending_call {
	struct conformance *of;
	struct peer_answer answer;
	bool done;
};

/* The cookies of an answer, without their attributes. */
static struct str
read_cookies(struct conformance *c, const struct http_head *head)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct str value;
	size_t at = 0;

	while (http_next(head, STR("Set-Cookie"), &at, &value)) {
		if (b.n > 0)
			buf_put_text(&b, "; ");
		buf_put_str(&b, str_trim(str_cut(value, 0,
		    str_find_char(value, ';'))));
	}
	return arena_copy(&c->arena, buf_str(&b));
}

static void
answered(void *arg, const struct crawler_answer *a)
{
	struct pending_call *p = arg;
	struct conformance *c = p->of;
	struct peer_answer *out = &p->answer;
	yyjson_doc *doc = NULL;

	p->done = true;
	out->status = a->status;
	if (a->status == 0) {
		out->error = arena_copy(&c->arena, str_of(a->error)).p;
		return;
	}
	out->body = arena_copy(&c->arena, a->body);
	out->type = arena_copy(&c->arena, http_find(a->head,
	    STR("Content-Type")));
	out->location = arena_copy(&c->arena, http_find(a->head,
	    STR("Location")));
	out->cookies = read_cookies(c, a->head);
	if (json_body_read(out->body, "the answer", &doc, NULL) == OK) {
		conformance_keep(c, doc);
		out->json = yyjson_doc_get_root(doc);
	}
}

/* The fields of the request that are not the call's own. */
static yyjson_doc *
make_headers(struct conformance *c, const struct peer_order *o)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct str token = o->token.p == NULL ? c->options->token : o->token;

	json_object(&b, NULL);
	if (token.n > 0 && !o->anonymous)
		json_str(&b, "Authorization", arena_printf(&c->arena,
		    "Bearer %.*s", STR_FMT(token)));
	if (o->cookie.n > 0)
		json_str(&b, "Cookie", o->cookie);
	if (o->referer.n > 0)
		json_str(&b, "Referer", o->referer);
	if (o->coding != NULL)
		json_str(&b, "Content-Encoding", str_of(o->coding));
	buf_put_char(&b, '}');
	return yyjson_read(b.p, b.n, 0);
}

struct peer_answer
peer_call(struct conformance *c, const struct peer_order *o)
{
	struct pending_call p = { .of = c };
	struct why w = WHY_INIT;
	struct url url;
	yyjson_doc *headers = make_headers(c, o);
	struct crawler_order order = { .method = o->method, .url = &url,
	    .headers = yyjson_doc_get_root(headers), .key = o->key,
	    .type = o->type == NULL && o->body.n > 0 ? ENVELOPE_TYPE :
	    o->type, .body = o->body, .done = answered, .arg = &p };

	if (crawler_read_url(o->url, "the URL", &c->arena, &url, &w) != OK ||
	    crawler_call_start(c->calls, &order, &w) != OK)
		p.answer.error = arena_copy(&c->arena, str_of(w.text)).p;
	else
		loop_run_until(c->loop, &p.done);
	yyjson_doc_free(headers);
	return p.answer;
}

struct str
peer_url(struct conformance *c, const char *path, struct str query)
{
	struct str base = c->peer.path;

	while (str_ends(base, STR("/")))
		base.n--;
	return arena_printf(&c->arena, "%.*s%.*s%s%s%.*s",
	    STR_FMT(url_origin(&c->peer, &c->arena)), STR_FMT(base), path,
	    query.n > 0 ? "?" : "", (int)query.n,
	    query.p == NULL ? "" : query.p);
}

/* ---- Verdicts ------------------------------------------------------- */

const char *
peer_status_text(struct conformance *c, const struct peer_answer *a,
    const char *wanted)
{
	struct str said = json_text(yyjson_arr_get_first(yyjson_obj_get(
	    a->json, "messages")));

	if (a->status == 0)
		return arena_printf(&c->arena, "there is no answer: %s",
		    a->error).p;
	return arena_printf(&c->arena, "the answer is %d, not %s%s%.*s",
	    a->status, wanted, said.n > 0 ? ": " : "",
	    (int)MIN(said.n, 120), said.p == NULL ? "" : said.p).p;
}

bool
peer_is_success(const struct peer_answer *a)
{
	return a->status >= 200 && a->status < 300 &&
	    yyjson_is_true(yyjson_obj_get(a->json, "success"));
}

void
peer_judge_refusal(struct conformance *c, enum check_id id,
    const struct peer_answer *a, int status)
{
	yyjson_val *messages = yyjson_obj_get(a->json, "messages");
	char wanted[12];

	snprintf(wanted, sizeof(wanted), "%d", status);
	if (verdict_judge(c->verdicts, id, a->status == status, "%s",
	    peer_status_text(c, a, wanted)))
		verdict_judge(c->verdicts, id, yyjson_is_false(yyjson_obj_get(
		    a->json, "success")) && yyjson_arr_size(messages) > 0 &&
		    yyjson_is_str(yyjson_arr_get_first(messages)),
		    "the answer %d has no envelope with messages", status);
}
