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
#define SIMHASH_LANES 4
#define SIMHASH_BATCH (8 * SIMHASH_LANES)
#define SIMHASH_BLOCK 64
#define SIMHASH_GATHERED_MAX 2048
#define SIMHASH_WORDS_MAX UINT32_MAX

struct simhash;
/* Hash the words of so many blocks of `gathered`. */
typedef void simhash_form(struct simhash *, size_t blocks);

/*
 * The 64 counters are sliced by bits: plane k has bit k of all of them, so that
 * one addition serves 64.  Each lane counts a part of the pairs by itself, as
 * vector registers want it; simhash_value() adds the lanes.
 */
struct simhash {
	uint64_t plane[SIMHASH_PLANES][SIMHASH_LANES];
	/* Pairs not yet counted; the first word, which has none, is pair 0. */
	uint64_t pending[1 + SIMHASH_BATCH];
	uint64_t before;        /* hash of the word before */
	uint32_t words;
	uint32_t pending_n;
	uint32_t batches;       /* that were counted */
	uint32_t gathered_n;
	simhash_form *form;     /* NULL: the fastest that this processor runs */
	/* Texts not yet hashed; what lies behind is read with them. */
	char gathered[SIMHASH_GATHERED_MAX + SIMHASH_BLOCK];
};
#define SIMHASH_INIT ((struct simhash){ .words = 0 })

/* The text is hashed at once or copied.  From about SIMHASH_WORDS_MAX on words
 * do not count. */
void simhash_add(struct simhash *, struct str text);
/* The hash, 0 for less than two words, and how many words there are. */
uint64_t simhash_value(struct simhash *, uint32_t *words);

/* The form that every processor runs, which is the oracle of the other. */
void simhash_portable(struct simhash *, size_t blocks);
/* The form for AVX2 and BMI2, or NULL where the processor or the build lacks
 * them. */
simhash_form *simhash_wide(void);

#endif
