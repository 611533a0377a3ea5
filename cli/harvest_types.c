/*
 * argiope harvest types -- what can be harvested: seeds, options, credential.
 */
#include "base/json_writer.h"
#include "cli/verbs.h"
#include "engine/connector/connectors.h"

const struct option_verb harvest_types_verb = {
	"harvest types", "[TYPE]", 0, 1,
	"List the types of harvests, or say what one of them takes",
	"Exit code: 0; 66 there is no such type.",
	verbs_json, ARRAY_LEN(verbs_json)
};

static const char *const value_names[] = {
	[CONNECTOR_BOOL] = "true|false", [CONNECTOR_INT] = "number",
	[CONNECTOR_TEXT] = "text", [CONNECTOR_CHOICE] = "word",
	[CONNECTOR_TEXTS] = "texts", [CONNECTOR_OBJECT] = "JSON object",
};

/* ---- As JSON -------------------------------------------------------- */

static void
put_params(const struct connector_param *p, const char *name, struct buf *b)
{
	json_array(b, name);
	for (; p != NULL && p->name != NULL; p++) {
		json_object(b, NULL);
		json_str(b, "name", str_of(p->name));
		json_str(b, "value", str_of(value_names[p->type]));
		if (p->type == CONNECTOR_CHOICE)
			json_str(b, "words", str_of(p->words));
		json_bool(b, "needed", p->needed);
		json_str(b, "help", str_of(p->help));
		buf_put_char(b, '}');
	}
	buf_put_char(b, ']');
}

static void
put_json(const struct connector *c, struct buf *b)
{
	json_object(b, NULL);
	json_str(b, "type", str_of(c->type));
	json_str(b, "platform", str_of(c->platform));
	json_str(b, "label", str_of(c->label));
	json_str(b, "title", str_of(c->title));
	json_str(b, "help", str_of(c->help));
	json_bool(b, "stream", c->kind == CONNECTOR_STREAM);
	json_u64(b, "seeds_min", c->seeds.least);
	if (c->seeds.most != SIZE_MAX)
		json_u64(b, "seeds_max", c->seeds.most);
	if (c->seeds.token != NULL)
		json_str(b, "token", str_of(c->seeds.token));
	if (c->seeds.uid != NULL)
		json_str(b, "uid", str_of(c->seeds.uid));
	put_params(c->seeds.fields, "fields", b);
	put_params(c->params, "options", b);
	json_array(b, "credential");
	for (const struct connector_key *k = c->credential; k != NULL &&
	    k->name != NULL; k++) {
		json_object(b, NULL);
		json_str(b, "name", str_of(k->name));
		json_bool(b, "needed", k->needed);
		json_bool(b, "secret", k->secret);
		json_str(b, "help", str_of(k->help));
		buf_put_char(b, '}');
	}
	buf_put_text(b, "]}");
}

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
		    p->words : value_names[p->type]);
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
		put_json(x, &c->out);
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
			put_json(x, &c->out);
			continue;
		}
		buf_printf(&c->out, "%-24s %s%s\n", x->type, x->title,
		    x->kind == CONNECTOR_STREAM ? " (stream)" : "");
	}
	if (cli_json(c))
		buf_put_text(&c->out, "]}\n");
	return OK;
}
