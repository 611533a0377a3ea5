/* argiope config -- the settled configuration, and an example of a file. */
#include "cli/verbs.h"

#define CONFIG_OPTIONS(X)                                                    \
	X(EXAMPLE, "example", 0, NULL, FLAG, 0, 0,                           \
	    "print a configuration file in which every default stands as a " \
	    "comment")

static const struct option_row rows[] = {
	CONFIG_OPTIONS(OPTION_ROW) OPTION_JSON(OPTION_ROW)
	OPTION_COMMON(OPTION_ROW)
};

const struct option_verb config_verb = {
	"config", NULL, 0, 0,
	"Print the settled configuration, each value with where it came from",
	"Values come from the file of --config, then from the environment "
	"(ARGIOPE_FETCH_TRIES_MAX is fetch.tries_max), then from --set; the "
	"later wins.  Values that are secret are not shown.\n"
	"Exit code: 0; 78 when a value is wrong, with what would be accepted.",
	rows, ARRAY_LEN(rows)
};

int
config_run(struct cli *c)
{
	struct buf b = BUF_INIT;

	if (cli_count(c, "example") > 0)
		conf_example(&b);
	else if (cli_json(c))
		conf_print_json(&c->conf, &b);
	else
		conf_print(&c->conf, &b);
	if (b.n > 0 && b.p[b.n - 1] != '\n')
		buf_put_char(&b, '\n');
	cli_put(&b);
	buf_free(&b);
	return 0;
}
