/*
 * warc_set -- the WARC files of the running crawls: extents, rollover, names.
 * Private to engine/ledger.  Thread: the ledger's loop.
 */
#ifndef ENGINE_LEDGER_WARC_SET_H
#define ENGINE_LEDGER_WARC_SET_H

#include "engine/ledger/group.h"

/* Where a series of these options writes; in `a`. */
struct str warc_work_dir(const char *dir, const char *work_dir,
    const char *prefix, struct arena *a);
/* Write the records of the files that this group touches. */
void warc_set_before_seal(struct ledger *);
/* Close what has been open too long. */
void warc_set_roll_over(struct ledger *);
/* Close every file; the series go with them. */
void warc_set_close_all(struct ledger *);
void warc_set_free_all(struct ledger *);
/*
 * The group could not be written because of `file`: move what it and the
 * gathering group hold of that file to a new one, and close the old one at its
 * committed end.  False when that was tried for this file before.
 */
bool warc_set_move(struct ledger *, struct group *, uint32_t file);
/* The group is durable: series closed in it are gone. */
void warc_set_synced(struct ledger *, uint64_t group);
/* The file got its final name. */
void warc_set_file_closed(struct ledger *, const struct warc_record *);
/* Functions of ledger.c, for this file only. */
const struct list *ledger_series_seen(const struct ledger *);
struct list *ledger_series_list(struct ledger *);
struct group *ledger_gathering(struct ledger *);
uint32_t ledger_new_warc(struct ledger *);
void ledger_warc_seen(struct ledger *, uint32_t id);
void ledger_closing_expected(struct ledger *);
struct ledger_stats *ledger_counts(struct ledger *);
/* How many there are; for its stats. */
size_t warc_set_open_files(const struct ledger *);

#endif
