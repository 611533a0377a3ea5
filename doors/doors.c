/* doors/meson.build defines DOORS_BUILT and DOORS_KNOWN from doors.txt. */
#include "doors/doors.h"

#define DOOR_DECLARE(name) extern const struct door door_##name;
DOORS_BUILT(DOOR_DECLARE)
#undef DOOR_DECLARE

/* NULL at the end: a build may have no door. */
static const struct door *const built[] = {
#define DOOR_ROW(name) &door_##name,
	DOORS_BUILT(DOOR_ROW)
#undef DOOR_ROW
	NULL
};

static const char *const known[] = {
#define DOOR_NAME(name) #name,
	DOORS_KNOWN(DOOR_NAME)
#undef DOOR_NAME
};

void
doors_start(void)
{
	doors_use(built, ARRAY_LEN(built) - 1);
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		(void)token_door_add(known[i]);
}
