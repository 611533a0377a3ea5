#include "doors/items/config_load.h"

#include "base/json_writer.h"
#include "base/text.h"
#include "doors/items/handlers.h"
#include "doors/items/input.h"
#include "doors/items/runner.h"
#include "os/file.h"
#include "os/log.h"
#include "script/items/config_run.h"
#include "script/items/source.h"
#include "wire/digest.h"

/* One loading, with a request that waits for it or without. */
struct loading {
	struct items_door *door;
	struct exchange *x;          /* NULL: nobody waits */
	struct items_read read;
	struct items_write write;
	const char *path;
	struct config_run module;    /* bundle NULL: the file is JSON */
	struct buf json, files, faults;
	uint64_t generation;
};

/* -- On the threads of items -- */

/* {"shop.json":"..."}: the sources, by their names in the folder. */
static void
put_files(struct loading *l)
{
	struct str name = str_of(l->path);

	for (size_t i = name.n; i > 0; i--)
		if (name.p[i - 1] == '/') {
			name = str_from(name, i);
			break;
		}
	buf_put_char(&l->files, '{');
	json_comma(&l->files);
	text_json(&l->files, name);
	buf_put_char(&l->files, ':');
	text_json(&l->files, buf_str(&l->json));
	buf_put_char(&l->files, '}');
}

static bool
is_module(const struct loading *l)
{
	return !str_ends(str_of(l->path), STR(".json"));
}

static enum err
read_files(struct items_read *r, struct item_store *st, struct why *w)
{
	struct loading *l = CONTAINER(r, struct loading, read);
	size_t most = (size_t)conf_size(l->door->host->conf,
	    CONF_SCRIPT_BUNDLE_BYTES_MAX);

	(void)st;
	if (is_module(l))
		return source_load(l->path, most, &l->module.bundle, w);
	enum err e = file_load(l->path, ITEMS_CONFIG_BYTES_MAX, &l->json, w);
	if (e == OK)
		put_files(l);
	return e;
}

/* JSON's: of its text.  A module's is that of the bundle. */
static void
put_hash(const struct loading *l, struct task_config *c)
{
	FREED(buf_free) struct buf hex = BUF_INIT;
	struct digest d;

	if (l->module.bundle != NULL) {
		c->hash = arena_copy(&c->arena, str_of(bundle_hash(
		    l->module.bundle)));
		return;
	}
	digest_of(DIGEST_SHA256, buf_str(&l->files), &d);
	digest_put_hex(&hex, d.bytes, sizeof(d.bytes));
	c->hash = arena_copy(&c->arena, buf_str(&hex));
}

static enum err
load(struct items_write *wr, struct item_tx *tx, struct why *w)
{
	struct loading *l = CONTAINER(wr, struct loading, write);
	struct task_config *c = NULL;

	enum err e = task_config_read(buf_str(&l->json),
	    item_store_limits(item_tx_store(tx)), &c, NULL, w);
	if (e != OK)
		return e;
	put_hash(l, c);
	return generation_load(tx, c, buf_str(&l->files), &l->generation, w);
}

/* -- At home -- */

static void
free_loading(struct loading *l)
{
	struct items_door *d = l->door;

	config_run_free(&l->module);
	if (l->module.bundle != NULL)
		bundle_drop(&l->module.bundle);
	buf_free(&l->json);
	buf_free(&l->files);
	buf_free(&l->faults);
	buf_free(&l->read.out);
	arena_free(&l->read.arena);
	arena_free(&l->write.arena);
	mem_free(&l);
	d->loading = false;
	drain_gate_leave(&d->asked);
}

/* {"error":...,"code":...,"faults":["tasks.a.ttl: ...", ...]} */
static void
refuse_file(struct loading *l, enum err e, const struct why *w)
{
	struct exchange *x = l->x;
	struct str rest = buf_str(&l->faults), line;
	struct exchange_refusal r = exchange_refusal(e, w);

	exchange_put_error(&x->out, &r);
	json_array(&x->out, "faults");
	while (rest.n > 0 && str_split(&rest, '\n', &line))
		if (line.n > 0)
			json_item(&x->out, line);
	buf_put_text(&x->out, "]}");
	x->status = 422;
	exchange_answer(x);
}

