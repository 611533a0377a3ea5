/*
 * database -- a thin and strict view of SQL databases: what the stores of this
 * program need, with errors of ours.
 *
 *     static const struct sql get = { "SELECT json FROM policy WHERE"
 *         " name = ?1", NULL };
 *     struct query *q = database_query_sql(d, &get);
 *     query_str(q, 1, name);
 *     if (query_step(q))
 *         json = arena_copy(a, query_get_str(q, 0));
 *     e = query_end(&q, w);
 *
 * A query is sticky: after its first error binding and stepping do nothing and
 * query_end() returns the error.  So is a transaction: after the first error
 * in it no query of it runs, and database_end() returns the error.  Statements
 * that may meet a key say ON CONFLICT.  The texts of queries are literals of
 * ours; each is prepared once and kept (DATABASE_QUERIES_MAX, the longest
 * unused goes).
 *
 * When a commit has returned, it survives kill -9 and power loss.
 *
 * SQLite (database_sqlite.c): the file is in WAL mode with synchronous=FULL.
 * foreign_keys is on, the file's mode is 0600.
 *
 * PostgreSQL (database_postgresql.c), 15 or later, with the encoding UTF8.
 * Integers are BIGINT, texts TEXT COLLATE "C", so that they sort by bytes, and
 * bytes BYTEA; what an expression returns may need a cast to int8 or text.  A
 * transaction sees what others commit between its statements, and may meet BUSY
 * (a deadlock, or a conflict of snapshots): then run it again.
 *
 * Thread: one at a time.
 * Errors: DISK_FULL; CORRUPT (damaged, or no database of ours); BUSY (another
 * process holds it beyond busy_ms_max); EXISTS (a key is there already); STATE
 * (another constraint); FULL (a value beyond DATABASE_VALUE_BYTES_MAX);
 * DENIED (a right is missing, or a write while only reading is allowed);
 * ABSENT (its directory); IO; BROKEN (our SQL is wrong).  Of PostgreSQL also
 * UNREACHED (no connection; whether a commit that was under way took place is
 * not known), TIMEOUT (the server's own limit) and INPUT (a text that is not
 * UTF-8, or contains NUL).
 */
#ifndef OS_DATABASE_H
#define OS_DATABASE_H

#include "base/bytes.h"
#include "base/err.h"

#define DATABASE_QUERIES_MAX 256u
#define DATABASE_PARAMETERS_MAX 64u              /* of one statement */
#define DATABASE_VALUE_BYTES_MAX (64u << 20)
#define DATABASE_BUSY_MS_MAX 5000u
/* Kept between checkpoints, without checkpoint_pages. */
#define DATABASE_WAL_BYTES_MAX (16u << 20)

struct database;
struct query;

/*
 * A statement in both dialects, and a literal.  Parameters are ?1, ?2 ... in
 * both.  postgresql NULL: the text of SQLite serves both.
 */
struct sql {
	const char *sqlite, *postgresql;
};

struct database_options {
	uint32_t application;        /* marks the database as ours; not 0 */
	/* 0: the default.  SQLite: right after a wait that was in vain the next
	 * one is short. */
	unsigned busy_ms_max;
	size_t cache_bytes;          /* SQLite's pages in memory; 0: 2 MB */
	/*
	 * SQLite: a thread copies the log into the database when it has so many
	 * pages, beside commits; it grows to four times that, and keeps twice.
	 * 0: the commit that finds 1,000 pages does it.
	 */
	unsigned checkpoint_pages;
	/*
	 * For a second connection that reads beside a writer.  The database
	 * must be there (ABSENT, and STATE while it is empty).
	 */
	bool read_only;
	/*
	 * PostgreSQL: all statements find their rows by keys, so each is
	 * planned once, for its indexes, however big its tables are.
	 */
	bool plans_by_key;
	/*
	 * SQLite: what is deleted or replaced stays in the file until its place
	 * is used again, as PostgreSQL keeps it until a VACUUM.  Else it is
	 * overwritten with zeros at once, which costs a tenth of the processor
	 * time of short writes.
	 */
	bool keeps_deleted;
};

/* Open, or make, the file at `path`; its directory must be there. */
MUST_USE enum err database_open(const char *path,
    const struct database_options *, struct database **, struct why *);

/* A server, and where its password is. */
struct database_url {
	const char *url;             /* postgresql://..., without a password */
	/* Read at each connection; its first line.  NULL or "": there is none,
	 * and libpq's own means are left. */
	const char *password_file;
};
bool database_url_is_postgresql(const char *url);
/*
 * Open a database of a PostgreSQL server, whose tables lie in the schema that
 * is first in the search path.  Connections that are lost are made again, with
 * back-off; meanwhile each query is UNREACHED at once.
 * Errors: CONFIG (the URL) and those of reading the password, which name the
 * field `url` or `password_file`; STATE (version or encoding).  No message
 * contains a password.
 */
