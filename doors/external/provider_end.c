/*
 * The end of tokens: revoked at the provider (RFC 7009).
 *
 *     first the refresh token ─► then the access token ─► free
 *         ▲        │ no answer, 5xx
 *         └─ pause ┘ at most an hour in all
 *
 * A provider that ends the access token with the refresh token answers to the
 * second request as to any token that is worth nothing, which counts as done.
 */
#include "doors/external/provider_own.h"

#include "os/clock.h"
#include "os/log.h"

struct revocation {
	struct list node;            /* of the door's, the oldest first */
	struct external_door *door;
	struct held_connector *connector;
	struct oauth_granted granted;
	struct provider_call call;
	bool is_sent;                /* a call is under way */
	bool is_refresh_done;
	struct timer timer;
	struct mono until;
	int64_t pause_ms;
	struct arena requests;       /* of the call under way */
	struct arena arena;
};

static void
free_revocation(struct revocation *x)
{
	struct external_door *d = x->door;

	list_take(&x->node);
	d->revocations_n--;
	loop_timer_stop(d->host->home, &x->timer);
	connector_release(&x->connector);
	arena_wipe(&x->requests);
	arena_wipe(&x->arena);
	mem_free(&x);
}

static void
give_up(struct revocation *x, const char *why)
{
	log_warn("external.revoke", "connector=%.*s result=given_up why=%s",
	    STR_FMT(x->connector->name), log_quoted(str_of(why)));
	free_revocation(x);
}

static void send_revocation(struct revocation *);

static void
try_again(struct timer *timer)
{
	send_revocation(CONTAINER(timer, struct revocation, timer));
}

static void
go_on(struct revocation *x)
{
	if (!x->is_refresh_done && x->granted.tokens.refresh.n > 0) {
		x->is_refresh_done = true;
		x->pause_ms = PROVIDER_REVOKE_PAUSE_MS_MIN;
		send_revocation(x);
		return;
	}
	log_info("external.revoke", "connector=%.*s result=done",
	    STR_FMT(x->connector->name));
	free_revocation(x);
}

static void
answered(struct provider_call *call)
{
	struct revocation *x = CONTAINER(call, struct revocation, call);
	struct oauth_fault fault;
	struct str body;
	int status;

	x->is_sent = false;
	if (x->door->stopping) {
		free_revocation(x);
		return;
	}
	if (provider_call_answer(call, &status, &body, &fault) &&
	    oauth_read_revocation(status, body, &fault)) {
		go_on(x);
		return;
	}
	struct mono again = mono_add_ms(clock_mono(), x->pause_ms);
	if (fault.actor != OAUTH_ACTOR_LATER ||
	    mono_before(x->until, again)) {
		give_up(x, fault.text);
		return;
	}
	x->pause_ms = MIN(2 * x->pause_ms, PROVIDER_REVOKE_PAUSE_MS_MAX);
	loop_timer_set(x->door->host->home, &x->timer, again);
}

static void
send_revocation(struct revocation *x)
{
	bool is_refresh = !x->is_refresh_done &&
	    x->granted.tokens.refresh.n > 0;

	arena_wipe(&x->requests);
	struct oauth_flow f = provider_flow(x->connector, &x->granted.client,
	    x->granted.values, STR_NONE, &x->requests);
	struct oauth_request r = oauth_revoke(&f, is_refresh ?
	    x->granted.tokens.refresh : x->granted.tokens.access, is_refresh,
	    &x->requests);
	x->call.done = answered;
	x->is_sent = true;
	provider_call_send(&x->call, x->door, f.declared, OAUTH_REVOKE, &r);
}

/* One that is not under way; NULL: all are. */
static struct revocation *
find_oldest(struct external_door *d)
{
	LIST_EACH(x, &d->revocations, struct revocation, node)
		if (!x->is_sent)
			return x;
	return NULL;
}

void
provider_revoke(struct external_door *d, struct str connector,
    struct str text)
{
	struct held_connector *c = connectors_find(d->connectors, connector);
	const struct oauth_declaration *o = c == NULL ? NULL :
	    external_connector_oauth(c->connector);

	if (o == NULL || o->urls[OAUTH_REVOKE].n == 0 || d->stopping)
		return;
	struct revocation *x = mem_new(sizeof(*x));
	if (oauth_granted_read(o, text, &x->arena, &x->granted, NULL) != OK) {
		arena_free(&x->arena);
		mem_free(&x);
		return;
	}
	struct revocation *oldest = d->revocations_n < PROVIDER_REVOKES_MAX ?
	    NULL : find_oldest(d);
	if (oldest != NULL)
		give_up(oldest, "too many revocations wait");
	x->door = d;
	x->connector = connector_hold(c);
	x->timer.fire = try_again;
	x->until = mono_add_ms(clock_mono(), PROVIDER_REVOKE_MS_MAX);
	x->pause_ms = PROVIDER_REVOKE_PAUSE_MS_MIN;
	list_put(&d->revocations, &x->node);
	d->revocations_n++;
	send_revocation(x);
}

void
provider_end_grant(struct external_door *d, const struct store_grant *g)
{
	if (g->handle.n == 0)
		return;
	log_info("external.grant_ended", "backend=%.*s connector=%.*s",
	    STR_FMT(g->user.backend), STR_FMT(g->user.connector));
	provider_revoke(d, g->user.connector, g->text);
}

void
provider_stop_revocations(struct external_door *d)
{
	struct list *next;

	if (d->revocations_n > 0)
		log_warn("external.revoke", "given_up=%zu why=\"the server is "
		    "ending\"", d->revocations_n);
	for (struct list *n = d->revocations.next; n != &d->revocations;
	    n = next) {
		struct revocation *x = CONTAINER(n, struct revocation, node);
		next = n->next;
		/* Its call was cancelled: answered() frees it. */
		if (!x->is_sent)
			free_revocation(x);
	}
}
