/*
 * caller -- home's part: the queues, the counts, and each call's end.
 *
 *     start ─► waiting ─► sent ─► returned ─► done()
 *        └───────────────────────►──┘  refused, or cancelled while it waited
 */
#include "doors/external/caller_own.h"

#include "base/map.h"
#include "os/clock.h"

/* The queue and counts of a back end, which are kept as long as the caller is,
 * or of a provider's host, as long as it has calls: users name hosts. */
struct caller_target {
	struct str name;
	struct buf own_name;         /* a provider's */
	bool is_provider;
	struct list queue;           /* of caller_job.place */
	size_t jobs;                 /* that point to it */
	struct caller_look look;
};

struct caller {
	struct caller_thread thread;
	struct loop *home;
	size_t backend_calls_max, provider_calls_max, calls_waiting_max;
	struct list jobs;            /* of caller_job.node */
	size_t calls_n, waiting_n;
	struct map targets;          /* name -> struct caller_target */
	struct map providers;        /* "host:port", the same */
	bool is_stopping, is_stop_sent, is_joined;
	void (*stopped)(void *arg);
	void *arg;
	struct mail stop_mail;
	struct arena arena;          /* of back ends' targets */
};

/* ---- Life ------------------------------------------------------------ */

static void
join_thread(struct caller *c)
{
	loop_stop(c->thread.loop);
	loop_join(c->thread.loop);
	c->is_joined = true;
}

static void
deliver_stopped(struct mail *m)
{
	struct caller *c = CONTAINER(m, struct caller, stop_mail);

	c->is_stop_sent = false;
	/* One was started meanwhile; its end comes back here. */
	if (!list_empty(&c->jobs))
		return;
	join_thread(c);
	c->stopped(c->arg);
}

static void
check_stopped(struct caller *c)
{
	if (!c->is_stopping || c->is_stop_sent || !list_empty(&c->jobs))
		return;
	c->is_stop_sent = true;
	loop_send(c->home, &c->stop_mail, deliver_stopped);
}

enum err
caller_new(const struct caller_options *o, struct caller **out,
    struct why *w)
{
	struct caller *c;

	*out = NULL;
	if (o->call_ms <= 0)
		return why_field(w, ERR_INPUT, "call_ms", "it must be "
		    "positive");
	c = mem_new(sizeof(*c));
	c->home = o->home;
	c->backend_calls_max = o->backend_calls_max > 0 ?
	    o->backend_calls_max : CALLER_BACKEND_CALLS_MAX;
	c->provider_calls_max = o->provider_calls_max > 0 ?
	    o->provider_calls_max : CALLER_PROVIDER_CALLS_MAX;
	c->calls_waiting_max = o->calls_waiting_max > 0 ?
	    o->calls_waiting_max : CALLER_WAITING_MAX;
	list_init(&c->jobs);
	c->thread.home = o->home;
	c->thread.call_ms = o->call_ms;
	c->thread.connections_max = c->backend_calls_max * BACKENDS_MAX;
	if (o->provider_ca != NULL)
		c->thread.provider_ca = mem_copy_text(o->provider_ca);
	caller_thread_open(&c->thread, o->fixed_names);
	loop_start(c->thread.loop);
	*out = c;
	return OK;
}

void
caller_free(struct caller **cp)
{
	struct caller *c = *cp;

	if (c == NULL)
		return;
	CHECK(list_empty(&c->jobs) && (!c->is_stopping || c->is_joined));
	if (!c->is_joined)
		join_thread(c);
	caller_thread_close(&c->thread);
	mem_free(&c->thread.provider_ca);
	CHECK(c->providers.n == 0);
	map_free(&c->providers);
	map_free(&c->targets);
	arena_free(&c->arena);
	mem_free(cp);
}

/* ---- The end of a call ----------------------------------------------- */

/* A provider without calls is forgotten. */
static void
release_target(struct caller *c, struct caller_target *t)
{
	if (--t->jobs > 0 || !t->is_provider)
		return;
	map_take(&c->providers, t->name);
	buf_free(&t->own_name);
	mem_free(&t);
}

static void
free_job(struct caller_job *job)
{
	struct caller *c = job->caller;

	list_take(&job->node);
	release_target(c, job->target);
	if (job->is_secret && job->reply.cap > 0)
		explicit_bzero(job->reply.p, job->reply.cap);
	backends_release(&job->set);
	buf_free(&job->packed);
	buf_free(&job->reply);
	arena_free(&job->arena);
	mem_free(&job);
	check_stopped(c);
}

static void
count_call(struct caller_look *look, const struct caller_call *call)
{
	look->calls++;
	if (call->end == TRANSPORT_DONE && call->status / 100 == 2)
		return;
	look->failures++;
	look->failed_at = clock_wall();
	if (call->end == TRANSPORT_DONE)
		snprintf(look->failure, sizeof(look->failure), "HTTP %u",
		    call->status);
	else
		snprintf(look->failure, sizeof(look->failure), "%s: %.*s",
		    transport_end_word(call->end),
		    (int)sizeof(look->failure) / 2, call->detail);
}

static void
fill_outcome(const struct caller_job *job, struct caller_call *call)
{
	if (job->is_cancelled) {
		call->end = TRANSPORT_STOPPED;
		snprintf(call->detail, sizeof(call->detail), "%s",
		    transport_end_text(TRANSPORT_STOPPED));
		return;
	}
	call->end = job->end;
	memcpy(call->detail, job->detail, sizeof(call->detail));
	if (job->end != TRANSPORT_DONE)
		return;
	call->status = job->status;
	call->retry_after = job->retry_after;
	call->reply = str_cut(buf_str(&job->reply), 0, call->reply_max);
	call->reply_cut = job->reply_cut;
}

