/*
 * export_readme -- README.txt of an export: what a paper that uses it would
 * say: what was exported from where and how, and what the columns mean.
 *
 * Thread: one.
 */
#ifndef ENGINE_EXPORT_EXPORT_README_H
#define ENGINE_EXPORT_EXPORT_README_H

#include "engine/export/export.h"
#include "engine/export/export_format.h"

/* Items a day, in UTC; EXPORT_NO_DAY for those without a date. */
#define EXPORT_NO_DAY INT32_MIN
#define EXPORT_DAYS_MAX 10000u
struct export_days {
	struct export_day {
		int32_t day;         /* since 1970 */
		uint64_t n;
	} *list;                     /* sorted */
	size_t n, cap;
	uint64_t others;             /* of days beyond EXPORT_DAYS_MAX */
};
void export_days_add(struct export_days *, int32_t day);
void export_days_free(struct export_days *);

/*
 * Write it into `dir`, synced.  WARC files are read once more for their SHA-1.
 * Errors: those of the file; a WARC file that cannot be read has no digest.
 */
MUST_USE enum err export_readme_write(const struct export_order *,
    const struct export_result *, const struct export_days *,
    const struct export_selection *, const char *dir, struct why *);

#endif
