/*
 * harvest_service -- the harvests of a daemon, whoever asked for them.
 *
 *     open ─► harvests of an earlier process are read ─► ready: they go on
 *     begin, order ─► harvest.h ─► watches: changed, resumed, ended
 *     drain: all pause ─► drained ─► free
 *
 * Doors, schedules and commands share one of these.  The broker's door follows
 * those that came to it by a watch; harvests go on without that door, too.
 *
 * Owns:    the harvests; those that are over are forgotten.
 * Thread:  the main loop's.
 * Limits:  HARVEST_RUNNING_MAX.
 * Story:   engine/harvest/DESIGN.md
 * Source:  contracts/harvest.md §5, §11.
 */
#ifndef ENGINE_HARVEST_HARVEST_SERVICE_H
#define ENGINE_HARVEST_HARVEST_SERVICE_H

#include "base/list.h"
#include "engine/harvest/harvest.h"
#include "engine/store/store_async.h"

/* Harvests in memory: more are refused with FULL. */
#define HARVEST_RUNNING_MAX 1000u
/* Below the data directory: where clients may have files put. */
#define HARVEST_CLIENT_DIR "harvested"

struct harvest_service;

struct harvest_service_options {
	struct engine *engine;       /* its stored data can be read */
	struct loop *home;
	const struct conf *conf;
	const char *data_dir;        /* absolute */
};
/*
 * Read what an earlier process has left; one that cannot go on is logged.
 * Errors: harvests_open()'s.
 */
MUST_USE enum err harvest_service_open(const struct harvest_service_options *,
    struct harvest_service **, struct why *);
/* The engine runs: they go on.  The broker's door has its watch by now. */
void harvest_service_ready(struct harvest_service *);
/* All pause; `drained` is called when none is under way, perhaps at once.
 * NULL is allowed, and is drained. */
void harvest_service_drain(struct harvest_service *,
    void (*drained)(void *arg), void *arg);
/* As harvests_free(). */
void harvest_service_free(struct harvest_service **);

/* For pause, stop and views: harvest.h's. */
struct harvests *harvest_service_list(struct harvest_service *);

/*
 * What the broker's door has to say of its own harvests; see struct
 * harvests_options.  Between open and ready.
 */
struct harvest_broker {
	enum err (*admit)(void *arg, struct str path, struct why *);
	enum err (*claim)(void *arg, struct str id, struct str path,
	    struct why *);
	void *arg;
};
void harvest_service_use_broker(struct harvest_service *,
    const struct harvest_broker *);

/*
 * Of all harvests; see struct harvests_options.  Between open and ready.
 */
struct harvest_limits {
	unsigned tries_max;
	uint64_t staged_bytes_max;
	bool keeps_urls;
	struct shared_root (*root_of)(void *arg, struct str path);
	void *arg;
};
void harvest_service_limit(struct harvest_service *,
    const struct harvest_limits *);

/* Told of all harvests; members that are NULL are left out. */
struct harvest_watch {
	struct list node;
	void (*changed)(struct harvest_watch *, struct str id);
	void (*resumed)(struct harvest_watch *, struct str id);
	void (*ended)(struct harvest_watch *, const struct harvest_view *);
};
void harvest_service_watch(struct harvest_service *, struct harvest_watch *);
void harvest_service_unwatch(struct harvest_watch *);

/*
 * harvest_begin(), with the credential that is kept by that name, if one is
 * given; the message has none then.  A client's path lies below one of
 * harvest.roots or below DATA/harvested, and a relative one is taken to lie
 * there; else it is refused as path_forbidden.  Errors: harvest_begin()'s;
 * ABSENT: the credential; FULL; CLOSED while the daemon ends.
 */
void harvest_service_begin(struct harvest_service *,
    struct harvest_request *, struct str credential);

/*
 * What a schedule is to harvest, as its row keeps it.  `message` is a start
 * message without credentials; `client`: the path is one of a client's.
 */
struct harvest_plan {
	struct str message, credential, path;
	bool client;
};
void harvest_plan_put(const struct harvest_plan *, struct buf *);

/*
 * Whether an order could be begun: a start message with its credential, or
 * without it where `has_credential` is false.  Errors: INPUT, with the field.
 */
MUST_USE enum err harvest_check(struct str message, bool has_credential,
    struct why *);

/*
 * An order about a harvest by its id.  Repeating one is no error, nor is a stop
 * of one that is over.  Errors: ABSENT; STATE: it is over, or could not be
 * taken up; those of the store.
 */
enum harvest_verb { HARVEST_PAUSE, HARVEST_RESUME, HARVEST_STOP };
struct harvest_order {
	enum harvest_verb verb;
	struct str id;               /* lives until done() */
	/* Out: the state when the order was taken. */
	enum store_harvest_state state;
	struct why why;
	void (*done)(struct harvest_order *);
	void *arg;
	struct harvest_service *service;     /* the service's */
	struct store_job job;
	struct arena arena;
};
void harvest_order(struct harvest_service *, struct harvest_order *);

#endif
