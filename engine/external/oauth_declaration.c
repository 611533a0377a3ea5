/*
 * The member `oauth` of a declaration.
 *
 *     https://{instance}/oauth/{tenant}?x={y}
 *             └─ host ─┘      └── path, query: percent-encoded
 *     https://{shop}.example.org/token
 *             └ label
 */
#include "base/text.h"
#include "engine/connector/url_text.h"
#include "engine/external/external_own.h"
#include "engine/external/oauth_own.h"

#define HTTP "http://"
#define HTTPS "https://"
#define LABEL_BYTES_MAX 63u

/* ---- Hosts ------------------------------------------------------------- */

static bool
is_label(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_alpha(s.p[i]) && !ascii_is_digit(s.p[i]) &&
		    s.p[i] != '-')
			return false;
	return s.n > 0 && s.n <= LABEL_BYTES_MAX && s.p[0] != '-' &&
	    s.p[s.n - 1] != '-';
}

/* Hosts that end in a number are IPv4 addresses to URL parsers. */
static bool
is_number(struct str label)
{
	for (size_t i = 0; i < label.n; i++)
		if (!ascii_is_digit(label.p[i]))
			return str_starts_nocase(label, STR("0x"));
	return true;
}

bool
oauth_host_is_valid(struct str host)
{
	struct str rest = host, label = STR_NONE;
	size_t labels = 0;

	if (host.n == 0 || host.n > OAUTH_VALUE_BYTES_MAX)
		return false;
	for (; str_split(&rest, '.', &label); labels++)
		if (!is_label(label))
			return false;
	return labels >= 2 && !is_number(label);
}

static struct str
lower_copy(struct str s, struct arena *a)
{
	char *p = arena_bytes(a, s.n + 1);

	for (size_t i = 0; i < s.n; i++)
		p[i] = ascii_lower(s.p[i]);
	p[s.n] = '\0';
	return (struct str){ p, s.n };
}

/* "*.a.example" admits any name under it, not that name itself. */
static bool
host_is_admitted(const struct oauth_declaration *d, struct str host)
{
	for (size_t i = 0; i < d->hosts_n; i++) {
		struct str admitted = d->hosts[i];
		if (str_starts(admitted, STR("*.")) ?
		    str_ends(host, str_from(admitted, 1)) :
		    str_eq(host, admitted))
			return true;
	}
	return d->hosts_n == 0;
}

/* ---- Values ------------------------------------------------------------ */

/* The error about a value, as half a sentence; NULL: it is valid. */
static const char *
check_value(const struct oauth_declaration *d, const struct oauth_param *p,
    struct str value)
{
	if (value.n == 0)
		return "it is missing";
	if (value.n > OAUTH_VALUE_BYTES_MAX)
		return "it is too long";
	if (text_has_control(value) || !text_is_utf8(value))
		return "it is not a text of one line";
	if (str_eq(value, STR(".")) || str_eq(value, STR("..")))
		return "it cannot be a part of a path";
	if (p->is_host && !oauth_host_is_valid(value))
		return "it is not the name of a host, such as a.example";
	if (p->is_host && !host_is_admitted(d, value))
		return "this host is not one of those that the connector "
		    "admits";
	if (p->is_label && !is_label(value))
		return "it is not letters, digits and \"-\"";
	return NULL;
}

enum err
oauth_param_read(const struct oauth_declaration *d, size_t index,
    struct str value, struct arena *a, struct str *out, struct why *w)
{
	CHECK(index < d->params_n);
	const struct oauth_param *p = &d->params[index];
	struct str used = value.n > 0 ? value : p->otherwise;

	used = p->is_host || p->is_label ? lower_copy(used, a) :
	    arena_copy(a, used);
	const char *wrong = check_value(d, p, used);
	if (wrong != NULL)
		return why_field(w, ERR_INPUT, p->name.p, "%s", wrong);
	*out = used;
	return OK;
}

/* ---- Addresses --------------------------------------------------------- */

size_t
oauth_param_find(const struct oauth_declaration *d, struct str name)
{
	size_t i = 0;

	while (i < d->params_n && !str_eq(d->params[i].name, name))
		i++;
	return i;
}

