/*
 * item_copy -- the tables of items as an export has them: one row of this table
 * gives the column's member, its form, and the statements.
 *
 * Private to item_export.c and item_import.c.
 */
#ifndef ENGINE_ITEMS_ITEM_COPY_H
#define ENGINE_ITEMS_ITEM_COPY_H

#include "engine/items/schema.h"

#define COPY_VERSION 1
#define COPY_COLUMNS_MAX 16u
#define COPY_KEYS_MAX 2u

enum copy_form {
	COPY_END,            /* no more columns */
	COPY_INT,
	COPY_INT_OR_NULL,
	COPY_TEXT,
	COPY_TEXT_OR_NULL,
	COPY_JSON,           /* a text that is JSON */
	COPY_BYTES,          /* base64 */
	COPY_TASK, COPY_TAG, COPY_LANE,      /* a number of `names` */
};

struct copy_column {
	const char *name;
	enum copy_form form;
};

struct copy_table {
	const char *name;
	/* The primary key: the first columns of `read`, which are ?1 and ?2. */
	enum copy_form keys[COPY_KEYS_MAX];
	struct copy_column columns[COPY_COLUMNS_MAX];
	/* The keys, then the columns, behind a key, in its order. */
	const char *read;
	const char *write;           /* columns are ?1, ?2 ... */
	/* Its numbers count up: SQLite's row of `sequences`, PostgreSQL's
	 * sequence; NULL: none. */
	const char *sequence;
};

extern const struct copy_table copy_tables[];
extern const size_t copy_tables_n;

/* The kind of names of a column. */
enum item_name_kind copy_name_kind(enum copy_form);

#endif
