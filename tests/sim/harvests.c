/*
 * harvests -- harvests of invented platforms beside a crawl, from a seed: of
 * lists, of streams and of the web, begun, paused, resumed and stopped at
 * random moments, and in those in which a file's end is being noted, through
 * kills, power cuts, failing syncs and full disks.
 *
 *     sim_harvests [--seeds N] [--from SEED]
 *
 * The store, the ledger and the files all lie on the invented disk.  At the
 * beginning of each life and at the end the oracle compares what they say; the
 * platforms count who asks for what is durable.  Each host is harvested twice,
 * the second time for what has come since, and every harvest ends once, as a
 * success; one that was asked to end does so in END_MS_MAX, but for crashes.
 * Each seed runs twice and gives the same trace: every request with its moment,
 * every end, and the bytes of all files.
 */
#include "engine/control/control.h"
#include "engine/frontier/frontier.h"
#include "engine/frontier/frontier_check_testing.h"
#include "engine/frontier/journal.h"
#include "engine/harvest/harvest.h"
#include "os/clock.h"
#include "os/database_fake.h"
#include "os/file_fake.h"
#include "os/log.h"
#include "os/tree.h"
#include "tests/sim/oracle.h"
#include "tests/sim/platform.h"
#include "tests/sim/web.h"
#include "tests/sim/world.h"

#include <unistd.h>

#define STEPS_MAX 2000000u
#define DATA "/data"
#define ROOT "/to"
#define CRAWL_DELAY_MS 200
#define RUNS 2u                         /* of a host */
#define KEY_BYTES 32
/* In the last life a stream goes on for so long, and has all items of before
 * the last of it: silence of 90 s, and tries again. */
#define CALM_MS 500000
#define CATCH_UP_MS 250000
/* And then until a file ends, if one does so soon. */
#define ROLLS_MS 60000
/* From a stop to the end: a request in hand, and a place that fails. */
#define END_MS_MAX 300000
/* Free bytes below which the ledger writes nothing. */
#define FREE_BYTES_MIN (64 << 10)

/* One harvest. */
struct run {
	char id[24];
	struct harvest_request request;
	struct buf message;
	bool grown;                  /* its host has its items */
	bool asked;                  /* harvest_begin() has not answered */
	bool begun;                  /* it is in the store, for ever */
	bool paused;
	bool over, told;             /* told: in this life */
	bool stop_known;             /* that it stops was told */
	bool stopped;                /* it was asked to */
	struct mono stop_at;         /* in this life; ns 0: it was not */
	struct mono goes_on;         /* since then, in this life */
	struct wall whole_until;     /* it had time to catch up, up to then */
	enum store_harvest_state last;
};

struct host {
	char path[24];
	struct run runs[RUNS];
	unsigned at;                 /* the one that is its turn */
	uint32_t crawl_least;        /* crawls before it are earlier runs */
};

static struct {
	struct harvests *harvests;
	struct host hosts[PLATFORM_HOSTS_MAX];
	unsigned hosts_n;
	bool closed, failed, full;
	/* The crawl beside. */
	struct launch launch;
	bool launching, launched, crawl_ended;
	struct crawl_view view;
	struct mono room_at;         /* the disk is full until then, or 0 */
	uint64_t stops_at;           /* changes of files in all; 0: no */
	uint64_t renames;            /* of files, when dirs were looked at */
	uint64_t files;              /* of all rows, as they were judged */
	bool wrong;
} sim;

/* Over all seeds. */
static struct {
	uint64_t kills, failures, full, begun, pauses, resumes, stops;
	uint64_t files, requests;
} sum;

/* --- the crawl beside ---------------------------------------------------- */

static void
viewed(void *arg, const struct crawl_view *v)
{
	(void)arg;
	if (v->kind == CRAWL_HARVEST)
		return;
	sim.view = *v;
	sim.crawl_ended = v->state == CRAWL_COMPLETE;
}

static void
launched(struct launch *l)
{
	sim.launching = false;
	sim.launched = l->why.err == OK;
}

