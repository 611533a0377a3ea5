/*
 * documents -- runs of documents on invented platforms, from a seed: killed and
 * cut off at any moment, stopped by their owner, and held up by it for any
 * time, while the platforms refuse, are busy, and lose what they send.
 *
 *     sim_documents [--seeds N] [--from SEED]
 *
 * The owner keeps documents and cursor by one commit, which takes a while, and
 * has the next life go on from there.  No document may be lost or kept twice;
 * what was kept is not asked for again, nor anything while a batch waits; and a
 * run that was stopped ends in STOP_MS_MAX.  Each host is asked twice, the
 * second time for what has come since.  Some runs have an archive, which has
 * every answer that the run was given when a crash comes.  Each seed runs twice
 * and gives the same trace.
 */
#include "engine/control/control.h"
#include "engine/harvest/document_crawl.h"
#include "os/clock.h"
#include "os/database_fake.h"
#include "os/file_fake.h"
#include "os/log.h"
#include "tests/sim/platform.h"
#include "tests/sim/web.h"
#include "tests/sim/world.h"

#define STEPS_MAX 2000000u
#define DATA "/data"
#define RUNS 2u                         /* of a host */
#define COMMIT_MS_MAX 3000u
/* From a stop to the end. */
#define STOP_MS_MAX 5000
#define CALLS_MAX 16u                   /* between two commits */

/* The owner's knowledge of a host. */
struct owner {
	unsigned host, at;           /* at: the run whose turn it is */
	struct document_run *run;    /* NULL: none is open */
	struct buf order;
	/* Durable. */
	struct buf cursor;
	uint8_t seen[PLATFORM_LISTS][PLATFORM_ITEMS_MAX];
	bool begun;                  /* the run at hand was */
	bool resumes;                /* a batch of it was kept */
	bool archives;
	uint64_t answers;            /* of the run at hand, so far */
	uint64_t archived;           /* of these, at the start of this life */
	/* Of this life: what waits for the commit. */
	const struct document_batch *batch;
	struct document_batch copy;
	struct timer commit;
	struct str urls[CALLS_MAX];  /* that were answered since the last */
	size_t urls_n;
	struct arena arena;          /* of these */
	struct mono stop_at;         /* ns 0: it was not stopped */
};

static struct {
	struct documents *documents;
	struct owner owners[PLATFORM_HOSTS_MAX];
	unsigned owners_n;
	bool closed, failed, wrong;
} sim;

/* Over all seeds. */
static struct {
	uint64_t kills, batches, documents, stops, requests, archived;
} sum;

/* --- the commit ---------------------------------------------------------- */

static void
keep_document(struct owner *o, const struct document *d)
{
	struct str mark = STR("\"uri\":\"");
	struct str uri = str_from(d->json, str_find(d->json, mark) + mark.n);
	unsigned host, list, item;

	uri = str_cut(uri, 0, str_find_char(uri, '"'));
	CHECK(platform_item(uri, &host, &list, &item) && host == o->host);
	uint8_t *seen = &o->seen[list - 1][item - PLATFORM_FIRST];
	if (*seen > 0) {
		printf("sim: twice: %.*s\n", STR_FMT(uri));
		sim.wrong = true;
	}
	*seen = 1;
	sum.documents++;
}

/* What was answered before may not be asked for again. */
static void
keep_answers(struct owner *o)
{
	for (size_t i = 0; i < o->urls_n; i++)
		platform_durable(o->urls[i], 200, UINT64_MAX);
	o->urls_n = 0;
	arena_reset(&o->arena);
}

static void
commit(struct timer *t)
{
	struct owner *o = CONTAINER(t, struct owner, commit);

	for (size_t i = 0; i < o->batch->n; i++)
		keep_document(o, &o->batch->list[i]);
	buf_clear(&o->cursor);
	buf_put_str(&o->cursor, o->batch->cursor);
	o->resumes = true;
	keep_answers(o);
	sim_trace(o->cursor.p, o->cursor.n);
	sim_trace(&sim_world.mono, sizeof(sim_world.mono));
	o->batch = NULL;
	sum.batches++;
	platform_allow(o->host);
	document_run_taken(o->run);
}

