#include "engine/harvest/driver_own.h"

#include "engine/control/control.h"
#include "os/clock.h"
#include "wire/digest.h"
#include "wire/redact.h"

/* ---- Quiet ---------------------------------------------------------- */

bool
driver_is_out(const struct driver *d)
{
	for (size_t i = 0; i < DRIVER_CALLS_MAX; i++)
		if (d->slots[i].state == SLOT_OUT ||
		    driver_is_successor_out(&d->slots[i]))
			return true;
	return d->reading;
}

static void
deliver_quiet(struct mail *m)
{
	struct driver *d = CONTAINER(m, struct driver, quiet_mail);

	d->quiet_is_out = false;
	if ((d->held || d->end != DRIVER_GOES_ON) && !driver_is_out(d))
		d->options.quiet(d->options.arg);
}

static void
tell_quiet(struct driver *d)
{
	if (d->quiet_is_out || d->recovering || driver_is_out(d) ||
	    (!d->held && d->end == DRIVER_GOES_ON))
		return;
	d->quiet_is_out = true;
	loop_send(d->options.home, &d->quiet_mail, deliver_quiet);
}

/* ---- A call that is tried again ------------------------------------- */

void
driver_wait_until(struct slot *s, struct mono at, const char *what)
{
	struct driver *d = s->driver;

	s->state = SLOT_WAITS;
	s->not_before = at;
	if (d->look.waits_until.ns == 0 || mono_before(at,
	    d->look.waits_until) || d->look.waits_for == NULL) {
		d->look.waits_until = at;
		d->look.waits_for = what;
	}
	loop_timer_set(d->options.home, &s->timer, at);
}

void
driver_wait_ms(struct slot *s, int64_t ms, const char *what)
{
	driver_wait_until(s, mono_add_ms(clock_mono(), ms), what);
}

/* The call's URL without secrets, also those that the platform has put there.
 * Memory: the slot's, or `url`. */
static struct str
public_url(const struct slot *s, struct buf *url)
{
	FREED(buf_free) struct buf names = BUF_INIT;
	struct str shown = s->asks_token ? str_of(s->call.token_url) : s->url;

	return redact_text(s->driver->redactor, shown, url, &names) ?
	    buf_str(url) : shown;
}

/* It has failed for good: one of the harvest's tries, from this call on. */
static void
redo(struct slot *s, enum driver_fault fault, const char *what)
{
	struct driver *d = s->driver;
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf url = BUF_INIT;

	s->failures = s->refusals = 0;
	d->look.faults++;
	if (++d->failures < d->options.tries_max) {
		driver_wait_ms(s, DRIVER_REDO_MS, "another try");
		return;
	}
	driver_fail(d, fault, "unknown_error", arena_printf(&a, "%.*s: %s",
	    STR_FMT(str_cut(public_url(s, &url), 0, 300)), what));
}

static void
lost(struct slot *s, const char *what)
{
	unsigned max = s->driver->options.call_tries_max;

	s->failures++;
	if (s->failures >= (max > 0 ? max : DRIVER_TRIES_MAX))
		redo(s, DRIVER_FAULT_TRANSIENT, what);
	else
		driver_wait_ms(s, (int64_t)s->failures * s->failures * 1000,
		    what);
}

/* ---- Its answer ----------------------------------------------------- */

static void
act_on(struct slot *s, enum driver_verdict v, const struct driver_answer *a)
{
	struct driver *d = s->driver;
	char what[64];

	switch (v) {
	case VERDICT_TAKEN:
		if (s->state == SLOT_READY)
			driver_wait_ms(s, (int64_t)d->again_s * 1000,
			    "the platform");
		return;
	case VERDICT_LATER:
		driver_wait_ms(s, budget_retry_ms(a->head, ++s->refusals,
		    a->when), "the rate limit");
		return;
	case VERDICT_LOST:
		lost(s, a->status >= 500 ? "the server fails" :
		    "the answer is not whole, or no JSON");
		return;
	case VERDICT_RENEW:
		s->renewed = true;
		buf_clear(&d->token);
		return;
	case VERDICT_USELESS:
		if (a->too_long)
			snprintf(what, sizeof(what), "the answer exceeds "
			    "fetch.body_bytes_max");
		else
			snprintf(what, sizeof(what), "status %d was not "
			    "expected", a->status);
		redo(s, a->status == 401 || a->status == 403 ?
		    DRIVER_FAULT_CONFIG : DRIVER_FAULT_SYSTEM, what);
		return;
	}
}

