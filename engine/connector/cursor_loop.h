/*
 * cursor_loop -- notices that a list's cursors repeat, in constant memory.
 *
 * The cursor of every page is compared with the one before it and with a mark,
 * which moves to the latest cursor after 1, 2, 4, 8 ... pages (Brent's
 * algorithm).  A loop of any length is found after at most three times as many
 * pages as there were before it closed.
 *
 * Thread: one at a time; pure.
 * Source: contracts/platforms.md §1: a cursor seen twice ends the loop.
 */
#ifndef ENGINE_CONNECTOR_CURSOR_LOOP_H
#define ENGINE_CONNECTOR_CURSOR_LOOP_H

#include "base/bytes.h"

struct cursor_loop {             /* zeroed: no page so far */
	uint64_t last, mark;         /* hashes of cursors */
	uint64_t pages, mark_at;     /* so far; when the mark moves next */
};

/* Count a page that leads to this cursor.  True: it has come before. */
bool cursor_loop_closes(struct cursor_loop *, struct str cursor);

/* As part of a checkpoint. */
void cursor_loop_save(const struct cursor_loop *, struct buf *);
void cursor_loop_read(struct cursor_loop *, struct reader *);

#endif
