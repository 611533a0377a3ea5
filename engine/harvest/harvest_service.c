#include "engine/harvest/harvest_service.h"

#include "engine/control/control.h"
#include "engine/harvest/credential.h"
#include "engine/harvest/harvest_plan.h"
#include "engine/store/store_outbox.h"
#include "os/clock.h"
#include "os/log.h"
#include "os/tree.h"

/* The setting of the broker's door; a build without that door has none. */
#define ROOTS_SETTING "harvest.roots"

struct harvest_service {
	struct harvest_service_options options;
	struct harvests *harvests;
	struct harvest_broker broker;
	struct harvest_limits limits;
	struct list watches;
	struct arena arena;          /* of the next four */
	struct str *roots;           /* without a slash at the end */
	size_t roots_n;
	struct str *unfinished;      /* ids: what an earlier process has left */
	size_t unfinished_n;
	struct list over;            /* struct ended: to be forgotten */
	struct timer forget_timer;
	unsigned under_way;          /* harvests, requests and orders */
	unsigned running;            /* harvests and requests */
	bool draining;
	void (*drained)(void *arg);
	void *drained_arg;
};

struct ended {
	struct list node;
	struct str id;               /* in the memory behind it */
};

/* ---- What is under way ------------------------------------------- */

static void
enter(struct harvest_service *s)
{
	s->under_way++;
}

static void
leave(struct harvest_service *s)
{
	void (*drained)(void *arg) = s->drained;

	CHECK(s->under_way > 0);
	if (--s->under_way > 0 || !s->draining || drained == NULL)
		return;
	s->drained = NULL;
	loop_timer_stop(s->options.home, &s->forget_timer);
	drained(s->drained_arg);
}

static void
enter_harvest(struct harvest_service *s)
{
	s->running++;
	enter(s);
}

static void
leave_harvest(struct harvest_service *s)
{
	CHECK(s->running > 0);
	s->running--;
	leave(s);
}

/* ---- Paths, on the pool's thread --------------------------------- */

static bool
is_plain(struct str path)
{
	struct str rest = str_from(path, 1), part;

	if (path.n < 2 || path.p[0] != '/')
		return false;
	while (str_split(&rest, '/', &part))
		if (part.n == 0 || str_eq(part, STR(".")) ||
		    str_eq(part, STR("..")))
			return false;
	return true;
}

static const struct str *
client_root(const struct harvest_service *s, struct str path)
{
	for (size_t i = 0; is_plain(path) && i < s->roots_n; i++)
		if (path.n > s->roots[i].n && str_starts(path, s->roots[i]) &&
		    path.p[s->roots[i].n] == '/')
			return &s->roots[i];
	return NULL;
}

static enum err
admit_client(const struct harvest_service *s, struct str path, struct why *w)
{
	const struct str *root = client_root(s, path);
	bool is_own = root == &s->roots[0];

	if (root == NULL)
		return why_field(w, ERR_INPUT, "path", "it lies below none of "
		    "harvest.roots, nor below %s/" HARVEST_CLIENT_DIR,
		    s->options.data_dir);
	enum err e = is_own ? tree_make_dir(root->p, w) : OK;
	return e == OK ? tree_check_beneath(root->p, path.p, w) : e;
}

/*
 * An operator's command names any directory.  A harvest of an earlier process
 * was admitted by it: only the links on its way are judged again.
 */
static enum err
admit(void *arg, enum harvest_origin origin, struct str path, struct why *w)
{
	const struct harvest_service *s = arg;
	bool below = client_root(s, path) != NULL;

	if (origin == HARVEST_OF_OPERATOR)
		return OK;
	if (origin == HARVEST_OF_BROKER && s->broker.admit != NULL)
		return s->broker.admit(s->broker.arg, path, w);
	return origin == HARVEST_OF_CLIENT || below ?
	    admit_client(s, path, w) : OK;
}

static enum err
claim(void *arg, enum harvest_origin origin, struct str id, struct str path,
    struct why *w)
{
	const struct harvest_service *s = arg;

	return origin == HARVEST_OF_BROKER && s->broker.claim != NULL ?
	    s->broker.claim(s->broker.arg, id, path, w) : OK;
}

static struct shared_root
root_of(void *arg, struct str path)
{
	const struct harvest_service *s = arg;

	if (s->limits.root_of == NULL)
		return (struct shared_root){ .path = NULL };
	return s->limits.root_of(s->limits.arg, path);
}

