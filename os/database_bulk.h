/*
 * database_bulk -- the rows of a bulk query as a table of SQLite.
 *
 *     INSERT INTO t (id, name) SELECT p1, p2 FROM bulk
 *
 * The table `bulk` has the columns p1, p2 ...: what was bound to a row's
 * parameters.  A statement that reads it runs once for all rows, which spares
 * SQLite the opening and closing of each run.
 *
 * Private to os/database*.c.  Thread: the database's.
 */
#ifndef OS_DATABASE_BULK_H
#define OS_DATABASE_BULK_H

#include <sqlite3.h>

#include "os/database_own.h"

struct bulk {
	/* Of the statement that was prepared last: the parameters that it
	 * reads; 0: it does not read the table.  Set to 0 before preparing. */
	unsigned width;
	/* Set before a statement's first step; it must not change until the
	 * statement is reset. */
	const struct query *query;
};

/* Make the table; `b` lives as long as the connection.  A code of SQLite. */
int bulk_register(sqlite3 *, struct bulk *b);

#endif
