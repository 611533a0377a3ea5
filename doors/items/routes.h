/*
 * routes -- the door's requests, in one table: the HTTP port serves from it,
 * and the OpenAPI document is made from it.
 *
 * Columns: method, path ("*" is a segment; a "/" at the end: all that follow),
 * the names of those segments, the token's door and access, more members of
 * struct web_route, the handler, a sentence, the query's parameters
 * (openapi.c), the body, the answers.
 *
 * A body is a list of SCHEMA, or SCHEMA@MEDIA where the media type is not JSON;
 * "?" before it: it may be left out.  An answer is STATUS, with =SCHEMA or
 * =SCHEMA@MEDIA where it has a body that is no error.  SCHEMA is one of
 * OPENAPI_SCHEMAS, or `any`.
 *
 * "Task" and "operation" are one thing: such rows stand in the table twice.
 */
#ifndef DOORS_ITEMS_ROUTES_H
#define DOORS_ITEMS_ROUTES_H

/* Bodies that are longer than the port admits otherwise; what the settings
 * allow is checked by the handlers. */
#define ROUTES_BLOB_BYTES_MAX (32 << 20)
#define ROUTES_COMPLETE_BYTES_MAX (64 << 20)

#define ROUTES_READ .door = TOKEN_DOOR_ITEMS, .access = TOKEN_READ
#define ROUTES_WRITE .door = TOKEN_DOOR_ITEMS, .access = TOKEN_WRITE
#define ROUTES_WORKER .door = TOKEN_DOOR_WORKER, .access = TOKEN_WRITE
#define ROUTES_PLAIN .upload = false
#define ROUTES_UPLOAD(bytes) .upload = true, .body_bytes_max = (bytes)

#define ITEMS_ROUTES_OF_ITEMS(X)                                              \
	X("GET", "/items", "", ROUTES_READ, ROUTES_PLAIN, show_items,         \
	    "Items, by their key; all, or those with a tag, a value of it, a" \
	    " beginning of their id, or changed since then.",                 \
	    params_items, "", "200=Items 200=Item@lines 400")                 \
	X("POST", "/items/add", "", ROUTES_WRITE,                             \
	    ROUTES_UPLOAD(INT64_MAX), import_add,                             \
	    "Make an item; as NDJSON, one for each line, 1,000 in a commit.", \
	    params_none, "Create Create@lines",                               \
	    "200=EffectOrImport 201=Effect 400 409 413 415 422 429 507")   \
	X("GET", "/items/*", "id", ROUTES_READ, ROUTES_PLAIN, show_item,      \
	    "An item, by its id or any alias.", params_none, "",              \
	    "200=Item 400 404")                                               \
	X("POST", "/items/*", "id", ROUTES_WRITE, ROUTES_PLAIN, edit_upsert,  \
	    "Make the item, or change it: data is merged as by PATCH, tags"   \
	    " and aliases are added.", params_none, "?Upsert",                \
	    "200=Effect 201=Effect 400 409 413 415 422 429 507")              \
	X("PATCH", "/items/*", "id", ROUTES_WRITE, ROUTES_PLAIN, edit_patch,  \
	    "Change data by a merge patch (RFC 7396); with If-Match, only if" \
	    " the item has that rev.", params_none,                           \
	    "Object@merge Object", "200=Item 400 404 412 413 415 507")        \
	X("DELETE", "/items/*", "id", ROUTES_WRITE, ROUTES_PLAIN,             \
	    edit_delete, "Delete the item, with all that hangs on it.",       \
	    params_none, "", "200=Effect 400 404 507")                        \
	X("POST", "/items/*/rename", "id", ROUTES_WRITE, ROUTES_PLAIN,        \
	    edit_rename, "Give the item another id; the old one stays as an"  \
	    " alias.", params_none, "Rename",                                 \
	    "200=Item 400 404 409 415 429 507")                               \
	X("POST", "/items/*/merge", "id", ROUTES_WRITE, ROUTES_PLAIN,         \
	    edit_merge, "Merge the item into another.", params_none, "Merge", \
	    "200=Item 400 404 409 413 415 429 507")                           \
	X("PUT", "/items/*/aliases/*", "id alias", ROUTES_WRITE,              \
	    ROUTES_PLAIN, edit_alias_put, "Give the item an alias.",          \
	    params_none, "?FailIfExists",                                     \
	    "200=Alias 201=Alias 400 404 409 415 429 507")                    \
	X("DELETE", "/items/*/aliases/*", "id alias", ROUTES_WRITE,           \
	    ROUTES_PLAIN, edit_alias_delete, "Take an alias away; not the"    \
	    " item's own id.", params_none, "",                               \
	    "200=Alias 400 404 409 507")                                      \
	X("PUT", "/items/*/tags/*", "id tag", ROUTES_WRITE, ROUTES_PLAIN,     \
	    edit_tag_put, "Tag the item, or change the tag's value.",         \
	    params_none, "?Value",                                            \
	    "200=Item 400 404 415 422 429 507")                               \
	X("DELETE", "/items/*/tags/*", "id tag", ROUTES_WRITE, ROUTES_PLAIN,  \
	    edit_tag_delete, "Take a tag away.", params_none, "",             \
	    "200=Item 400 404 507")                                           \
	X("GET", "/items/*/blobs", "id", ROUTES_READ, ROUTES_PLAIN,           \
	    show_blobs, "The item's blobs.", params_none, "",                 \
	    "200=Blobs 200=Blob@lines 400 404")                               \
	X("PUT", "/items/*/blobs/*", "id name", ROUTES_WRITE,                 \
	    .body_bytes_max = ROUTES_BLOB_BYTES_MAX, edit_blob_put,           \
	    "Keep bytes at the item under a name, with their media type.",    \
	    params_none, "any@bytes", "201=Blob 400 404 413 429 507")         \
	X("GET", "/items/*/blobs/*", "id name", ROUTES_READ, ROUTES_PLAIN,    \
	    show_blob, "A blob's bytes, as an attachment.", params_none, "",  \
	    "200=any@bytes 400 404")                                          \
	X("DELETE", "/items/*/blobs/*", "id name", ROUTES_WRITE,              \
	    ROUTES_PLAIN, edit_blob_delete, "Delete a blob.", params_none,    \
	    "", "200=BlobDeleted 400 404 507")                                \
	X("GET", "/items/*/metadata", "id", ROUTES_READ, ROUTES_PLAIN,        \
	    show_metadata, "What tasks have stored about the item.",          \
	    params_metadata, "", "200=Metadata 400 404")