static void
on_batch(void *arg, const struct document_batch *b)
{
	struct owner *o = arg;

	CHECK(o->batch == NULL && o->stop_at.ns == 0);
	o->copy = *b;
	o->batch = &o->copy;
	platform_close(o->host);
	o->commit.fire = commit;
	loop_timer_set(sim_world.home, &o->commit, mono_add_ms(clock_mono(),
	    (int64_t)(sim_random() % COMMIT_MS_MAX)));
}

static void
on_called(void *arg, const struct document_call *c)
{
	struct owner *o = arg;

	o->answers += c->status != 0;
	if (c->status != 200)
		return;
	CHECK(o->urls_n < CALLS_MAX);
	o->urls[o->urls_n++] = arena_copy(&o->arena, c->url);
}

/* --- runs ---------------------------------------------------------------- */

static void
forget_batch(struct owner *o)
{
	loop_timer_stop(sim_world.home, &o->commit);
	o->batch = NULL;
	o->urls_n = 0;
	arena_reset(&o->arena);
	platform_allow(o->host);
}

static void
on_ended(void *arg, const struct document_end *e)
{
	struct owner *o = arg;

	sim_trace(&e->kind, sizeof(e->kind));
	if (e->kind == DOCUMENTS_FAILED) {
		printf("sim: host %u has failed: %.*s\n", o->host,
		    STR_FMT(e->text));
		sim.wrong = true;
	}
	if (o->stop_at.ns > 0 && mono_ns_between(o->stop_at, clock_mono()) >
	    STOP_MS_MAX * NS_PER_MS) {
		printf("sim: host %u was stopped, and went on\n", o->host);
		sim.wrong = true;
	}
	CHECK(e->kind != DOCUMENTS_STOPPED || o->stop_at.ns > 0);
	/* No operator ends a crawl here, so only a failure interrupts. */
	if (e->kind == DOCUMENTS_INTERRUPTED && !sim.failed) {
		printf("sim: host %u was interrupted\n", o->host);
		sim.wrong = true;
	}
	if (e->kind == DOCUMENTS_DONE || e->kind == DOCUMENTS_FAILED) {
		o->at++;
		o->begun = o->resumes = false;
		o->answers = 0;
	}
	forget_batch(o);
	document_run_free(&o->run);
}

#define ARCHIVE_KEY DOCUMENT_ARCHIVE_PREFIX "%u:%u"

static void
open_run(struct owner *o)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct why w = WHY_INIT;
	struct str key = arena_printf(&a, ARCHIVE_KEY, o->host, o->at);
	const struct document_archive archive = { .key = key, .name = key };
	const char *code;

	if (!o->begun) {
		platform_grow(o->host);
		buf_clear(&o->order);
		platform_message(o->host, &o->order);
	}
	const struct document_run_options options = {
	    .order = buf_str(&o->order), .cursor = buf_str(&o->cursor),
	    .archive = o->archives ? &archive : NULL,
	    .resumes = o->resumes, .batch = on_batch, .called = on_called,
	    .ended = on_ended, .arg = o };
	o->begun = true;
	o->stop_at.ns = 0;
	sim_must(document_run_open(sim.documents, &options, &o->run, &code,
	    &w), &w);
}

/* Somebody does something about a run, or nothing. */
static void
act(bool calm)
{
	struct owner *o = &sim.owners[sim_random() % sim.owners_n];

	if (o->run == NULL && o->at < RUNS) {
		open_run(o);
	} else if (o->run != NULL && !calm && o->stop_at.ns == 0 &&
	    sim_random() % 8 == 0) {
		sum.stops++;
		o->stop_at = clock_mono();
		forget_batch(o);
		document_run_stop(o->run);
	}
}

