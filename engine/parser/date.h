/*
 * date -- the dates that sitemaps and feeds carry, however they spell them.
 *
 * Source: W3C NOTE-datetime, RFC 822 section 5 with RFC 2822's years.
 */
#ifndef ENGINE_PARSER_DATE_H
#define ENGINE_PARSER_DATE_H

#include "base/time.h"

/*
 * "2026", "2026-11", "2026-11-20", "2026-11-20T10:00+01:00", or
 * "Fri, 20 Nov 2026 10:00:00 +0100" where the day of the week, the seconds and
 * the first two digits of the year may be missing.  False on anything else; no
 * zone means UTC.
 */
bool date_parse(struct str, struct wall *out);

#endif