MUST_USE enum err database_open_url(const struct database_url *,
    const struct database_options *, struct database **, struct why *);
void database_close(struct database **);
/* For code that must differ; struct sql and database_bulk() serve most. */
bool database_is_postgresql(const struct database *);
/*
 * Copy the SQLite database at `path` to `to`, which must not be there, as it is
 * at one moment, also while others write to it.  ABSENT when there is none.
 */
MUST_USE enum err database_copy(const char *path, const char *to,
    struct why *);
/*
 * Bring the schema to version n: steps[v] makes version v + 1 of v, in one
 * transaction each.  A step may be several statements.  STATE when the
 * database is newer than n.
 */
MUST_USE enum err database_migrate(struct database *, const struct sql *steps,
    unsigned n, struct why *);
/* Read all of it and check it.  Takes long on a big file. */
MUST_USE enum err database_check(struct database *, struct why *);

/*
 * A transaction: begin, do, and end with the first error so far.  The end
 * commits when that is OK and rolls back otherwise; it returns the error, or
 * that of a statement of the transaction, or that of the commit.  Transactions
 * do not nest (CHECK); without one each query commits by itself.
 */
MUST_USE enum err database_begin(struct database *, struct why *);
/*
 * A transaction that only reads (DENIED for others), in the snapshot that its
 * first query takes.  It is ended by database_end(), too, and soon: SQLite's
 * log grows as long as it lasts.
 */
MUST_USE enum err database_begin_read(struct database *, struct why *);
MUST_USE enum err database_end(struct database *, enum err so_far,
    struct why *);

struct query *database_query_sql(struct database *, const struct sql *);
/* One text for both dialects. */
struct query *database_query(struct database *, const char *text);
/*
 * A query over many rows:
 *
 *     static const struct sql put = {
 *         "INSERT INTO t (id, name) VALUES (?1, ?2)",
 *         "INSERT INTO t (id, name) SELECT * FROM"
 *         " unnest(?1::int8[], ?2::text[])" };
 *     struct query *q = database_bulk(d, &put);
 *     for (size_t i = 0; i < n; i++) {
 *         query_i64(q, 1, rows[i].id);
 *         query_str(q, 2, rows[i].name);
 *         query_row(q);
 *     }
 *     e = query_end(&q, w);
 *
 * For SQLite the statement runs once for each row, in their order.  One of many
 * rows is quicker when it runs once, and reads them from the table `bulk`,
 * whose columns p1, p2 ... are the parameters:
 *
 *         "INSERT INTO t (id, name) SELECT p1, p2 FROM bulk"
 *
 * It has no parameters besides; an ON CONFLICT needs WHERE true before it, and
 * FROM bulk k CROSS JOIN t keeps the order of loops.  For PostgreSQL each
 * parameter is an array with an element for each row, and the statement runs
 * once.  Rows that it returns come in any order, so that they should contain
 * their key.  query_step() walks the result
 * rows of all.  query_end() runs what has not run yet.  Without any row nothing
 * runs.  A parameter has one type in all rows, apart from NULL.  Changes belong
 * into a transaction: without one SQLite commits each row.
 */
struct query *database_bulk(struct database *, const struct sql *);
/* One statement without parameters and without rows. */
MUST_USE enum err database_do(struct database *, const char *text,
    struct why *);

/*
 * Bind, before the first step; what is not bound is NULL.  The bytes of a str
 * stay the caller's until query_end().  Types: int8, text, bytea.
 */
void query_str(struct query *, int at, struct str);  /* STR_NONE: NULL */
void query_bytes(struct query *, int at, struct str);  /* never NULL */
void query_i64(struct query *, int at, int64_t);
void query_null(struct query *, int at);
/* Of database_bulk(): the row is bound; the next one begins with NULLs. */
void query_row(struct query *);
/* The next row; false at the end, and after an error. */
bool query_step(struct query *);
/* Columns count from 0; strings live until the next step or the end. */
struct str query_get_str(struct query *, int column);  /* NULL: STR_NONE */
int64_t query_get_i64(struct query *, int column);     /* NULL: 0 */
bool query_is_null(struct query *, int column);
/* Rows that this INSERT, UPDATE or DELETE has changed, in all its rows. */
int64_t query_changes(const struct query *);
/* Give it back, empty the pointer, tell its first error. */
MUST_USE enum err query_end(struct query **, struct why *);
/*
 * Within a transaction: end a query that was not stepped and whose rows nobody
 * needs, without waiting for its result.  database_end() returns its error.
 */
void query_post(struct query **);

#endif
