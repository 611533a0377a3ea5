/*
 * runner_testing -- a daemon's parts for tests of tasks: an engine, items, the
 * script host with real processes, the task runner; a web on loopback.
 *
 * What fails ends the test.
 */
#ifndef SCRIPT_ITEMS_RUNNER_TESTING_H
#define SCRIPT_ITEMS_RUNNER_TESTING_H

#include "engine/control/engine_testing.h"
#include "script/items/config_run.h"
#include "script/items/task_runner.h"

extern struct rig rig;
extern struct items *items;
extern struct script_host *host;
extern struct task_fetcher *fetcher;
extern struct task_runner *runner;

/* `store`: "store.url=..."; NULL: files. */
void open_all(rig_site_fn *site, const char *store);
void close_all(void);
/* All but the engine; what is stored stays. */
void open_parts(void);
void close_parts(void);

/* Members of a configuration's default export, as the bundle shop.js; SITE is
 * the web's origin. */
struct script_bundle *bundle_of(const char *source);
/* Load a configuration and run it. */
void use(const char *source);
/* Until so many runs have ended and none goes on. */
void wait_for_runs(uint64_t n);

/* Answers of item_query.h; "": there is none.  Memory: the rig's. */
const char *item(const char *id);
const char *metadata(const char *id, const char *task);
const char *ask_tasks(void);
const char *ask_failures(const char *task);
const char *ask_runs(const char *id, const char *task);
const char *ask_run(const char *run);

void contains(const char *text, const char *part);

#endif