static void
launch_crawl(void)
{
	static char url[80];
	static struct launch_seed seed;
	static struct buf policy;
	struct policy *p = policy_new();
	struct why w = WHY_INIT;

	web_url(0, url, sizeof(url));
	seed = (struct launch_seed){ str_of(url), -1 };
	policy_set_scope(p, SCOPE_ANY);
	p->rate_limit = (double)CRAWL_DELAY_MS / 1000;
	sim_must(policy_set(p, STR("limits.max_depth"), STR("none"), &w), &w);
	buf_clear(&policy);
	policy_to_json(p, &policy);
	policy_free(&p);
	sim.launch = (struct launch){ .seeds = &seed, .seeds_n = 1,
	    .spec.policy = buf_str(&policy), .spec.key = STR("beside"),
	    .done = launched };
	sim.launching = true;
	crawl_launch(sim_world.engine, &sim.launch);
}

/* What an earlier life has launched goes on. */
static void
continue_crawl(void)
{
	struct crawl_request q = { .spec.operator_seeds = false };
	struct why w = WHY_INIT;
	struct crawl_view v;
	size_t at = 0;

	sim.launched = sim.crawl_ended = false;
	while (engine_next_view(sim_world.engine, &at, &v)) {
		if (v.kind == CRAWL_HARVEST)
			continue;
		sim.launched = true;
		sim.view = v;
		sim.crawl_ended = v.state == CRAWL_COMPLETE;
		if (!sim.crawl_ended)
			sim_must(engine_continue(sim_world.engine, v.id, &q,
			    &w), &w);
	}
}

/* --- what is durable ----------------------------------------------------- */

/* The platforms learn which of their answers the journal has.  Or, with `next`,
 * that crawls of the host have numbers below it. */
static void
look_at_journal(unsigned host, uint32_t *next)
{
	struct index_iter *i = index_iter_new(ledger_index(frontier_ledger(
	    engine_frontier(sim_world.engine))), INDEX_JOURNAL);
	struct str key, value;
	unsigned of;

	for (index_iter_seek(i, STR("")); index_iter_valid(i, &key, &value);
	    index_iter_next(i)) {
		struct journal_entry e;
		if (!journal_parse(key, value, &e) ||
		    !platform_host(e.url, &of) || of != host)
			continue;
		if (next != NULL)
			*next = MAX(*next, e.crawl + 1);
		else if (e.crawl >= sim.hosts[host].crawl_least)
			platform_durable(e.url, e.status,
			    e.body_bytes);
	}
	index_iter_free(&i);
}

/* --- harvests ------------------------------------------------------------ */

static struct run *
find_run(struct str id)
{
	for (unsigned h = 0; h < sim.hosts_n; h++)
		for (unsigned r = 0; r < RUNS; r++)
			if (str_eq(id, str_of(sim.hosts[h].runs[r].id)))
				return &sim.hosts[h].runs[r];
	CHECK(!"a harvest of ours");
	return NULL;
}

/* It ends once, and stays as it ended. */
static void
take_end(struct run *r, enum store_harvest_state s)
{
	CHECK(r->begun && !r->over);
	r->over = true;
	r->stop_at.ns = 0;
	r->last = s;
	sim_trace(r->id, strlen(r->id));
	sim_trace(&s, sizeof(s));
	sim_trace(&sim_world.mono, sizeof(sim_world.mono));
}

/* Nothing that goes wrong in this world is a reason to fail. */
static void
print_notes(struct str id)
{
	struct harvest_note n;
	size_t at = 0;

	while (harvest_next_note(sim.harvests, id, &at, &n))
		printf("sim: %.*s has failed: %s: %.*s: %.*s\n", STR_FMT(id),
		    n.level, STR_FMT(n.code), STR_FMT(n.text));
}

static void
on_ended(void *arg, const struct harvest_view *v)
{
	struct run *r = find_run(v->id);

	(void)arg;
	r->paused = v->state == STORE_HARVEST_PAUSED;
	if (r->paused)
		return;
	CHECK(v->warcs_waiting == 0);
	take_end(r, v->state);
	r->told = true;
	if (v->state == STORE_HARVEST_SUCCEEDED)
		return;
	print_notes(v->id);
	sim.wrong = true;
}

static void
on_changed(void *arg, struct str id)
{
	struct harvest_view v;
	struct run *r = find_run(id);

	(void)arg;
	CHECK(!r->over && harvest_look(sim.harvests, id, &v));
	r->stop_known |= v.state == STORE_HARVEST_STOPPING;
}