/* ---- What harvests tell ------------------------------------------ */

static void
tell_changed(void *arg, struct str id)
{
	struct harvest_service *s = arg;

	LIST_EACH(x, &s->watches, struct harvest_watch, node)
		if (x->changed != NULL)
			x->changed(x, id);
}

static void
tell_resumed(void *arg, struct str id)
{
	struct harvest_service *s = arg;

	enter_harvest(s);
	LIST_EACH(x, &s->watches, struct harvest_watch, node)
		if (x->resumed != NULL)
			x->resumed(x, id);
}

static void
forget_ended(struct timer *t)
{
	struct harvest_service *s = CONTAINER(t, struct harvest_service,
	    forget_timer);

	while (!list_empty(&s->over)) {
		struct ended *x = LIST_POP(&s->over, struct ended, node);
		harvest_forget(s->harvests, x->id);
		mem_free(&x);
	}
}

/* One that has paused stays: it may be asked to go on. */
static void
tell_ended(void *arg, const struct harvest_view *v)
{
	struct harvest_service *s = arg;

	LIST_EACH(x, &s->watches, struct harvest_watch, node)
		if (x->ended != NULL)
			x->ended(x, v);
	if (store_harvest_is_over(v->state)) {
		struct ended *x = mem_new(sizeof(*x) + v->id.n + 1);
		memcpy(x + 1, v->id.p, v->id.n);
		x->id = (struct str){ (const char *)(x + 1), v->id.n };
		list_put(&s->over, &x->node);
		loop_timer_set(s->options.home, &s->forget_timer,
		    clock_mono());
	}
	leave_harvest(s);
}

/* ---- Its life ---------------------------------------------------- */

static void
add_root(struct harvest_service *s, struct str path)
{
	size_t equals = str_find_char(path, '=');

	if (equals < path.n)
		path = str_from(path, equals + 1);
	while (path.n > 1 && path.p[path.n - 1] == '/')
		path.n--;
	/* The door refuses others at the start. */
	if (is_plain(path))
		s->roots[s->roots_n++] = arena_copy(&s->arena, path);
}

/* The first is the clients' own directory. */
static void
read_roots(struct harvest_service *s)
{
	const struct conf *c = s->options.conf;
	struct str word;
	enum conf_id id;
	size_t at = 0, n = 1;
	bool known = conf_find(STR(ROOTS_SETTING), &id);

	while (known && conf_list(c, id, &at, &word))
		n++;
	s->roots = ARENA_ARRAY(&s->arena, struct str, n);
	s->roots[s->roots_n++] = arena_printf(&s->arena, "%s/"
	    HARVEST_CLIENT_DIR, s->options.data_dir);
	at = 0;
	while (known && conf_list(c, id, &at, &word))
		add_root(s, word);
}

static void
refuse_unfinished(struct str id, const struct why *w)
{
	log_error("harvest.refused", "harvest=%s why=%s", log_quoted(id),
	    log_why(w));
}

static void
read_unfinished(struct harvest_service *s)
{
	struct store_harvest *list;
	struct why w = WHY_INIT;
	size_t n = 0;

	if (harvests_unfinished(s->harvests, &s->arena, &list, &n, &w) != OK)
		log_error("harvest.store", "why=%s", log_why(&w));
	s->unfinished = ARENA_ARRAY(&s->arena, struct str, n);
	for (size_t i = 0; i < n; i++) {
		w = WHY_INIT;
		if (harvest_continue(s->harvests, list[i].id, &w) != OK) {
			refuse_unfinished(list[i].id, &w);
			continue;
		}
		s->unfinished[s->unfinished_n++] = list[i].id;
		enter_harvest(s);
	}
}

enum err
harvest_service_open(const struct harvest_service_options *o,
    struct harvest_service **out, struct why *w)
{
	struct harvest_service *s = mem_new(sizeof(*s));
	struct harvests_options ho = { .engine = o->engine, .home = o->home,
	    .conf = o->conf, .data_dir = o->data_dir, .ended = tell_ended,
	    .changed = tell_changed, .resumed = tell_resumed, .admit = admit,
	    .claim = claim, .root_of = root_of, .arg = s };
	struct store_watch pause = { .look = NULL };

