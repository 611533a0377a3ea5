/*
 * Commands about exports, and their files.
 *
 *     order ─► JSON ─► engine/exporting ─► the store's thread ─► answer
 *
 * They need scopes of the door harvest, besides that which lets a client in.
 */
#include "doors/realtime/own.h"

#include <stdlib.h>

#include "engine/exporting/exporting.h"

#define SIZE_DEFAULT 100u

struct asking {
	struct exporting_request request;
	struct buf message;
};

/* One row, or the answer is an error. */
static void
got_one(struct exporting_request *r)
{
	struct task *t = r->arg;
	const struct store_export *x = r->list;
	const struct exporting_summary *s = r->summaries;

	buf_free(&CONTAINER(r, struct asking, request)->message);
	if (!task_back(t, &r->why, &r->arena, CODE_UNKNOWN_EXPORT))
		return;
	exporting_put_json(t->door->host->exporting, x, s, task_data(t));
	task_answer(t);
}

static struct asking *
begin_asking(struct task *t, void (*done)(struct exporting_request *))
{
	struct asking *a = task_ask(t, sizeof(*a));

	a->request = (struct exporting_request){ .id = t->command.id_arg,
	    .done = done, .arg = t };
	return a;
}

void
verb_export_start(struct task *t)
{
	size_t n;

	char *text = yyjson_val_write(t->command.export_order, 0, &n);
	CHECK(text != NULL);
	struct asking *a = begin_asking(t, got_one);
	buf_put(&a->message, text, n);
	free(text);
	a->request.message = buf_str(&a->message);
	exporting_begin(t->door->host->exporting, &a->request);
}

void
verb_export_get(struct task *t)
{
	exporting_get(t->door->host->exporting, &begin_asking(t, got_one)
	    ->request);
}

void
verb_export_cancel(struct task *t)
{
	exporting_cancel(t->door->host->exporting, &begin_asking(t, got_one)
	    ->request);
}

/* Without their orders and results, which may be long. */
static void
got_list(struct exporting_request *r)
{
	struct task *t = r->arg;
	const struct store_export *list = r->list;
	const struct exporting_summary *summaries = r->summaries;
	uint64_t total = r->total;
	size_t n = r->n;

	if (!task_back(t, &r->why, &r->arena, CODE_UNKNOWN_EXPORT))
		return;
	struct buf *b = task_data(t);
	json_u64(b, "total", total);
	json_array(b, "exports");
	for (size_t i = 0; i < n && b->n < REALTIME_ANSWER_BYTES_MAX; i++) {
		json_object(b, NULL);
		exporting_put_json(t->door->host->exporting, &list[i],
		    &summaries[i], b);
		buf_put_char(b, '}');
	}
	buf_put_char(b, ']');
	task_answer(t);
}

void
verb_export_list(struct task *t)
{
	const struct command *c = &t->command;
	struct asking *a = begin_asking(t, got_list);

	a->request.start = c->start;
	a->request.size = command_has(c, ARG_BIT(SIZE)) ? c->size :
	    SIZE_DEFAULT;
	exporting_list(t->door->host->exporting, &a->request);
}

void
verb_export_types(struct task *t)
{
	exporting_put_types(task_data(t));
	task_answer(t);
}

/* ---- /exports/ID/FILE ------------------------------------------------ */

struct download {
	struct realtime *door;
	struct web_request *request;
	struct exporting_request asked;
	struct arena arena;
	struct str id, name;
};

static const char *
type_of(struct str name)
{
	static const struct {
		const char *end, *type;
	} types[] = {
		{ ".csv", "text/csv; charset=utf-8" },
		{ ".tsv", "text/tab-separated-values; charset=utf-8" },
		{ ".json", "application/x-ndjson" },
		{ ".html", "text/html; charset=utf-8" },
		{ ".xlsx", "application/vnd.openxmlformats-officedocument."
		    "spreadsheetml.sheet" },
	};

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (str_ends(name, str_of(types[i].end)))
			return types[i].type;
	return "text/plain; charset=utf-8";
}

static void
got_export(struct exporting_request *r)
{
	struct download *x = r->arg;
	struct realtime *d = x->door;
	const char *path;

	if (r->why.err != OK && r->why.err != ERR_ABSENT)
		web_fail_why(x->request, r->why.err, &r->why);
	else if (r->why.err == OK && exporting_find_file(d->host->exporting,
	    r->list, x->name, &x->arena, &path))
		web_answer_file(x->request, path, type_of(x->name), x->name);
	else
		web_fail(x->request, 404, "unknown_export", "There is no such "
		    "file of an export that has ended.");
	arena_free(&r->arena);
	arena_free(&x->arena);
	mem_free(&x);
	drain_gate_leave(&d->asked);
}

void
exports_get_file(struct web_request *r)
{
	struct download *x = mem_new(sizeof(*x));
	struct str part = STR("");

	x->door = web_arg(r);
	x->request = r;
	(void)web_segment(r, 1, &part);
	x->id = arena_copy(&x->arena, part);
	(void)web_segment(r, 2, &part);
	x->name = arena_copy(&x->arena, part);
	x->asked = (struct exporting_request){ .id = x->id,
	    .done = got_export, .arg = x };
	drain_gate_enter(&x->door->asked);
	exporting_get(x->door->host->exporting, &x->asked);
}
