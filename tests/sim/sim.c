/*
 * sim -- the whole engine on one thread, under a virtual clock, with an
 * invented web and an invented disk, from a seed.
 *
 *     sim [--seeds N] [--from SEED] [--pages N] [--twice]
 *
 * Each seed crawls the same web through kills and power cuts at random
 * moments, then compares what the ledger and the WARCs hold with what the web's
 * rules say.  The same seed gives the same trace; --twice shows it.
 */
#include "base/hash.h"
#include "base/map.h"
#include "base/metric.h"
#include "engine/archive/capture.h"
#include "engine/control/control.h"
#include "engine/frontier/frontier.h"
#include "engine/frontier/frontier_check_testing.h"
#include "engine/frontier/journal.h"
#include "os/clock.h"
#include "os/file_fake.h"
#include "os/log.h"
#include "tests/sim/web.h"
#include "tests/sim/world.h"

#define SIM_STEPS_MAX 20000000u

static struct {
	struct crawl_view view;
	bool closed, ended, failed, full;
	bool unarchived;             /* the crawl writes no WARC files */
	unsigned kills, full_disks, failures;
	uint64_t checkpoints, moved;
	/* What people change meanwhile; one verb at a time. */
	uint32_t crawl;
	bool asking;
	unsigned asks;               /* in this life */
	uint64_t revised, tried_again;
	struct exclude_request exclude;
	struct retry_request retry;
} sim;

/* --- the engine's caller ------------------------------------------------ */

static void
trace_event(void *arg, const struct url_event *e)
{
	(void)arg;
	sim_trace(e->url.p, e->url.n);
	sim_trace(&e->seq, sizeof(e->seq));
	sim_trace(&sim_world.mono, sizeof(sim_world.mono));
}

static void
viewed(void *arg, const struct crawl_view *v)
{
	(void)arg;
	sim.view = *v;
	sim.ended = v->state == CRAWL_COMPLETE;
}

static void
health(void *arg, enum engine_health h, const char *text)
{
	(void)arg, (void)text;
	sim.failed |= h == ENGINE_FAILED;
	sim.full |= h == ENGINE_DISK_FULL;
}

static void
closed(void *arg)
{
	(void)arg;
	sim.closed = true;
}

static void
open_engine(const struct conf *c)
{
	struct why w = WHY_INIT;

	sim_world.home = loop_new("sim");
	struct engine_options o = {
		.conf = c, .home = sim_world.home, .data_dir = "/data",
		.loops = 2,
		.small = true, .every_event = true,
		.event = trace_event, .view = viewed, .health = health,
		.no_threads = true,
		/* Many checkpoints, each over many groups. */
		.segment_bytes = (size_t)4096 << sim_random() % 8,
		.checkpoint_part = 1 + sim_random() % 20,
		.transport = web_transport,
	};
	sim_must(engine_open(&o, &sim_world.engine, &w), &w);
	frontier_check(engine_frontier(sim_world.engine));
}

static void
begin_crawl(const struct web_plan *plan)
{
	struct policy *p = policy_new();
	struct why w = WHY_INIT;
	char url[80];
	uint32_t id = engine_find(sim_world.engine, STR(""));
	size_t at = 0;

	/* Its end was durable when the crash came, and nobody had heard. */
	if (id == UINT32_MAX &&
	    engine_next_view(sim_world.engine, &at, &sim.view)) {
		CHECK(sim.view.state == CRAWL_COMPLETE);
		sim.ended = true;
		engine_start(sim_world.engine);
		policy_free(&p);
		return;
	}
	policy_set_scope(p, SCOPE_ANY);
	sim_must(policy_set(p, STR("limits.max_depth"), STR("none"), &w), &w);
	p->rate_limit = (double)plan->delay_ms / 1000;
	p->downloads = 64;
	web_url(0, url, sizeof(url));
	struct str seed = str_of(url);
	struct crawl_request r = { .spec = { .seeds = &seed, .seeds_n = 1,
	    .unarchived = sim.unarchived, .warc_dir = sim.unarchived ?
	    STR_NONE : STR("/warc") }, .policy = p };
	if (id == UINT32_MAX)
		sim_must(engine_begin(sim_world.engine, &r, &id, &w), &w);
	else
		sim_must(engine_continue(sim_world.engine, id, &r, &w), &w);
	sim.crawl = id;
	engine_start(sim_world.engine);
	policy_free(&p);
}