/* In both spellings. */
#define ITEMS_ROUTES_OF_PAIRS(X, word)                                        \
	X("GET", "/items/*/" word, "id", ROUTES_READ, ROUTES_PLAIN,           \
	    show_operations, "The tasks that the item's tags map, and how"    \
	    " each stands.", params_none, "",                                 \
	    "200=Operations 200=Operation@lines 400 404")                     \
	X("POST", "/items/*/" word "/*/expire", "id task", ROUTES_WRITE,      \
	    ROUTES_PLAIN, tasks_expire_pair, "Have the task run again; `now`" \
	    " before all others.", params_none, "?Now",                       \
	    "200=State 400 404 409 415 507")                                  \
	X("POST", "/items/*/" word "/*/ttl", "id task", ROUTES_WRITE,         \
	    ROUTES_PLAIN, tasks_set_ttl, "Set how long the present result"    \
	    " lasts.", params_none, "Ttl",                                    \
	    "200=Expiry 400 404 409 415 507")                                 \
	X("POST", "/items/*/" word "/*/simulate", "id task", ROUTES_WRITE,    \
	    ROUTES_PLAIN, tasks_simulate, "Run the task and write nothing;"   \
	    " `module` is tried in place of the configuration's main file,"   \
	    " and `files` in place of those of their paths.",                 \
	    params_none, "?Simulate", "200=Simulation 400 404 409 415 507")   \
	X("GET", "/items/*/" word "/*/runs", "id task", ROUTES_READ,          \
	    ROUTES_PLAIN, show_runs, "The pair's run records.", params_none,  \
	    "", "200=Runs 200=Run@lines 400 404")