/* --- a life -------------------------------------------------------------- */

static void
health(void *arg, enum engine_health h, const char *text)
{
	(void)arg, (void)text;
	sim.failed |= h == ENGINE_FAILED;
}

static void
closed(void *arg)
{
	(void)arg;
	sim.closed = true;
}

static void
free_runs(void)
{
	for (unsigned i = 0; i < sim.owners_n; i++)
		document_run_free(&sim.owners[i].run);
	documents_free(&sim.documents);
}

/* Only archives have captures: of the run at hand, or of one before. */
static void
count_archived(const struct crawl_view *v)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct crawl_spec spec;
	struct why w = WHY_INIT;

	sim_must(engine_spec(sim_world.engine, v->id, &a, &spec, &w), &w);
	CHECK(v->counts.items == 0 || str_starts(spec.name,
	    STR(DOCUMENT_ARCHIVE_PREFIX)));
	for (unsigned i = 0; i < sim.owners_n; i++) {
		struct owner *o = &sim.owners[i];
		if (str_eq(spec.name, arena_printf(&a, ARCHIVE_KEY, o->host,
		    o->at)))
			o->archived += v->counts.items;
	}
	sum.archived += v->counts.items;
}

static void
judge_archives(void)
{
	for (unsigned i = 0; i < sim.owners_n; i++) {
		struct owner *o = &sim.owners[i];
		if (o->archives && o->archived < o->answers) {
			printf("sim: host %u: %llu answers, %llu archived\n",
			    o->host, (unsigned long long)o->answers,
			    (unsigned long long)o->archived);
			sim.wrong = true;
		}
		/* Answers may be archived that no run had yet. */
		o->answers = MIN(o->answers, o->archived);
		o->archived = 0;
	}
}

/* The crawls of an earlier life go on, as a daemon's do. */
static void
continue_crawls(void)
{
	struct crawl_request q = { .spec.operator_seeds = false };
	struct why w = WHY_INIT;
	struct crawl_view v;
	size_t at = 0;

	while (engine_next_view(sim_world.engine, &at, &v)) {
		CHECK(v.kind == CRAWL_TASKS);
		count_archived(&v);
		if (!crawl_state_is_ended(v.state))
			sim_must(engine_continue(sim_world.engine, v.id, &q,
			    &w), &w);
	}
	judge_archives();
}

static void
begin_life(const struct conf *c)
{
	struct why w = WHY_INIT;

	sim.failed = false;
	sim_world.home = loop_new("sim");
	sim_world.freed = free_runs;
	struct engine_options o = {
		.conf = c, .home = sim_world.home, .data_dir = DATA,
		.loops = 2, .small = true, .doors = true,
		.health = health, .no_threads = true,
		.segment_bytes = (size_t)4096 << sim_random() % 8,
		.checkpoint_part = 1 + sim_random() % 20,
		.transport = platform_transport,
	};
	sim_must(engine_open(&o, &sim_world.engine, &w), &w);
	sim.documents = documents_new(sim_world.engine, sim_world.home);
	continue_crawls();
	engine_start(sim_world.engine);
}

static bool
all_is_done(void)
{
	for (unsigned i = 0; i < sim.owners_n; i++)
		if (sim.owners[i].at < RUNS || sim.owners[i].run != NULL)
			return false;
	return true;
}

static void
run_schedule(uint64_t steps, bool calm)
{
	for (uint64_t i = 0; i < steps && !sim.failed && !all_is_done();
	    i++) {
		if (sim_random() % 20 == 0)
			act(calm);
		sim_step();
	}
}

static void
crash(void)
{
	for (unsigned i = 0; i < sim.owners_n; i++)
		forget_batch(&sim.owners[i]);
	sim_crash(sim_random() % 2 == 0);
	platform_kill();
	sum.kills++;
}

