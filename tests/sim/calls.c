/*
 * calls -- a scripted exchange of calls with a server, by an owner that goes on
 * from its checkpoint: POST, 429 with Retry-After, a call that is not archived,
 * one kept as metadata, and a stream of a day; killed and cut off before,
 * during and after each commit.
 *
 *     sim_calls [--seeds N] [--from SEED]
 *
 * In each life the captures that are there must be those that the checkpoint
 * tells of, and nothing that was told done() may be gone.  The same seed gives
 * the same trace.  At the end a rebuild from the WARC files must find all.
 */
#include "engine/control/control.h"
#include "engine/fetcher/call.h"
#include "engine/frontier/checkpoint.h"
#include "engine/frontier/frontier_check_testing.h"
#include "engine/rebuild/rebuild.h"
#include "os/clock.h"
#include "os/file_fake.h"
#include "os/log.h"
#include "os/tree.h"
#include "tests/sim/world.h"

#include <stdlib.h>
#include <unistd.h>

#define STEPS_MAX 2000000u
#define PIECES 144u                     /* one in ten minutes, for a day */
#define EVERY_MS (10 * 60 * 1000)

/* --- the script --------------------------------------------------------- */

static const struct script {
	const char *method, *path;
	enum call_archive archive;
	int64_t silence_ms;
	int status;
} script[] = {
	{ "POST", "/search", CALL_RESPONSE, 0, 200 },
	{ "GET", "/busy", CALL_RESPONSE, 0, 200 },
	{ "GET", "/token", CALL_UNARCHIVED, 0, 200 },
	{ "GET", "/limits", CALL_METADATA, 0, 200 },
	{ "GET", "/stream", CALL_RESPONSE, 3600 * 1000, 200 },
	{ "POST", "/search", CALL_RESPONSE, 0, 200 },
	{ "GET", "/missing", CALL_RESPONSE, 0, 404 },
};
#define STEPS ARRAY_LEN(script)

/* How many captures there are when the script stands at this step. */
static uint64_t
captures_before(size_t position)
{
	uint64_t n = 0;

	for (size_t i = 0; i < position; i++)
		n += script[i].archive != CALL_UNARCHIVED;
	return n;
}

/* A life ends at a step: before its commit, during it, after it, or in the
 * middle of its stream. */
enum moment { AT_ANSWER, IN_COMMIT, AT_DONE, AT_PIECE, MOMENTS };
/* A commit takes about so many steps of the loop. */
#define COMMIT_STEPS 8u

static struct {
	uint32_t crawl;
	size_t position;
	size_t acknowledged;             /* in any life */
	struct call call;
	char checkpoint[16];
	bool out, ended, crash, closed;
	unsigned pieces;
	unsigned steps_left;             /* of this life, in a commit */
	size_t crash_step;
	enum moment crash_at;
	struct crawl_view view;
	unsigned kills, waits;
} owner;

/* --- the server --------------------------------------------------------- */

struct server {
	struct transport transport;
	struct loop *loop;
	struct list replies;
};

struct reply {
	struct list node;
	struct server *server;
	struct exchange *exchange;
	struct timer timer;
	struct buf request;
	unsigned pieces;
};

static struct {
	struct mono busy_until;          /* said 429 */
	uint64_t early, requests;
} web;

static void
finish(struct reply *r, enum transport_end end)
{
	struct exchange *x = r->exchange;

	loop_timer_stop(r->server->loop, &r->timer);
	list_take(&r->node);
	x->own = NULL;
	x->events->done(x, end, STR(""));
	buf_free(&r->request);
	mem_free(&r);
}

static void
say(struct reply *r, int status, const char *fields, const char *body)
{
	struct exchange *x = r->exchange;
	char head[200];

	snprintf(head, sizeof(head), "HTTP/1.1 %d Sim\r\nContent-Type: "
	    "application/json\r\nContent-Length: %zu\r\n%s\r\n", status,
	    strlen(body), fields);
	bool more = x->events->head(x, str_of(head), status) &&
	    x->events->body(x, str_of(body));
	finish(r, more ? TRANSPORT_DONE : TRANSPORT_STOPPED);
}

static void
next_piece(struct timer *t)
{
	struct reply *r = CONTAINER(t, struct reply, timer);
	struct exchange *x = r->exchange;

	if (r->pieces++ == PIECES)
		finish(r, TRANSPORT_DONE);
	else if (!x->events->body(x, STR("{\"line\":1}\n")))
		finish(r, TRANSPORT_STOPPED);
	else
		loop_timer_set(r->server->loop, t, mono_add_ms(clock_mono(),
		    EVERY_MS));
}

