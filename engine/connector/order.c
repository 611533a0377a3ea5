#include "engine/connector/order.h"

#include "base/text.h"

#define PLACE_BYTES 32u      /* "seeds[7]" */
#define FIELD_BYTES 64u      /* "seeds[7].token.tag" */
#define SHOWN_MAX 40         /* bytes of an unknown name in an error */

/* What is read, and where we are in it. */
struct reading {
	const struct connector *connector;
	struct arena *a;
	struct connector_order *out;
	const char **code;
	struct why *w;
};

#define REFUSE(r, field, ...)                                                \
	(*(r)->code = "bad_request",                                         \
	    why_field((r)->w, ERR_INPUT, field, __VA_ARGS__))

static struct str
number_text(yyjson_val *v)
{
	return (struct str){ yyjson_get_raw(v), yyjson_get_len(v) };
}

/*
 * A text or a number as text: of at most `max` UTF-8 bytes without control
 * characters.  Absent, null and "" give STR_NONE.
 */
static enum err
read_text(struct reading *r, const char *field, yyjson_val *v, size_t max,
    struct str *out)
{
	*out = STR_NONE;
	if (json_is_absent(v))
		return OK;
	if (!yyjson_is_str(v) && !yyjson_is_raw(v))
		return REFUSE(r, field, "it is not a text");
	struct str s = yyjson_is_raw(v) ? number_text(v) : json_text(v);
	if (s.n > max)
		return REFUSE(r, field, "it is longer than %zu bytes", max);
	if (!text_is_utf8(s) || text_has_control(s))
		return REFUSE(r, field, "it has control characters");
	*out = s;
	return OK;
}

/* ---- Values by rows ---------------------------------------------------- */

/* 1, 0, or -1 when it is neither. */
static int
bool_of(yyjson_val *v)
{
	if (yyjson_is_bool(v))
		return yyjson_get_bool(v);
	return str_eq(json_text(v), STR("true")) ? 1 :
	    str_eq(json_text(v), STR("false")) ? 0 : -1;
}

static bool
int_of(yyjson_val *v, int64_t *out)
{
	return str_to_i64(yyjson_is_raw(v) ? number_text(v) : json_text(v),
	    out);
}

static bool
is_one_of(struct str words, struct str text)
{
	struct str word;

	while (str_split(&words, ' ', &word))
		if (text.n > 0 && str_eq(word, text))
			return true;
	return false;
}

static bool
is_list_of_texts(yyjson_val *v)
{
	size_t i, n;
	yyjson_val *one;

	yyjson_arr_foreach(v, i, n, one)
		if (yyjson_get_len(one) == 0 || !yyjson_is_str(one) ||
		    text_has_control(json_text(one)))
			return false;
	return yyjson_is_arr(v);
}

static enum err
check_value(struct reading *r, const struct connector_param *p,
    const char *field, yyjson_val *v)
{
	struct str text;
	int64_t number;

	switch (p->type) {
	case CONNECTOR_BOOL:
		if (bool_of(v) < 0)
			return REFUSE(r, field, "it is not true or false");
		return OK;
	case CONNECTOR_INT:
		if (!int_of(v, &number) || number < p->least ||
		    number > p->most)
			return REFUSE(r, field, "it is not a whole number from"
			    " %lld to %lld", (long long)p->least,
			    (long long)p->most);
		return OK;
	case CONNECTOR_TEXT:
		return read_text(r, field, v, CONNECTOR_SEED_BYTES_MAX, &text);
	case CONNECTOR_CHOICE:
		if (!is_one_of(str_of(p->words), json_text(v)))
			return REFUSE(r, field, "it is none of: %s", p->words);
		return OK;
	case CONNECTOR_TEXTS:
		if (!is_list_of_texts(v))
			return REFUSE(r, field, "it is not a list of texts");
		return OK;
	case CONNECTOR_OBJECT:
		if (!yyjson_is_obj(v))
			return REFUSE(r, field, "it is not an object");
		return OK;
	}
	return OK;
}

static enum err
check_values(struct reading *r, const struct connector_param *rows,
    const char *place, yyjson_val *object)
{
	char field[FIELD_BYTES];

	for (const struct connector_param *p = rows; p->name != NULL; p++) {
		yyjson_val *v = yyjson_obj_get(object, p->name);
		snprintf(field, sizeof(field), "%s.%s", place, p->name);
		if (json_is_absent(v) && p->needed)
			return REFUSE(r, field, "it is missing");
		enum err e = json_is_absent(v) ? OK :
		    check_value(r, p, field, v);
		if (e != OK)
			return e;
	}
	return OK;
}

