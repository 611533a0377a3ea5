/* Secrets: whose they are, where they may go, and how they leave. */
#include "engine/harvest/driver_own.h"

#include "engine/connector/url_text.h"
#include "engine/parser/url.h"
#include "os/clock.h"
#include "wire/base64.h"
#include "wire/redact.h"

#define KEY_OPEN "{"
#define KEY_CLOSE "}"
#define NONCE_BYTES 16u

/* ---- Hosts ---------------------------------------------------------- */

static struct str
credential_text(const struct connector_order *o, struct str name)
{
	for (size_t i = 0; i < o->credentials_n; i++)
		if (str_eq(o->credentials[i].name, name))
			return o->credentials[i].value;
	return STR_NONE;
}

/* The text that "{...}" stands for; an option that is not there has none. */
static struct str
text_at(const struct connector_order *o, struct str name)
{
	return str_starts(name, STR("/")) ? json_text(yyjson_ptr_getn(
	    o->options, name.p, name.n)) : credential_text(o, name);
}

/*
 * "{instance}": the host of the URL that the credential has there;
 * "{/api/url}": that of the options.  *out is empty where that is not given.
 */
static enum err
expand_host(struct driver *d, struct str row, struct str *out, struct why *w)
{
	size_t open = str_find(row, STR(KEY_OPEN));
	size_t close = str_find(row, STR(KEY_CLOSE));
	struct url u;

	*out = row;
	if (open == row.n)
		return OK;
	struct str name = str_cut(row, open + 1, close);
	bool is_option = str_starts(name, STR("/"));
	struct str text = text_at(d->options.order, name);
	*out = STR_NONE;
	if (is_option && text.n == 0)
		return OK;
	if (url_parse(text, NULL, &d->arena, &u, NULL) != OK)
		return why_field(w, ERR_INPUT, is_option ? "options" :
		    "credentials", "%.*s is no URL", STR_FMT(name));
	*out = arena_printf(&d->arena, "%.*s%.*s%.*s", (int)open, row.p,
	    STR_FMT(u.host), STR_FMT(str_from(row, close + 1)));
	return OK;
}

enum err
driver_read_hosts(struct driver *d, struct why *w)
{
	const char *const *rows = d->connector->hosts;
	enum err e = OK;

	while (rows != NULL && rows[d->hosts_n] != NULL)
		d->hosts_n++;
	d->hosts = ARENA_ARRAY(&d->arena, struct str, d->hosts_n);
	for (size_t i = 0; i < d->hosts_n && e == OK; i++)
		e = expand_host(d, str_of(rows[i]), &d->hosts[i], w);
	return e;
}

static bool
may_go_to(const struct driver *d, struct str host)
{
	for (size_t i = 0; i < d->hosts_n; i++) {
		struct str h = d->hosts[i];
		if (h.n > 0 && str_eq_nocase(h, host))
			return true;
		if (str_starts(h, STR("*.")) && host.n > h.n - 1 &&
		    str_eq_nocase(str_from(host, host.n - (h.n - 1)),
		    str_from(h, 1)))
			return true;
	}
	return false;
}

/* ---- Whose secrets ---------------------------------------------------- */

/* The value of a key, secret or not; STR_NONE: it was not given. */
static struct str
key_value(const struct driver *d, const char *name)
{
	const struct driver_options *o = &d->options;

	if (name == NULL)
		return STR_NONE;
	for (size_t i = 0; i < o->secrets_n; i++)
		if (str_eq(o->secrets[i].name, str_of(name)))
			return o->secrets[i].value;
	return credential_text(o->order, str_of(name));
}

void
driver_find_secrets(struct slot *s)
{
	const struct connector_call *c = &s->call;

	s->keys = (struct oauth1_keys){ .consumer = key_value(s->driver,
	    c->secret), .consumer_secret = key_value(s->driver,
	    c->consumer_secret) };
	if (c->auth != CONNECTOR_OAUTH1)
		return;
	s->keys.token = key_value(s->driver, c->token);
	s->keys.token_secret = key_value(s->driver, c->token_secret);
}

/*
 * What the driver adds to the URL as the request leaves stands at its end; so
 * archive, index and replay know the call by one address.
 */
