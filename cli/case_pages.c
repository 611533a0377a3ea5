#include "cli/case_pages.h"

#include "cli/archive_files.h"
#include "os/file.h"

#define RECORD_BYTES_MAX CAPTURE_BYTES_MAX_DEFAULT

/* A record of a response or a revisit; NULL file: not found. */
struct page_row {
	const struct archive_file *file;
	uint64_t offset, clen, seq;
	uint32_t crawl, hop;
	bool is_revisit;
	struct wall date;
	struct str uri;
};

static struct page_row
row_of(const struct archive_row *r, struct arena *a)
{
	return (struct page_row){ .file = r->file, .offset = r->offset,
	    .clen = r->clen, .seq = r->seq, .crawl = r->facts.crawl,
	    .hop = r->facts.hop, .is_revisit = r->type == WARC_REVISIT,
	    .date = r->date, .uri = arena_copy(a, r->uri) };
}

static bool
is_answer(const struct archive_row *r)
{
	return r->damage == NULL && r->clen > 0 && r->has_facts &&
	    (r->type == WARC_RESPONSE || r->type == WARC_REVISIT);
}

/* Read a row's record; what it shows lives until the reader's next. */
static enum err
read_row(const struct page_row *row, struct capture_reader *reader,
    struct capture *c, struct why *w)
{
	struct archive_source s;
	enum err e = archive_source_open_file(row->file, &s, w);

	if (e != OK)
		return e;
	e = capture_read(reader, s.fd, row->offset, row->clen, 0, c, w);
	archive_source_close(&s);
	return e;
}

/* What a revisit refers to; false: its answer has no body (304). */
static bool
read_origin(const struct capture *c, struct arena *a, struct page_row *origin)
{
	struct str profile = http_find(&c->warc, STR("WARC-Profile"));

	*origin = (struct page_row){ .uri = arena_copy(a, http_find(&c->warc,
	    STR("WARC-Refers-To-Target-URI"))) };
	return c->type == WARC_REVISIT && str_eq(profile,
	    STR(WARC_PROFILE_SAME)) && origin->uri.n > 0 && wall_from_iso(
	    http_find(&c->warc, STR("WARC-Refers-To-Date")), &origin->date);
}

static bool
is_origin(const struct page_row *row, const struct page_row *origin)
{
	return !row->is_revisit && str_eq(row->uri, origin->uri) &&
	    row->date.us / US_PER_S == origin->date.us / US_PER_S;
}

/* -- Copied from the archive -- */

struct pages_copy {
	struct cli *cli;
	struct arena *arena;
	struct archive_catalogue files;
	struct page_row *wanted;     /* by crawl and number */
	size_t wanted_n;
	struct page_row *origins;    /* of revisits, by URL and date */
	size_t origins_n;
};

static void
want_capture(struct pages_copy *x, uint32_t crawl, uint64_t number)
{
	for (size_t i = 0; i < x->wanted_n; i++)
		if (x->wanted[i].crawl == crawl && x->wanted[i].seq == number)
			return;
	x->wanted[x->wanted_n++] = (struct page_row){ .crawl = crawl,
	    .seq = number };
}

static void
want_captures(struct pages_copy *x, const struct replay_record *r)
{
	uint32_t crawl;
	uint64_t number;

	x->wanted = ARENA_ARRAY(x->arena, struct page_row, r->calls_n + 1);
	x->origins = ARENA_ARRAY(x->arena, struct page_row, r->calls_n + 1);
	for (size_t i = 0; i < r->calls_n; i++)
		if (replay_record_capture(r->calls[i].capture, &crawl,
		    &number))
			want_capture(x, crawl, number);
}

/* The directories of the crawls, as far as they are where crawls have them;
 * else all of the archive. */
