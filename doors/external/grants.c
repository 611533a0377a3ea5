#include "doors/external/grants.h"

#include "doors/external/meter.h"
#include "doors/external/provider_own.h"
#include "os/clock.h"
#include "os/log.h"

#define SAID_MS 60000

struct grants {
	struct external_door *door;
	struct timer timer;
	struct wall said;            /* when a fault of the store was logged */
	struct list refreshes;       /* struct refresh */
	size_t refreshes_n;
	/* The look at the store. */
	struct store_job job;
	bool is_looking;
	struct arena arena;
	struct why why;
	enum err result;
	struct store_user *due;
	size_t due_n;
	/* Where the next look goes on in its list, so that grants which this
	 * daemon cannot refresh do not keep it from others. */
	size_t turn;
};

/* The refresh of one grant. */
struct refresh {
	struct list node;
	struct grants *grants;
	struct held_connector *connector;
	struct store_user user;
	struct store_job job;
	enum err (*work)(struct refresh *, struct store *, struct why *);
	void (*then)(struct refresh *);
	enum err result;
	struct why why;
	struct timer timer;
	bool is_waiting;             /* for the next try of the commit */
	struct store_grant grant;    /* under our lease */
	struct oauth_granted granted;
	struct provider_call call;
	struct wall again;           /* when it is due after a fault */
	struct arena arena;
};

static void look_soon(struct grants *);

/* ---- The life of a refresh ---------------------------------------------- */

static void
free_refresh(struct refresh *x)
{
	struct grants *g = x->grants;

	list_take(&x->node);
	g->refreshes_n--;
	loop_timer_stop(g->door->host->home, &x->timer);
	connector_release(&x->connector);
	arena_wipe(&x->arena);
	mem_free(&x);
	drain_gate_leave(&g->door->asked);
}

static void
run_job(struct store_job *j, struct store *st)
{
	struct refresh *x = CONTAINER(j, struct refresh, job);

	x->why = WHY_INIT;
	x->result = x->work(x, st, &x->why);
}

static void
job_done(struct store_job *j)
{
	struct refresh *x = CONTAINER(j, struct refresh, job);

	x->then(x);
}

static void
ask_store(struct refresh *x, enum err (*work)(struct refresh *,
    struct store *, struct why *), void (*then)(struct refresh *))
{
	x->work = work;
	x->then = then;
	x->job.run = run_job;
	x->job.done = job_done;
	store_async_put(x->grants->door->store, &x->job);
}

static void
say(const struct refresh *x, const char *result, const char *why)
{
	log_warn("external.refresh", "backend=%.*s connector=%.*s result=%s "
	    "why=%s", STR_FMT(x->user.backend), STR_FMT(x->user.connector),
	    result, log_quoted(str_of(why)));
}

/* ---- Its end ------------------------------------------------------------ */

static enum err
delay_grant(struct refresh *x, struct store *st, struct why *w)
{
	return store_grant_delay(st, &x->grant, x->again, w);
}

static enum err
revoke_grant(struct refresh *x, struct store *st, struct why *w)
{
	return store_grant_revoke(st, &x->grant, w);
}

/* If the store failed the lease ends by itself, and the next look decides. */
static void
fault_noted(struct refresh *x)
{
	if (x->result != OK && x->result != ERR_STATE &&
	    x->result != ERR_ABSENT)
		say(x, "not_noted", x->why.text);
	free_refresh(x);
}

static void
fail_refresh(struct refresh *x, const struct oauth_fault *f)
{
	external_meter_refresh(false);
	if (f->is_invalid_grant) {
		say(x, "refused", f->text);
		ask_store(x, revoke_grant, fault_noted);
		return;
	}
	say(x, "failed", f->text);
	x->again = clock_wall();
	x->again.us += grants_pause_s(f->actor == OAUTH_ACTOR_OPERATOR,
	    x->call.call.retry_after) * US_PER_S;
	ask_store(x, delay_grant, fault_noted);
}

int64_t
grants_pause_s(bool is_operators, struct str retry_after)
{
	int64_t least = is_operators ? GRANTS_OPERATOR_S : GRANTS_LATER_S;
	uint64_t told = 0;

	if (!str_to_u64(retry_after, &told))
		return least;
	return MAX(least, (int64_t)MIN(told, (uint64_t)GRANTS_OPERATOR_S));
}

static enum err
commit_grant(struct refresh *x, struct store *st, struct why *w)
{
	return store_grant_refresh(st, &x->grants->door->key, &x->grant, w);
}

