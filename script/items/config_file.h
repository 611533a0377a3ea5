/*
 * config_file -- reads the file of a configuration, and makes it the one in
 * force.
 *
 * The file is a module, which a sandboxed process reads and whose tasks run
 * here; or JSON with the same members, whose tasks remote workers run.
 *
 *     files ─► the reader's thread ─► [sandbox] ─► judged ─► the writer: a
 *                                                            generation
 *
 * A faulty file changes nothing: what was in force stays.
 *
 * Thread: home's.
 * Source: contracts/items.md §6.
 */
#ifndef SCRIPT_ITEMS_CONFIG_FILE_H
#define SCRIPT_ITEMS_CONFIG_FILE_H

#include "engine/items/items.h"
#include "script/items/config_run.h"

#define CONFIG_FILE_BYTES_MAX ((size_t)16 << 20)     /* of a JSON file */

struct config_file {
	/* In; kept by the owner until done(). */
	const char *path;
	const struct conf *conf;
	struct script_host *scripts; /* NULL: the file is JSON */
	struct items *items;         /* NULL: it is judged, and not loaded */
	struct str unless;           /* a module with this hash stays as it is:
	                              * `same` */
	void (*done)(struct config_file *);
	void *arg;
	/* Out: freed by config_file_free(). */
	struct script_bundle *bundle;        /* NULL: the file is JSON */
	struct buf json;             /* the configuration */
	struct task_faults faults;
	uint64_t generation;         /* 0: not loaded */
	bool same;
	struct why why;              /* INPUT, CONFIG: a fault, with its place;
	                              * ABSENT and others of source_load() and
	                              * file_load(); those of items_write() */
	/* Its own. */
	struct buf files;
	struct items_read read;
	struct items_write write;
	struct config_run module;
};
/* done() follows; without `items` perhaps before this returns. */
void config_file_load(struct config_file *);
void config_file_free(struct config_file *);
/* What a run of a task may use: of the settings, but for what the task says. */
struct script_limits config_file_limits(struct script_limits settings,
    const struct task *);
/* By its name: a module, not JSON. */
bool config_file_is_module(struct str path);

#endif