static enum err
list_files(struct pages_copy *x, struct why *w)
{
	struct cli *c = x->cli;
	const char **dirs = ARENA_ARRAY(x->arena, const char *, x->wanted_n);

	for (size_t i = 0; i < x->wanted_n; i++) {
		dirs[i] = arena_printf(x->arena, "%s/archive/crawl-%u",
		    c->data_dir, x->wanted[i].crawl).p;
		if (!cli_is_there(dirs[i]))
			return archive_files(c, c->options.operands_n, true,
			    &x->files, w);
		for (size_t k = 0; k < i; k++)
			if (strcmp(dirs[k], dirs[i]) == 0)
				dirs[i] = dirs[k];
	}
	return archive_list(dirs, x->wanted_n, true, x->arena, &x->files, w);
}

static enum err
take_row(void *arg, const struct archive_row *r, struct why *w)
{
	struct pages_copy *x = arg;

	(void)w;
	if (!is_answer(r))
		return OK;
	for (size_t i = 0; i < x->wanted_n; i++) {
		struct page_row *p = &x->wanted[i];
		if (p->crawl == r->facts.crawl && p->seq == r->seq &&
		    (p->file == NULL || r->facts.hop >= p->hop))
			*p = row_of(r, x->arena);
	}
	return OK;
}

static enum err
take_origin(void *arg, const struct archive_row *r, struct why *w)
{
	struct pages_copy *x = arg;
	struct page_row row = row_of(r, x->arena);

	(void)w;
	for (size_t i = 0; i < x->origins_n && is_answer(r); i++)
		if (x->origins[i].file == NULL && is_origin(&row,
		    &x->origins[i]))
			x->origins[i] = row;
	return OK;
}

static enum err
check_found(const struct pages_copy *x, struct why *w)
{
	for (size_t i = 0; i < x->wanted_n; i++)
		if (x->wanted[i].file == NULL)
			return why(w, ERR_ABSENT, "the archive has no answer "
			    "%u:%llu any more", x->wanted[i].crawl,
			    (unsigned long long)x->wanted[i].seq);
	for (size_t i = 0; i < x->origins_n; i++)
		if (x->origins[i].file == NULL)
			return why(w, ERR_ABSENT, "the archive has no body of "
			    "%.*s any more", STR_FMT(x->origins[i].uri));
	return OK;
}

static enum err
find_origins(struct pages_copy *x, struct why *w)
{
	struct capture_reader *reader = capture_reader_new(RECORD_BYTES_MAX);
	struct capture c;
	enum err e = OK;

	for (size_t i = 0; i < x->wanted_n && e == OK; i++) {
		if (!x->wanted[i].is_revisit)
			continue;
		e = read_row(&x->wanted[i], reader, &c, w);
		if (e == OK && read_origin(&c, x->arena,
		    &x->origins[x->origins_n]))
			x->origins_n++;
	}
	capture_reader_free(&reader);
	return e == OK && x->origins_n > 0 ? archive_rows(&x->files,
	    take_origin, x, w) : e;
}

static enum err
copy_row(const struct page_row *row, struct buf *out, struct why *w)
{
	struct archive_source s;
	size_t got = 0;

	if (row->clen > RECORD_BYTES_MAX)
		return why(w, ERR_FULL, "the answer of %.*s is too long",
		    STR_FMT(row->uri));
	enum err e = archive_source_open_file(row->file, &s, w);
	if (e != OK)
		return e;
	buf_reserve(out, row->clen);
	e = file_read(s.fd, row->offset, out->p + out->n, row->clen, &got, w);
	archive_source_close(&s);
	if (e == OK && got < row->clen)
		e = why(w, ERR_CORRUPT, "%s is cut off", row->file->path);
	out->n += got;
	return e;
}

static enum err
copy_rows(const struct page_row *rows, size_t n, struct buf *out,
    struct why *w)
{
	enum err e = OK;

	for (size_t i = 0; i < n && e == OK; i++)
		e = copy_row(&rows[i], out, w);
	return e;
}

enum err
case_pages_copy(struct cli *c, const struct replay_record *r, struct buf *out,
    struct why *w)
{
	struct pages_copy x = { .cli = c, .arena = &c->arena };

