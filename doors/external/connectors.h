/*
 * connectors -- those that are built in, and those of the directory
 * external.connectors, by their names.
 *
 * A set is read as a whole and replaced as a whole.  A connector lives as long
 * as somebody holds it, so that a task goes on with the one that it began with.
 *
 * Thread: the main loop's; a connector itself is read-only.
 * Source: contracts/external.md §1, §11.
 */
#ifndef DOORS_EXTERNAL_CONNECTORS_H
#define DOORS_EXTERNAL_CONNECTORS_H

#include "base/arena.h"
#include "base/conf.h"
#include "engine/external/external_connector.h"

#define CONNECTORS_MAX 1000u         /* files of the directory */

struct connectors;
struct script_bundle;

struct held_connector {
	struct external_connector *connector;
	struct script_bundle *bundle;        /* of a module; else NULL */
	struct str name;
	/* HOST:PORT of the addresses in its file: the operator has named them,
	 * so that they may be private. */
	struct str hosts[2];
	size_t hosts_n;
	unsigned held;               /* connectors.c's */
	struct arena arena;          /* the same */
};

/*
 * Read the files *.json and *.js of a directory; "" stands for none.  Modules
 * are evaluated, which blocks the caller for MODULE_WALL_MS each at most
 * (script/connectors/module_load.h).  `runs_scripts`: the program can run them.
 * Errors: CONFIG, with file and place, when one is wrong or two have the same
 * name; FULL; those of reading.
 */
MUST_USE enum err connectors_read(const char *dir, const struct conf *,
    bool runs_scripts, struct connectors **, struct why *);
/* The directory has a module. */
bool connectors_have_module(const char *dir);
void connectors_free(struct connectors **);
/* Users sign in for one of them. */
bool connectors_have_oauth(const struct connectors *);
size_t connectors_count(const struct connectors *);
/* By number, from 0, in the order of names. */
struct held_connector *connectors_nth(const struct connectors *, size_t);
/* NULL: there is none. */
struct held_connector *connectors_find(const struct connectors *, struct str);

/* Held once, by the caller; connector and bundle, NULL unless it is a module,
 * become its own. */
struct held_connector *connector_new(struct external_connector *,
    struct script_bundle *);
struct held_connector *connector_hold(struct held_connector *);
/* NULL is allowed. */
void connector_release(struct held_connector **);

#endif
