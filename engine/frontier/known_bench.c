/*
 * known_bench -- how long a start takes where millions of URLs are known, and
 * what each costs: of a crawl of Argiope's own, and of an external crawler's.
 *
 *     known_bench [-kos] [-q QUEUES] [-u URLS] [-n ROUNDS] [-m MIB] DIR
 *                                           default 1000, 10000000, 5, all
 *
 * -m: so much memory for the known table, as frontier.known_mem.
 * -o: external only; -k: DIR stays filled; -s: start what a -k left.  DIR, on
 * the disk that is meant, is made and emptied.  The external URLs are put as
 * its door puts them, by a process that then kills itself; our crawl's records
 * are written into the index in the order in which a crawl finds them.
 */
#include <ftw.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "engine/frontier/crawl.h"
#include "engine/frontier/lease_crawl.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/system.h"

#define BATCH 256u
#define WINDOW 16u
#define LINKS 250u                   /* new URLs of a page of our crawl */
#define WRITE_RECORDS 2000u
#define ROUNDS_MAX 100u

static struct {
	const char *dir;
	char part[300];
	uint64_t queues, urls, rounds, known_mib;
	bool keep, start, external_only;
	struct loop *door, *ledger;
	struct pool *pool;
	struct frontier *frontier;
} b = { .queues = 1000, .urls = 10000000, .rounds = 5, .known_mib = 1 << 20 };

static void
end_with(const char *text)
{
	fprintf(stderr, "known_bench: %s\n", text);
	exit(1);
}

static int
remove_one(const char *path, const struct stat *s, int kind, struct FTW *f)
{
	(void)s;
	(void)kind;
	(void)f;
	return remove(path);
}

static double
seconds_since(int64_t ns)
{
	return (double)(clock_mono().ns - ns) / 1e9;
}

/* --- a frontier's life ---------------------------------------------------- */

