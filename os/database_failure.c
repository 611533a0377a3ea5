#include "os/database_failure.h"

#include <pthread.h>

#include "base/metric.h"
#include "os/clock.h"
#include "os/database_own.h"

/* One that cannot be written; it is the database's. */
struct failing {
	struct list node;
	struct database_failure told;
};

#define FAILURE_METRICS(X)                                                   \
	X(FAILING, GAUGE, "argiope_databases_failing",                       \
	    "Databases whose last write has failed; /status names them.")    \
	X(FAILURES, COUNTER, "argiope_database_write_failures_total",        \
	    "Writes that a database's disk or server has refused.")
enum { FAILURE_METRICS(METRIC_ENUM) };

static struct metric metrics[] = { FAILURE_METRICS(METRIC_ROW) };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct list all = { &all, &all };   /* in the order of `since` */

void
database_failure_register(void)
{
	metric_register(metrics, ARRAY_LEN(metrics));
}

/* Whether the database is to blame, not what was to be written. */
static bool
is_its_own(const struct database *d, enum err e)
{
	switch (e) {
	case OK:
	case ERR_INPUT:
	case ERR_EXISTS:
	case ERR_STATE:
	case ERR_FULL:
		return false;
	case ERR_BUSY:
		/* Of PostgreSQL a conflict, which the next attempt need not
		 * meet. */
		return !database_is_postgresql(d);
	default:
		return true;
	}
}

void
database_write_failed(struct database *d, const struct why *w)
{
	struct failing *f = d->failing;

	if (!is_its_own(d, w->err))
		return;
	metric_add(&metrics[METRIC_FAILURES], 1);
	pthread_mutex_lock(&lock);
	if (f == NULL) {
		f = d->failing = mem_new(sizeof(*f));
		f->told.since = clock_wall();
		list_put(&all, &f->node);
		metric_add(&metrics[METRIC_FAILING], 1);
	}
	f->told.why = *w;
	pthread_mutex_unlock(&lock);
}

void
database_write_succeeded(struct database *d)
{
	if (d->failing == NULL)
		return;
	pthread_mutex_lock(&lock);
	list_take(&d->failing->node);
	pthread_mutex_unlock(&lock);
	metric_add(&metrics[METRIC_FAILING], -1);
	mem_free(&d->failing);
}

bool
database_is_failing(const struct database *d)
{
	return d->failing != NULL;
}

size_t
database_failures(struct database_failure *out, size_t most)
{
	size_t n = 0;

	pthread_mutex_lock(&lock);
	LIST_EACH(f, &all, struct failing, node) {
		if (n < most)
			out[n] = f->told;
		n++;
	}
	pthread_mutex_unlock(&lock);
	return n;
}