static void
on_resumed(void *arg, struct str id)
{
	(void)arg;
	CHECK(!find_run(id)->over);
	find_run(id)->paused = false;
	find_run(id)->goes_on = clock_mono();
}

static struct shared_root
root_of(void *arg, struct str path)
{
	(void)arg;
	(void)path;
	return (struct shared_root){ ROOT, 0002 };
}

static void
on_begun(struct harvest_request *q)
{
	struct run *r = q->arg;

	r->asked = false;
	CHECK(q->why.err == OK || q->why.err == ERR_IO ||
	    q->why.err == ERR_DISK_FULL);
	r->begun = q->why.err == OK;
	r->goes_on = clock_mono();
	sum.begun += r->begun;
}

static void
begin_harvest(struct host *h, struct run *r)
{
	unsigned n = (unsigned)(h - sim.hosts);

	if (!r->grown) {
		look_at_journal(n, &h->crawl_least);
		platform_grow(n);
		r->grown = true;
	}
	buf_clear(&r->message);
	platform_message(n, &r->message);
	r->request = (struct harvest_request){ .id = str_of(r->id),
	    .message = buf_str(&r->message), .path = str_of(h->path),
	    .origin = HARVEST_OF_OPERATOR, .done = on_begun, .arg = r };
	r->asked = true;
	harvest_begin(sim.harvests, &r->request);
}

static void
forget_run(struct host *h, struct run *r)
{
	if (r->told)
		harvest_forget(sim.harvests, str_of(r->id));
	r->told = false;
	h->at++;
}

static void
stop_run(struct run *r)
{
	sum.stops += !r->stopped;
	r->stopped = true;
	if (r->stop_at.ns == 0)
		r->stop_at = clock_mono();
	harvest_stop(sim.harvests, str_of(r->id));
}

/* A stream that nobody disturbs has had its time, and some `more`. */
static void
end_calmly(struct host *h, struct run *r, int64_t more_ms)
{
	unsigned n = (unsigned)(h - sim.hosts);

	if (!platform_is_stream(n) || r->stop_at.ns > 0 || mono_ns_between(
	    r->goes_on, clock_mono()) < (CALM_MS + more_ms) * NS_PER_MS)
		return;
	r->whole_until.us = clock_wall().us - CATCH_UP_MS *
	    (US_PER_S / 1000);
	stop_run(r);
}

/* Actions that need a running harvest.  One that was stopped is left alone. */
static void
disturb(struct host *h, struct run *r, uint64_t dice)
{
	bool streams = platform_is_stream((unsigned)(h - sim.hosts));

	if (r->stop_at.ns > 0 && sim_random() % 16 != 0)
		return;
	if (dice < 8) {
		sum.resumes += r->paused;
		harvest_resume(sim.harvests, str_of(r->id));
	} else if (dice < 12) {
		sum.pauses++;
		harvest_pause(sim.harvests, str_of(r->id));
	} else if (dice == 12 && (streams || sim_random() % 4 == 0)) {
		stop_run(r);
	}
}

/* Somebody does something about a harvest, or nothing. */
static void
act(bool calm)
{
	struct host *h = &sim.hosts[sim_random() % sim.hosts_n];
	uint64_t dice = sim_random() % 20;

	if (h->at == RUNS)
		return;
	struct run *r = &h->runs[h->at];
	if (r->over) {
		forget_run(h, r);
	} else if (r->asked) {
		return;
	} else if (!r->begun) {
		begin_harvest(h, r);
	} else if (!calm) {
		disturb(h, r, dice);
	} else {
		if (dice < 8 && r->stop_at.ns == 0)
			disturb(h, r, dice);
		end_calmly(h, r, ROLLS_MS);
	}
}

/* A file has its name: perhaps its end is being noted.  Somebody wants
 * something of a harvest just now. */
static void
act_at_a_files_end(bool calm)
{
	struct host *h = &sim.hosts[sim_random() % sim.hosts_n];
	struct run *r = &h->runs[MIN(h->at, RUNS - 1)];
	uint64_t dice = sim_random() % 100;

	if (h->at == RUNS || !r->begun || r->over || r->asked)
		return;
	if (calm)
		end_calmly(h, r, 0);
	else if (dice < 2)
		disturb(h, r, 12);
	for (unsigned i = 0; !calm && dice < 10 && i < dice % 4; i++)
		disturb(h, r, sim_random() % 12);
}

