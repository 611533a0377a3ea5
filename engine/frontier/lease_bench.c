/*
 * lease_bench -- what lease queues cost: URLs per second and CPU per
 * URL by thread, bytes per queue and URL, GetURLs and GetStats under load, a
 * start after a good end and after kill -9.
 *
 *     lease_bench [-krs] [-q QUEUES] [-u URLS] DIR   default 20000, 1000000
 *
 * -r: relaxed durability.  DIR, on the disk that is meant, is made and emptied;
 * with -k it stays filled, and -s does no more than start what a -k left.
 * Verbs come from a loop of their own, as from a door, without a protocol.
 */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "engine/frontier/lease_crawl.h"
#include "os/clock.h"
#include "os/file.h"

#define BATCH_MAX 256u
#define WINDOW_ITEMS 1024u
#define WINDOW_BATCHES 16u
#define CALLS_MAX 400000u
#define WORKERS_MAX 16u
#define TEXT_MAX 96u
#define GETS_S 4
#define STATS_N 20000u

static struct {
	const char *dir;
	uint64_t queues, urls;
	bool relaxed, keep, start;
	struct loop *door, *ledger;
	struct pool *pool;
	struct frontier *frontier;
} b = { .queues = 20000, .urls = 1000000 };

/* --- figures -------------------------------------------------------------- */

static uint64_t
memory_kb(void)
{
	char line[128];
	unsigned long kb = 0;
	FILE *f = fopen("/proc/self/status", "r");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "VmRSS: %lu", &kb) == 1)
			break;
	if (f != NULL)
		fclose(f);
	return kb;
}

struct cpu {
	char name[16];
	double s;
};
#define CPUS_MAX 64

static bool
read_line(const char *thread, const char *what, char *out, int size)
{
	char path[300];

	snprintf(path, sizeof(path), "/proc/self/task/%s/%s", thread, what);
	FILE *f = fopen(path, "r");
	bool read = f != NULL && fgets(out, size, f) != NULL;
	if (f != NULL)
		fclose(f);
	return read;
}

/* Of each thread's name; threads of one name together. */
static size_t
cpu_of_threads(struct cpu *out)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	size_t n = 0;

	while (d != NULL && (e = readdir(d)) != NULL) {
		char name[32], line[128];
		unsigned long long ns;
		if (!read_line(e->d_name, "comm", name, sizeof(name)) ||
		    !read_line(e->d_name, "schedstat", line, sizeof(line)) ||
		    sscanf(line, "%llu", &ns) != 1)
			continue;
		name[strcspn(name, "\n")] = '\0';
		size_t i = 0;
		while (i < n && strcmp(out[i].name, name) != 0)
			i++;
		if (i == n && n < CPUS_MAX)
			snprintf(out[n++].name, sizeof(out[0].name), "%.15s",
			    name);
		out[i].s += (double)ns / 1e9;
	}
	if (d != NULL)
		closedir(d);
	return n;
}

static void
print_cpu(const struct cpu *before, size_t n, const char *what, uint64_t urls)
{
	struct cpu now[CPUS_MAX] = { 0 };
	size_t m = cpu_of_threads(now);
	double sum = 0;

	printf("   CPU us per %s:", what);
	urls = MAX(urls, 1);
	for (size_t i = 0; i < m; i++) {
		double s = now[i].s;
		for (size_t k = 0; k < n; k++)
			if (strcmp(before[k].name, now[i].name) == 0)
				s -= before[k].s;
		if (s < 0.005)
			continue;
		printf(" %s %.2f", now[i].name, s * 1e6 / (double)urls);
		if (strcmp(now[i].name, "lease_bench") != 0)
			sum += s;
	}
	printf("; without the asker %.2f\n", sum * 1e6 / (double)urls);
}

static int
by_value(const void *x, const void *y)
{
	int64_t p = *(const int64_t *)x, q = *(const int64_t *)y;

	return (p > q) - (p < q);
}

static void
print_times(const char *what, int64_t *ns, size_t n, double s)
{
	if (n == 0)
		return;
	qsort(ns, n, sizeof(*ns), by_value);
	printf("%-28s %8.0f/s  p50 %.3f  p99 %.3f  worst %.3f ms\n", what,
	    (double)n / s, (double)ns[n / 2] / 1e6,
	    (double)ns[n - 1 - n / 100] / 1e6, (double)ns[n - 1] / 1e6);
	fflush(stdout);
}

static double
seconds_since(int64_t ns)
{
	return (double)(clock_mono().ns - ns) / 1e9;
}

/* --- the frontier's life -------------------------------------------------- */

static void
fatal(const char *text)
{
	fprintf(stderr, "lease_bench: %s\n", text);
	exit(1);
}

