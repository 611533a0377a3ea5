/*
 * The tables of items, in both dialects.
 *
 * Times are microseconds since 1970 (UTC), but for worklist.due, which is in
 * milliseconds.  Numbers of tags, tasks and lanes are names.id, so that a
 * rename changes one row.  Results and pairs are clustered by (task, item): a
 * run reads and writes one page of each.
 *
 * The dialects differ only in words, so the text is one macro.  INT, TEXT and
 * BLOB are types.  SERIAL is a primary key that the database counts up, and KEY
 * one that SQLite takes from `sequences` instead: its AUTOINCREMENT would write
 * the counter for each row.  END_ROWID ends a table that SQLite orders by such
 * a number, END any other.
 */
#include "engine/items/schema.h"

#define ITEM_TABLES(INT, TEXT, BLOB, SERIAL, KEY, END, END_ROWID)	\
	"CREATE TABLE names ("						\
	"  id " SERIAL ","						\
	"  kind " INT " NOT NULL,"                /* enum item_name_kind */ \
	"  name " TEXT " NOT NULL,"					\
	"  UNIQUE (kind, name)" END_ROWID				\
	"CREATE TABLE items ("						\
	"  key " KEY ","						\
	"  id " TEXT " NOT NULL,"					\
	"  data " TEXT " NOT NULL,"               /* a JSON object */	\
	"  created_by " TEXT ","					\
	"  created_at " INT " NOT NULL,"				\
	"  updated_at " INT " NOT NULL,"				\
	"  rev " INT " NOT NULL,"					\
	"  aliases_n " INT " NOT NULL,"           /* without its own id */ \
	"  blobs_n " INT " NOT NULL" END_ROWID				\
	"CREATE TABLE aliases ("					\
	"  id " TEXT " PRIMARY KEY,"					\
	"  item " INT " NOT NULL,"					\
	"  own " INT " NOT NULL"                  /* 1: the item's own id */ \
	END								\
	"CREATE INDEX aliases_item ON aliases (item) WHERE own = 0;"	\
	"CREATE TABLE tags ("						\
	"  item " INT " NOT NULL,"					\
	"  tag " INT " NOT NULL,"					\
	"  value " TEXT ","						\
	"  PRIMARY KEY (item, tag)" END					\
	"CREATE INDEX tags_tag ON tags (tag, item);"			\
	"CREATE TABLE task_results ("					\
	"  task " INT " NOT NULL,"					\
	"  item " INT " NOT NULL,"					\
	"  task_version " TEXT " NOT NULL,"				\
	"  metadata " TEXT " NOT NULL,"           /* a JSON object */	\
	"  is_successful " INT " NOT NULL,"				\
	"  is_invalidated " INT " NOT NULL,"				\
	"  created_at " INT " NOT NULL,"				\
	"  completed_at " INT ","                 /* NULL: no result so far */ \
	"  ttl_override " INT ","              /* us; -1: never; NULL: none */ \
	"  expires_at " INT ","                   /* NULL: never */	\
	"  rev " INT " NOT NULL,"					\
	"  PRIMARY KEY (task, item)" END				\
	"CREATE INDEX task_results_item ON task_results (item);"	\
	"CREATE TABLE worklist ("					\
	"  task " INT " NOT NULL,"					\
	"  item " INT " NOT NULL,"					\
	"  state " INT " NOT NULL,"               /* enum pair_state */	\
	"  due " INT ","                          /* ms */		\
	"  lane " INT " NOT NULL,"					\
	"  lease " INT ","                        /* a random number */	\
	"  lease_until " INT ","					\
	"  worker " TEXT ","						\
	"  generation " INT " NOT NULL,"          /* of the lease */	\
	"  attempt " INT " NOT NULL,"             /* failed ones in a row */ \
	"  again " INT " NOT NULL,"               /* expired while leased */ \
	"  done_lease " INT ","                   /* completed last */	\
	"  PRIMARY KEY (task, item)" END				\
	"CREATE INDEX worklist_due ON worklist (task, lane, due, item)"	\
	"  WHERE due IS NOT NULL;"					\
	"CREATE INDEX worklist_leased ON worklist (lease_until, task, item)" \
	"  WHERE lease IS NOT NULL;"					\
	"CREATE INDEX worklist_item ON worklist (item);"		\
	"CREATE TABLE failures ("					\
	"  id " SERIAL ","						\
	"  task " INT " NOT NULL,"					\
	"  item " INT " NOT NULL,"					\
	"  message " TEXT " NOT NULL,"        /* of error_data, to group by */ \
	"  error_data " TEXT " NOT NULL,"         /* a JSON object */	\
	"  occurred_at " INT " NOT NULL,"				\
	"  handled_at " INT ","						\
	"  handled_by " TEXT ","					\
	"  note " TEXT END_ROWID					\
	"CREATE INDEX failures_pair ON failures (item, task, id);"	\
	"CREATE INDEX failures_open ON failures (task, id)"		\
	"  WHERE handled_at IS NULL;"					\
	"CREATE INDEX failures_handled ON failures (handled_at)"	\
	"  WHERE handled_at IS NOT NULL;"				\
	"CREATE TABLE blobs ("						\
	"  sha256 " BLOB " PRIMARY KEY,"				\
	"  uses " INT " NOT NULL,"                /* rows of item_blobs */ \
	"  put_at " INT " NOT NULL,"					\
	"  bytes " BLOB " NOT NULL" END_ROWID				\
	"CREATE INDEX blobs_unused ON blobs (put_at) WHERE uses = 0;"	\
	"CREATE TABLE item_blobs ("					\
	"  item " INT " NOT NULL,"					\
	"  name " TEXT " NOT NULL,"					\
	"  sha256 " BLOB " NOT NULL,"					\
	"  type " TEXT " NOT NULL,"					\
	"  bytes " INT " NOT NULL,"               /* how many */	\
	"  PRIMARY KEY (item, name)" END				\
	"CREATE TABLE buckets ("					\
	"  name " TEXT " PRIMARY KEY,"					\
	"  full_at " INT " NOT NULL"              /* when it is full again */ \
	END								\
	"CREATE TABLE task_state ("					\
	"  task " INT " PRIMARY KEY,"					\
	"  paused " INT " NOT NULL,"					\
	"  tripped " INT " NOT NULL,"					\
	"  unprocessed " INT " NOT NULL,"         /* pairs by state */	\
	"  stale " INT " NOT NULL,"					\
	"  fresh " INT " NOT NULL,"					\
	"  retry " INT " NOT NULL,"					\
	"  leased " INT " NOT NULL,"					\
	"  blocked " INT " NOT NULL,"					\
	"  failed " INT " NOT NULL,"					\
	"  runs " INT " NOT NULL,"                /* used so far */	\
	"  wall_us " INT " NOT NULL,"					\
	"  cpu_us " INT " NOT NULL,"					\
	"  fetches " INT " NOT NULL,"					\
	"  bytes " INT " NOT NULL" END_ROWID				\
	"CREATE TABLE runs ("						\
	"  id " KEY ","							\
	"  task " INT " NOT NULL,"					\
	"  item " INT " NOT NULL,"					\
	"  started_at " INT " NOT NULL,"				\
	"  outcome " INT " NOT NULL,"             /* 1: success */	\
	"  attempt " INT " NOT NULL,"					\
	"  task_version " TEXT " NOT NULL,"				\
	"  wall_us " INT " NOT NULL,"					\
	"  cpu_us " INT " NOT NULL,"					\
	"  memory_bytes " INT " NOT NULL,"				\
	"  fetches " INT " NOT NULL,"					\
	"  bytes " INT " NOT NULL,"					\
	"  record " BLOB " NOT NULL" END_ROWID    /* JSON, packed by zstd */ \
	"CREATE INDEX runs_pair ON runs (item, task, id);"		\
	"CREATE INDEX runs_failed ON runs (started_at) WHERE outcome = 0;" \
	"CREATE TABLE generations ("					\
	"  id " SERIAL ","						\
	"  loaded_at " INT " NOT NULL,"					\
	"  hash " TEXT " NOT NULL,"               /* of the bundle */	\
	"  config " TEXT " NOT NULL,"            /* JSON, see task_config.h */ \
	"  files " TEXT " NOT NULL" END_ROWID     /* JSON: {path: source} */ \
	"CREATE TABLE rewrites ("					\
	"  task " INT " PRIMARY KEY,"					\
	"  generation " INT " NOT NULL,"				\
	"  at " INT " NOT NULL,"                 /* items up to it are done */ \
	"  done " INT " NOT NULL,"					\
	"  total " INT " NOT NULL" END_ROWID				\
	"CREATE TABLE migrations ("					\
	"  id " TEXT " PRIMARY KEY,"					\
	"  applied_at " INT " NOT NULL" END				\
	"CREATE TABLE sessions ("					\
	"  name " TEXT " PRIMARY KEY,"					\
	"  sealed " BLOB " NOT NULL,"					\
	"  expires_at " INT ","						\
	"  rev " INT " NOT NULL" END					\
	"CREATE TABLE events ("						\
	"  cursor " INT " PRIMARY KEY,"					\
	"  at " INT " NOT NULL,"					\
	"  type " TEXT " NOT NULL,"					\
	"  task " TEXT ","						\
	"  tags " TEXT ","                        /* of the item, ",a,b," */ \
	"  total " INT " NOT NULL,"               /* bytes of all up to it */ \
	"  body " TEXT " NOT NULL" END_ROWID     /* JSON without the cursor */ \
	"CREATE TABLE sequences ("					\
	"  name " TEXT " PRIMARY KEY,"           /* of a table; SQLite only */ \
	"  next " INT " NOT NULL" END					\
	"INSERT INTO sequences VALUES ('items', 1), ('runs', 1);"

const struct sql item_schema[] = {
	{
		ITEM_TABLES("INTEGER", "TEXT", "BLOB",
		    "INTEGER PRIMARY KEY AUTOINCREMENT", "INTEGER PRIMARY KEY",
		    ") STRICT, WITHOUT ROWID;", ") STRICT;"),
		ITEM_TABLES("BIGINT", "TEXT COLLATE \"C\"", "BYTEA",
		    "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
		    "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
		    ");", ");"),
	},
};
const unsigned item_schema_n = ARRAY_LEN(item_schema);
