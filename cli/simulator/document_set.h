/*
 * document_set -- the documents that a task has uploaded, each once.
 *
 * A document with an id replaces the one with the same id; one without is
 * known by the SHA-256 of its JSON, written without blanks.  An upload that
 * came before, by its Idempotency-Key, is known by document_set_upload().
 * With `hashes_only` a set keeps the SHA-256 of ids, or of documents without
 * one, and counts.
 *
 * Thread: one.
 * Limits: those given to document_set_new().
 * Source: external.md §4, §12.
 */
#ifndef CLI_SIMULATOR_DOCUMENT_SET_H
#define CLI_SIMULATOR_DOCUMENT_SET_H

#include <yyjson.h>

#include "base/bytes.h"
#include "base/err.h"
#include "wire/digest.h"

struct document_limits {
	size_t documents_max, uploads_max;
	size_t bytes_max;        /* of documents, of all sets together */
	bool hashes_only;        /* then it bounds what is kept of the hashes */
};

struct document_set;

/* `bytes` counts what all sets keep, and outlives them. */
struct document_set *document_set_new(struct document_limits,
    size_t *bytes);
void document_set_free(struct document_set **);

/*
 * Add a document, or replace the one with this id (STR_NONE: it has none).
 * `*duplicate` says whether it was there.  Errors: FULL, naming the limit;
 * nothing has changed then.
 */
MUST_USE enum err document_set_put(struct document_set *, struct str id,
    yyjson_val *document, bool *duplicate, struct why *);
size_t document_set_count(const struct document_set *);
/* All documents, as NDJSON without a line feed after the last; nothing when
 * only hashes are kept. */
void document_set_write(const struct document_set *, struct buf *out);

/* An upload that was accepted, and what it was answered. */
struct upload_answer {
	int status;
	struct str json;
};
/*
 * The answer that the upload of this key got; false when there was none.
 * `same` says whether its content was the same as `content`.
 */
bool document_set_upload(const struct document_set *, struct str key,
    struct str content, bool *same, struct upload_answer *);
/* Remember one, whose texts are copied.  Errors: FULL. */
MUST_USE enum err document_set_note_upload(struct document_set *,
    struct str key, struct str content, struct upload_answer, struct why *);
/* Whether uploads_max keys are remembered. */
bool document_set_is_full(const struct document_set *);

#endif
