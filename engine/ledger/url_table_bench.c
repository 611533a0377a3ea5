/*
 * url_table_bench -- what the known table costs: CPU ns per insertion and test,
 * bytes per URL (of slots, and of the process), the longest growth (of the
 * clock).
 *
 *     url_table_bench [ENTRIES...]        default 1000000 10000000
 *
 * With KNOWN_BENCH_PLAIN in the environment it inserts without prefetching.
 */
#include <unistd.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "engine/ledger/url_table.h"
#include "os/clock.h"

#define BATCH 32
#define TESTS 4000000u

static uint64_t
nth(uint64_t i)
{
	return hash_u64(i + 1);
}

static double
rss_bytes(void)
{
	long pages = 0, skip;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f != NULL) {
		if (fscanf(f, "%ld %ld", &skip, &pages) != 2)
			pages = 0;
		fclose(f);
	}
	return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* CPU time: others may be using the machine. */
static double
ns_each(int64_t from, uint64_t n)
{
	return (double)(clock_thread_cpu_ns() - from) / (double)n;
}

/* Nine in ten of the keys asked for are there. */
static uint64_t
asked(uint64_t i, uint64_t n)
{
	return nth(hash_u64(i + 77777) % (n * 10 / 9));
}

static void
test_one_by_one(const struct url_table *k, uint64_t n)
{
	uint64_t hits = 0;
	uint32_t date;
	uint8_t state;
	int64_t t = clock_thread_cpu_ns();

	for (uint64_t i = 0; i < TESTS; i++)
		hits += url_table_get(k, asked(i, n), &date, &state);
	printf("  test one by one    %6.1f ns (%.3f there)\n",
	    ns_each(t, TESTS), (double)hits / TESTS);
}

static void
test_in_batches(const struct url_table *k, uint64_t n)
{
	uint64_t hashes[BATCH], hits = 0;
	uint32_t date;
	uint8_t state;
	int64_t t = clock_thread_cpu_ns();

	for (uint64_t i = 0; i < TESTS; i += BATCH) {
		for (size_t j = 0; j < BATCH; j++) {
			hashes[j] = asked(i + j, n);
			url_table_prefetch(k, hashes[j]);
		}
		for (size_t j = 0; j < BATCH; j++)
			hits += url_table_get(k, hashes[j], &date, &state);
	}
	printf("  test in batches    %6.1f ns (%.3f there)\n",
	    ns_each(t, TESTS), (double)hits / TESTS);
}

static void
insert_all(struct url_table *k, uint64_t n, bool batches)
{
	int64_t t = clock_thread_cpu_ns();

	for (uint64_t i = 0; i < n; i += BATCH) {
		uint64_t end = MIN(n, i + BATCH);
		for (uint64_t j = i; batches && j < end; j++)
			url_table_prefetch(k, nth(j));
		for (uint64_t j = i; j < end; j++) {
			uint32_t date = (uint32_t)j;
			uint8_t state = KNOWN_WAITING;
			url_table_put_new(k, nth(j), &date, &state);
		}
	}
	printf("  insert %-11s %6.1f ns\n", batches ? "in batches" : "",
	    ns_each(t, n));
}

static void
bench(uint64_t n, bool batches)
{
	struct url_table_stats s;
	double before = rss_bytes();
	struct url_table *k = url_table_new();

	printf("%llu entries:\n", (unsigned long long)n);
	insert_all(k, n, batches);
	url_table_stats(k, &s);
	printf("  bytes per entry    %6.2f of slots, %.2f of the process\n",
	    (double)s.bytes / (double)n, (rss_bytes() - before) / (double)n);
	printf("  longest growth     %6.1f us\n",
	    (double)s.growth_ns_max / 1000);
	test_one_by_one(k, n);
	test_in_batches(k, n);
	url_table_free(&k);
}

int
main(int argc, char **argv)
{
	static char *defaults[] = { "", "1000000", "10000000" };
	bool batches = getenv("KNOWN_BENCH_PLAIN") == NULL;

	if (argc < 2) {
		argc = ARRAY_LEN(defaults);
		argv = defaults;
	}
	for (int i = 1; i < argc; i++) {
		uint64_t n;
		if (!str_to_u64(str_of(argv[i]), &n) || n == 0) {
			fprintf(stderr, "not a number of entries: %s\n",
			    argv[i]);
			return 64;
		}
		bench(n, batches);
	}
	return 0;
}