static void
stream(struct reply *r)
{
	struct exchange *x = r->exchange;

	if (!x->events->head(x, STR("HTTP/1.1 200 Sim\r\nContent-Type: "
	    "application/json\r\n\r\n"), 200)) {
		finish(r, TRANSPORT_STOPPED);
		return;
	}
	r->timer.fire = next_piece;
	next_piece(&r->timer);
}

static void
answer(struct timer *t)
{
	struct reply *r = CONTAINER(t, struct reply, timer);
	struct exchange *x = r->exchange;
	struct ip ip = { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 93, 184,
	    216, 34 } };
	struct mono now = clock_mono();

	CHECK(x->events->connected(x, &ip));
	if (str_ends(x->url, STR("/stream"))) {
		stream(r);
	} else if (str_ends(x->url, STR("/missing"))) {
		say(r, 404, "", "none");
	} else if (str_ends(x->url, STR("/search"))) {
		CHECK(str_eq(x->method, STR("POST")) &&
		    str_starts(x->body, STR("cursor=")));
		say(r, 200, "", "{\"found\":1}");
	} else if (str_ends(x->url, STR("/busy")) &&
	    web.busy_until.ns == 0) {
		web.busy_until = mono_add_ms(now, 30 * 1000);
		say(r, 429, "Retry-After: 30\r\n", "busy");
	} else {
		if (str_ends(x->url, STR("/busy")))
			web.early += mono_before(now, web.busy_until);
		say(r, 200, "", "{\"a\":1}");
	}
}

static void
start(struct transport *transport, struct exchange *x)
{
	struct server *s = CONTAINER(transport, struct server, transport);
	struct reply *r = mem_new(sizeof(*r));

	web.requests++;
	r->server = s;
	r->exchange = x;
	buf_printf(&r->request, "%.*s %.*s HTTP/1.1\r\nHost: api.test\r\n"
	    "\r\n%.*s", STR_FMT(x->method), STR_FMT(x->url), STR_FMT(x->body));
	x->request_sent = buf_str(&r->request);
	x->own = r;
	r->timer.fire = answer;
	list_put(&s->replies, &r->node);
	sim_trace(r->request.p, r->request.n);
	sim_trace(&sim_world.mono, sizeof(sim_world.mono));
	loop_timer_set(s->loop, &r->timer, mono_add_ms(clock_mono(),
	    (int64_t)(sim_random() % 50)));
}

static void
stop(struct transport *transport, struct exchange *x)
{
	(void)transport;
	finish(x->own, TRANSPORT_STOPPED);
}

static void
free_server(struct transport **tp)
{
	struct server *s = CONTAINER(*tp, struct server, transport);

	while (!list_empty(&s->replies))
		finish(LIST_ITEM(s->replies.next, struct reply, node),
		    TRANSPORT_STOPPED);
	mem_free(&s);
	*tp = NULL;
}

static struct transport *
new_server(void *arg, struct loop *loop)
{
	static const struct transport_table table = { .start = start,
		.stop = stop, .free = free_server };
	struct server *s = mem_new(sizeof(*s));

	(void)arg;
	s->transport.table = &table;
	s->loop = loop;
	list_init(&s->replies);
	return &s->transport;
}

/* --- the owner ---------------------------------------------------------- */

static void next_call(void);

static bool
is_the_end(enum moment m)
{
	return owner.crash_step == owner.position && owner.crash_at == m;
}

static void
piece(struct call *c, struct str bytes)
{
	(void)c;
	CHECK(str_eq(bytes, STR("{\"line\":1}\n")));
	owner.pieces++;
	owner.crash |= is_the_end(AT_PIECE) && owner.pieces == PIECES / 2;
}

static void
answered(struct call *c)
{
	sim_trace(&c->status, sizeof(c->status));
	sim_trace(&sim_world.mono, sizeof(sim_world.mono));
	owner.crash |= is_the_end(AT_ANSWER);
	if (is_the_end(IN_COMMIT))
		owner.steps_left = 1 + (unsigned)(sim_random() % COMMIT_STEPS);
}

static void
done(struct call *c)
{
	const struct script *s = &script[owner.position];
	bool fine = c->end == CALL_ANSWERED && c->result == OK;

	sim_trace(&c->number, sizeof(c->number));
	CHECK(!fine || c->status == s->status);
	CHECK(!fine || c->number == (s->archive == CALL_UNARCHIVED ? 0 :
	    captures_before(owner.position) + 1));
	CHECK(!fine || s->silence_ms == 0 || owner.pieces == PIECES);
	owner.out = false;
	call_free_answer(c);
	/* The engine is going down: the next life asks again. */
	if (!fine)
		return;
	owner.crash |= is_the_end(AT_DONE) || owner.steps_left > 0;
	owner.position++;
	if (s->archive != CALL_UNARCHIVED)
		owner.acknowledged = MAX(owner.acknowledged, owner.position);
	if (owner.position < STEPS)
		next_call();
	else
		owner.ended = true;
}

