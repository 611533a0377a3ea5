#include "doors/external/task_order.h"

#include "base/json_wiping.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "engine/connector/connector.h"

bool
task_fid_is_valid(struct str fid)
{
	if (fid.n == 0 || fid.n > 128)
		return false;
	for (size_t i = 0; i < fid.n; i++)
		if (!ascii_is_alpha(fid.p[i]) && !ascii_is_digit(fid.p[i]) &&
		    !str_has_char(STR("_.:-"), fid.p[i]))
			return false;
	return true;
}

/* ---- The body ----------------------------------------------------------- */

static enum err
read_text(yyjson_val *root, const char *name, struct str *out, struct why *w)
{
	yyjson_val *v = yyjson_obj_get(root, name);

	*out = STR_NONE;
	if (json_is_absent(v))
		return OK;
	if (!yyjson_is_str(v))
		return why_field(w, ERR_INPUT, name, "it is no text");
	*out = json_text(v);
	return OK;
}

static enum err
read_object(yyjson_val *root, const char *name, yyjson_val **out,
    struct why *w)
{
	yyjson_val *v = yyjson_obj_get(root, name);

	*out = NULL;
	if (json_is_absent(v))
		return OK;
	if (!yyjson_is_obj(v))
		return why_field(w, ERR_INPUT, name, "it is no object");
	*out = v;
	return OK;
}

static enum err
read_fid(yyjson_val *root, struct str *out, struct why *w)
{
	enum err e = read_text(root, "fid", out, w);

	if (e != OK)
		return e;
	if (out->n == 0)
		return why_field(w, ERR_INPUT, "fid", "it is missing");
	if (!task_fid_is_valid(*out))
		return why_field(w, ERR_INPUT, "fid", "it has 1 to 128 "
		    "letters, digits, \"_\", \".\", \":\" and \"-\"");
	return OK;
}

static enum err
read_crawler(yyjson_val *root, struct str *out, struct why *w)
{
	enum err e = read_text(root, "crawler", out, w);

	if (e == OK && (out->n > TASK_CRAWLER_BYTES_MAX ||
	    memchr(out->n > 0 ? out->p : "", '\0', out->n) != NULL))
		return why_field(w, ERR_INPUT, "crawler", "it is longer than "
		    "%u bytes, or has a NUL", TASK_CRAWLER_BYTES_MAX);
	return e;
}

static enum err
read_endpoint(yyjson_val *root, struct str *out, struct why *w)
{
	enum err e = read_text(root, "endpoint", out, w);

	return e == OK && out->n == 0 ? why_field(w, ERR_INPUT, "endpoint",
	    "it is missing") : e;
}

static enum err
read_reset(yyjson_val *root, bool *out, struct why *w)
{
	yyjson_val *v = yyjson_obj_get(root, "reset");

	*out = yyjson_is_true(v);
	return json_is_absent(v) || yyjson_is_bool(v) ? OK : why_field(w,
	    ERR_INPUT, "reset", "it is neither true nor false");
}

static enum err
read_body(struct str body, struct task_order *o, yyjson_val **out,
    struct why *w)
{
	yyjson_read_err at = { 0 };

	*o = (struct task_order){ .doc = NULL };
	o->doc = yyjson_read_opts((char *)(uintptr_t)body.p, body.n,
	    YYJSON_READ_NUMBER_AS_RAW, &json_wiping, &at);
	if (o->doc == NULL)
		return why(w, ERR_INPUT, "the body is no JSON: %s at byte %zu",
		    body.n == 0 ? "it is empty" : at.msg, at.pos);
	yyjson_val *root = yyjson_doc_get_root(o->doc);
	if (!yyjson_is_obj(root))
		return why(w, ERR_INPUT, "the body is no JSON object");
	if (json_is_deeper_than(root, TASK_DEPTH_MAX))
		return why(w, ERR_INPUT, "the body is more than %u levels "
		    "deep", TASK_DEPTH_MAX);
	*out = root;
	return OK;
}

static enum err
read_input(yyjson_val *root, struct task_order *o, struct why *w)
{
	enum err e = read_object(root, "params", &o->params, w);

	return e == OK ? read_object(root, "credential", &o->credential, w) :
	    e;
}

enum err
task_order_read_check(struct str body, struct task_order *o, struct why *w)
{
	yyjson_val *root = NULL;
	enum err e = read_body(body, o, &root, w);

	return e == OK ? read_input(root, o, w) : e;
}

enum err
task_order_read(struct str body, struct str version, struct task_order *o,
    struct why *w)
{
	yyjson_val *root = NULL;

