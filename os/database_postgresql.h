/*
 * database_postgresql -- what the two files of the PostgreSQL backend share.
 * Private to them.
 *
 * database_postgresql.c has the connection, transactions and the schema;
 * database_statement.c the statements: texts, parameters, results.
 *
 * The connection stays in libpq's pipeline mode.  Messages are sent and counted
 * in `sent`; pg_sync() waits for all their results.  So a transaction whose
 * statements are posted costs one round trip.
 */
#ifndef OS_DATABASE_POSTGRESQL_H
#define OS_DATABASE_POSTGRESQL_H

#include <libpq-fe.h>

#include "base/time.h"
#include "os/database_own.h"

/* Results that may be outstanding before they are read. */
#define PG_SENT_MAX 256u

struct pg_database {
	struct database d;
	char *name;                  /* for messages: host and database */
	char *password_file;         /* or NULL */
	PQconninfoOption *parts;     /* of the URL */
	unsigned busy_ms;
	bool read_only, plans_by_key;
	uint32_t application;
	PGconn *conn;                /* NULL: there is none */
	uint64_t session;            /* counts the connections */
	unsigned sent;               /* commands whose result was not read */
	/* After a failed attempt to connect. */
	struct mono retry_at;
	unsigned retry_ms;
	struct why refused;
	/* Statements. */
	uint64_t statements;         /* names given so far */
	uint64_t *unused;            /* names that the server may forget */
	size_t unused_n, unused_cap;
	struct buf scratch;          /* parameters in PostgreSQL's form */
};

static inline struct pg_database *
pg_of(struct database *d)
{
	return CONTAINER(d, struct pg_database, d);
}

/*
 * A connection that can be used; outside of a transaction a lost one is made
 * again.  UNREACHED, at once, until the next attempt is due.
 */
MUST_USE enum err pg_ready(struct pg_database *, struct why *);
/* Count a command that PQsend...() has accepted, or note why it has not. */
MUST_USE enum err pg_count(struct pg_database *, int accepted, struct why *);
/*
 * Read the results of all that was sent and return the first error.  `last`, if
 * not NULL, gets the last result when there is no error; it is the caller's.
 */
MUST_USE enum err pg_sync(struct pg_database *, PGresult **last, struct why *);

/* database_statement.c: the part of the table that is about queries. */
struct query *pg_query_new(struct database *, const char *text);
void pg_query_free(struct query *);
bool pg_step(struct query *);
void pg_post(struct query *);
void pg_reset(struct query *);
struct str pg_get_str(struct query *, int column);
int64_t pg_get_i64(struct query *, int column);
bool pg_is_null(struct query *, int column);

#endif