static void
open_frontier(void)
{
	struct frontier_options o = {
		.data_dir = b.part, .token = "abcdefgh", .load_later = true,
		.known_bytes_max = (size_t)b.known_mib << 20,
		.rollover_bytes = 1 << 30, .rollover_s = 3600,
		.lease_listings_max = 256, .lease_counts_max = 8,
		.lease_relaxed = true,
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

	b.ledger = loop_new("ledger");
	o.ledger.pool = b.pool = pool_new(1);
	if (frontier_open(b.ledger, &o, &b.frontier, &w) != OK)
		end_with(w.text);
}

static void
load_external(void)
{
	struct why w = WHY_INIT;

	if (frontier_load(b.frontier, &w) != OK)
		end_with(w.text);
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
do_nothing(struct loop_call *c)
{
	(void)c;
}

/* Run `what` in a process of its own. */
static void
run_child(void (*what)(void), bool killed)
{
	int status;

	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		what();
		fflush(stdout);
		if (killed)
			raise(SIGKILL);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid ||
	    (!killed && (!WIFEXITED(status) || WEXITSTATUS(status) != 0)))
		end_with("the child failed");
}

/* --- filling: our crawl --------------------------------------------------- */

static void
put_crawl_record(void)
{
	struct crawl_spec spec = { .kind = CRAWL_CRAWL, .name = STR("start"),
	    .policy = STR("{}") };
	struct str url = STR("http://h0.example/");
	struct found seed = { .url = url, .key = STR("h0.example"),
	    .hash = frontier_hash(0, url), .cost = 1, .flags = FOUND_SEED };
	struct loop_call c = { .run = close_frontier, .done = do_nothing };
	struct why w = WHY_INIT;
	uint32_t id;

	open_frontier();
	load_external();
	if (frontier_begin(b.frontier, &spec, &seed, 1, NULL, &id, &w) != OK)
		end_with(w.text);
	c.home = b.ledger;
	loop_start(b.ledger);
	loop_ask(b.ledger, &c);
	loop_join(b.ledger);
	frontier_free(&b.frontier);
	pool_free(&b.pool);
	loop_free(&b.ledger);
}

static void
put_url_record(struct index *x, struct index_batch *batch, uint64_t i,
    struct buf *key, struct buf *value)
{
	uint64_t page = i / LINKS, queue = page % b.queues;
	struct url_value v = { .created_s = 1800000000, .depth = 1, .cost = 1,
	    .seq = page };
	char url[100];

	snprintf(url, sizeof(url), "http://h%llu.example:8080/fill/250/%llu",
	    (unsigned long long)queue, (unsigned long long)i);
	url_key(0, (uint32_t)queue + 1, rank_of(1, (uint32_t)(i / b.queues)),
	    str_of(url), key);
	url_value_put(&v, value);
	index_put(x, batch, INDEX_URL, buf_str(key), buf_str(value));
}

static void
fill_own(void)
{
	FREED(buf_free) struct buf key = BUF_INIT, value = BUF_INIT;
	struct index_options o = { .write_buffer_bytes = 32 << 20,
		.write_buffers = 4, .block_cache_bytes = 32 << 20 };
	struct index_batch *batch = index_batch_new();
	struct why w = WHY_INIT;
	struct index *x;
	char path[320];

	put_crawl_record();
	snprintf(path, sizeof(path), "%s/index", b.part);
	if (index_open(path, &o, &x, &w) != OK)
		end_with(w.text);
	for (uint64_t i = 0; i < b.urls; i++) {
		put_url_record(x, batch, i, &key, &value);
		if (i % WRITE_RECORDS == 0 && index_write(x, batch, &w) != OK)
			end_with(w.text);
	}
	if (index_write(x, batch, &w) != OK ||
	    index_flush(x, STR_NONE, STR_NONE, &w) != OK)
		end_with(w.text);
	index_batch_free(&batch);
	index_close(&x);
}

/* --- filling: an external crawler ----------------------------------------- */

#define TENTHS 10u

static struct {
	uint64_t next, done;
	unsigned out;
	struct lease_stream stream;
	int64_t began, ends[TENTHS];         /* ns */
	unsigned tenths;
} putting;

struct parcel {
	struct lease_put put;
	struct lease_item items[BATCH];
	char keys[BATCH][32], urls[BATCH][80];
};

static bool
send_parcel(struct parcel *p)
{
	size_t n = 0;

	for (; n < BATCH && putting.next < b.urls; n++, putting.next++) {
		uint64_t i = putting.next;
		unsigned long long q = i % b.queues;
		snprintf(p->keys[n], sizeof(p->keys[n]), "www.h%07llu.org", q);
		snprintf(p->urls[n], sizeof(p->urls[n]),
		    "https://www.h%07llu.org/some/path/%08x.html", q,
		    (unsigned)hash_u64(i));
		p->items[n] = (struct lease_item){
		    .key = str_of(p->keys[n]), .url = str_of(p->urls[n]),
		    .metadata = STR("\x0a\x0a\x05\x64\x65\x70\x74\x68") };
	}
	p->put.items = p->items;
	p->put.items_n = n;
	if (n > 0)
		lease_put(b.frontier, &p->put);
	return n > 0;
}

static void
put_done(struct lease_call *c)
{
	struct parcel *p = CONTAINER(c, struct parcel, put.call);

	for (size_t i = 0; i < p->put.items_n; i++)
		if (p->items[i].status == LEASE_FAIL)
			end_with("a put failed");
	putting.done += p->put.items_n;
	while (putting.tenths < TENTHS && putting.done >= b.urls / TENTHS *
	    (putting.tenths + 1))
		putting.ends[putting.tenths++] = clock_mono().ns;
	if (!send_parcel(p) && --putting.out == 0)
		loop_stop(b.door);
}

/* Bytes that this process has caused to be written to the disk. */
static double
bytes_written(void)
{
	FILE *f = fopen("/proc/self/io", "r");
	char line[100];
	unsigned long long n = 0;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "write_bytes: %llu", &n) == 1)
			break;
	if (f != NULL)
		fclose(f);
	return (double)n;
}