static void
take_answer(struct slot *s)
{
	struct driver *d = s->driver;
	struct call *c = &s->sent;
	struct driver_answer a = { .status = c->status, .head = &c->head,
	    .body = buf_str(&c->content), .damaged = c->damaged,
	    .too_long = c->truncated, .when = clock_wall() };

	d->captures = MAX(d->captures, c->number);
	if (s->asks_token && driver_take_token(s, &a))
		return;
	/* Without one the call has that answer; none is asked for twice. */
	s->renewed |= s->asks_token;
	d->look.calls += !s->asks_token;
	s->asks_token = false;
	/* The run may have ended with another call's answer. */
	if (d->end == DRIVER_GOES_ON)
		act_on(s, driver_take(s, &a), &a);
}

/* Of a call as a crawl: its host was asked as often as hosts are. */
static void
take_silence(struct slot *s)
{
	const struct call *c = &s->sent;
	const char *why = c->end == CALL_REFUSED ? skip_text(c->skip) :
	    exception_name(c->exception);
	struct driver_answer none = { .when = clock_wall(), .refused =
	    c->text.n == 0 ? str_of(why) : c->text };

	if (s->driver->end == DRIVER_GOES_ON)
		act_on(s, driver_take(s, &none), &none);
}

static void
refuse(struct slot *s)
{
	const struct call *c = &s->sent;
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf url = BUF_INIT;
	struct str text = arena_printf(&a, "%.*s may not be asked%s%.*s",
	    STR_FMT(str_cut(public_url(s, &url), 0, 300)), c->text.n > 0 ?
	    ": " : "", STR_FMT(c->text));

	driver_fail(s->driver, DRIVER_FAULT_SYSTEM, "unknown_error", text);
}

static void
take_end(struct slot *s)
{
	const struct call *c = &s->sent;

	s->state = SLOT_READY;
	if (c->end == CALL_ANSWERED && c->result == OK) {
		take_answer(s);
	} else if (c->end == CALL_STOPPED || c->result != OK) {
		/* Its crawl is paused, ended or broken: others know why. */
		s->asks_token = false;
		s->driver->held = true;
	} else if (s->call.as_crawl) {
		take_silence(s);
	} else if (c->end == CALL_REFUSED) {
		refuse(s);
	} else {
		s->asks_token = false;
		lost(s, exception_name(c->exception));
	}
}

void
driver_learn(struct slot *s)
{
	struct driver *d = s->driver;
	FREED(buf_free) struct buf key = BUF_INIT;

	if (s->is_learned || s->asks_token || s->call.as_crawl ||
	    s->call.rates != NULL)
		return;
	s->is_learned = true;
	budget_key(d->connector->platform, s->call.budget,
	    buf_str(&d->fingerprint), &key);
	budget_learn(d->options.budgets, buf_str(&key), s->sent.end ==
	    CALL_ANSWERED ? &s->sent.head : NULL, clock_wall());
}

static void
tell_called(const struct slot *s)
{
	const struct driver_options *o = &s->driver->options;
	const struct call *c = &s->sent;
	FREED(buf_free) struct buf url = BUF_INIT;

	if (o->called == NULL || c->end == CALL_STOPPED)
		return;
	const struct driver_called x = { .method = c->method,
	    .url = public_url(s, &url), .status = c->end == CALL_ANSWERED ?
	    c->status : 0, .failure = c->end == CALL_REFUSED ?
	    skip_text(c->skip) : exception_name(c->exception) };
	o->called(o->arg, &x);
}

void
driver_end_call(struct slot *s)
{
	struct driver *d = s->driver;

	s->successor = NULL;
	tell_called(s);
	driver_learn(s);
	if (s->asks_token)
		d->token_is_asked = false;
	if (!driver_end_early(s) && !driver_take_stream(s))
		take_end(s);
	call_free_answer(&s->sent);
}

