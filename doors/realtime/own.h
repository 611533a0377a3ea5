/*
 * own -- private to doors/realtime/: what its files share.
 *
 *     client ── one socket; one command at a time; its subscriptions
 *       └─ sub ── one subscription
 *            └─ senders ── send its events: one for statistics, the monitor
 *                          or a frontier; for items and logs one, called a
 *                          cursor, for each crawl
 *
 *     sender:  waiting ──change──► ready ──room──► sends ──► ready | waiting
 *                                    ▲               │
 *                                    └──── read ◄────┘ asks the engine
 */
#ifndef DOORS_REALTIME_OWN_H
#define DOORS_REALTIME_OWN_H

#include "base/json_writer.h"
#include "base/list.h"
#include "base/map.h"
#include "doors/realtime/command.h"
#include "doors/realtime/meter.h"
#include "doors/realtime/realtime.h"
#include "doors/realtime/sync.h"
#include "engine/catalog/catalog.h"
#include "engine/catalog/crawl_registry.h"
#include "engine/control/control.h"
#include "engine/harvest/harvest_service.h"
#include "engine/rebuild/snapshot.h"
#include "engine/stream/stream.h"
#include "os/pool.h"
#include "os/system.h"

/* Bytes of a response, in addition to those of events. */
#define RESPONSE_HELD_MAX ((size_t)512 << 10)
#define RANGES_MAX 4096u

/* The senders that wait for a change of one crawl. */
struct crawl_watch {
	uint32_t id;
	unsigned users;
	struct list waiting;         /* senders */
};

struct realtime {
	const struct door_host *host;
	struct loop *home;
	struct engine *engine;
	struct crawl_registry *registry;
	struct stream *feed;
	unsigned renderer;           /* stream_use() */
	const char *mark;
	struct pool *pool;           /* one thread, for directories */
	struct pool *packers;        /* NULL until the first package */
	struct list packages;        /* under way */
	unsigned packages_n;
	uint64_t packages_made;
	const struct web *web;       /* NULL: the port is closed */
	struct list clients;
	uint64_t next_sub;
	/* Changes of the registry. */
	struct registry_watch watch;
	uint64_t version;            /* that was handled last */
	struct map watches;          /* crawl -> struct crawl_watch */
	struct list broad;           /* senders that wait for any change */
	struct list follows;         /* of items and logs */
	/* The monitor. */
	struct timer tick;
	bool looking;
	struct buf *frames;          /* a ring of objects, each without its
	                              * last brace */
	uint64_t frames_max;         /* of it */
	uint64_t frames_n;           /* made; the newest is the last */
	uint64_t downloads_max;
	struct list monitors;        /* senders that wait for a frame */
	struct frame_past {
		struct mono at;
		int64_t cpu_ns;
		uint64_t items, bytes;
		struct system_thread threads[REALTIME_THREADS_TOLD_MAX];
		size_t threads_n;
	} past;
	/* The end. */
	struct drain_gate asked;     /* questions that the engine has; the
	                              * door ends when all are answered */
	bool draining;
};

/* --- clients ------------------------------------------------------------ */

/* Subscription numbers from..to, in ascending order. */
struct range {
	uint64_t from, to;
};

struct sub;
struct task;
struct item_stream;
struct client {
	struct realtime *door;
	struct web_socket *socket;
	struct list node;            /* realtime.clients */
	struct list subs;
	unsigned subs_n;
	size_t tokens_n;             /* of all sync_tokens */
	struct list ready;           /* senders */
	struct list crowded;         /* senders that wait for READS_MAX */
	struct list streaming;       /* senders that wait for the stream */
	struct list behind;          /* broad senders, while a crawl begins */
	unsigned reads;              /* of the engine, under way */
	struct task *task;           /* the command under way */
	struct buf response;         /* written, but not put yet */
	bool beginning;              /* the task starts a crawl */
	bool holding;                /* no message is delivered */
	size_t held_then;            /* bytes held when output did not fit */
	struct item_stream *stream;       /* a big item that is being sent */
	struct range *ranges;        /* its subscriptions' ids, past ones too */
	size_t ranges_n;
};
/* Whether an event of n bytes may be put now; if not, room() comes later. */
bool client_fits(struct client *, size_t n);
void client_put(struct client *, const struct str *parts, size_t n);
/* {"type":"event","subscription_id":N,"event":E,"data":  E may be NULL */
void client_event_head(struct buf *, const struct sub *, const char *event);
/* Put the whole response to its command; `response` is emptied. */
void client_respond(struct client *, struct buf *response);
/* Give up its questions to the engine; it is sent nothing more. */
void client_quiet(struct client *);
bool client_owned(const struct client *, uint64_t sub);

