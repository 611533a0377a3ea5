/*
 * A login, before and after the browser is at the provider.
 *
 *     start   client of the file ───────────────────┬─► (request token) ─► out
 *             client of the store ─► (register, put)┘
 *     finish  read ─► exchange ─► (profile) ─► put the grant ─► out
 *
 * Each step goes on in a callback of the one before.  A login that fails after
 * the exchange revokes the tokens, so that it leaves nothing.
 */
#include "doors/external/provider_own.h"

#include "os/clock.h"
#include "os/log.h"

#define CLIENT_NAME "Argiope"
#define STATE_BITS 256u
/* 43 characters (RFC 7636 §4.1). */
#define VERIFIER_BITS 256u

struct login {
	struct mail mail;
	struct external_door *door;
	struct held_connector *connector;
	const struct oauth_declaration *declared;
	/* One of them. */
	struct provider_start *start;
	struct provider_finish *finish;
	struct provider_call call;
	struct store_job job;
	enum err (*work)(struct login *, struct store *, struct why *);
	void (*then)(struct login *);
	enum err result;
	struct why why;

	struct oauth_pending pending;
	struct str provider;         /* of store_client_put() */
	struct str kept;             /* the client's text */
	struct oauth_tokens tokens;
	bool has_tokens;             /* that are not in the store */
	struct oauth_account account;
	struct store_grant grant, ended;
	struct oauth_fault fault;
	struct arena arena;
};

/* ---- Its life ----------------------------------------------------------- */

static struct login *
new_login(struct external_door *d, struct held_connector *c)
{
	struct login *x = mem_new(sizeof(*x));

	x->door = d;
	x->connector = connector_hold(c);
	x->declared = external_connector_oauth(c->connector);
	drain_gate_enter(&d->asked);
	return x;
}

static void
free_login(struct login *x)
{
	struct external_door *d = x->door;

	connector_release(&x->connector);
	arena_wipe(&x->arena);
	mem_free(&x);
	drain_gate_leave(&d->asked);
}

static void
run_job(struct store_job *j, struct store *st)
{
	struct login *x = CONTAINER(j, struct login, job);

	x->why = WHY_INIT;
	x->result = x->work(x, st, &x->why);
}

static void
job_done(struct store_job *j)
{
	struct login *x = CONTAINER(j, struct login, job);

	x->then(x);
}

static void
ask_store(struct login *x, enum err (*work)(struct login *, struct store *,
    struct why *), void (*then)(struct login *))
{
	x->work = work;
	x->then = then;
	x->job.run = run_job;
	x->job.done = job_done;
	store_async_put(x->door->store, &x->job);
}

static void
send_call(struct login *x, enum oauth_url which,
    const struct oauth_request *r, void (*done)(struct provider_call *))
{
	x->call.done = done;
	x->call.is_kept = which == OAUTH_TOKEN;
	provider_call_send(&x->call, x->door, x->declared, which, r);
}

static struct login *
login_of(struct provider_call *call)
{
	return CONTAINER(call, struct login, call);
}

static struct oauth_flow
flow_of(struct login *x)
{
	return provider_flow(x->connector, &x->pending.client,
	    x->pending.values, x->start != NULL ? x->start->redirect_uri :
	    x->finish->redirect_uri, &x->arena);
}

/* ---- The client --------------------------------------------------------- */

static void go_on_with_client(struct login *);

static void
fail_start(struct login *x)
{
	struct provider_start *s = x->start;

	s->ok = false;
	s->fault = x->fault;
	log_warn("external.login", "connector=%.*s actor=%s why=%s",
	    STR_FMT(x->connector->name), oauth_actor_text(x->fault.actor),
	    log_quoted(str_of(x->fault.text)));
	s->done(s);
	free_login(x);
}

/* The text of a client in the store: a login's, of which the client counts. */
static bool
read_client_text(struct login *x, struct str text)
{
	struct oauth_pending kept;

	if (oauth_pending_read(x->declared, text, &x->arena, &kept, NULL) !=
	    OK)
		return false;
	x->pending.client = kept.client;
	return true;
}