struct str
driver_shown_url(const struct connector_call *c, struct arena *a)
{
	FREED(buf_free) struct buf url = BUF_INIT;

	if (c->auth != CONNECTOR_QUERY)
		return c->url;
	buf_put_str(&url, c->url);
	url_text_param(&url, c->secret_name, STR(REDACT_WORD));
	return arena_copy(a, buf_str(&url));
}

/* ---- Signing -------------------------------------------------------- */

static void
add_field(struct exchange *x, const char *name, struct str value,
    struct arena *a)
{
	struct transport_header *all = ARENA_ARRAY(a, struct transport_header,
	    x->headers_n + 1);

	memcpy(all, x->headers, x->headers_n * sizeof(*all));
	all[x->headers_n] = (struct transport_header){ str_of(name), value };
	x->headers = all;
	x->headers_n++;
}

static void
sign_bearer(struct exchange *x, struct str token, struct arena *a)
{
	add_field(x, "Authorization", arena_printf(a, "Bearer %.*s",
	    STR_FMT(token)), a);
}

/* `encoded`: as RFC 6749 §2.3.1 wants both parts. */
static void
sign_basic(struct exchange *x, const struct oauth1_keys *k, bool encoded,
    struct arena *a)
{
	FREED(buf_free) struct buf both = BUF_INIT, value = BUF_INIT;

	/* A buffer that grows would leave a copy behind. */
	buf_reserve(&both, 3 * (k->consumer.n + k->consumer_secret.n) + 2);
	if (encoded) {
		url_text_encode(&both, k->consumer);
		buf_put_char(&both, ':');
		url_text_encode(&both, k->consumer_secret);
	} else {
		buf_printf(&both, "%.*s:%.*s", STR_FMT(k->consumer),
		    STR_FMT(k->consumer_secret));
	}
	buf_reserve(&value, 2 * both.n + 16);
	buf_put_text(&value, "Basic ");
	base64_put(&value, buf_str(&both));
	add_field(x, "Authorization", arena_copy(a, buf_str(&value)), a);
	explicit_bzero(both.p, both.n);
	explicit_bzero(value.p, value.n);
}

static void
sign_query(struct exchange *x, struct str secret, struct arena *a)
{
	FREED(buf_free) struct buf url = BUF_INIT;

	CHECK(str_ends(x->url, STR(REDACT_WORD)));
	buf_reserve(&url, x->url.n + 3 * secret.n);
	buf_put_str(&url, str_cut(x->url, 0, x->url.n -
	    strlen(REDACT_WORD)));
	url_text_encode(&url, secret);
	x->url = arena_copy(a, buf_str(&url));
	explicit_bzero(url.p, url.n);
}

