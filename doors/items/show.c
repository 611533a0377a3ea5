/*
 * What is only read: items, their metadata and operations, blobs, runs, tags,
 * worklists, tasks, failures, the configuration.
 */
#include "doors/items/handlers.h"

#include "base/text.h"
#include "doors/items/input.h"
#include "doors/items/list.h"
#include "os/clock.h"
#include "wire/digest.h"

/* What a question is about; each uses what it needs. */
struct question {
	struct str id, task, name, value;
	const struct str *tasks;
	size_t tasks_n;
	const char *word;
	struct item_list list;
	int handled;
	uint64_t number;
	struct buf type;
	struct digest digest;
};

static struct question *
question_of(struct exchange *x)
{
	return x->in = ARENA_NEW(&x->arena, struct question);
}

/* Whether the path says "tasks" where it might say "operations". */
static bool
says_tasks(struct exchange *x, size_t segment)
{
	struct str s;

	return web_segment(x->request, segment, &s) && str_eq(s, STR("tasks"));
}

/* -- One item -- */

static enum err
look_item(struct exchange *x, struct item_store *st, struct why *w)
{
	const struct question *q = x->in;

	return item_query_get(st, q->id, &x->out, &x->rev, w);
}

void
show_item(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct question *q = question_of(in.x);

	q->id = input_id(&in, 1, "id");
	if (input_end(&in))
		exchange_read(in.x, look_item);
}

static enum err
look_metadata(struct exchange *x, struct item_store *st, struct why *w)
{
	const struct question *q = x->in;

	return item_query_metadata(st, q->id, q->tasks, q->tasks_n,
	    clock_wall(), &x->out, w);
}

void
show_metadata(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct question *q = question_of(in.x);

	q->id = input_id(&in, 1, "id");
	q->tasks = input_words(&in, "operations", "tasks", &q->tasks_n);
	if (input_end(&in))
		exchange_read(in.x, look_metadata);
}

static enum err
look_operations(struct exchange *x, struct item_store *st, struct why *w)
{
	const struct question *q = x->in;

	return item_query_operations(st, q->id, q->word, clock_wall(),
	    &x->out, w);
}

void
show_operations(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct question *q = question_of(in.x);

	q->id = input_id(&in, 1, "id");
	q->word = says_tasks(in.x, 2) ? "tasks" : "operations";
	if (input_end(&in))
		list_answer(in.x, look_operations);
}

static enum err
look_runs(struct exchange *x, struct item_store *st, struct why *w)
{
	const struct question *q = x->in;

	return item_query_runs(st, q->id, q->task, &x->out, w);
}

void
show_runs(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct question *q = question_of(in.x);

	q->id = input_id(&in, 1, "id");
	q->task = input_name(&in, 3, "task");
	if (input_end(&in))
		list_answer(in.x, look_runs);
}

static enum err
look_run(struct exchange *x, struct item_store *st, struct why *w)
{
	const struct question *q = x->in;

	return item_query_run(st, q->name, &x->out, w);
}

void
show_run(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct question *q = question_of(in.x);

	q->name = input_name(&in, 1, "run");
	if (input_end(&in))
		exchange_read(in.x, look_run);
}

/* -- Blobs -- */

static enum err
look_blobs(struct exchange *x, struct item_store *st, struct why *w)
{
	const struct question *q = x->in;

	return item_query_blobs(st, q->id, &x->out, w);
}

void
show_blobs(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct question *q = question_of(in.x);

	q->id = input_id(&in, 1, "id");
	if (input_end(&in))
		list_answer(in.x, look_blobs);
}

static enum err
look_blob(struct exchange *x, struct item_store *st, struct why *w)
{
	struct question *q = x->in;

	enum err e = item_query_blob(st, q->id, q->name, &x->out, &q->type, w);
	if (e == OK)
		digest_of(DIGEST_SHA256, buf_str(&x->out), &q->digest);
	if (e == OK)
		q->value = arena_copy(&x->arena, buf_str(&q->type));
	buf_free(&q->type);
	return e;
}

/* Its name for a file: what is no letter, digit, dot or dash is "_". */
static const char *
file_name(struct exchange *x, struct str name)
{
	struct str s = arena_copy(&x->arena, str_cut(name, 0, 100));
	char *p = (char *)(uintptr_t)s.p;

	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_alpha(p[i]) && !ascii_is_digit(p[i]) &&
		    (p[i] != '.' || i == 0) && p[i] != '-')
			p[i] = '_';
	return p;
}

/* Bytes of strangers: a browser saves them and runs nothing of them. */
static void
send_blob(struct exchange *x)
{
	const struct question *q = x->in;
	FREED(buf_free) struct buf hex = BUF_INIT;

	digest_put_hex(&hex, q->digest.bytes, sizeof(q->digest.bytes));
	web_add_field(x->request, "etag", arena_printf(&x->arena, "\"%s\"",
	    buf_text(&hex)).p);
	web_add_field(x->request, "content-disposition", arena_printf(
	    &x->arena, "attachment; filename=\"%s\"", file_name(x, q->name)).p);
	web_add_field(x->request, "content-security-policy",
	    "default-src 'none'; sandbox; frame-ancestors 'none'");
	/* A worker may have stored any text as its type. */
	bool typed = q->value.n > 0 && text_is_field_value(q->value);
	web_answer(x->request, 200, typed ? q->value.p :
	    "application/octet-stream", buf_str(&x->out));
	exchange_free(&x);
}

void
show_blob(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct question *q = question_of(in.x);

	q->id = input_id(&in, 1, "id");
	q->name = input_name(&in, 3, "name");
	in.x->then = send_blob;
	if (input_end(&in))
		exchange_read(in.x, look_blob);
}