static enum err
put_client(struct login *x, struct store *st, struct why *w)
{
	FREED(buf_free) struct buf text = BUF_INIT;

	oauth_pending_write(x->declared, &x->pending, &text);
	enum err e = store_client_put(st, &x->door->key, x->connector->name,
	    x->provider, buf_str(&text), &x->arena, &x->kept, w);
	explicit_bzero(text.p, text.cap);
	return e;
}

static void
client_put(struct login *x)
{
	if (x->result != OK) {
		provider_store_fault(&x->fault, &x->why);
		fail_start(x);
	} else if (!read_client_text(x, x->kept)) {
		provider_fault(&x->fault, OAUTH_ACTOR_OPERATOR, "the client "
		    "that was registered cannot be read");
		fail_start(x);
	} else {
		go_on_with_client(x);
	}
}

static void
registered(struct provider_call *call)
{
	struct login *x = login_of(call);
	struct str body;
	int status;

	if (!provider_call_answer(call, &status, &body, &x->fault) ||
	    !oauth_read_client(status, body, &x->arena, &x->pending.client,
	    &x->fault)) {
		fail_start(x);
		return;
	}
	log_info("external.registered", "connector=%.*s",
	    STR_FMT(x->connector->name));
	ask_store(x, put_client, client_put);
}

static enum err
get_client(struct login *x, struct store *st, struct why *w)
{
	return store_client_get(st, &x->door->key, x->connector->name,
	    x->provider, &x->arena, &x->kept, w);
}

static void
register_client(struct login *x)
{
	struct oauth_flow f = flow_of(x);
	struct oauth_request r = oauth_register(&f, STR(CLIENT_NAME),
	    &x->arena);

	send_call(x, OAUTH_REGISTER, &r, registered);
}

static void
client_got(struct login *x)
{
	/* One that cannot be read, by whatever change, is made anew. */
	if (x->result == OK && read_client_text(x, x->kept)) {
		go_on_with_client(x);
	} else if (x->result == OK || x->result == ERR_ABSENT ||
	    x->result == ERR_CORRUPT) {
		register_client(x);
	} else {
		provider_store_fault(&x->fault, &x->why);
		fail_start(x);
	}
}

/* A client belongs to an address of registration and to what it was registered
 * with. */
static struct str
name_provider(struct login *x)
{
	struct oauth_flow f = flow_of(x);
	struct str url = oauth_url_fill(&f, OAUTH_REGISTER, &x->arena);
	struct str name = arena_printf(&x->arena, "%.*s %.*s", STR_FMT(url),
	    STR_FMT(f.redirect_uri));

	return name.n <= STORE_SECRET_BYTES_MAX ? name :
	    oauth_pkce_challenge(name, &x->arena);
}

/* ---- The login begins --------------------------------------------------- */

static void
succeed_start(struct login *x, struct str state, struct str challenge)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct provider_start *s = x->start;
	struct oauth_flow f = flow_of(x);

	oauth_pending_write(x->declared, &x->pending, &text);
	s->ok = true;
	s->state = arena_copy(s->arena, state);
	s->text = arena_copy(s->arena, buf_str(&text));
	s->url = oauth_authorize_url(&f, s->state, challenge,
	    s->select_account, s->arena);
	explicit_bzero(text.p, text.cap);
	s->done(s);
	free_login(x);
}

static void
request_token_got(struct provider_call *call)
{
	struct login *x = login_of(call);
	struct str body, token;
	int status;

	if (provider_call_answer(call, &status, &body, &x->fault) &&
	    oauth_read_request_token(status, body, &x->arena, &token,
	    &x->pending.request_secret, &x->fault))
		succeed_start(x, token, STR_NONE);
	else
		fail_start(x);
}

static void
go_on_with_client(struct login *x)
{
	if (x->declared->kind == OAUTH_1) {
		struct oauth_flow f = flow_of(x);
		struct oauth_request r = oauth_request_token(&f, &x->arena);
		send_call(x, OAUTH_REQUEST, &r, request_token_got);
		return;
	}
	x->pending.verifier = provider_random(VERIFIER_BITS, &x->arena);
	succeed_start(x, provider_random(STATE_BITS, &x->arena),
	    oauth_pkce_challenge(x->pending.verifier, &x->arena));
}

