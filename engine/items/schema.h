/*
 * schema -- the tables of items; see schema.c for their columns.
 *
 * Private to engine/items.
 */
#ifndef ENGINE_ITEMS_SCHEMA_H
#define ENGINE_ITEMS_SCHEMA_H

#include "os/database.h"

/* Kinds of names.name. */
enum item_name_kind {
	ITEM_NAME_TAG,
	ITEM_NAME_TASK,
	ITEM_NAME_LANE           /* "TASK\nKEY\nKEY...", keys of limits.tags */
};

/* For database_migrate(). */
extern const struct sql item_schema[];
extern const unsigned item_schema_n;

#endif
