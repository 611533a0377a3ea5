/* One call to a provider, and what all of them need. */
#include "doors/external/provider_own.h"

#include <stdarg.h>

#include "os/clock.h"
#include "wire/base64.h"

#define NONCE_BITS 128u

/* ---- Texts -------------------------------------------------------------- */

void
provider_fault(struct oauth_fault *f, enum oauth_actor actor,
    const char *fmt, ...)
{
	va_list ap;

	*f = (struct oauth_fault){ .actor = actor };
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
}

void
provider_store_fault(struct oauth_fault *f, const struct why *w)
{
	provider_fault(f, OAUTH_ACTOR_LATER, "the store could not be used: "
	    "%.120s", w->text);
}

struct str
provider_random(unsigned bits, struct arena *a)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	uint8_t bytes[64];
	size_t n = bits / 8;

	CHECK(n <= sizeof(bytes));
	clock_random(bytes, n);
	buf_reserve(&text, 2 * sizeof(bytes));
	base64url_put(&text, (struct str){ (const char *)bytes, n });
	struct str out = arena_copy(a, buf_str(&text));
	explicit_bzero(text.p, text.cap);
	explicit_bzero(bytes, sizeof(bytes));
	return out;
}

struct oauth_flow
provider_flow(const struct held_connector *c,
    const struct oauth_client *client, const struct str *values,
    struct str redirect_uri, struct arena *a)
{
	return (struct oauth_flow){
		.declared = external_connector_oauth(c->connector),
		.values = values, .client = *client,
		.redirect_uri = redirect_uri,
		.nonce = provider_random(NONCE_BITS, a), .now = clock_wall() };
}

/* ---- Whether there is a client ------------------------------------------ */

const char *
provider_refusal(const struct external_door *d,
    const struct held_connector *c)
{
	const struct oauth_declaration *o = external_connector_oauth(
	    c->connector);
	const struct oauth_client *client = clients_find(d->clients, c->name);

	if (d->key_fault[0] != '\0')
		return d->key_fault;
	if (client == NULL && o->urls[OAUTH_REGISTER].n == 0)
		return "external.clients_file has no client for the connector,"
		    " and the connector does not register itself";
	if (client != NULL && client->secret.n == 0 && (o->kind == OAUTH_1 ||
	    o->client_auth != OAUTH_NONE))
		return "external.clients_file has no client_secret for the "
		    "connector, whose provider wants one";
	return NULL;
}

/* ---- A call ------------------------------------------------------------- */

static void
call_done(struct caller_call *call)
{
	struct provider_call *x = CONTAINER(call, struct provider_call, call);
	struct external_door *d = x->door;

	list_take(&x->node);
	x->done(x);
	drain_gate_leave(&d->asked);
}

void
provider_call_send(struct provider_call *x, struct external_door *d,
    const struct oauth_declaration *o, enum oauth_url which,
    const struct oauth_request *r)
{
	x->door = d;
	x->provider = (struct caller_provider){ .fields = x->fields,
		.fields_n = r->headers_n,
		.is_declared = !oauth_host_is_filled(o, which) };
	for (size_t i = 0; i < r->headers_n; i++)
		x->fields[i] = (struct transport_header){
		    str_of(r->headers[i].name), r->headers[i].value };
	x->call = (struct caller_call){ .provider = &x->provider,
		.method = str_of(r->method), .url = r->url, .body = r->body,
		.reply_max = OAUTH_REPLY_BYTES_MAX, .done = call_done };
	list_put(&d->provider_calls, &x->node);
	drain_gate_enter(&d->asked);
	caller_start(d->caller, &x->call);
}

bool
provider_call_answer(const struct provider_call *x, int *status,
    struct str *body, struct oauth_fault *f)
{
	const struct caller_call *c = &x->call;

	*status = (int)c->status;
	*body = c->reply;
	if (c->end == TRANSPORT_DONE && !c->reply_cut)
		return true;
	if (c->end == TRANSPORT_DONE)
		provider_fault(f, OAUTH_ACTOR_OPERATOR, "the provider's reply "
		    "is damaged, or larger than %zu bytes",
		    OAUTH_REPLY_BYTES_MAX);
	else if (c->end == TRANSPORT_BLOCKED)
		provider_fault(f, OAUTH_ACTOR_USER, "the provider cannot be "
		    "called: %s", c->detail);
	else if (c->end == TRANSPORT_STOPPED)
		provider_fault(f, OAUTH_ACTOR_LATER, "the server is ending");
	else
		provider_fault(f, OAUTH_ACTOR_LATER, "the provider did not "
		    "answer: %s", c->detail);
	return false;
}

void
provider_stop(struct external_door *d)
{
	LIST_EACH(x, &d->provider_calls, struct provider_call, node)
		if (!x->is_kept)
			caller_cancel(d->caller, &x->call);
	provider_stop_revocations(d);
}
