#include "engine/tasks/secrets.h"

#include <stdatomic.h>

#include "base/json.h"
#include "base/json_writer.h"
#include "base/map.h"
#include "base/text.h"
#include "os/file.h"
#include "os/secret_memory.h"

#define SECRET_OPEN STR("{{secret.")
#define SECRET_OPEN_CODED STR("%7B%7Bsecret.")
#define CREDENTIAL_OPEN STR("{{credential.")
#define CREDENTIAL_OPEN_CODED STR("%7B%7Bcredential.")
/* A byte as JSON: "\u001f". */
#define JSON_BYTES_MAX 6u
#define CLOSE_RAW STR("}}")
#define CLOSE_CODED STR("%7D%7D")

struct secret {
	struct str name, value;
	const struct str *hosts;
	size_t hosts_n;
};

struct secrets {
	atomic_uint users;
	struct str open, open_coded;         /* of its placeholders */
	struct map by_name;          /* name -> struct secret */
	struct redactor *redactor, *session_redactor;
	struct redactor *api_redactor;       /* of a credential; or NULL */
	bool is_cut;                         /* it lacks values as JSON */
	struct secret_memory values;         /* of a credential */
	struct str *list;                    /* them, then the former ones */
	size_t list_n;
	struct arena arena;
};

/* -- The file -- */

static bool
is_name(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_alpha(s.p[i]) && !ascii_is_digit(s.p[i]) &&
		    !str_has_char(STR("_.-"), s.p[i]))
			return false;
	return s.n > 0 && s.n <= SECRET_NAME_BYTES_MAX;
}

/* The field of that secret, as errors name it. */
static enum err
wrong(struct why *w, enum err e, struct str name, const char *field,
    const char *text)
{
	return why(w, e, "%.*s%s%s: %s", (int)MIN(name.n,
	    SECRET_NAME_BYTES_MAX), name.p, field[0] == '\0' ? "" : ".", field,
	    text);
}

static enum err
read_hosts(yyjson_val *list, struct secret *s, struct arena *a, struct why *w)
{
	size_t i, n;
	yyjson_val *v;

	if (!yyjson_is_arr(list) || yyjson_arr_size(list) == 0)
		return wrong(w, ERR_INPUT, s->name, "hosts", "it is no list "
		    "of host names");
	if (yyjson_arr_size(list) > SECRET_HOSTS_MAX)
		return wrong(w, ERR_FULL, s->name, "hosts", "at most 64 are "
		    "allowed");
	struct str *hosts = ARENA_ARRAY(a, struct str, yyjson_arr_size(list));
	yyjson_arr_foreach(list, i, n, v) {
		if (!yyjson_is_str(v) || yyjson_get_len(v) == 0)
			return wrong(w, ERR_INPUT, s->name, "hosts", "an "
			    "element is no host name");
		hosts[i] = arena_copy(a, json_text(v));
	}
	s->hosts = hosts;
	s->hosts_n = n;
	return OK;
}

static enum err
read_members(yyjson_val *object, struct secret *s, struct arena *a,
    struct why *w)
{
	yyjson_val *value = yyjson_obj_get(object, "value");

	if (!yyjson_is_obj(object))
		return wrong(w, ERR_INPUT, s->name, "", "it is no object with "
		    "value and hosts");
	if (yyjson_obj_size(object) > 2)
		return wrong(w, ERR_INPUT, s->name, "", "it has a member "
		    "other than value and hosts");
	if (!yyjson_is_str(value) || yyjson_get_len(value) == 0)
		return wrong(w, ERR_INPUT, s->name, "value", "it is no text");
	/* A shorter one could not be found in answers and archives. */
	if (yyjson_get_len(value) < REDACT_VALUE_MIN)
		return wrong(w, ERR_INPUT, s->name, "value", "it has fewer "
		    "than 8 bytes");
	if (yyjson_get_len(value) > SECRET_VALUE_BYTES_MAX)
		return wrong(w, ERR_FULL, s->name, "value", "it has more than "
		    "8192 bytes");
	if (!text_is_field_value(json_text(value)))
		return wrong(w, ERR_INPUT, s->name, "value", "it has a control "
		    "character");
	s->value = arena_copy(a, json_text(value));
	return read_hosts(yyjson_obj_get(object, "hosts"), s, a, w);
}