static void
close_engine(void)
{
	sim.closed = false;
	engine_close(sim_world.engine, closed, NULL);
	for (uint64_t i = 0; i < STEPS_MAX && !sim.closed; i++)
		sim_step();
	CHECK(sim.closed);
}

static void
run_lives(const struct conf *c, unsigned crashes)
{
	for (unsigned life = 0; life < crashes; life++) {
		begin_life(c);
		run_schedule(50 + sim_random() % 1500, false);
		crash();
	}
	begin_life(c);
	run_schedule(STEPS_MAX, true);
	CHECK(!sim.failed && all_is_done());
	close_engine();
}

/* --- seeds --------------------------------------------------------------- */

static void
judge_owner(const struct owner *o)
{
	unsigned items = platform_items(o->host);

	for (unsigned list = 0; list < PLATFORM_LISTS; list++)
		for (unsigned i = 0; i < PLATFORM_ITEMS_MAX; i++) {
			if (o->seen[list][i] == (i < items))
				continue;
			printf("sim: host %u, list %u: item %u is %s\n",
			    o->host, list + 1, i + PLATFORM_FIRST, i < items ?
			    "lost" : "nobody's");
			sim.wrong = true;
			return;
		}
}

static bool
run_seed(uint64_t seed, const struct conf *c, uint64_t *trace)
{
	enum platform_kind kinds[PLATFORM_HOSTS_MAX];

	memset(&sim, 0, sizeof(sim));
	sim_begin(seed);
	database_fake_use(true);
	sim.owners_n = 1 + (unsigned)(sim_random() % 3);
	for (unsigned i = 0; i < sim.owners_n; i++) {
		kinds[i] = sim_random() % 2 == 0 ? PLATFORM_ACCOUNT :
		    PLATFORM_JSON;
		sim.owners[i].host = i;
		sim.owners[i].archives = sim_random() % 2 == 0;
	}
	platform_begin(seed, kinds, sim.owners_n);
	const struct web_plan plan = { .seed = seed, .hosts = 1,
	    .pages = 1 };
	web_begin(&plan);
	run_lives(c, (unsigned)(sim_random() % 8));
	for (unsigned i = 0; i < sim.owners_n; i++)
		judge_owner(&sim.owners[i]);
	if (platform_breaches() > 0)
		printf("sim: %llu requests that should not be\n",
		    (unsigned long long)platform_breaches());
	*trace = sim_world.trace;
	sum.requests += platform_requests();
	bool fine = !sim.wrong && platform_breaches() == 0;
	sim_free();
	for (unsigned i = 0; i < sim.owners_n; i++) {
		buf_free(&sim.owners[i].order);
		buf_free(&sim.owners[i].cursor);
		arena_free(&sim.owners[i].arena);
	}
	return fine;
}

int
main(int argc, char **argv)
{
	uint64_t seeds = sim_number(argc, argv, "--seeds", 10);
	uint64_t from = sim_number(argc, argv, "--from", 1);
	uint64_t failed = 0, trace, again;
	struct why w = WHY_INIT;
	struct conf c;

	conf_init(&c);
	log_open(getenv("SIM_LOG") == NULL ? LOG_OFF : LOG_INFO, 2, false);
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
	conf_free(&c);
	printf("conformance: documents: %llu seeds, %llu batches, "
	    "%llu documents, %llu stops, %llu crashes, %llu requests, "
	    "%llu archived\n",
	    (unsigned long long)seeds, (unsigned long long)sum.batches,
	    (unsigned long long)sum.documents,
	    (unsigned long long)sum.stops, (unsigned long long)sum.kills,
	    (unsigned long long)sum.requests,
	    (unsigned long long)sum.archived);
	printf("%llu passed, %llu failed\n",
	    (unsigned long long)(seeds - failed), (unsigned long long)failed);
	return failed != 0;
}