/* ---- Seeds ------------------------------------------------------------- */

/* A field that is misspelt would silently ask for more than was meant. */
static enum err
check_fields(struct reading *r, const char *place, yyjson_val *object)
{
	const struct connector_param *rows = r->connector->seeds.fields;
	size_t i, n;
	yyjson_val *key, *v;

	if (rows == NULL)
		return REFUSE(r, place, "it is not a text");
	yyjson_obj_foreach(object, i, n, key, v) {
		const struct connector_param *p = rows;
		while (p->name != NULL &&
		    !str_eq(json_text(key), str_of(p->name)))
			p++;
		if (p->name == NULL)
			return REFUSE(r, place, "it has a field that %s does"
			    " not know: %.*s", r->connector->type,
			    STR_FMT(str_cut(json_text(key), 0, SHOWN_MAX)));
	}
	return check_values(r, rows, place, object);
}

static enum err
read_seed(struct reading *r, const char *place, yyjson_val *v,
    struct connector_seed *out)
{
	const struct connector_seeds *wanted = &r->connector->seeds;
	char id[FIELD_BYTES], uid[FIELD_BYTES], token[FIELD_BYTES];
	yyjson_val *t = yyjson_obj_get(v, "token");
	enum err e;

	if (!yyjson_is_obj(v))
		return REFUSE(r, place, "it is not an object");
	snprintf(id, sizeof(id), "%s.id", place);
	snprintf(uid, sizeof(uid), "%s.uid", place);
	snprintf(token, sizeof(token), "%s.token", place);
	if ((e = read_text(r, id, yyjson_obj_get(v, "id"),
	    CONNECTOR_SEED_BYTES_MAX, &out->id)) != OK)
		return e;
	if (wanted->uid != NULL && (e = read_text(r, uid,
	    yyjson_obj_get(v, "uid"), CONNECTOR_SEED_BYTES_MAX,
	    &out->uid)) != OK)
		return e;
	if (wanted->token != NULL && yyjson_is_obj(t)) {
		out->fields = t;
		return check_fields(r, token, t);
	}
	/* A crawl judges its seeds: one that is too long, or has control
	 * characters, costs that seed and not the harvest. */
	if (r->connector->is_crawl && yyjson_is_str(t))
		out->token = json_text(t);
	else if (wanted->token != NULL && (e = read_text(r, token, t,
	    CONNECTOR_SEED_BYTES_MAX, &out->token)) != OK)
		return e;
	if (out->token.n == 0 && out->uid.n == 0)
		return REFUSE(r, place, "it has no %s%s%s",
		    wanted->token != NULL ? "token" : "",
		    wanted->token != NULL && wanted->uid != NULL ? " and no " :
		    "", wanted->uid != NULL ? "uid" : "");
	return OK;
}

static enum err
read_seeds(struct reading *r, yyjson_val *list)
{
	const struct connector_seeds *wanted = &r->connector->seeds;
	size_t i, n, count = yyjson_arr_size(list);
	char place[PLACE_BYTES];
	yyjson_val *v;

	if (!json_is_absent(list) && !yyjson_is_arr(list))
		return REFUSE(r, "seeds", "it is not a list");
	if (count < wanted->least || count > wanted->most)
		return REFUSE(r, "seeds", "%s takes %s %zu, and there %s %zu",
		    r->connector->type,
		    count < wanted->least ? "at least" : "at most",
		    count < wanted->least ? wanted->least : wanted->most,
		    count == 1 ? "is" : "are", count);
	struct connector_seed *seeds = ARENA_ARRAY(r->a, struct connector_seed,
	    count);
	yyjson_arr_foreach(list, i, n, v) {
		snprintf(place, sizeof(place), "seeds[%zu]", i);
		enum err e = read_seed(r, place, v, &seeds[i]);
		if (e != OK)
			return e;
	}
	r->out->seeds = seeds;
	r->out->seeds_n = count;
	return OK;
}

/* ---- Options and credential -------------------------------------------- */

