/*
 * mutation -- the operations that a run has queued, and their table.
 *
 * Arguments are read once and kept as JSON; a callback is kept as a value and
 * called when the run ends (callback.c).
 */
#ifndef SCRIPT_MUTATION_H
#define SCRIPT_MUTATION_H

#include "script/own.h"

/* Names that an operation refers to. */
enum op_name { NAME_NONE = -1, NAME_ID, NAME_FROM, NAME_TO, NAME_INTO,
	NAME_TASK, NAME_COUNT };

enum op_kind { OP_CREATE_ITEM, OP_RENAME_ITEM, OP_MERGE_ITEM, OP_DELETE_ITEM,
	OP_CREATE_ALIAS, OP_DELETE_ALIAS, OP_UPDATE_TAGS, OP_UPDATE_DATA,
	OP_UPDATE_METADATA, OP_EXPIRE, OP_SET_TTL, OP_COMPLETE_FOR, OP_PUT_BLOB,
	OP_DELETE_BLOB, OP_COUNT };

struct op_spec;

struct op_merge {
	struct buf task;
	JSValue function;
};

struct op {
	const struct op_spec *spec;
	enum op_kind kind;
	struct buf json;             /* ,"tags":[...],... without callbacks */
	struct buf names[NAME_COUNT];
	bool has_name[NAME_COUNT];
	size_t data_at, data_n;      /* in `json`: "data" or "metadata" */
	JSValue merge;               /* the callback; undefined: none */
	struct op_merge *merges;     /* mergeMetadata's */
	size_t merges_n, merges_cap;
	bool is_upsert, has_data;
	struct call *blob;           /* while the arguments are read */
};

/* Its name; a name that it refers to; whether it has callbacks. */
const char *op_name(const struct op *);
struct str op_name_of(const struct op *, enum op_name);
bool op_has_callback(const struct op *);

#endif