void
driver_call_done(struct call *c)
{
	struct slot *s = CONTAINER(c, struct slot, sent);
	struct driver *d = s->driver;

	if (s->state == SLOT_AHEAD)
		driver_successor_done(s);
	else
		driver_end_call(s);
	if (d->options.moved != NULL)
		d->options.moved(d->options.arg);
	driver_look_early(d);
	driver_pump(d);
}

/* ---- The pump ------------------------------------------------------- */

static void
turn_came(struct timer *t)
{
	struct slot *s = CONTAINER(t, struct slot, timer);

	s->state = SLOT_READY;
	s->driver->look.waits_until.ns = 0;
	s->driver->look.waits_for = NULL;
	driver_pump(s->driver);
}

struct slot *
driver_free_slot(struct driver *d)
{
	for (size_t i = 0; i < DRIVER_CALLS_MAX; i++)
		if (d->slots[i].state == SLOT_FREE)
			return &d->slots[i];
	return NULL;
}

void
driver_fill(struct driver *d)
{
	struct slot *s;

	while (d->end == DRIVER_GOES_ON && (s = driver_free_slot(d)) != NULL) {
		enum connector_next next = d->connector->next(d->run, &s->call);
		if (next == CONNECTOR_END)
			d->end = DRIVER_SUCCESS;
		if (next != CONNECTOR_CALL)
			return;
		arena_reset(&s->arena);
		s->url = driver_shown_url(&s->call, &s->arena);
		if (driver_take_successor(s))
			continue;
		s->state = SLOT_READY;
		s->not_before.ns = 0;
		s->failures = s->refusals = 0;
		s->renewed = false;
	}
}

void
driver_pump(struct driver *d)
{
	if (d->recovering)
		return;
	if (!d->held || d->replaying || driver_must_take_successor(d))
		driver_fill(d);
	driver_look_at_roll(d);
	driver_drop_successors(d);
	if (d->held || d->end != DRIVER_GOES_ON)
		driver_stop_streams(d);
	if (d->replaying)
		driver_replay(d);
	for (size_t i = 0; i < DRIVER_CALLS_MAX && !d->held && !d->replaying &&
	    d->end == DRIVER_GOES_ON; i++)
		if (d->slots[i].state == SLOT_READY)
			driver_send(&d->slots[i]);
	tell_quiet(d);
}

/* ---- Opening and closing -------------------------------------------- */

/* Two varints before a name and a value. */
#define FIELD_LENGTHS_MAX 20u

/* What tells credentials apart, and tells nothing of them. */
static void
take_fingerprint(struct driver *d)
{
	const struct driver_options *o = &d->options;
	FREED(buf_free) struct buf all = BUF_INIT;
	struct digest digest;
	size_t bytes = 0;

	for (size_t i = 0; i < o->order->credentials_n; i++)
		bytes += o->order->credentials[i].name.n +
		    o->order->credentials[i].value.n + FIELD_LENGTHS_MAX;
	for (size_t i = 0; i < o->secrets_n; i++)
		bytes += o->secrets[i].name.n + o->secrets[i].value.n +
		    FIELD_LENGTHS_MAX;
	/* A buffer that grows would leave a copy behind. */
	buf_reserve(&all, bytes);
	for (size_t i = 0; i < o->order->credentials_n; i++) {
		buf_put_field(&all, o->order->credentials[i].name);
		buf_put_field(&all, o->order->credentials[i].value);
	}
	for (size_t i = 0; i < o->secrets_n; i++) {
		buf_put_field(&all, o->secrets[i].name);
		buf_put_field(&all, o->secrets[i].value);
	}
	digest_of(DIGEST_SHA256, buf_str(&all), &digest);
	buf_clear(&d->fingerprint);
	digest_put_hex(&d->fingerprint, digest.bytes, 8);
	if (all.n > 0)
		explicit_bzero(all.p, all.n);
}

enum err
driver_open(const struct driver_options *o, struct driver **out,
    struct why *w)
{
	struct driver *d = mem_new(sizeof(*d));

	d->options = *o;
	d->connector = o->order->connector;
	d->captures = o->captures;
	for (size_t i = 0; i < DRIVER_CALLS_MAX; i++) {
		d->slots[i].driver = d;
		d->slots[i].timer.fire = turn_came;
	}
	take_fingerprint(d);
	driver_take_former(d);
	driver_make_redactor(d);
	enum err e = d->connector->open(o->order, &d->run, w);
	if (e == OK)
		e = driver_read_hosts(d, w);
	if (e == OK && o->saved.n > 0)
		e = d->connector->load(d->run, o->saved, w);
	if (e != OK)
		driver_close(&d);
	*out = d;
	return e;
}

