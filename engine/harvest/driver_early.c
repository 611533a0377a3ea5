/*
 * An answer that is whole and not durable yet.  The connector has it, so that
 * the next call leaves while this one's records are written:
 *
 *     whole ─► connector ─► the next call
 *                │ findings, kept here
 *     durable ───┴─► totals
 *     or lost ─────► the connector is as it was before
 *
 * One answer at a time, and only where no other call is out.  So answers come
 * to the connector in the order of their numbers, and what is lost in a crash
 * is the end of what was asked for.
 */
#include "engine/harvest/driver_own.h"

#include "os/clock.h"

enum finding_kind { EARLY_COUNT, EARLY_SEED, EARLY_NOTE, EARLY_URL,
	EARLY_STATE, EARLY_DELETED, EARLY_FAILURE };

struct driver_finding {
	struct driver_finding *next;
	enum finding_kind kind;
	enum connector_level level;
	const char *word;            /* a label or a code */
	struct str a, b;
	uint64_t n;
	const struct connector_seed *seed;
};

/* ---- Findings that wait ---------------------------------------------- */

/* Texts are borrowed, labels and codes too. */
static struct driver_finding *
add(struct driver *d, enum finding_kind kind, const char *word)
{
	struct driver_early *x = &d->early;
	struct driver_finding *f = ARENA_NEW(&x->arena, struct driver_finding);

	f->kind = kind;
	f->word = arena_copy(&x->arena, str_of(word)).p;
	*x->last = f;
	x->last = &f->next;
	return f;
}

static void
on_count(void *arg, const char *label, uint64_t n)
{
	struct driver_finding *f = add(arg, EARLY_COUNT, label);

	f->n = n;
}

static void
on_seed(void *arg, const struct connector_seed *s, struct str uid,
    struct str token)
{
	struct driver *d = arg;
	struct driver_finding *f = add(d, EARLY_SEED, "");

	f->seed = s;
	f->a = arena_copy(&d->early.arena, uid);
	f->b = arena_copy(&d->early.arena, token);
}

static void
on_note(void *arg, enum connector_level level, const char *code,
    struct str text, const struct connector_seed *s)
{
	struct driver *d = arg;
	struct driver_finding *f = add(d, EARLY_NOTE, code);

	f->level = level;
	f->a = arena_copy(&d->early.arena, text);
	f->seed = s;
}

static void
on_url(void *arg, struct str url)
{
	struct driver *d = arg;

	add(d, EARLY_URL, "")->a = arena_copy(&d->early.arena, url);
}

static void
on_state(void *arg, struct str key, struct str value)
{
	struct driver *d = arg;
	struct driver_finding *f = add(d, EARLY_STATE, "");

	f->a = arena_copy(&d->early.arena, key);
	f->b = arena_copy(&d->early.arena, value);
}

static void
on_deleted(void *arg, struct str id)
{
	struct driver *d = arg;

	add(d, EARLY_DELETED, "")->a = arena_copy(&d->early.arena, id);
}

/* What stops the calls cannot wait. */
static void
on_fail(void *arg, const char *code, struct str text)
{
	struct driver *d = arg;
	struct driver_finding *f = add(d, EARLY_FAILURE, code);

	f->a = arena_copy(&d->early.arena, text);
	d->end = DRIVER_FAILURE;
}

struct connector_findings
driver_early_findings(struct driver *d)
{
	struct connector_findings f = driver_findings(d);

	f.count = on_count;
	f.seed = on_seed;
	f.note = on_note;
	f.url = on_url;
	f.state = on_state;
	f.deleted = on_deleted;
	f.fail = on_fail;
	return f;
}

static void
tell(const struct connector_findings *f, const struct driver_finding *x)
{
	switch (x->kind) {
	case EARLY_COUNT:
		f->count(f->arg, x->word, x->n);
		return;
	case EARLY_SEED:
		f->seed(f->arg, x->seed, x->a, x->b);
		return;
	case EARLY_NOTE:
		f->note(f->arg, x->level, x->word, x->a, x->seed);
		return;
	case EARLY_URL:
		f->url(f->arg, x->a);
		return;
	case EARLY_STATE:
		f->state(f->arg, x->a, x->b);
		return;
	case EARLY_DELETED:
		f->deleted(f->arg, x->a);
		return;
	case EARLY_FAILURE:
		f->fail(f->arg, x->word, x->a);
		return;
	}
}

