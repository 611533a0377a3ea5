#include "script/web/api_types.h"

static const char text[] = {
#include "argiope_types.inc"
};

struct str
api_types(void)
{
	return (struct str){ text, sizeof(text) };
}
