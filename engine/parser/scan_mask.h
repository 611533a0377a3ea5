/*
 * scan_mask -- finds the characters that matter to the HTML scanner, in 64
 * bytes at a time.
 *
 *     <a href="x">y &amp; z
 *     x                      MASK_TEXT    what may end or change a text
 *       x    x   x           MASK_NAME    what may end a name in a tag
 *             x x  ..        MASK_VALUE   what may end or change a value
 *
 * Bit i of a mask stands for byte i.  The portable form and the one for AVX2
 * give the same masks for all bytes; the first serves every processor and is
 * the oracle of the second.
 *
 * Thread: any.
 */
#ifndef ENGINE_PARSER_SCAN_MASK_H
#define ENGINE_PARSER_SCAN_MASK_H

#include "base/base.h"

#define MASK_BLOCK 64u

enum mask_class {
	MASK_TEXT,     /* < & CR */
	MASK_NAME,     /* TAB LF FF CR SP / = > */
	MASK_VALUE,    /* " ' & CR NUL */
	MASK_CLASSES
};

/* Reads MASK_BLOCK bytes at `p`. */
typedef void scan_mask_fn(const char *p, uint64_t mask[MASK_CLASSES]);

/* The form that every processor runs. */
void scan_mask_portable(const char *p, uint64_t mask[MASK_CLASSES]);
/* The form for AVX2, or NULL where the processor or the build lacks it. */
scan_mask_fn *scan_mask_wide(void);
/* The fastest form that this processor runs. */
scan_mask_fn *scan_mask_best(void);

#endif