/* -- Lists -- */

static enum err
look_items(struct exchange *x, struct item_store *st, struct why *w)
{
	const struct question *q = x->in;
	struct item_list list = q->list;
	FREED(buf_free) struct buf next = BUF_INIT;

	list.after = x->after;
	list.limit = x->limit;
	return item_query_list(st, &list, &x->out, &next, w);
}

void
show_items(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct question *q = question_of(in.x);
	struct item_list *l = &q->list;

	input_page(&in);
	l->tag = input_param(&in, "tag");
	l->value = input_param(&in, "value");
	l->prefix = input_param(&in, "prefix");
	l->metadata = input_words(&in, "metadata", NULL, &l->metadata_n);
	l->updated_since = ITEM_TIME_NONE;
	struct str since = input_param(&in, "updated_since");
	if (since.p != NULL && !wall_from_iso(since, &l->updated_since))
		input_fault(&in, ERR_INPUT, "updated_since",
		    "it is no time such as 2026-11-20T07:00:00Z");
	if (l->value.p != NULL && l->tag.p == NULL)
		input_fault(&in, ERR_INPUT, "value",
		    "it is that of a tag, which is missing");
	if (input_end(&in))
		list_answer(in.x, look_items);
}

static enum err
look_tags(struct exchange *x, struct item_store *st, struct why *w)
{
	return item_query_tags(st, x->after, x->limit, &x->out, w);
}

void
show_tags(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));

	input_page(&in);
	if (input_end(&in))
		list_answer(in.x, look_tags);
}

static enum err
look_worklist(struct exchange *x, struct item_store *st, struct why *w)
{
	const struct question *q = x->in;

	return item_query_worklist(st, q->name, q->task, q->value, x->limit,
	    clock_wall(), &x->out, w);
}

void
show_worklist(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct question *q = question_of(in.x);

	q->name = input_name(&in, 1, "tag");
	q->task = input_either(&in, "task", "operation");
	q->value = input_param(&in, "value");
	in.x->limit = (unsigned)input_number(&in, "limit", 10, 1,
	    ITEM_LIST_MAX);
	if (input_end(&in))
		list_answer(in.x, look_worklist);
}

/* -- Tasks and failures -- */

static enum err
look_tasks(struct exchange *x, struct item_store *st, struct why *w)
{
	const struct question *q = x->in;
	FREED(buf_free) struct buf b = BUF_INIT;

	enum err e = item_query_tasks(st, STR(""), clock_wall(), &b, w);
	struct str all = buf_str(&b);
	if (e == OK && q->word != NULL && str_starts(all, STR("{\"tasks\":"))) {
		buf_printf(&x->out, "{\"%s\":", q->word);
		all = str_from(all, 9);
	}
	buf_put_str(&x->out, all);
	return e;
}

void
show_tasks(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct question *q = question_of(in.x);

	q->word = says_tasks(in.x, 0) ? NULL : "operations";
	if (input_end(&in))
		list_answer(in.x, look_tasks);
}

static enum err
look_task(struct exchange *x, struct item_store *st, struct why *w)
{
	const struct question *q = x->in;

	return item_query_tasks(st, q->task, clock_wall(), &x->out, w);
}

void
show_task(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct question *q = question_of(in.x);

	q->task = input_name(&in, 1, "task");
	if (input_end(&in))
		exchange_read(in.x, look_task);
}

static enum err
look_failures(struct exchange *x, struct item_store *st, struct why *w)
{
	const struct question *q = x->in;

	return item_query_failures(st, q->task, q->handled, x->after,
	    x->limit, &x->out, w);
}

static enum err
look_groups(struct exchange *x, struct item_store *st, struct why *w)
{
	const struct question *q = x->in;

	return item_query_failure_groups(st, q->task, &x->out, w);
}

void
show_failures(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct question *q = question_of(in.x);

	q->task = input_name(&in, 1, "task");
	q->handled = input_choice(&in, "handled");
	input_page(&in);
	struct str group = input_param(&in, "group");
	if (group.p != NULL && !str_eq(group, STR("message")))
		input_fault(&in, ERR_INPUT, "group",
		    "\"message\" is expected");
	if (input_end(&in))
		list_answer(in.x, group.p != NULL ? look_groups :
		    look_failures);
}

static enum err
look_failure(struct exchange *x, struct item_store *st, struct why *w)
{
	const struct question *q = x->in;

	return item_query_failure(st, q->number, &x->out, w);
}

void
show_failure(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct question *q = question_of(in.x);

	struct str id = input_name(&in, 1, "id");
	if (!str_to_u64(id, &q->number))
		input_fault(&in, ERR_INPUT, "id", "it is no number");
	if (input_end(&in))
		exchange_read(in.x, look_failure);
}

/* -- The configuration -- */

static enum err
look_config(struct exchange *x, struct item_store *st, struct why *w)
{
	return item_query_config(st, &x->out, w);
}

void
show_config(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));

	if (input_end(&in))
		exchange_read(in.x, look_config);
}

static enum err
look_config_file(struct exchange *x, struct item_store *st, struct why *w)
{
	const struct question *q = x->in;

	return item_query_config_file(st, q->name, &x->out, w);
}

static void
send_source(struct exchange *x)
{
	web_answer(x->request, 200, "text/plain; charset=utf-8",
	    buf_str(&x->out));
	exchange_free(&x);
}

void
show_config_file(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct question *q = question_of(in.x);

	q->name = web_rest(r);
	if (q->name.n == 0)
		input_fault(&in, ERR_INPUT, "path", "it is empty");
	in.x->then = send_source;
	if (input_end(&in))
		exchange_read(in.x, look_config_file);
}
