/*
 * commitlog_bench -- how long one group takes to become durable, beside the
 * device's own figure: pwrite and fdatasync of as many bytes over a file that
 * was written before.
 *
 *     commitlog_bench [DIRECTORY [GROUPS]]      default: . 2000
 *
 * It writes into DIRECTORY/commitlog-bench and removes that afterwards.
 */
#include "base/arena.h"
#include "base/bytes.h"
#include "engine/ledger/commitlog.h"
#include "os/clock.h"
#include "os/file.h"

#define RAW_FILE_BYTES ((uint64_t)16 << 20)

static int
compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void
report(const char *what, size_t bytes, int64_t *ns, size_t n)
{
	qsort(ns, n, sizeof(*ns), compare);
	printf("%-8s %6zu bytes: p50 %7.1f us, p99 %7.1f us, worst %8.1f us\n",
	    what, bytes, (double)ns[n / 2] / 1000,
	    (double)ns[n * 99 / 100] / 1000, (double)ns[n - 1] / 1000);
}

static enum err
raw(const char *dir, struct str body, int64_t *ns, size_t n, struct why *w)
{
	struct arena a = ARENA_INIT;
	struct str path = arena_printf(&a, "%s/raw", dir);
	int fd = -1;

	enum err e = file_open(path.p, FILE_CREATE, &fd, w);
	if (e == OK)
		e = file_allocate(fd, RAW_FILE_BYTES, w);
	for (size_t i = 0; i < n && e == OK; i++) {
		struct mono t = clock_mono();
		e = file_write(fd, i * body.n % (RAW_FILE_BYTES - body.n),
		    body.p, body.n, w);
		if (e == OK)
			e = file_sync(fd, w);
		ns[i] = mono_ns_between(t, clock_mono());
	}
	file_close(&fd);
	if (e == OK)
		e = file_remove(path.p, w);
	arena_free(&a);
	return e;
}

static enum err
no_replay(void *arg, uint64_t group, struct str body, struct why *w)
{
	(void)arg;
	(void)group;
	(void)body;
	(void)w;
	return OK;
}

static enum err
ours(const char *dir, uint64_t from, struct str body, int64_t *ns, size_t n,
    struct why *w)
{
	struct commitlog *l;

	enum err e = commitlog_open(dir, NULL, from, no_replay, NULL, &l, w);
	for (size_t i = 0; i < n && e == OK; i++) {
		struct mono t = clock_mono();
		e = commitlog_append(l, commitlog_group(l) + 1, body, w);
		if (e == OK)
			e = commitlog_sync(l, w);
		ns[i] = mono_ns_between(t, clock_mono());
		if (e == OK && i % 100 == 0)
			commitlog_release(l, commitlog_group(l) - 1);
		if (e == OK)
			e = commitlog_prepare(l, body.n, w);
	}
	commitlog_close(&l);
	return e;
}

static enum err
remove_all(const char *dir, struct why *w)
{
	struct arena a = ARENA_INIT;
	struct str *names;
	size_t n;

	enum err e = file_list(dir, &a, &names, &n, w);
	for (size_t i = 0; e == OK && i < n; i++)
		e = file_remove(arena_printf(&a, "%s/%s", dir, names[i].p).p,
		    w);
	arena_free(&a);
	return e == OK ? file_remove(dir, w) : e;
}

static enum err
bench(const char *dir, size_t n, struct why *w)
{
	static const size_t sizes[] = { 200, 8192 };
	int64_t *ns = mem_array(n, sizeof(*ns));
	enum err e = OK;

	for (size_t i = 0; i < ARRAY_LEN(sizes) && e == OK; i++) {
		struct buf body = BUF_INIT;
		clock_random(buf_grow(&body, sizes[i]), sizes[i]);
		e = raw(dir, buf_str(&body), ns, n, w);
		if (e == OK)
			report("device", sizes[i], ns, n);
		if (e == OK)
			e = ours(dir, i * n, buf_str(&body), ns, n, w);
		if (e == OK)
			report("log", sizes[i], ns, n);
		buf_free(&body);
	}
	mem_free(&ns);
	return e;
}

int
main(int argc, char **argv)
{
	struct arena a = ARENA_INIT;
	struct why w = WHY_INIT;
	uint64_t n = 2000;

	if (argc > 2 && (!str_to_u64(str_of(argv[2]), &n) || n == 0)) {
		fprintf(stderr, "not a number of groups: %s\n", argv[2]);
		return 64;
	}
	struct str dir = arena_printf(&a, "%s/commitlog-bench",
	    argc > 1 ? argv[1] : ".");
	enum err e = file_make_dir(dir.p, &w);
	if (e == OK)
		e = bench(dir.p, (size_t)n, &w);
	if (e == OK)
		e = remove_all(dir.p, &w);
	if (e != OK)
		fprintf(stderr, "%s\n", w.text);
	arena_free(&a);
	return err_exit(e);
}
