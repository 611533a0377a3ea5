/*
 * module_load -- reads the module of a connector: its source files, and the
 * members of its default export, which a sandboxed process evaluates.
 *
 * Thread: any, which is blocked meanwhile: MODULE_WALL_MS at most.
 * Source: contracts/scripting.md §2, §8.
 */
#ifndef SCRIPT_CONNECTORS_MODULE_LOAD_H
#define SCRIPT_CONNECTORS_MODULE_LOAD_H

#include "base/conf.h"
#include "engine/external/external_connector.h"
#include "script/bundle.h"

/* A module that is evaluated: processor time, and time in all. */
#define MODULE_CPU_MS 1000
#define MODULE_WALL_MS 5000

/*
 * Load the module at `path`.  bundle_drop() and external_connector_free() are
 * the caller's.  Errors: those of reading the file; INPUT, with the file and
 * what is wrong in it, or its member; UNREACHED: no process could be had.
 */
MUST_USE enum err module_load(const char *path, const struct conf *,
    struct script_bundle **, struct external_connector **, struct why *);

#endif