/* --- senders and subscriptions ------------------------------------------ */

enum sent {
	SENT_MORE,       /* a message; there may be more */
	SENT_FULL,       /* nothing, for lack of room; it stays the first */
	SENT_IDLE,       /* nothing; it waits in another list now */
};
struct sender {
	struct list node;            /* of the list that it is in */
	struct sub *sub;
	enum sent (*send)(struct sender *);
	/* Whether a change concerns a waiting sender; NULL: every one does. */
	bool (*stirs)(const struct sender *, const struct crawl_row *);
	bool broad;                  /* its events may name a new crawl */
};
void sender_init(struct sender *, struct sub *, enum sent (*)(struct sender *));
void sender_ready(struct sender *);
/* Wait in watch->waiting, door->broad, door->monitors or crowded. */
void sender_wait(struct sender *, struct list *);
/* Whether it may read the engine now; if not, it waits for its turn. */
bool sender_may_read(struct sender *);
void client_read_done(struct client *);

#define SUB_KINDS(X) X(STATS, "stats") X(ITEMS, "items") X(LOG, "log") \
	X(MONITOR, "monitor") X(FRONTIER, "frontier")
enum sub_kind {
#define SUB_ENUM(id, text) SUB_##id,
	SUB_KINDS(SUB_ENUM)
#undef SUB_ENUM
	SUB_KIND_COUNT
};
struct sub {
	struct list node;            /* client.subs */
	struct client *client;
	uint64_t id;
	enum sub_kind kind;
	bool closed_event;
	void (*free)(struct sub *);  /* takes its senders out of all lists */
};
/*
 * Number the subscription.  False: the task has failed (`limit`), and the
 * subscription was freed.
 */
bool sub_begin(struct sub *, struct task *, enum sub_kind,
    void (*free)(struct sub *));
/* Answer the task with the subscription's number. */
void sub_answer(struct task *, uint64_t id);
/* Send the event, which is freed. */
void sub_send(struct sub *, struct buf *event);
void sub_end(struct sub *);
/* End it with subscription_closed.  `token` may be empty. */
void sub_close(struct sub *, uint32_t crawl, const char *reason,
    struct str token);
/* Whether that message fits now; see sender.send. */
bool sub_close_fits(struct sub *);

/* Get the watch of a crawl, to wait for its changes; put it back. */
struct crawl_watch *watch_take(struct realtime *, uint32_t crawl);
void watch_put(struct realtime *, struct crawl_watch **);

/* --- what a sub is about ------------------------------------------------ */

struct filter {
	bool one;                    /* `crawl` alone */
	uint32_t crawl;
	char tag[STORE_TAG_BYTES_MAX + 1];   /* empty: any */
	size_t tag_n;
	bool outsiders;              /* kind "frontier" */
};
bool filter_takes(const struct filter *, const struct crawl_row *);
/* min_interval of a subscription, 1 s where it is absent; ns. */
int64_t realtime_interval(const struct command *, double least_s);
/* Fill it from crawl_id, tag and kind.  False: the task has failed. */
bool filter_read(struct filter *, struct task *);

/* --- tasks: a command under way ----------------------------------------- */