static enum err
read_options(struct reading *r, yyjson_val *options)
{
	if (json_is_absent(options))
		return OK;
	if (!yyjson_is_obj(options))
		return REFUSE(r, "options", "it is not an object");
	r->out->options = options;
	return check_values(r, r->connector->params, "options", options);
}

static enum err
read_key(struct reading *r, const struct connector_key *key,
    yyjson_val *credentials, struct connector_credential *list)
{
	char field[FIELD_BYTES];
	struct str value;

	snprintf(field, sizeof(field), "credentials.%s", key->name);
	enum err e = read_text(r, field,
	    yyjson_obj_get(credentials, key->name), CONNECTOR_KEY_BYTES_MAX,
	    &value);
	if (e != OK)
		return e;
	const char *instead = r->connector->key_instead;
	bool needed = key->needed && (instead == NULL ||
	    json_is_absent(yyjson_obj_get(credentials, instead)));
	if (value.n == 0 && needed) {
		*r->code = "credentials_missing";
		return why_field(r->w, ERR_INPUT, field, "it is missing");
	}
	if (value.n > 0)
		list[r->out->credentials_n++] = (struct connector_credential){
			str_of(key->name), key->secret ? STR_NONE : value };
	return OK;
}

static enum err
read_credentials(struct reading *r, yyjson_val *credentials)
{
	const struct connector_key *key = r->connector->credential;
	size_t n = 0;

	if (!json_is_absent(credentials) && !yyjson_is_obj(credentials))
		return REFUSE(r, "credentials", "it is not an object");
	while (key[n].name != NULL)
		n++;
	struct connector_credential *list = ARENA_ARRAY(r->a,
	    struct connector_credential, n);
	r->out->credentials = list;
	for (; key->name != NULL; key++) {
		enum err e = read_key(r, key, credentials, list);
		if (e != OK)
			return e;
	}
	return OK;
}

enum err
connector_order_read(const struct connector *c, yyjson_val *message,
    struct arena *a, struct connector_order *out, const char **code,
    struct why *w)
{
	struct reading r = { c, a, out, code, w };
	enum err e;

	*out = (struct connector_order){ .connector = c };
	*code = NULL;
	if ((e = read_text(&r, "collection_set.id", yyjson_obj_get(
	    yyjson_obj_get(message, "collection_set"), "id"),
	    CONNECTOR_SEED_BYTES_MAX, &out->collection_set)) != OK)
		return e;
	if ((e = read_seeds(&r, yyjson_obj_get(message, "seeds"))) != OK ||
	    (e = read_options(&r, yyjson_obj_get(message, "options"))) != OK)
		return e;
	return read_credentials(&r, yyjson_obj_get(message, "credentials"));
}

/* ---- For connectors ---------------------------------------------------- */

bool
connector_param_bool(yyjson_val *object, const char *name)
{
	return bool_of(yyjson_obj_get(object, name)) == 1;
}

int64_t
connector_param_int(yyjson_val *object, const char *name, int64_t otherwise)
{
	int64_t number;

	return int_of(yyjson_obj_get(object, name), &number) ? number :
	    otherwise;
}

struct str
connector_param_text(yyjson_val *object, const char *name)
{
	yyjson_val *v = yyjson_obj_get(object, name);

	return yyjson_is_raw(v) ? number_text(v) : json_text(v);
}

yyjson_val *
connector_param_texts(yyjson_val *object, const char *name)
{
	yyjson_val *v = yyjson_obj_get(object, name);

	return yyjson_is_arr(v) ? v : NULL;
}

static const struct connector_credential *
find_key(const struct connector_order *o, const char *name)
{
	for (size_t i = 0; i < o->credentials_n; i++)
		if (str_eq(o->credentials[i].name, str_of(name)))
			return &o->credentials[i];
	return NULL;
}

bool
connector_has_key(const struct connector_order *o, const char *name)
{
	return find_key(o, name) != NULL;
}

struct str
connector_key_text(const struct connector_order *o, const char *name)
{
	const struct connector_credential *found = find_key(o, name);

	return found == NULL ? STR_NONE : found->value;
}

struct str
connector_state_find(const struct connector_order *o, struct str key)
{
	const struct connector_state *found = o->state_n == 0 ? NULL :
	    bsearch(&key, o->state, o->state_n, sizeof(*o->state), str_order);

	return found == NULL ? STR_NONE : found->value;
}