static void
make_redactors(struct secrets *s, const struct str *values, size_t n)
{
	s->redactor = redact_new(&(struct redact_rules){ .values = values,
	    .values_n = n });
	s->session_redactor = redact_new(&(struct redact_rules){
	    .values = values, .values_n = n, .cookies = true });
}

static enum err
read_secrets(struct secrets *s, yyjson_val *root, struct why *w)
{
	struct str values[SECRETS_MAX];
	enum err e = OK;
	size_t i, n;
	yyjson_val *key, *object;

	s->open = SECRET_OPEN;
	s->open_coded = SECRET_OPEN_CODED;

	if (!yyjson_is_obj(root))
		return why(w, ERR_INPUT, "it is no JSON object of secrets");
	if (yyjson_obj_size(root) > SECRETS_MAX)
		return why(w, ERR_FULL, "it has more than %d secrets",
		    SECRETS_MAX);
	yyjson_obj_foreach(root, i, n, key, object) {
		struct secret *one = ARENA_NEW(&s->arena, struct secret);
		one->name = arena_copy(&s->arena, json_text(key));
		if (!is_name(one->name))
			return why(w, ERR_INPUT, "secret %zu: its name is not "
			    "1 to 64 letters, digits, \"_\", \".\" or \"-\"",
			    i + 1);
		e = read_members(object, one, &s->arena, w);
		if (e != OK)
			return e;
		if (map_put(&s->by_name, one->name, one) != NULL)
			return wrong(w, ERR_EXISTS, one->name, "", "it is "
			    "there twice");
		values[i] = one->value;
	}
	make_redactors(s, values, n);
	return OK;
}

enum err
secrets_parse(struct str json, struct secrets **out, struct why *w)
{
	yyjson_doc *doc = yyjson_read(json.p, json.n, 0);
	struct secrets *s;

	*out = NULL;
	if (doc == NULL)
		return why(w, ERR_INPUT, "it is no JSON");
	s = mem_new(sizeof(*s));
	atomic_init(&s->users, 1);
	enum err e = read_secrets(s, yyjson_doc_get_root(doc), w);
	yyjson_doc_free(doc);
	if (e != OK)
		secrets_drop(&s);
	*out = s;
	return e;
}

static void put_json(struct str value, struct buf *);

static void *
take_memory(void *arg, size_t n)
{
	return secret_memory_take(arg, n);
}

/* Values that JSON writes in another way are there in that way, too. */
static void
make_api_redactor(struct secrets *s, const struct str *values, size_t n)
{
	struct str all[REDACT_VALUES_MAX];
	struct redact_rules rules = { .values = all, .harvest = true,
	    .take = take_memory, .arg = &s->values };

	for (size_t i = 0; i < n; i++)
		all[rules.values_n++] = values[i];
	for (size_t i = 0; i < n; i++) {
		struct buf b = BUF_INIT;
		/* A buffer that grows would leave a copy behind. */
		buf_reserve(&b, JSON_BYTES_MAX * values[i].n + 3);
		put_json(values[i], &b);
		bool differs = !str_eq(buf_str(&b), values[i]);
		if (differs && rules.values_n < ARRAY_LEN(all))
			all[rules.values_n++] = secret_memory_copy(&s->values,
			    buf_str(&b));
		else if (differs)
			s->is_cut = true;
		explicit_bzero(b.p, b.cap);
		buf_free(&b);
	}
	s->api_redactor = redact_new(&rules);
}

