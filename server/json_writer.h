/*
 * json_writer -- writes members of JSON objects: `,"name":value`, with the
 * comma only after another member.
 *
 * Thread: any.
 */
#ifndef SERVER_JSON_WRITER_H
#define SERVER_JSON_WRITER_H

#include "base/bytes.h"
#include "base/time.h"

void out_name(struct buf *, const char *name);
void out_text(struct buf *, const char *name, struct str);
void out_u64(struct buf *, const char *name, uint64_t);
/* With up to 6 decimals; trailing zeros are left out. */
void out_real(struct buf *, const char *name, double);
void out_bool(struct buf *, const char *name, bool);
void out_null(struct buf *, const char *name);
void out_texts(struct buf *, const char *name, const struct str *, size_t n);
/* Unix seconds with microseconds; null when it is 0. */
void out_time(struct buf *, const char *name, struct wall);
/* The comma before an element of an array, if it needs one. */
void out_comma(struct buf *);

#endif
