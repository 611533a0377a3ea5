#include "script/items/simulation.h"

#include "base/json.h"
#include "base/json_writer.h"
#include "engine/items/trial.h"
#include "os/clock.h"
#include "script/items/runner_own.h"

static void
end_simulation(struct simulation *s)
{
	struct task_runner *r = s->runner;

	runner_config_drop(&s->config);
	if (s->bundle != NULL)
		bundle_drop(&s->bundle);
	buf_free(&s->input);
	buf_free(&s->mutations);
	buf_free(&s->head);
	yyjson_doc_free(s->doc);
	arena_free(&s->write.arena);
	r->simulations--;
	s->done(s);
	task_runner_settled(r);
}

/* -- What it would change -- */

static enum err
apply(struct items_write *w, struct item_tx *tx, struct why *why)
{
	struct simulation *s = CONTAINER(w, struct simulation, write);

	buf_clear(&s->mutations);
	enum err e = trial_apply(tx, s->task, s->item,
	    yyjson_doc_get_root(s->doc), &s->mutations, &s->fault, why);
	/* Nothing of it stays: an error undoes the request's changes. */
	return e == OK ? ERR_CLOSED : e;
}

/* {"ok":true,"mutations":[...],"fetches":[...],"log":[],...}; `head` has what
 * follows the mutations. */
static void
put_answer(struct simulation *s, bool ok)
{
	struct buf *b = &s->json;

	json_object(b, NULL);
	json_bool(b, "ok", ok);
	json_array(b, "mutations");
	buf_put_str(b, buf_str(&s->mutations));
	buf_put_char(b, ']');
	json_comma(b);
	buf_put_str(b, buf_str(&s->head));
	buf_put_char(b, '}');
}

static void
put_fault(struct simulation *s, const struct why *w)
{
	json_object(&s->head, "error");
	json_str(&s->head, "class", STR("permanent"));
	json_str(&s->head, "code", STR("mutation"));
	json_str(&s->head, "message", str_of(w->text));
	json_u64(&s->head, "op", s->fault);
	buf_put_char(&s->head, '}');
}

static void
applied(struct items_write *w)
{
	struct simulation *s = CONTAINER(w, struct simulation, write);
	bool ok = w->result == ERR_CLOSED && w->why.err == OK;

	if (ok)
		json_null(&s->head, "error");
	else
		put_fault(s, &w->why);
	put_answer(s, ok);
	end_simulation(s);
}

/* -- Its run -- */

static void
put_used(struct simulation *s, const struct script_outcome *o)
{
	const struct task_run *t = s->run;
	struct buf *b = &s->head;

	json_array(b, "fetches");
	buf_put_str(b, buf_str(&t->fetches));
	buf_put_char(b, ']');
	json_array(b, "log");
	buf_put_str(b, buf_str(&t->log));
	buf_put_char(b, ']');
	json_object(b, "used");
	json_u64(b, "cpu_ms", (uint64_t)(o->cpu_ns / NS_PER_MS));
	json_u64(b, "wall_ms", (uint64_t)(o->wall_ns / NS_PER_MS));
	json_u64(b, "memory_bytes", (uint64_t)o->heap_bytes);
	buf_put_char(b, '}');
}

static void
put_error(struct simulation *s, const struct script_outcome *o)
{
	struct buf *b = &s->head;

	json_object(b, "error");
	json_str(b, "class", o->class);
	json_str(b, "code", o->code);
	json_str(b, "message", o->message);
	json_str(b, "stack", o->stack);
	task_run_put_source(s->run, o->stack, b);
	buf_put_char(b, '}');
}

void
simulation_ran(struct simulation *s, const struct script_outcome *o)
{
	if (o == NULL) {
		why(&s->why, ERR_CLOSED, "the program stops");
		end_simulation(s);
		return;
	}
	put_used(s, o);
	if (!o->is_success) {
		put_error(s, o);
		put_answer(s, false);
		end_simulation(s);
		return;
	}
	s->doc = yyjson_read(o->mutations.p, o->mutations.n, 0);
	s->write.run = apply;
	s->write.done = applied;
	s->write.why = WHY_INIT;
	items_write(s->runner->o.items, &s->write);
}

static void
begin_run(struct simulation *s)
{
	yyjson_doc *doc = yyjson_read(s->input.p, s->input.n, 0);

	s->run = task_run_new(s->runner, s->config, yyjson_doc_get_root(doc));
	yyjson_doc_free(doc);
	CHECK(s->run != NULL);
	s->run->simulation = s;
	s->run->writer.full = true;
	s->run->user.may_login = false;
	s->run->run.bundle = s->bundle;
	script_run_start(s->runner->o.host, &s->run->run);
}

/* -- Its input -- */

static enum err
read_input(struct items_write *w, struct item_tx *tx, struct why *why)
{
	struct simulation *s = CONTAINER(w, struct simulation, write);

	buf_clear(&s->input);
	if (s->unknown != NULL)
		return why_field(why, ERR_INPUT, "files", "the configuration "
		    "has no file %.*s", STR_FMT(str_cut(s->unknown->path, 0,
		    200)));
	enum err e = trial_input(tx, s->task, s->item, s->seed, &s->input,
	    why);
	return e == OK ? ERR_CLOSED : e;
}

static void
input_read(struct items_write *w)
{
	struct simulation *s = CONTAINER(w, struct simulation, write);

	if (w->result == ERR_CLOSED && w->why.err == OK &&
	    !s->runner->stopped) {
		arena_reset(&w->arena);
		begin_run(s);
		return;
	}
	if (w->why.err == OK)
		why(&w->why, ERR_CLOSED, "the program stops");
	s->why = w->why;
	end_simulation(s);
}

/* The source that is tried for a file, or the configuration's. */
static struct str
source_of(const struct simulation *s, const struct script_bundle *from,
    size_t file)
{
	struct str path = bundle_path(from, file);

	if (s->module.p != NULL && str_eq(path, str_of(bundle_main(from))))
		return s->module;
	for (size_t i = 0; i < s->files_n; i++)
		if (str_eq(s->files[i].path, path))
			return s->files[i].source;
	return bundle_source(from, file);
}

/* The configuration's bundle with the sources that are tried. */
static void
make_bundle(struct simulation *s)
{
	struct script_bundle *from = s->config->bundle;
	size_t file;

	for (size_t i = 0; i < s->files_n && s->unknown == NULL; i++)
		if (!bundle_find(from, s->files[i].path, &file))
			s->unknown = &s->files[i];
	if (s->module.p == NULL && s->files_n == 0) {
		s->bundle = bundle_hold(from);
		return;
	}
	s->bundle = bundle_new(str_of(bundle_main(from)), SIZE_MAX / 2);
	for (size_t i = 0; i < bundle_files(from); i++)
		(void)!bundle_add(s->bundle, bundle_path(from, i),
		    source_of(s, from, i), NULL);
}

void
simulation_start(struct task_runner *r, struct simulation *s)
{
	s->runner = r;
	s->why = WHY_INIT;
	r->simulations++;
	clock_random(&s->seed, sizeof(s->seed));
	s->write.run = read_input;
	s->write.done = input_read;
	s->write.why = WHY_INIT;
	if (r->config != NULL) {
		s->config = runner_config_hold(r->config);
		make_bundle(s);
	}
	items_write(r->o.items, &s->write);
}
