/*
 * argiope credential put|list|delete -- credentials of platforms, by name.
 *
 * They are the store's, sealed by the key in secrets.key_file, and are never
 * printed.
 */
#include "base/json_writer.h"
#include "cli/format.h"
#include "cli/stores.h"
#include "cli/verbs.h"
#include "engine/harvest/credential.h"
#include "os/clock.h"

const struct option_verb credential_put_verb = {
	"credential put", "NAME FILE", 2, 2,
	"Keep a credential under a name, sealed, in place of an older one",
	"FILE is a JSON object, such as {\"instance\":\"https://...\","
	"\"access_token\":\"...\"}, or - for standard input; argiope harvest "
	"types TYPE says which keys a type takes.  What is kept can be opened "
	"with the key in secrets.key_file alone, and is never printed.\n"
	"Exit code: 0; 65 the name or the credential is none; 66 there is no "
	"such file; 75 there are 1,000 already.",
	verbs_plain, ARRAY_LEN(verbs_plain)
};
const struct option_verb credential_list_verb = {
	"credential list", NULL, 0, 0,
	"List the credentials: name, and when it was put",
	"What is in them is not printed.",
	verbs_json, ARRAY_LEN(verbs_json)
};
const struct option_verb credential_delete_verb = {
	"credential delete", "NAME", 1, 1,
	"Delete a credential",
	"Harvests that have begun keep what they began with.\n"
	"Exit code: 0; 66 there is no such credential.",
	verbs_plain, ARRAY_LEN(verbs_plain)
};

enum err
credential_put_run(struct cli *c, struct why *w)
{
	FREED(store_close) struct store *st = NULL;
	struct seal_key key;
	struct str json;

	enum err e = cli_file(c, c->options.operands[1], &json, w);
	if (e == OK)
		e = stores_open(c, &st, w);
	if (e == OK)
		e = credential_key(&c->conf, c->data_dir, &key, w);
	if (e == OK)
		e = credential_put(st, &key, str_of(c->options.operands[0]),
		    str_trim(json), clock_wall(), w);
	explicit_bzero(&key, sizeof(key));
	return e;
}

static void
row_json(const void *row, struct buf *b)
{
	const struct store_credential *x = row;

	json_str(b, "name", x->name);
	stores_put_date(b, "changed", x->changed);
}

static void
put_text(const void *rows, size_t n, struct buf *b)
{
	const struct store_credential *list = rows;
	char iso[WALL_ISO_MAX];

	for (size_t i = 0; i < n; i++) {
		buf_printf(b, "%-20s  ", stores_date(list[i].changed, iso));
		format_safe(b, list[i].name, STORE_NAME_BYTES_MAX);
		buf_put_char(b, '\n');
	}
}

enum err
credential_list_run(struct cli *c, struct why *w)
{
	FREED(store_close) struct store *st = NULL;
	struct store_credential *list = NULL;
	size_t n = 0;

	enum err e = stores_find(c, "credential", &st, w);
	if (e == OK)
		e = store_credential_list(st, &c->arena, &list, &n, w);
	return stores_print(c, &(struct stores_list){ "credential",
	    "credentials", list, n, sizeof(*list), row_json, put_text }, e);
}

enum err
credential_delete_run(struct cli *c, struct why *w)
{
	FREED(store_close) struct store *st = NULL;

	enum err e = stores_find(c, "credential", &st, w);
	return e == OK ? store_credential_delete(st,
	    str_of(c->options.operands[0]), w) : e;
}
