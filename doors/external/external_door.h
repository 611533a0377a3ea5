/*
 * external_door -- what the files of this folder share: the door, its open
 * tasks, and the steps between its files.
 *
 *     POST /task ─► task_order ─► store ─► task_run ─► connector's run
 *                                             │ documents
 *                                             ▼
 *     back end ◄── caller ◄── delivery ◄── spool (store)
 *
 * Thread: the main loop's, but for jobs of the store.
 * Story:  doors/external/DESIGN.md
 * Source: contracts/external.md
 */
#ifndef DOORS_EXTERNAL_EXTERNAL_DOOR_H
#define DOORS_EXTERNAL_EXTERNAL_DOOR_H

#include "base/list.h"
#include "base/map.h"
#include "doors/external/caller.h"
#include "doors/external/clients.h"
#include "doors/external/connectors.h"
#include "doors/external/login_limit.h"
#include "doors/external/settings.h"
#include "doors/external/version.h"
#include "engine/backends/backends.h"
#include "engine/store/store_async.h"
#include "engine/store/store_external.h"
#include "os/file_stamp.h"
#include "server/door.h"
#include "wire/seal.h"

struct documents;
struct external_check;
struct grants;
struct module_runs;
struct task_run;
struct web_documents;

struct external_door {
	const struct door_host *host;
	struct external_settings set;
	struct backends *backends;       /* never NULL; replaced when the file
	                                  * has changed */
	struct clients *clients;         /* the same */
	struct timer files_timer;        /* looks at both files */
	struct file_stamp backends_stamp, clients_stamp;
	struct connectors *connectors;   /* never NULL */
	struct versions versions;        /* connectors of older versions */
	struct caller *caller;
	struct engine *engine;           /* from data_read on */
	struct store_async *store;       /* the same */
	struct documents *documents;     /* the same */
	struct web_documents *web;       /* the same */
	struct module_runs *modules;     /* the same */
	bool is_ready, stopping;
	/* The key that seals grants; `key_fault` is "" when it was read. */
	struct seal_key key;
	char key_fault[256];

	/* Open tasks of this daemon. */
	struct list tasks;               /* struct task_run */
	struct map tasks_by_id;          /* the same */
	size_t tasks_n;
	/* Those whose documents wait for room in the spool, in order. */
	struct list waiting;
	uint64_t spool_bytes;            /* of all tasks of this daemon */

	struct list under_check;         /* struct external_check */
	size_t under_check_n;
	uint64_t checks;                 /* so far */
	struct list under_choice;        /* struct choices_run */
	size_t under_choice_n;

	/* Those whose connector runs, the one that was looked at longest ago
	 * first. */
	struct list looks;
	struct timer look_timer;

	/* provider.h, grants.h */
	struct list provider_calls;      /* struct provider_call */
	struct list revocations;         /* struct revocation */
	size_t revocations_n;
	struct grants *grants;           /* from ready on */

	/* Calls without a launch ticket (external.oauth_compat). */
	struct login_limit calls_by_address, calls_by_user;

	struct list runs;                /* struct hand_run */
	size_t runs_n;
	uint64_t runs_begun;

	struct timer tend_timer;
	struct wall waits_said;          /* of tasks that cannot be taken up */
	struct wall looked, forgotten;   /* when open and old tasks were last
	                                  * looked for */
	uint32_t crawls_below;           /* web_documents_list_crawls() */

	struct drain_gate asked;         /* requests, jobs, runs, calls */
	void (*drained)(void *arg);
	void *drained_arg;

	/* For the status line. */
	char fault[256];                 /* of the backends file; or "" */
	char clients_fault[256];         /* of the clients file; or "" */
	uint64_t accepted;
};

/* tend.c: begin to take up, to renew leases, and to forget. */
void tend_begin(struct external_door *);
void tend_stop(struct external_door *);
/* Call task_run_look() every few seconds from now on, while the task is in the
 * list `looks`. */
void tend_look_at(struct external_door *, struct task_run *);
/* crawls.c: keys of crawls that runs of `web_crawl` begin. */
#define CRAWLS_KEY "external:"
/* check.c, choices.c, hand_run.c: those under way are answered soon. */
void check_stop_all(struct external_door *);
void choices_stop_all(struct external_door *);
void hand_run_stop_all(struct external_door *);

#endif
