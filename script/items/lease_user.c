#include "script/items/lease_user.h"

#include "os/clock.h"
#include "script/items/runner_own.h"

struct lease_users {
	struct task_runner *runner;
	struct list all;             /* struct lease_user */
	struct timer timer;
	bool ticking;
};

struct lease_user {
	struct session_user user;
	struct list node;
	struct lease_users *set;
	struct str lease, item;      /* in `arena` */
	unsigned requests;           /* under way; a check counts as one */
	struct items_write check;
	bool is_lost;
	struct arena arena;
};

static struct lease_user *
find_user(struct lease_users *set, struct str lease)
{
	LIST_EACH(u, &set->all, struct lease_user, node)
		if (str_eq(u->lease, lease))
			return u;
	return NULL;
}

static struct lease_user *
user_new(struct lease_users *set, struct str lease, struct str item)
{
	struct lease_user *u = mem_new(sizeof(*u));

	u->set = set;
	u->lease = arena_copy(&u->arena, lease);
	u->item = arena_copy(&u->arena, item);
	u->user = (struct session_user){ .config =
	    runner_config_hold(set->runner->config), .item = u->item,
	    .may_login = true, .remote = true };
	list_put(&set->all, &u->node);
	return u;
}

static void
user_free(struct lease_user *u)
{
	list_take(&u->node);
	runner_config_drop(&u->user.config);
	arena_free(&u->check.arena);
	arena_free(&u->arena);
	mem_free(&u);
}

/* One that neither asks nor logs in is forgotten. */
static void
settle_user(struct lease_user *u)
{
	if (u->requests == 0 && !session_has_login(u->set->runner->sessions,
	    &u->user))
		user_free(u);
}

/* -- Leases of those that log in -- */

static enum err
check_lease(struct items_write *w, struct item_tx *tx, struct why *why)
{
	struct lease_user *u = CONTAINER(w, struct lease_user, check);
	struct pair_row *pair;
	uint32_t task;
	int64_t item;
	uint64_t lease;

	if (!worklist_lease_read(u->lease, &task, &item, &lease)) {
		u->is_lost = true;
		return OK;
	}
	enum err e = item_tx_pair(tx, task, item, &pair, why);
	u->is_lost = e == OK && (!pair->exists || pair->lease != lease);
	return e;
}

static void
lease_checked(struct items_write *w)
{
	struct lease_user *u = CONTAINER(w, struct lease_user, check);

	u->requests--;
	arena_reset(&w->arena);
	if (w->result == OK && u->is_lost)
		session_user_ended(u->set->runner->sessions, &u->user);
	settle_user(u);
}

static void
check_leases(struct timer *t)
{
	struct lease_users *set = CONTAINER(t, struct lease_users, timer);
	struct task_runner *r = set->runner;

	LIST_EACH(u, &set->all, struct lease_user, node) {
		if (u->requests > 0)
			continue;
		u->requests++;
		u->check.run = check_lease;
		u->check.done = lease_checked;
		u->check.why = WHY_INIT;
		items_write(r->o.items, &u->check);
	}
	set->ticking = !list_empty(&set->all);
	if (set->ticking)
		loop_timer_set(r->o.home, t, mono_add_ms(loop_now(r->o.home),
		    LEASE_USER_CHECK_MS));
}

/* -- Requests -- */

struct session_user *
lease_user_enter(struct lease_users *set, struct str lease, struct str item)
{
	struct task_runner *r = set->runner;
	struct lease_user *u = find_user(set, lease);

	if (r->config == NULL)
		return NULL;
	if (u == NULL)
		u = user_new(set, lease, item);
	u->requests++;
	if (!set->ticking)
		loop_timer_set(r->o.home, &set->timer, mono_add_ms(loop_now(
		    r->o.home), LEASE_USER_CHECK_MS));
	set->ticking = true;
	return &u->user;
}

void
lease_user_leave(struct lease_users *set, struct session_user *user)
{
	struct lease_user *u = CONTAINER(user, struct lease_user, user);

	CHECK(u->set == set && u->requests > 0);
	u->requests--;
	settle_user(u);
}

void
lease_users_end(struct lease_users *set, struct str lease)
{
	struct lease_user *u = find_user(set, lease);

	if (u == NULL)
		return;
	session_user_ended(set->runner->sessions, &u->user);
	settle_user(u);
}

void
lease_users_stop(struct lease_users *set)
{
	struct list *n = set->all.next, *next;

	session_refuse_remote(set->runner->sessions);
	for (; n != &set->all; n = next) {
		struct lease_user *u = LIST_ITEM(n, struct lease_user, node);
		next = n->next;
		session_user_ended(set->runner->sessions, &u->user);
		settle_user(u);
	}
}

/* -- The set -- */

struct lease_users *
lease_users_new(struct task_runner *r)
{
	struct lease_users *set = mem_new(sizeof(*set));

	set->runner = r;
	list_init(&set->all);
	set->timer.fire = check_leases;
	return set;
}

void
lease_users_free(struct lease_users **sp)
{
	struct lease_users *set = *sp;

	if (set == NULL)
		return;
	loop_timer_stop(set->runner->o.home, &set->timer);
	while (!list_empty(&set->all))
		user_free(LIST_ITEM(set->all.next, struct lease_user, node));
	mem_free(sp);
}