static void
open_it(const char *what)
{
	struct frontier_options o = {
		.data_dir = b.dir, .token = "abcdefgh",
		.known_bytes_max = (size_t)1 << 40,
		.rollover_bytes = 1 << 30, .rollover_s = 3600,
		.lease_listings_max = 256, .lease_counts_max = 8,
		.lease_relaxed = b.relaxed,
		.ledger = {
			.group_bytes_max = 8 << 20, .group_records_max = 2000,
			.group_promises_few = 16, .group_ms_max = 2,
			.segment_bytes = 32 << 20, .threads = true,
			.index = { .write_buffer_bytes = 32 << 20,
			    .write_buffers = 4,
			    .block_cache_bytes = 32 << 20 },
		},
	};
	struct why w = WHY_INIT;
	int64_t began = clock_mono().ns, cpu = clock_thread_cpu_ns();

	b.ledger = loop_new("ledger");
	o.ledger.pool = b.pool = pool_new(1);
	if (frontier_open(b.ledger, &o, &b.frontier, &w) != OK)
		fatal(w.text);
	printf("start, %-20s %.3f s, of them CPU %.3f\n", what,
	    seconds_since(began),
	    (double)(clock_thread_cpu_ns() - cpu) / 1e9);
	fflush(stdout);
	loop_start(b.ledger);
}

static void
closed(void *arg)
{
	loop_stop(arg);
}

static void
close_frontier(struct loop_call *c)
{
	(void)c;
	frontier_close(b.frontier, closed, b.ledger);
}

static void
nothing(struct loop_call *c)
{
	(void)c;
}

static void
close_it(void)
{
	struct loop_call c = { .home = b.ledger, .run = close_frontier,
	    .done = nothing };

	loop_ask(b.ledger, &c);
	loop_join(b.ledger);
	frontier_free(&b.frontier);
	pool_free(&b.pool);
	loop_free(&b.ledger);
}

static int
remove_one(const char *path, const struct stat *s, int kind, struct FTW *f)
{
	(void)s;
	(void)kind;
	(void)f;
	return remove(path);
}