/* ---- Whole ------------------------------------------------------------ */

/* The one that is out, if it is alone. */
static struct slot *
alone(struct driver *d)
{
	struct slot *found = NULL;

	for (size_t i = 0; i < DRIVER_CALLS_MAX; i++) {
		if (d->slots[i].state < SLOT_OUT)
			continue;
		if (found != NULL || d->slots[i].state == SLOT_AHEAD)
			return NULL;
		found = &d->slots[i];
	}
	return found;
}

static bool
may_take(const struct driver *d, const struct slot *s)
{
	return d->early.slot == NULL && !d->held && !d->replaying &&
	    !d->reading && d->end == DRIVER_GOES_ON && s->is_whole &&
	    !s->call.as_crawl;
}

static bool
give(struct slot *s)
{
	struct driver *d = s->driver;
	struct driver_early *x = &d->early;
	struct call *c = &s->sent;
	struct driver_answer a = { .status = c->status, .head = &c->head,
	    .body = buf_str(&c->content), .damaged = c->damaged,
	    .too_long = c->truncated, .when = clock_wall() };

	arena_reset(&x->arena);
	buf_clear(&x->saved);
	d->connector->save(d->run, &x->saved);
	x->first = NULL;
	x->last = &x->first;
	x->slot = s;
	x->when = a.when;
	if (driver_take(s, &a) != VERDICT_TAKEN) {
		x->slot = NULL;
		return false;
	}
	x->then = s->state;
	x->again_s = d->again_s;
	s->state = SLOT_OUT;
	buf_free(&c->content);
	return true;
}

void
driver_look_early(struct driver *d)
{
	struct slot *s = alone(d);

	if (s != NULL && may_take(d, s) && give(s))
		driver_learn(s);
}

void
driver_call_answered(struct call *c)
{
	struct slot *s = CONTAINER(c, struct slot, sent);

	/* Later the end is its loop's to write, until the call is done. */
	s->is_whole = c->end == CALL_ANSWERED;
	driver_look_early(s->driver);
	driver_pump(s->driver);
}

/* ---- Durable, or lost ------------------------------------------------- */

/* Its crawl has ended before the answer was kept, or the ledger is broken: no
 * call is made any more. */
static void
take_back(struct driver *d)
{
	struct connector_run *run = NULL;
	struct why w = WHY_INIT;

	enum err e = d->connector->open(d->options.order, &run, &w);
	if (e == OK)
		e = d->connector->load(run, buf_str(&d->early.saved), &w);
	if (e != OK && run != NULL)
		d->connector->close(&run);
	/* Calls that are out refer to the other one. */
	if (e == OK) {
		if (d->early.former != NULL)
			d->connector->close(&d->early.former);
		d->early.former = d->run;
		d->run = run;
	}
	d->end = e == OK ? DRIVER_GOES_ON : DRIVER_FAILURE;
	d->held = true;
	/* Its calls were the other run's. */
	for (size_t i = 0; i < DRIVER_CALLS_MAX; i++)
		if (d->slots[i].state == SLOT_READY)
			d->slots[i].state = SLOT_FREE;
}

bool
driver_end_early(struct slot *s)
{
	struct driver *d = s->driver;
	struct driver_early *x = &d->early;
	const struct call *c = &s->sent;

	if (x->slot != s)
		return false;
	x->slot = NULL;
	if (c->end != CALL_ANSWERED || c->result != OK) {
		s->state = SLOT_FREE;
		take_back(d);
		return true;
	}
	struct connector_findings f = driver_findings(d);
	d->answered = x->when;
	for (const struct driver_finding *i = x->first; i != NULL; i = i->next)
		tell(&f, i);
	d->captures = MAX(d->captures, c->number);
	d->look.calls++;
	s->state = x->then;
	if (s->state == SLOT_READY)
		driver_wait_ms(s, (int64_t)x->again_s * 1000, "the platform");
	return true;
}

void
driver_free_early(struct driver *d)
{
	if (d->early.former != NULL)
		d->connector->close(&d->early.former);
	arena_free(&d->early.arena);
	buf_free(&d->early.saved);
}