struct task {
	struct realtime *door;
	struct client *client;       /* NULL: it has left, or there was none */
	struct web_request *request; /* of POST /realtime/command, or NULL */
	atomic_bool left;            /* the client has left; for all threads */
	struct command command;
	struct crawl_row *row;       /* of a required crawl_id; only until the
	                              * handler returns */
	struct buf data;             /* of the response */
	void *query;                 /* what the engine is asked */
	struct arena answer;         /* its memory */
};
/* Read the message and carry out its command. */
void task_run(struct client *, struct str message);
/* The same for an HTTP request; subscriptions are refused. */
void task_post(struct realtime *, struct web_request *);
/* A crawl starts: events that may name it wait for the response. */
void task_begins(struct task *);
/* The object `data`, begun; handlers add members. */
struct buf *task_data(struct task *);
/* Answer the task and free it. */
void task_answer(struct task *);
/* Returns false, and the task is gone. */
bool task_fail(struct task *, enum code, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* The same for an error of the engine; `absent` is the code for ABSENT. */
void task_fail_why(struct task *, const struct why *, enum code absent);
/*
 * Memory for a question to the engine, zeroed and freed with the task.  The
 * engine must be asked next: the door waits for its answer before it ends.
 */
void *task_ask(struct task *, size_t);
/*
 * The engine has answered; the memory of its answer, unless that is NULL, is
 * freed with the task.  False: it was an error, and the task has failed.
 */
bool task_back(struct task *, const struct why *, struct arena *,
    enum code absent);
/*
 * The harvest of a schedule, from the argument `harvest`: its type, and what
 * the store keeps.  Memory: the task's.  False: the task has failed.
 */
bool task_harvest(struct task *, struct str *type, struct str *json);
/* The row of crawl_id; NULL: the task has failed. */
struct crawl_row *task_row(struct task *);
struct crawl_row *realtime_row(struct realtime *, uint64_t crawl);

/* Put the verdict of robots.txt as an object, unless robots.txt is ignored or
 * not known. */
void task_put_robots(struct task *, const struct robots_verdict *);
/* Put crawl_id and job_id. */
void task_put_crawl(struct task *, uint64_t crawl);
/*
 * The argument `policy`: a name, or an object as JSON text; both empty when it
 * is absent.  Memory: the task's.  False: the task has failed.
 */
bool task_policy(struct task *, struct str *name, struct str *json);

#define VERB_HANDLER(id, handler, ...) void verb_##handler(struct task *);
REALTIME_COMMANDS(VERB_HANDLER)
#undef VERB_HANDLER

/* --- texts -------------------------------------------------------------- */

/* Put the members of section 4: all; those changed since a version. */
void row_put_all(struct buf *, const struct crawl_row *);
void row_put_since(struct buf *, const struct crawl_row *, uint64_t version);
/* "complete", "cancelled" or "deleted"; NULL: it has not ended. */
const char *row_end(const struct crawl_row *);
/* Put a host as an object. */
void look_put_host(struct buf *, const struct host_view *, struct wall now);

/* --- exports: exports.c --------------------------------------------------- */

/* The handler of /exports/ID/FILE; web_arg() is the door. */
void exports_get_file(struct web_request *);

/* --- packages: package.c ------------------------------------------------- */

/* Files of these names in the data directory belong to packages. */
#define PACKAGE_SCRATCH "wacz-"
struct str package_name(uint32_t crawl, struct arena *);
/*
 * Answer with the package of these files, which are sorted by name.  Their
 * memory is taken when the package is begun.
 */
void package_send(struct realtime *, struct web_request *,
    const struct crawl_row *, struct arena *memory, struct archive_file *,
    size_t n);
/* The door drains: packages under way are cut. */
void packages_stop(struct realtime *);
/* Remove the files that a killed process left. */
void packages_sweep(const char *data_dir);

/* --- items and logs, by number: follow.h -------------------------------- */

/* How many items a subscription is behind on a crawl; for the monitor. */
struct lag {
	uint64_t sub, lag;
	uint32_t crawl;
	enum sub_kind kind;
};
/* Keep the `max` largest, in descending order; returns the new n. */
size_t lag_keep(struct lag *, size_t n, size_t max, struct lag);
size_t follow_lags(struct realtime *, struct lag *, size_t max);
/* A new crawl is on the registry. */
void follow_join(struct realtime *, const struct crawl_row *);

/* --- the monitor -------------------------------------------------------- */

/* Make a frame each second, until the stop. */
void monitor_start(struct realtime *);
void monitor_stop(struct realtime *);

#endif