bool
oauth_take_placeholder(struct str *rest, struct str *literal, struct str *name)
{
	if (rest->n == 0)
		return false;
	size_t open = str_find_char(*rest, '{');
	size_t close = str_find_char(str_from(*rest, open), '}');

	*literal = str_cut(*rest, 0, open);
	*name = open < rest->n ? str_cut(*rest, open + 1, open + close) :
	    STR_NONE;
	*rest = str_from(*rest, open + close + 1);
	return true;
}

struct declaring {
	struct external_reading *r;
	struct oauth_declaration *d;
	bool used[OAUTH_PARAMS_MAX];         /* by some address */
};

static enum err
check_placeholder(struct declaring *s, const char *place, struct str name,
    struct oauth_param **out)
{
	size_t i = oauth_param_find(s->d, name);

	if (i == s->d->params_n)
		return external_read_refuse(s->r, place, "oauth.parameters "
		    "has no {%.*s}", STR_FMT(str_cut(name, 0,
		    EXTERNAL_NAME_BYTES_MAX)));
	s->used[i] = true;
	*out = &s->d->params[i];
	return OK;
}

/* Path and query. */
static enum err
check_rest(struct declaring *s, const char *place, struct str rest)
{
	struct str literal, name;
	struct oauth_param *p;
	enum err e = OK;

	while (e == OK && oauth_take_placeholder(&rest, &literal, &name))
		if (name.p != NULL)
			e = check_placeholder(s, place, name, &p);
	return e;
}

/* A host without placeholders, "{NAME}" or "{NAME}.a.example". */
static enum err
check_host(struct declaring *s, const char *place, struct str host)
{
	struct str literal, name, rest = host;
	struct oauth_param *p;

	if (host.n == 0 || str_find_char(host, '@') < host.n ||
	    str_find_char(host, '\\') < host.n)
		return external_read_refuse(s->r, place, "it has no host, or a "
		    "user's name");
	(void)oauth_take_placeholder(&rest, &literal, &name);
	if (name.p == NULL)
		return OK;
	enum err e = check_placeholder(s, place, name, &p);
	if (e != OK)
		return e;
	bool whole = rest.n == 0;
	if (literal.n > 0 || (!whole && (!str_take_char(&rest, '.') ||
	    !oauth_host_is_valid(rest))))
		return external_read_refuse(s->r, place, "{%.*s} is neither "
		    "the whole host nor its first label", STR_FMT(name));
	p->is_host |= whole;
	p->is_label |= !whole;
	return OK;
}

static bool
braces_match(struct str part)
{
	bool inside = false;

	for (size_t i = 0; i < part.n; i++) {
		if (part.p[i] == (inside ? '{' : '}'))
			return false;
		inside ^= part.p[i] == '{' || part.p[i] == '}';
	}
	return !inside;
}

/* The part between "://" and the path, and what follows it. */
static struct str
split_host(struct str url, struct str *rest)
{
	bool secure = str_starts_nocase(url, STR(HTTPS));
	struct str after = str_from(url, strlen(secure ? HTTPS : HTTP));
	size_t end = 0;

	while (end < after.n && !str_has_char(STR("/?"), after.p[end]))
		end++;
	*rest = str_from(after, end);
	return str_cut(after, 0, end);
}

/* Without its port. */
static bool
is_loopback(struct str host)
{
	static const char *const names[] = { "localhost", "127.0.0.1",
		"[::1]" };
	size_t at = host.n;

	while (at > 0 && ascii_is_digit(host.p[at - 1]))
		at--;
	if (at > 0 && host.p[at - 1] == ':')
		host = str_cut(host, 0, at - 1);
	return STR_ROW_NOCASE(host, names) < ARRAY_LEN(names);
}

bool
oauth_host_is_filled(const struct oauth_declaration *d, enum oauth_url which)
{
	struct str rest, host = split_host(d->urls[which], &rest);

	return str_find_char(host, '{') < host.n;
}

bool
oauth_host_is_declared(const struct oauth_declaration *d, struct str host)
{
	bool found = str_find_char(host, '{') == host.n;
	struct str rest;

	for (size_t i = 0; i < OAUTH_URL_COUNT; i++)
		if (d->urls[i].n > 0)
			found |= str_eq(host, split_host(d->urls[i], &rest));
	return found;
}

