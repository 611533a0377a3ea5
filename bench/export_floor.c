/*
 * export_floor -- the least that an export can cost: unpack WARC files and
 * parse the answers in them, and do nothing else.
 *
 *     export_floor FILE...
 *
 * Each gzip member is one record with one answer, gzip-coded, whose body is one
 * document of JSON, as bench/harvest_warcs.py makes them.  All is unpacked in
 * one call each, into the same buffers.  It prints "answers N bytes N".
 */
#include <fcntl.h>
#include <libdeflate.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yyjson.h>

#include "base/bytes.h"

struct task {
	struct libdeflate_decompressor *inflate;
	struct buf record, body;
	uint64_t answers, bytes;
};

static void
fail(const char *what, const char *why)
{
	fprintf(stderr, "export_floor: %s: %s\n", what, why);
	exit(70);
}

static struct str
map_file(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size == 0)
		fail(path, "cannot be read");
	size_t n = (size_t)st.st_size;
	void *p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		fail(path, "cannot be mapped");
	close(fd);
	return (struct str){ p, n };
}

/* Unpack the gzip member at the start of `in`; how long it was. */
static size_t
unpack_member(struct task *t, struct str in, struct buf *out)
{
	enum libdeflate_result r;
	size_t used, n;

	buf_clear(out);
	buf_reserve(out, in.n);
	while ((r = libdeflate_gzip_decompress_ex(t->inflate, in.p, in.n,
	    out->p, out->cap, &used, &n)) == LIBDEFLATE_INSUFFICIENT_SPACE)
		buf_reserve(out, out->cap * 2);
	if (r != LIBDEFLATE_SUCCESS)
		fail("a member", "is damaged");
	out->n = n;
	return used;
}

static struct str
after_head(struct str s)
{
	return str_from(s, str_find(s, STR("\r\n\r\n")) + 4);
}

static void
take_record(struct task *t, struct str record)
{
	struct str packed = after_head(after_head(record));

	unpack_member(t, packed, &t->body);
	yyjson_doc *doc = yyjson_read(t->body.p, t->body.n, 0);
	if (doc == NULL)
		fail("an answer", "is no JSON");
	yyjson_doc_free(doc);
	t->answers++;
	t->bytes += t->body.n;
}

int
main(int argc, char **argv)
{
	struct task t = { .inflate = libdeflate_alloc_decompressor() };

	if (argc < 2) {
		fputs("usage: export_floor FILE...\n", stderr);
		return 64;
	}
	for (int i = 1; i < argc; i++) {
		struct str file = map_file(argv[i]), rest = file;
		while (rest.n > 0) {
			rest = str_from(rest, unpack_member(&t, rest,
			    &t.record));
			take_record(&t, buf_str(&t.record));
		}
		munmap((void *)(uintptr_t)file.p, file.n);
	}
	libdeflate_free_decompressor(t.inflate);
	buf_free(&t.record);
	buf_free(&t.body);
	printf("answers %llu bytes %llu\n", (unsigned long long)t.answers,
	    (unsigned long long)t.bytes);
	return 0;
}
