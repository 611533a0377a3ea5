#include "script/items/config_run.h"

#include "base/json.h"

/*
 * Put {"$function":true} where the module has a function; objects on the way
 * that have nothing else are made.
 */
static bool
put_function(yyjson_mut_doc *doc, yyjson_val *path)
{
	yyjson_mut_val *at = yyjson_mut_doc_get_root(doc);
	size_t i, n;
	yyjson_val *key;

	yyjson_arr_foreach(path, i, n, key) {
		struct str name = json_text(key);
		yyjson_mut_val *next = yyjson_mut_obj_getn(at, name.p, name.n);
		if (next == NULL) {
			next = yyjson_mut_obj(doc);
			if (!yyjson_mut_is_obj(at) || name.p == NULL ||
			    !yyjson_mut_obj_add(at, yyjson_mut_strncpy(doc,
			    name.p, name.n), next))
				return false;
		}
		at = next;
	}
	return yyjson_mut_obj_add_bool(doc, at, "$function", true);
}

/* False: what the process said is no configuration. */
static bool
make_json(const struct script_outcome *o, struct buf *out)
{
	yyjson_doc *config = yyjson_read(o->config.p, o->config.n, 0);
	yyjson_doc *functions = yyjson_read(o->functions.p, o->functions.n, 0);
	yyjson_mut_doc *doc = yyjson_doc_mut_copy(config, NULL);
	bool good = doc != NULL && functions != NULL;
	size_t i, n, length = 0;
	yyjson_val *path;

	yyjson_arr_foreach(yyjson_doc_get_root(functions), i, n, path)
		good = good && put_function(doc, path);
	char *text = good ? yyjson_mut_write(doc, 0, &length) : NULL;
	if (text != NULL)
		buf_put(out, text, length);
	free(text);
	yyjson_mut_doc_free(doc);
	yyjson_doc_free(functions);
	yyjson_doc_free(config);
	return text != NULL;
}

struct str
config_run_place(const struct script_outcome *o)
{
	struct str rest = o->stack, line = STR_NONE;

	(void)str_split(&rest, '\n', &line);
	return str_trim(line);
}

static void
config_done(struct script_run *run, const struct script_outcome *o)
{
	struct config_run *c = CONTAINER(run, struct config_run, run);
	struct str place = config_run_place(o);

	/* A process that was lost says nothing about the module. */
	enum err e = str_eq(o->class, STR("transient")) ? ERR_UNREACHED :
	    ERR_INPUT;
	if (!o->is_success)
		why(&c->why, e, "%s: %.*s%s%.*s",
		    bundle_main(c->bundle), STR_FMT(o->message),
		    place.n > 0 ? ", " : "", STR_FMT(place));
	else if (!make_json(o, &c->json))
		why(&c->why, ERR_INPUT, "%s: its default export is no "
		    "configuration", bundle_main(c->bundle));
	script_run_finish(run);
	c->done(c);
}

/* A module that is being read can do nothing but compute. */
static void
config_call(struct script_run *run, struct script_call *call)
{
	(void)run;
	script_call_fail(call, STR("{\"class\":\"PermanentError\",\"code\":"
	    "\"denied\",\"message\":\"a configuration asks for nothing\"}"),
	    STR_NONE);
}

static void
call_cancelled(struct script_run *run, struct script_call *call)
{
	(void)run, (void)call;
}

static void
log_dropped(struct script_run *run, struct str category, struct str message)
{
	(void)run, (void)category, (void)message;
}

void
config_run_start(struct script_host *h, struct config_run *c)
{
	static const struct script_run_events events = {
		.on_call = config_call, .on_cancel = call_cancelled,
		.on_log = log_dropped, .on_done = config_done,
	};

	c->why = WHY_INIT;
	c->run = (struct script_run){ .bundle = c->bundle, .is_config = true,
	    .input = STR("{}"), .limits = c->limits, .events = &events };
	script_run_start(h, &c->run);
}

void
config_run_free(struct config_run *c)
{
	buf_free(&c->json);
}