/* What was asked to end has ended soon. */
static void
look_at_stops(void)
{
	for (unsigned h = 0; h < sim.hosts_n; h++)
		for (unsigned i = 0; i < RUNS; i++) {
			struct run *r = &sim.hosts[h].runs[i];
			if (r->stop_at.ns == 0 || mono_ns_between(r->stop_at,
			    clock_mono()) < END_MS_MAX * NS_PER_MS)
				continue;
			printf("sim: %s was asked to end, and has not\n",
			    r->id);
			sim.wrong = true;
			r->stop_at.ns = 0;
		}
}

/* --- a life -------------------------------------------------------------- */

/* What is in trouble, and why. */
static void
health(void *arg, enum engine_health h, const char *text)
{
	(void)arg;
	sim.failed |= h == ENGINE_FAILED;
	sim.full |= h == ENGINE_DISK_FULL;
	if (h != ENGINE_FINE && getenv("SIM_LOG") != NULL)
		printf("sim: health %d: %s\n", h, text);
	CHECK(h == ENGINE_FINE || strchr(text, '/') != NULL ||
	    str_starts(str_of(text), STR("log: ")));
}

static void
closed(void *arg)
{
	(void)arg;
	sim.closed = true;
}

static void
free_harvests(void)
{
	harvests_free(&sim.harvests);
}

static void
open_engine(const struct conf *c)
{
	struct why w = WHY_INIT;

	sim_world.home = loop_new("sim");
	sim_world.freed = free_harvests;
	struct engine_options o = {
		.conf = c, .home = sim_world.home, .data_dir = DATA,
		.loops = 2, .small = true, .doors = true,
		.view = viewed, .health = health, .no_threads = true,
		.segment_bytes = (size_t)4096 << sim_random() % 8,
		.checkpoint_part = 1 + sim_random() % 20,
		.transport = platform_transport,
	};
	sim_must(engine_open(&o, &sim_world.engine, &w), &w);
	frontier_check(engine_frontier(sim_world.engine));
	struct harvests_options ho = { .engine = sim_world.engine,
	    .home = sim_world.home, .conf = c, .data_dir = DATA,
	    .keeps_urls = true, .ended = on_ended, .changed = on_changed,
	    .resumed = on_resumed, .root_of = root_of, .no_threads = true };
	sim_must(harvests_open(&ho, &sim.harvests, &w), &w);
}

/* The row agrees with what was reported, and its files are there. */
static void
judge_run(struct store *st, unsigned host, struct run *r)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct store_harvest row;

	/* Or the crash came between its commit and the answer. */
	r->begun |= store_harvest_get(st, str_of(r->id), &a, &row, NULL) == OK;
	if (!r->begun)
		return;
	const struct oracle_run o = { .id = str_of(r->id), .host = host,
	    .over = store_harvest_is_over(row.state),
	    .whole_until = r->whole_until };
	if (!oracle_row(st, &o, DATA, &row, &sim.files, &a)) {
		sim.wrong = true;
		return;
	}
	bool is_over = store_harvest_is_over(row.state);
	CHECK(!r->over || (is_over && row.state == r->last));
	if (is_over && !r->over)
		take_end(r, row.state);
}

static struct store *
the_store(void)
{
	return store_async_store(engine_store_async(sim_world.engine));
}

static void
judge(bool with_rows)
{
	struct store *st = the_store();

	for (unsigned h = 0; h < sim.hosts_n; h++) {
		struct host *x = &sim.hosts[h];
		for (unsigned r = 0; with_rows && r < RUNS; r++)
			judge_run(st, h, &x->runs[r]);
		sim.wrong |= !oracle_dir(h, x->path);
		look_at_journal(h, NULL);
	}
}

/* Resume the harvests that the process before left unfinished. */
static void
take_up(void)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct store_harvest *list;
	struct why w = WHY_INIT;
	size_t n;

	sim_must(harvests_unfinished(sim.harvests, &a, &list, &n, &w), &w);
	for (size_t i = 0; i < n; i++) {
		CHECK(!find_run(list[i].id)->over);
		sim_must(harvest_continue(sim.harvests, list[i].id, &w), &w);
	}
	continue_crawl();
	engine_start(sim_world.engine);
	for (size_t i = 0; i < n; i++)
		harvest_resume(sim.harvests, list[i].id);
}