static enum err
check_url(struct declaring *s, const char *place, struct str url)
{
	struct str rest, host = split_host(url, &rest);
	bool secure = str_starts_nocase(url, STR(HTTPS));

	if (!url_text_is_web(url) || (!secure && !is_loopback(host)))
		return external_read_refuse(s->r, place, "it is not an address"
		    " that begins with https, or with http on loopback");
	if (!braces_match(host) || !braces_match(rest) ||
	    str_find_char(url, '#') < url.n)
		return external_read_refuse(s->r, place, "it has a brace "
		    "without the other, or a \"#\"");
	enum err e = check_host(s, place, host);
	return e == OK ? check_rest(s, place, rest) : e;
}

/* Read the address `member` of `object`. */
static enum err
read_url(struct declaring *s, yyjson_val *object, enum oauth_url which,
    const char *object_place, const char *member, bool needed)
{
	const char *place = external_read_join(s->r, object_place, member);
	struct str *url = &s->d->urls[which];
	enum err e = external_read_text(s->r, object, object_place, member,
	    needed, url);

	return e == OK && url->n > 0 ? check_url(s, place, *url) : e;
}

static enum err
read_urls(struct declaring *s, yyjson_val *oauth)
{
	bool old = s->d->kind == OAUTH_1;
	enum err e;

	if ((e = read_url(s, oauth, OAUTH_AUTHORIZE, "oauth", "authorize",
	    true)) != OK || (e = read_url(s, oauth, OAUTH_TOKEN, "oauth",
	    "token", true)) != OK || (e = read_url(s, oauth, OAUTH_REQUEST,
	    "oauth", "request", old)) != OK || (e = read_url(s, oauth,
	    OAUTH_REVOKE, "oauth", "revoke", false)) != OK)
		return e;
	return read_url(s, oauth, OAUTH_ISSUER, "oauth", "issuer", false);
}

/* ---- Parameters and hosts ---------------------------------------------- */

/* Parameters that calls of front ends have anyway, and the question of
 * doors/external/login.c. */
static const char *const taken_names[] = { "uuid", "subdomain", "ticket",
	"reset", "confirm" };

static enum err
read_param(struct declaring *s, yyjson_val *key, yyjson_val *v)
{
	struct oauth_declaration *d = s->d;
	struct str name = json_text(key);

	if (!external_name_is_valid(name))
		return external_read_refuse(s->r, "oauth.parameters", "a name "
		    "is not 1 to %u lower-case letters, digits, \"_\" and "
		    "\"-\"", EXTERNAL_NAME_BYTES_MAX);
	if (oauth_param_find(d, name) < d->params_n)
		return external_read_refuse(s->r, "oauth.parameters", "%.*s "
		    "is there twice", STR_FMT(name));
	if (STR_ROW(name, taken_names) < ARRAY_LEN(taken_names))
		return external_read_refuse(s->r, "oauth.parameters", "%.*s "
		    "is a parameter of every login", STR_FMT(name));
	if (d->params_n == OAUTH_PARAMS_MAX)
		return external_read_refuse(s->r, "oauth.parameters", "it has "
		    "more than %u members", OAUTH_PARAMS_MAX);
	if (!yyjson_is_str(v) && !yyjson_is_null(v))
		return external_read_refuse(s->r, external_read_join(s->r,
		    "oauth.parameters", name.p), "the default is not a text");
	d->params[d->params_n++] = (struct oauth_param){ .name = name,
		.otherwise = json_text(v) };
	return OK;
}

static enum err
read_params(struct declaring *s, yyjson_val *params)
{
	size_t i, n;
	yyjson_val *key, *v;
	enum err e = OK;

	if (params != NULL && !yyjson_is_obj(params))
		return external_read_refuse(s->r, "oauth.parameters", "it is "
		    "not an object");
	yyjson_obj_foreach(params, i, n, key, v)
		if (e == OK)
			e = read_param(s, key, v);
	return e;
}

/* The list's texts; each is a name, or "*." and a name. */
static enum err
read_hosts(struct declaring *s, yyjson_val *list)
{
	struct oauth_declaration *d = s->d;
	size_t i, n;
	yyjson_val *v;

	if (list == NULL)
		return OK;
	n = yyjson_arr_size(list);
	if (n == 0 || n > OAUTH_HOSTS_MAX)
		return external_read_refuse(s->r, "oauth.hosts", "it is not a "
		    "list of 1 to %u names", OAUTH_HOSTS_MAX);
	d->hosts = ARENA_ARRAY(&s->r->connector->arena, struct str, n);
	yyjson_arr_foreach(list, i, n, v) {
		struct str host = json_text(v);
		if (!oauth_host_is_valid(str_from(host, str_starts(host,
		    STR("*.")) ? 2 : 0)))
			return external_read_refuse(s->r, "oauth.hosts", "it "
			    "has something other than names of hosts and "
			    "\"*.\" before them");
		d->hosts[d->hosts_n++] = lower_copy(host,
		    &s->r->connector->arena);
	}
	return OK;
}

