/* argiope version */
#include "cli/verbs.h"

const struct option_verb version_verb = {
	"version", NULL, 0, 0, "Print the program's version", NULL,
	verbs_json, ARRAY_LEN(verbs_json)
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
