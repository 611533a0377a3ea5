#include "engine/archive/index.h"

#include "engine/archive/archive_port.h"
#include "engine/archive/walk.h"
#include "engine/parser/url.h"

enum role { NOTHING, ANSWER, REQUEST };

/* A record's contribution to the index; its texts are in `arena`. */
struct facts {
	enum role role;
	struct arena arena;
	struct str uri, id, concurrent;
	struct wall date;
	struct str mime, digest, name;
	int status;
	struct str method, body;    /* of a request */
	uint64_t offset, length;
};

struct indexer {
	archive_line *line;
	void *arg;
	struct archive_index_counts *counts;
	struct facts now, before;   /* `before` waits for its other half */
	struct buf block, text;
	struct digest_hasher *hasher;
};

/* The SURT key of a URL, with a request's method and body. Memory: `a`. */
static struct str
surt_of(struct str url, struct str method, struct str body, struct arena *a)
{
	struct url u;

	if (method.n > 0 && !str_eq(method, STR("GET"))) {
		bool query = str_find_char(url, '?') < url.n;
		url = arena_printf(a, "%.*s%c__wb_method=%.*s%s%.*s",
		    STR_FMT(url), query ? '&' : '?', STR_FMT(method),
		    body.n > 0 ? "&" : "", STR_FMT(body));
	}
	if (url_parse(url, NULL, a, &u, NULL) != OK)
		return url;
	return url_surt(&u, a);
}

static enum err
emit(struct indexer *x, struct facts *f, const struct facts *request,
    struct why *w)
{
	struct cdxj_line l = {
		.url = f->uri, .mime = f->mime, .status = f->status,
		.digest = f->digest, .length = f->length,
	};

	if (request != NULL && !str_eq(request->method, STR("GET"))) {
		l.method = request->method;
		l.request_body = request->body;
	}
	l.surt = surt_of(f->uri, l.method, l.request_body, &f->arena);
	buf_clear(&x->text);
	cdxj_put_head(&x->text, &l, f->date);
	cdxj_put_tail(&x->text, f->offset, f->name);
	x->text.n--;
	x->counts->lines++;
	return x->line(x->arg, buf_str(&x->text), w);
}

/* Do these two make one exchange? */
static bool
pairs(const struct facts *a, const struct facts *b)
{
	if ((a->concurrent.n > 0 && str_eq(a->concurrent, b->id)) ||
	    (b->concurrent.n > 0 && str_eq(b->concurrent, a->id)))
		return true;
	return a->concurrent.n == 0 && b->concurrent.n == 0 &&
	    str_eq(a->uri, b->uri);
}

static void
forget(struct facts *f)
{
	struct arena keep = f->arena;

	arena_reset(&keep);
	*f = (struct facts){ .role = NOTHING, .arena = keep };
}

static enum err
flush(struct indexer *x, struct why *w)
{
	enum err err = OK;

	if (x->before.role == ANSWER)
		err = emit(x, &x->before, NULL, w);
	forget(&x->before);
	return err;
}

/* `now` is complete: pair it with what waits, or let it wait. */
static enum err
settle(struct indexer *x, struct why *w)
{
	struct facts *now = &x->now, *before = &x->before;
	enum err err;

	if (before->role != NOTHING && before->role != now->role &&
	    pairs(before, now)) {
		err = now->role == ANSWER ? emit(x, now, before, w) :
		    emit(x, before, now, w);
		forget(before);
		return err;
	}
	err = flush(x, w);
	struct facts swap = *before;
	*before = *now;
	*now = swap;
	return err;
}

static struct str
essence(struct str content_type, struct arena *a)
{
	struct http_media m = http_media_parse(content_type, a);

	return m.type.n > 0 ? m.type : STR("unk");
}

/* For files without payload digests: over what is left of the block. */
static void
hash_payload(struct indexer *x, struct warc_reader *r, size_t from,
    struct facts *f)
{
	struct digest d;
	struct str piece;
	char text[DIGEST_TEXT_MAX];

	digest_start(x->hasher, DIGEST_SHA1);
	digest_add(x->hasher, str_from(buf_str(&x->block), from));
	while (warc_read_block(r, &piece))
		digest_add(x->hasher, piece);
	digest_end(x->hasher, &d);
	size_t n = digest_to_text(&d, text);
	f->digest = arena_copy(&f->arena, (struct str){ text, n });
}

static void
read_answer(struct indexer *x, struct walk_visit *v, struct facts *f)
{
	struct warc_entry *e = v->entry;
	struct http_head head;
	size_t body_at = 0;

	f->role = ANSWER;
	f->digest = arena_copy(&f->arena, str_trim(warc_entry_field(e,
	    STR("WARC-Payload-Digest"))));
	struct str type = warc_entry_field(e, STR("Content-Type"));
	buf_clear(&x->block);
	if (e->type != WARC_RESOURCE && walk_http_head(v->reader, false, 0,
	    &x->block, &f->arena, &head)) {
		f->status = head.status;
		body_at = head.n;
		type = http_find(&head, STR("content-type"));
	}
	if (e->type == WARC_REVISIT)
		f->mime = STR(CDXJ_MIME_REVISIT);
	else
		f->mime = essence(type, &f->arena);
	if (f->digest.n == 0 && e->type != WARC_REVISIT)
		hash_payload(x, v->reader, body_at, f);
}