static void committed(struct refresh *);

static void
commit_again(struct timer *timer)
{
	struct refresh *x = CONTAINER(timer, struct refresh, timer);

	x->is_waiting = false;
	ask_store(x, commit_grant, committed);
}

/*
 * The old refresh token may be worth nothing, so the commit is tried until it
 * is done, or another has the lease, or the program ends.
 */
static void
committed(struct refresh *x)
{
	struct external_door *d = x->grants->door;

	switch (x->result) {
	case OK:
		external_meter_refresh(true);
		log_info("external.refresh", "backend=%.*s connector=%.*s "
		    "result=done", STR_FMT(x->user.backend),
		    STR_FMT(x->user.connector));
		free_refresh(x);
		break;
	case ERR_STATE:
	case ERR_ABSENT:
		/* The user has signed in again, or out: these tokens are
		 * nobody's. */
		provider_revoke(d, x->user.connector, x->grant.text);
		free_refresh(x);
		break;
	default:
		say(x, "not_stored", x->why.text);
		if (d->stopping) {
			free_refresh(x);
			break;
		}
		x->is_waiting = true;
		loop_timer_set(d->host->home, &x->timer, mono_add_ms(
		    clock_mono(), GRANTS_LOOK_MS));
	}
}

/* ---- The provider ------------------------------------------------------- */

static void
refreshed(struct provider_call *call)
{
	struct refresh *x = CONTAINER(call, struct refresh, call);
	FREED(buf_free) struct buf text = BUF_INIT;
	struct oauth_flow f = provider_flow(x->connector, &x->granted.client,
	    x->granted.values, STR_NONE, &x->arena);
	struct oauth_granted fresh = x->granted;
	struct oauth_account unused;
	struct oauth_fault fault;
	struct str body;
	int status;

	if (!provider_call_answer(call, &status, &body, &fault) ||
	    !oauth_read_tokens(&f, status, body, &x->granted.tokens,
	    &x->arena, &fresh.tokens, &unused, &fault)) {
		fail_refresh(x, &fault);
		return;
	}
	oauth_granted_write(f.declared, &fresh, &text);
	x->grant.text = arena_copy(&x->arena, buf_str(&text));
	explicit_bzero(text.p, text.cap);
	x->grant.expiry = fresh.tokens.expiry;
	x->grant.refresh_at = fresh.tokens.refresh_at;
	ask_store(x, commit_grant, committed);
}

static void
send_refresh(struct refresh *x)
{
	struct oauth_flow f = provider_flow(x->connector, &x->granted.client,
	    x->granted.values, STR_NONE, &x->arena);
	struct oauth_request r = oauth_refresh(&f, x->granted.tokens.refresh,
	    &x->arena);

	x->call.done = refreshed;
	x->call.is_kept = true;
	provider_call_send(&x->call, x->grants->door, f.declared, OAUTH_TOKEN,
	    &r);
}

static void
leased(struct refresh *x)
{
	const struct oauth_declaration *o = external_connector_oauth(
	    x->connector->connector);
	struct wall now = clock_wall();
	struct oauth_fault f;

	if (x->result != OK) {
		/* Another daemon has it; or it is gone, or another key's. */
		if (x->result != ERR_BUSY && x->result != ERR_ABSENT)
			say(x, "not_leased", x->why.text);
		free_refresh(x);
		return;
	}
	x->why = WHY_INIT;
	if (oauth_granted_read(o, x->grant.text, &x->arena, &x->granted,
	    &x->why) != OK || x->granted.tokens.refresh.n == 0) {
		provider_fault(&f, OAUTH_ACTOR_OPERATOR, "the grant does not "
		    "fit the connector's declaration any more");
		fail_refresh(x, &f);
		return;
	}
	/* Another daemon was faster, or the user has signed in again. */
	if (x->grant.refresh_at.us == 0) {
		free_refresh(x);
		return;
	}
	if (x->grant.refresh_at.us > now.us) {
		x->again = x->grant.refresh_at;
		ask_store(x, delay_grant, fault_noted);
		return;
	}
	send_refresh(x);
}

static enum err
lease_grant(struct refresh *x, struct store *st, struct why *w)
{
	struct external_door *d = x->grants->door;
	struct wall now = clock_wall();
	/* The call may wait for others to the same host. */
	struct wall until = { now.us + (2 * d->set.call_ms +
	    GRANTS_LEASE_MORE_MS) * INT64_C(1000) };

	return store_grant_lease(st, &d->key, &x->user, now, until, &x->arena,
	    &x->grant, w);
}