/* After all addresses are known. */
static enum err
check_params(struct declaring *s)
{
	const struct oauth_declaration *d = s->d;
	bool has_host = false;

	for (size_t i = 0; i < d->params_n; i++) {
		const struct oauth_param *p = &d->params[i];
		const char *place = external_read_join(s->r,
		    "oauth.parameters", p->name.p);
		FREED(arena_free) struct arena a = ARENA_INIT;
		struct why cause = WHY_INIT;
		struct str value;
		if (!s->used[i])
			return external_read_refuse(s->r, place, "no address "
			    "has {%.*s}", STR_FMT(p->name));
		if (p->otherwise.n > 0 && oauth_param_read(d, i, STR_NONE, &a,
		    &value, &cause) != OK)
			return external_read_refuse(s->r, place, "the default:"
			    " %s", cause.text + cause.sentence);
		has_host |= p->is_host;
	}
	return d->hosts_n > 0 && !has_host ? external_read_refuse(s->r,
	    "oauth.hosts", "no parameter is a host") : OK;
}

/* ---- Scopes, profile, registration ------------------------------------- */

/* A scope has no blank (RFC 6749 §3.3). */
static enum err
read_scopes(struct declaring *s, yyjson_val *list)
{
	FREED(buf_free) struct buf all = BUF_INIT;
	size_t i, n;
	yyjson_val *v;

	if (list != NULL && (!yyjson_is_arr(list) ||
	    yyjson_arr_size(list) > OAUTH_SCOPES_MAX))
		return external_read_refuse(s->r, "oauth.scopes", "it is not a "
		    "list of at most %u texts", OAUTH_SCOPES_MAX);
	yyjson_arr_foreach(list, i, n, v) {
		struct str scope = json_text(v);
		if (scope.n == 0 || scope.n > EXTERNAL_TEXT_BYTES_MAX ||
		    text_has_control(scope) ||
		    str_find_char(scope, ' ') < scope.n)
			return external_read_refuse(s->r, "oauth.scopes", "it "
			    "is not a list of texts without blanks");
		buf_printf(&all, "%s%.*s", i == 0 ? "" : " ", STR_FMT(scope));
	}
	s->d->scope = arena_copy(&s->r->connector->arena, buf_str(&all));
	return OK;
}

static enum err
read_pointer(struct declaring *s, yyjson_val *profile, const char *name,
    struct str *out)
{
	enum err e = external_read_text(s->r, profile, "oauth.profile", name,
	    false, out);

	return e == OK && out->n > 0 && out->p[0] != '/' ?
	    external_read_refuse(s->r, external_read_join(s->r,
	    "oauth.profile", name), "it is not a JSON pointer, such as /id") :
	    e;
}

/* An address alone has the members of OpenID Connect (Core §5.1). */
static enum err
read_profile(struct declaring *s, yyjson_val *oauth, yyjson_val *profile)
{
	static const char *const names[] = { "url", "account", "name", "email",
		NULL };
	struct oauth_declaration *d = s->d;
	enum err e;

	if (profile == NULL)
		return OK;
	if (yyjson_is_str(profile)) {
		d->account = STR("/sub");
		d->name = STR("/name");
		d->email = STR("/email");
		return read_url(s, oauth, OAUTH_PROFILE, "oauth", "profile",
		    true);
	}
	if ((e = external_read_members(s->r, profile, "oauth.profile",
	    names)) != OK || (e = read_url(s, profile, OAUTH_PROFILE,
	    "oauth.profile", "url", false)) != OK || (e = read_pointer(s,
	    profile, "account", &d->account)) != OK || (e = read_pointer(s,
	    profile, "name", &d->name)) != OK)
		return e;
	return read_pointer(s, profile, "email", &d->email);
}

