#include "doors/external/meter.h"

#include "base/bytes.h"
#include "base/metric.h"

static const char *const results[] = { "spooled", "rejected" };
static const char *const refreshes[] = { "done", "failed" };
static const char *const limits[] = { "tasks_max", "checks_max",
	"choices_max", "runs_max", "oauth_compat", "other" };
/* The first three are steps of a login that ends with "signed_in". */
static const char *const outcomes[] = { "asked", "begun", "signed_in",
	"stands", "token", "cleared", "refused", "limited", "failed" };

enum { TASKS, SPOOL, DOCUMENTS, REFRESHES, LIMITS, OAUTH };
static struct metric metrics[] = {
	[TASKS] = METRIC(GAUGE, "argiope_external_tasks",
	    "Open tasks of this daemon."),
	[SPOOL] = METRIC(GAUGE, "argiope_external_spool_bytes",
	    "Documents on their way to back ends, in bytes."),
	[DOCUMENTS] = METRIC_BY(COUNTER, "argiope_external_documents_total",
	    "Documents that connectors have given.", "result", results,
	    ARRAY_LEN(results)),
	[REFRESHES] = METRIC_BY(COUNTER, "argiope_external_refreshes_total",
	    "Refreshes of users' OAuth tokens.", "result", refreshes,
	    ARRAY_LEN(refreshes)),
	[LIMITS] = METRIC_BY(COUNTER, "argiope_external_limits_total",
	    "Requests refused at a limit.", "limit", limits,
	    ARRAY_LEN(limits)),
	[OAUTH] = METRIC_BY(COUNTER, "argiope_external_oauth_total",
	    "Calls of front ends about signing in.", "outcome", outcomes,
	    ARRAY_LEN(outcomes)),
};

void
external_meter_register(void)
{
	metric_register(metrics, ARRAY_LEN(metrics));
}

void
external_meter_documents(size_t good, size_t rejected)
{
	metric_add_by(&metrics[DOCUMENTS], 0, (int64_t)good);
	metric_add_by(&metrics[DOCUMENTS], 1, (int64_t)rejected);
}

void
external_meter_refresh(bool is_done)
{
	metric_add_by(&metrics[REFRESHES], is_done ? 0 : 1, 1);
}

void
external_meter_limit(const char *name)
{
	metric_add_by(&metrics[LIMITS], MIN(STR_ROW(str_of(name), limits),
	    ARRAY_LEN(limits) - 1), 1);
}

void
external_meter_oauth(const char *outcome)
{
	size_t i = STR_ROW(str_of(outcome), outcomes);

	CHECK(i < ARRAY_LEN(outcomes));
	metric_add_by(&metrics[OAUTH], i, 1);
}

void
external_meter_open(size_t tasks, uint64_t spool_bytes)
{
	metric_set(&metrics[TASKS], (int64_t)tasks);
	metric_set(&metrics[SPOOL], (int64_t)spool_bytes);
}