static void
read_request(struct indexer *x, struct walk_visit *v, struct facts *f)
{
	struct http_head head;
	FREED(buf_free) struct buf body = BUF_INIT;

	if (!walk_http_head(v->reader, true, CDXJ_POST_BYTES_MAX, &x->block,
	    &f->arena, &head))
		return;
	f->role = REQUEST;
	f->method = arena_copy(&f->arena, head.method);
	if (str_eq(f->method, STR("GET")))
		return;
	cdxj_put_request_body(&body, http_find(&head, STR("content-type")),
	    str_from(buf_str(&x->block), head.n));
	f->body = arena_copy(&f->arena, buf_str(&body));
}

/* Some writers leave blanks in URIs; a replay would not find them. */
static struct str
sound_uri(struct str uri, struct arena *a)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	if (str_find_char(uri, ' ') == uri.n)
		return arena_copy(a, uri);
	for (size_t i = 0; i < uri.n; i++)
		if (uri.p[i] == ' ')
			buf_put_text(&b, "%20");
		else
			buf_put_char(&b, uri.p[i]);
	return arena_copy(a, buf_str(&b));
}

static enum err
on_record(void *arg, struct walk_visit *v, struct why *w)
{
	struct indexer *x = arg;
	struct warc_entry *e = v->entry;
	struct facts *f = &x->now;

	(void)w;
	x->counts->records++;
	forget(f);
	if (e->uri.n == 0)
		return OK;
	f->uri = sound_uri(e->uri, &f->arena);
	f->id = arena_copy(&f->arena, e->id);
	f->concurrent = arena_copy(&f->arena, warc_strip_brackets(
	    warc_entry_field(e, STR("WARC-Concurrent-To"))));
	f->date = e->date;
	f->name = v->file->name;
	f->offset = e->offset;
	if (e->type == WARC_REQUEST)
		read_request(x, v, f);
	else if (e->type == WARC_RESPONSE || e->type == WARC_REVISIT ||
	    e->type == WARC_RESOURCE)
		read_answer(x, v, f);
	return OK;
}

static enum err
on_record_end(void *arg, struct walk_visit *v, bool whole, struct why *w)
{
	struct indexer *x = arg;

	if (!whole || x->now.role == NOTHING)
		return OK;
	if (v->entry->clen == 0) {
		x->counts->shared++;
		return OK;
	}
	x->now.length = v->entry->clen;
	return settle(x, w);
}

static enum err
on_damage(void *arg, const struct archive_file *file,
    const struct warc_damage *d, struct why *w)
{
	struct indexer *x = arg;

	(void)file, (void)d, (void)w;
	x->counts->damaged++;
	return OK;
}

static enum err
on_file(void *arg, const struct archive_file *file, bool begins,
    struct why *w)
{
	(void)file;
	return begins ? OK : flush(arg, w);
}

enum err
archive_index_lines(const struct archive_catalogue *c, archive_line *line,
    void *arg, struct archive_index_counts *counts, struct why *w)
{
	static const struct walk_events events = { on_file, on_record,
		on_record_end, on_damage, false };
	struct indexer x = { .line = line, .arg = arg, .counts = counts };

	memset(counts, 0, sizeof(*counts));
	x.hasher = digest_hasher_new();
	enum err err = walk_files(c, &events, &x, w);
	digest_hasher_free(&x.hasher);
	arena_free(&x.now.arena);
	arena_free(&x.before.arena);
	buf_free(&x.block);
	buf_free(&x.text);
	return err;
}

enum err
archive_index(const struct archive_catalogue *c, const char *scratch,
    size_t bytes_max, archive_line *line, void *arg,
    struct archive_index_counts *counts, struct why *w)
{
	FREED(sorter_free) struct sorter *s = sorter_new(scratch, bytes_max);
	enum err err = archive_index_lines(c, sorter_put, s, counts, w);

	return err == OK ? sorter_finish(s, line, arg, w) : err;
}

/* A file of lines that is written beside its place. */
struct part_file {
	struct line_file lines;
	struct arena arena;
	const char *path, *part;
};

static enum err
part_open(struct part_file *p, const char *path, struct why *w)
{
	*p = (struct part_file){ .path = path };
	p->part = arena_printf(&p->arena, "%s.part", path).p;
	return line_file_open(&p->lines, p->part, w);
}

