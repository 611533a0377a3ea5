/* Texts for backends and their pages: the form, and the external object. */
#include "base/json_writer.h"
#include "base/text.h"
#include "engine/external/external_own.h"

#define DRAFT "https://json-schema.org/draft/2020-12/schema"

/* ---- Shared ------------------------------------------------------------ */

static void
put_given(struct buf *out, const char *name, struct str s)
{
	if (s.n > 0)
		json_str(out, name, s);
}

static struct str
shown_name(const struct external_param *p)
{
	return p->title.n > 0 ? p->title : p->name;
}

static void
put_restrictions(const struct external_connector *c,
    const struct external_param *p, const char *name, struct buf *out)
{
	json_array(out, name);
	for (size_t i = 0; i < p->restrictions_n; i++) {
		const struct external_restriction *r = &p->restrictions[i];
		json_object(out, NULL);
		json_str(out, "rule", str_of(external_rules[r->rule]));
		json_str(out, "target", c->params[r->target].name);
		json_str(out, "message", r->message);
		buf_put_char(out, '}');
	}
	buf_put_char(out, ']');
}

static bool
has_labels(const struct external_param *p)
{
	return p->options_n > 0 && p->options[0].label.p != NULL;
}

/* ---- The form ---------------------------------------------------------- */

static void
put_choices(const struct external_param *p, struct buf *out)
{
	json_array(out, has_labels(p) ? "oneOf" : "enum");
	for (size_t i = 0; i < p->options_n; i++) {
		const struct external_option *o = &p->options[i];
		if (!has_labels(p)) {
			json_item(out, o->value);
			continue;
		}
		json_object(out, NULL);
		json_str(out, "const", o->value);
		json_str(out, "title", o->label);
		buf_put_char(out, '}');
	}
	buf_put_char(out, ']');
}

/* A value of a parameter with several is a list of choices. */
static void
put_options(const struct external_param *p, struct buf *out)
{
	bool several = p->ui == EXTERNAL_MULTI_BOOL ||
	    p->ui == EXTERNAL_MULTI_SEARCH;

	if (several) {
		json_object(out, "items");
		json_str(out, "type", STR("string"));
	}
	if (p->options_n > 0)
		put_choices(p, out);
	if (several) {
		buf_put_char(out, '}');
		json_bool(out, "uniqueItems", true);
	}
}

static void
put_number(struct buf *out, const char *name, int64_t number)
{
	json_name(out, name);
	buf_printf(out, "%lld", (long long)number);
}

static void
put_default(const struct external_param *p, struct buf *out)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct external_value value;

	if (p->otherwise == NULL || external_value_read(p, p->otherwise, &a,
	    &value) != NULL)
		return;
	json_name(out, "default");
	external_value_put_json(p, &value, out);
}

static void
put_property(const struct external_connector *c,
    const struct external_param *p, struct buf *out)
{
	const struct external_ui_row *ui = &external_ui_rows[p->ui];
	/* A date's bounds are milliseconds, as in the file. */
	int64_t unit = p->ui == EXTERNAL_DATE ? 1000 : 1;

	json_comma(out);
	text_json(out, p->name);
	buf_put_text(out, ":{");
	if (ui->json != NULL)
		json_str(out, "type", str_of(ui->json));
	json_str(out, "title", shown_name(p));
	put_given(out, "description", p->description);
	json_str(out, "x-ui", str_of(ui->name));
	put_default(p, out);
	if (p->has_least)
		put_number(out, "minimum", p->least / unit);
	if (p->has_most)
		put_number(out, "maximum", p->most / unit);
	put_given(out, "pattern", p->pattern);
	put_options(p, out);
	if (p->choices != NULL || external_connector_has_choices(c, p->name))
		json_bool(out, "x-choices", true);
	if (p->ui == EXTERNAL_PASSWORD)
		json_bool(out, "writeOnly", true);
	if (p->restrictions_n > 0)
		put_restrictions(c, p, "x-restrictions", out);
	buf_put_char(out, '}');
}

