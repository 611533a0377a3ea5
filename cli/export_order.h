/*
 * export_order -- what `argiope archive export` and `argiope archive items` are
 * to read: their operands and the options that both have.
 */
#ifndef CLI_EXPORT_ORDER_H
#define CLI_EXPORT_ORDER_H

#include "cli/cli.h"
#include "engine/export/export.h"

/* Rows of both verbs' tables. */
#define EXPORT_ORDER_OPTIONS(X)                                              \
	X(ORDER_TYPE, "type", 't', "TYPE[,TYPE]", TEXT, 0, 0,                \
	    "items of these harvest types only, such as twitter_filter")     \
	X(ORDER_SINCE, "since", 0, "DATE", TEXT, 0, 0,                       \
	    "leave out older items; DATE is a day or a time, in UTC where "  \
	    "it names no zone")                                              \
	X(ORDER_UNTIL, "until", 0, "DATE", TEXT, 0, 0,                       \
	    "leave out newer items; a day counts to its end")                \
	X(ORDER_UID, "uid", 'u', "ID", TEXT, 0, 0,                           \
	    "items of this account only; may be given again")                \
	X(ORDER_DEDUPE, "dedupe", 0, NULL, FLAG, 0, 0,                       \
	    "each item once: the first that is found")

/*
 * Settle these parts of an order: files that the operands from `first` on
 * name, types, dates, accounts, dedupe.  A path that is not there is named on
 * standard error and in `*missing`.  Memory: the cli's.
 * Errors: USAGE; ABSENT when there is no WARC file at all.
 */
MUST_USE enum err export_order_read(struct cli *, size_t first,
    struct export_order *, bool *missing, struct why *);
/* Name notes on standard error. */
void export_order_tell(const struct export_notes *);
/* The exit code that they ask for: 0, or that of damage or missing files. */
int export_order_code(const struct export_result *, bool missing);

#endif
