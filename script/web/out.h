/*
 * out -- text that grows in a script's heap.
 *
 * Sticky: once the heap's limit is met nothing more is put, and `full` stays
 * true; check it once.
 *
 * Thread: the runtime's.
 */
#ifndef SCRIPT_WEB_OUT_H
#define SCRIPT_WEB_OUT_H

#include <quickjs.h>

#include "base/bytes.h"

struct out {
	JSRuntime *rt;
	char *p;
	size_t n, cap;
	bool full;
};
#define OUT_OF(runtime) ((struct out){ .rt = (runtime) })

/* Gives the memory back. */
void out_free(struct out *);
/* Room for `n` more bytes behind out->n; false when the limit is met. */
bool out_room(struct out *, size_t n);
void out_put(struct out *, const void *, size_t n);
void out_str(struct out *, struct str);
void out_char(struct out *, char);
/* The UTF-8 of one code point; a surrogate or what is no code point becomes
 * U+FFFD. */
void out_point(struct out *, uint32_t);
struct str out_text(const struct out *);

#endif
