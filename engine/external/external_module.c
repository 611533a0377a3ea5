/* Connectors that are modules: their own members, and what a run is given. */
#include "base/ip.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "engine/external/external_own.h"

#define PORT_HTTPS ":443"

/* ---- Members ------------------------------------------------------------ */

static bool
is_function(yyjson_val *v)
{
	return yyjson_is_obj(v) && yyjson_is_true(yyjson_obj_get(v,
	    EXTERNAL_FUNCTION));
}

static enum err
read_functions(struct external_reading *r, yyjson_val *root)
{
	yyjson_val *check = yyjson_obj_get(root, "check");
	yyjson_val *choices = yyjson_obj_get(root, "choices"), *key, *v;
	size_t i, n;

	if (!is_function(yyjson_obj_get(root, "run")))
		return external_read_refuse(r, "run", "it is not a function");
	if (check != NULL && !is_function(check))
		return external_read_refuse(r, "check", "it is not a "
		    "function");
	if (choices != NULL && (!yyjson_is_obj(choices) ||
	    is_function(choices)))
		return external_read_refuse(r, "choices", "it is not an object "
		    "of functions");
	yyjson_obj_foreach(choices, i, n, key, v) {
		const char *place = external_read_join(r, "choices",
		    yyjson_get_str(key));
		if (!is_function(v))
			return external_read_refuse(r, place, "it is not a "
			    "function");
		if (external_param_find(r->connector, json_text(key)) ==
		    EXTERNAL_NO_PARAM)
			return external_read_refuse(r, place, "there is no "
			    "such parameter");
	}
	return OK;
}

/* The text "NAME" or "NAME:PORT", as URLs have it. */
static bool
is_host(struct str s)
{
	size_t close = str_starts(s, STR("[")) ? str_find_char(s, ']') : 0;
	size_t colon = close + str_find_char(str_from(s, close), ':');
	struct str port = str_from(s, MIN(colon + 1, s.n));
	uint64_t number = 0;

	for (size_t i = 0; i < colon; i++)
		if (!ascii_is_alpha(s.p[i]) && !ascii_is_digit(s.p[i]) &&
		    !str_has_char(STR("-._[]:"), s.p[i]))
			return false;
	return colon > 0 && (colon == s.n || (str_to_u64(port, &number) &&
	    number > 0 && number <= UINT16_MAX));
}

static enum err
read_hosts(struct external_reading *r, yyjson_val *list)
{
	struct external_connector *c = r->connector;
	size_t i, n;
	yyjson_val *v;

	if (list == NULL)
		return OK;
	if (!yyjson_is_arr(list) || yyjson_arr_size(list) > EXTERNAL_HOSTS_MAX)
		return external_read_refuse(r, "hosts", "it is not a list of "
		    "at most %u hosts", EXTERNAL_HOSTS_MAX);
	c->hosts = ARENA_ARRAY(&c->arena, struct str, yyjson_arr_size(list));
	yyjson_arr_foreach(list, i, n, v) {
		struct str host = arena_copy(&c->arena, json_text(v));
		if (!is_host(host))
			return external_read_refuse(r, "hosts", "element %zu "
			    "is neither a host's name nor NAME:PORT", i + 1);
		for (size_t k = 0; k < host.n; k++)
			((char *)(uintptr_t)host.p)[k] = ascii_lower(host.p[k]);
		if (str_ends(host, STR(PORT_HTTPS)))
			host.n -= strlen(PORT_HTTPS);
		c->hosts[c->hosts_n++] = host;
	}
	return OK;
}

/* Where it may run; other doors' members are theirs to judge. */
static enum err
read_serves(struct external_reading *r, yyjson_val *serves)
{
	yyjson_val *v;
	size_t i, n;

	if (serves == NULL)
		return OK;
	yyjson_arr_foreach(serves, i, n, v)
		if (str_eq(json_text(v), STR("external")))
			return OK;
	return external_read_refuse(r, "serves", "it does not contain "
	    "\"external\"");
}

static enum err
read_kind(struct external_reading *r, yyjson_val *root)
{
	static const char *const words[] = { "batch", "stream" };
	size_t word;

	return yyjson_obj_get(root, "kind") == NULL ? OK : external_read_word(
	    r, root, "", "kind", words, ARRAY_LEN(words), &word);
}

enum err
external_module_read(struct external_reading *r, yyjson_val *root)
{
	struct external_connector *c = r->connector;
	enum err e;

	c->is_module = true;
	c->analysis = yyjson_obj_get(root, "analysis");
	if (c->analysis != NULL && !yyjson_is_obj(c->analysis))
		return external_read_refuse(r, "analysis", "it is not an "
		    "object");
	if ((e = read_functions(r, root)) != OK || (e = read_hosts(r,
	    yyjson_obj_get(root, "hosts"))) != OK || (e = read_kind(r,
	    root)) != OK)
		return e;
	if (strcmp(c->credential, "none") != 0 && c->hosts_n == 0)
		return external_read_refuse(r, "hosts", "a credential is "
		    "wanted, and there is no host that may see it");
	return read_serves(r, yyjson_obj_get(root, "serves"));
}

/* ---- What it has -------------------------------------------------------- */

bool
external_connector_is_module(const struct external_connector *c)
{
	return c->is_module;
}

const struct str *
external_connector_hosts(const struct external_connector *c, size_t *n)
{
	*n = c->hosts_n;
	return c->hosts;
}

bool
external_connector_has_check(const struct external_connector *c)
{
	return c->is_module && yyjson_obj_get(yyjson_doc_get_root(c->doc),
	    "check") != NULL;
}

bool
external_connector_has_choices(const struct external_connector *c,
    struct str name)
{
	yyjson_val *choices = yyjson_obj_get(yyjson_doc_get_root(c->doc),
	    "choices");

	return c->is_module && yyjson_obj_getn(choices, name.p, name.n) !=
	    NULL;
}

/* ---- A run's input ------------------------------------------------------ */

static void
ignore_fault(void *arg, struct str name, struct str message)
{
	(void)arg, (void)name, (void)message;
}

static void
put_param(const struct external_param *p, const struct external_value *v,
    struct buf *input, struct buf *secrets)
{
	bool is_secret = p->ui == EXTERNAL_PASSWORD;
	FREED(buf_free) struct buf b = BUF_INIT;
	struct buf *to = is_secret ? secrets : input;

	json_comma(to);
	text_json(to, p->name);
	buf_put_char(to, ':');
	external_value_put_json(p, v, to);
	if (!is_secret)
		return;
	buf_printf(&b, "{{credential.%.*s}}", STR_FMT(p->name));
	json_comma(input);
	text_json(input, p->name);
	buf_put_char(input, ':');
	text_json(input, buf_str(&b));
}

void
external_module_input(const struct external_connector *c, struct str params,
    struct buf *input, struct buf *secrets)
{
	static const struct external_params_faults ignored = { NULL,
		ignore_fault, NULL };
	FREED(arena_free) struct arena a = ARENA_INIT;
	yyjson_doc *doc = yyjson_read(params.p, params.n,
	    YYJSON_READ_BIGNUM_AS_RAW);
	struct external_value *values;

	/* They are in their normal form: no fault is left. */
	enum err e = external_params_read(c, yyjson_doc_get_root(doc),
	    &ignored, &a, &values, NULL);
	(void)e;
	json_object(input, "params");
	for (size_t i = 0; i < c->params_n; i++)
		if (values[i].given)
			put_param(&c->params[i], &values[i], input, secrets);
	buf_put_char(input, '}');
	external_order_put_seeds(c, values, input);
	yyjson_doc_free(doc);
}