static void
begin_start(struct mail *m)
{
	struct login *x = CONTAINER(m, struct login, mail);
	const struct oauth_client *client = clients_find(x->door->clients,
	    x->connector->name);
	const char *refusal = provider_refusal(x->door, x->connector);

	if (refusal != NULL || x->door->stopping) {
		provider_fault(&x->fault, refusal != NULL ?
		    OAUTH_ACTOR_OPERATOR : OAUTH_ACTOR_LATER, "%s", refusal !=
		    NULL ? refusal : "the server is ending");
		fail_start(x);
		return;
	}
	if (client == NULL) {
		x->provider = name_provider(x);
		ask_store(x, get_client, client_got);
		return;
	}
	x->pending.client = (struct oauth_client){
		.id = arena_copy(&x->arena, client->id),
		.secret = arena_copy(&x->arena, client->secret) };
	go_on_with_client(x);
}

void
provider_start(struct provider_start *s)
{
	struct login *x = new_login(s->door, s->connector);

	x->start = s;
	for (size_t i = 0; i < x->declared->params_n; i++)
		x->pending.values[i] = arena_copy(&x->arena, s->values[i]);
	loop_send(s->door->host->home, &x->mail, begin_start);
}

/* ---- The login ends ----------------------------------------------------- */

static void
write_granted(struct login *x, struct buf *out)
{
	struct oauth_granted g = { .client = x->pending.client,
		.tokens = x->tokens, .account = x->account };

	memcpy(g.values, x->pending.values, sizeof(g.values));
	oauth_granted_write(x->declared, &g, out);
}

static enum err
forget_client(struct login *x, struct store *st, struct why *w)
{
	return store_client_delete(st, x->connector->name, x->provider, w);
}

static void
end_finish(struct login *x)
{
	struct provider_finish *f = x->finish;

	f->ok = false;
	f->fault = x->fault;
	f->done(f);
	free_login(x);
}

static void
fail_finish(struct login *x)
{
	log_warn("external.login", "backend=%.*s connector=%.*s actor=%s "
	    "why=%s", STR_FMT(x->finish->user.backend),
	    STR_FMT(x->connector->name), oauth_actor_text(x->fault.actor),
	    log_quoted(str_of(x->fault.text)));
	if (x->has_tokens) {
		FREED(buf_free) struct buf text = BUF_INIT;
		write_granted(x, &text);
		provider_revoke(x->door, x->connector->name, buf_str(&text));
		explicit_bzero(text.p, text.cap);
	}
	/* A registered client that the provider has forgotten: the next login
	 * registers another one. */
	if (x->fault.is_invalid_client && clients_find(x->door->clients,
	    x->connector->name) == NULL && x->declared->urls[
	    OAUTH_REGISTER].n > 0) {
		x->provider = name_provider(x);
		ask_store(x, forget_client, end_finish);
		return;
	}
	end_finish(x);
}

/* The texts of `from` in `a`, which outlives this login. */
static struct store_grant
copy_grant(const struct store_grant *from, struct arena *a)
{
	struct store_grant g = *from;

	g.user.backend = arena_copy(a, g.user.backend);
	g.user.connector = arena_copy(a, g.user.connector);
	g.user.subdomain = arena_copy(a, g.user.subdomain);
	g.user.uuid = arena_copy(a, g.user.uuid);
	g.account = arena_copy(a, g.account);
	g.text = arena_copy(a, g.text);
	g.handle = arena_copy(a, g.handle);
	return g;
}