	enum err e = read_body(body, o, &root, w);
	if (e == OK)
		e = read_fid(root, &o->fid, w);
	if (e == OK)
		e = read_endpoint(root, &o->endpoint, w);
	if (e == OK && version.p != NULL && !str_to_u64(version, &o->version))
		e = why_field(w, ERR_INPUT, "version", "it is no whole number");
	if (e == OK)
		e = read_input(root, o, w);
	if (e == OK)
		e = read_crawler(root, &o->crawler, w);
	return e == OK ? read_reset(root, &o->reset, w) : e;
}

void
task_order_free(struct task_order *o)
{
	yyjson_doc_free(o->doc);
	*o = (struct task_order){ .doc = NULL };
}

/* ---- Parameters --------------------------------------------------------- */

static void
note_wrong(void *arg, struct str name, struct str message)
{
	struct task_faults *f = arg;

	(void)name;
	if (f->n < TASK_FAULTS_MAX)
		f->messages[f->n++] = arena_copy(f->arena, message);
}

static void
note_unknown(void *arg, struct str name)
{
	struct task_faults *f = arg;

	if (f->unknown_n < TASK_FAULTS_MAX)
		f->unknown[f->unknown_n++] = arena_copy(f->arena,
		    str_cut(name, 0, EXTERNAL_NAME_BYTES_MAX));
}

enum err
task_params_check(const struct external_connector *c, yyjson_val *params,
    struct task_faults *f, struct buf *out)
{
	const struct external_params_faults faults = { .arg = f,
		.wrong = note_wrong, .unknown = note_unknown };
	struct why w = WHY_INIT;

	f->n = f->unknown_n = 0;
	enum err e = external_params_check(c, params, &faults, out, &w);
	if (e != OK && f->n == 0)
		f->messages[f->n++] = arena_copy(f->arena, str_of(w.text));
	return e;
}

/* ---- The credential ----------------------------------------------------- */

static bool
has_key(const struct connector_key *k, const char *name)
{
	for (; k != NULL && k->name != NULL; k++)
		if (strcmp(k->name, name) == 0)
			return true;
	return false;
}

/* The value that the back end sent for one of the connector's keys. */
static struct str
find_secret(yyjson_val *credential, const struct connector_key *keys,
    const char *key)
{
	static const char *const by_password[] = { "token", "key", "api_key",
		"secret" };
	struct str own = json_text(yyjson_obj_get(credential, key));

	if (own.n > 0)
		return own;
	/* A key with a secret is a name with its password. */
	if (strcmp(key, "username") == 0 ||
	    (strcmp(key, "key") == 0 && has_key(keys, "secret")))
		return json_text(yyjson_obj_get(credential, "user"));
	return STR_ROW(str_of(key), by_password) < ARRAY_LEN(by_password) ?
	    json_text(yyjson_obj_get(credential, "password")) : STR_NONE;
}

/* At most, as JSON. */
static size_t
count_secret_bytes(const struct connector_key *k, yyjson_val *credential)
{
	const struct connector_key *keys = k;
	size_t n = 2;

	for (; k != NULL && k->name != NULL; k++)
		n += 6 * (strlen(k->name) + find_secret(credential, keys,
		    k->name).n + 1);
	return n;
}

/* A module has what was sent, as far as it is text. */
static enum err
copy_credential(yyjson_val *credential, struct buf *out, struct why *w)
{
	yyjson_val *key, *v;
	size_t i, at, n = 0, bytes = 2;

	/* A buffer that grows would leave a copy behind. */
	yyjson_obj_foreach(credential, i, at, key, v)
		bytes += 6 * (yyjson_get_len(key) + yyjson_get_len(v) + 1);
	buf_reserve(out, bytes);
	json_object(out, NULL);
	yyjson_obj_foreach(credential, i, at, key, v) {
		if (!yyjson_is_str(v) || yyjson_get_len(v) == 0)
			continue;
		json_comma(out);
		text_json(out, json_text(key));
		buf_put_char(out, ':');
		text_json(out, json_text(v));
		n++;
	}
	buf_put_char(out, '}');
	return n > 0 ? OK : why_field(w, ERR_INPUT, "credential",
	    "the connector wants a user and a password");
}

enum err
task_credential_make(const struct external_connector *c,
    yyjson_val *credential, struct buf *out, struct why *w)
{
	const char *kind = external_connector_credential(c);
	size_t n = 0;

	if (strcmp(kind, "none") == 0 || strcmp(kind, "oauth") == 0)
		return OK;
	if (external_connector_is_module(c))
		return copy_credential(credential, out, w);
	const struct connector_key *keys =
	    external_connector_runs(c)->credential, *k = keys;
	/* A buffer that grows would leave a copy behind. */
	buf_reserve(out, count_secret_bytes(k, credential));
	json_object(out, NULL);
	for (; k != NULL && k->name != NULL; k++) {
		struct str value = find_secret(credential, keys, k->name);
		if (value.n == 0)
			continue;
		json_str(out, k->name, value);
		n++;
	}
	buf_put_char(out, '}');
	return n > 0 ? OK : why_field(w, ERR_INPUT, "credential",
	    "the connector wants a user and a password");
}