/* Put it in its place; after `err`, remove it. */
static enum err
part_close(struct part_file *p, enum err err, struct why *w)
{
	enum err closed = line_file_close(&p->lines, err == OK, w);

	if (err == OK)
		err = closed;
	if (err == OK)
		err = archive_port()->replace(p->part, p->path, w);
	else if (archive_port()->remove(p->part, NULL) != OK)
		why(w, err, "and %s is left over", p->part);
	arena_free(&p->arena);
	return err;
}

enum err
archive_index_file(const struct archive_catalogue *c, const char *path,
    struct archive_index_counts *counts, struct why *w)
{
	struct part_file p;
	enum err err = part_open(&p, path, w);

	if (err == OK)
		err = archive_index(c, path, SORT_BYTES_MAX_DEFAULT,
		    line_file_put, &p.lines, counts, w);
	return part_close(&p, err, w);
}

/* --- from the lines that were written along ----------------------------- */

/* Is a capture left behind `from`, where the last line's record ends? */
static bool
captures_behind(struct archive_source *source, uint64_t from)
{
	FREED(warc_reader_free) struct warc_reader *r =
	    warc_reader_new(source->source,
	    WARC_READ_LIMITS_DEFAULT);
	struct warc_entry e;
	struct warc_damage d;
	bool found = false;

	enum warc_found f = from >= source->size ? WARC_FOUND_END :
	    warc_read_at(r, from, &e, &d);
	for (; f != WARC_FOUND_END && !found; f = warc_read_next(r, &e, &d))
		found = f == WARC_FOUND_DAMAGE || e.type == WARC_RESPONSE ||
		    e.type == WARC_REVISIT || e.type == WARC_RESOURCE;
	return found;
}

/*
 * Every line sound, inside the file, and the last capture among them.  A crash
 * leaves half a line, and lines of records that went with the file's tail:
 * these are left out.
 */
static bool
lines_are_sound(const struct archive_file *warc, struct str *lines)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct archive_source source;
	struct str rest = *lines, line;
	struct cdxj_line l;
	uint64_t end = 0;
	size_t n = 0;
	bool sound = true;

	while (sound && str_split(&rest, '\n', &line) && rest.p != NULL) {
		arena_reset(&a);
		/* Zeros are lines that a power cut took. */
		sound = memchr(line.p, 0, line.n) == NULL &&
		    cdxj_parse(line, &a, &l, NULL) == OK && l.length > 0 &&
		    str_eq(l.filename, warc->name);
		if (!sound || l.offset >= warc->size)
			break;
		sound = l.length <= warc->size - l.offset;
		end = MAX(end, l.offset + l.length);
		n = (size_t)(rest.p - lines->p);
	}
	lines->n = n;
	if (!sound || n == 0 ||
	    archive_source_open(warc->path, &source, NULL) != OK)
		return false;
	sound = !captures_behind(&source, end);
	archive_source_close(&source);
	return sound;
}

/* Sort the lines of `rest` into a file, without those that are there twice. */
static enum err
sort_lines(struct str rest, const char *path, struct why *w)
{
	struct str *lines = NULL, line;
	size_t n = 0, cap = 0;
	struct part_file p;

	while (rest.n > 0 && str_split(&rest, '\n', &line)) {
		lines = mem_room(lines, n, &cap, 1024, sizeof(*lines));
		lines[n++] = line;
	}
	if (n > 1)
		qsort(lines, n, sizeof(*lines), str_order);
	enum err err = part_open(&p, path, w);
	for (size_t i = 0; err == OK && i < n; i++)
		if (i == 0 || !str_eq(lines[i], lines[i - 1]))
			err = line_file_put(&p.lines, lines[i], w);
	mem_free(&lines);
	return part_close(&p, err, w);
}

/* Some 300 bytes a capture: a file of 1 GB has at most 100 MB of lines. */
#define LINES_BYTES_MAX ((size_t)512 << 20)

enum err
archive_cdxj_finish(const char *warc_path, const char *lines_path,
    const char *sorted_path, struct why *w)
{
	FREED(buf_free) struct buf bytes = BUF_INIT;
	struct archive_file warc = { .path = warc_path,
		.name = archive_base_name(str_of(warc_path)) };
	struct archive_catalogue c = { .files = &warc, .n = 1 };
	struct archive_index_counts counts;

	enum err err = archive_probe(warc_path, &warc.size, w);
	if (err != OK)
		return err;
	/* Without lines the index is made from the WARC itself. */
	if (archive_load(lines_path, LINES_BYTES_MAX, &bytes, NULL) != OK)
		buf_clear(&bytes);
	struct str lines = buf_str(&bytes);
	err = lines_are_sound(&warc, &lines) ?
	    sort_lines(lines, sorted_path, w) :
	    archive_index_file(&c, sorted_path, &counts, w);
	if (err == OK && archive_port()->remove(lines_path, NULL) == ERR_IO)
		err = why(w, ERR_IO, "cannot remove %s", lines_path);
	return err;
}