	want_captures(&x, r);
	if (x.wanted_n == 0)
		return OK;
	enum err e = list_files(&x, w);
	if (e == OK)
		e = archive_rows(&x.files, take_row, &x, w);
	if (e == OK)
		e = check_found(&x, w);
	if (e == OK)
		e = find_origins(&x, w);
	if (e == OK)
		e = check_found(&x, w);
	if (e == OK)
		e = copy_rows(x.wanted, x.wanted_n, out, w);
	return e == OK ? copy_rows(x.origins, x.origins_n, out, w) : e;
}

/* -- Read from a case -- */

struct case_pages {
	struct archive_catalogue files;
	struct page_row *rows;
	size_t n, cap;
	struct capture_reader *reader;
	struct arena arena;
};

static enum err
add_row(void *arg, const struct archive_row *r, struct why *w)
{
	struct case_pages *p = arg;

	(void)w;
	if (!is_answer(r))
		return OK;
	p->rows = arena_grow(&p->arena, p->rows, p->n, &p->cap, 16,
	    sizeof(*p->rows));
	p->rows[p->n++] = row_of(r, &p->arena);
	return OK;
}

enum err
case_pages_open(const char *path, struct case_pages **out, struct why *w)
{
	struct case_pages *p = *out = mem_new(sizeof(*p));

	p->reader = capture_reader_new(RECORD_BYTES_MAX);
	if (!cli_is_there(path))
		return OK;
	enum err e = archive_list(&path, 1, false, &p->arena, &p->files, w);
	return e == OK ? archive_rows(&p->files, add_row, p, w) : e;
}

void
case_pages_free(struct case_pages **pp)
{
	struct case_pages *p = *pp;

	if (p == NULL)
		return;
	capture_reader_free(&p->reader);
	arena_free(&p->arena);
	mem_free(pp);
}

static const struct page_row *
find_capture(const struct case_pages *p, uint32_t crawl, uint64_t number)
{
	const struct page_row *best = NULL;

	for (size_t i = 0; i < p->n; i++) {
		const struct page_row *row = &p->rows[i];
		if (row->crawl == crawl && row->seq == number &&
		    (best == NULL || row->hop >= best->hop))
			best = row;
	}
	return best;
}

static void
take_head(const struct capture *c, struct replay_need *need)
{
	struct http_field *fields = ARENA_ARRAY(&need->arena,
	    struct http_field, c->http.fields_n + 1);

	for (size_t i = 0; i < c->http.fields_n; i++) {
		fields[i].name = arena_copy(&need->arena,
		    c->http.fields[i].name);
		fields[i].value = arena_copy(&need->arena,
		    c->http.fields[i].value);
	}
	need->status = c->http.status;
	need->fields = fields;
	need->fields_n = c->http.fields_n;
}

/* A revisit's is in the record that it refers to. */
static bool
use_origin(struct case_pages *p, struct capture *c)
{
	struct page_row origin;

	if (!read_origin(c, &p->arena, &origin))
		return true;
	for (size_t i = 0; i < p->n; i++)
		if (is_origin(&p->rows[i], &origin))
			return read_row(&p->rows[i], p->reader, c, NULL) ==
			    OK;
	return false;
}

void
case_pages_answer(struct case_pages *p, struct http_decode_limits limits,
    struct replay_need *need)
{
	const struct page_row *row = find_capture(p, need->crawl,
	    need->number);
	FREED(buf_free) struct buf body = BUF_INIT;
	struct capture c;

	if (row == NULL || read_row(row, p->reader, &c, NULL) != OK ||
	    !c.has_http)
		return;
	take_head(&c, need);
	if (!use_origin(p, &c))
		return;
	(void)capture_decode(&c, limits, &body);
	need->body = arena_copy(&need->arena, str_cut(buf_str(&body), 0,
	    (size_t)limits.bytes_max));
	need->found = true;
}