struct secrets *
secrets_of_credential(const struct secret_value *values, size_t n,
    const struct str *hosts, size_t hosts_n, const struct str *former,
    size_t former_n)
{
	struct secrets *s = mem_new(sizeof(*s));

	CHECK(n <= SECRETS_MAX && former_n <= SECRETS_MAX - n);
	atomic_init(&s->users, 1);
	s->open = CREDENTIAL_OPEN;
	s->open_coded = CREDENTIAL_OPEN_CODED;
	hosts = arena_copy_list(&s->arena, hosts, hosts_n);
	s->list = ARENA_ARRAY(&s->arena, struct str, n + former_n);
	for (size_t i = 0; i < n; i++) {
		struct secret *one = ARENA_NEW(&s->arena, struct secret);
		*one = (struct secret){ arena_copy(&s->arena, values[i].name),
		    secret_memory_copy(&s->values, values[i].value), hosts,
		    hosts_n };
		CHECK(is_name(one->name));
		CHECK(map_put(&s->by_name, one->name, one) == NULL);
		s->list[s->list_n++] = one->value;
	}
	for (size_t i = 0; i < former_n; i++)
		s->list[s->list_n++] = secret_memory_copy(&s->values,
		    former[i]);
	make_redactors(s, s->list, s->list_n);
	make_api_redactor(s, s->list, s->list_n);
	return s;
}

enum err
secrets_load(const char *path, struct secrets **out, struct why *w)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct why inner = WHY_INIT;

	*out = NULL;
	if (path == NULL)
		return secrets_parse(STR("{}"), out, w);
	enum err e = file_load_private(path, SECRETS_FILE_BYTES_MAX, &text,
	    &inner);
	if (e == OK)
		e = secrets_parse(buf_str(&text), out, &inner);
	if (text.n > 0)
		explicit_bzero(text.p, text.n);
	return e == OK ? OK : why_field(w, e, "script.secrets_file", "%s: %s",
	    path, inner.text);
}

const struct str *
secrets_credential_values(const struct secrets *s, size_t *n)
{
	*n = s->list_n;
	return s->list;
}

struct secrets *
secrets_hold(struct secrets *s)
{
	atomic_fetch_add(&s->users, 1);
	return s;
}

void
secrets_drop(struct secrets **sp)
{
	struct secrets *s = *sp;

	*sp = NULL;
	if (s == NULL || atomic_fetch_sub(&s->users, 1) > 1)
		return;
	MAP_EACH(one, &s->by_name, struct secret)
		if (one->value.p != NULL)
			explicit_bzero((void *)one->value.p, one->value.n);
	redact_free(&s->redactor);
	redact_free(&s->session_redactor);
	redact_free(&s->api_redactor);
	secret_memory_free(&s->values);
	map_free(&s->by_name);
	arena_free(&s->arena);
	mem_free(&s);
}

bool
secrets_has(const struct secrets *s, struct str name)
{
	return map_get(&s->by_name, name) != NULL;
}

void
secrets_put_names(const struct secrets *s, struct buf *b)
{
	json_object(b, NULL);
	MAP_EACH(one, &s->by_name, const struct secret) {
		/* Its letters need no escape. */
		json_comma(b);
		buf_printf(b, "\"%.*s\":\"", STR_FMT(one->name));
		secrets_put_placeholder(one->name, b);
		buf_put_char(b, '"');
	}
	buf_put_char(b, '}');
}

const struct redactor *
secrets_redactor(const struct secrets *s)
{
	return s->redactor;
}

const struct redactor *
secrets_session_redactor(const struct secrets *s)
{
	return s->session_redactor;
}

const struct redactor *
secrets_api_redactor(const struct secrets *s)
{
	return s->api_redactor;
}

/* -- Placeholders -- */

static void
put_placeholder(struct str open, struct str name, struct buf *b)
{
	buf_put_str(b, open);
	buf_put_str(b, name);
	buf_put_str(b, CLOSE_RAW);
}

void
secrets_put_placeholder(struct str name, struct buf *b)
{
	put_placeholder(SECRET_OPEN, name, b);
}

void
secrets_put_credential_placeholder(struct str name, struct buf *b)
{
	put_placeholder(CREDENTIAL_OPEN, name, b);
}

/* The next placeholder of the text: where it stands and whose it is. */
struct found {
	size_t from, to;
	struct str name;
	bool coded;
};

static size_t
find_nocase(struct str s, struct str needle)
{
	for (size_t i = 0; i + needle.n <= s.n; i++)
		if (str_starts_nocase(str_from(s, i), needle))
			return i;
	return s.n;
}

