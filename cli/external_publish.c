/*
 * argiope external publish -- the version of a connector that tasks run which
 * name none, and the versions that there are.
 */
#include "base/json_writer.h"
#include "cli/format.h"
#include "cli/stores.h"
#include "cli/verbs.h"
#include "engine/store/store_external.h"
#include "os/clock.h"

static const struct option_row rows[] = {
	OPTION_ROW(NEWEST, "newest", 0, NULL, FLAG, 0, 0,
	    "publish none: such tasks run the newest version")
	OPTION_ROW(JSON, "json", 'j', NULL, FLAG, 0, 0, "print JSON")
	OPTION_COMMON(OPTION_ROW)
};

const struct option_verb external_publish_verb = {
	"external publish", "CONNECTOR [VERSION]", 1, 2,
	"Choose the version of a connector that tasks run which name none",
	"Without VERSION and --newest the registered versions are listed: back "
	"end, version, its object there, when it was registered, and whether "
	"it is published.  Where a back end lacks the published version its "
	"tasks run the newest that it has.\n"
	"Exit code: 0; 65 VERSION is no whole number from 1; 66 no back end "
	"has that version.",
	rows, ARRAY_LEN(rows)
};

/* A row, and whether it is the published one. */
struct version_row {
	struct store_registration r;
	bool is_published;
};

static void
row_json(const void *row, struct buf *b)
{
	const struct version_row *v = row;

	json_str(b, "backend", v->r.backend);
	json_str(b, "connector", v->r.connector);
	json_u64(b, "version", v->r.version);
	json_str(b, "fid", v->r.fid);
	json_str(b, "hash", v->r.hash);
	stores_put_date(b, "registered", v->r.registered);
	json_bool(b, "published", v->is_published);
}

static void
put_text(const void *all, size_t n, struct buf *b)
{
	const struct version_row *list = all;
	char iso[WALL_ISO_MAX];

	for (size_t i = 0; i < n; i++) {
		const struct version_row *v = &list[i];
		buf_printf(b, "%-20s  version %-5llu  ", stores_date(
		    v->r.registered, iso), (unsigned long long)v->r.version);
		format_safe(b, v->r.backend, STORE_NAME_BYTES_MAX);
		buf_put_char(b, ' ');
		format_safe(b, v->r.fid, STORE_FID_BYTES_MAX);
		buf_put_text(b, v->is_published ? "  published\n" : "\n");
	}
}

static enum err
list_versions(struct cli *c, struct store *st, struct str connector,
    struct version_row **out, size_t *n, struct why *w)
{
	struct store_registration *list;
	struct why first = WHY_INIT;
	uint64_t published = 0;

	enum err e = store_published_get(st, connector, &published, &first);
	if (e != OK && e != ERR_ABSENT)
		return why(w, e, "%s", first.text);
	e = store_registration_list(st, connector, &c->arena, &list, n, w);
	if (e != OK)
		return e;
	*out = ARENA_ARRAY(&c->arena, struct version_row, *n);
	for (size_t i = 0; i < *n; i++)
		(*out)[i] = (struct version_row){ list[i],
		    list[i].version == published };
	return OK;
}

static enum err
print_versions(struct cli *c, struct str connector, struct why *w)
{
	FREED(store_close) struct store *st = NULL;
	struct version_row *list = NULL;
	size_t n = 0;

	enum err e = stores_find(c, "registered version", &st, w);
	if (e == OK)
		e = list_versions(c, st, connector, &list, &n, w);
	return stores_print(c, &(struct stores_list){ "registered version",
	    "versions", list, n, sizeof(*list), row_json, put_text }, e);
}

enum err
external_publish_run(struct cli *c, struct why *w)
{
	FREED(store_close) struct store *st = NULL;
	struct str connector = str_of(c->options.operands[0]);
	const char *text = c->options.operands_n > 1 ?
	    c->options.operands[1] : NULL;
	bool newest = cli_given(c, "newest");
	uint64_t version = 0;

	if (text == NULL && !newest)
		return print_versions(c, connector, w);
	if (text != NULL && newest)
		return why(w, ERR_USAGE, "--newest: VERSION is given, too");
	if (text != NULL && (!str_to_u64(str_of(text), &version) ||
	    version == 0 || version > INT64_MAX))
		return why(w, ERR_INPUT, "VERSION must be a whole number "
		    "from 1");
	enum err e = stores_find(c, "registered version", &st, w);
	if (e == OK)
		e = newest ? store_published_drop(st, connector, w) :
		    store_published_put(st, connector, version, clock_wall(),
		    w);
	return e;
}
