/*
 * A call leaves when all of these hold: its date has come, the application's
 * token is there, its budget has units left.  A stream, which has a spool from
 * its beginning on, leaves behind answers that are durable: after a crash it
 * would be there without the answer that led to it.
 */
#include "engine/harvest/driver_own.h"

#include "engine/connector/order.h"
#include "engine/control/control.h"
#include "os/clock.h"

#define HEADERS_OWN_MAX 3u

/* ---- The application's token ---------------------------------------- */

static bool
wants_token(const struct slot *s)
{
	return s->call.auth == CONNECTOR_APP_BEARER &&
	    s->driver->token.n == 0;
}

/* One at a time; the records of calls that are out know no other token. */
static void
ask_token(struct slot *s)
{
	static const struct transport_header headers[] = {
		{ STR("Accept"), STR("application/json") },
		{ STR("Accept-Encoding"), STR("gzip") },
		{ STR("Content-Type"),
		    STR("application/x-www-form-urlencoded") } };
	struct driver *d = s->driver;

	if (d->token_is_asked || driver_is_out(d))
		return;
	d->token_is_asked = s->asks_token = true;
	driver_find_secrets(s);
	s->is_whole = s->is_learned = s->hides_url = false;
	s->sent = (struct call){ .crawl = d->crawl, .home = d->options.home,
	    .method = STR("POST"), .url = str_of(s->call.token_url),
	    .body = STR("grant_type=client_credentials"), .headers = headers,
	    .headers_n = ARRAY_LEN(headers), .tries_max = 1,
	    .archive = CALL_UNARCHIVED, .sign = driver_sign,
	    .private_hosts = d->options.private_hosts,
	    .private_n = d->options.private_n,
	    .done = driver_call_done };
	s->stopped = false;
	s->state = SLOT_OUT;
	engine_call(d->options.engine, &s->sent);
}

bool
driver_take_token(struct slot *s, struct driver_answer *a)
{
	struct driver *d = s->driver;
	yyjson_doc *doc = a->status >= 200 && a->status < 300 ?
	    yyjson_read(a->body.p, a->body.n, 0) : NULL;
	struct str token = json_text(yyjson_obj_get(yyjson_doc_get_root(doc),
	    "access_token"));

	/* Without one it is no answer of this kind, as any without JSON. */
	if (token.n > 0) {
		buf_put_str(&d->token, token);
		driver_make_redactor(d);
		s->asks_token = false;
	}
	a->body = STR_NONE;
	yyjson_doc_free(doc);
	return d->token.n > 0;
}

/* ---- Sending -------------------------------------------------------- */

static void
add_field(struct slot *s, const char *name, struct str value)
{
	s->headers[s->headers_n++] = (struct transport_header){
		str_of(name), value };
}

static void
make_headers(struct slot *s)
{
	static const char *const types[] = {
		[CONNECTOR_POST_FORM] = "application/x-www-form-urlencoded",
		[CONNECTOR_POST_JSON] = "application/json" };
	const struct connector_call *c = &s->call;

	s->headers = ARENA_ARRAY(&s->arena, struct transport_header,
	    HEADERS_OWN_MAX + c->fields_n);
	s->headers_n = 0;
	if (c->expect == CONNECTOR_JSON)
		add_field(s, "Accept", STR("application/json"));
	else if (c->expect == CONNECTOR_EVENTS)
		add_field(s, "Accept", STR("text/event-stream"));
	/* The handshake of a WebSocket wants neither. */
	if (c->expect == CONNECTOR_FRAMES)
		add_field(s, "Accept", STR_NONE);
	add_field(s, "Accept-Encoding", c->expect == CONNECTOR_FRAMES ?
	    STR_NONE : STR("gzip"));
	if (c->method != CONNECTOR_GET)
		add_field(s, "Content-Type", str_of(types[c->method]));
	for (size_t i = 0; i < c->fields_n; i++)
		add_field(s, c->fields[i].name, c->fields[i].value);
}

/* A call that follows from a stream's events has its answer in some time: by
 * then they are on the disk, so that a crash leaves no answer that nobody has
 * asked for. */