/* ---- Looking ------------------------------------------------------------ */

static bool
is_under_way(const struct grants *g, const struct store_user *u)
{
	LIST_EACH(x, &g->refreshes, struct refresh, node)
		if (str_eq(x->user.uuid, u->uuid) && str_eq(x->user.subdomain,
		    u->subdomain) && str_eq(x->user.connector, u->connector) &&
		    str_eq(x->user.backend, u->backend))
			return true;
	return false;
}

static void
begin_refresh(struct grants *g, const struct store_user *u,
    struct held_connector *c)
{
	struct refresh *x = mem_new(sizeof(*x));

	x->grants = g;
	x->connector = connector_hold(c);
	x->user = (struct store_user){
		.backend = arena_copy(&x->arena, u->backend),
		.connector = arena_copy(&x->arena, u->connector),
		.subdomain = arena_copy(&x->arena, u->subdomain),
		.uuid = arena_copy(&x->arena, u->uuid) };
	x->timer.fire = commit_again;
	list_put(&g->refreshes, &x->node);
	g->refreshes_n++;
	drain_gate_enter(&g->door->asked);
	ask_store(x, lease_grant, leased);
}

static void
looked(struct store_job *j)
{
	struct grants *g = CONTAINER(j, struct grants, job);
	struct external_door *d = g->door;
	struct wall now = clock_wall();

	g->is_looking = false;
	if (g->result != OK && now.us - g->said.us > SAID_MS * INT64_C(1000)) {
		g->said = now;
		log_warn("external.refresh", "why=%s", log_why(&g->why));
	}
	for (size_t i = 0; g->result == OK && !d->stopping && i < g->due_n &&
	    g->refreshes_n < GRANTS_REFRESHES_MAX; i++) {
		const struct store_user *u = &g->due[g->turn++ % g->due_n];
		struct held_connector *c = connectors_find(d->connectors,
		    u->connector);
		/* Another daemon may have that connector. */
		if (c != NULL && external_connector_oauth(c->connector) !=
		    NULL && !is_under_way(g, u))
			begin_refresh(g, u, c);
	}
	arena_reset(&g->arena);
	if (!d->stopping)
		look_soon(g);
	drain_gate_leave(&d->asked);
}

static void
look_at_store(struct store_job *j, struct store *st)
{
	struct grants *g = CONTAINER(j, struct grants, job);
	struct wall next;

	g->why = WHY_INIT;
	g->result = store_grant_due(st, clock_wall(), 0, &g->arena,
	    &g->due, &g->due_n, &next, &g->why);
}

static void
look_now(struct timer *timer)
{
	struct grants *g = CONTAINER(timer, struct grants, timer);
	struct external_door *d = g->door;

	if (g->is_looking || d->key_fault[0] != '\0' ||
	    !connectors_have_oauth(d->connectors)) {
		look_soon(g);
		return;
	}
	g->is_looking = true;
	g->job.run = look_at_store;
	g->job.done = looked;
	drain_gate_enter(&d->asked);
	store_async_put(d->store, &g->job);
}

static void
look_soon(struct grants *g)
{
	loop_timer_set(g->door->host->home, &g->timer, mono_add_ms(
	    clock_mono(), GRANTS_LOOK_MS));
}

/* ---- Its life ----------------------------------------------------------- */

void
grants_begin(struct external_door *d)
{
	struct grants *g = mem_new(sizeof(*g));

	g->door = d;
	g->timer.fire = look_now;
	list_init(&g->refreshes);
	d->grants = g;
	look_soon(g);
}

void
grants_stop(struct external_door *d)
{
	struct loop *home = d->host->home;
	struct list *next;

	if (d->grants == NULL)
		return;
	loop_timer_stop(home, &d->grants->timer);
	/* A commit that waits for its next try has it now, as its last one. */
	for (struct list *n = d->grants->refreshes.next;
	    n != &d->grants->refreshes; n = next) {
		struct refresh *x = CONTAINER(n, struct refresh, node);
		next = n->next;
		if (x->is_waiting) {
			loop_timer_stop(home, &x->timer);
			commit_again(&x->timer);
		}
	}
}

void
grants_free(struct grants **gp)
{
	struct grants *g = *gp;

	if (g == NULL)
		return;
	CHECK(list_empty(&g->refreshes) && !g->is_looking);
	arena_free(&g->arena);
	mem_free(gp);
}