/* A longer text names nothing. */
#define GRANT_TEXT_BYTES_MAX 1024u
/* A smaller number is seconds, a larger one milliseconds: 5138-11-16. */
#define SECONDS_MAX UINT64_C(99999999999)

/* The document's numbers are raw. */
static bool
read_moment(yyjson_val *v, struct wall *out)
{
	struct str text = yyjson_is_raw(v) ? (struct str){ yyjson_get_raw(v),
	    yyjson_get_len(v) } : json_text(v);
	uint64_t n;

	if (str_to_u64(text, &n)) {
		out->us = (int64_t)(n <= SECONDS_MAX ? n * 1000000 :
		    MIN(n, (uint64_t)INT64_MAX / 1000) * 1000);
		return true;
	}
	return yyjson_is_str(v) && wall_from_iso(text, out);
}

enum err
task_grant_name_read(yyjson_val *credential, struct task_grant_name *out,
    struct why *w)
{
	yyjson_val *oauth = yyjson_obj_get(credential, "oauth");
	yyjson_val *from = json_is_absent(oauth) ? credential : oauth;
	yyjson_val *token = yyjson_obj_get(from, "token");
	yyjson_val *issued = yyjson_obj_get(from, "issued");

	*out = (struct task_grant_name){ .handle = json_text(token),
		.user = json_text(yyjson_obj_get(from, "user")) };
	if (!yyjson_is_obj(from))
		return why_field(w, ERR_INPUT, "credential", "the connector "
		    "wants a user who has signed in");
	if (!json_is_absent(token) && (out->handle.n == 0 ||
	    out->handle.n > GRANT_TEXT_BYTES_MAX))
		return why_field(w, ERR_INPUT, "credential", "token is no "
		    "token of a user who has signed in");
	if (out->handle.n > 0)
		return OK;
	if (out->user.n == 0 || out->user.n > GRANT_TEXT_BYTES_MAX)
		return why_field(w, ERR_INPUT, "credential", "it has neither a "
		    "token nor a user who has signed in");
	if (!read_moment(issued, &out->issued))
		return why_field(w, ERR_INPUT, "credential", "without a token "
		    "it has issued, a date in ISO 8601, in seconds or in "
		    "milliseconds");
	return OK;
}

void
task_credential_of_grant(const struct external_connector *c,
    const struct oauth_granted *g, struct buf *out)
{
	const struct oauth_tokens *t = &g->tokens;

	/* At once, so that no copy of a secret stays behind. */
	buf_reserve(out, 6 * (t->access.n + t->secret.n + g->client.id.n +
	    g->client.secret.n) + 200);
	json_object(out, NULL);
	if (external_connector_oauth(c)->kind == OAUTH_1) {
		json_str(out, "consumer_key", g->client.id);
		json_str(out, "consumer_secret", g->client.secret);
		json_str(out, "access_token", t->access);
		json_str(out, "access_token_secret", t->secret);
	} else {
		/* The one of them that api.auth takes. */
		json_str(out, "token", t->access);
		json_str(out, "key", t->access);
	}
	buf_put_char(out, '}');
}

void
task_order_join(struct str order, struct str keys, struct str credential,
    struct buf *out)
{
	/* At once, so that no copy of the secret stays behind. */
	buf_reserve(out, order.n + keys.n + credential.n + 32);
	if (keys.n == 0 && credential.n == 0) {
		buf_put_str(out, order);
		return;
	}
	json_object(out, NULL);
	json_name(out, "credentials");
	external_credential_join(keys, credential, out);
	buf_put_char(out, ',');
	buf_put_str(out, str_from(order, 1));
}

enum err
task_order_make(const struct external_connector *c, struct str params,
    const struct str *granted, struct str credential, struct buf *out,
    struct why *w)
{
	FREED(buf_free) struct buf plain = BUF_INIT, keys = BUF_INIT;
	enum err e = external_order_make_granted(c, params, granted, &plain,
	    w);

	if (e != OK)
		return e;
	external_keys_put(c, params, &keys);
	task_order_join(buf_str(&plain), buf_str(&keys), credential, out);
	return OK;
}

/* ---- Endpoints ---------------------------------------------------------- */

static struct str
without_query(struct str url)
{
	return str_cut(url, 0, str_find_char(url, '?'));
}

bool
task_endpoints_agree(struct str a, struct str b)
{
	return str_eq(without_query(a), without_query(b));
}
