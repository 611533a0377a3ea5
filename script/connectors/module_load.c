#include "script/connectors/module_load.h"

#include "script/items/config_run.h"
#include "script/items/source.h"

struct loading {
	struct config_run run;
	bool is_done;
};

static void
members_read(struct config_run *c)
{
	CONTAINER(c, struct loading, run)->is_done = true;
}

/* On a loop and by processes of its own: the caller's may not run yet. */
static enum err
read_members(struct script_bundle *b, const struct conf *conf, struct buf *out,
    struct why *w)
{
	struct script_host_options o = script_host_options_of(conf);
	struct loading l = { .run.bundle = b, .run.done = members_read,
		.run.limits = script_limits_of(conf) };
	struct script_host *host;
	struct loop *loop = loop_new("module");

	o.processes_max = 1;
	l.run.limits.cpu_ms_max = MIN(l.run.limits.cpu_ms_max,
	    (int64_t)MODULE_CPU_MS);
	l.run.limits.wall_ms_max = MIN(l.run.limits.wall_ms_max,
	    (int64_t)MODULE_WALL_MS);
	enum err e = script_host_open(loop, &o, &host, w);
	if (e == OK) {
		config_run_start(host, &l.run);
		loop_run_until(loop, &l.is_done);
		e = l.run.why.err;
		if (e != OK)
			(void)why(w, e, "%s", l.run.why.text);
		buf_put_str(out, buf_str(&l.run.json));
		config_run_free(&l.run);
		script_host_close(&host);
	}
	loop_free(&loop);
	return e;
}

enum err
module_load(const char *path, const struct conf *conf,
    struct script_bundle **bundle, struct external_connector **connector,
    struct why *w)
{
	FREED(buf_free) struct buf members = BUF_INIT;

	*connector = NULL;
	enum err e = source_load(path, conf_size(conf,
	    CONF_SCRIPT_BUNDLE_BYTES_MAX), bundle, w);
	if (e == OK)
		e = read_members(*bundle, conf, &members, w);
	if (e == OK)
		e = external_connector_load_module(buf_str(&members), path,
		    connector, w);
	if (e != OK && *bundle != NULL)
		bundle_drop(bundle);
	return e;
}
