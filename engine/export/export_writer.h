/*
 * export_writer -- entries into files: none that was deleted, no id twice, so
 * many a file, the files in a directory that takes its place at the end; or all
 * to one stream.
 *
 * Thread: one.
 */
#ifndef ENGINE_EXPORT_EXPORT_WRITER_H
#define ENGINE_EXPORT_EXPORT_WRITER_H

#include "engine/export/export_source.h"

struct export_writer;
/*
 * Begin; the order and `result` outlive the writer, which sets its counts of
 * what is written, its notes of deleted items, and whose columns it has.
 * Errors: as export_dir_open().
 */
MUST_USE enum err export_writer_open(const struct export_order *,
    struct export_result *, struct export_writer **, struct why *);
/* What names of files begin with that may be lost. */
const char *export_writer_scratch(const struct export_writer *);

/*
 * Both take an export_writer as first argument.  put_deletion() is for all that
 * is to be left out, before the first put().  Errors: as export_run().
 */
MUST_USE enum err export_writer_put_deletion(void *,
    const struct export_entry *, struct why *);
MUST_USE enum err export_writer_put(void *, const struct export_entry *,
    struct why *);
/* Whether one of them has failed. */
bool export_writer_failed(const struct export_writer *);

/* Finish the files and put them into their place. */
MUST_USE enum err export_writer_commit(struct export_writer *, struct why *);
/* What was not committed is removed. */
void export_writer_free(struct export_writer **);

#endif
