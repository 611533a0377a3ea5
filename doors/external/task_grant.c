/*
 * A task whose credential is in the token store:
 *
 *     ask ─► the grant ─┬─► a valid token, no run: open the run
 *      ▲                ├─► another token than the run's: give it to the run
 *      │                ├─► the token has expired: wait for grants.c ─┐
 *      │                ├─► the same token: look when it is due ──────┤
 *      └────────────────│─────────────────────────────────────────────┘
 *                       └─► it is gone: close with "config: sign in again"
 *
 * A run goes on with a new access token: calls that are out end with the former
 * one.  Some providers end that as soon as they give a new one, so a source may
 * refuse it near its renewal.  The run has failed then, and another one begins
 * at the cursor that was committed last, with the next token: at once if the
 * run was given that already, and the call that was refused had the one before.
 */
#include "base/hash.h"
#include "doors/external/task_order.h"
#include "doors/external/task_run.h"
#include "engine/external/oauth_flow.h"
#include "os/clock.h"
#include "os/log.h"

#define LOOK_MS 1000
#define LOOK_MS_MAX 60000
#define DUE_SOON_US (5 * US_PER_S)
#define REFUSED_LOOKS_MAX 5u

static const char refused_code[] = "harvest_Unauthorized";
static const char sign_in_again[] = "sign in again";

static void ask_for_grant(struct task_run *);

/* ---- Its life ----------------------------------------------------------- */

void
task_grant_stop(struct task_run *t)
{
	loop_timer_stop(t->door->host->home, &t->grant.timer);
	t->grant.waits_from = (struct mono){ 0 };
	secret_memory_free(&t->grant.secrets);
	t->grant.params = STR_NONE;
	buf_free(&t->grant.refusal);
}

/* Whether a run is still wanted. */
static bool
wants_run(const struct task_run *t)
{
	return !t->left && !t->ending && !t->door->stopping &&
	    t->state != STORE_TASK_DRAINING;
}

static void
look_again(struct timer *timer)
{
	ask_for_grant(CONTAINER(timer, struct task_run, grant.timer));
}

static void
look_in(struct task_run *t, int64_t ms)
{
	loop_timer_set(t->door->host->home, &t->grant.timer, mono_add_ms(
	    clock_mono(), ms));
}

void
task_grant_lose(struct task_run *t)
{
	if (wants_run(t))
		task_run_fail(t, DOCUMENT_CONFIG, str_of(sign_in_again));
}

/* ---- A token ------------------------------------------------------------ */

static void
wait_for_token(struct task_run *t)
{
	struct mono now = clock_mono();

	if (t->grant.waits_from.ns == 0) {
		t->grant.waits_from = now;
		task_run_log(t, "info", "it waits for a new token of the "
		    "provider");
	}
	if (mono_ns_between(t->grant.waits_from, now) >
	    TASK_TOKEN_WAIT_MS_MAX * NS_PER_MS) {
		task_run_fail(t, DOCUMENT_TRANSIENT, STR("the provider gives "
		    "no new token"));
		return;
	}
	look_in(t, LOOK_MS);
}

/* The source has refused the token that the run had. */
static void
judge_refusal(struct task_run *t, bool is_due_soon)
{
	FREED(arena_free) struct arena a = ARENA_INIT;

	if (is_due_soon && ++t->grant.refused_looks < REFUSED_LOOKS_MAX) {
		look_in(t, LOOK_MS);
		return;
	}
	task_run_fail(t, DOCUMENT_CONFIG, arena_copy(&a, buf_str(
	    &t->grant.refusal)));
}

/* Keep the values of oauthParameters.  False: a run that is under way has
 * others. */
static bool
keep_values(struct task_run *t, const struct oauth_granted *g)
{
	size_t n = external_connector_oauth(t->connector->connector)->params_n;

	for (size_t i = 0; i < n; i++) {
		if (t->grant.has_values && str_eq(t->grant.values[i],
		    g->values[i]))
			continue;
		if (t->run != NULL)
			return false;
		t->grant.values[i] = arena_copy(&t->arena, g->values[i]);
	}
	t->grant.has_values = true;
	return true;
}

/* A run that is under way, or a new one, has this token. */
static void
give_token(struct task_run *t, const struct oauth_granted *g, uint64_t token)
{
	FREED(buf_free) struct buf credential = BUF_INIT;
	struct why w = WHY_INIT;

	if (!keep_values(t, g)) {
		task_run_fail(t, DOCUMENT_CONFIG, STR("the user has signed in "
		    "somewhere else meanwhile; start the task again"));
		return;
	}
	if (t->grant.token != 0)
		task_run_log(t, "info", "it goes on with a new token of the "
		    "provider");
	t->grant.token = token;
	t->grant.was_given = t->run != NULL;
	t->grant.waits_from = (struct mono){ 0 };
	t->grant.refused_looks = 0;
	buf_free(&t->grant.refusal);
	task_credential_of_grant(t->connector->connector, g, &credential);
	if (t->run == NULL)
		task_run_open(t, t->grant.params, buf_str(&credential),
		    &g->tokens, t->has_moved);
	else if (task_run_set_credential(t, buf_str(&credential), &w) != OK)
		task_run_fail(t, DOCUMENT_SYSTEM, str_of(w.text));
	explicit_bzero(credential.p, credential.cap);
}

