#include "engine/policy/skip_reason.h"

static const struct {
	const char *name, *text;
} reasons[SKIP_COUNT] = {
#define SKIP_ROW(name, word, text) { word, text },
	SKIP_TABLE(SKIP_ROW)
#undef SKIP_ROW
};

const char *
skip_name(enum skip_reason r)
{
	CHECK(r < SKIP_COUNT);
	return reasons[r].name;
}

const char *
skip_text(enum skip_reason r)
{
	CHECK(r < SKIP_COUNT);
	return reasons[r].text;
}
