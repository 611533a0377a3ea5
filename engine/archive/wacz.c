#include "engine/archive/wacz.h"

#include <libdeflate.h>

#include "engine/archive/archive_port.h"
#include "engine/archive/capture.h"
#include "engine/archive/index.h"
#include "engine/archive/zip.h"
#include "engine/parser/parse.h"
#include "os/file.h"

#define COPY_BYTES ((size_t)1 << 20)
#define BLOCK_LINES 1024
#define BLOCK_LEVEL 6
/* A title stands near the start of a page. */
#define TITLE_BODY_BYTES ((uint64_t)256 << 10)

struct packing {
	const struct archive_catalogue *catalogue;
	const struct wacz_options *options;
	struct wacz_counts *counts;
	struct zip_writer *zip;
	struct digest_hasher *hasher;
	struct buf resources;         /* of datapackage.json */
	uint64_t entry_bytes;
	/* The index. */
	struct libdeflate_compressor *compressor;
	struct buf block, packed, idx, block_key;
	size_t block_lines;
	uint64_t index_at;
	char newest[15];              /* 14 digits of the last capture */
	/* Pages wait in a file until the index is done. */
	int pages_fd;
	uint64_t pages_n;
	struct buf page;
	struct capture_reader *reader;
	struct parser *parser;
	int warc_fd;                  /* of files[warc_at], for titles */
	size_t warc_at;
	struct arena arena;
};

static void
put_sha256(struct buf *b, const struct digest *d)
{
	buf_put_text(b, "sha256:");
	digest_put_hex(b, d->bytes, 32);
}

static enum err
entry_begin(struct packing *p, const char *folder, struct str name, bool big,
    struct why *w)
{
	FREED(buf_free) struct buf path = BUF_INIT;

	buf_put_text(&path, folder);
	buf_put_str(&path, name);
	if (p->resources.n > 0)
		buf_put_text(&p->resources, ",\n");
	buf_put_text(&p->resources, "    {\n      \"name\": ");
	cdxj_put_json(&p->resources, name);
	buf_put_text(&p->resources, ",\n      \"path\": ");
	cdxj_put_json(&p->resources, buf_str(&path));
	digest_start(p->hasher, DIGEST_SHA256);
	p->entry_bytes = 0;
	return zip_begin(p->zip, buf_str(&path), big, w);
}

static enum err
entry_put(struct packing *p, struct str s, struct why *w)
{
	digest_add(p->hasher, s);
	p->entry_bytes += s.n;
	return zip_put(p->zip, s, w);
}

static enum err
entry_end(struct packing *p, struct why *w)
{
	struct digest d;

	digest_end(p->hasher, &d);
	buf_put_text(&p->resources, ",\n      \"hash\": \"");
	put_sha256(&p->resources, &d);
	buf_printf(&p->resources, "\",\n      \"bytes\": %llu\n    }",
	    (unsigned long long)p->entry_bytes);
	return zip_end(p->zip, w);
}

static enum err
read_pages(void *arg, uint64_t at, void *to, size_t n, size_t *got)
{
	struct packing *p = arg;

	return file_read(p->pages_fd, at, to, n, got, NULL);
}

/* `size` bytes of an open file; one that shrinks meanwhile is an error. */
static enum err
copy_file(struct packing *p, struct unpack_source from, uint64_t size,
    const char *name, struct why *w)
{
	FREED(buf_free) struct buf piece = BUF_INIT;
	enum err err = OK;

	for (uint64_t at = 0; at < size && err == OK;) {
		size_t n = (size_t)MIN(COPY_BYTES, size - at), got;
		buf_clear(&piece);
		err = from.read(from.arg, at, buf_grow(&piece, n), n, &got);
		if (err != OK)
			err = why(w, err, "cannot read %s: %s", name,
			    err_text(err));
		else if (got < n)
			err = why(w, ERR_IO, "%s was cut while it was read",
			    name);
		if (err == OK)
			err = entry_put(p, buf_str(&piece), w);
		at += n;
	}
	return err;
}

static enum err
put_archive(struct packing *p, const struct archive_file *f, struct why *w)
{
	struct archive_source source;
	enum err err = archive_source_open(f->path, &source, w);

	if (err != OK)
		return err;
	err = entry_begin(p, "archive/", f->name,
	    source.size >= UINT32_MAX, w);
	if (err == OK)
		err = copy_file(p, source.source, source.size, f->path, w);
	if (err == OK)
		err = entry_end(p, w);
	archive_source_close(&source);
	p->counts->files++;
	return err;
}