	s->options = *o;
	list_init(&s->watches);
	list_init(&s->over);
	s->forget_timer.fire = forget_ended;
	read_roots(s);
	/* In this turn no job of the store runs, and it is ours. */
	store_async_watch(engine_store_async(o->engine), &pause);
	store_async_unwatch(engine_store_async(o->engine), &pause);
	enum err e = harvests_open(&ho, &s->harvests, w);
	if (e == OK) {
		read_unfinished(s);
		engine_use_harvests(o->engine, harvest_plan_begin, s);
	} else {
		harvest_service_free(&s);
	}
	*out = s;
	return e;
}

void
harvest_service_ready(struct harvest_service *s)
{
	for (size_t i = 0; s != NULL && i < s->unfinished_n; i++)
		harvest_resume(s->harvests, s->unfinished[i]);
}

void
harvest_service_drain(struct harvest_service *s, void (*drained)(void *arg),
    void *arg)
{
	if (s == NULL) {
		drained(arg);
		return;
	}
	s->draining = true;
	s->drained = drained;
	s->drained_arg = arg;
	enter(s);
	harvests_pause_all(s->harvests);
	leave(s);
}

void
harvest_service_free(struct harvest_service **sp)
{
	struct harvest_service *s = *sp;

	if (s == NULL)
		return;
	harvests_free(&s->harvests);
	while (!list_empty(&s->over)) {
		struct ended *x = LIST_POP(&s->over, struct ended, node);
		mem_free(&x);
	}
	arena_free(&s->arena);
	mem_free(sp);
}

struct harvests *
harvest_service_list(struct harvest_service *s)
{
	return s->harvests;
}

void
harvest_service_use_broker(struct harvest_service *s,
    const struct harvest_broker *b)
{
	s->broker = *b;
}

void
harvest_service_limit(struct harvest_service *s,
    const struct harvest_limits *l)
{
	s->limits = *l;
	harvests_limit(s->harvests, l->tries_max, l->staged_bytes_max,
	    l->keeps_urls);
}

void
harvest_service_watch(struct harvest_service *s, struct harvest_watch *x)
{
	list_put(&s->watches, &x->node);
}

void
harvest_service_unwatch(struct harvest_watch *x)
{
	list_take(&x->node);
}

/* ---- Beginning --------------------------------------------------- */

struct begin {
	struct harvest_request request;
	struct harvest_request *theirs;
	struct harvest_service *service;
	struct str credential;       /* its name; empty: none */
	struct str secret;           /* it, JSON */
	struct buf message;          /* with it */
	struct store_job job;
	struct why why;
	struct arena arena;
};

static void
answer_begin(struct begin *b, const struct harvest_request *r)
{
	struct harvest_service *s = b->service;
	struct harvest_request *theirs = b->theirs;
	bool fine = r->why.err == OK;

	theirs->given_id = r->given_id;
	theirs->code = r->code;
	theirs->why = r->why;
	if (b->secret.n > 0)
		explicit_bzero((char *)(uintptr_t)b->secret.p, b->secret.n);
	if (b->message.n > 0)
		explicit_bzero(b->message.p, b->message.n);
	buf_free(&b->message);
	arena_free(&b->arena);
	mem_free(&b);
	theirs->done(theirs);
	/* Else ended() follows. */
	if (!fine)
		leave_harvest(s);
}

static void
begun(struct harvest_request *r)
{
	answer_begin(r->arg, r);
}

static void
credential_read(struct store_job *j)
{
	struct begin *b = CONTAINER(j, struct begin, job);
	struct str message = str_trim(b->request.message);

	if (b->why.err == OK && b->service->draining)
		(void)!why(&b->why, ERR_CLOSED, "the daemon is ending");
	if (b->why.err != OK) {
		b->request.code = "credentials_missing";
		b->request.why = b->why;
		answer_begin(b, &b->request);
		return;
	}
	/* Any text behind the first brace is judged by harvest_begin(). */
	buf_printf(&b->message, "{\"credentials\":%.*s,%.*s",
	    STR_FMT(b->secret), STR_FMT(str_from(message, 1)));
	b->request.message = buf_str(&b->message);
	harvest_begin(b->service->harvests, &b->request);
}

