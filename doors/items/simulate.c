/*
 * A task tried on an item (contracts/items.md §7, contracts/scripting.md §7).
 */
#include "doors/items/handlers.h"
#include "doors/items/input.h"
#include "script/items/simulation.h"
#include "script/items/task_service.h"

struct simulating {
	struct exchange *x;
	struct simulation simulation;
};

static void
simulated(struct simulation *s)
{
	struct simulating *m = CONTAINER(s, struct simulating, simulation);
	struct exchange *x = m->x;

	if (s->why.err != OK) {
		exchange_refuse(x, s->why.err, &s->why);
	} else {
		buf_put_str(&x->out, buf_str(&s->json));
		exchange_answer(x);
	}
	buf_free(&s->json);
	mem_free(&m);
}

/* {"parse.js":"SOURCE"} */
static void
read_files(struct input *in, struct simulation *s)
{
	yyjson_val *files = input_value(in, "files"), *path, *source;
	struct source_file *list;
	size_t at, n;

	if (in->e != OK || files == NULL || yyjson_is_null(files))
		return;
	if (!yyjson_is_obj(files)) {
		input_fault(in, ERR_INPUT, "files", "it is no object");
		return;
	}
	list = arena_take(&in->x->arena, yyjson_obj_size(files) *
	    sizeof(*list));
	yyjson_obj_foreach(files, at, n, path, source) {
		if (!yyjson_is_str(source)) {
			input_fault(in, ERR_INPUT, "files", "a source is no "
			    "text");
			return;
		}
		list[at] = (struct source_file){ json_text(path),
		    json_text(source) };
	}
	s->files = list;
	s->files_n = yyjson_obj_size(files);
}

void
tasks_simulate(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct items_door *d = in.x->door;
	struct simulation s = { .done = simulated };
	yyjson_val *module;

	s.item = input_id(&in, 1, "id");
	s.task = input_name(&in, 3, "task");
	input_json(&in);
	s.archived = input_bool(&in, "archived", false);
	module = input_value(&in, "module");
	if (module != NULL && !yyjson_is_null(module)) {
		if (!yyjson_is_str(module))
			input_fault(&in, ERR_INPUT, "module", "it is no text");
		s.module = json_text(module);
	}
	read_files(&in, &s);
	if (input_is_fine(&in) && (d->stopping ||
	    task_service_runner(d->service) == NULL))
		input_fault(&in, ERR_STATE, "task", "the configuration has no "
		    "tasks that run in this daemon");
	if (!input_end(&in))
		return;
	struct simulating *m = mem_new(sizeof(*m));
	m->x = in.x;
	m->simulation = s;
	simulation_start(task_service_runner(d->service), &m->simulation);
}
