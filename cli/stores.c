#include "cli/stores.h"

#include "base/json_writer.h"
#include "engine/control/control.h"

enum err
stores_open(struct cli *c, struct store **st, struct why *w)
{
	enum err e = cli_begin(c, w);

	if (e == OK)
		e = cli_dir(c, c->data_dir, &c->data_dir, w);
	return e == OK ? engine_open_store(&c->conf, NULL, c->data_dir, st,
	    w) : e;
}

enum err
stores_find(struct cli *c, const char *what, struct store **st, struct why *w)
{
	enum err e = cli_data_dir(c, w);

	if (e == OK && conf_str(&c->conf, CONF_STORE_URL).n == 0 &&
	    !cli_is_there(arena_printf(&c->arena, "%s/store.db",
	    c->data_dir).p))
		e = why(w, ERR_ABSENT, "there is no %.70s in %s", what,
		    c->data_dir);
	return e == OK ? stores_open(c, st, w) : e;
}

void
stores_put_date(struct buf *b, const char *name, struct wall t)
{
	char iso[WALL_ISO_MAX];

	if (t.us == 0 || t.us == SCHEDULE_NEVER.us)
		json_null(b, name);
	else
		json_str(b, name, str_of(stores_date(t, iso)));
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

enum err
stores_print(struct cli *c, const struct stores_list *l, enum err e)
{
	struct buf *b = &c->out;

	if (e != OK && e != ERR_ABSENT)
		return e;
	if (cli_json(c)) {
		json_object(b, NULL);
		json_array(b, l->plural);
		for (size_t i = 0; i < l->n; i++) {
			json_object(b, NULL);
			l->row_json((const char *)l->rows + i * l->bytes_each,
			    b);
			buf_put_char(b, '}');
		}
		buf_put_text(b, "]}\n");
	} else if (l->n == 0) {
		buf_printf(b, "There is no %s in %s.\n", l->what,
		    conf_str(&c->conf, CONF_STORE_URL).n == 0 ? c->data_dir :
		    "the database of store.url");
	} else {
		l->text(l->rows, l->n, b);
	}
	return OK;
}