static void
sync_streams(struct driver *d)
{
	for (size_t i = 0; i < DRIVER_CALLS_MAX; i++)
		if (d->slots[i].spool != NULL)
			spool_sync(d->slots[i].spool);
}

void
driver_send_now(struct slot *s)
{
	const struct connector_call *c = &s->call;
	struct driver *d = s->driver;
	bool archives = driver_archives(d), harvests = driver_harvests(d);
	/* Harvests read answers again by the URLs that they asked for. */
	struct str url = archives && !harvests ? driver_clean_url(s) : s->url;

	driver_find_secrets(s);
	make_headers(s);
	s->hides_url = url.p != s->url.p;
	s->sent = (struct call){ .crawl = d->crawl, .home = d->options.home,
	    .method = c->method == CONNECTOR_GET ? STR("GET") : STR("POST"),
	    .url = url, .body = c->body, .headers = s->headers,
	    .headers_n = s->headers_n, .robots = c->as_crawl,
	    .collected = c->as_crawl && harvests,
	    .revisits = c->as_crawl && harvests && connector_param_bool(
	    d->options.order->options, "incremental"),
	    .tries_max = c->as_crawl ? 0 : 1,
	    .archive = !archives ? CALL_UNARCHIVED : c->as_metadata ?
	    CALL_METADATA : CALL_RESPONSE,
	    .redactor = d->options.redact ? d->redactor : NULL,
	    .private_hosts = d->options.private_hosts,
	    .private_n = d->options.private_n,
	    .sign = driver_sign, .done = driver_call_done };
	s->began.us = 0;
	s->stream_bytes = 0;
	s->renewed_once = false;
	s->is_whole = s->is_learned = false;
	if (driver_is_stream(c))
		driver_follow(s);
	else if (harvests)
		s->sent.answered = driver_call_answered;
	if (!driver_is_stream(c))
		sync_streams(d);
	s->stopped = false;
	s->state = SLOT_OUT;
	engine_call(d->options.engine, &s->sent);
}

/* False: a field of the calls that are out is secret by another name. */
static bool
know_secret_name(struct slot *s)
{
	struct driver *d = s->driver;
	const char *name = s->call.secret_name;

	if (name == NULL || (d->secret_name != NULL && strcmp(name,
	    d->secret_name) == 0))
		return true;
	if (driver_is_out(d))
		return false;
	d->secret_name = name;
	driver_make_redactor(d);
	return true;
}

/* Its turn in the budget has come. */
static bool
take_budget(struct slot *s, struct wall today)
{
	const struct connector_call *c = &s->call;
	struct driver *d = s->driver;
	FREED(buf_free) struct buf key = BUF_INIT, shared = BUF_INIT;

	if (c->as_crawl)
		return true;
	budget_key(d->connector->platform, c->budget,
	    buf_str(&d->fingerprint), &key);
	budget_key(d->connector->platform, c->budget, STR("*"), &shared);
	int64_t ms = c->rates != NULL ? budget_take_units(d->options.budgets,
	    buf_str(&key), buf_str(&shared), c->rates, c->cost, today) :
	    budget_take(d->options.budgets, buf_str(&key), today);
	if (ms > 0)
		driver_wait_ms(s, ms, "the rate limit");
	return ms <= 0;
}

void
driver_send(struct slot *s)
{
	const struct driver *d = s->driver;
	struct wall today = clock_wall();

	if (mono_before(clock_mono(), s->not_before)) {
		driver_wait_until(s, s->not_before, "another try");
		return;
	}
	if (s->call.not_before.us > today.us) {
		driver_wait_ms(s, MIN((s->call.not_before.us - today.us) /
		    1000 + 1, BUDGET_WAIT_MS_MAX), "its time");
		return;
	}
	if (d->early.slot != NULL && driver_is_stream(&s->call))
		return;
	if (wants_token(s))
		ask_token(s);
	else if (know_secret_name(s) && take_budget(s, today))
		driver_send_now(s);
}