static void
begin_life(const struct conf *c)
{
	sim.failed = sim.full = sim.launching = false;
	sim.room_at.ns = 0;
	for (unsigned h = 0; h < sim.hosts_n; h++)
		for (unsigned r = 0; r < RUNS; r++) {
			struct run *x = &sim.hosts[h].runs[r];
			x->asked = x->paused = x->told = false;
			x->stop_at.ns = 0;
			x->goes_on = clock_mono();
			if (x->stop_known && !x->over)
				platform_close(h);
		}
	oracle_forget();
	open_engine(c);
	judge(true);
	take_up();
}

static void
fill_disk(void)
{
	uint64_t left = 0;

	/* Used: what is missing of a disk that is big enough. */
	file_fake_limit(UINT64_C(1) << 30);
	sim_must(file_free_bytes(DATA, &left, NULL), &WHY_INIT);
	file_fake_limit((UINT64_C(1) << 30) - left + sim_random() %
	    (3 * FREE_BYTES_MIN));
	sim.room_at = mono_add_ms(clock_mono(), (int64_t)(sim_random() %
	    60000));
}

/* Choose a fault for the next process, besides its kill. */
static void
plan_fault(void)
{
	uint64_t n = 1 + sim_random() % 300;

	sim.stops_at = 0;
	switch (sim_random() % 6) {
	case 0:
		file_fault(FILE_CALL_SYNC, n, 1, ERR_IO);
		break;
	case 1:
		file_fault(FILE_CALL_WRITE, n, 1 + sim_random() % 20,
		    ERR_DISK_FULL);
		break;
	case 2:
	case 3:
		/* The machine stops at a change, whichever it is. */
		n = 1 + sim_random() % 1000;
		sim.stops_at = file_calls(FILE_CALL_CHANGE) + n;
		file_fault(FILE_CALL_CHANGE, n, FILE_FAULT_FOREVER, ERR_IO);
		break;
	default:
		break;
	}
}

static bool
has_stopped(void)
{
	return sim.stops_at > 0 && file_calls(FILE_CALL_CHANGE) >=
	    sim.stops_at;
}

static bool
all_is_done(void)
{
	for (unsigned h = 0; h < sim.hosts_n; h++)
		if (sim.hosts[h].at < RUNS)
			return false;
	return sim.crawl_ended;
}

static void
look_at_disk(bool calm)
{
	uint64_t renames = file_calls(FILE_CALL_RENAME);

	/* WARC files get names, or the state does; there are many of them. */
	bool looks = renames != sim.renames && sim_random() % 4 == 0;
	for (unsigned h = 0; looks && h < sim.hosts_n; h++)
		sim.wrong |= !oracle_dir(h, sim.hosts[h].path);
	if (renames != sim.renames)
		act_at_a_files_end(calm);
	sim.renames = renames;
	if (sim.room_at.ns == 0 && sim_random() % 4000 == 0)
		fill_disk();
	if (sim.room_at.ns > 0 && !mono_before(clock_mono(), sim.room_at)) {
		file_fake_limit(UINT64_MAX);
		sim.room_at.ns = 0;
	}
}

/* Steps until the life's end, or until all is done. */
static void
live(uint64_t steps, bool calm)
{
	for (uint64_t i = 0; i < steps && !sim.failed && !has_stopped() &&
	    !all_is_done(); i++) {
		if (sim_random() % 40 == 0)
			act(calm);
		if (!sim.launched && !sim.launching && sim_random() % 200 == 0)
			launch_crawl();
		if (sim_random() % 2000 == 0) {
			judge(false);
			look_at_stops();
		}
		look_at_disk(calm);
		sim_step();
	}
	sum.full += sim.full;
	sum.failures += sim.failed;
}

static void
print_unfinished(void)
{
	for (unsigned h = 0; h < sim.hosts_n; h++)
		for (unsigned i = 0; i < RUNS; i++) {
			const struct run *r = &sim.hosts[h].runs[i];
			if (!r->over)
				printf("sim: %s, kind %d: begun %d, paused %d,"
				    " stopped %d\n", r->id, platform_kind(h),
				    r->begun, r->paused, r->stopped);
		}
	fflush(stdout);
}

