#include "doors/items/meter.h"

#include "base/metric.h"
#include "engine/items/items.h"

/* The limits, by their names, and one for what has no name of its own. */
static const char *const limit_names[] = {
#define LIMIT_NAME(name, value, help) #name,
	ITEM_LIMITS(LIMIT_NAME)
#undef LIMIT_NAME
	"other",
};

/* Fields of errors, and the limit that is meant. */
static const struct {
	const char *field, *limit;
} fields[] = {
	{ "data", "data_bytes_max" }, { "metadata", "data_bytes_max" },
	{ "patch", "data_bytes_max" }, { "tags", "tags_max" },
	{ "aliases", "aliases_max" }, { "blobs", "blobs_max" },
	{ "bytes", "blob_bytes_max" }, { "blob", "blob_bytes_max" },
	{ "line", "body_bytes_max" }, { "body", "body_bytes_max" },
	{ "completions", "complete_bytes_max" },
	{ "tag_names", "tag_names_max" },
	{ "readers", "event_readers_max" }, { "claims", "claims_max" },
	{ "mutations", "mutations_max" },
};

enum { CLAIMS, READERS, LAGGED, LINES, LIMITS };
static struct metric metrics[] = {
	[CLAIMS] = METRIC(GAUGE, "argiope_items_door_claims",
	    "Claims of remote workers that wait."),
	[READERS] = METRIC(GAUGE, "argiope_items_door_event_readers",
	    "Clients that follow events of items."),
	[LAGGED] = METRIC(COUNTER, "argiope_items_door_lagged_total",
	    "Event streams closed because their client was too slow."),
	[LINES] = METRIC(COUNTER, "argiope_items_door_lines_total",
	    "Lines of NDJSON imported."),
	[LIMITS] = METRIC_BY(COUNTER, "argiope_items_door_limits_total",
	    "Requests and configurations refused at a limit of items.",
	    "limit", limit_names, ARRAY_LEN(limit_names)),
};

void
items_meter_register(void)
{
	metric_register(metrics, ARRAY_LEN(metrics));
}

void
items_meter_limit(const char *field)
{
	size_t i = STR_ROW(str_of(field), fields);

	items_meter_limit_named(i < ARRAY_LEN(fields) ? fields[i].limit :
	    "other");
}

void
items_meter_limit_named(const char *limit)
{
	metric_add_by(&metrics[LIMITS], MIN(STR_ROW(str_of(limit),
	    limit_names), ARRAY_LEN(limit_names) - 1), 1);
}

void
items_meter_claims(int64_t more)
{
	metric_add(&metrics[CLAIMS], more);
}

void
items_meter_readers(int64_t more)
{
	metric_add(&metrics[READERS], more);
}

void
items_meter_lagged(void)
{
	metric_add(&metrics[LAGGED], 1);
}

void
items_meter_lines(int64_t lines)
{
	metric_add(&metrics[LINES], lines);
}
