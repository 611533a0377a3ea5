/*
 * export_reader -- the items in WARC files: chooses the records, decodes their
 * bodies, cuts these into texts and has a connector find the items in them.
 *
 *     record ─► HTTP head ─► choose() ─► whole body ──────────► text
 *                                   └──► pieces ─► line, line ...
 *
 * A body of lines is never held as a whole.  Damage costs a record; what came
 * whole before it has been given by then.
 *
 * Thread: one.
 */
#ifndef ENGINE_EXPORT_EXPORT_READER_H
#define ENGINE_EXPORT_EXPORT_READER_H

#include "engine/archive/walk.h"
#include "engine/connector/items.h"

/* Where the reader stands. */
struct export_place {
	const struct archive_file *file;
	uint64_t offset;          /* of the record */
	struct str uri;
};

struct export_reader_events {
	/* Who knows such an answer; NULL: nobody, it is passed over. */
	const struct connector_items *(*choose)(void *arg, struct str uri,
	    struct str content_type, bool resource);
	item_fn *item;
	/* Something could not be read; `what` is a half sentence. */
	void (*fault)(void *arg, struct str what);
	/* The description of a declared platform, a metadata record. */
	void (*description)(void *arg, struct str text);
	/* Asked before each record; NULL: it reads to the end. */
	bool (*is_done)(void *arg);
};

struct export_reader;
struct export_reader *export_reader_new(const struct export_reader_events *,
    void *arg);
void export_reader_free(struct export_reader **);
/*
 * Read a file to its end.  Errors: the first of item(); CLOSED when it is done;
 * ABSENT, DENIED and IO when the file cannot be opened.
 */
MUST_USE enum err export_reader_read(struct export_reader *,
    const struct archive_file *, struct why *);
/* For use in the events. */
const struct export_place *export_reader_place(const struct export_reader *);
uint64_t export_reader_records(const struct export_reader *);

#endif