static void
sign_oauth1(const struct slot *s, struct exchange *x, struct arena *a)
{
	FREED(buf_free) struct buf nonce = BUF_INIT, value = BUF_INIT;
	char bytes[NONCE_BYTES];

	clock_random(bytes, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		buf_printf(&nonce, "%02x", (unsigned char)bytes[i]);
	struct oauth1_request r = { .method = x->method, .url = x->url,
	    .form = s->call.method == CONNECTOR_POST_FORM ? x->body :
	    STR_NONE, .nonce = buf_str(&nonce),
	    .timestamp_s = clock_wall().us / US_PER_S, .has_version = true };
	oauth1_put_header(&s->keys, &r, &value);
	add_field(x, "Authorization", arena_copy(a, buf_str(&value)), a);
}

/* Send the whole address: the call has the one without secrets. */
static void
restore_url(const struct slot *s, struct exchange *x, struct arena *a)
{
	struct url u;

	if (s->hides_url && url_parse(s->url, NULL, a, &u, NULL) == OK)
		x->url = arena_copy(a, str_cut(u.href, 0, u.href.n -
		    u.fragment.n));
}

/* Thread: the host's loop; the slot is out, and does not change. */
bool
driver_sign(struct call *c, struct exchange *x, struct arena *a)
{
	struct slot *s = CONTAINER(c, struct slot, sent);

	restore_url(s, x, a);
	if (s->call.auth == CONNECTOR_ANONYMOUS)
		return true;
	if (!x->tls || !may_go_to(s->driver, x->host))
		return false;
	if (s->asks_token) {
		sign_basic(x, &s->keys, true, a);
		return true;
	}
	switch (s->call.auth) {
	case CONNECTOR_ANONYMOUS:
		break;
	case CONNECTOR_BEARER:
		sign_bearer(x, s->keys.consumer, a);
		break;
	case CONNECTOR_APP_BEARER:
		sign_bearer(x, buf_str(&s->driver->token), a);
		break;
	case CONNECTOR_QUERY:
		sign_query(x, s->keys.consumer, a);
		break;
	case CONNECTOR_HEADER:
		add_field(x, s->call.secret_name, s->keys.consumer, a);
		break;
	case CONNECTOR_BASIC:
		sign_basic(x, &s->keys, false, a);
		break;
	case CONNECTOR_OAUTH1_CONSUMER:
	case CONNECTOR_OAUTH1:
		sign_oauth1(s, x, a);
		break;
	}
	return true;
}

/* ---- What is cut out of records -------------------------------------- */

static void *
take_memory(void *arg, size_t n)
{
	return secret_memory_take(arg, n);
}

void
driver_make_redactor(struct driver *d)
{
	const struct driver_options *o = &d->options;
	struct arena a = ARENA_INIT;
	struct str *values = ARENA_ARRAY(&a, struct str, REDACT_VALUES_MAX);
	struct str name = str_of(d->secret_name);
	struct redact_rules rules = { .values = values, .harvest = true,
	    .headers = &name, .headers_n = d->secret_name != NULL,
	    .fields = &name, .fields_n = d->secret_name != NULL,
	    .take = take_memory, .arg = &d->redacted };

	for (size_t i = 0; i < o->secrets_n &&
	    rules.values_n < REDACT_VALUES_MAX - 1; i++)
		values[rules.values_n++] = o->secrets[i].value;
	if (d->token.n > 0)
		values[rules.values_n++] = buf_str(&d->token);
	for (size_t i = 0; i < DRIVER_FORMER_MAX; i++)
		for (size_t k = 0; k < d->former[i].n &&
		    rules.values_n < REDACT_VALUES_MAX; k++)
			values[rules.values_n++] = d->former[i].values[k];
	redact_free(&d->redactor);
	secret_memory_free(&d->redacted);
	d->redactor = redact_new(&rules);
	arena_free(&a);
}

static void
begin_former(struct driver_former *f, size_t n)
{
	*f = (struct driver_former){ .memory = SECRET_MEMORY_INIT };
	f->values = secret_memory_take(&f->memory, n * sizeof(*f->values));
}

static void
add_former(struct driver_former *f, struct str value)
{
	f->values[f->n++] = secret_memory_copy(&f->memory, value);
}

void
driver_keep_former(struct driver *d)
{
	const struct driver_options *o = &d->options;
	struct driver_former *last = &d->former[DRIVER_FORMER_MAX - 1];
	struct driver_former f;

	if (!o->archives || o->secrets_n == 0)
		return;
	begin_former(&f, o->secrets_n);
	for (size_t i = 0; i < o->secrets_n; i++)
		add_former(&f, o->secrets[i].value);
	secret_memory_free(&last->memory);
	memmove(d->former + 1, d->former, (DRIVER_FORMER_MAX - 1) *
	    sizeof(*d->former));
	d->former[0] = f;
}

void
driver_take_former(struct driver *d)
{
	struct driver_options *o = &d->options;

	if (o->archives && o->former_n > 0) {
		begin_former(&d->former[0], o->former_n);
		for (size_t i = 0; i < o->former_n; i++)
			add_former(&d->former[0], o->former[i]);
	}
	/* They are the caller's. */
	o->former = NULL;
	o->former_n = 0;
}

void
driver_free_former(struct driver *d)
{
	for (size_t i = 0; i < DRIVER_FORMER_MAX; i++) {
		secret_memory_free(&d->former[i].memory);
		d->former[i].n = 0;
	}
}

struct str
driver_clean_url(struct slot *s)
{
	FREED(buf_free) struct buf out = BUF_INIT, names = BUF_INIT;
	const struct redactor *r = s->driver->redactor;
	struct url was, u;

	/* The host stays the same: the call goes there. */
	if (!redact_text(r, s->url, &out, &names) ||
	    url_parse(s->url, NULL, &s->arena, &was, NULL) != OK ||
	    url_parse(buf_str(&out), NULL, &s->arena, &u, NULL) != OK ||
	    !str_eq(was.host, u.host) || was.port != u.port ||
	    was.scheme != u.scheme)
		return s->url;
	return arena_copy(&s->arena, buf_str(&out));
}