static void
empty_dir(void)
{
	nftw(b.dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	if (file_make_dir(b.dir, NULL) != OK)
		fatal("cannot make the directory");
}

/* --- putting -------------------------------------------------------------- */

struct putting {
	uint64_t next, end, from;
	unsigned batch, out;
	struct lease_stream stream;
};

struct parcel {
	struct lease_put put;
	struct putting *of;
	int64_t sent;
	struct lease_item items[BATCH_MAX];
	char keys[BATCH_MAX][32], urls[BATCH_MAX][TEXT_MAX];
};

/* A queue's URLs do not come in their order. */
static void
nth(uint64_t i, char *key, char *url)
{
	uint64_t q = i % b.queues;

	snprintf(key, 32, "www.h%07llu.org", (unsigned long long)q);
	snprintf(url, TEXT_MAX, "https://www.h%07llu.org/some/path/%08x.html",
	    (unsigned long long)q, (unsigned)hash_u64(i));
}

static bool
send_next(struct parcel *p)
{
	struct putting *t = p->of;
	size_t n = 0;

	for (; n < t->batch && t->next < t->end; n++, t->next++) {
		nth(t->next, p->keys[n], p->urls[n]);
		p->items[n] = (struct lease_item){
		    .key = str_of(p->keys[n]), .url = str_of(p->urls[n]),
		    .metadata = STR("\x0a\x0a\x05\x64\x65\x70\x74\x68") };
	}
	if (n == 0)
		return false;
	p->put.items = p->items;
	p->put.items_n = n;
	p->sent = clock_mono().ns;
	lease_put(b.frontier, &p->put);
	return true;
}

static int64_t *times;
static size_t times_n;

static void
put_done(struct lease_call *c)
{
	struct parcel *p = CONTAINER(c, struct parcel, put.call);

	if (times_n < CALLS_MAX)
		times[times_n++] = clock_mono().ns - p->sent;
	for (size_t i = 0; i < p->put.items_n; i++)
		if (p->items[i].status == LEASE_FAIL)
			fatal("a put failed");
	if (!send_next(p) && --p->of->out == 0)
		loop_stop(b.door);
}

static void
put_range(const char *what, uint64_t from, uint64_t end, unsigned batch,
    unsigned window)
{
	struct putting t = { .next = from, .from = from, .end = end,
	    .batch = batch };
	struct cpu before[CPUS_MAX] = { 0 };
	struct parcel *parcels = mem_array(window, sizeof(*parcels));
	size_t n = cpu_of_threads(before);
	char name[64];

	times_n = 0;
	b.door = loop_new("door");
	lease_stream_init(&t.stream);
	int64_t began = clock_mono().ns;
	for (unsigned i = 0; i < window; i++) {
		struct parcel *p = &parcels[i];
		p->of = &t;
		p->put.stream = &t.stream;
		p->put.call.home = b.door;
		p->put.call.done = put_done;
		if (!send_next(p))
			break;
		t.out++;
	}
	loop_run(b.door);
	double s = seconds_since(began);
	loop_free(&b.door);
	snprintf(name, sizeof(name), "put %s", what);
	print_times(name, times, times_n, s);
	printf("   %.0f URLs/s\n", (double)(end - from) / s);
	print_cpu(before, n, "URL", end - from);
	mem_free(&parcels);
}

/* --- getting -------------------------------------------------------------- */

struct worker {
	struct lease_get get;
	struct lease_put put;
	struct lease_item items[1024];
	int64_t sent;
	uint32_t queues_max, urls_max;
};

static struct {
	unsigned out;
	int64_t until;
	uint64_t urls, later_s;      /* Known again in so many seconds */
} getting;

static void
next_get(struct worker *w)
{
	if (clock_mono().ns >= getting.until) {
		if (--getting.out == 0)
			loop_stop(b.door);
		return;
	}
	w->get = (struct lease_get){ .arena = w->get.arena,
	    .call = w->get.call, .any_crawl = true,
	    .urls_max = w->urls_max, .queues_max = w->queues_max };
	w->sent = clock_mono().ns;
	lease_get(b.frontier, &w->get);
}

static void
get_done(struct lease_call *c)
{
	struct worker *w = CONTAINER(c, struct worker, get.call);
	uint64_t later = (uint64_t)wall_s(clock_wall()) + getting.later_s;

	if (c->result != OK || w->get.more)
		fatal("a get failed");
	if (times_n < CALLS_MAX)
		times[times_n++] = clock_mono().ns - w->sent;
	getting.urls += w->get.n;
	for (size_t i = 0; i < w->get.n; i++)
		w->items[i] = (struct lease_item){ .known = true,
		    .key = w->get.urls[i].key, .url = w->get.urls[i].url,
		    .metadata = w->get.urls[i].metadata, .date_s = later };
	w->put.items = w->items;
	w->put.items_n = w->get.n;
	lease_put(b.frontier, &w->put);
}

static void
answered(struct lease_call *c)
{
	next_get(CONTAINER(c, struct worker, put.call));
}

static void
get_some(unsigned workers, uint32_t queues_max, uint64_t later_s)
{
	static struct worker all[WORKERS_MAX];
	struct cpu before[CPUS_MAX] = { 0 };
	size_t threads = cpu_of_threads(before);
	char name[64];
	double sum = 0;

	times_n = 0;
	getting.urls = 0;
	getting.later_s = later_s;
	getting.out = workers;
	b.door = loop_new("door");
	getting.until = clock_mono().ns + GETS_S * NS_PER_S;
	for (unsigned i = 0; i < workers; i++) {
		struct worker *w = &all[i];
		w->get.call.home = w->put.call.home = b.door;
		w->get.call.done = get_done;
		w->put.call.done = answered;
		w->urls_max = 10;
		w->queues_max = queues_max;
		next_get(w);
	}
	loop_run(b.door);
	loop_free(&b.door);
	for (size_t i = 0; i < times_n; i++)
		sum += (double)times[i] / 1e9;
	for (unsigned i = 0; i < workers; i++)
		lease_get_free(&all[i].get);
	snprintf(name, sizeof(name), "get %ux10, %u workers", queues_max,
	    workers);
	/* Puts are not counted in: the workers' time in gets only. */
	print_times(name, times, times_n, sum / workers);
	printf("   %.1f URLs per call\n", times_n == 0 ? 0 :
	    (double)getting.urls / (double)times_n);
	print_cpu(before, threads, "call and its put", times_n);
}

/* --- control -------------------------------------------------------------- */

static struct {
	struct lease_control control;
	int64_t sent;
	char key[32], url[TEXT_MAX];
	unsigned n;
} asking;

static void
ask_stats(void)
{
	nth(asking.n, asking.key, asking.url);
	asking.control.key = asking.n % 2 == 0 ? STR("") :
	    str_of(asking.key);
	asking.sent = clock_mono().ns;
	lease_control(b.frontier, &asking.control);
}

static void
control_done(struct lease_call *c)
{
	(void)c;
	if (asking.control.verb == LEASE_STATS) {
		times[times_n++] = clock_mono().ns - asking.sent;
		if (++asking.n < STATS_N) {
			ask_stats();
			return;
		}
	}
	loop_stop(b.door);
}

static void
control(enum lease_verb verb)
{
	times_n = 0;
	b.door = loop_new("door");
	asking.control = (struct lease_control){ .verb = verb,
	    .call = { .home = b.door, .done = control_done } };
	asking.n = 0;
	int64_t began = clock_mono().ns;
	if (verb == LEASE_STATS)
		ask_stats();
	else
		lease_control(b.frontier, &asking.control);
	loop_run(b.door);
	print_times("stats", times, times_n, seconds_since(began));
	loop_free(&b.door);
}

/* --- memory --------------------------------------------------------------- */

static void
print_memory(const char *when, uint64_t urls)
{
	const struct lease_service *o = b.frontier->leases;
	struct url_table_stats k;
	size_t slots = 0, names = 0, sets = 0, heaps = 0;

	slots = (o->slots_n + LEASE_CHUNK - 1) / LEASE_CHUNK *
	    LEASE_CHUNK * sizeof(struct lease_queue);
	heaps = (o->by_date.cap + o->delays.cap + o->own_delays.cap) *
	    sizeof(struct lease_turn) +
	    (o->changed.cap + o->leaving.cap + o->dirty.cap) * 4;
	MAP_EACH(c, &o->ids, const struct lease_crawl) {
		names += c->names.total;
		sets += (c->keys.cap + c->ids.cap) *
		    sizeof(struct lease_place);
		for (unsigned i = 0; c->levels != NULL && i < LEVELS; i++)
			heaps += c->levels[i].queues.cap *
			    sizeof(struct lease_turn);
	}
	url_table_stats(b.frontier->known, &k);
	double q = (double)MAX(o->stats.queues, 1);
	printf("%s: %.0f B per queue (slot %.0f, name %.0f, sets %.0f, heaps "
	    "%.0f), %.1f B per URL; process %llu MB\n", when,
	    (double)(slots + names + sets + heaps) / q, (double)slots / q,
	    (double)names / q, (double)sets / q, (double)heaps / q,
	    (double)k.bytes / (double)MAX(urls, 1),
	    (unsigned long long)memory_kb() >> 10);
	fflush(stdout);
}

/* --- the program ---------------------------------------------------------- */

/* In a process of its own, which ends without a word. */
static void
fill_and_die(uint64_t urls)
{
	fflush(stdout);
	pid_t pid = fork();

	if (pid == 0) {
		open_it("before kill -9");
		put_range("before kill -9", 0, urls, 256, WINDOW_BATCHES);
		fflush(stdout);
		raise(SIGKILL);
	}
	int status;
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		fatal("cannot fork");
}

static void
start_again(void)
{
	open_it("after a good end");
	print_memory("after it", b.urls);
	if (!b.start)
		get_some(8, 10, 0);
	close_it();
}

static void
run(void)
{
	uint64_t at = MIN(b.urls, b.queues);

	empty_dir();
	fill_and_die(MIN(b.urls, 500000));
	open_it("after kill -9");
	print_memory("after it", MIN(b.urls, 500000));
	close_it();
	empty_dir();
	open_it("empty");
	print_memory("empty", 0);
	put_range("serial", 0, MIN(at, 5000), 1, 1);
	put_range("new queues, 256", MIN(at, 5000), at, 256, WINDOW_BATCHES);
	print_memory("a URL each", at);
	uint64_t rest = b.urls - at;
	if (rest >= 8) {
		put_range("1", at, at + rest / 8, 1, WINDOW_ITEMS);
		put_range("16", at + rest / 8, at + rest / 4, 16,
		    WINDOW_ITEMS / 16);
		put_range("256", at + rest / 4, b.urls, 256, WINDOW_BATCHES);
		put_range("256, all known", at, b.urls, 256, WINDOW_BATCHES);
	}
	print_memory("filled", b.urls);
	control(LEASE_STATS);
	control(LEASE_SET_DELAY);
	get_some(1, 10, 3600);
	get_some(8, 10, 0);
	get_some(8, 100, 0);
	print_memory("served", b.urls);
	close_it();
	start_again();
	if (!b.keep)
		nftw(b.dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int
main(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "krsq:u:")) != -1) {
		bool fine = c == 'k' || c == 'r' || c == 's' ||
		    ((c == 'q' || c == 'u') &&
		    str_to_u64(str_of(optarg), c == 'q' ? &b.queues :
		    &b.urls) && b.queues > 0 && b.urls > 0);
		b.relaxed |= c == 'r';
		b.keep |= c == 'k';
		b.start |= c == 's';
		if (!fine)
			fatal("usage: lease_bench [-krs] [-q QUEUES] "
			    "[-u URLS] DIR");
	}
	if (optind + 1 != argc)
		fatal("which directory?");
	b.dir = argv[optind];
	times = mem_array(CALLS_MAX, sizeof(*times));
	printf("%llu queues, %llu URLs, %s\n", (unsigned long long)b.queues,
	    (unsigned long long)b.urls, b.relaxed ? "relaxed" : "sync");
	if (b.start)
		start_again();
	else
		run();
	mem_free(&times);
	return 0;
}
