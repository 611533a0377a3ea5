/*
 * handlers -- the requests of the door, named by the table of routes.h.
 *
 * Thread: home's.
 */
#ifndef DOORS_ITEMS_HANDLERS_H
#define DOORS_ITEMS_HANDLERS_H

#include "server/web.h"

/* show.c: what is only read. */
void show_item(struct web_request *);
void show_items(struct web_request *);
void show_metadata(struct web_request *);
void show_operations(struct web_request *);
void show_runs(struct web_request *);
void show_run(struct web_request *);
void show_blobs(struct web_request *);
void show_blob(struct web_request *);
void show_tags(struct web_request *);
void show_worklist(struct web_request *);
void show_tasks(struct web_request *);
void show_task(struct web_request *);
void show_failures(struct web_request *);
void show_failure(struct web_request *);
void show_config(struct web_request *);
void show_config_file(struct web_request *);

/* import.c */
void import_add(struct web_request *);

/* edit.c */
void edit_upsert(struct web_request *);
void edit_patch(struct web_request *);
void edit_delete(struct web_request *);
void edit_rename(struct web_request *);
void edit_merge(struct web_request *);
void edit_alias_put(struct web_request *);
void edit_alias_delete(struct web_request *);
void edit_tag_put(struct web_request *);
void edit_tag_delete(struct web_request *);
void edit_blob_put(struct web_request *);
void edit_blob_delete(struct web_request *);

/* tasks.c */
void tasks_expire_pair(struct web_request *);
void tasks_set_ttl(struct web_request *);
void tasks_pause(struct web_request *);
void tasks_resume(struct web_request *);
void tasks_expire(struct web_request *);
void tasks_handle_failure(struct web_request *);
void tasks_handle_failures(struct web_request *);

/* config_load.c */
void config_load_reload(struct web_request *);

/* worker.c */
void worker_claim(struct web_request *);
void worker_heartbeat(struct web_request *);
void worker_read(struct web_request *);
void worker_blob(struct web_request *);
void worker_complete(struct web_request *);
void worker_release(struct web_request *);
/* worker_check_lease() for handlers: `in` begins with a struct worker_lease,
 * whose item is found. */
struct worker_lease {
	struct str text, item;
};
/* STATE, answered with 409 and lease_lost: the pair is not leased under that
 * text any more. */
struct exchange;
struct item_tx;
MUST_USE enum err worker_check_lease(struct exchange *, struct item_tx *,
    struct str lease, struct why *);
MUST_USE enum err worker_find_item(struct exchange *, struct item_tx *,
    struct why *);

/* Pairs that claims pass over; NULL: no module is loaded.  For the writer's
 * thread. */
struct items_door;
struct far_pairs *worker_far_pairs(const struct items_door *);

/* worker_fetch.c */
void worker_fetch(struct web_request *);

/* worker_session.c */
void worker_session(struct web_request *);
void worker_config(struct web_request *);
void worker_get_blob(struct web_request *);

/* simulate.c */
void tasks_simulate(struct web_request *);

/* replay.c */
void tasks_replay(struct web_request *);
void tasks_replay_run(struct web_request *);

/* event_stream.c */
void event_stream_open(struct web_request *);
void event_stream_updates(struct web_request *);

/* openapi.c */
void openapi_show(struct web_request *);

#endif