/* One gzip member of the index, and its line in the block list. */
static enum err
block_end(struct packing *p, struct why *w)
{
	struct digest d;

	if (p->block_lines == 0)
		return OK;
	size_t room = libdeflate_gzip_compress_bound(p->compressor,
	    p->block.n);
	buf_clear(&p->packed);
	p->packed.n = libdeflate_gzip_compress(p->compressor, p->block.p,
	    p->block.n, buf_grow(&p->packed, room), room);
	CHECK(p->packed.n != 0);
	digest_of(DIGEST_SHA256, buf_str(&p->packed), &d);
	buf_put_str(&p->idx, buf_str(&p->block_key));
	buf_printf(&p->idx, " {\"offset\": %llu, \"length\": %zu, "
	    "\"digest\": \"", (unsigned long long)p->index_at, p->packed.n);
	put_sha256(&p->idx, &d);
	buf_put_text(&p->idx, "\", \"filename\": \"index.cdx.gz\"}\n");
	p->index_at += p->packed.n;
	buf_clear(&p->block);
	p->block_lines = 0;
	return entry_put(p, buf_str(&p->packed), w);
}

static bool
is_page(const struct cdxj_line *l)
{
	return l->status == 200 && l->method.n == 0 &&
	    (str_eq(l->mime, STR("text/html")) ||
	    str_eq(l->mime, STR("application/xhtml+xml")));
}