static enum err
read_register(struct declaring *s, yyjson_val *member)
{
	static const char *const names[] = { "form", "url", NULL };
	static const char *const forms[] = { "rfc7591", "mastodon" };
	size_t form;

	if (member == NULL)
		return OK;
	enum err e = external_read_members(s->r, member, "oauth.register",
	    names);
	if (e == OK)
		e = external_read_word(s->r, member, "oauth.register", "form",
		    forms, ARRAY_LEN(forms), &form);
	if (e != OK)
		return e;
	s->d->register_form = (enum oauth_form)form;
	return read_url(s, member, OAUTH_REGISTER, "oauth.register", "url",
	    true);
}

/* "NAME=VALUE"; "" is none. */
static enum err
read_select(struct declaring *s, yyjson_val *oauth)
{
	struct str text;
	bool given = yyjson_obj_get(oauth, "selectAccount") != NULL;
	enum err e = external_read_text(s->r, oauth, "oauth", "selectAccount",
	    false, &text);

	if (e != OK)
		return e;
	/* OpenID Connect Core §3.1.2.1. */
	if (!given && s->d->kind == OAUTH_2)
		text = STR("prompt=select_account");
	size_t at = str_find_char(text, '=');
	if (text.n > 0 && (at == 0 || at == text.n))
		return external_read_refuse(s->r, "oauth.selectAccount", "it "
		    "is not a name, \"=\" and a value");
	s->d->select_name = str_cut(text, 0, at);
	s->d->select_value = str_from(text, at + 1);
	return OK;
}

/* ---- All of it --------------------------------------------------------- */

/* Members that one kind does not have. */
static enum err
check_kind(struct declaring *s, yyjson_val *oauth)
{
	static const char *const modern[] = { "revoke", "scopes",
		"clientAuth", "register", "issuer" };
	bool old = s->d->kind == OAUTH_1;

	for (size_t i = 0; i < ARRAY_LEN(modern); i++)
		if (old && yyjson_obj_get(oauth, modern[i]) != NULL)
			return external_read_refuse(s->r, external_read_join(
			    s->r, "oauth", modern[i]), "the kind is oauth1");
	if (!old && yyjson_obj_get(oauth, "request") != NULL)
		return external_read_refuse(s->r, "oauth.request", "the kind "
		    "is oauth2");
	return OK;
}

static enum err
read_kind(struct declaring *s, yyjson_val *oauth)
{
	static const char *const kinds[] = { "oauth2", "oauth1" };
	static const char *const clients[] = { "basic", "post", "none" };
	size_t kind, client = OAUTH_BASIC;

	enum err e = external_read_word(s->r, oauth, "oauth", "kind", kinds,
	    ARRAY_LEN(kinds), &kind);
	if (e == OK && yyjson_obj_get(oauth, "clientAuth") != NULL)
		e = external_read_word(s->r, oauth, "oauth", "clientAuth",
		    clients, ARRAY_LEN(clients), &client);
	if (e != OK)
		return e;
	s->d->kind = (enum oauth_kind)kind;
	s->d->client_auth = (enum oauth_client_auth)client;
	return check_kind(s, oauth);
}

enum err
oauth_declaration_read(struct external_reading *r, yyjson_val *oauth,
    struct oauth_declaration *d)
{
	static const char *const names[] = { "kind", "authorize", "token",
		"revoke", "request", "profile", "scopes", "clientAuth",
		"parameters", "hosts", "register", "selectAccount", "issuer",
		NULL };
	struct declaring s = { .r = r, .d = d };
	enum err e;

	*d = (struct oauth_declaration){ .params_n = 0 };
	if ((e = external_read_members(r, oauth, "oauth", names)) != OK ||
	    (e = read_kind(&s, oauth)) != OK || (e = read_params(&s,
	    yyjson_obj_get(oauth, "parameters"))) != OK || (e = read_urls(&s,
	    oauth)) != OK || (e = read_scopes(&s, yyjson_obj_get(oauth,
	    "scopes"))) != OK || (e = read_select(&s, oauth)) != OK ||
	    (e = read_profile(&s, oauth, yyjson_obj_get(oauth,
	    "profile"))) != OK || (e = read_register(&s, yyjson_obj_get(oauth,
	    "register"))) != OK || (e = read_hosts(&s, yyjson_obj_get(oauth,
	    "hosts"))) != OK)
		return e;
	return check_params(&s);
}
