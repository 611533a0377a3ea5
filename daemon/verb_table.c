#include "daemon/verb_table.h"

#include "cli/verbs.h"
#include "doors/doors.h"

static const struct verb verbs[] = {
#define VERB_ROW(name) { &name##_verb, name##_run },
	VERBS(VERB_ROW)
#undef VERB_ROW
};

void
verb_table_use(void)
{
	doors_start();
	verbs_use(verbs, ARRAY_LEN(verbs));
}