static bool
find_form(struct str s, struct str open, struct str close, struct found *f)
{
	size_t from = find_nocase(s, open);
	struct str rest = str_from(s, from + open.n);
	size_t end = from == s.n ? 0 : find_nocase(rest, close);

	if (from == s.n || end == rest.n)
		return false;
	*f = (struct found){ from, from + open.n + end + close.n,
	    str_cut(rest, 0, end), false };
	return true;
}

static bool
find_placeholder(const struct secrets *of, struct str s, struct found *f)
{
	struct found coded;
	bool raw = find_form(s, of->open, CLOSE_RAW, f);

	if (find_form(s, of->open_coded, CLOSE_CODED, &coded) &&
	    (!raw || coded.from < f->from)) {
		*f = coded;
		f->coded = true;
		return true;
	}
	return raw;
}

bool
secrets_in(const struct secrets *s, struct str text)
{
	struct found f;

	return find_placeholder(s, text, &f);
}

static void
put_percent(struct str value, struct buf *b)
{
	for (size_t i = 0; i < value.n; i++) {
		char c = value.p[i];
		if (ascii_is_alpha(c) || ascii_is_digit(c) ||
		    str_has_char(STR("-._~"), c))
			buf_put_char(b, c);
		else
			buf_printf(b, "%%%02X", (unsigned char)c);
	}
}

static void
put_json(struct str value, struct buf *b)
{
	FREED(buf_free) struct buf quoted = BUF_INIT;

	buf_reserve(&quoted, JSON_BYTES_MAX * value.n + 3);
	text_json(&quoted, value);
	buf_put(b, quoted.p + 1, quoted.n - 2);
	explicit_bzero(quoted.p, quoted.cap);
}

static void
put_value(enum secret_place place, bool coded, struct str value, struct buf *b)
{
	if (coded || place == SECRET_IN_URL)
		put_percent(value, b);
	else if (place == SECRET_IN_JSON)
		put_json(value, b);
	else
		buf_put_str(b, value);
}

static bool
may_see(const struct secret *s, struct str host)
{
	for (size_t i = 0; i < s->hosts_n; i++)
		if (str_eq_nocase(s->hosts[i], host))
			return true;
	return false;
}

static enum err
find_secret(const struct secrets *s, struct str name, struct str host,
    const struct secret **out, struct why *w)
{
	int shown = (int)MIN(name.n, SECRET_NAME_BYTES_MAX);

	*out = map_get(&s->by_name, name);
	if (*out == NULL)
		return why(w, ERR_ABSENT, "there is no secret \"%.*s\"", shown,
		    name.p);
	if (!may_see(*out, host))
		return why(w, ERR_DENIED, "the secret \"%.*s\" is not for the "
		    "host %.*s", shown, name.p, STR_FMT(host));
	return OK;
}

enum err
secrets_fill(const struct secrets *s, enum secret_place place,
    struct str text, struct str host, struct arena *a, struct str *out,
    struct why *w)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	const struct secret *one;
	struct found f;
	enum err e = OK;

	*out = text;
	if (!secrets_in(s, text))
		return OK;
	while (e == OK && find_placeholder(s, text, &f)) {
		e = find_secret(s, f.name, host, &one, w);
		buf_put_str(&b, str_cut(text, 0, f.from));
		if (e == OK)
			put_value(place, f.coded, one->value, &b);
		text = str_from(text, f.to);
	}
	buf_put_str(&b, text);
	if (e == OK)
		*out = arena_copy(a, buf_str(&b));
	if (b.n > 0)
		explicit_bzero(b.p, b.n);
	return e;
}

bool
secrets_cannot_redact(const struct secrets *s, struct str text)
{
	struct found f;

	while (find_placeholder(s, text, &f)) {
		const struct secret *one = map_get(&s->by_name, f.name);
		if (one != NULL && (s->is_cut ||
		    one->value.n < REDACT_VALUE_MIN ||
		    one->value.n > REDACT_VALUE_BYTES_MAX / JSON_BYTES_MAX))
			return true;
		text = str_from(text, f.to);
	}
	return false;
}
