#include "os/transport.h"

static const struct {
	const char *word, *text;
} ends[] = {
#define TRANSPORT_ROW(name, word, text) { word, text },
	TRANSPORT_ENDS(TRANSPORT_ROW)
#undef TRANSPORT_ROW
};

const char *
transport_end_word(enum transport_end end)
{
	CHECK(end < TRANSPORT_END_COUNT);
	return ends[end].word;
}

const char *
transport_end_text(enum transport_end end)
{
	CHECK(end < TRANSPORT_END_COUNT);
	return ends[end].text;
}

void
transport_free(struct transport **tp)
{
	if (*tp != NULL)
		(*tp)->table->free(tp);
}