/* The WARC of that name, opened once for the captures that follow. */
static enum err
open_warc(struct packing *p, struct str name, struct why *w)
{
	const struct archive_catalogue *c = p->catalogue;
	size_t low = 0, high = c->n;

	if (p->warc_fd >= 0 && str_eq(c->files[p->warc_at].name, name))
		return OK;
	while (low < high) {
		size_t mid = (low + high) / 2;
		if (str_cmp(c->files[mid].name, name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == c->n || !str_eq(c->files[low].name, name))
		return why(w, ERR_ABSENT, "no such WARC");
	archive_port()->close(&p->warc_fd);
	p->warc_at = low;
	return archive_port()->open(c->files[low].path, &p->warc_fd, w);
}

/* Empty when the page has none or cannot be read: a title is no must. */
static struct str
title_of(struct packing *p, const struct cdxj_line *l)
{
	struct http_decode_limits limits = { TITLE_BODY_BYTES, 250 };
	struct parse_output out;
	struct capture c;
	struct url url;
	FREED(buf_free) struct buf body = BUF_INIT;
	struct str title = STR_NONE;

	if (!p->options->titles || open_warc(p, l->filename, NULL) != OK ||
	    capture_read(p->reader, p->warc_fd, l->offset, l->length, 0, &c,
	    NULL) != OK || url_parse(l->url, NULL, &p->arena, &url, NULL) !=
	    OK)
		return STR_NONE;
	capture_decode(&c, limits, &body);
	struct parse_input in = {
		.body = buf_str(&body), .url = &url, .links_max = 1,
		.content_type = http_find(&c.http, STR("content-type")),
	};
	memset(&out, 0, sizeof(out));
	if (parse_document(p->parser, &in, &p->arena, &out, NULL) == OK)
		title = out.title;
	return title;
}

/* "20261120091816" as "2026-11-20T09:18:16Z". */
static void
put_time(struct buf *b, const char *t)
{
	buf_printf(b, "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", t, t + 4, t + 6, t + 8,
	    t + 10, t + 12);
}

/* The id names the capture, so that the same input gives the same ids. */
static void
put_page_id(struct buf *b, const struct cdxj_line *l)
{
	FREED(buf_free) struct buf name = BUF_INIT;
	struct digest d;

	buf_put_str(&name, l->time);
	buf_put_str(&name, l->url);
	digest_of(DIGEST_SHA256, buf_str(&name), &d);
	digest_put_hex(b, d.bytes, 11);
}

static enum err
put_page(struct packing *p, const struct cdxj_line *l, struct why *w)
{
	struct buf *b = &p->page;
	struct str title = title_of(p, l);

	buf_clear(b);
	buf_put_text(b, "{\"id\": \"");
	put_page_id(b, l);
	buf_put_text(b, "\", \"url\": ");
	cdxj_put_json(b, l->url);
	buf_put_text(b, ", \"ts\": \"");
	put_time(b, l->time.p);
	buf_put_char(b, '"');
	if (title.n > 0) {
		buf_put_text(b, ", \"title\": ");
		cdxj_put_json(b, title);
	}
	buf_put_text(b, "}\n");
	enum err err = file_write(p->pages_fd, p->pages_n, b->p, b->n, w);
	p->pages_n += b->n;
	p->counts->pages++;
	return err;
}

static enum err
on_line(void *arg, struct str line, struct why *w)
{
	struct packing *p = arg;
	struct cdxj_line l;
	enum err err;

	arena_reset(&p->arena);
	err = cdxj_parse(line, &p->arena, &l, w);
	if (err != OK)
		return err;
	if (p->block_lines == 0) {
		buf_clear(&p->block_key);
		buf_put_str(&p->block_key, str_cut(line, 0,
		    l.surt.n + 1 + l.time.n));
	}
	buf_put_str(&p->block, line);
	buf_put_char(&p->block, '\n');
	p->counts->lines++;
	if (memcmp(l.time.p, p->newest, 14) > 0)
		memcpy(p->newest, l.time.p, 14);
	if (is_page(&l))
		err = put_page(p, &l, w);
	if (err == OK && ++p->block_lines == BLOCK_LINES)
		err = block_end(p, w);
	return err;
}

static enum err
put_index(struct packing *p, const char *scratch, struct why *w)
{
	struct archive_index_counts counts;
	enum err err;

	buf_put_text(&p->idx, "!meta 0 {\"format\": \"cdxj-gzip-1.0\", "
	    "\"filename\": \"index.cdx.gz\"}\n");
	err = entry_begin(p, "indexes/", STR("index.cdx.gz"), true, w);
	if (err == OK)
		err = archive_index(p->catalogue, scratch,
		    SORT_BYTES_MAX_DEFAULT, on_line, p, &counts, w);
	p->counts->damaged = err == OK ? counts.damaged : 0;
	if (err == OK)
		err = block_end(p, w);
	if (err == OK)
		err = entry_end(p, w);
	if (err == OK)
		err = entry_begin(p, "indexes/", STR("index.idx"), true, w);
	if (err == OK)
		err = entry_put(p, buf_str(&p->idx), w);
	return err == OK ? entry_end(p, w) : err;
}

static enum err
put_pages(struct packing *p, struct why *w)
{
	enum err err = entry_begin(p, "pages/", STR("pages.jsonl"), true, w);

	if (err == OK)
		err = entry_put(p, STR("{\"format\": \"json-pages-1.0\", "
		    "\"id\": \"pages\", \"title\": \"All Pages\"}\n"), w);
	if (err == OK)
		err = copy_file(p, (struct unpack_source){
		    read_pages, p }, p->pages_n, "pages", w);
	return err == OK ? entry_end(p, w) : err;
}

static void
put_text(struct buf *b, const char *name, struct str value)
{
	if (value.n == 0)
		return;
	buf_printf(b, ",\n  \"%s\": ", name);
	cdxj_put_json(b, value);
}

static void
put_package(struct packing *p, struct buf *b)
{
	const struct wacz_options *o = p->options;
	char digits[18];

	buf_put_text(b, "{\n  \"profile\": \"data-package\",\n"
	    "  \"wacz_version\": \"" WACZ_VERSION "\"");
	put_text(b, "software", o->software);
	put_text(b, "title", o->title);
	put_text(b, "description", o->description);
	put_text(b, "mainPageUrl", o->main_url);
	if (o->created.us != 0) {
		wall_to_digits(o->created, 14, digits);
		memcpy(p->newest, digits, 14);
	}
	buf_put_text(b, ",\n  \"created\": \"");
	put_time(b, p->newest);
	buf_put_text(b, "\",\n  \"resources\": [\n");
	buf_put_str(b, buf_str(&p->resources));
	buf_put_text(b, "\n  ]\n}\n");
}

/* The package and its digest are not among the resources. */
static enum err
put_plain(struct packing *p, struct str name, struct str bytes,
    struct why *w)
{
	enum err err = zip_begin(p->zip, name, false, w);

	if (err == OK)
		err = zip_put(p->zip, bytes, w);
	return err == OK ? zip_end(p->zip, w) : err;
}

static enum err
put_packages(struct packing *p, struct why *w)
{
	FREED(buf_free) struct buf package = BUF_INIT, digest = BUF_INIT;
	struct digest d;

	put_package(p, &package);
	digest_of(DIGEST_SHA256, buf_str(&package), &d);
	buf_put_text(&digest, "{\n  \"path\": \"datapackage.json\",\n"
	    "  \"hash\": \"");
	put_sha256(&digest, &d);
	buf_put_text(&digest, "\"\n}\n");
	enum err err = put_plain(p, STR("datapackage.json"),
	    buf_str(&package), w);
	return err == OK ? put_plain(p, STR("datapackage-digest.json"),
	    buf_str(&digest), w) : err;
}

static enum err
names_differ(const struct archive_catalogue *c, struct why *w)
{
	if (c->n == 0)
		return why(w, ERR_INPUT, "no WARC file was given");
	for (size_t i = 1; i < c->n; i++)
		if (str_eq(c->files[i].name, c->files[i - 1].name))
			return why(w, ERR_INPUT, "two files are named %s",
			    c->files[i].path);
	return OK;
}

/* All parts to the zip; `scratch` is where the index is sorted. */
static enum err
pack(struct packing *p, const char *scratch, struct why *w)
{
	enum err err = OK;

	for (size_t i = 0; i < p->catalogue->n && err == OK; i++)
		err = put_archive(p, &p->catalogue->files[i], w);
	if (err == OK)
		err = put_index(p, scratch, w);
	if (err == OK)
		err = put_pages(p, w);
	if (err == OK)
		err = put_packages(p, w);
	if (err == OK)
		err = zip_close(&p->zip, w);
	zip_abandon(&p->zip);
	return err;
}

/* `pages`: where lines of pages wait until the index is done. */
static enum err
packing_open(struct packing *p, const struct archive_catalogue *c,
    const struct wacz_options *o, struct wacz_counts *counts,
    const char *pages, struct why *w)
{
	*p = (struct packing){ .catalogue = c, .options = o, .counts = counts,
		.pages_fd = -1, .warc_fd = -1, .newest = "19700101000000" };
	memset(counts, 0, sizeof(*counts));
	p->hasher = digest_hasher_new();
	p->reader = capture_reader_new(CAPTURE_BYTES_MAX_DEFAULT);
	p->parser = parser_new();
	p->compressor = libdeflate_alloc_compressor(BLOCK_LEVEL);
	CHECK(p->compressor != NULL);
	enum err err = names_differ(c, w);
	if (err == OK)
		err = file_open(pages, FILE_CREATE, &p->pages_fd, w);
	return err == OK ? file_cut(p->pages_fd, 0, w) : err;
}

static void
packing_free(struct packing *p)
{
	file_close(&p->pages_fd);
	archive_port()->close(&p->warc_fd);
	digest_hasher_free(&p->hasher);
	capture_reader_free(&p->reader);
	parser_free(&p->parser);
	libdeflate_free_compressor(p->compressor);
	buf_free(&p->resources);
	buf_free(&p->block);
	buf_free(&p->packed);
	buf_free(&p->idx);
	buf_free(&p->block_key);
	buf_free(&p->page);
	arena_free(&p->arena);
}


enum err
wacz_write(const struct archive_catalogue *c, const char *path,
    const struct wacz_options *o, struct wacz_counts *counts, struct why *w)
{
	FREED(arena_free) struct arena names = ARENA_INIT;
	const char *part = arena_printf(&names, "%s.part", path).p;
	const char *pages = arena_printf(&names, "%s.pages", path).p;
	struct packing p;

	enum err err = packing_open(&p, c, o, counts, pages, w);
	if (err == OK)
		err = zip_open(part, &p.zip, w);
	if (err == OK)
		err = pack(&p, path, w);
	if (err == OK)
		err = file_rename_new(part, path, w);
	packing_free(&p);
	/* Scratch files that were never made are no loss. */
	if (err != OK)
		(void)!file_remove(part, NULL);
	(void)!file_remove(pages, NULL);
	return err;
}

enum err
wacz_send(const struct archive_catalogue *c, const char *scratch,
    const struct wacz_options *o,
    enum err (*put)(void *arg, struct str, struct why *), void *arg,
    struct wacz_counts *counts, struct why *w)
{
	FREED(arena_free) struct arena names = ARENA_INIT;
	const char *pages = arena_printf(&names, "%s.pages", scratch).p;
	struct packing p;

	enum err err = packing_open(&p, c, o, counts, pages, w);
	/* Only the descriptor is needed, which outlives its name. */
	(void)!file_remove(pages, NULL);
	if (err == OK) {
		p.zip = zip_open_sink(put, arg);
		err = pack(&p, scratch, w);
	}
	packing_free(&p);
	return err;
}
