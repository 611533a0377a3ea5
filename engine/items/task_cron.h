/*
 * task_cron -- the next time of a line of cron: five fields, in UTC.
 *
 *     minute hour day-of-month month day-of-week
 *       0      3       *         *        1          Mondays at 03:00
 *
 * A field is "*", a number, a range "1-5", one of both with a step ("*" or
 * "1-30" and "/10"), or a list of these with commas.  Months and days of the
 * week have names as well (JAN, mon); 0 and 7 are Sunday.  As crontab(5) has
 * it, a line whose two fields of days are both restricted, that is, do not
 * begin with "*", names the days that fulfil either of them.
 *
 * Thread: any; pure.
 */
#ifndef ENGINE_ITEMS_TASK_CRON_H
#define ENGINE_ITEMS_TASK_CRON_H

#include "base/err.h"
#include "base/time.h"

/* Sets of numbers, a bit each. */
struct task_cron {
	uint64_t minutes, hours, days, months, weekdays;
	bool either_day;         /* both fields of days are restricted */
};

/*
 * Errors: INPUT when the text is no such line, or names a day that never comes
 * (30 February); the text says which field.
 */
MUST_USE enum err task_cron_parse(struct str, struct task_cron *,
    struct why *);
/* The first such minute after `t`; `t` lies between the years 1 and 9900. */
struct wall task_cron_next(const struct task_cron *, struct wall t);

#endif
