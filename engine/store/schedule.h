/*
 * schedule -- when a crawl or a harvest that repeats is to start.
 *
 * Pure: no clock and no store.  Times are UTC.  The runs of a schedule with
 * regular timing lie on a grid: start_at, start_at + every, start_at + 2 every
 * ...; months and years are counted from start_at, so that a schedule of
 * 31 January meets 28 February and then 31 March again.  Runs that were missed
 * collapse into one: what is due runs once, and the next lies after now.
 *
 * docs/protocols/realtime.md section 8.
 */
#ifndef ENGINE_STORE_SCHEDULE_H
#define ENGINE_STORE_SCHEDULE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/time.h"

#define SCHEDULE_EVERY_MAX 10000u    /* units between two runs */
#define SCHEDULE_NAME_BYTES_MAX 200u /* of a crawl, after {COUNT} and so on */
#define SCHEDULE_NEVER ((struct wall){ INT64_MAX })
#define SCHEDULE_NO_CRAWL UINT64_MAX

#define SCHEDULE_UNITS(X) \
	X(MINUTES, "minutes") X(HOURS, "hours") X(DAYS, "days") \
	X(WEEKS, "weeks") X(MONTHS, "months") X(YEARS, "years")
enum schedule_unit {
#define SCHEDULE_UNIT_ENUM(name, text) SCHEDULE_##name,
	SCHEDULE_UNITS(SCHEDULE_UNIT_ENUM)
#undef SCHEDULE_UNIT_ENUM
	SCHEDULE_UNIT_COUNT
};

enum schedule_timing {
	SCHEDULE_REGULAR,        /* "regular_interval" */
	SCHEDULE_AFTER,          /* "after_previous": waits for its crawl */
	SCHEDULE_TIMING_COUNT
};

struct schedule {
	uint64_t id;             /* from 1, never used again; 0: not put yet */
	struct str name;
	struct str seeds;        /* JSON, as the engine takes it */
	struct str policy;       /* a policy's name; empty: policy_json */
	struct str policy_json;  /* a policy of its own; empty: policy */
	const struct str *tags;
	size_t tags_n;
	unsigned every;
	enum schedule_unit unit;
	enum schedule_timing timing;
	struct str name_template;   /* empty: "NAME #{COUNT}" */
	struct wall start_at;
	struct wall next_at;     /* NEVER while its crawl is waited for */
	uint64_t runs;
	uint64_t last_crawl;     /* NO_CRAWL before the first run */
	bool is_elsewhere;       /* last_crawl is another daemon's number */
	/* Of its next run's crawl, from store_schedule_due(): "ID/RUN". */
	struct str key;
	/* One that harvests has no seeds and no policy, but these. */
	struct str harvest_type; /* "feed_entries"; empty: it crawls */
	struct str harvest;      /* JSON: what engine/harvest begins */
	uint64_t skips;          /* runs left out: the last one still ran */
};

/* The texts of the contract, and back; false on any other. */
const char *schedule_unit_text(enum schedule_unit);
bool schedule_unit_of(struct str, enum schedule_unit *);
const char *schedule_timing_text(enum schedule_timing);
bool schedule_timing_of(struct str, enum schedule_timing *);

/* INPUT, naming the field, when every, unit, timing or start_at is none. */
MUST_USE enum err schedule_check(const struct schedule *, struct why *);

/* `n` intervals of the schedule behind `from`; NEVER beyond the year 9999. */
struct wall schedule_step(const struct schedule *, struct wall from,
    uint64_t n);
/* The first run of one that is put at `now`: not before start_at, nor now. */
struct wall schedule_first(const struct schedule *, struct wall now);
/*
 * The run after one that starts at `now`: regular, the first on the grid that
 * lies later; after_previous, NEVER until schedule_after().
 */
struct wall schedule_next(const struct schedule *, struct wall now);
/* The next run of an after_previous whose crawl ended at `ended`. */
struct wall schedule_after(const struct schedule *, struct wall ended);

/*
 * The name of the crawl that starts at `now`, from the template: {COUNT} is
 * runs + 1, {DATE} 2026-11-20, {TIME} 09:18:16; other braces stay.  Cut to
 * SCHEDULE_NAME_BYTES_MAX bytes, in no character.
 */
struct str schedule_name(const struct schedule *, struct wall now,
    struct arena *);

#endif
