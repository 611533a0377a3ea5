/*
 * format -- numbers and foreign texts as people read them.
 *
 * What comes from a server is shown as printable ASCII only: it must not move
 * the cursor of the one who watches.
 */
#ifndef CLI_FORMAT_H
#define CLI_FORMAT_H

#include "base/arena.h"
#include "base/time.h"

#define FORMAT_MAX 32
/* "1,234,567" */
const char *format_count(uint64_t, char out[static FORMAT_MAX]);
/* "12.3 MB": powers of 1,000. */
const char *format_bytes(uint64_t, char out[static FORMAT_MAX]);
/* "123", "12.3", "0.4": at most three digits that matter. */
const char *format_rate(double, char out[static FORMAT_MAX]);
/* At most `max` bytes; what is no printable ASCII as \xHH. */
void format_safe(struct buf *, struct str, size_t max);
/* The same as a text.  Memory: the arena's. */
const char *format_text(struct arena *, struct str, size_t max);
/* Each line behind `indent`, as format_safe() has it. */
void format_lines(struct buf *, struct str, const char *indent);
/* "name":"2026-11-20T09:18:16.123456Z", after a comma if need be. */
void format_json_time(struct buf *, const char *name, struct wall);
/* A word for a shell: quoted where it must be. */
void format_shell(struct buf *, const char *word);

#endif