static void
next_call(void)
{
	static char url[64], body[16];
	const struct script *s = &script[owner.position];

	snprintf(url, sizeof(url), "http://api.test%s", s->path);
	snprintf(body, sizeof(body), "cursor=%zu", owner.position);
	snprintf(owner.checkpoint, sizeof(owner.checkpoint), "%zu",
	    owner.position + 1);
	owner.pieces = 0;
	owner.call = (struct call){ .crawl = owner.crawl,
	    .home = sim_world.home, .method = str_of(s->method),
	    .url = str_of(url), .archive = s->archive,
	    .body = strcmp(s->method, "POST") == 0 ? str_of(body) : STR_NONE,
	    .checkpoint = s->archive == CALL_UNARCHIVED ? STR_NONE :
	    str_of(owner.checkpoint), .silence_ms = s->silence_ms,
	    .piece = piece, .answered = answered, .done = done };
	owner.out = true;
	engine_call(sim_world.engine, &owner.call);
}

/* --- lives -------------------------------------------------------------- */

static void
viewed(void *arg, const struct crawl_view *v)
{
	(void)arg;
	owner.view = *v;
}

static void
closed(void *arg)
{
	(void)arg;
	owner.closed = true;
}

static void
open_engine(const struct conf *c)
{
	struct why w = WHY_INIT;

	sim_world.home = loop_new("sim");
	struct engine_options o = {
		.conf = c, .home = sim_world.home, .data_dir = "/data",
		.loops = 2, .small = true, .view = viewed,
		.no_threads = true, .transport = new_server,
		.segment_bytes = (size_t)4096 << sim_random() % 4,
		.checkpoint_part = 1 + sim_random() % 4,
	};
	sim_must(engine_open(&o, &sim_world.engine, &w), &w);
	frontier_check(engine_frontier(sim_world.engine));
}

static size_t
checkpoint(struct index *x)
{
	struct arena a = ARENA_INIT;
	struct str bytes;
	uint64_t at = 0;

	if (checkpoint_get(x, owner.crawl, STR(""), &a, &bytes, NULL) == OK)
		CHECK(str_to_u64(bytes, &at) && at <= STEPS);
	arena_free(&a);
	return (size_t)at;
}

/* Start from the durable state, as an owner does after a crash. */
static void
begin_or_go_on(void)
{
	struct frontier *f = engine_frontier(sim_world.engine);
	struct crawl_request r = { .spec = { .kind = CRAWL_HARVEST,
	    .name = STR("harvest"), .warc_dir = STR("/warc") } };
	struct policy *p = policy_new();
	struct why w = WHY_INIT;
	size_t at = 0;

	p->rate_limit = 0;
	r.policy = p;
	if (engine_next_view(sim_world.engine, &at, &owner.view)) {
		owner.crawl = owner.view.id;
		owner.position = checkpoint(ledger_index(frontier_ledger(f)));
		CHECK(owner.view.kind == CRAWL_HARVEST);
		CHECK(owner.position >= owner.acknowledged);
		/* It was durable, and the owner had not heard. */
		owner.acknowledged = owner.position;
		CHECK(owner.view.counts.items ==
		    captures_before(owner.position));
		sim_must(engine_continue(sim_world.engine, owner.crawl, &r,
		    &w), &w);
	} else {
		CHECK(owner.acknowledged == 0);
		owner.position = 0;
		sim_must(engine_begin(sim_world.engine, &r, &owner.crawl, &w),
		    &w);
	}
	policy_free(&p);
	engine_start(sim_world.engine);
}

/* One life; true when the script has come to its end. */
static bool
live(const struct conf *c, bool power)
{
	uint64_t left = STEPS_MAX;

	owner.out = owner.ended = owner.crash = false;
	owner.steps_left = 0;
	web.busy_until.ns = 0;
	open_engine(c);
	begin_or_go_on();
	owner.crash = owner.position > owner.crash_step;
	if (owner.position < STEPS)
		next_call();
	else
		owner.ended = true;
	while (!owner.ended && !owner.crash && left-- > 0) {
		sim_step();
		if (owner.steps_left > 0 && --owner.steps_left == 0)
			owner.crash = true;
	}
	CHECK(owner.ended || owner.crash);
	if (!owner.crash)
		return true;
	sim_crash(power);
	if (owner.out)
		call_free_answer(&owner.call);
	owner.kills++;
	return false;
}

static void
close_engine(void)
{
	uint64_t left = STEPS_MAX;

	owner.closed = false;
	frontier_check(engine_frontier(sim_world.engine));
	engine_close(sim_world.engine, closed, NULL);
	while (!owner.closed && left-- > 0)
		sim_step();
	CHECK(owner.closed);
	sim_free();
}

