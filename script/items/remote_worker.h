/*
 * remote_worker -- runs the tasks of a configuration for a daemon elsewhere,
 * over its worker protocol: the same runner and sandbox as in the daemon, with
 * claims, reads, fetches and completions over HTTP.
 *
 *     start ─► its files ─► the daemon's hash ─► equal: claims, runs ...
 *                 ▲              │ not: it ends; later on it waits
 *                 └──────────────┘
 *     stop ─► claims stop, runs have 10 s, the rest is given back ─► ended()
 *
 * Thread: home's.
 * Source: contracts/items.md §8.
 * Story:  script/items/DESIGN.md
 */
#ifndef SCRIPT_ITEMS_REMOTE_WORKER_H
#define SCRIPT_ITEMS_REMOTE_WORKER_H

#include "base/conf.h"
#include "base/err.h"
#include "script/host.h"

struct remote_worker;

/* Where the daemon serves, and the token of scope worker:write. */
struct remote_place {
	struct str host;             /* a name or an address, no brackets */
	uint16_t port;
	bool tls;                    /* its certificate has to be good */
	struct str token;            /* empty: none */
};

struct remote_worker_options {
	const struct conf *conf;
	struct loop *home;
	struct script_host *scripts;
	const char *config_path;     /* a module */
	struct remote_place place;   /* copied */
	const struct str *tasks;     /* names or patterns; none: all */
	size_t tasks_n;
	/* Once: after remote_worker_stop(), or when it cannot begin: CONFIG
	 * (another bundle than the daemon's, or the file has a fault), DENIED
	 * (the token). */
	void (*ended)(void *arg, const struct why *);
	void *arg;
};
struct remote_worker *remote_worker_start(const struct remote_worker_options *);
/* `ended` comes within TASK_RUNNER_GRACE_MS and REMOTE_RELEASE_MS. */
#define REMOTE_RELEASE_MS 3000
void remote_worker_stop(struct remote_worker *);
/* After `ended`. */
void remote_worker_free(struct remote_worker **);

#endif
