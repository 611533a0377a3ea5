/*
 * The tables of items, in both dialects.
 *
 * Times are microseconds since 1970 (UTC), but for worklist.due, which is in
 * milliseconds.  Numbers of tags, tasks and lanes are names.id, so that a
 * rename changes one row.  Results and pairs are clustered by (task, item): a
 * run reads and writes one page of each.
 *
 * A statement ends with ";"; PostgreSQL gets the text in which the words of
 * types are replaced, see item_schema().
 */
#include "engine/items/schema.h"

const struct sql item_schema[] = {
	{ .sqlite =
	"CREATE TABLE names ("
	"  id INTEGER PRIMARY KEY,"
	"  kind INTEGER NOT NULL,"              /* enum item_name_kind */
	"  name TEXT NOT NULL,"
	"  UNIQUE (kind, name)) STRICT;"
	"CREATE TABLE items ("
	"  key INTEGER PRIMARY KEY AUTOINCREMENT,"
	"  id TEXT NOT NULL,"
	"  data TEXT NOT NULL,"                 /* a JSON object */
	"  created_by TEXT,"
	"  created_at INTEGER NOT NULL,"
	"  updated_at INTEGER NOT NULL,"
	"  rev INTEGER NOT NULL,"
	"  aliases_n INTEGER NOT NULL,"         /* without its own id */
	"  blobs_n INTEGER NOT NULL) STRICT;"
	"CREATE TABLE aliases ("
	"  id TEXT PRIMARY KEY,"
	"  item INTEGER NOT NULL,"
	"  own INTEGER NOT NULL"                /* 1: the item's own id */
	") STRICT, WITHOUT ROWID;"
	"CREATE INDEX aliases_item ON aliases (item) WHERE own = 0;"
	"CREATE TABLE tags ("
	"  item INTEGER NOT NULL,"
	"  tag INTEGER NOT NULL,"
	"  value TEXT,"
	"  PRIMARY KEY (item, tag)) STRICT, WITHOUT ROWID;"
	"CREATE INDEX tags_tag ON tags (tag, item);"
	"CREATE TABLE task_results ("
	"  task INTEGER NOT NULL,"
	"  item INTEGER NOT NULL,"
	"  task_version TEXT NOT NULL,"
	"  metadata TEXT NOT NULL,"             /* a JSON object */
	"  is_successful INTEGER NOT NULL,"
	"  is_invalidated INTEGER NOT NULL,"
	"  created_at INTEGER NOT NULL,"
	"  completed_at INTEGER,"               /* NULL: no result so far */
	"  ttl_override INTEGER,"               /* us; -1: never; NULL: none */
	"  expires_at INTEGER,"                 /* NULL: never */
	"  rev INTEGER NOT NULL,"
	"  PRIMARY KEY (task, item)) STRICT, WITHOUT ROWID;"
	"CREATE INDEX task_results_item ON task_results (item);"
	"CREATE TABLE worklist ("
	"  task INTEGER NOT NULL,"
	"  item INTEGER NOT NULL,"
	"  state INTEGER NOT NULL,"             /* enum pair_state */
	"  due INTEGER,"                        /* ms */
	"  lane INTEGER NOT NULL,"
	"  lease INTEGER,"                      /* a random number */
	"  lease_until INTEGER,"
	"  worker TEXT,"
	"  generation INTEGER NOT NULL,"        /* of the lease */
	"  attempt INTEGER NOT NULL,"           /* failed ones in a row */
	"  again INTEGER NOT NULL,"             /* expired while leased */
	"  done_lease INTEGER,"                 /* completed last */
	"  PRIMARY KEY (task, item)) STRICT, WITHOUT ROWID;"
	"CREATE INDEX worklist_due ON worklist (task, lane, due, item)"
	"  WHERE due IS NOT NULL;"
	"CREATE INDEX worklist_leased ON worklist (lease_until, task, item)"
	"  WHERE lease IS NOT NULL;"
	"CREATE INDEX worklist_item ON worklist (item);"
	"CREATE TABLE failures ("
	"  id INTEGER PRIMARY KEY AUTOINCREMENT,"
	"  task INTEGER NOT NULL,"
	"  item INTEGER NOT NULL,"
	"  message TEXT NOT NULL,"              /* of error_data, to group by */
	"  error_data TEXT NOT NULL,"           /* a JSON object */
	"  occurred_at INTEGER NOT NULL,"
	"  handled_at INTEGER,"
	"  handled_by TEXT,"
	"  note TEXT) STRICT;"
	"CREATE INDEX failures_pair ON failures (task, item, id);"
	"CREATE INDEX failures_open ON failures (task, id)"
	"  WHERE handled_at IS NULL;"
	"CREATE INDEX failures_handled ON failures (handled_at)"
	"  WHERE handled_at IS NOT NULL;"
	"CREATE TABLE blobs ("
	"  sha256 BLOB PRIMARY KEY,"
	"  bytes BLOB NOT NULL,"
	"  uses INTEGER NOT NULL,"              /* rows of item_blobs */
	"  put_at INTEGER NOT NULL) STRICT;"
	"CREATE TABLE item_blobs ("
	"  item INTEGER NOT NULL,"
	"  name TEXT NOT NULL,"
	"  sha256 BLOB NOT NULL,"
	"  type TEXT NOT NULL,"
	"  bytes INTEGER NOT NULL,"             /* how many */
	"  PRIMARY KEY (item, name)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE buckets ("
	"  name TEXT PRIMARY KEY,"
	"  full_at INTEGER NOT NULL"            /* when it is full again */
	") STRICT, WITHOUT ROWID;"
	"CREATE TABLE task_state ("
	"  task INTEGER PRIMARY KEY,"
	"  paused INTEGER NOT NULL,"
	"  tripped INTEGER NOT NULL,"
	"  unprocessed INTEGER NOT NULL,"       /* pairs by state */
	"  stale INTEGER NOT NULL,"
	"  fresh INTEGER NOT NULL,"
	"  retry INTEGER NOT NULL,"
	"  leased INTEGER NOT NULL,"
	"  blocked INTEGER NOT NULL,"
	"  failed INTEGER NOT NULL,"
	"  runs INTEGER NOT NULL,"              /* used so far */
	"  wall_us INTEGER NOT NULL,"
	"  cpu_us INTEGER NOT NULL,"
	"  fetches INTEGER NOT NULL,"
	"  bytes INTEGER NOT NULL) STRICT;"
	"CREATE TABLE runs ("
	"  id INTEGER PRIMARY KEY AUTOINCREMENT,"
	"  task INTEGER NOT NULL,"
	"  item INTEGER NOT NULL,"
	"  started_at INTEGER NOT NULL,"
	"  outcome INTEGER NOT NULL,"           /* 1: success */
	"  attempt INTEGER NOT NULL,"
	"  task_version TEXT NOT NULL,"
	"  wall_us INTEGER NOT NULL,"
	"  cpu_us INTEGER NOT NULL,"
	"  memory_bytes INTEGER NOT NULL,"
	"  fetches INTEGER NOT NULL,"
	"  bytes INTEGER NOT NULL,"
	"  record BLOB NOT NULL) STRICT;"       /* JSON, packed by zstd */
	"CREATE INDEX runs_pair ON runs (task, item, id);"
	"CREATE TABLE generations ("
	"  id INTEGER PRIMARY KEY AUTOINCREMENT,"
	"  loaded_at INTEGER NOT NULL,"
	"  hash TEXT NOT NULL,"                 /* of the bundle */
	"  config TEXT NOT NULL,"               /* JSON, see task_config.h */
	"  files TEXT NOT NULL) STRICT;"        /* JSON: {path: source} */
	"CREATE TABLE rewrites ("
	"  task INTEGER PRIMARY KEY,"
	"  generation INTEGER NOT NULL,"
	"  at INTEGER NOT NULL,"                /* items up to it are done */
	"  done INTEGER NOT NULL,"
	"  total INTEGER NOT NULL) STRICT;"
	"CREATE TABLE migrations ("
	"  id TEXT PRIMARY KEY,"
	"  applied_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
	"CREATE TABLE sessions ("
	"  name TEXT PRIMARY KEY,"
	"  sealed BLOB NOT NULL,"
	"  expires_at INTEGER,"
	"  rev INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
	"CREATE TABLE events ("
	"  cursor INTEGER PRIMARY KEY AUTOINCREMENT,"
	"  at INTEGER NOT NULL,"
	"  type TEXT NOT NULL,"
	"  task TEXT,"
	"  tags TEXT,"                          /* of the item, ",a,b," */
	"  body TEXT NOT NULL) STRICT;"         /* JSON without the cursor */
	},
};
const unsigned item_schema_n = ARRAY_LEN(item_schema);
