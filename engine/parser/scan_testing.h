/*
 * scan_testing -- reads a page by the scanner or by lexbor's tokenizer, which
 * is the scanner's oracle, and tells the same consumer about its tags and
 * texts.
 *
 * Thread: one.
 */
#ifndef ENGINE_PARSER_SCAN_TESTING_H
#define ENGINE_PARSER_SCAN_TESTING_H

#include "engine/parser/scan.h"

/* The functions that are told about a page, in its order. */
struct scan_consumer {
	/* A start tag; true when its inside is text. */
	bool (*open)(void *ctx, const struct scan_token *);
	void (*close)(void *ctx, uintptr_t tag);
	void (*text)(void *ctx, struct str);
	void *ctx;
};

/* By the scanner with that form of masks; no limit on attributes. */
void scan_testing_read(struct str page, scan_mask_fn *,
    const struct scan_consumer *);
/* By lexbor, in one chunk. */
void scan_testing_read_lexbor(struct str page, const struct scan_consumer *);

/*
 * All tags and texts, one a line, with every attribute that counts.  Elements
 * such as <script> have text inside unless an <svg> or <math> is open.
 */
struct scan_log {
	struct buf text;
	unsigned foreign;
};
struct scan_consumer scan_testing_log(struct scan_log *);

#endif
