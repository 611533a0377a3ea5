/*
 * metric -- counters, gauges and histograms, and their text for Prometheus.
 *
 * A module keeps its metrics in one static array, whose rows and names come
 * from one X-macro, and registers it once:
 *
 *     #define FETCH_METRICS(X)                                              \
 *         X(PAGES,   COUNTER, "argiope_fetch_pages_total", "Pages fetched.")\
 *         X(ACTIVE,  GAUGE,   "argiope_fetch_active", "Fetches under way.") \
 *         X(SECONDS, SECONDS, "argiope_fetch_seconds", "Time per page.")
 *     enum { FETCH_METRICS(METRIC_ENUM) };
 *     static struct metric metrics[] = { FETCH_METRICS(METRIC_ROW) };
 *     ...
 *     metric_register(metrics, ARRAY_LEN(metrics));
 *     metric_add(&metrics[METRIC_PAGES], 1);
 *
 * A metric may have one label whose values are a small enum's texts: rows of
 * that kind are written by hand with METRIC_BY().  With two labels, METRIC_BY2,
 * the pair (i, j) is the value i * n2 + j, and a pair that never was is not
 * written.  All are numbers of 64 bits and change by one relaxed addition
 * (histograms: two); nothing waits.
 *
 * Thread:  any, at any time; registering too.
 * Limits:  METRIC_LABELS_MAX values of a label, or pairs of two.
 * Source:  Prometheus text format 0.0.4.
 */
#ifndef BASE_METRIC_H
#define BASE_METRIC_H

#include <stdatomic.h>

#include "base/bytes.h"

#define METRIC_LABELS_MAX 1024

/*
 * SECONDS is a histogram of times, given in nanoseconds; BYTES one of sizes.
 * Their bounds are fixed: metric_bounds().
 */
enum metric_type { METRIC_IS_COUNTER, METRIC_IS_GAUGE, METRIC_IS_SECONDS,
	METRIC_IS_BYTES };

#define METRIC_BUCKETS_MAX 24
/* Values per label value: the buckets, the unbounded one, the sum. */
#define METRIC_CELLS_MAX (METRIC_BUCKETS_MAX + 2)

struct metric {
	const char *name, *help;
	enum metric_type type;
	const char *label;                 /* NULL: none */
	const char *const *label_texts;
	const char *label2;                /* NULL: there is no second one */
	const char *const *label2_texts;
	size_t label2_n;
	size_t labels_n;                   /* all; 1 without a label */
	_Atomic int64_t *cells;            /* labels_n times METRIC_CELLS() */
	struct metric *_Atomic next;       /* the registry's */
	atomic_bool registered;
};

#define METRIC_CELLS_COUNTER 1
#define METRIC_CELLS_GAUGE 1
#define METRIC_CELLS_SECONDS METRIC_CELLS_MAX
#define METRIC_CELLS_BYTES METRIC_CELLS_MAX

/* A row, at file scope: METRIC(COUNTER, "argiope_x_total", "It counts x.") */
#define METRIC(type, name, help)                                             \
	{ name, help, METRIC_IS_##type, NULL, NULL, NULL, NULL, 0, 1,        \
	    (_Atomic int64_t[METRIC_CELLS_##type]){ 0 }, NULL, false }
/* The same with a label: its name, its texts, and how many there are. */
#define METRIC_BY(type, name, help, label, texts, n)                         \
	{ name, help, METRIC_IS_##type, label, texts, NULL, NULL, 0, n,      \
	    (_Atomic int64_t[(n) * METRIC_CELLS_##type]){ 0 }, NULL, false }
/* The same with two of them. */
#define METRIC_BY2(type, name, help, label, texts, n, label2, texts2, n2)    \
	{ name, help, METRIC_IS_##type, label, texts, label2, texts2, n2,    \
	    (size_t)(n) * (n2),                                              \
	    (_Atomic int64_t[(n) * (n2) * METRIC_CELLS_##type]){ 0 }, NULL,  \
	    false }

#define METRIC_ENUM(id, ...) METRIC_##id,
#define METRIC_ROW(id, type, name, help) METRIC(type, name, help),

/*
 * Take the metrics into the one registry.  They stay the caller's and must be
 * static; registering twice is harmless.  A name that Prometheus would refuse,
 * or that stands twice, is our own mistake.
 */
void metric_register(struct metric *, size_t n);

/* Counters only grow; a gauge may fall by a negative number. */
void metric_add(struct metric *, int64_t n);
void metric_set(struct metric *, int64_t value);          /* gauges */
/* Into a histogram: nanoseconds of a SECONDS, bytes of a BYTES; >= 0. */
void metric_observe(struct metric *, int64_t value);
/* The same for one value of the label. */
void metric_add_by(struct metric *, size_t label, int64_t n);
void metric_set_by(struct metric *, size_t label, int64_t value);
void metric_observe_by(struct metric *, size_t label, int64_t value);

/* The present value; of a histogram, the number of observations. */
int64_t metric_value(const struct metric *, size_t label);
int64_t metric_sum(const struct metric *, size_t label);  /* of a histogram */
/* The upper bounds of a histogram's buckets, rising; returns how many. */
size_t metric_bounds(enum metric_type, const int64_t **bounds);

/* Walk over all registered metrics, by name. */
void metric_each(void (*visit)(const struct metric *, void *arg), void *arg);

/* Append all of them in Prometheus' text format. */
#define METRIC_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"
void metric_write(struct buf *);

#endif
