/*
 * A credential: what its script may see, and what only requests have.
 *
 *     {"user":"ada","password":"…"}  ─►  ctx.credential {"user":"ada"}
 *                                    └►  {{credential.password}}, and what
 *                                        `auth` puts into a request
 */
#include "base/json.h"
#include "base/json_wiping.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "os/secret_memory.h"
#include "script/connectors/module_own.h"
#include "wire/base64.h"

#define AUTH_BASIC "auth.basic"
#define AUTH_BEARER "auth.bearer"
#define AUTH_QUERY "auth.query"

/* Keys that are no secret. */
static const char *const seen_keys[] = { "user", "instance", "expiry",
	"issued" };

struct making {
	struct secret_value *list;
	size_t n;
	struct secret_memory memory;
};

static bool
is_key(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_alpha(s.p[i]) && !ascii_is_digit(s.p[i]) &&
		    !str_has_char(STR("_-"), s.p[i]))
			return false;
	return s.n > 0 && s.n <= SECRET_NAME_BYTES_MAX;
}

static enum err
add_value(struct making *m, struct str name, struct str value, struct why *w)
{
	if (value.n > SECRET_VALUE_BYTES_MAX || !text_is_field_value(value))
		return why_field(w, ERR_INPUT, "credential", "%.*s is longer "
		    "than %d bytes, or has a control character",
		    STR_FMT(name), SECRET_VALUE_BYTES_MAX);
	for (size_t i = 0; i < m->n; i++)
		if (str_eq(m->list[i].name, name))
			return why_field(w, ERR_INPUT, "credential", "%.*s is "
			    "a parameter, too, or is there twice",
			    STR_FMT(name));
	m->list[m->n++] = (struct secret_value){ name, value };
	return OK;
}

/* The first of these that the credential has. */
static struct str
first_of(yyjson_val *credential, const char *const *keys, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct str value = json_text(yyjson_obj_get(credential,
		    keys[i]));
		if (value.n > 0)
			return value;
	}
	return STR_NONE;
}

static enum err
add_basic(struct making *m, yyjson_val *credential, struct why *w)
{
	FREED(buf_free) struct buf both = BUF_INIT, coded = BUF_INIT;
	struct str user = json_text(yyjson_obj_get(credential, "user"));
	struct str password = json_text(yyjson_obj_get(credential,
	    "password"));

	if (user.n + password.n == 0)
		return OK;
	/* Buffers that grow would leave copies behind. */
	buf_reserve(&both, user.n + password.n + 2);
	buf_reserve(&coded, 2 * (user.n + password.n) + 8);
	buf_printf(&both, "%.*s:%.*s", STR_FMT(user), STR_FMT(password));
	base64_put(&coded, buf_str(&both));
	explicit_bzero(both.p, both.n);
	struct str value = secret_memory_copy(&m->memory, buf_str(&coded));
	explicit_bzero(coded.p, coded.n);
	return add_value(m, STR(AUTH_BASIC), value, w);
}

/* The header field or query parameter that `auth` asks for. */
static enum err
add_auth(struct making *m, yyjson_val *credential, struct why *w)
{
	static const char *const bearer[] = { "token", "access_token", "key",
		"password" };
	static const char *const query[] = { "key", "token", "access_token",
		"password" };
	struct str one = first_of(credential, bearer, ARRAY_LEN(bearer));
	struct str other = first_of(credential, query, ARRAY_LEN(query));

	enum err e = add_basic(m, credential, w);
	if (e == OK && one.n > 0)
		e = add_value(m, STR(AUTH_BEARER), one, w);
	if (e == OK && other.n > 0)
		e = add_value(m, STR(AUTH_QUERY), other, w);
	return e;
}

static enum err
add_members(struct making *m, yyjson_val *credential, struct buf *input,
    struct why *w)
{
	yyjson_val *key, *v;
	size_t i, n;
	enum err e = OK;

	if (yyjson_obj_size(credential) > MODULE_CREDENTIAL_MAX)
		return why_field(w, ERR_INPUT, "credential", "it has more than "
		    "%u members", MODULE_CREDENTIAL_MAX);
	yyjson_obj_foreach(credential, i, n, key, v) {
		struct str name = json_text(key);
		if (e != OK || !yyjson_is_str(v) || yyjson_get_len(v) == 0)
			continue;
		if (STR_ROW(name, seen_keys) < ARRAY_LEN(seen_keys))
			json_str(input, yyjson_get_str(key), json_text(v));
		else if (!is_key(name))
			e = why_field(w, ERR_INPUT, "credential", "a member's "
			    "name is not 1 to %u letters, digits, \"_\" and "
			    "\"-\"", SECRET_NAME_BYTES_MAX);
		else
			e = add_value(m, name, json_text(v), w);
	}
	return e;
}

