/*
 * harvest_door -- the door's memory, for its own files.
 *
 *     broker ──► intake ──► engine/harvest ──► store
 *                   │                           │
 *                   └──► dead letters           ▼
 *     broker ◄── outbox_sender ◄── outbox ◄── follower
 *
 * Thread: the main loop's; what runs on another one says so.
 * Story:  doors/harvest/DESIGN.md
 */
#ifndef DOORS_HARVEST_HARVEST_DOOR_H
#define DOORS_HARVEST_HARVEST_DOOR_H

#include "doors/harvest/input.h"
#include "doors/harvest/pace.h"
#include "doors/harvest/queue_table.h"
#include "doors/harvest/roots.h"
#include "doors/harvest/sfm_api.h"
#include "engine/exporting/exporting.h"
#include "engine/harvest/harvest_service.h"
#include "engine/store/store_async.h"
#include "engine/store/store_outbox.h"
#include "os/broker.h"
#include "os/pool.h"
#include "server/door.h"

/* Pauses before another try of the store or of a message that came back. */
#define DOOR_RETRY_MS 1000
#define DOOR_RETRY_MS_MAX 60000
/* So long a start message is tried to be stored. */
#define DOOR_PERSIST_MS 300000
/* The third time that a body comes back without being stored is the last. */
#define DOOR_CRASHES_MAX 3u
/* Messages in memory, of as many harvests. */
#define DOOR_LANES_MAX 64u

/* Harvests that run at a time: of a queue, or of all queues of streams. */
struct slots {
	unsigned max, used;
};

/* A queue of start messages. */
struct served {
	const struct queue_row *row;
	struct slots *slots;         /* its own, or the door's for streams */
	struct slots own;
	unsigned used;               /* by harvests of this queue */
	/* As the broker has said last. */
	uint32_t waiting, consumers;
	struct broker_question question;
	bool is_asked;
};

/* sweep.c: claims of old harvests and exports. */
struct sweep {
	struct harvest_door *door;
	struct pool *pool;           /* NULL: it has not begun */
	struct timer timer;
	struct wall after, exports_after;    /* of those that ended until then
	                              * none is left */
	struct store_job store;
	struct job job;
	struct arena arena;          /* of the list */
	struct store_harvest *list;
	size_t n;
	struct store_export *exports;
	size_t exports_n;
	struct why why;
};

struct harvest_door {
	const struct door_host *host;
	struct arena arena;          /* of settings and queues */
	struct roots roots;
	unsigned umask;              /* harvest.umask */
	struct str instance, host_name;
	bool has_broker;             /* harvest.url is set */
	bool spec_words;             /* harvest.statuses = spec */
	bool web_messages;
	int64_t heartbeat_ms;
	uint64_t staged_bytes_max;
	unsigned tries_max;          /* of a harvest */
	uint64_t outbox_bytes_max;
	struct broker_limits limits;
	struct slots streams;        /* harvest.streams_max */
	struct served *queues;
	size_t queues_n;             /* the broker's queue of that number is for
	                              * stops, the next one for letters */
	struct broker_queue *broker_queues;
	struct broker_options broker_options;
	struct engine *engine;       /* NULL: its data was not read yet */
	struct str *unfinished;      /* ids; of an earlier process */
	size_t unfinished_n;

	struct harvests *harvests;   /* the service's; NULL: none yet */
	struct harvest_watch watch;
	struct store_async *store;
	struct broker *broker;       /* NULL: not open */
	bool stopping;               /* nothing is consumed any more */
	bool closes_when_sent;       /* all harvests have paused */
	bool draining;               /* the broker is being closed */
	struct drain_gate work;      /* harvests, deliveries and their jobs */
	struct drain_gate sending;   /* messages of the outbox, and theirs */
	void (*drained)(void *arg);
	void *drained_arg;

	/* Harvests that came by a broker, until their final status was put. */
	struct list follows;         /* struct follow */
	struct pace pace;
	struct timer pace_timer, beat_timer, close_timer;