void
driver_close(struct driver **dp)
{
	struct driver *d = *dp;

	if (d == NULL)
		return;
	if (d->run != NULL)
		d->connector->close(&d->run);
	redact_free(&d->redactor);
	secret_memory_free(&d->redacted);
	driver_free_former(d);
	for (size_t i = 0; i < DRIVER_CALLS_MAX; i++) {
		arena_free(&d->slots[i].arena);
		buf_free(&d->slots[i].part);
		buf_free(&d->slots[i].event);
		buf_free(&d->slots[i].early);
		driver_free_frames(&d->slots[i]);
	}
	mem_free(&d->left);
	driver_free_early(d);
	if (d->token.n > 0)
		explicit_bzero(d->token.p, d->token.n);
	buf_free(&d->token);
	buf_free(&d->fingerprint);
	arena_free(&d->arena);
	mem_free(dp);
}

void
driver_set_secrets(struct driver *d, const struct driver_secret *secrets,
    size_t n)
{
	CHECK(!driver_is_out(d));
	driver_keep_former(d);
	d->options.secrets = secrets;
	d->options.secrets_n = n;
	/* The application's token came for the former ones. */
	if (d->token.n > 0)
		explicit_bzero(d->token.p, d->token.n);
	buf_clear(&d->token);
	d->secret_told = false;
	take_fingerprint(d);
	driver_make_redactor(d);
}

void
driver_rest(struct driver *d)
{
	for (size_t i = 0; i < DRIVER_CALLS_MAX; i++) {
		struct slot *s = &d->slots[i];
		loop_timer_stop(d->options.home, &s->timer);
		/* Its date is looked at again before it leaves. */
		if (s->state == SLOT_WAITS)
			s->state = SLOT_READY;
	}
	d->look.waits_until.ns = 0;
	d->look.waits_for = NULL;
}

size_t
driver_look_at_budgets(const struct driver *d, struct arena *a,
    struct budget_view **list)
{
	return budgets_look(d->options.budgets, d->connector->platform,
	    buf_str(&d->fingerprint), clock_wall(), a, list);
}

void
driver_start(struct driver *d, uint32_t crawl, uint64_t last)
{
	d->crawl = crawl;
	d->replay_last = last;
	d->recovering = true;
	driver_recover(d);
}

void
driver_stop_calls(struct driver *d)
{
	d->held = true;
	driver_stop_streams(d);
	tell_quiet(d);
}

void
driver_hold(struct driver *d)
{
	bool ahead = driver_is_ahead(d);

	d->rolls = d->rolling = false;
	driver_stop_calls(d);
	/* The connector asks for it, and it ends. */
	if (ahead)
		driver_pump(d);
}

void
driver_roll(struct driver *d)
{
	if (d->held || d->rolls)
		return;
	d->rolls = d->end == DRIVER_GOES_ON && !d->replaying &&
	    !d->recovering && driver_open_successors(d);
	if (!d->rolls)
		driver_hold(d);
}

bool
driver_is_ahead(const struct driver *d)
{
	for (size_t i = 0; i < DRIVER_CALLS_MAX; i++)
		if (d->slots[i].state == SLOT_AHEAD)
			return true;
	return false;
}

void
driver_go_on(struct driver *d)
{
	d->held = d->rolls = d->rolling = false;
	driver_pump(d);
}

void
driver_stop_call(struct slot *s)
{
	if (s->stopped)
		return;
	s->stopped = true;
	call_stop(&s->sent);
}

void
driver_cut(struct driver *d)
{
	for (size_t i = 0; i < DRIVER_CALLS_MAX; i++)
		if (d->slots[i].state >= SLOT_OUT)
			driver_stop_call(&d->slots[i]);
}

void
driver_save(const struct driver *d, struct buf *out)
{
	d->connector->save(d->run, out);
}

uint64_t
driver_captures(const struct driver *d)
{
	return d->captures;
}

enum driver_end
driver_end(const struct driver *d)
{
	return d->end;
}

struct driver_look
driver_look(const struct driver *d)
{
	return d->look;
}