#define ITEMS_ROUTES_OF_TASKS(X, word)                                        \
	X("GET", "/" word, "", ROUTES_READ, ROUTES_PLAIN, show_tasks,         \
	    "All tasks, with counts and use.", params_none, "",               \
	    "200=Tasks 200=Task@lines")                                       \
	X("GET", "/" word "/*", "task", ROUTES_READ, ROUTES_PLAIN, show_task, \
	    "A task.", params_none, "", "200=Task 400 404")                   \
	X("POST", "/" word "/*/pause", "task", ROUTES_WRITE, ROUTES_PLAIN,    \
	    tasks_pause, "Let no run of the task, or of those that the"       \
	    " pattern means, begin.", params_none, "?Empty",                  \
	    "200=TaskOrTasks 400 404 415 507")                                \
	X("POST", "/" word "/*/resume", "task", ROUTES_WRITE, ROUTES_PLAIN,   \
	    tasks_resume, "Let runs begin again, also after the task was"     \
	    " tripped.", params_none, "?Empty",                               \
	    "200=TaskOrTasks 400 404 415 507")                                \
	X("POST", "/" word "/*/expire", "task", ROUTES_WRITE, ROUTES_PLAIN,   \
	    tasks_expire, "Have the task run again for all items, or those"   \
	    " with a tag or a beginning of their id.", params_none,           \
	    "?ExpireTask", "200=TaskOrTasks 400 404 415 507")                 \
	X("GET", "/" word "/*/failures", "task", ROUTES_READ, ROUTES_PLAIN,   \
	    show_failures, "The task's failures, or their groups by"          \
	    " message.", params_failures, "",                                 \
	    "200=FailuresOrGroups 200=Failure@lines 400 404")                 \
	X("POST", "/" word "/*/failures/handle", "task", ROUTES_WRITE,        \
	    ROUTES_PLAIN, tasks_handle_failures, "Mark all failures of the"   \
	    " task as handled, or those with a message, and resume it.",      \
	    params_none, "?HandleAll", "200=Handled 400 404 415 507")         \
	X("POST", "/" word "/*/replay", "task", ROUTES_WRITE, ROUTES_PLAIN,   \
	    tasks_replay, "Run the recorded last runs of the task again,"     \
	    " offline: a page of them, compared, verified, or applied.",      \
	    params_none, "?ReplayTask",                                       \
	    "200=Replay 400 404 409 415 507")

#define ITEMS_ROUTES_OF_STORE(X)                                              \
	X("GET", "/runs/*", "run", ROUTES_READ, ROUTES_PLAIN, show_run,       \
	    "A run record, with log, fetches, mutations and error.",          \
	    params_none, "", "200=RunRecord 400 404")                         \
	X("POST", "/runs/*/replay", "run", ROUTES_WRITE, ROUTES_PLAIN,        \
	    tasks_replay_run, "Run a recorded run again, offline.",           \
	    params_none, "?ReplayRun", "200=Replay 400 404 409 415 507")      \
	X("GET", "/tags", "", ROUTES_READ, ROUTES_PLAIN, show_tags,           \
	    "Tags, how many items have them, and their tasks.", params_page,  \
	    "", "200=Tags 200=TagCount@lines 400")                            \
	X("GET", "/tags/*/worklist", "tag", ROUTES_READ, ROUTES_PLAIN,        \
	    show_worklist, "What is due next for the items with a tag.",      \
	    params_worklist, "", "200=Worklist 200=Pair@lines 400 404")       \
	X("GET", "/failures/*", "id", ROUTES_READ, ROUTES_PLAIN,              \
	    show_failure, "A failure.", params_none, "",                      \
	    "200=Failure 400 404")                                            \
	X("POST", "/failures/*/handle", "id", ROUTES_WRITE, ROUTES_PLAIN,     \
	    tasks_handle_failure, "Mark a failure as handled.", params_none,  \
	    "?Handle", "200=Handled 400 404 415 507")                         \
	X("GET", "/items-config", "", ROUTES_READ, ROUTES_PLAIN, show_config, \
	    "The configuration in force.", params_none, "", "200=Config")     \
	X("GET", "/items-config/files/", "path", ROUTES_READ,                 \
	    .match = WEB_PREFIX, show_config_file, "A source of the"          \
	    " configuration.", params_none, "", "200=any@text 400 404")       \
	X("POST", "/items-config/reload", "", ROUTES_WRITE, ROUTES_PLAIN,     \
	    config_load_reload, "Read the configuration's file again.",       \
	    params_none, "?Empty",                                            \
	    "200=Generation 400 409 415 422=Faults 507")                      \
	X("GET", "/events", "", ROUTES_READ, ROUTES_PLAIN, event_stream_open, \
	    "Events as they happen, as server-sent events; it goes on behind" \
	    " Last-Event-ID.", params_events, "",                             \
	    "200=Event@sse 400 410=Gone")                                     \
	X("GET", "/updates", "", ROUTES_READ, ROUTES_PLAIN,                   \
	    event_stream_updates, "Events behind a cursor; `wait_ms` waits"   \
	    " for the first.", params_updates, "",                            \
	    "200=Event@lines 400 410=Gone")                                   \
	X("GET", "/openapi/items.json", "", ROUTES_READ, ROUTES_PLAIN,        \
	    openapi_show, "This document.", params_none, "", "200=Object")

