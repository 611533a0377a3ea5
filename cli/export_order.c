#include "cli/export_order.h"

#include "cli/archive_files.h"
#include "cli/format.h"

/* --- files -------------------------------------------------------------- */

static bool
is_listed(const struct archive_catalogue *c, const char *path)
{
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->files[i].path, path) == 0)
			return true;
	return false;
}

/* Files come in the order of the operands, those of a directory by name. */
static enum err
list_operand(struct cli *c, const char *path, struct archive_catalogue *all,
    size_t *cap, bool *missing, struct why *w)
{
	struct archive_catalogue some;
	struct why own = WHY_INIT;
	enum err e = archive_list(&path, 1, true, &c->arena, &some, &own);

	if (e == ERR_ABSENT) {
		fprintf(stderr, CLI_PROGRAM ": %s\n", own.text);
		*missing = true;
		return OK;
	}
	if (e != OK)
		return why(w, e, "%s", own.text);
	archive_files_gone(&some);
	*missing |= some.gone_n > 0;
	for (size_t i = 0; i < some.n; i++) {
		if (is_listed(all, some.files[i].path))
			continue;
		all->files = arena_grow(&c->arena, all->files, all->n, cap,
		    64, sizeof(*all->files));
		all->files[all->n++] = some.files[i];
	}
	return OK;
}

static enum err
read_files(struct cli *c, size_t first, struct export_order *o,
    bool *missing, struct why *w)
{
	struct archive_catalogue all = { .n = 0 };
	size_t cap = 0;
	enum err e = OK;

	*missing = false;
	for (size_t i = first; i < c->options.operands_n && e == OK; i++)
		e = list_operand(c, c->options.operands[i], &all, &cap,
		    missing, w);
	if (e == OK && all.n == 0)
		e = why(w, ERR_ABSENT, "there is no WARC file in %s",
		    c->options.operands[first]);
	o->files = all.files;
	o->files_n = all.n;
	return e;
}

/* --- options ------------------------------------------------------------ */

static const char *
type_names(struct arena *a)
{
	struct buf b = BUF_INIT;
	size_t n;
	const struct item_type *types = item_types(&n);

	for (size_t i = 0; i < n; i++)
		buf_printf(&b, "%s%s", i == 0 ? "" : ", ", types[i].type);
	const char *names = arena_copy(a, buf_str(&b)).p;
	buf_free(&b);
	return names;
}

static enum err
read_types(struct cli *c, struct export_order *o, struct why *w)
{
	const struct connector_items **items = NULL;
	size_t cap = 0, n = 0;

	for (size_t i = 0; i < cli_count(c, "type"); i++) {
		struct str rest = str_of(cli_nth(c, "type", i)), name;
		while (str_split(&rest, ',', &name)) {
			items = arena_grow(&c->arena, items, n, &cap, 8,
			    sizeof(*items));
			items[n] = item_type_find(name);
			if (items[n++] == NULL)
				return why(w, ERR_USAGE, "--type %.*s: the "
				    "types are %s", STR_FMT(name),
				    type_names(&c->arena));
		}
	}
	o->items = items;
	o->items_n = n;
	return OK;
}

/* `end`: a date without a time is that of the day's last microsecond. */
static enum err
read_date(struct cli *c, const char *name, bool end, bool *has,
    struct wall *at, struct why *w)
{
	const char *text = cli_text(c, name, NULL);
	struct item_date date;

	*has = text != NULL;
	if (text == NULL)
		return OK;
	if (!item_date_parse(str_of(text), &date))
		return why(w, ERR_USAGE, "--%s %.60s: must be a date such as "
		    "2016-06-03 or 2016-06-03T12:00:00Z", name, text);
	*at = date.at;
	if (end && !date.has_time)
		at->us += 24 * 3600 * US_PER_S - 1;
	return OK;
}

static void
read_owners(struct cli *c, struct export_order *o)
{
	size_t n = cli_count(c, "uid");
	struct str *owners = ARENA_ARRAY(&c->arena, struct str, n);

	for (size_t i = 0; i < n; i++)
		owners[i] = str_of(cli_nth(c, "uid", i));
	o->by_owner = n > 0;
	o->owners = owners;
	o->owners_n = n;
}

enum err
export_order_read(struct cli *c, size_t first, struct export_order *o,
    bool *missing, struct why *w)
{
	enum err e = read_types(c, o, w);

	if (e == OK)
		e = read_date(c, "since", false, &o->has_since, &o->since, w);
	if (e == OK)
		e = read_date(c, "until", true, &o->has_until, &o->until, w);
	read_owners(c, o);
	o->dedupe = cli_count(c, "dedupe") > 0;
	o->scratch = archive_scratch(c);
	return e == OK ? read_files(c, first, o, missing, w) : e;
}

/* --- the end ------------------------------------------------------------ */

void
export_order_tell(const struct export_notes *notes)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf b = BUF_INIT;

	for (size_t i = 0; i < notes->n; i++) {
		buf_clear(&b);
		export_note_put(&notes->list[i], &b);
		fprintf(stderr, CLI_PROGRAM ": %s: %s\n",
		    export_code_text(notes->list[i].code),
		    format_text(&a, buf_str(&b), 4096));
	}
	if (notes->dropped > 0)
		fprintf(stderr, CLI_PROGRAM ": %llu more notes\n",
		    (unsigned long long)notes->dropped);
}

int
export_order_code(const struct export_result *r, bool missing)
{
	if (missing || r->counts.missing > 0)
		return err_exit(ERR_ABSENT);
	for (size_t i = 0; i < r->notes.n; i++)
		if (r->notes.list[i].code == EXPORT_WARC_DAMAGED)
			return err_exit(ERR_CORRUPT);
	return 0;
}