/* --- people, who change what makes no difference in the end --------------- */

static bool
may_be(enum err e)
{
	return e == OK || e == ERR_STATE || e == ERR_CLOSED ||
	    e == ERR_BROKEN || e == ERR_DISK_FULL;
}

static void
excluded(struct exclude_request *a)
{
	CHECK(may_be(a->why.err) && a->removed == 0);
	sim.revised += a->why.err == OK;
	sim.asking = false;
	arena_free(&a->arena);
}

static void
retried(struct retry_request *a)
{
	CHECK(may_be(a->why.err));
	sim.revised += a->why.err == OK;
	sim.tried_again += a->requeued;
	sim.asking = false;
}

/* A rule that matches no page; another try for what fails again. */
static void
changes_something(void)
{
	static const char *const reasons[] = { "dns", "connect", "timeout",
	    "reset", "protocol", "redirects", "robots" };

	if (sim.asking || sim.asks == 4)
		return;
	sim.asking = true;
	sim.asks++;
	if (sim_random() % 2 == 0) {
		sim.exclude = (struct exclude_request){ .crawl = sim.crawl,
		    .pattern = STR("no-such-page"), .done = excluded,
		    .preview = sim_random() % 4 == 0 };
		crawl_exclude(sim_world.engine, &sim.exclude);
	} else {
		sim.retry = (struct retry_request){ .crawl = sim.crawl,
		    .reason = str_of(reasons[sim_random() %
		    ARRAY_LEN(reasons)]), .done = retried };
		crawl_retry(sim_world.engine, &sim.retry);
	}
}

static void
add_stats(void)
{
	struct ledger_stats s;

	ledger_stats(frontier_ledger(engine_frontier(sim_world.engine)), &s);
	sim.checkpoints += s.checkpoints;
	sim.moved += s.warcs_moved;
}

static void
crash(bool power)
{
	add_stats();
	sim_crash(power);
	web_kill();
	sim.kills++;
}

/* Choose a fault for the next process, besides its kill. */
static void
plan_fault(void)
{
	uint64_t n = 1 + sim_random() % 400;

	switch (sim_random() % 4) {
	case 0:
		file_fault(FILE_CALL_SYNC, n, 1, ERR_IO);
		break;
	case 1:
		/* Full for some seconds: the ledger tries every half. */
		file_fault(FILE_CALL_WRITE, n, 1 + sim_random() % 20,
		    ERR_DISK_FULL);
		break;
	default:
		break;
	}
}

static void
take_queues(const struct metric *m, void *arg)
{
	if (strcmp(m->name, "argiope_queues_known") == 0)
		*(int64_t *)arg = metric_value(m, 0);
}

static void
take_lent(const struct metric *m, void *arg)
{
	if (strcmp(m->name, "argiope_pages_lent_total") == 0)
		*(int64_t *)arg = metric_value(m, 0);
}

/* Pages that one loop left to the other, of all seeds so far. */
static uint64_t
pages_lent(void)
{
	int64_t n = 0;

	metric_each(take_lent, &n);
	return (uint64_t)n;
}

static int64_t
queues_known(void)
{
	int64_t n = -1;

	metric_each(take_queues, &n);
	return n;
}

/* What has ended leaves the memory; true: and a crash comes meanwhile. */
static bool
crashes_behind_the_end(void)
{
	if (sim_random() % 3 == 0) {
		for (uint64_t n = sim_random() % 40; n > 0; n--)
			loop_step(sim_world.home);
		crash(sim_random() % 2 == 0);
		return true;
	}
	for (unsigned i = 0; i < 10000 && !sim.failed && queues_known() > 0;
	    i++)
		sim_step();
	CHECK(sim.failed || queues_known() == 0);
	return false;
}

/* Run to the end, with `crashes` crashes and a full disk now and then. */
static void
crawl(const struct web_plan *plan, const struct conf *c, unsigned crashes)
{
	for (unsigned life = 0;; life++) {
		uint64_t until = life < crashes ? 200 + sim_random() % 20000 :
		    SIM_STEPS_MAX;
		sim.ended = sim.closed = sim.failed = sim.full = false;
		sim.asking = false;
		sim.asks = 0;
		open_engine(c);
		begin_crawl(plan);
		if (life < crashes)
			plan_fault();
		for (uint64_t i = 0; i < until && !sim.ended && !sim.failed;
		    i++) {
			if (sim_random() % 500 == 0)
				changes_something();
			sim_step();
		}
		sim.full_disks += sim.full;
		sim.failures += sim.failed;
		if (sim.ended && crashes_behind_the_end())
			continue;
		if (sim.ended)
			break;
		CHECK(life < crashes);
		crash(sim_random() % 2 == 0);
	}
	frontier_check(engine_frontier(sim_world.engine));
	engine_close(sim_world.engine, closed, NULL);
	for (uint64_t i = 0; i < SIM_STEPS_MAX && !sim.closed; i++)
		sim_step();
	CHECK(sim.closed);
	add_stats();
}