static void
fail_loading(struct loading *l, enum err e, const struct why *w)
{
	struct items_door *d = l->door;
	struct log_text path, text;

	snprintf(d->config_fault, sizeof(d->config_fault), "%.150s", w->text);
	log_error("items.config_refused", "path=%s why=%s",
	    log_quote(&path, str_of(l->path)),
	    log_quote(&text, str_of(w->text)));
	if (l->x != NULL && (exchange_is_fault(e) || e == ERR_CONFIG))
		refuse_file(l, e, w);
	else if (l->x != NULL)
		exchange_refuse(l->x, e, w);
	free_loading(l);
}

static void
finish_loading(struct items_write *w)
{
	struct loading *l = CONTAINER(w, struct loading, write);
	struct exchange *x = l->x;

	if (w->result == OK)
		w->result = runner_use(l->door, l->module.bundle,
		    buf_str(&l->json), l->generation, &w->why);
	if (w->result != OK) {
		fail_loading(l, w->result, &w->why);
		return;
	}
	l->door->config_fault[0] = '\0';
	log_info("items.config_loaded", "generation=%llu",
	    (unsigned long long)l->generation);
	if (x != NULL) {
		json_object(&x->out, NULL);
		json_u64(&x->out, "generation", l->generation);
		buf_put_char(&x->out, '}');
		exchange_answer(x);
	}
	free_loading(l);
}

static void
judge(struct loading *l)
{
	struct task_config *c = NULL;
	struct why w = WHY_INIT;

	enum err e = task_config_read(buf_str(&l->json), &l->door->limits, &c,
	    &l->faults, &w);
	task_config_free(&c);
	if (e != OK) {
		fail_loading(l, e, &w);
		return;
	}
	l->write.run = load;
	l->write.done = finish_loading;
	l->write.alone = true;
	l->write.why = WHY_INIT;
	items_write(l->door->items, &l->write);
}

static void
module_read(struct config_run *m)
{
	struct loading *l = CONTAINER(m, struct loading, module);

	if (m->why.err != OK) {
		buf_put_text(&l->faults, m->why.text);
		fail_loading(l, m->why.err, &m->why);
		return;
	}
	buf_put_str(&l->json, buf_str(&m->json));
	source_to_json(m->bundle, &l->files);
	judge(l);
}

static void
files_read(struct items_read *r)
{
	struct loading *l = CONTAINER(r, struct loading, read);

	if (r->result != OK) {
		fail_loading(l, r->result, &r->why);
	} else if (l->module.bundle == NULL) {
		judge(l);
	} else {
		l->module.limits = script_limits_of(l->door->host->conf);
		l->module.done = module_read;
		config_run_start(l->door->host->scripts, &l->module);
	}
}

static void
start_loading(struct items_door *d, struct exchange *x)
{
	struct loading *l = mem_new(sizeof(*l));

	l->door = d;
	l->x = x;
	l->path = d->config_path;
	d->loading = true;
	drain_gate_enter(&d->asked);
	l->read.run = read_files;
	l->read.done = files_read;
	l->read.why = WHY_INIT;
	items_read(d->items, &l->read);
}

void
config_load_start(struct items_door *d)
{
	if (d->config_path[0] != '\0' && !d->loading && !d->stopping)
		start_loading(d, NULL);
}

void
config_load_reload(struct web_request *r)
{
	struct input in = input_of(exchange_new(r));
	struct items_door *d = in.x->door;

	input_json(&in);
	if (in.e == OK && d->config_path[0] == '\0')
		input_fault(&in, ERR_STATE, "items.config",
		    "the setting names no file");
	if (in.e == OK && d->loading)
		input_fault(&in, ERR_STATE, "items.config",
		    "it is being loaded");
	if (input_end(&in))
		start_loading(d, in.x);
}
