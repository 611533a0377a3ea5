/* argiope version */
#include "cli/verbs.h"

static const struct option_row rows[] = {
	OPTION_JSON(OPTION_ROW) OPTION_COMMON(OPTION_ROW)
};

const struct option_verb version_verb = {
	"version", NULL, 0, 0, "Print the program's version", NULL,
	rows, ARRAY_LEN(rows)
};

enum err
version_run(struct cli *c, struct why *w)
{
	(void)w;
	if (cli_json(c))
		puts("{\"name\":\"" CLI_PROGRAM "\",\"version\":\""
		    ARGIOPE_VERSION "\"}");
	else
		puts(CLI_PROGRAM " " ARGIOPE_VERSION);
	return OK;
}