static uint64_t
run_seed(uint64_t seed, const struct conf *c)
{
	sim_begin(seed);
	memset(&owner, 0, sizeof(owner));
	memset(&web, 0, sizeof(web));
	for (size_t step = 0; step < STEPS; step++) {
		for (unsigned m = 0; m < MOMENTS; m++) {
			for (int power = 0; power <= 1; power++) {
				owner.crash_step = step;
				owner.crash_at = m;
				/* A step that is durable does not come again,
				 * and only the stream has pieces. */
				if (owner.acknowledged > step ||
				    (m == AT_PIECE &&
				    script[step].silence_ms == 0))
					continue;
				/* A token that is not kept is asked again. */
				CHECK(!live(c, (seed + power) % 2 != 0));
			}
		}
	}
	owner.crash_step = STEPS;
	CHECK(live(c, false));
	CHECK(owner.position == STEPS);
	CHECK(owner.view.counts.items == captures_before(STEPS));
	CHECK(web.early == 0);
	close_engine();
	return sim_world.trace;
}

/* --- the rebuild -------------------------------------------------------- */

/* The invented disk's directory, on the real one. */
static void
bring_out(const char *from, const char *to)
{
	struct arena a = ARENA_INIT;
	struct why w = WHY_INIT;
	struct str *names;
	struct buf bytes;
	size_t n;

	file_use(&file_fake);
	sim_must(file_list(from, &a, &names, &n, &w), &w);
	for (size_t i = 0; i < n; i++) {
		bytes = (struct buf)BUF_INIT;
		file_use(&file_fake);
		if (!str_ends(names[i], STR(".warc.gz")))
			continue;
		sim_must(file_load(arena_printf(&a, "%s/%.*s", from,
		    STR_FMT(names[i])).p, 1 << 24, &bytes, &w), &w);
		file_use(&file_real);
		sim_must(file_store(arena_printf(&a, "%s/%.*s", to,
		    STR_FMT(names[i])).p, buf_str(&bytes), &w), &w);
		buf_free(&bytes);
	}
	arena_free(&a);
}

static void
rebuild(const struct conf *c)
{
	char root[] = "/tmp/sim_calls.XXXXXX";
	struct arena a = ARENA_INIT;
	struct rebuild_counts n;
	struct index_options io = { .read_only = true };
	struct index *x = NULL;
	struct why w = WHY_INIT;

	CHECK(mkdtemp(root) != NULL);
	const char *warcs = arena_printf(&a, "%s/warc", root).p;
	const char *data = arena_printf(&a, "%s/data", root).p;
	file_use(&file_real);
	sim_must(file_make_dir(warcs, &w), &w);
	sim_must(file_make_dir(data, &w), &w);
	bring_out("/warc", warcs);
	sim_end();
	struct rebuild_options o = { .conf = c, .data_dir = data,
	    .dirs = &warcs, .dirs_n = 1, .scratch = arena_printf(&a,
	    "%s/sort", root).p };
	sim_must(rebuild_run(&o, &n, &w), &w);
	CHECK(n.crawls == 1 && n.captures == captures_before(STEPS));
	CHECK(n.missing == 0 && n.repeated == 0 && n.damaged == 0);
	sim_must(index_open(arena_printf(&a, "%s/index", data).p, &io, &x,
	    &w), &w);
	CHECK(checkpoint(x) == STEPS);
	index_close(&x);
	sim_must(tree_remove(root, &w), &w);
	arena_free(&a);
}

int
main(int argc, char **argv)
{
	uint64_t seeds = sim_number(argc, argv, "--seeds", 20);
	uint64_t from = sim_number(argc, argv, "--from", 1);
	uint64_t failed = 0, kills = 0, requests = 0;
	struct why w = WHY_INIT;
	struct conf c;

	conf_init(&c);
	log_open(getenv("SIM_LOG") == NULL ? LOG_OFF : LOG_INFO, 2, false);
	sim_must(conf_flag(&c, STR("fetch.resolve=*:*:93.184.216.34:80"), &w),
	    &w);
	sim_must(conf_flag(&c, STR("fetch.backoff_max_ms=60000"), &w), &w);
	for (uint64_t s = from; s < from + seeds; s++) {
		uint64_t trace = run_seed(s, &c);
		kills += owner.kills;
		requests += web.requests;
		rebuild(&c);
		if (run_seed(s, &c) == trace)
			continue;
		printf("sim: seed %llu: two runs, two traces\n",
		    (unsigned long long)s);
		failed++;
	}
	conf_free(&c);
	printf("conformance: calls: %llu seeds, %llu crashes, %llu requests\n",
	    (unsigned long long)seeds, (unsigned long long)kills,
	    (unsigned long long)requests);
	printf("%llu passed, %llu failed\n",
	    (unsigned long long)(seeds - failed), (unsigned long long)failed);
	return failed != 0;
}
