/*
 * feed_read -- a feed's entries, whatever its format.
 *
 * XML is read by expat, without external entities; expat ends what would
 * unpack itself without end.  What is malformed is read up to the fault.
 *
 * Thread: any; pure.
 */
#ifndef ENGINE_CONNECTOR_FEED_FEED_READ_H
#define ENGINE_CONNECTOR_FEED_FEED_READ_H

#include "base/bytes.h"
#include "base/err.h"

#define FEED_FIELDS(X)                                                       \
	X(ID, "entry_id")                                                    \
	X(URL, "url")                                                        \
	X(TITLE, "title")                                                    \
	X(AUTHOR, "author")                                                  \
	X(PUBLISHED, "published")                                            \
	X(UPDATED, "updated")                                                \
	X(SUMMARY, "summary")                                                \
	X(CONTENT, "content")                                                \
	X(LANGUAGE, "language")
enum feed_field {
#define FEED_FIELD_ENUM(name, text) FEED_##name,
	FEED_FIELDS(FEED_FIELD_ENUM)
#undef FEED_FIELD_ENUM
	FEED_FIELDS_N
};
const char *feed_field_name(enum feed_field);     /* "entry_id" */

/* Texts are trimmed; empty ones were not there. */
struct feed_entry {
	struct buf fields[FEED_FIELDS_N];
	struct buf categories, enclosures;     /* a NUL behind each */
};
typedef enum err feed_entry_fn(void *arg, const struct feed_entry *,
    struct why *);
void feed_entry_clear(struct feed_entry *);
void feed_entry_free(struct feed_entry *);

/* What a feed says of itself. */
struct feed_about {
	/* The document with older entries, as written there (RFC 5005:
	 * prev-archive, else next; JSON Feed: next_url); or empty. */
	struct buf older;
};

/*
 * Call entry() for each entry, in order.  JSON Feed where the text begins with
 * "{", behind a byte-order mark and blanks; else XML.  `about` may be NULL.
 * Errors: INPUT for a text that is no feed, or malformed, after the entries
 * before the fault; those of entry().
 */
MUST_USE enum err feed_read(struct str text, struct feed_about *about,
    feed_entry_fn *entry, void *arg, struct why *w);
/* The two that it chooses from. */
MUST_USE enum err feed_read_xml(struct str text, struct feed_about *about,
    feed_entry_fn *entry, void *arg, struct why *w);
MUST_USE enum err feed_read_json(struct str text, struct feed_about *about,
    feed_entry_fn *entry, void *arg, struct why *w);

#endif
