/*
 * database_own -- what the files of the seam share: the heads of an open
 * database and of a query, and the table of functions that a backend is.
 * Private to os/database*.c.
 *
 * database.c keeps the cache of queries, what was bound, and which error was
 * the first.  A backend prepares, runs and reads.
 */
#ifndef OS_DATABASE_OWN_H
#define OS_DATABASE_OWN_H

#include "base/list.h"
#include "base/map.h"
#include "os/database_failure.h"

enum value_kind { VALUE_NULL, VALUE_I64, VALUE_STR, VALUE_BYTES };

struct value {
	enum value_kind kind;
	union {
		int64_t i64;
		struct str str;
	};
};

/* The head of a backend's own query. */
struct query {
	struct list node;            /* of database.unused, oldest first */
	struct database *database;
	const char *text;
	bool is_cached;              /* in database.queries */
	bool is_used;
	bool is_bulk;
	bool is_prepared;            /* the backend's: worth to be kept */
	bool has_run;                /* the first step was made */
	unsigned width;              /* parameters: the backend counts them */
	struct value *values;        /* `width` of each row, row after row */
	size_t values_cap;
	size_t rows;                 /* to run */
	int64_t changes;
	enum err err;                /* sticky */
	struct why why;
};

/* The head of a backend's own database. */
struct database {
	const struct backend *backend;
	struct map queries;          /* by text */
	struct list unused;
	bool in_transaction;
	bool only_reads;             /* the transaction does */
	bool has_changed;            /* the transaction has changed rows */
	struct why failed;           /* the transaction's first error */
	struct failing *failing;     /* its last write failed; or NULL */
};

struct backend {
	void (*close)(struct database *);
	enum err (*check)(struct database *, struct why *);
	enum err (*migrate)(struct database *, const struct sql *steps,
	    unsigned n, struct why *);
	/* Of a transaction; only_reads is set. */
	enum err (*begin)(struct database *, struct why *);
	enum err (*commit)(struct database *, struct why *);
	void (*roll_back)(struct database *);
	/* Write what is there already; database_touch(). */
	enum err (*touch)(struct database *, struct why *);
	/* Set `database` and `width`; a failure goes to query_fail(). */
	struct query *(*query_new)(struct database *, const char *text);
	void (*query_free)(struct query *);
	/* The next row.  The first call runs the query. */
	bool (*step)(struct query *);
	/* Run it without its rows. */
	void (*post)(struct query *);
	/* Drop what is left of its rows, so that it can be used again. */
	void (*reset)(struct query *);
	struct str (*get_str)(struct query *, int column);
	int64_t (*get_i64)(struct query *, int column);
	bool (*is_null)(struct query *, int column);
};

/* Begin a database of a backend, and let go of its queries. */
void database_init(struct database *, const struct backend *);
void database_forget_queries(struct database *);
/* The query's error, and that of its transaction; OK and later ones pass. */
void query_fail(struct query *, enum err, const struct why *);
/* database_failure.c: its metrics; a transaction that may write has failed, or
 * was committed with a change. */
void database_failure_register(void);
void database_write_failed(struct database *, const struct why *);
void database_write_succeeded(struct database *);
/* The first number that a query of one row gives. */
MUST_USE enum err database_number(struct database *, const char *text,
    int64_t *, struct why *);

#endif