	/* Outbox: harvests with messages. */
	struct list intakes;         /* struct intake: deliveries in hand */
	struct list lanes;           /* struct lane */
	unsigned lanes_loaded;
	struct store_outbox_totals outbox;
	struct store_outbox_totals outbox_left;      /* by an earlier process */
	struct sfm_api *sfm;         /* NULL: SFM is not asked */
	bool outbox_full;            /* harvests pause until there is room */
	struct store_job outbox_job;
	struct str *outbox_ids;
	size_t outbox_ids_n;
	struct arena outbox_arena;

	/* Exports that came by the broker, until their final status was put;
	 * see export_follower.h. */
	struct list exports;
	struct exporting_listener export_listener;
	struct store_job export_job;
	struct arena export_arena;
	struct store_export *untold;
	size_t untold_n;

	/* SFM's interface; see api.h. */
	struct web *api;             /* NULL: off */
	const char *api_address;
	struct api_net *api_nets;
	size_t api_nets_n;
	/* health.c: what is asked now and then. */
	struct timer health_timer;
	struct broker_question letters_question;
	bool letters_asked, oldest_asked;
	uint32_t letters_waiting;
	struct store_job oldest_job;
	struct wall oldest;

	struct sweep sweep;

	/* For the status line. */
	uint64_t disconnects;
	bool connected[2];           /* by enum broker_side */
	uint64_t starts, stops, letters, confirmed;
	char fault[160];             /* of the broker; "" */
};

/* door.c: close the broker, if that is not done yet. */
void harvest_door_close(struct harvest_door *);

/* -- intake.c: deliveries. -- */

void intake_take(struct broker_delivery *, void *door);
/* Give back those that wait for another try. */
void intake_give_back(struct harvest_door *);
/* A slot of the queue is free again; NULL: it had none. */
void intake_free_slot(struct harvest_door *, struct served *);
/*
 * The queue that a harvest which goes on takes a slot of, its type's without
 * priority; NULL: none is served.
 */
struct served *intake_slot_of(struct harvest_door *, struct str type);
bool intake_has_slot(const struct served *);
/* Take a slot; consuming ends with the last one. */
void intake_use_slot(struct harvest_door *, struct served *);

/* -- follower.c: statuses and files into the outbox. -- */

/* A harvest that this daemon has accepted.  `slot` may be NULL. */
void follower_add(struct harvest_door *, struct str id, struct served *slot);
/*
 * It was asked for once more, by a repeated start or a stop: put its present
 * status.  One that nobody follows any more is over; its final status is put.
 */
void follower_repeat(struct harvest_door *, struct str id);
/* Of all harvests; others than the broker's are left alone. */
void follower_changed(struct harvest_door *, struct str id);
void follower_ended(struct harvest_door *, const struct harvest_view *);
void follower_resumed(struct harvest_door *, struct str id);
/* Each ends, paused, and follower_ended() comes. */
void follower_pause_all(struct harvest_door *);
/* The same until there is room in the outbox; again is no error. */
void follower_pause_for_room(struct harvest_door *);
void follower_go_on(struct harvest_door *);
/* Free all; no job is under way. */
void follower_free_all(struct harvest_door *);
void follower_beat(struct timer *);
void follower_pace(struct timer *);
/* On the store's thread: put a message into the outbox, and count it. */
MUST_USE enum err follower_put_message(struct store *, struct str harvest,
    struct str key, struct str body, struct store_outbox_totals *added,
    struct why *);
/*
 * On the store's thread, one commit: a start message that is answered at once,
 * without any work.  `code` is an info's for a success and an error's for a
 * failure.
 */
struct finished {
	struct str id, type, path, message, routing_key;
	bool success;
	const char *code;
	struct str text;
};
MUST_USE enum err follower_put_finished(struct harvest_door *, struct store *,
    const struct finished *, struct store_outbox_totals *added, struct why *);
/* The same status, not through the outbox.  Memory: `a`. */
struct str follower_write_failure(struct harvest_door *,
    const struct finished *, struct arena *a);

/* -- outbox_sender.c: the outbox to the broker. -- */

/* Messages of this harvest were put, as many as `added` says. */
void outbox_sender_kick(struct harvest_door *, struct str harvest,
    const struct store_outbox_totals *added);
/* Call harvest_door_close() when no message can be sent, or all are. */
void outbox_sender_finish(struct harvest_door *);
/* Send what an earlier process has left. */
void outbox_sender_load(struct harvest_door *);
void outbox_sender_free_all(struct harvest_door *);

#endif
