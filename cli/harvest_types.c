/*
 * argiope harvest types -- what can be harvested: seeds, options, credential.
 */
#include "base/json_writer.h"
#include "cli/verbs.h"
#include "engine/connector/connectors.h"
#include "engine/connector/type_json.h"

const struct option_verb harvest_types_verb = {
	"harvest types", "[TYPE]", 0, 1,
	"List the types of harvests, or say what one of them takes",
	"Exit code: 0; 66 there is no such type.",
	verbs_json, ARRAY_LEN(verbs_json)
};

/* ---- As text -------------------------------------------------------- */

static void
put_rows(const struct connector_param *p, const char *title, struct buf *b)
{
	if (p == NULL || p->name == NULL)
		return;
	buf_printf(b, "%s:\n", title);
	for (; p->name != NULL; p++)
		buf_printf(b, "  %-20s %s%s (%s)\n", p->name, p->help,
		    p->needed ? "; needed" : "", p->type == CONNECTOR_CHOICE ?
		    p->words : connector_value_name(p->type));
}

static void
put_seeds(const struct connector_seeds *s, struct buf *b)
{
	if (s->most == 0) {
		buf_put_text(b, "seeds: none\n");
		return;
	}
	buf_printf(b, "seeds: at least %zu", s->least);
	if (s->most != SIZE_MAX)
		buf_printf(b, ", at most %zu", s->most);
	buf_put_char(b, '\n');
	if (s->token != NULL)
		buf_printf(b, "  %-20s %s\n", "--seed", s->token);
	if (s->uid != NULL)
		buf_printf(b, "  %-20s %s\n", "--uid", s->uid);
	put_rows(s->fields, "a seed that is a JSON object", b);
}

static void
put_text(const struct connector *c, struct buf *b)
{
	const struct connector_key *k = c->credential;

	buf_printf(b, "%s: %s\n%s\n", c->type, c->title, c->help);
	buf_printf(b, "counts: %s%s\n", c->label, c->kind == CONNECTOR_STREAM ?
	    "; a stream, which goes on until it is stopped" : "");
	put_seeds(&c->seeds, b);
	put_rows(c->params, "options", b);
	if (k == NULL || k->name == NULL)
		return;
	buf_put_text(b, "credential:\n");
	for (; k->name != NULL; k++)
		buf_printf(b, "  %-20s %s%s%s\n", k->name, k->help, k->needed ?
		    "; needed" : "", k->secret ? "; secret" : "");
}

/* ---- The verb ------------------------------------------------------- */

static enum err
put_one(struct cli *c, struct why *w)
{
	const char *type = c->options.operands[0];
	const struct connector *x = connector_find(str_of(type));

	if (x == NULL)
		return why(w, ERR_ABSENT, "there is no type %.60s; argiope "
		    "harvest types lists them", type);
	if (cli_json(c)) {
		connector_type_json(x, &c->out);
		buf_put_char(&c->out, '\n');
	} else {
		put_text(x, &c->out);
	}
	return OK;
}

enum err
harvest_types_run(struct cli *c, struct why *w)
{
	const struct connector *x;

	if (c->options.operands_n > 0)
		return put_one(c, w);
	if (cli_json(c)) {
		json_object(&c->out, NULL);
		json_array(&c->out, "types");
	}
	for (size_t i = 0; (x = connector_at(i)) != NULL; i++) {
		if (cli_json(c)) {
			connector_type_json(x, &c->out);
			continue;
		}
		buf_printf(&c->out, "%-24s %s%s\n", x->type, x->title,
		    x->kind == CONNECTOR_STREAM ? " (stream)" : "");
	}
	if (cli_json(c))
		buf_put_text(&c->out, "]}\n");
	return OK;
}