/* The next look at a token that the run has. */
static void
look_when_due(struct task_run *t, const struct oauth_tokens *k,
    struct wall now)
{
	int64_t ms = (k->refresh_at.us - now.us) / 1000;

	if (k->refresh_at.us != 0)
		look_in(t, MIN(MAX(ms, LOOK_MS), LOOK_MS_MAX));
}

static void
use_grant(struct task_run *t, const struct oauth_granted *g)
{
	const struct oauth_tokens *k = &g->tokens;
	struct wall now = clock_wall();
	bool has_expired = k->access_ends.us <= now.us;
	uint64_t token = hash_bytes(k->access, 1);

	if (t->run == NULL && t->grant.refusal.n > 0 &&
	    token == t->grant.token && !t->grant.was_given) {
		judge_refusal(t, k->refresh_at.us != 0 &&
		    k->refresh_at.us <= now.us + DUE_SOON_US);
		return;
	}
	if (t->run == NULL && has_expired && k->refresh.n > 0) {
		wait_for_token(t);
		return;
	}
	if (t->run == NULL && has_expired) {
		task_grant_lose(t);
		return;
	}
	/* With one that has expired the run goes on as long as it can. */
	if (t->run == NULL || (token != t->grant.token && !has_expired))
		give_token(t, g, token);
	if (t->run != NULL)
		look_when_due(t, k, now);
}

/* ---- The store ---------------------------------------------------------- */

static enum err
get_grant(struct task_job *x, struct store *st, struct why *w)
{
	struct task_run *t = x->task;

	return store_grant_of_id(st, &t->door->key, t->grant.id, &x->arena,
	    &x->grant, w);
}

/* The row names the grant by a hash that nobody can choose; still a task of one
 * back end never has the token of another's. */
static bool
is_of_task(const struct task_run *t, const struct store_grant *g)
{
	return str_eq(g->user.backend, t->backend->name) &&
	    str_eq(g->user.connector, t->connector->name);
}

static void
grant_got(struct task_job *x)
{
	struct task_run *t = x->task;
	const struct oauth_declaration *o = external_connector_oauth(
	    t->connector->connector);
	struct oauth_granted g;

	t->grant.is_asking = false;
	if (!wants_run(t))
		return;
	if (x->result == ERR_ABSENT || x->result == ERR_CORRUPT) {
		task_grant_lose(t);
		return;
	}
	if (x->result != OK) {
		log_warn("external.grant", "task=%.*s why=%s",
		    STR_FMT(t->fid), log_why(&x->why));
		look_in(t, TASK_STORE_RETRY_MS);
		return;
	}
	if (o == NULL || !is_of_task(t, &x->grant) || oauth_granted_read(o,
	    x->grant.text, &x->arena, &g, NULL) != OK)
		task_grant_lose(t);
	else
		use_grant(t, &g);
}

static void
ask_for_grant(struct task_run *t)
{
	if (t->grant.is_asking || !wants_run(t))
		return;
	if (t->door->key_fault[0] != '\0') {
		task_run_fail(t, DOCUMENT_SYSTEM, str_of(t->door->key_fault));
		return;
	}
	t->grant.is_asking = true;
	task_job_put(task_job_new(t), get_grant, grant_got);
}

/* ---- The run ------------------------------------------------------------ */

void
task_grant_begin(struct task_run *t, struct str params)
{
	t->grant.timer.fire = look_again;
	secret_memory_free(&t->grant.secrets);
	t->grant.params = secret_memory_copy(&t->grant.secrets, params);
	ask_for_grant(t);
	task_run_pump(t);
}

bool
task_grant_run_ended(struct task_run *t, const struct document_end *e)
{
	if (t->grant.id.n == 0 || !wants_run(t) ||
	    e->kind != DOCUMENTS_FAILED || !str_eq(e->code,
	    str_of(refused_code)))
		return false;
	buf_clear(&t->grant.refusal);
	buf_put_str(&t->grant.refusal, e->text.n > 0 ? e->text :
	    STR("the source refuses the token"));
	t->grant.refused_looks = 0;
	/* The run is freed behind this. */
	look_in(t, 0);
	return true;
}

void
task_grant_change(struct task_run *t, struct str id)
{
	if (t->grant.id.n == 0 || str_eq(t->grant.id, id))
		return;
	t->grant.id = arena_copy(&t->arena, id);
	ask_for_grant(t);
}
