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
