/*
 * crawler_tasks -- tasks of the crawler that is judged: how they start, how
 * they are awaited, and how they are stopped.
 */
#include "base/json_writer.h"
#include "cli/conformance/own.h"
#include "cli/simulator/relational.h"
#include "os/clock.h"

static uint64_t
object_version(const struct conformance *c)
{
	yyjson_val *v = member_at(c->options->object, "meta.version");

	return yyjson_is_uint(v) ? yyjson_get_uint(v) : 1;
}

static struct str
version_query(struct conformance *c)
{
	return arena_printf(&c->arena, "version=%llu",
	    (unsigned long long)object_version(c));
}

static void
put_value(struct buf *b, const char *name, yyjson_val *v)
{
	size_t n;
	char *text = yyjson_val_write(v, 0, &n);

	CHECK(text != NULL);
	json_raw(b, name, (struct str){ text, n });
	free(text);
}

static struct str
task_body(struct conformance *c, const struct task_trace *t,
    const char *more)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	yyjson_doc *usual, *changes, *merged;
	struct str body;
	char *text;
	size_t n;

	json_object(&b, NULL);
	json_str(&b, "fid", t->fid);
	if (c->options->params != NULL)
		put_value(&b, "params", c->options->params);
	else
		json_raw(&b, "params", STR("{}"));
	if (c->options->credential != NULL)
		put_value(&b, "credential", c->options->credential);
	json_str(&b, "endpoint", t->endpoint);
	buf_put_char(&b, '}');
	if (more == NULL)
		return arena_copy(&c->arena, buf_str(&b));
	/* A null removes a member (RFC 7396). */
	usual = yyjson_read(b.p, b.n, 0);
	changes = yyjson_read(more, strlen(more), 0);
	merged = relational_merge(yyjson_doc_get_root(usual),
	    yyjson_doc_get_root(changes));
	text = yyjson_write(merged, 0, &n);
	CHECK(text != NULL);
	body = arena_copy(&c->arena, (struct str){ text, n });
	free(text);
	yyjson_doc_free(usual);
	yyjson_doc_free(changes);
	yyjson_doc_free(merged);
	return body;
}

struct peer_answer
crawler_task_send(struct conformance *c, struct task_trace *t, const char *more)
{
	struct peer_order o = { .method = "POST", .url = peer_url(c, "/task",
	    version_query(c)), .body = task_body(c, t, more) };

	return peer_call(c, &o);
}

bool
crawler_callback_is_fine(struct conformance *c, struct str callback)
{
	struct url url;

	return str_starts(callback, STR("/")) || (crawler_read_url(callback,
	    "callback", &c->arena, &url, NULL) == OK && str_eq(url_origin(
	    &url, &c->arena), url_origin(&c->peer, &c->arena)));
}

/* A foreign callback is never called: it would learn the token. */
bool
crawler_task_start(struct conformance *c, struct task_trace *t)
{
	struct peer_answer a = crawler_task_send(c, t, NULL);

	t->callback = json_text(member_at(a.json, "payload.callback"));
	return peer_is_success(&a) && crawler_callback_is_fine(c,
	    t->callback);
}

/* ---- The end of tasks ----------------------------------------------- */

struct task_set {
	struct task_trace *const *of;
	size_t n;
};

static bool
all_closed(void *arg)
{
	const struct task_set *s = arg;

	for (size_t i = 0; i < s->n; i++)
		if (s->of[i]->closed == 0)
			return false;
	return true;
}

void
crawler_tasks_wait(struct conformance *c, struct task_trace *const *tasks,
    size_t n)
{
	struct task_set s = { tasks, n };

	(void)conformance_wait(c, all_closed, &s, c->options->wait_s * 1000);
}

/* ---- Status changes ------------------------------------------------- */

/* A callback is absolute, or begins with "/" and follows the crawler's URL
 * (external.md §10). */
static struct str
callback_url(struct conformance *c, const struct task_trace *t)
{
	const char *callback = arena_copy(&c->arena, t->callback).p;
	struct str query = version_query(c);

	if (t->callback.n > 0 && callback[0] == '/')
		return peer_url(c, callback, query);
	return arena_printf(&c->arena, "%s%s%.*s", callback,
	    strchr(callback, '?') == NULL ? "?" : "&", STR_FMT(query));
}

struct peer_answer
crawler_task_patch(struct conformance *c, const struct task_trace *t,
    bool at_callback, const char *body)
{
	struct str path = arena_printf(&c->arena, "/task/%.*s/status",
	    STR_FMT(t->fid));
	struct peer_order o = { .method = "PATCH", .url = at_callback ?
	    callback_url(c, t) : peer_url(c, path.p, version_query(c)),
	    .body = str_of(body) };

	return peer_call(c, &o);
}