static void
run_lives(const struct conf *c, unsigned crashes)
{
	for (unsigned life = 0; life < crashes; life++) {
		begin_life(c);
		plan_fault();
		live(100 + sim_random() % 4000, false);
		sim_crash(sim_random() % 2 == 0);
		platform_kill();
		sum.kills++;
	}
	begin_life(c);
	sim.stops_at = 0;
	live(STEPS_MAX, true);
	if (sim.failed || !all_is_done())
		print_unfinished();
	CHECK(!sim.failed && all_is_done());
	sim.files = 0;
	judge(true);
	sim.wrong |= !oracle_files(ROOT, sim.files);
	frontier_check(engine_frontier(sim_world.engine));
	sim.closed = false;
	engine_close(sim_world.engine, closed, NULL);
	for (uint64_t i = 0; i < STEPS_MAX && !sim.closed; i++)
		sim_step();
	CHECK(sim.closed);
}

/* --- seeds --------------------------------------------------------------- */

static bool
judge_end(void)
{
	struct web_expected want;
	uint64_t breaches = platform_breaches() + web_breaches();
	bool fine = !sim.wrong && breaches == 0;

	if (breaches > 0)
		printf("sim: %llu requests that should not be\n",
		    (unsigned long long)breaches);
	for (unsigned h = 0; h < sim.hosts_n; h++) {
		const struct run *r = &sim.hosts[h].runs[RUNS - 1];
		if (r->last == STORE_HARVEST_SUCCEEDED && !r->stopped &&
		    platform_kind(h) != PLATFORM_WEB)
			fine &= oracle_complete(h, sim.hosts[h].path);
	}
	fine &= oracle_archive(ROOT, &sum.files);
	web_expect(&want);
	mem_free(&want.known);
	if (sim.view.counts.items != want.items) {
		printf("sim: the crawl has %llu items of %u\n",
		    (unsigned long long)sim.view.counts.items, want.items);
		fine = false;
	}
	return fine;
}

/* Lists as before, streams, and sometimes the web; at most one of lines. */
static void
choose_kinds(enum platform_kind kinds[static PLATFORM_HOSTS_MAX])
{
	unsigned lists = 1 + (unsigned)(sim_random() % 2);
	unsigned streams = 1 + (unsigned)(sim_random() % 3);
	unsigned first = (unsigned)(sim_random() % 3), n = 0;

	for (unsigned i = 0; i < lists; i++)
		kinds[n++] = sim_random() % 2 == 0 ? PLATFORM_ACCOUNT :
		    PLATFORM_JSON;
	for (unsigned i = 0; i < streams; i++)
		kinds[n++] = PLATFORM_EVENTS + (first + i) % 3;
	if (sim_random() % 2 == 0)
		kinds[n++] = PLATFORM_WEB;
	sim.hosts_n = n;
}

/* Files end soon in most worlds, by time and by size. */
static void
set_rollover(struct conf *c)
{
	static const unsigned seconds[] = { 3, 10, 10, 40, 1800 };
	struct why w = WHY_INIT;
	char set[64];

	snprintf(set, sizeof(set), "warc.rollover_s=%us",
	    seconds[sim_random() % ARRAY_LEN(seconds)]);
	sim_must(conf_flag(c, str_of(set), &w), &w);
	snprintf(set, sizeof(set), "warc.rollover_bytes=%s",
	    sim_random() % 2 == 0 ? "64KiB" : "1MiB");
	sim_must(conf_flag(c, str_of(set), &w), &w);
}

static void
make_hosts(void)
{
	for (unsigned h = 0; h < sim.hosts_n; h++) {
		struct host *x = &sim.hosts[h];
		snprintf(x->path, sizeof(x->path), ROOT "/h%u", h);
		for (unsigned r = 0; r < RUNS; r++)
			snprintf(x->runs[r].id, sizeof(x->runs[r].id),
			    "sim:%u.%u", h, r);
	}
}

