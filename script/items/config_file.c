#include "script/items/config_file.h"

#include "base/json.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "os/file.h"
#include "script/items/source.h"
#include "wire/digest.h"

bool
config_file_is_module(struct str path)
{
	return !str_ends(path, STR(".json"));
}

struct script_limits
config_file_limits(struct script_limits l, const struct task *task)
{
	if (task->memory_bytes > 0)
		l.heap_bytes_max = task->memory_bytes;
	if (task->cpu_us > 0)
		l.cpu_ms_max = MAX(1, task->cpu_us / 1000);
	if (task->wall_us > 0)
		l.wall_ms_max = MAX(1, task->wall_us / 1000);
	return l;
}

/* -- Files: on the reader's thread -- */

/* {"shop.json":"..."}: the sources, by their names in the folder. */
static void
put_files(struct config_file *l)
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

static enum err
load_files(struct config_file *l, struct why *w)
{
	size_t most = (size_t)conf_size(l->conf, CONF_SCRIPT_BUNDLE_BYTES_MAX);

	if (config_file_is_module(str_of(l->path)))
		return source_load(l->path, most, &l->bundle, w);
	enum err e = file_load(l->path, CONFIG_FILE_BYTES_MAX, &l->json, w);
	if (e == OK)
		put_files(l);
	return e;
}

static enum err
read_files(struct items_read *r, struct item_store *st, struct why *w)
{
	(void)st;
	return load_files(CONTAINER(r, struct config_file, read), w);
}

/* -- The generation: on the writer's thread -- */

/* JSON's: of its text.  A module's is that of the bundle. */
static void
put_hash(const struct config_file *l, struct task_config *c)
{
	FREED(buf_free) struct buf hex = BUF_INIT;
	struct digest d;

	if (l->bundle != NULL) {
		c->hash = arena_copy(&c->arena, str_of(bundle_hash(
		    l->bundle)));
		return;
	}
	digest_of(DIGEST_SHA256, buf_str(&l->files), &d);
	digest_put_hex(&hex, d.bytes, sizeof(d.bytes));
	c->hash = arena_copy(&c->arena, buf_str(&hex));
}

static enum err
load_generation(struct items_write *wr, struct item_tx *tx, struct why *w)
{
	struct config_file *l = CONTAINER(wr, struct config_file, write);
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
generation_loaded(struct items_write *w)
{
	struct config_file *l = CONTAINER(w, struct config_file, write);

	l->why = w->why;
	if (w->result != OK && l->why.err == OK)
		why(&l->why, w->result, "%s", err_text(w->result));
	l->done(l);
}

static void
judge(struct config_file *l)
{
	struct item_limits limits = items_limits_of(l->conf);
	struct task_config *c = NULL;

	enum err e = task_config_read(buf_str(&l->json), l->items == NULL ?
	    &limits : items_limits(l->items), &c, &l->faults, &l->why);
	task_config_free(&c);
	if (e != OK || l->items == NULL) {
		l->done(l);
		return;
	}
	l->write.run = load_generation;
	l->write.done = generation_loaded;
	l->write.alone = true;
	l->write.why = WHY_INIT;
	items_write(l->items, &l->write);
}

static void
module_read(struct config_run *m)
{
	struct config_file *l = CONTAINER(m, struct config_file, module);

	if (m->why.err != OK) {
		buf_put_text(&l->faults.text, m->why.text);
		l->why = m->why;
		l->done(l);
		return;
	}
	buf_put_str(&l->json, buf_str(&m->json));
	source_to_json(m->bundle, &l->files);
	judge(l);
}

static void
go_on(struct config_file *l)
{
	l->same = l->bundle != NULL && str_eq(l->unless, str_of(bundle_hash(
	    l->bundle)));
	if (l->same) {
		l->done(l);
	} else if (l->bundle == NULL) {
		judge(l);
	} else {
		l->module.bundle = l->bundle;
		l->module.limits = script_limits_of(l->conf);
		l->module.done = module_read;
		config_run_start(l->scripts, &l->module);
	}
}

static void
files_read(struct items_read *r)
{
	struct config_file *l = CONTAINER(r, struct config_file, read);

	if (r->result == OK) {
		go_on(l);
		return;
	}
	l->why = r->why;
	l->done(l);
}

void
config_file_load(struct config_file *l)
{
	l->why = WHY_INIT;
	l->read.run = read_files;
	l->read.done = files_read;
	l->read.why = WHY_INIT;
	if (l->items != NULL)
		items_read(l->items, &l->read);
	else if (load_files(l, &l->why) == OK)
		go_on(l);
	else
		l->done(l);
}

void
config_file_free(struct config_file *l)
{
	config_run_free(&l->module);
	if (l->bundle != NULL)
		bundle_drop(&l->bundle);
	buf_free(&l->json);
	buf_free(&l->files);
	task_faults_free(&l->faults);
	buf_free(&l->read.out);
	arena_free(&l->read.arena);
	arena_free(&l->write.arena);
}
