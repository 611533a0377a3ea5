#include "engine/connector/type_json.h"

#include "base/json_writer.h"

static const char *const value_names[] = {
	[CONNECTOR_BOOL] = "true|false", [CONNECTOR_INT] = "number",
	[CONNECTOR_TEXT] = "text", [CONNECTOR_CHOICE] = "word",
	[CONNECTOR_TEXTS] = "texts", [CONNECTOR_OBJECT] = "JSON object",
};

const char *
connector_value_name(enum connector_type t)
{
	return value_names[t];
}

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

void
connector_type_json(const struct connector *c, struct buf *b)
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
