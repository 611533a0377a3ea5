/*
 * archive_sample_testing -- a directory of WARC files for the tests of this
 * folder: a crawl of a few pages, written as the engine writes them.
 */
#ifndef ENGINE_ARCHIVE_ARCHIVE_SAMPLE_TESTING_H
#define ENGINE_ARCHIVE_ARCHIVE_SAMPLE_TESTING_H

#include <unistd.h>

#include "engine/archive/archive.h"
#include "os/file.h"
#include "wire/warc_sample_test.h"

struct sample_dir {
	struct arena arena;
	const char *path;
};

static inline void
sample_dir_make(struct sample_dir *d)
{
	char name[] = "/tmp/argiope-archive-XXXXXX";

	d->arena = ARENA_INIT;
	assert_non_null(mkdtemp(name));
	d->path = arena_copy(&d->arena, str_of(name)).p;
}

static inline const char *
sample_path(struct sample_dir *d, const char *name)
{
	return arena_printf(&d->arena, "%s/%s", d->path, name).p;
}

static inline void
sample_dir_remove(struct sample_dir *d)
{
	struct str *names;
	size_t n;

	assert_int_equal(file_list(d->path, &d->arena, &names, &n, NULL), OK);
	for (size_t i = 0; i < n; i++)
		unlink(sample_path(d, names[i].p));
	rmdir(d->path);
	arena_free(&d->arena);
}

static inline void
sample_write(struct sample_dir *d, const char *name, struct str bytes)
{
	struct why w = WHY_INIT;
	int fd;

	assert_int_equal(file_open(sample_path(d, name), FILE_CREATE, &fd,
	    &w), OK);
	assert_int_equal(file_cut(fd, 0, &w), OK);
	assert_int_equal(file_write(fd, 0, bytes.p, bytes.n, &w), OK);
	file_close(&fd);
}

static inline struct archive_catalogue
sample_list(struct sample_dir *d)
{
	struct archive_catalogue c;
	struct why w = WHY_INIT;
	const char *paths[] = { d->path };

	assert_int_equal(archive_list(paths, 1, false, &d->arena, &c, &w), OK);
	return c;
}

#define SAMPLE_NAME_1 "7-20261028083816123-00001-abcd0123.warc.gz"
#define SAMPLE_NAME_2 "7-20261028093816123-00002-abcd0123.warc.gz"

struct sample_file {
	struct warc_writer *writer;
	struct buf bytes;
	struct warc_member info;
	struct warc_member last[2];
};

static inline void
sample_file_begin(struct sample_file *f, const char *name)
{
	static const struct str seed = STR("http://example.org/");
	struct warc_info info = { .filename = str_of(name),
		.date = SAMPLE_DATE, .software = STR("argiope"), .crawl = 7,
		.crawl_kind = STR("crawl"), .crawl_name = STR("sample"),
		.seeds = &seed, .seeds_n = 1,
		.policy = STR("{}") };

	memset(f, 0, sizeof(*f));
	f->writer = sample_writer(1, NULL);
	/* Files of one run differ in their ids. */
	for (const char *p = name; *p != '\0'; p++) {
		char id[WARC_ID_MAX];
		for (int i = *p & 15; i > 0; i--)
			warc_new_id(f->writer, id);
	}
	assert_int_equal(warc_put_info(f->writer, &info, &f->bytes, &f->info,
	    NULL), OK);
	gzip_patch(f->bytes.p, 0, 1);
}

/* A page under number `seq` (0: none); `hop` 1 and up came by redirects. */
static inline void
sample_page(struct sample_file *f, const char *url, const char *body,
    uint64_t seq, uint32_t hop)
{
	struct str b = str_of(body);
	struct warc_capture c = { 7, hop, 1, SAMPLE_DATE, 100,
		STR("http://example.org/start") };
	struct warc_exchange x = sample_exchange(&b, &c);

	if (hop == 0)
		c.requested_url = str_of(url);
	c.start.us += (int64_t)seq;
	x.target_uri = str_of(url);
	x.warcinfo_id = str_of(f->info.id);
	assert_int_equal(warc_put_exchange(f->writer, &x, &f->bytes, f->last,
	    NULL), OK);
	gzip_patch(f->bytes.p + f->last[0].at, seq, 2);
	gzip_patch(f->bytes.p + f->last[1].at, 0, 2);
}

static inline void
sample_file_end(struct sample_file *f, struct sample_dir *d, const char *name)
{
	sample_write(d, name, buf_str(&f->bytes));
	buf_free(&f->bytes);
	warc_writer_free(&f->writer);
}

/* Two files: numbers 1 to 4, of which 3 came by a redirect; robots.txt. */
static inline void
sample_crawl(struct sample_dir *d)
{
	struct sample_file f;

	sample_file_begin(&f, SAMPLE_NAME_1);
	sample_page(&f, "http://example.org/robots.txt", "", 0, 0);
	sample_page(&f, "http://example.org/", "<title>One</title>", 1, 0);
	sample_page(&f, "http://example.org/b", "<title>Two</title>", 2, 0);
	sample_file_end(&f, d, SAMPLE_NAME_1);
	sample_file_begin(&f, SAMPLE_NAME_2);
	sample_page(&f, "http://example.org/start", "moved", 0, 0);
	sample_page(&f, "http://example.org/end", "<title>T &amp; 3</title>",
	    3, 1);
	sample_page(&f, "http://example.org/d", "<p>four", 4, 0);
	sample_file_end(&f, d, SAMPLE_NAME_2);
}

#endif