/* The operator's key lies on both disks: its mode is asked of the real one. */
static void
put_key(const char *path)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	const char bytes[KEY_BYTES] = "a key that is the same each time";
	const char *dir = arena_copy(&a, str_cut(str_of(path), 0,
	    str_of(path).n - strlen("/key"))).p;

	sim_must(file_make_dir(dir, NULL), &WHY_INIT);
	sim_must(file_store(path, (struct str){ bytes, sizeof(bytes) }, NULL),
	    &WHY_INIT);
}

static bool
run_seed(uint64_t seed, struct conf *c, uint64_t *trace)
{
	enum platform_kind kinds[PLATFORM_HOSTS_MAX];

	memset(&sim, 0, sizeof(sim));
	sim_begin(seed);
	database_fake_use(true);
	shared_dir_use(&shared_dir_fake);
	put_key(conf_str(c, CONF_SECRETS_KEY_FILE).p);
	sim_must(file_make_dir(ROOT, NULL), &WHY_INIT);
	choose_kinds(kinds);
	set_rollover(c);
	make_hosts();
	platform_begin(seed, kinds, sim.hosts_n);
	const struct web_plan plan = { .seed = seed, .hosts = 8,
	    .delay_ms = CRAWL_DELAY_MS,
	    .pages = 20 + (unsigned)(sim_random() % 80) };
	web_begin(&plan);
	run_lives(c, (unsigned)(sim_random() % 6));
	bool fine = judge_end();
	*trace = sim_world.trace;
	sum.requests += platform_requests();
	sim_free();
	for (unsigned h = 0; h < sim.hosts_n; h++)
		for (unsigned r = 0; r < RUNS; r++)
			buf_free(&sim.hosts[h].runs[r].message);
	return fine;
}

static void
print_sum(uint64_t seeds)
{
	printf("conformance: harvests: %llu seeds, %llu begun, %llu pauses, "
	    "%llu resumed, %llu stops, %llu crashes, %llu failed logs, "
	    "%llu full disks, %llu requests, %llu streams with %llu items, "
	    "%llu files\n",
	    (unsigned long long)seeds, (unsigned long long)sum.begun,
	    (unsigned long long)sum.pauses, (unsigned long long)sum.resumes,
	    (unsigned long long)sum.stops, (unsigned long long)sum.kills,
	    (unsigned long long)sum.failures, (unsigned long long)sum.full,
	    (unsigned long long)sum.requests,
	    (unsigned long long)platform_streams(),
	    (unsigned long long)platform_given(),
	    (unsigned long long)sum.files);
}

int
main(int argc, char **argv)
{
	uint64_t seeds = sim_number(argc, argv, "--seeds", 10);
	uint64_t from = sim_number(argc, argv, "--from", 1);
	uint64_t failed = 0, trace, again;
	char dir[] = "/tmp/sim_harvests.XXXXXX", set[96], key[64];
	struct why w = WHY_INIT;
	struct conf c;

	conf_init(&c);
	log_open(getenv("SIM_LOG") == NULL ? LOG_OFF : LOG_INFO, 2, false);
	CHECK(mkdtemp(dir) != NULL);
	snprintf(key, sizeof(key), "%s/key", dir);
	put_key(key);
	snprintf(set, sizeof(set), "secrets.key_file=%s", key);
	sim_must(conf_flag(&c, str_of(set), &w), &w);
	snprintf(set, sizeof(set), "data.free_bytes_min=%d", FREE_BYTES_MIN);
	sim_must(conf_flag(&c, str_of(set), &w), &w);
	sim_must(conf_flag(&c, STR("fetch.resolve=*:*:93.184.216.34:80"), &w),
	    &w);
	for (uint64_t s = from; s < from + seeds; s++) {
		bool fine = run_seed(s, &c, &trace);
		again = trace;
		if (fine)
			fine = run_seed(s, &c, &again) && trace == again;
		if (!fine)
			printf("sim: seed %llu failed%s\n",
			    (unsigned long long)s, trace != again ?
			    ", or gives another trace" : "");
		failed += !fine;
	}
	sim_end();
	sim_must(tree_remove(dir, &w), &w);
	conf_free(&c);
	print_sum(seeds);
	printf("%llu passed, %llu failed\n",
	    (unsigned long long)(seeds - failed), (unsigned long long)failed);
	return failed != 0;
}
