/*
 * version -- which connector a task runs: the one of the directory, or that of
 * a registered version.
 *
 *     version named? ─► the task's own, the registered one, the newest, or 404
 *     none           ─► the published one, else the newest
 *     nothing is registered at this back end ─► the directory's
 *
 * Declarations of registered versions are read from the store and kept in
 * memory while tasks run them.
 *
 * Thread: the main loop's, but for version_look().
 * Source: contracts/external.md §7.
 */
#ifndef DOORS_EXTERNAL_VERSION_H
#define DOORS_EXTERNAL_VERSION_H

#include "doors/external/connectors.h"
#include "engine/store/store_external.h"

/* Connectors of registered versions in memory that no task runs. */
#define VERSIONS_IDLE_MAX 64u

/* A connector's versions at a back end, as far as a choice needs them. */
struct version_facts {
	uint64_t named;              /* by the request; 0: none is */
	bool is_registered;          /* the named one */
	uint64_t newest;             /* that is registered; 0: none is */
	uint64_t published;          /* and registered there; 0: none is */
	/* The version of the task that the request is about, if it runs, or
	 * ran, a registered connector. */
	bool has_task;
	uint64_t task_version;
	bool is_strict;              /* external.versions */
};

enum version_choice {
	VERSION_LISTED,              /* the directory's; no version counts */
	VERSION_NAMED,
	VERSION_PUBLISHED,
	VERSION_NEWEST,
	VERSION_AHEAD,               /* the newest, since the named one is newer
	                              * than all that are registered */
	VERSION_KEPT,                /* the task goes on with what it has */
	VERSION_UNKNOWN,             /* 404 */
};
/* Pure. */
enum version_choice version_choose(const struct version_facts *);

struct version_look {
	/* Filled by the caller. */
	struct str backend, connector;
	struct version_facts facts;  /* named, task, is_strict */
	struct str task_hash;        /* of the task; or empty */
	/* Filled by version_look(). */
	enum version_choice choice;
	uint64_t version;            /* that was chosen; 0: none counts */
	struct str hash;             /* of its connector; empty: any */
};
/*
 * Choose by what the store knows.  Memory: `a`.  Errors: the store's.
 * Thread: the store's.
 */
MUST_USE enum err version_look(struct store *, struct version_look *,
    struct arena *a, struct why *);
/*
 * "version 7 is newer than 5, the newest that is registered; ...": a warning of
 * VERSION_AHEAD.
 */
void version_put_warning(const struct version_look *, struct buf *out);

/* Connectors of registered versions, by their hashes.  Begin with zeros. */
struct versions {
	struct held_connector **list;
	size_t n, cap;
};
void versions_free(struct versions *);
/*
 * The connector with the hash: `listed`, the directory's, which may be NULL; or
 * one that is kept.  A built-in one stands for each of its versions, which it
 * is the program of, and an empty hash for `listed`.  NULL: the declaration
 * must be read from the store.
 */
struct held_connector *versions_find(const struct versions *,
    struct held_connector *listed, struct str hash);
/*
 * Load a declaration of the store and keep it.  Errors: CORRUPT, when it is
 * not one that this program reads.
 */
MUST_USE enum err versions_add(struct versions *, struct str hash,
    struct str declaration, struct held_connector **, struct why *);

#endif
