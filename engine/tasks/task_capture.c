#include "engine/tasks/task_capture.h"

static struct str
take_secrets_out(struct task_capture *t, struct str s, struct buf *room)
{
	FREED(buf_free) struct buf names = BUF_INIT;
	const struct redactor *r = secrets_redactor(t->secrets);

	buf_clear(room);
	return redact_has_values(r) && redact_text(r, s, room, &names) ?
	    buf_str(room) : s;
}

static void
take_fields(struct task_capture *t, const struct http_head *head)
{
	FREED(buf_free) struct buf room = BUF_INIT;
	struct http_field *fields = ARENA_ARRAY(&t->arena, struct http_field,
	    head->fields_n);

	for (size_t i = 0; i < head->fields_n; i++) {
		fields[i].name = arena_copy(&t->arena, head->fields[i].name);
		fields[i].value = arena_copy(&t->arena, take_secrets_out(t,
		    head->fields[i].value, &room));
	}
	t->fields = fields;
	t->fields_n = head->fields_n;
}

static void
read_done(struct capture_query *q)
{
	struct task_capture *t = CONTAINER(q, struct task_capture, query);
	struct http_head head;

	t->found = q->why.err == OK && q->hops_n > 0 && http_parse_head(
	    q->hops[0].response, false, HTTP_LIMITS_DEFAULT, &t->arena, &head,
	    NULL) == OK;
	if (t->found) {
		t->status = q->entry.status;
		take_fields(t, &head);
		t->content = take_secrets_out(t, q->body_bytes, &t->redacted);
	}
	t->done(t);
}

void
task_capture_start(struct task_fetcher *f, struct secrets *s,
    struct task_capture *t)
{
	struct engine *e = task_fetcher_engine(f);

	t->secrets = secrets_hold(s);
	t->query = (struct capture_query){ .crawl = t->crawl,
	    .number = t->number, .body = true, .answer_only = true,
	    .body_bytes_max = SIZE_MAX, .done = read_done };
	catalog_capture(engine_catalog(e), &t->query);
}

void
task_capture_free(struct task_capture *t)
{
	secrets_drop(&t->secrets);
	arena_free(&t->query.arena);
	buf_free(&t->redacted);
	arena_free(&t->arena);
}

struct str
task_capture_url(struct str url, struct arena *a)
{
	struct url parsed, canonical;

	if (url_parse(url, NULL, a, &parsed, NULL) != OK ||
	    url_canonical(&parsed, NULL, 0, a, &canonical, NULL) != OK)
		return arena_copy(a, url);
	return canonical.href;
}