static void
fill_external(void)
{
	static struct parcel parcels[WINDOW];
	int64_t *ends = putting.ends;

	open_frontier();
	load_external();
	putting.began = clock_mono().ns;
	b.door = loop_new("door");
	lease_stream_init(&putting.stream);
	for (size_t i = 0; i < WINDOW; i++) {
		struct parcel *p = &parcels[i];
		p->put.stream = &putting.stream;
		p->put.call.home = b.door;
		p->put.call.done = put_done;
		putting.out += send_parcel(p);
	}
	loop_start(b.ledger);
	loop_run(b.door);
	double n = (double)b.urls, first = (double)(ends[0] - putting.began);
	double last = (double)(ends[TENTHS - 1] - ends[TENTHS - 2]);
	struct url_table_stats k;

	url_table_stats(b.frontier->known, &k);
	printf("  filled in %.1f s, last tenth at %.2f of the first's speed; "
	    "CPU us per URL %.2f, bytes written %.1f; table %.1f MiB\n",
	    seconds_since(putting.began), first / last,
	    (double)system_cpu_ns() / 1e3 / n, bytes_written() / n,
	    (double)k.bytes / (1 << 20));
}

/* --- starting ------------------------------------------------------------- */

static void
print_start(int64_t began, double opened, int64_t rss)
{
	struct url_table_stats k;
	double n;

	url_table_stats(b.frontier->known, &k);
	n = (double)MAX(k.count, 1);
	printf("  %.3f s (open %.3f, load %.3f), CPU %.3f; %llu URLs, "
	    "%.1f B each in the table, %.1f in the process\n",
	    seconds_since(began), opened, seconds_since(began) - opened,
	    (double)system_cpu_ns() / 1e9, (unsigned long long)k.count,
	    (double)k.bytes / n,
	    (double)((int64_t)system_rss_bytes() - rss) / n);
}

static void
start_own(void)
{
	int64_t rss = (int64_t)system_rss_bytes(), began = clock_mono().ns;
	struct why w = WHY_INIT;

	open_frontier();
	double opened = seconds_since(began);
	load_external();
	/* Its record has the seed alone. */
	crawl_get(b.frontier, 0)->view.counts.queued = b.urls;
	if (frontier_continue(b.frontier, 0, &w) != OK)
		end_with(w.text);
	print_start(began, opened, rss);
}

static void
start_external(void)
{
	int64_t rss = (int64_t)system_rss_bytes(), began = clock_mono().ns;

	open_frontier();
	double opened = seconds_since(began);
	load_external();
	print_start(began, opened, rss);
}

static void
run_part(const char *name, void (*fill)(void), bool killed,
    void (*start)(void))
{
	printf("%s, %llu URLs, %llu queues:\n", name,
	    (unsigned long long)b.urls, (unsigned long long)b.queues);
	snprintf(b.part, sizeof(b.part), "%s/%s", b.dir, name);
	if (!b.start) {
		nftw(b.part, remove_one, 8, FTW_DEPTH | FTW_PHYS);
		if (file_make_dir(b.part, NULL) != OK)
			end_with("cannot make the directory");
		run_child(fill, killed);
	}
	for (uint64_t i = 0; i < b.rounds; i++)
		run_child(start, false);
	if (!b.keep && !b.start)
		nftw(b.part, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int
main(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "kosq:u:n:m:")) != -1) {
		uint64_t *number = c == 'q' ? &b.queues : c == 'u' ? &b.urls :
		    c == 'n' ? &b.rounds : c == 'm' ? &b.known_mib : NULL;
		b.keep |= c == 'k';
		b.start |= c == 's';
		b.external_only |= c == 'o';
		if (c == '?' || (number != NULL &&
		    (!str_to_u64(str_of(optarg), number) || *number == 0)))
			end_with("usage: known_bench [-kos] [-q QUEUES] "
			    "[-u URLS] [-n ROUNDS] [-m MIB] DIR");
	}
	if (optind + 1 != argc || strlen(argv[optind]) > 200)
		end_with("which directory?");
	b.dir = argv[optind];
	b.rounds = MIN(b.rounds, ROUNDS_MAX);
	if (file_make_dir(b.dir, NULL) != OK)
		end_with("cannot make the directory");
	if (!b.external_only)
		run_part("own", fill_own, false, start_own);
	run_part("external", fill_external, true, start_external);
	return 0;
}
