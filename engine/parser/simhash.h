/*
 * simhash -- 64 bits that change little when a text changes little.
 *
 * Features are pairs of neighbouring words; a word is a run of ASCII letters
 * and digits and of bytes above 127, letters without case.  Text may come in
 * pieces; the end of a piece ends a word.
 * Source: M. Charikar, STOC 2002; G. Manku and others, WWW 2007.
 */
#ifndef ENGINE_PARSER_SIMHASH_H
#define ENGINE_PARSER_SIMHASH_H

#include "base/bytes.h"

#define SIMHASH_PLANES 32
#define SIMHASH_BATCH 8

/*
 * The 64 counters stand upright: plane k holds bit k of all of them, so that
 * one addition serves 64.  At most 2^32 - 1 words count.
 */
struct simhash {
	uint64_t plane[SIMHASH_PLANES];
	uint64_t pending[SIMHASH_BATCH];
	uint64_t before;        /* hash of the word before */
	uint32_t words;
	uint32_t pending_n;
};
#define SIMHASH_INIT ((struct simhash){ .words = 0 })

void simhash_add(struct simhash *, struct str text);
/* 0 for a text of less than two words. */
uint64_t simhash_value(const struct simhash *);

#endif
