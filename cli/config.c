/* argiope config -- the settled configuration, and an example of a file. */
#include "cli/verbs.h"

static const struct option_row rows[] = {
	OPTION_ROW(EXAMPLE, "example", 0, NULL, FLAG, 0, 0,
	    "print a configuration file in which every default stands as a "
	    "comment")
	OPTION_JSON(OPTION_ROW) OPTION_COMMON(OPTION_ROW)
};

const struct option_verb config_verb = {
	"config", NULL, 0, 0,
	"Print the settled configuration, each value with where it came from",
	"Values come from the file of --config, then from the environment "
	"(ARGIOPE_FETCH_TRIES_MAX is fetch.tries_max), then from --set; the "
	"later wins.  Values that are secret are not shown.  data.dir is the "
	"directory that is used, with the variable or option that names it.\n"
	"Exit code: 0; 78 when a value is wrong, with what would be accepted.",
	rows, ARRAY_LEN(rows)
};

/* As it is found from here, whether it is there yet or not. */
static enum err
show_data_dir(struct cli *c, struct why *w)
{
	struct str dir = conf_str(&c->conf, CONF_DATA_DIR);
	const struct conf_value *v = &c->conf.values[CONF_DATA_DIR];
	enum err e = OK;

	if (dir.n == 0)
		return OK;
	char *real = realpath(dir.p, NULL);
	char *here = real == NULL && dir.p[0] != '/' ? realpath(".", NULL) :
	    NULL;
	const char *place = v->place == NULL ? NULL :
	    arena_copy(&c->arena, str_of(v->place)).p;
	if (here != NULL)
		dir = arena_printf(&c->arena, "%s/%s", here, dir.p);
	else if (real != NULL)
		dir = arena_copy(&c->arena, str_of(real));
	if (here != NULL || real != NULL)
		e = conf_put(&c->conf, CONF_DATA_DIR, dir, v->origin, place, w);
	free(real);
	free(here);
	return e;
}

enum err
config_run(struct cli *c, struct why *w)
{
	struct buf *b = &c->out;
	enum err e = show_data_dir(c, w);

	if (e != OK)
		return e;
	if (cli_count(c, "example") > 0)
		conf_example(b);
	else if (cli_json(c))
		conf_print_json(&c->conf, b);
	else
		conf_print(&c->conf, b);
	if (b->n > 0 && b->p[b->n - 1] != '\n')
		buf_put_char(b, '\n');
	return OK;
}
