/*
 * export_testing -- a directory with WARC files for the tests of this folder,
 * and exports of them.
 */
#ifndef ENGINE_EXPORT_EXPORT_TESTING_H
#define ENGINE_EXPORT_EXPORT_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "engine/export/export.h"
#include "os/file.h"
#include "os/tree.h"

#define TESTING_SEARCH "https://api.twitter.com/1.1/search/tweets.json?q=x"
#define TESTING_FILTER "https://stream.twitter.com/1.1/statuses/filter.json"

struct testing_dir {
	struct arena arena;
	const char *path;
};

static inline void
testing_dir_make(struct testing_dir *d)
{
	char name[] = "/tmp/argiope-export-XXXXXX";

	d->arena = ARENA_INIT;
	assert_non_null(mkdtemp(name));
	d->path = arena_copy(&d->arena, str_of(name)).p;
}

static inline void
testing_dir_remove(struct testing_dir *d)
{
	assert_int_equal(tree_remove(d->path, NULL), OK);
	arena_free(&d->arena);
}

static inline const char *
testing_path(struct testing_dir *d, const char *name)
{
	return arena_printf(&d->arena, "%s/%s", d->path, name).p;
}

static inline void
testing_write(struct testing_dir *d, const char *name, struct str bytes)
{
	assert_int_equal(file_store(testing_path(d, name), bytes, NULL), OK);
}

/* A file's bytes as text; NULL: it is not there. */
static inline const char *
testing_read(struct testing_dir *d, const char *name)
{
	struct buf b = BUF_INIT;
	const char *text = NULL;

	if (file_load(testing_path(d, name), 1 << 24, &b, NULL) == OK)
		text = arena_copy(&d->arena, buf_str(&b)).p;
	buf_free(&b);
	return text;
}

/* Append a record of an uncompressed WARC file. */
static inline void
testing_record(struct buf *b, const char *type, const char *uri,
    struct str block)
{
	buf_printf(b, "WARC/1.0\r\nWARC-Type: %s\r\nWARC-Target-URI: %s\r\n"
	    "WARC-Date: 2016-06-01T10:00:00Z\r\n"
	    "WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-%012zu>\r\n"
	    "Content-Type: %s\r\nContent-Length: %zu\r\n\r\n", type, uri,
	    b->n, strcmp(type, "response") == 0 ?
	    "application/http;msgtype=response" : "application/x-ndjson",
	    block.n);
	buf_put_str(b, block);
	buf_put_text(b, "\r\n\r\n");
}

/* An answer: status, further fields of its head, body. */
static inline void
testing_answer(struct buf *b, const char *uri, int status,
    const char *fields, struct str body)
{
	struct buf block = BUF_INIT;

	buf_printf(&block, "HTTP/1.1 %d X\r\nContent-Type: "
	    "application/json\r\n%s\r\n", status, fields);
	buf_put_str(&block, body);
	testing_record(b, "response", uri, buf_str(&block));
	buf_free(&block);
}

/* A tweet with all that its row must have, on day `day` of June 2016. */
static inline void
testing_tweet(struct buf *b, int id, int user, int day)
{
	buf_printf(b, "{\"id_str\":\"%d\",\"text\":\"t%d\",\"created_at\":"
	    "\"Wed Jun %02d 12:00:00 +0000 2016\",\"favorite_count\":0,"
	    "\"entities\":{\"hashtags\":[],\"urls\":[]},\"user\":{\"id_str\":"
	    "\"%d\",\"screen_name\":\"u\"}}", id, id, day, user);
}

/* Tweets `from` to `to` in one answer, one a day; each by account id % 2. */
static inline void
testing_page(struct buf *b, int from, int to)
{
	struct buf body = BUF_INIT;

	buf_put_text(&body, "{\"statuses\":[");
	for (int i = from; i <= to; i++) {
		if (i > from)
			buf_put_char(&body, ',');
		testing_tweet(&body, i, i % 2, i);
	}
	buf_put_text(&body, "]}");
	testing_answer(b, TESTING_SEARCH, 200, "", buf_str(&body));
	buf_free(&body);
}

/* All WARC files of the directory, in the order's place for files. */
static inline void
testing_files(struct testing_dir *d, struct export_order *o)
{
	struct archive_catalogue c;

	assert_int_equal(archive_list(&d->path, 1, false, &d->arena, &c,
	    NULL), OK);
	o->files = c.files;
	o->files_n = c.n;
}

#endif
