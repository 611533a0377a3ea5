/*
 * argiope policy list|get|put|delete -- the policies that have a name.
 *
 * They are the store's; a daemon that runs sees what changed in about a second.
 */
#include "base/json_writer.h"
#include "cli/format.h"
#include "cli/stores.h"
#include "cli/verbs.h"
#include "engine/control/control.h"

const struct option_verb policy_list_verb = {
	"policy list", NULL, 0, 0,
	"List the policies that have a name",
	"`default` is what a crawl takes that names none; it is built in, and "
	"may be replaced.",
	verbs_json, ARRAY_LEN(verbs_json)
};
const struct option_verb policy_get_verb = {
	"policy get", "NAME", 1, 1,
	"Print a policy as JSON",
	"It can be changed and given to argiope policy put, or to argiope "
	"crawl --policy.\n"
	"Exit code: 0; 66 there is no such policy.",
	verbs_plain, ARRAY_LEN(verbs_plain)
};
const struct option_verb policy_put_verb = {
	"policy put", "NAME FILE", 2, 2,
	"Keep the policy in a JSON file under a name, in place of an older one",
	"FILE may be - for standard input.  What it leaves out has the "
	"built-in value.  Crawls that have begun keep the policy that they "
	"began with.\n"
	"Exit code: 0; 65 the name or the policy is none, with the place; 66 "
	"there is no such file; 75 there are 1,000 already.",
	verbs_plain, ARRAY_LEN(verbs_plain)
};
const struct option_verb policy_delete_verb = {
	"policy delete", "NAME", 1, 1,
	"Delete a policy",
	"Of `default` argiope policy put replaces what was put before; it "
	"cannot be deleted.\n"
	"Exit code: 0; 66 there is no such policy; 69 it is `default`, or a "
	"schedule names it.",
	verbs_plain, ARRAY_LEN(verbs_plain)
};

/* --- list --------------------------------------------------------------- */

static void
row_json(const void *row, struct buf *b)
{
	const struct store_policy *p = row;

	json_str(b, "name", p->name);
	stores_put_date(b, "changed", p->changed);
}

static void
put_text(const void *rows, size_t n, struct buf *b)
{
	const struct store_policy *list = rows;
	char iso[WALL_ISO_MAX];

	for (size_t i = 0; i < n; i++) {
		buf_printf(b, "%-20s  ", list[i].changed.us == 0 ?
		    "built in" : stores_date(list[i].changed, iso));
		format_safe(b, list[i].name, STORE_NAME_BYTES_MAX);
		buf_put_char(b, '\n');
	}
}

enum err
policy_list_run(struct cli *c, struct why *w)
{
	static struct store_policy built_in = { .name =
	    { STORE_POLICY_DEFAULT, sizeof(STORE_POLICY_DEFAULT) - 1 } };
	struct store_policy *list = &built_in;
	FREED(store_close) struct store *st = NULL;
	size_t n = 1;

	enum err e = stores_find(c, "policy", &st, w);
	if (e == OK)
		e = store_policy_list(st, &c->arena, &list, &n, w);
	return stores_print(c, &(struct stores_list){ "policy", "policies",
	    list, n, sizeof(*list), row_json, put_text }, e);
}

/* --- get, put, delete ---------------------------------------------------- */

static enum err
find(struct cli *c, struct store **st, struct why *w)
{
	return stores_find(c, arena_printf(&c->arena, "policy %.60s",
	    c->options.operands[0]).p, st, w);
}

enum err
policy_get_run(struct cli *c, struct why *w)
{
	struct str name = str_of(c->options.operands[0]);
	struct store_policy p = { .json = STR_NONE };
	FREED(store_close) struct store *st = NULL;

	enum err e = find(c, &st, w);
	if (e == ERR_ABSENT && str_eq(name, STR(STORE_POLICY_DEFAULT))) {
		FREED(policy_free) struct policy *built_in = policy_new();
		policy_to_json(built_in, &c->out);
		e = OK;
	} else if (e == OK) {
		e = store_policy_get(st, name, &c->arena, &p, w);
		buf_put_str(&c->out, p.json);
	}
	if (e == OK)
		buf_put_char(&c->out, '\n');
	return e;
}

enum err
policy_put_run(struct cli *c, struct why *w)
{
	struct str json, name = str_of(c->options.operands[0]);
	const char *file = c->options.operands[1];
	FREED(policy_free) struct policy *judged = NULL;
	struct store_policy p;
	FREED(store_close) struct store *st = NULL;
	struct why inner = WHY_INIT;

	enum err e = cli_file(c, file, &json, w);
	/* Before a store is made. */
	if (e == OK)
		e = policy_parse(json, &judged, &inner);
	if (inner.err != OK)
		why(w, e, "%s: %s", file, inner.text);
	if (e == OK)
		e = stores_open(c, &st, w);
	return e == OK ? engine_put_policy(st, name, json, &c->arena, &p, w) :
	    e;
}

enum err
policy_delete_run(struct cli *c, struct why *w)
{
	FREED(store_close) struct store *st = NULL;

	enum err e = find(c, &st, w);
	return e == OK ? store_policy_delete(st,
	    str_of(c->options.operands[0]), w) : e;
}
