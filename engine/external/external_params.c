/* The parameters of a task: all of them, and the restrictions between two. */
#include "base/json_wiping.h"
#include "base/text.h"
#include "engine/external/external_own.h"

struct checking {
	const struct external_connector *connector;
	const struct external_params_faults *faults;
	struct external_value *values;
	bool *wrong;                 /* one for each parameter */
	struct arena *a;
	struct why *w;
	enum err e;
};

static void
tell_wrong(struct checking *x, const struct external_param *p,
    const char *what)
{
	struct str text = arena_printf(x->a, "%.*s: %s", STR_FMT(p->name),
	    what);

	x->e = why(x->w, ERR_INPUT, "%s", text.p);
	x->faults->wrong(x->faults->arg, p->name, text);
}

/* ---- Each -------------------------------------------------------------- */

static void
check_one(struct checking *x, size_t i, yyjson_val *v)
{
	const struct external_param *p = &x->connector->params[i];
	struct external_value *out = &x->values[i];
	const char *wrong = NULL;
	/* A default may be replaced by nothing only where that can be. */
	bool needed = p->required || p->in_path || p->is_seed ||
	    p->beside_seed;

	*out = (struct external_value){ .given = false };
	if (json_is_absent(v))
		v = p->otherwise;
	if (v != NULL)
		wrong = external_value_read(p, v, x->a, out);
	if (wrong == NULL && needed && external_value_is_empty(p, out))
		wrong = "it is missing";
	x->wrong[i] = wrong != NULL;
	if (wrong == NULL)
		return;
	*out = (struct external_value){ .given = false };
	tell_wrong(x, p, wrong);
}

/* ---- Two --------------------------------------------------------------- */

/* Below 0, 0 or above 0, as the first is less than the second, equal to it, or
 * more.  Texts and booleans are equal or not. */
static int
compare_values(const struct external_param *p, const struct external_value *a,
    const struct external_value *b)
{
	if (p->ui == EXTERNAL_INTEGER || p->ui == EXTERNAL_DATE)
		return (a->number > b->number) - (a->number < b->number);
	if (p->ui == EXTERNAL_BOOL)
		return a->truth != b->truth;
	return !str_eq(a->text, b->text);
}

static bool
is_met(enum external_rule rule, int order)
{
	switch (rule) {
	case EXTERNAL_GT:
		return order > 0;
	case EXTERNAL_GTE:
		return order >= 0;
	case EXTERNAL_LT:
		return order < 0;
	case EXTERNAL_LTE:
		return order <= 0;
	default:
		return order == 0;
	}
}

static void
check_restrictions(struct checking *x, size_t i)
{
	const struct external_param *p = &x->connector->params[i];

	for (size_t k = 0; k < p->restrictions_n; k++) {
		const struct external_restriction *r = &p->restrictions[k];
		if (x->wrong[i] || x->wrong[r->target] ||
		    !x->values[i].given || !x->values[r->target].given)
			continue;
		if (!is_met(r->rule, compare_values(p, &x->values[i],
		    &x->values[r->target])))
			tell_wrong(x, p, r->message.p);
	}
}

/* ---- All --------------------------------------------------------------- */

/* The same name twice would hide one of its values. */
static void
look_at_names(struct checking *x, yyjson_val *params)
{
	size_t i, n;
	yyjson_val *key, *v;

	yyjson_obj_foreach(params, i, n, key, v) {
		struct str name = json_text(key);
		size_t at = external_param_find(x->connector, name);
		if (at == EXTERNAL_NO_PARAM && x->faults->unknown != NULL)
			x->faults->unknown(x->faults->arg, name);
		if (at != EXTERNAL_NO_PARAM && v != yyjson_obj_getn(params,
		    name.p, name.n))
			tell_wrong(x, &x->connector->params[at],
			    "it is there twice");
	}
}

enum err
external_params_read(const struct external_connector *c, yyjson_val *params,
    const struct external_params_faults *faults, struct arena *a,
    struct external_value **out, struct why *w)
{
	struct checking x = { c, faults,
		ARENA_ARRAY(a, struct external_value, c->params_n),
		ARENA_ARRAY(a, bool, c->params_n), a, w, OK };

	*out = x.values;
	if (params != NULL && !yyjson_is_null(params) &&
	    !yyjson_is_obj(params)) {
		struct str text = STR("params: it is not an object");
		faults->wrong(faults->arg, STR("params"), text);
		return why(w, ERR_INPUT, "%s", text.p);
	}
	for (size_t i = 0; i < c->params_n; i++)
		check_one(&x, i, yyjson_obj_getn(params,
		    c->params[i].name.p, c->params[i].name.n));
	for (size_t i = 0; i < c->params_n; i++)
		check_restrictions(&x, i);
	look_at_names(&x, params);
	return x.e;
}

static void
put_values(const struct external_connector *c,
    const struct external_value *values, struct buf *out)
{
	buf_put_char(out, '{');
	for (size_t i = 0, n = 0; i < c->params_n; i++) {
		if (!values[i].given)
			continue;
		if (n++ > 0)
			buf_put_char(out, ',');
		text_json(out, c->params[i].name);
		buf_put_char(out, ':');
		external_value_put_json(&c->params[i], &values[i], out);
	}
	buf_put_char(out, '}');
}

static void
ignore_fault(void *arg, struct str name, struct str message)
{
	(void)arg, (void)name, (void)message;
}

void
external_params_put_good(const struct external_connector *c,
    yyjson_val *params, struct buf *out)
{
	static const struct external_params_faults ignored = { NULL,
		ignore_fault, NULL };
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct external_value *values;

	(void)!external_params_read(c, yyjson_is_obj(params) ? params : NULL,
	    &ignored, &a, &values, NULL);
	put_values(c, values, out);
}

enum err
external_params_check(const struct external_connector *c, yyjson_val *params,
    const struct external_params_faults *faults, struct buf *out,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct external_value *values;
	enum err e = external_params_read(c, params, faults, &a, &values, w);

	if (e == OK)
		put_values(c, values, out);
	return e;
}

bool
external_params_conceal(const struct external_connector *c, struct str params,
    struct buf *out)
{
	yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)params.p,
	    params.n, 0, &json_wiping, NULL);
	yyjson_val *root = yyjson_doc_get_root(doc), *key, *v;
	size_t i, n, put = 0;
	bool concealed = false;

	buf_put_char(out, '{');
	yyjson_obj_foreach(root, i, n, key, v) {
		struct str name = json_text(key);
		size_t at = external_param_find(c, name);
		if (at == EXTERNAL_NO_PARAM)
			continue;
		bool secret = c->params[at].ui == EXTERNAL_PASSWORD;
		if (put++ > 0)
			buf_put_char(out, ',');
		text_json(out, name);
		buf_put_char(out, ':');
		char *text = secret ? NULL : yyjson_val_write(v, 0, NULL);
		buf_put_text(out, text != NULL ? text : "null");
		free(text);
		concealed |= secret;
	}
	buf_put_char(out, '}');
	yyjson_doc_free(doc);
	return concealed;
}