/* --- the oracle --------------------------------------------------------- */

#define SAME(what, got, want)                                               \
	do {                                                                  \
		if ((uint64_t)(got) != (uint64_t)(want)) {                    \
			printf("sim: %s: %llu, expected %llu\n", what,        \
			    (unsigned long long)(got),                        \
			    (unsigned long long)(want));                      \
			return false;                                         \
		}                                                             \
	} while (0)

/* The WARC record that a journal entry points to is that capture's. */
static bool
check_record(struct index *x, struct capture_reader *r,
    const struct journal_entry *e)
{
	struct arena a = ARENA_INIT;
	struct why w = WHY_INIT;
	struct str path;
	struct capture c;
	int fd = -1;

	enum err err = ledger_warc_path(x, e->file, &a, &path, &w);
	if (err == OK)
		err = file_open(path.p, FILE_READ, &fd, &w);
	if (err == OK)
		err = capture_read(r, fd, e->offset, e->clen, e->ulen, &c, &w);
	uint64_t seq = e->seq < JOURNAL_FAILED ? e->seq : 0;
	bool fine = err == OK && c.seq == seq && c.has_facts &&
	    str_eq(c.facts.requested_url, e->url) &&
	    c.http.status == e->status;
	if (!fine)
		printf("sim: capture %llu of %.*s: %s\n",
		    (unsigned long long)e->seq, STR_FMT(e->url), w.text);
	file_close(&fd);
	arena_free(&a);
	return fine;
}

/* A journal entry without an archive points nowhere. */
static bool
has_no_place(const struct journal_entry *e)
{
	return e->file == 0 && e->offset == 0 && e->clen == 0 &&
	    e->seq < JOURNAL_FAILED && !(e->flags & JOURNAL_SOURCED);
}

/* No WARC file is on the disk, under way or finished. */
static bool
check_no_warcs(void)
{
	static const char *const places[] = { "/warc", "/data/archive" };
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str *names;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (file_list(places[i], &a, &names, &n, NULL) != ERR_ABSENT)
			SAME("files of an archive", n, 0);
	SAME("bytes in WARC files", sim.view.counts.warc_bytes, 0);
	return true;
}

static bool
check_journal(const struct web_plan *plan, const struct web_expected *want)
{
	struct index *x = ledger_index(frontier_ledger(engine_frontier(
	    sim_world.engine)));
	struct index_iter *i = index_iter_new(x, INDEX_JOURNAL);
	struct capture_reader *r = capture_reader_new(1 << 20);
	unsigned char *seen = mem_array(plan->pages, 1);
	struct str key, value;
	uint64_t seq = 0;
	bool fine = true;

	for (index_iter_seek(i, STR("")); fine &&
	    index_iter_valid(i, &key, &value); index_iter_next(i)) {
		struct journal_entry e;
		unsigned page = 0;
		/* Behind the captures: what URLs that failed have answered. */
		fine = journal_parse(key, value, &e) &&
		    (e.seq >= JOURNAL_FAILED || e.seq == ++seq) &&
		    web_page_of(e.url, &page) && want->known[page] &&
		    !seen[page]++ && (sim.unarchived ? has_no_place(&e) :
		    check_record(x, r, &e));
		if (!fine)
			printf("sim: journal entry %llu is wrong\n",
			    (unsigned long long)seq);
	}
	index_iter_free(&i);
	capture_reader_free(&r);
	mem_free(&seen);
	if (fine)
		SAME("captures in the journal", seq, want->items);
	return fine;
}

static bool
check_all(const struct web_plan *plan)
{
	struct web_expected want = { 0 };
	const struct crawl_counts *n = &sim.view.counts;

	web_expect(&want);
	bool fine = check_journal(plan, &want) &&
	    (!sim.unarchived || check_no_warcs());
	mem_free(&want.known);
	SAME("items", n->items, want.items);
	SAME("exceptions", crawl_exceptions(n), want.exceptions);
	SAME("skips by robots", n->skips[SKIP_ROBOTS], want.forbidden);
	SAME("politeness breaches", web_breaches(), 0);
	return fine;
}