#define ITEMS_ROUTES_OF_WORKERS(X)                                            \
	X("POST", "/worker/claim", "", ROUTES_WORKER, ROUTES_PLAIN,           \
	    worker_claim, "Lease pairs that are due; wait for them.",         \
	    params_none, "Claim", "200=Leases 400 415 507")                   \
	X("POST", "/worker/heartbeat", "", ROUTES_WORKER, ROUTES_PLAIN,       \
	    worker_heartbeat, "Extend leases.", params_none, "Heartbeat",     \
	    "200=Heartbeats 400 415 507")                                     \
	X("POST", "/worker/read", "", ROUTES_WORKER, ROUTES_PLAIN,            \
	    worker_read, "Read items and metadata during a run.",             \
	    params_none, "Read", "200=Found 400 409 415")                     \
	X("POST", "/worker/fetch", "", ROUTES_WORKER, ROUTES_PLAIN,           \
	    worker_fetch, "Send a request through the daemon, polite and"     \
	    " archived; the answer is a line of JSON, then the body.",        \
	    params_none, "Fetch", "200=any@bytes 400 404 409 415 502")        \
	X("POST", "/worker/session", "", ROUTES_WORKER, ROUTES_PLAIN,         \
	    worker_session, "Ask for a session of the configuration, or end"  \
	    " the login to it that this run was told to do.", params_none,    \
	    "Session", "200=any 400 404 409 415 502")                         \
	X("GET", "/worker/config", "", ROUTES_WORKER, ROUTES_PLAIN,           \
	    worker_config, "The hash of the configuration in force, and what" \
	    " scripts get for its secrets.", params_none, "",                 \
	    "200=WorkerConfig")                                               \
	X("GET", "/worker/blob", "", ROUTES_WORKER, ROUTES_PLAIN,             \
	    worker_get_blob, "A blob of any item, for a run: a line of JSON," \
	    " null where there is none, then the bytes.", params_blob, "",    \
	    "200=any@bytes 400 409")                                          \
	X("PUT", "/worker/blob", "", ROUTES_WORKER,                           \
	    .body_bytes_max = ROUTES_BLOB_BYTES_MAX, worker_blob,             \
	    "Keep bytes for a putBlob of the run.", params_lease,             \
	    "any@bytes", "200=Stored 400 409 413 507")                        \
	X("POST", "/worker/complete", "", ROUTES_WORKER,                      \
	    .body_bytes_max = ROUTES_COMPLETE_BYTES_MAX, worker_complete,     \
	    "End runs, with their mutations.", params_none, "Completions",    \
	    "200=Results 400 413 415 507")                                    \
	X("POST", "/worker/release", "", ROUTES_WORKER, ROUTES_PLAIN,         \
	    worker_release, "Give leases back; no attempt is counted.",       \
	    params_none, "Release", "200=Released 400 415 507")

#define ITEMS_ROUTES(X)                                                       \
	ITEMS_ROUTES_OF_ITEMS(X)                                              \
	ITEMS_ROUTES_OF_PAIRS(X, "operations")                                \
	ITEMS_ROUTES_OF_PAIRS(X, "tasks")                                     \
	ITEMS_ROUTES_OF_TASKS(X, "operations")                                \
	ITEMS_ROUTES_OF_TASKS(X, "tasks")                                     \
	ITEMS_ROUTES_OF_STORE(X)                                              \
	ITEMS_ROUTES_OF_WORKERS(X)

/* How many there are. */
enum {
#define ROUTES_COUNT_1(...) + 1
	ROUTES_N = 0 ITEMS_ROUTES(ROUTES_COUNT_1)
#undef ROUTES_COUNT_1
};

#endif
