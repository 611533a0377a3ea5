#include "engine/archive/check_cdxj.h"

#include "engine/archive/archive_port.h"
#include "engine/archive/index.h"

/* archive_cdxj_finish() reads no more lines either. */
#define CDXJ_BYTES_MAX ((size_t)512 << 20)

struct written_line {
	struct str text;
	uint64_t offset;          /* of the capture in the WARC file */
	size_t number;
	bool matched;
};

struct comparison {
	check_cdxj_fault *fault;
	void *arg;
	struct buf bytes;
	struct written_line *lines;   /* sorted by offset, then number */
	size_t n;
	struct arena arena;
};

static uint64_t
line_start(const struct comparison *c, struct str line)
{
	return (uint64_t)(line.p - (const char *)c->bytes.p);
}

static int
compare_offsets(const void *left, const void *right)
{
	const struct written_line *a = left, *b = right;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

static void
add_line(struct comparison *c, struct str line, size_t number)
{
	struct cdxj_line parsed;

	arena_reset(&c->arena);
	if (line.n == 0 || memchr(line.p, 0, line.n) != NULL ||
	    cdxj_parse(line, &c->arena, &parsed, NULL) != OK) {
		c->fault(c->arg, line_start(c, line), "line %zu is malformed",
		    number);
		return;
	}
	c->lines[c->n++] = (struct written_line){ line, parsed.offset, number,
		false };
}

static void
read_lines(struct comparison *c)
{
	struct str rest = buf_str(&c->bytes), before = STR_NONE;
	size_t count = 0, number = 0;

	for (size_t i = 0; i < rest.n; i++)
		count += rest.p[i] == '\n';
	c->lines = mem_array(count + 1, sizeof(*c->lines));
	while (rest.n > 0) {
		size_t end = str_find_char(rest, '\n');
		struct str line = str_cut(rest, 0, end);
		number++;
		if (end == rest.n)
			c->fault(c->arg, line_start(c, line),
			    "line %zu has no line end", number);
		add_line(c, line, number);
		if (number > 1 && str_cmp(before, line) > 0)
			c->fault(c->arg, line_start(c, line),
			    "line %zu is out of order", number);
		before = line;
		rest = str_from(rest, MIN(end + 1, rest.n));
	}
	qsort(c->lines, c->n, sizeof(*c->lines), compare_offsets);
}

/* The first line of the capture at `offset`, or NULL. */
static struct written_line *
find_line(struct comparison *c, uint64_t offset)
{
	size_t low = 0, high = c->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (c->lines[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < c->n && c->lines[low].offset == offset ?
	    &c->lines[low] : NULL;
}

/* The first member in which the two lines differ. */
static const char *
differing_member(const struct cdxj_line *a, const struct cdxj_line *b)
{
	return a->length != b->length ? "length" :
	    a->status != b->status ? "status" :
	    !str_eq(a->digest, b->digest) ? "digest" :
	    !str_eq(a->url, b->url) ? "url" :
	    !str_eq(a->time, b->time) ? "timestamp" :
	    !str_eq(a->mime, b->mime) ? "mime" :
	    !str_eq(a->filename, b->filename) ? "filename" :
	    !str_eq(a->surt, b->surt) ? "SURT" :
	    !str_eq(a->method, b->method) ? "method" :
	    !str_eq(a->request_body, b->request_body) ? "requestBody" :
	    "spelling";
}

static enum err
compare_line(void *arg, struct str expected, struct why *w)
{
	struct comparison *c = arg;
	struct cdxj_line want, have;

	arena_reset(&c->arena);
	enum err err = cdxj_parse(expected, &c->arena, &want, w);
	if (err != OK)
		return err;
	struct written_line *line = find_line(c, want.offset);
	if (line == NULL) {
		c->fault(c->arg, c->bytes.n,
		    "no line has the offset %llu of the capture of %.*s",
		    (unsigned long long)want.offset,
		    (int)MIN(want.url.n, 100), want.url.p);
		return OK;
	}
	line->matched = true;
	if (!str_eq(line->text, expected) &&
	    cdxj_parse(line->text, &c->arena, &have, NULL) == OK)
		c->fault(c->arg, line_start(c, line->text),
		    "line %zu: the %s is not that of the capture at %llu",
		    line->number, differing_member(&have, &want),
		    (unsigned long long)want.offset);
	return OK;
}

static void
report_unmatched(struct comparison *c)
{
	for (size_t i = 0; i < c->n; i++) {
		struct written_line *l = &c->lines[i];
		if (l->matched)
			continue;
		bool repeated = i > 0 && l[-1].offset == l->offset;
		c->fault(c->arg, line_start(c, l->text), repeated ?
		    "line %zu: another line has the offset %llu" :
		    "line %zu: no capture has the offset %llu", l->number,
		    (unsigned long long)l->offset);
	}
}

enum err
check_cdxj(const struct archive_file *file, const char *cdxj_path,
    check_cdxj_fault *fault, void *arg, struct why *w)
{
	struct comparison c = { .fault = fault, .arg = arg };
	struct archive_file one = *file;
	struct archive_catalogue catalogue = { .files = &one, .n = 1 };
	struct archive_index_counts counts;
	struct why own = WHY_INIT;

	enum err err = archive_load(cdxj_path, CDXJ_BYTES_MAX, &c.bytes,
	    &own);
	if (err == OK) {
		read_lines(&c);
		err = archive_index_lines(&catalogue, compare_line, &c,
		    &counts, w);
		if (err == OK)
			report_unmatched(&c);
	} else {
		if (err != ERR_ABSENT)
			c.fault(c.arg, 0, "%s", own.text);
		err = OK;
	}
	mem_free(&c.lines);
	arena_free(&c.arena);
	buf_free(&c.bytes);
	return err;
}
