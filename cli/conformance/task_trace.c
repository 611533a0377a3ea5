#include "cli/conformance/task_trace.h"

#include "base/json.h"
#include "cli/simulator/json_body.h"

void
task_trace_free(struct task_trace **tp)
{
	struct task_trace *t = *tp;

	if (t == NULL)
		return;
	list_take(&t->node);
	fault_plan_free(&t->plan);
	mem_free(&t->arrivals);
	arena_free(&t->arena);
	mem_free(tp);
}

struct arrival *
task_trace_add(struct task_trace *t, enum fault_call call, struct mono now)
{
	struct arrival *a;

	t->arrivals = mem_room(t->arrivals, t->n, &t->cap, 16,
	    sizeof(*t->arrivals));
	a = &t->arrivals[t->n++];
	*a = (struct arrival){ .call = call, .number = ++t->calls[call],
	    .at = now };
	return a;
}

/* ---- The lines of an upload ----------------------------------------- */

static struct str
document_id(struct task_trace *t, yyjson_val *document, struct str field,
    struct str line)
{
	yyjson_val *v = field.n == 0 ? NULL : yyjson_obj_getn(document,
	    field.p, field.n);

	if (yyjson_is_str(v))
		return arena_copy(&t->arena, json_text(v));
	if (yyjson_is_uint(v))
		return arena_printf(&t->arena, "%llu",
		    (unsigned long long)yyjson_get_uint(v));
	if (yyjson_is_sint(v))
		return arena_printf(&t->arena, "%lld",
		    (long long)yyjson_get_sint(v));
	return line;
}

void
task_trace_read(struct task_trace *t, struct arrival *a,
    struct str id_field)
{
	struct ndjson reader = { .rest = a->body };
	struct why w = WHY_INIT;
	struct str line;
	yyjson_doc *doc = NULL;
	size_t cap = 0;
	enum err e;

	while ((e = ndjson_next(&reader, &doc, &line, &w)) == OK &&
	    doc != NULL) {
		a->ids = arena_grow(&t->arena, a->ids, a->documents, &cap, 16,
		    sizeof(*a->ids));
		a->ids[a->documents++] = document_id(t,
		    yyjson_doc_get_root(doc), id_field, line);
		yyjson_doc_free(doc);
	}
	if (e != OK)
		a->malformed = arena_copy(&t->arena, str_of(w.text)).p;
}

/* ---- What the arrivals say ------------------------------------------ */

const struct arrival *
task_trace_next(const struct task_trace *t, const struct arrival *a)
{
	for (a++; a < t->arrivals + t->n; a++)
		if (a->call == FAULT_UPLOAD)
			return a;
	return NULL;
}

const struct arrival *
task_trace_upload(const struct task_trace *t, uint64_t number)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->arrivals[i].call == FAULT_UPLOAD &&
		    t->arrivals[i].number == number)
			return &t->arrivals[i];
	return NULL;
}

static struct str
upload_key(const struct arrival *a)
{
	return a->key.n > 0 ? a->key : a->body;
}

struct str
task_trace_ids(struct task_trace *t, struct map *ids)
{
	struct map keys = MAP_INIT;
	struct str twice = STR_NONE;

	for (size_t i = 0; i < t->n; i++) {
		struct arrival *a = &t->arrivals[i];
		if (a->call != FAULT_UPLOAD || !a->accepted ||
		    map_put(&keys, upload_key(a), a) != NULL)
			continue;
		for (size_t k = 0; k < a->documents; k++)
			if (a->refused != k + 1 && map_put(ids, a->ids[k],
			    &a->ids[k]) != NULL && twice.p == NULL)
				twice = a->ids[k];
	}
	map_free(&keys);
	return twice;
}

bool
task_trace_is_whole(struct task_trace *t, struct task_trace *plain,
    struct str left_out, const char **reason)
{
	struct map wanted = MAP_INIT, ids = MAP_INIT;
	struct str twice = task_trace_ids(t, &ids), missing = STR_NONE;

	(void)task_trace_ids(plain, &wanted);
	MAP_EACH(id, &wanted, struct str)
		if (map_get(&ids, *id) == NULL && !str_eq(*id, left_out))
			missing = *id;
	*reason = missing.p != NULL ? arena_printf(&t->arena, "the document "
	    "%.*s did not arrive", (int)MIN(missing.n, 60), missing.p).p :
	    twice.p != NULL ? arena_printf(&t->arena, "the document %.*s "
	    "arrived twice", (int)MIN(twice.n, 60), twice.p).p :
	    t->closed != CODE_DONE ? arena_printf(&t->arena, "the task "
	    "ended with %d, not 200", t->closed).p : NULL;
	map_free(&wanted);
	map_free(&ids);
	return *reason == NULL;
}

static const struct arrival *
same_key_before(const struct task_trace *t, const struct arrival *a)
{
	for (const struct arrival *b = t->arrivals; b < a; b++)
		if (b->call == FAULT_UPLOAD && str_eq(b->key, a->key))
			return b;
	return NULL;
}

bool
task_trace_has_keys(const struct task_trace *t, const char **reason)
{
	const struct arrival *last = NULL;

	*reason = NULL;
	for (const struct arrival *a = task_trace_upload(t, 1);
	    a != NULL && *reason == NULL; a = task_trace_next(t, a)) {
		const struct arrival *first = same_key_before(t, a);
		if (a->key.n == 0)
			*reason = "an upload has no Idempotency-Key";
		else if (first != NULL && !str_eq(first->body, a->body))
			*reason = "two uploads have the same key";
		else if (first == NULL && last != NULL &&
		    str_eq(last->body, a->body))
			*reason = "a retry has another key";
		last = a;
	}
	return *reason == NULL;
}

bool
task_trace_repeats(const struct task_trace *t, uint64_t number)
{
	const struct arrival *a = task_trace_upload(t, number);
	const struct arrival *next = a == NULL ? NULL :
	    task_trace_next(t, a);

	return next == NULL || str_eq(next->body, a->body);
}

int64_t
task_trace_silence_ms(const struct task_trace *t)
{
	int64_t longest = 0;

	for (size_t i = 1; i < t->n; i++)
		longest = MAX(longest, mono_ns_between(t->arrivals[i - 1].at,
		    t->arrivals[i].at) / NS_PER_MS);
	return longest;
}
