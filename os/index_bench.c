/*
 * index_bench -- what the index costs per page of a crawl, and per URL of a
 * frontier that grows.
 *
 *     index_bench DIRECTORY [PAGES [LINKS]]     default: 20000, 1
 *
 * It makes the operations of a crawl: for each page the URLs found on it, the
 * page's URL from waiting to done, its digest and its journal row; groups of 64
 * pages, and a flush after every 4 MiB.  DIRECTORY must not be there; the index
 * stays in it, so that its size can be seen.
 */
#include <time.h>

#include "base/hash.h"
#include "os/index.h"

#define GROUP_PAGES 64u
#define FLUSH_BYTES ((size_t)4 << 20)
#define ROW_BYTES 200u

struct bench {
	struct index *index;
	struct index_batch *batch;
	size_t bytes;                /* since the last flush */
	uint64_t operations;
	double flushing;             /* CPU seconds */
};

static double
cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
put_operation(struct bench *b, enum index_family f, struct str key,
    struct str value)
{
	index_put(b->index, b->batch, f, key, value);
	b->bytes += key.n + value.n;
	b->operations++;
}

/* crawl4 queue4 rank4 url. */
static struct str
url_key(uint64_t url, uint32_t rank, char room[100])
{
	memset(room, 0, 8);
	room[3] = room[7] = 1;
	for (unsigned i = 0; i < 4; i++)
		room[8 + i] = (char)(rank >> (24 - 8 * i));
	int n = snprintf(room + 12, 88, "http://127.0.0.1:8080/p/%llu.html",
	    (unsigned long long)url);
	return (struct str){ room, 12 + (size_t)n };
}

static void
put_page(struct bench *b, uint64_t page, uint64_t links)
{
	char room[100], row[ROW_BYTES], value[18] = { 0 };
	uint64_t digest[5] = { hash_u64(page), hash_u64(page + 1) };
	struct str v = { value, sizeof(value) };

	for (uint64_t i = 0; i < links; i++)
		put_operation(b, INDEX_URL, url_key(links * page + i + 1, 1,
		    room), v);
	struct str waiting = url_key(page, 1, room);
	index_delete(b->index, b->batch, INDEX_URL, waiting);
	b->operations++;
	put_operation(b, INDEX_URL, url_key(page, 0x68000000, room), v);
	put_operation(b, INDEX_DIGEST, (struct str){ (char *)digest, 40 }, v);
	/* As random as a real one: digest, place and times. */
	for (size_t i = 0; i < sizeof(row) / 2; i++)
		row[i] = (char)hash_u64(page * sizeof(row) + i);
	memset(row + sizeof(row) / 2, 'r', sizeof(row) / 2);
	for (unsigned i = 0; i < 8; i++)
		room[i] = (char)(page >> (56 - 8 * i));
	put_operation(b, INDEX_JOURNAL, (struct str){ room, 8 },
	    (struct str){ row, sizeof(row) });
}

static enum err
flush_index(struct bench *b, struct why *w)
{
	double began = cpu_seconds();
	enum err e = index_flush(b->index, STR("checkpoint"), STR("1"), w);

	b->flushing += cpu_seconds() - began;
	b->bytes = 0;
	return e;
}

static enum err
put_pages(struct bench *b, uint64_t pages, uint64_t links, struct why *w)
{
	enum err e = OK;

	for (uint64_t i = 0; i < pages && e == OK; i++) {
		put_page(b, i, links);
		if (i % GROUP_PAGES == GROUP_PAGES - 1)
			e = index_write(b->index, b->batch, w);
		if (e == OK && b->bytes >= FLUSH_BYTES)
			e = flush_index(b, w);
	}
	if (e == OK)
		e = index_write(b->index, b->batch, w);
	return e == OK ? flush_index(b, w) : e;
}

int
main(int argc, char **argv)
{
	struct index_options none = { 0 };
	struct bench b = { .batch = index_batch_new() };
	struct why w = WHY_INIT;
	uint64_t pages = argc > 2 ? strtoull(argv[2], NULL, 10) : 20000;
	uint64_t links = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
	double began = cpu_seconds();

	if (argc < 2 || index_open(argv[1], &none, &b.index, &w) != OK) {
		fprintf(stderr, "index_bench: %s\n", argc < 2 ?
		    "usage: index_bench DIRECTORY [PAGES [LINKS]]" : w.text);
		return 1;
	}
	double opened = cpu_seconds();
	enum err e = put_pages(&b, pages, links, &w);
	double all = cpu_seconds() - opened;
	if (e != OK)
		fprintf(stderr, "index_bench: %s\n", w.text);
	else
		printf("open %.1f ms; %.2f us a page, %.2f an operation: "
		    "%.2f to write it, %.2f to flush it\n",
		    (opened - began) * 1e3, all * 1e6 / (double)pages,
		    all * 1e6 / (double)b.operations,
		    (all - b.flushing) * 1e6 / (double)b.operations,
		    b.flushing * 1e6 / (double)b.operations);
	index_batch_free(&b.batch);
	index_close(&b.index);
	return e != OK;
}
