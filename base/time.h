/*
 * time -- two clocks as two types, so that they cannot be mixed.
 *
 * `mono` never jumps and means nothing outside the process; every wait is
 * measured with it.  `wall` is UTC and may jump; it is for people and for dates
 * that must survive a restart.  Reading a clock is os/clock.h's business.
 */
#ifndef BASE_TIME_H
#define BASE_TIME_H

#include "base/bytes.h"

struct mono {
	int64_t ns;
};
struct wall {
	int64_t us;  /* since 1970-01-01T00:00:00Z */
};

#define MONO_NEVER ((struct mono){ INT64_MAX })
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)
#define US_PER_S INT64_C(1000000)

static inline struct mono
mono_add_ms(struct mono t, int64_t ms)
{
	return (struct mono){ t.ns + ms * NS_PER_MS };
}

static inline struct mono
mono_add_ns(struct mono t, int64_t ns)
{
	return (struct mono){ t.ns + ns };
}

/* From `a` to `b`, negative when `b` is earlier. */
static inline int64_t
mono_ns_between(struct mono a, struct mono b)
{
	return b.ns - a.ns;
}

static inline bool
mono_before(struct mono a, struct mono b)
{
	return a.ns < b.ns;
}

/*
 * How often something has happened, against a limit: at most `burst` times at
 * once and `per_s` times a second in the long run.  Zeroed, all is left.
 */
struct rate {
	int64_t full_at_ns;     /* when all of the burst is left again */
};

/* It has happened `n` more times, or -n times less; false: too often. */
static inline bool
rate_count(struct rate *r, int64_t n, int64_t per_s, int64_t burst,
    struct mono now)
{
	int64_t cost = NS_PER_S / MAX(per_s, 1);

	r->full_at_ns = MAX(r->full_at_ns, now.ns) + n * cost;
	return r->full_at_ns - now.ns <= cost * burst;
}

static inline int64_t
wall_s(struct wall t)
{
	return t.us / US_PER_S;
}

/* "2026-11-20T09:18:16.123456Z" into `out`, at least 28 bytes. */
#define WALL_ISO_MAX 32
void wall_to_iso(struct wall, char out[static WALL_ISO_MAX]);
/* 14 digits (CDXJ) or 17 digits (WARC names), NUL-terminated. */
void wall_to_digits(struct wall, int digits, char out[static 18]);
/*
 * ISO 8601 as WARC-Date has it (WARC 1.1 §5.4): date and time in UTC with "Z",
 * a fraction of up to nine digits optional; "t" and "z" too (RFC 3339 §5.6).
 * False on anything else.
 */
bool wall_from_iso(struct str, struct wall *out);
/*
 * An HTTP date in any of the three forms of RFC 9110 §5.6.7.  False when it is
 * none.
 */
bool wall_from_http(struct str, struct wall *out);
/* "3.2 s", "4 min 10 s", "2 h 5 min": for people. */
void duration_to_text(int64_t ns, char out[static 32]);

/* Take "Jan" ... "Dec", in any case, off the text: 0 to 11. */
bool str_take_month(struct str *, int *month);

#endif