void
external_form_write(const struct external_connector *c, struct buf *out)
{
	buf_put_char(out, '{');
	json_object(out, "parameters");
	json_str(out, "$schema", STR(DRAFT));
	json_str(out, "title", c->title);
	put_given(out, "description", c->description);
	json_str(out, "type", STR("object"));
	json_array(out, "required");
	for (size_t i = 0; i < c->params_n; i++)
		if (c->params[i].required)
			json_item(out, c->params[i].name);
	buf_put_char(out, ']');
	json_object(out, "properties");
	for (size_t i = 0; i < c->params_n; i++)
		put_property(c, &c->params[i], out);
	buf_put_text(out, "}}");
	json_str(out, "credential", str_of(c->credential));
	json_raw(out, "schema", buf_str(&c->schema_text));
	json_str(out, "docIdField", c->doc_id_field);
	json_str(out, "version", c->version);
	buf_put_char(out, '}');
}

/* ---- The external object ----------------------------------------------- */

static void
put_object_options(const struct external_param *p, struct buf *out)
{
	json_array(out, "options");
	for (size_t i = 0; i < p->options_n; i++) {
		const struct external_option *o = &p->options[i];
		if (!has_labels(p)) {
			json_item(out, o->value);
			continue;
		}
		json_object(out, NULL);
		json_str(out, "value", o->value);
		json_str(out, "label", o->label);
		buf_put_char(out, '}');
	}
	buf_put_char(out, ']');
}

static void
put_bound(const struct external_param *p, const char *name, bool has,
    int64_t bound, struct buf *out)
{
	char iso[WALL_ISO_MAX];

	if (!has) {
		json_null(out, name);
	} else if (p->ui == EXTERNAL_DATE) {
		wall_to_iso((struct wall){ bound }, iso);
		json_str(out, name, str_of(iso));
	} else {
		put_number(out, name, bound);
	}
}

static void
put_param(const struct external_connector *c, const struct external_param *p,
    struct buf *out)
{
	json_object(out, NULL);
	json_str(out, "name", p->name);
	json_str(out, "display_name", shown_name(p));
	json_str(out, "description", p->description);
	json_bool(out, "req", p->required);
	json_str(out, "type", str_of(external_ui_rows[p->ui].name));
	put_bound(p, "min", p->has_least, p->least, out);
	put_bound(p, "max", p->has_most, p->most, out);
	if (p->pattern.n > 0)
		json_str(out, "regex", p->pattern);
	else
		json_null(out, "regex");
	put_object_options(p, out);
	put_restrictions(c, p, "restrictions", out);
	buf_put_char(out, '}');
}

/* Those that have a default; the frontend appends them to its calls. */
static void
put_oauth_params(const struct external_connector *c, struct buf *out)
{
	json_object(out, "oauthParameters");
	for (size_t i = 0; i < c->oauth.params_n; i++)
		if (c->oauth.params[i].otherwise.n > 0)
			json_str(out, c->oauth.params[i].name.p,
			    c->oauth.params[i].otherwise);
	buf_put_char(out, '}');
}

static void
put_credential(const struct external_connector *c,
    const struct external_object_options *o, struct buf *out)
{
	FREED(buf_free) struct buf url = BUF_INIT;
	bool none = strcmp(c->credential, "none") == 0;

	if (!none)
		json_str(out, "credential", str_of(c->credential));
	else if (o->none_is_ignore)
		json_str(out, "credential", STR("ignore"));
	if (strcmp(c->credential, "oauth") != 0)
		return;
	buf_printf(&url, "%.*s/oauth", STR_FMT(o->endpoint));
	json_str(out, "oauth", buf_str(&url));
	put_oauth_params(c, out);
}

static void
put_analysis(const struct external_connector *c, struct buf *out)
{
	size_t n = 0;
	char *text = c->analysis == NULL ? NULL : yyjson_val_write(c->analysis,
	    0, &n);

	json_raw(out, "analysis", text == NULL ? STR("{}") :
	    (struct str){ text, n });
	free(text);
}

void
external_object_write(const struct external_connector *c,
    const struct external_object_options *o, struct buf *out)
{
	buf_put_char(out, '{');
	json_object(out, "meta");
	json_str(out, "name", c->title);
	put_given(out, "image", c->image);
	put_given(out, "description", c->description);
	buf_put_char(out, '}');
	json_str(out, "endpoint", o->endpoint);
	put_credential(c, o, out);
	json_raw(out, "schema", buf_str(&c->schema_text));
	json_str(out, "docIdField", c->doc_id_field);
	json_object(out, "headers");
	put_given(out, "Authorization", o->authorization);
	buf_put_char(out, '}');
	json_array(out, "parameters");
	for (size_t i = 0; i < c->params_n; i++)
		put_param(c, &c->params[i], out);
	buf_put_char(out, ']');
	put_analysis(c, out);
	buf_put_char(out, '}');
}