/* --- seeds -------------------------------------------------------------- */

static bool
run_seed(uint64_t seed, unsigned pages, struct conf *c, uint64_t *hash)
{
	struct why w = WHY_INIT;

	memset(&sim, 0, sizeof(sim));
	sim_begin(seed);
	/* Every fourth crawl without an archive. */
	sim.unarchived = seed % 4 == 0;
	struct web_plan plan = {
		.seed = seed, .pages = pages,
		.hosts = 1 + (unsigned)(sim_random() %
		    (sim_random() % 4 == 0 ? 400 : 20)),
		.delay_ms = sim_random() % 3 == 0 ? 0 :
		    (int64_t)(sim_random() % 2000),
	};
	/* Every third crawl with a table that has no room for its URLs. */
	sim_must(conf_flag(c, seed % 3 == 0 ? STR("frontier.known_mem=64KiB") :
	    STR("frontier.known_mem=1GiB"), &w), &w);
	/* Every fifth with few hosts at a time. */
	sim_must(conf_flag(c, seed % 5 == 0 ?
	    STR("frontier.hosts_active_max=3") :
	    STR("frontier.hosts_active_max=20000"), &w), &w);
	/* A window's edge is a CHECK in the fetcher. */
	sim_must(conf_flag(c, seed % 7 == 0 ? STR("frontier.window=1") :
	    seed % 7 == 1 ? STR("frontier.window=3") :
	    STR("frontier.window=64"), &w), &w);
	web_begin(&plan);
	crawl(&plan, c, (unsigned)(sim_random() % 4));
	bool fine = check_all(&plan);
	*hash = sim_world.trace;
	if (!fine)
		printf("sim: seed %llu failed\n", (unsigned long long)seed);
	sim_free();
	return fine;
}

int
main(int argc, char **argv)
{
	struct conf c;
	struct why w = WHY_INIT;
	uint64_t seeds = sim_number(argc, argv, "--seeds", 200);
	uint64_t from = sim_number(argc, argv, "--from", 1);
	unsigned pages = (unsigned)sim_number(argc, argv, "--pages", 1000);
	uint64_t failed = 0, kills = 0, requests = 0, hash, again;
	uint64_t full_disks = 0, failures = 0, checkpoints = 0, moved = 0;
	uint64_t revised = 0, tried_again = 0;

	conf_init(&c);
	log_open(getenv("SIM_LOG") == NULL ? LOG_OFF : LOG_INFO, 2, false);
	sim_must(conf_flag(&c, STR("fetch.resolve=*:*:93.184.216.34:80"), &w),
	    &w);
	for (uint64_t s = from; s < from + seeds; s++) {
		bool fine = run_seed(s, pages, &c, &hash);
		/* Every tenth seed again: the trace must be the same. */
		if (fine && s % 10 == 0) {
			fine = run_seed(s, pages, &c, &again) && hash == again;
			if (hash != again)
				printf("sim: seed %llu: two runs, two traces\n",
				    (unsigned long long)s);
		}
		failed += !fine;
		kills += sim.kills;
		full_disks += sim.full_disks;
		failures += sim.failures;
		checkpoints += sim.checkpoints;
		moved += sim.moved;
		revised += sim.revised;
		tried_again += sim.tried_again;
		requests += web_requests();
	}
	conf_free(&c);
	printf("conformance: simulator: %llu seeds of %u pages, %llu crashes, "
	    "%llu failed logs, %llu WARCs given up, %llu full disks, %llu "
	    "checkpoints, %llu verbs that revise, %llu URLs tried again, %llu "
	    "pages lent, %llu requests\n", (unsigned long long)seeds, pages,
	    (unsigned long long)kills, (unsigned long long)failures,
	    (unsigned long long)moved, (unsigned long long)full_disks,
	    (unsigned long long)checkpoints, (unsigned long long)revised,
	    (unsigned long long)tried_again,
	    (unsigned long long)pages_lent(), (unsigned long long)requests);
	if (seeds >= 10 && pages_lent() == 0) {
		printf("sim: no page was lent\n");
		failed++;
	}
	printf("%llu passed, %llu failed\n",
	    (unsigned long long)(seeds - failed), (unsigned long long)failed);
	return failed != 0;
}