static void
grant_put(struct login *x)
{
	struct provider_finish *f = x->finish;

	if (x->result != OK) {
		provider_store_fault(&x->fault, &x->why);
		/* It may be stored after all, and then its tokens are used. */
		x->has_tokens = x->result != ERR_UNREACHED;
		fail_finish(x);
		return;
	}
	log_info("external.signed_in", "backend=%.*s connector=%.*s "
	    "subdomain=%s", STR_FMT(f->user.backend),
	    STR_FMT(x->connector->name), log_quoted(f->user.subdomain));
	if (x->ended.handle.n > 0)
		provider_end_grant(x->door, &x->ended);
	f->ok = true;
	f->grant = copy_grant(&x->grant, f->arena);
	f->account = (struct oauth_account){
		.account = arena_copy(f->arena, x->account.account),
		.name = arena_copy(f->arena, x->account.name),
		.email = arena_copy(f->arena, x->account.email) };
	f->done(f);
	free_login(x);
}

static enum err
put_grant(struct login *x, struct store *st, struct why *w)
{
	FREED(buf_free) struct buf text = BUF_INIT;

	write_granted(x, &text);
	const struct store_grant g = { .user = x->finish->user,
		.account = x->account.account, .text = buf_str(&text),
		.expiry = x->tokens.expiry,
		.refresh_at = x->tokens.refresh_at };
	enum err e = store_grant_put(st, &x->door->key, &g, clock_wall(),
	    &x->arena, &x->grant, &x->ended, w);
	explicit_bzero(text.p, text.cap);
	return e;
}

static void
profile_got(struct provider_call *call)
{
	struct login *x = login_of(call);
	struct oauth_flow f = flow_of(x);
	struct str body;
	int status;

	if (provider_call_answer(call, &status, &body, &x->fault) &&
	    oauth_read_profile(&f, status, body, &x->arena, &x->account,
	    &x->fault))
		ask_store(x, put_grant, grant_put);
	else
		fail_finish(x);
}

static void
tokens_got(struct provider_call *call)
{
	struct login *x = login_of(call);
	struct oauth_flow f = flow_of(x);
	struct str body;
	int status;

	if (!provider_call_answer(call, &status, &body, &x->fault) ||
	    !oauth_read_tokens(&f, status, body, NULL, &x->arena, &x->tokens,
	    &x->account, &x->fault)) {
		fail_finish(x);
		return;
	}
	x->has_tokens = true;
	if (x->declared->urls[OAUTH_PROFILE].n == 0) {
		ask_store(x, put_grant, grant_put);
		return;
	}
	struct oauth_request r = oauth_profile(&f, x->tokens.access,
	    x->tokens.secret, &x->arena);
	send_call(x, OAUTH_PROFILE, &r, profile_got);
}

static void
exchange(struct login *x)
{
	const struct provider_finish *s = x->finish;
	struct oauth_flow f = flow_of(x);
	struct oauth_request r = x->declared->kind == OAUTH_1 ?
	    oauth_exchange1(&f, s->state, x->pending.request_secret, s->code,
	    &x->arena) : oauth_exchange(&f, s->code, x->pending.verifier,
	    &x->arena);

	send_call(x, OAUTH_TOKEN, &r, tokens_got);
}

static void
begin_finish(struct mail *m)
{
	struct login *x = CONTAINER(m, struct login, mail);
	const struct provider_finish *s = x->finish;
	struct why w = WHY_INIT;

	if (x->door->key_fault[0] != '\0') {
		provider_fault(&x->fault, OAUTH_ACTOR_OPERATOR, "%s",
		    x->door->key_fault);
		fail_finish(x);
		return;
	}
	if (oauth_pending_read(x->declared, s->text, &x->arena, &x->pending,
	    &w) != OK) {
		/* The declaration has changed since the login began. */
		provider_fault(&x->fault, OAUTH_ACTOR_USER, "the login cannot "
		    "go on; sign in again");
		fail_finish(x);
		return;
	}
	struct oauth_flow f = flow_of(x);
	if (s->iss.n > 0 && x->declared->kind == OAUTH_2 &&
	    !oauth_issuer_is(&f, s->iss)) {
		provider_fault(&x->fault, OAUTH_ACTOR_USER, "the answer came "
		    "from another provider than the one that was asked");
		fail_finish(x);
		return;
	}
	exchange(x);
}

void
provider_finish(struct provider_finish *s)
{
	struct login *x = new_login(s->door, s->connector);

	x->finish = s;
	loop_send(s->door->host->home, &x->mail, begin_finish);
}