static enum err
add_params(struct making *m, yyjson_val *params, struct why *w)
{
	yyjson_val *key, *v;
	size_t i, n;
	enum err e = OK;

	yyjson_obj_foreach(params, i, n, key, v)
		if (e == OK)
			e = add_value(m, json_text(key), json_text(v), w);
	return e;
}

static void
add_former(const struct making *m, struct str value, struct str *former,
    size_t *n)
{
	for (size_t i = 0; i < m->n; i++)
		if (str_eq(m->list[i].value, value))
			return;
	for (size_t i = 0; i < *n; i++)
		if (str_eq(former[i], value))
			return;
	if (*n < MODULE_FORMER_MAX)
		former[(*n)++] = value;
}

/* An API may repeat what it was sent before, so values that are replaced stay
 * known. */
static void
make_secrets(struct module_run *r, const struct making *m)
{
	struct module_run_options *o = &r->options;
	struct str former[MODULE_FORMER_MAX];
	size_t hosts_n, former_n = 0, n = 0;
	const struct str *hosts = external_connector_hosts(o->connector,
	    &hosts_n);
	const struct str *before = r->secrets == NULL ? NULL :
	    secrets_credential_values(r->secrets, &n);

	for (size_t i = 0; i < n; i++)
		add_former(m, before[i], former, &former_n);
	for (size_t i = 0; i < o->former_n; i++)
		add_former(m, o->former[i], former, &former_n);
	struct secrets *s = secrets_of_credential(m->list, m->n, hosts,
	    hosts_n, former, former_n);
	secrets_drop(&r->secrets);
	r->secrets = s;
	/* They were the caller's, for the first time. */
	o->former_n = 0;
}

static yyjson_doc *
read_secret(struct str json)
{
	return yyjson_read_opts((char *)(uintptr_t)json.p, json.n, 0,
	    &json_wiping, NULL);
}

enum err
module_secrets_make(struct module_run *r, struct str given, struct buf *input,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	yyjson_doc *credential = read_secret(given);
	yyjson_doc *params = read_secret(buf_str(&r->secret_params));
	struct making m = { .memory = SECRET_MEMORY_INIT };

	m.list = ARENA_ARRAY(&a, struct secret_value, MODULE_CREDENTIAL_MAX +
	    EXTERNAL_PARAMS_MAX + 3);
	if (given.n > 0)
		json_object(input, "credential");
	else
		json_null(input, "credential");
	enum err e = add_members(&m, yyjson_doc_get_root(credential), input,
	    w);
	if (given.n > 0)
		buf_put_char(input, '}');
	if (e == OK)
		e = add_params(&m, yyjson_doc_get_root(params), w);
	if (e == OK)
		e = add_auth(&m, yyjson_doc_get_root(credential), w);
	if (e == OK)
		make_secrets(r, &m);
	secret_memory_free(&m.memory);
	yyjson_doc_free(credential);
	yyjson_doc_free(params);
	return e;
}

/* ---- Signing ------------------------------------------------------------ */

static void
add_authorization(struct task_request *q, const char *scheme,
    const char *name, struct arena *a)
{
	size_t n = q->fetch.headers_n;
	struct http_field *all = ARENA_ARRAY(a, struct http_field, n + 1);
	FREED(buf_free) struct buf b = BUF_INIT;

	buf_printf(&b, "%s ", scheme);
	secrets_put_credential_placeholder(str_of(name), &b);
	for (size_t i = 0; i < n; i++)
		all[i] = q->fetch.headers[i];
	all[n] = (struct http_field){ STR("Authorization"),
		arena_copy(a, buf_str(&b)) };
	q->fetch.headers = all;
	q->fetch.headers_n = n + 1;
}

/* Before the fragment. */
static void
add_query(struct task_request *q, struct str name, struct arena *a)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct str url = q->fetch.url;
	size_t end = str_find_char(url, '#');
	struct str before = str_cut(url, 0, end);

	buf_put_str(&b, before);
	buf_put_char(&b, str_find_char(before, '?') < before.n ? '&' : '?');
	buf_put_str(&b, name);
	buf_put_char(&b, '=');
	secrets_put_credential_placeholder(STR(AUTH_QUERY), &b);
	buf_put_str(&b, str_from(url, end));
	q->fetch.url = arena_copy(a, buf_str(&b));
}

enum err
module_secrets_sign(struct task_request *q, yyjson_val *auth, struct arena *a,
    struct why *w)
{
	struct str word = json_text(auth);
	struct str name = json_text(yyjson_obj_get(auth, "query"));

	if (auth == NULL || yyjson_is_null(auth) || yyjson_is_false(auth))
		return OK;
	if (str_eq(word, STR("basic")))
		add_authorization(q, "Basic", AUTH_BASIC, a);
	else if (str_eq(word, STR("bearer")))
		add_authorization(q, "Bearer", AUTH_BEARER, a);
	else if (text_is_token(name))
		add_query(q, name, a);
	else
		return why_field(w, ERR_INPUT, "auth", "it is none of "
		    "\"basic\", \"bearer\" and {query: NAME}");
	return OK;
}
