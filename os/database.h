/*
 * database -- a thin and strict view of SQLite: what the store of one process
 * needs, with errors of ours.
 *
 *     struct query *q = database_query(d, "SELECT json FROM policy WHERE"
 *         " name = ?1");
 *     query_str(q, 1, name);
 *     if (query_step(q))
 *         json = arena_copy(a, query_get_str(q, 0));
 *     e = query_end(&q, w);
 *
 * A query is sticky: after its first error binding and stepping do nothing and
 * query_end() tells the error.  The texts of queries are literals of ours; each
 * is prepared once and kept (DATABASE_QUERIES_MAX, the longest unused goes).
 *
 * The file is in WAL mode with synchronous=FULL: when a commit has returned,
 * it survives kill -9 and power loss.  foreign_keys is on, the file's mode is
 * 0600.
 *
 * Thread: one at a time.
 * Errors: DISK_FULL; CORRUPT (damaged, or no database of ours); BUSY (another
 * process holds it beyond busy_ms_max); EXISTS (a key is there already); STATE
 * (another constraint); FULL (a value beyond DATABASE_VALUE_BYTES_MAX);
 * DENIED; ABSENT (its directory); IO.
 */
#ifndef OS_DATABASE_H
#define OS_DATABASE_H

#include "base/bytes.h"
#include "base/err.h"

#define DATABASE_QUERIES_MAX 64u
#define DATABASE_VALUE_BYTES_MAX (64u << 20)
#define DATABASE_BUSY_MS_MAX 5000u
#define DATABASE_WAL_BYTES_MAX (16u << 20)  /* kept between checkpoints */

struct database;
struct query;

struct database_options {
	uint32_t application;        /* marks the file as ours; not 0 */
	unsigned busy_ms_max;        /* 0: the default */
};

/* Open, or make, the file at `path`; its directory must be there. */
MUST_USE enum err database_open(const char *path,
    const struct database_options *, struct database **, struct why *);
void database_close(struct database **);
/*
 * Copy the database at `path` to `to`, which must not be there, as it is at one
 * moment, also while others write to it.  ABSENT when there is none.
 */
MUST_USE enum err database_copy(const char *path, const char *to,
    struct why *);
/*
 * Bring the schema to version n: steps[v] makes version v + 1 of v, in one
 * transaction each.  STATE when the file is newer than n.
 */
MUST_USE enum err database_migrate(struct database *,
    const char *const *steps, unsigned n, struct why *);
/* Read all of it and check it.  Takes long on a big file. */
MUST_USE enum err database_check(struct database *, struct why *);

/*
 * A transaction: begin, do, and end with the first error so far.  The end
 * commits when that is OK and rolls back else; it returns the error, or that
 * of the commit.  Transactions do not nest (CHECK); without one each query
 * commits by itself.
 */
MUST_USE enum err database_begin(struct database *, struct why *);
MUST_USE enum err database_end(struct database *, enum err so_far,
    struct why *);

/* `sql` is one statement, and a literal.  Its parameters are ?1, ?2 ... */
struct query *database_query(struct database *, const char *sql);
/* One statement without parameters and without rows. */
MUST_USE enum err database_do(struct database *, const char *sql,
    struct why *);

/* Bind; the bytes of a str stay the caller's until query_end(). */
void query_str(struct query *, int at, struct str);  /* STR_NONE: NULL */
void query_bytes(struct query *, int at, struct str);
void query_i64(struct query *, int at, int64_t);
void query_null(struct query *, int at);
/* The next row; false at the end, and after an error. */
bool query_step(struct query *);
/* Columns count from 0; strings live until the next step or the end. */
struct str query_get_str(struct query *, int column);  /* NULL: STR_NONE */
int64_t query_get_i64(struct query *, int column);     /* NULL: 0 */
bool query_is_null(struct query *, int column);
/* Rows that the last INSERT, UPDATE or DELETE changed. */
int64_t query_changes(const struct query *);
int64_t query_last_id(const struct query *);
/* Give it back, empty the pointer, tell its first error. */
MUST_USE enum err query_end(struct query **, struct why *);

#endif