static void
finish_job(struct caller_job *job)
{
	struct caller_call *call = job->call;

	fill_outcome(job, call);
	if (call->end != TRANSPORT_STOPPED)
		count_call(&job->target->look, call);
	job->caller->calls_n--;
	job->call = NULL;
	call->own = NULL;
	call->done(call);
	if (!job->is_cancel_under_way)
		free_job(job);
}

/* ---- Queues ---------------------------------------------------------- */

static void
send_job(struct caller_job *job)
{
	job->is_sent = true;
	job->target->look.under_way++;
	caller_job_send(job);
}

static void
put_into_queue(struct caller_job *job)
{
	job->is_waiting = true;
	job->target->look.waiting++;
	job->caller->waiting_n++;
	list_put(&job->target->queue, &job->place);
}

static void
take_from_queue(struct caller_job *job)
{
	list_take(&job->place);
	job->caller->waiting_n--;
	job->target->look.waiting--;
	job->is_waiting = false;
}

static void
job_returned(struct mail *m)
{
	struct caller_job *job = CONTAINER(m, struct caller_job, mail);
	struct caller_target *t = job->target;

	t->look.under_way--;
	if (!list_empty(&t->queue)) {
		struct caller_job *next = LIST_ITEM(t->queue.next,
		    struct caller_job, place);
		take_from_queue(next);
		send_job(next);
	}
	finish_job(job);
}

static void
cancel_returned(struct mail *m)
{
	/* The job's own mail was posted first, so done() has been called. */
	free_job(CONTAINER(m, struct caller_job, cancel));
}

static void
job_refused(struct mail *m)
{
	finish_job(CONTAINER(m, struct caller_job, mail));
}

/* End a call that was not sent. */
static void
refuse_job(struct caller_job *job, enum transport_end end, const char *detail)
{
	job->end = end;
	snprintf(job->detail, sizeof(job->detail), "%s", detail);
	loop_send(job->caller->home, &job->mail, job_refused);
}

/* "auth.example:443"; a malformed URL has one of its own, and no answer. */
static struct str
provider_name(struct str url, struct arena *a)
{
	struct url u;

	if (url_parse(url, NULL, a, &u, NULL) != OK)
		return STR("");
	return arena_printf(a, "%.*s:%u", STR_FMT(u.host), (unsigned)u.port);
}

static struct caller_target *
provider_of(struct caller *c, struct str name)
{
	struct caller_target *t = map_get(&c->providers, name);

	if (t != NULL)
		return t;
	t = mem_new(sizeof(*t));
	buf_put_str(&t->own_name, name);
	t->name = buf_str(&t->own_name);
	t->is_provider = true;
	list_init(&t->queue);
	map_put(&c->providers, t->name, t);
	return t;
}

static struct caller_target *
target_of(struct caller *c, struct str name)
{
	struct caller_target *t = map_get(&c->targets, name);

	if (t != NULL)
		return t;
	t = ARENA_NEW(&c->arena, struct caller_target);
	t->name = arena_copy(&c->arena, name);
	list_init(&t->queue);
	map_put(&c->targets, t->name, t);
	return t;
}

static struct caller_job *
new_job(struct caller *c, struct caller_call *call)
{
	struct caller_job *job = mem_new(sizeof(*job));

	job->caller = c;
	job->thread = &c->thread;
	job->is_secret = call->provider != NULL;
	job->target = job->is_secret ? provider_of(c, provider_name(call->url,
	    &job->arena)) : target_of(c, call->backend->name);
	job->target->jobs++;
	if (!job->is_secret)
		job->set = backends_hold(call->set);
	job->call = call;
	job->returned = job_returned;
	job->cancel_returned = cancel_returned;
	list_init(&job->place);
	list_put(&c->jobs, &job->node);
	c->calls_n++;
	return job;
}

void
caller_start(struct caller *c, struct caller_call *call)
{
	struct caller_job *job = new_job(c, call);

	call->own = job;
	call->end = TRANSPORT_STOPPED;
	call->status = 0;
	call->retry_after = call->reply = STR("");
	call->reply_cut = false;
	call->detail[0] = '\0';
	if (c->is_stopping)
		refuse_job(job, TRANSPORT_STOPPED, "the program ends");
	else if (job->target->look.under_way < (job->target->is_provider ?
	    c->provider_calls_max : c->backend_calls_max))
		send_job(job);
	else if (c->waiting_n >= c->calls_waiting_max)
		refuse_job(job, TRANSPORT_CONNECT, "too many calls wait");
	else
		put_into_queue(job);
}

void
caller_cancel(struct caller *c, struct caller_call *call)
{
	struct caller_job *job = call->own;

	if (job == NULL || job->is_cancelled)
		return;
	CHECK(job->caller == c);
	job->is_cancelled = true;
	if (job->is_waiting) {
		take_from_queue(job);
		refuse_job(job, TRANSPORT_STOPPED, "");
	} else if (job->is_sent) {
		job->is_cancel_under_way = true;
		caller_job_cancel(job);
	}
}

void
caller_stop(struct caller *c, void (*stopped)(void *arg), void *arg)
{
	CHECK(!c->is_stopping);
	c->is_stopping = true;
	c->stopped = stopped;
	c->arg = arg;
	LIST_EACH(job, &c->jobs, struct caller_job, node)
		if (job->call != NULL)
			caller_cancel(c, job->call);
	check_stopped(c);
}

/* ---- Counts ---------------------------------------------------------- */

bool
caller_look_at(const struct caller *c, struct str backend_name,
    struct caller_look *out)
{
	const struct caller_target *t = map_get(&c->targets, backend_name);

	*out = t == NULL ? (struct caller_look){ .calls = 0 } : t->look;
	return t != NULL;
}

size_t
caller_calls(const struct caller *c)
{
	return c->calls_n;
}
