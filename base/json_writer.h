/*
 * json_writer -- writes JSON texts member by member.
 *
 * A call writes `"name":value`, after a comma if another value precedes it in
 * the same object or array:
 *
 *     json_object(b, NULL);            {
 *     json_u64(b, "total", 2);         "total":2
 *     json_array(b, "names");          ,"names":[
 *     json_item(b, STR("a"));          "a"
 *     buf_put_text(b, "]}");           ]}
 *
 * The caller writes the closing brackets.  Names are written as they are: they
 * contain nothing that JSON would escape.  A new line begins a new JSON text.
 *
 * Thread: any; pure.
 */
#ifndef BASE_JSON_WRITER_H
#define BASE_JSON_WRITER_H

#include "base/bytes.h"
#include "base/time.h"

/* Begin an object; without a name it is an element of an array, or the root. */
void json_object(struct buf *, const char *name);
/* The same for an array. */
void json_array(struct buf *, const char *name);
/* The name alone; the caller writes the value. */
void json_name(struct buf *, const char *name);
/* The comma alone, where a value that the caller writes needs one. */
void json_comma(struct buf *);

/* A text; see text_json(). */
void json_str(struct buf *, const char *name, struct str);
void json_u64(struct buf *, const char *name, uint64_t);
/* With up to 6 decimals; trailing zeros are left out.  Not finite: null. */
void json_real(struct buf *, const char *name, double);
/* With exactly so many decimals. */
void json_decimals(struct buf *, const char *name, double, int decimals);
void json_bool(struct buf *, const char *name, bool);
void json_null(struct buf *, const char *name);
/* JSON that is written already. */
void json_raw(struct buf *, const char *name, struct str json);
/* An array of texts. */
void json_strs(struct buf *, const char *name, const struct str *, size_t n);
/* Unix seconds with microseconds; null when the time is 0 or never. */
void json_time(struct buf *, const char *name, struct wall);
/* A text as an element of an array. */
void json_item(struct buf *, struct str);

#endif