static void
read_credential(struct store_job *j, struct store *st)
{
	struct begin *b = CONTAINER(j, struct begin, job);
	const struct harvest_service_options *o = &b->service->options;
	struct why inner = WHY_INIT;
	struct seal_key key;

	enum err e = credential_key(o->conf, o->data_dir, &key, &inner);
	if (e == OK)
		e = credential_get(st, &key, b->credential, &b->arena,
		    &b->secret, &inner);
	explicit_bzero(&key, sizeof(key));
	if (e == ERR_ABSENT)
		(void)!why_field(&b->why, ERR_INPUT, "credential", "there is "
		    "none with the name %.*s", STR_FMT(str_cut(b->credential,
		    0, STORE_NAME_BYTES_MAX)));
	else if (e != OK)
		(void)!why(&b->why, e, "%s", inner.text);
}

static enum err
may_begin(const struct harvest_service *s, struct why *w)
{
	if (s->draining)
		return why(w, ERR_CLOSED, "the daemon is ending");
	return s->running < HARVEST_RUNNING_MAX ? OK : why(w, ERR_FULL,
	    "%u harvests are under way; wait for one of them",
	    HARVEST_RUNNING_MAX);
}

static struct begin *
new_begin(struct harvest_service *s, struct harvest_request *r)
{
	struct begin *b = mem_new(sizeof(*b));

	b->request = *r;
	b->theirs = r;
	b->service = s;
	b->why = WHY_INIT;
	b->request.done = begun;
	b->request.arg = b;
	if (r->origin == HARVEST_OF_CLIENT && r->path.n > 0 &&
	    r->path.p[0] != '/')
		b->request.path = arena_printf(&b->arena, "%s/%.*s",
		    s->roots[0].p, STR_FMT(r->path));
	enter_harvest(s);
	return b;
}

void
harvest_service_begin(struct harvest_service *s, struct harvest_request *r,
    struct str credential)
{
	r->given_id = STR_NONE;
	r->why = WHY_INIT;
	r->code = "unknown_error";
	if (may_begin(s, &r->why) != OK) {
		r->done(r);
		return;
	}
	struct begin *b = new_begin(s, r);
	if (credential.n == 0) {
		harvest_begin(s->harvests, &b->request);
		return;
	}
	b->credential = credential;
	b->job = (struct store_job){ .run = read_credential,
	    .done = credential_read };
	store_async_put(engine_store_async(s->options.engine), &b->job);
}

/* ---- Orders ------------------------------------------------------ */

static void
answer_order(struct harvest_order *o)
{
	struct harvest_service *s = o->service;

	arena_free(&o->arena);
	o->done(o);
	leave(s);
}

/* It is under way, or has paused. */
static void
give_order(struct harvest_service *s, struct harvest_order *o)
{
	switch (o->verb) {
	case HARVEST_PAUSE:
		harvest_pause(s->harvests, o->id);
		break;
	case HARVEST_RESUME:
		harvest_resume(s->harvests, o->id);
		break;
	case HARVEST_STOP:
		harvest_stop(s->harvests, o->id);
		break;
	}
}

static void
judge_row(struct harvest_order *o)
{
	if (!store_harvest_is_over(o->state))
		(void)!why(&o->why, ERR_STATE, "harvest %.*s could not be "
		    "taken up at the daemon's start, or is another daemon's; "
		    "the log says more", STR_FMT(o->id));
	else if (o->verb != HARVEST_STOP)
		(void)!why(&o->why, ERR_STATE, "harvest %.*s is over: %s",
		    STR_FMT(o->id), store_harvest_state_name(o->state));
}

static void
row_read(struct store_job *j)
{
	struct harvest_order *o = CONTAINER(j, struct harvest_order, job);
	struct harvest_service *s = o->service;
	struct harvest_view v;

	if (o->why.err != OK)
		;
	else if (store_harvest_is_over(o->state) ||
	    !harvest_look(s->harvests, o->id, &v))
		judge_row(o);
	else if (s->draining)
		(void)!why(&o->why, ERR_CLOSED, "the daemon is ending");
	else
		give_order(s, o);
	answer_order(o);
}

static void
read_row(struct store_job *j, struct store *st)
{
	struct harvest_order *o = CONTAINER(j, struct harvest_order, job);
	struct store_harvest row;

	if (store_harvest_get(st, o->id, &o->arena, &row, &o->why) == OK)
		o->state = row.state;
}

void
harvest_order(struct harvest_service *s, struct harvest_order *o)
{
	o->service = s;
	o->why = WHY_INIT;
	o->arena = ARENA_INIT;
	o->job = (struct store_job){ .run = read_row, .done = row_read };
	enter(s);
	store_async_put(engine_store_async(s->options.engine), &o->job);
}
