#include "cli/stores.h"

#include "engine/launch.h"

enum err
stores_open(struct cli *c, struct store **st, struct why *w)
{
	enum err e = cli_log(c, true, w);

	if (e == OK)
		e = cli_data_dir(c, w);
	if (e == OK)
		e = cli_dir(c, c->data_dir, &c->data_dir, w);
	return e == OK ? engine_open_store(c->data_dir, st, w) : e;
}

enum err
stores_find(struct cli *c, struct store **st, struct why *w)
{
	enum err e = cli_data_dir(c, w);

	if (e == OK && !cli_is_there(arena_printf(&c->arena, "%s/store.db",
	    c->data_dir).p))
		e = ERR_ABSENT;
	return e == OK ? stores_open(c, st, w) : e;
}

const char *
stores_date(struct wall t, char iso[static WALL_ISO_MAX])
{
	if (t.us == 0)
		return "never";
	wall_to_iso(t, iso);
	memcpy(iso + 19, "Z", 2);
	return iso;
}
