#include "script/limits.h"

struct script_limits
script_limits_of(const struct conf *conf)
{
	return (struct script_limits){
#define SCRIPT_LIMIT_READ(name, type, id, breach)                             \
	.name = (int64_t)conf_##type(conf, CONF_##id),
		SCRIPT_LIMITS(SCRIPT_LIMIT_READ)
#undef SCRIPT_LIMIT_READ
	};
}

/* Longer than any program runs, and no overflow in nanoseconds. */
#define FOREVER_MS (INT64_C(1) << 41)

struct script_limits
script_limits_of_connector(const struct conf *conf)
{
	struct script_limits l = script_limits_of(conf);

	l.cpu_ms_max = conf_ms(conf, CONF_SCRIPT_CONNECTOR_CPU_MS_MAX);
	l.wall_ms_max = conf_ms(conf, CONF_SCRIPT_CONNECTOR_WALL_MS_MAX);
	l.turn_ms_max = FOREVER_MS;
	l.fetches_max = INT64_MAX;
	return l;
}
