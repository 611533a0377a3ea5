#include "engine/archive/capture.h"

#include <libdeflate.h>
#include <zlib.h>

#include "engine/archive/archive_port.h"
#include "wire/warc_read.h"

/* Buffers beyond this are given back after use. */
#define KEEP_BYTES ((size_t)4 << 20)
#define HEAD_LIMITS ((struct http_limits){ 1000, (size_t)1 << 20 })

struct capture_reader {
	size_t bytes_max;
	struct buf packed, unpacked;
	struct arena arena;
	struct libdeflate_decompressor *libdeflate;
	z_stream heads;            /* for a member's beginning */
	bool heads_open;
};

struct capture_reader *
capture_reader_new(size_t bytes_max)
{
	struct capture_reader *r = mem_new(sizeof(*r));

	r->bytes_max = bytes_max;
	r->libdeflate = libdeflate_alloc_decompressor();
	CHECK(r->libdeflate != NULL);
	return r;
}

void
capture_reader_free(struct capture_reader **rp)
{
	struct capture_reader *r = *rp;

	if (r == NULL)
		return;
	libdeflate_free_decompressor(r->libdeflate);
	if (r->heads_open)
		inflateEnd(&r->heads);
	buf_free(&r->packed);
	buf_free(&r->unpacked);
	arena_free(&r->arena);
	mem_free(rp);
}

/* Where the block's HTTP head ends; what has no end is all head. */
static void
split_http(struct capture *c, struct arena *a)
{
	struct str type = http_find(&c->warc, STR("content-type"));
	bool request = c->type == WARC_REQUEST;

	c->body = c->block;
	if (c->type != WARC_RESPONSE && c->type != WARC_REVISIT && !request &&
	    c->type != WARC_METADATA)
		return;
	if (!str_starts_nocase(type, STR("application/http")) &&
	    (c->type == WARC_METADATA || !str_starts(c->block, STR("HTTP/"))))
		return;
	if (http_parse_head(c->block, request, HEAD_LIMITS, a, &c->http,
	    NULL) != OK)
		return;
	c->has_http = true;
	c->http_bytes = str_cut(c->block, 0, c->http.n);
	c->body = str_from(c->block, c->http.n);
}

/* The block is what follows the head. */
static enum err
parse_warc_head(struct str record, struct arena *a, struct capture *c,
    struct why *w)
{
	size_t lf = str_find_char(record, '\n');

	c->version = warc_version(str_trim(str_cut(record, 0, lf)));
	if (c->version < 0)
		return why(w, ERR_CORRUPT, "no WARC record begins here");
	enum err err = http_parse_fields(str_from(record, lf + 1), HEAD_LIMITS,
	    a, &c->warc, w);
	if (err != OK)
		return err;
	c->block = str_from(record, lf + 1 + c->warc.n);
	c->type = warc_type_of(http_find(&c->warc, STR("WARC-Type")));
	c->id = warc_strip_brackets(http_find(&c->warc,
	    STR("WARC-Record-ID")));
	c->uri = warc_strip_brackets(http_find(&c->warc,
	    STR("WARC-Target-URI")));
	if (!wall_from_iso(http_find(&c->warc, STR("WARC-Date")), &c->date))
		c->date = (struct wall){ 0 };
	return OK;
}

/* `cut`: of the block only the beginning is there. */
static enum err
parse_record(struct str record, bool cut, struct arena *a, struct capture *c,
    struct why *w)
{
	uint64_t length;

	memset(c, 0, sizeof(*c));
	enum err err = parse_warc_head(record, a, c, w);
	if (err != OK)
		return err;
	if (!http_content_length(&c->warc, &length))
		return why(w, ERR_CORRUPT, "the record states no length");
	if (length > c->block.n && !cut)
		return why(w, ERR_CORRUPT, "the record is cut: %zu of %llu "
		    "bytes", c->block.n, (unsigned long long)length);
	if (length < c->block.n)
		c->block.n = (size_t)length;
	split_http(c, a);
	struct str facts = http_find(&c->warc, STR("Argiope-Capture"));
	c->has_facts = facts.n > 0 && warc_capture_parse(facts, &c->facts);
	return OK;
}

void
capture_of_answer(struct str head, struct str body, struct arena *a,
    struct capture *c)
{
	memset(c, 0, sizeof(*c));
	c->type = WARC_RESPONSE;
	c->body = body;
	c->has_http = http_parse_head(head, false, HEAD_LIMITS, a, &c->http,
	    NULL) == OK;
	c->http_bytes = head;
}

static enum err
too_big(const struct capture_reader *r, uint64_t n, struct why *w)
{
	return why(w, ERR_FULL, "a record of %llu bytes, the limit is %zu",
	    (unsigned long long)n, r->bytes_max);
}

static enum err
read_packed(struct capture_reader *r, int fd, uint64_t offset, size_t n,
    struct why *w)
{
	size_t got;

	buf_clear(&r->packed);
	enum err err = archive_port()->read_at(fd, offset,
	    buf_grow(&r->packed, n), n, &got, w);
	if (err == OK)
		r->packed.n = got;
	return err;
}

/* Unpack one member whose size may not be known; room is doubled. */
static enum err
inflate_member(struct capture_reader *r, uint64_t ulen, size_t *used,
    struct why *w)
{
	size_t room = ulen > 0 ? (size_t)ulen : MAX(4 * r->packed.n, 4096), n;

	for (;;) {
		buf_clear(&r->unpacked);
		buf_reserve(&r->unpacked, room);
		enum libdeflate_result d = libdeflate_gzip_decompress_ex(
		    r->libdeflate, r->packed.p, r->packed.n, r->unpacked.p,
		    room, used, &n);
		if (d == LIBDEFLATE_SUCCESS) {
			r->unpacked.n = n;
			return OK;
		}
		if (d != LIBDEFLATE_INSUFFICIENT_SPACE)
			return why(w, ERR_CORRUPT,
			    "the compressed record is damaged");
		if (room >= r->bytes_max)
			return too_big(r, (uint64_t)room + 1, w);
		room = MIN(2 * room, r->bytes_max);
	}
}

/* The record into `unpacked`; `head` is all 0 for a plain one. */
static enum err
read_record(struct capture_reader *r, int fd, uint64_t offset, uint64_t clen,
    uint64_t ulen, struct gzip_head *head, size_t *used, struct why *w)
{
	memset(head, 0, sizeof(*head));
	enum err err = read_packed(r, fd, offset, (size_t)clen, w);
	if (err != OK)
		return err;
	if (gzip_starts(buf_str(&r->packed))) {
		err = inflate_member(r, ulen, used, w);
		gzip_head_parse(buf_str(&r->packed), head);
		return err;
	}
	struct buf swap = r->unpacked;
	r->unpacked = r->packed;
	r->packed = swap;
	return OK;
}

enum err
capture_read(struct capture_reader *r, int fd, uint64_t offset, uint64_t clen,
    uint64_t ulen, struct capture *c, struct why *w)
{
	struct gzip_head head;
	size_t used;

	if (clen > r->bytes_max || ulen > r->bytes_max)
		return too_big(r, MAX(clen, ulen), w);
	arena_reset(&r->arena);
	if (r->packed.cap > KEEP_BYTES)
		buf_free(&r->packed);
	if (r->unpacked.cap > KEEP_BYTES)
		buf_free(&r->unpacked);
	enum err err = read_record(r, fd, offset, clen, ulen, &head, &used,
	    w);
	if (err == OK)
		err = parse_record(buf_str(&r->unpacked), false, &r->arena,
		    c, w);
	if (err != OK)
		return err;
	c->seq = head.seq;
	c->group = head.group;
	c->clen = (uint32_t)(head.n > 0 ? used : r->unpacked.n);
	c->ulen = (uint32_t)r->unpacked.n;
	return OK;
}

/* Unpack the member's first n bytes; false when it has no more or is damaged,
 * or the packed bytes in hand end before. */
static bool
inflate_begin(struct capture_reader *r, size_t n)
{
	z_stream *z = &r->heads;

	if (r->heads_open)
		inflateReset(z);
	else
		CHECK(inflateInit2(z, 15 + 16) == Z_OK);
	r->heads_open = true;
	buf_clear(&r->unpacked);
	z->next_in = (Bytef *)r->packed.p;
	z->avail_in = (uInt)r->packed.n;
	z->next_out = buf_grow(&r->unpacked, n);
	z->avail_out = (uInt)n;
	/* It keeps no window when it is told that this is all. */
	inflate(z, Z_FINISH);
	r->unpacked.n = n - z->avail_out;
	return z->avail_out == 0;
}

enum err
capture_read_heads(struct capture_reader *r, int fd, uint64_t offset,
    uint64_t clen, uint32_t head_bytes, struct capture *c, struct why *w)
{
	size_t n = (size_t)MIN(clen, (uint64_t)head_bytes + 512);

	if (head_bytes > r->bytes_max || clen > UINT32_MAX)
		return too_big(r, head_bytes, w);
	arena_reset(&r->arena);
	for (;;) {
		enum err err = read_packed(r, fd, offset, n, w);
		if (err != OK)
			return err;
		if (!gzip_starts(buf_str(&r->packed)))
			return capture_read(r, fd, offset, clen, 0, c, w);
		if (inflate_begin(r, head_bytes))
			break;
		if (n >= clen)
			return why(w, ERR_CORRUPT,
			    "the compressed record is damaged");
		n = (size_t)MIN(clen, 4 * (uint64_t)n);
	}
	enum err err = parse_record(buf_str(&r->unpacked), true, &r->arena, c,
	    w);
	c->body = STR_NONE;
	return err;
}

enum http_damage
capture_decode(const struct capture *c, struct http_decode_limits limits,
    struct buf *out)
{
	if (c->has_http)
		return http_decode_body(&c->http, c->body, limits, out);
	size_t n = (size_t)MIN(c->body.n, limits.bytes_max);
	buf_put(out, c->body.p, n);
	return n < c->body.n ? HTTP_TOO_LONG : HTTP_FINE;
}

/* --- in pieces ---------------------------------------------------------- */

/* One call decodes at most so many received bytes. */
#define STREAM_BYTES ((size_t)16 << 10)

struct capture_stream {
	struct archive_source source;
	struct warc_reader *reader;
	struct warc_entry entry;
	struct arena arena;
	struct capture heads;
	struct http_decoder *decoder;  /* NULL: the block is no HTTP message */
	struct buf first;              /* the block up to its HTTP body */
	struct str rest;               /* read and not yet decoded */
	struct http_decode_limits limits;
	uint64_t given;
	bool ended;
};

/* Gather block bytes until the HTTP head is whole; what is over stays. */
static void
stream_http(struct capture_stream *s)
{
	struct capture *c = &s->heads;
	struct str piece;

	if (c->type != WARC_RESPONSE && c->type != WARC_REVISIT &&
	    c->type != WARC_REQUEST)
		return;
	while (http_head_end(buf_str(&s->first)) == 0 &&
	    s->first.n < HEAD_LIMITS.bytes_max &&
	    warc_read_block(s->reader, &piece))
		buf_put_str(&s->first, piece);
	c->block = buf_str(&s->first);
	split_http(c, &s->arena);
	if (c->has_http)
		s->decoder = http_decoder_new(&c->http, s->limits);
	c->block = STR_NONE;
}

static void
stream_heads(struct capture_stream *s)
{
	struct warc_entry *e = &s->entry;
	struct capture *c = &s->heads;

	c->version = e->version;
	c->type = e->type;
	c->id = e->id;
	c->uri = e->uri;
	c->date = e->date;
	c->warc = e->head;
	c->seq = e->gzip.seq;
	c->group = e->gzip.group;
	struct str facts = warc_entry_field(e, STR("Argiope-Capture"));
	c->has_facts = facts.n > 0 && warc_capture_parse(facts, &c->facts);
	stream_http(s);
}

enum err
capture_stream_open(const char *path, uint64_t offset,
    struct http_decode_limits limits, struct capture_stream **out,
    struct why *w)
{
	struct capture_stream *s = mem_new(sizeof(*s));
	struct warc_damage d;
	enum err err;

	s->limits = limits;
	s->source.fd = -1;
	err = archive_source_open(path, &s->source, w);
	if (err != OK)
		goto out;
	s->reader = warc_reader_new(s->source.source,
	    WARC_READ_LIMITS_DEFAULT);
	if (warc_read_at(s->reader, offset, &s->entry, &d) !=
	    WARC_FOUND_RECORD) {
		err = why(w, ERR_CORRUPT, "%s at %llu: %s", path,
		    (unsigned long long)offset, warc_damage_text(d.cause));
		goto out;
	}
	stream_heads(s);
	s->rest = str_from(buf_str(&s->first),
	    s->heads.has_http ? s->heads.http.n : 0);
	*out = s;
	return OK;
out:
	capture_stream_close(&s);
	return err;
}

const struct capture *
capture_stream_heads(const struct capture_stream *s)
{
	return &s->heads;
}

void
capture_stream_raw(struct capture_stream *s, bool payload)
{
	http_decoder_free(&s->decoder);
	if (!payload)
		s->rest = buf_str(&s->first);
}

static enum http_damage
stream_put(struct capture_stream *s, struct str piece, struct buf *out)
{
	if (s->decoder != NULL)
		return http_decoder_feed(s->decoder, piece, out);
	size_t n = (size_t)MIN(piece.n, s->limits.bytes_max - s->given);
	buf_put(out, piece.p, n);
	s->given += n;
	return n < piece.n ? HTTP_TOO_LONG : HTTP_FINE;
}

/* More of the body as received; false at its end. */
static bool
stream_take(struct capture_stream *s, struct str *piece)
{
	if (s->rest.n == 0 && !warc_read_block(s->reader, &s->rest))
		return false;
	*piece = str_cut(s->rest, 0, STREAM_BYTES);
	s->rest = str_from(s->rest, piece->n);
	return true;
}

bool
capture_stream_next(struct capture_stream *s, struct buf *out,
    enum http_damage *damage)
{
	struct str piece = STR_NONE;
	struct warc_damage d;

	*damage = HTTP_FINE;
	if (s->ended)
		return false;
	if (stream_take(s, &piece)) {
		*damage = stream_put(s, piece, out);
		if (*damage != HTTP_TOO_LONG && *damage != HTTP_TOO_DENSE)
			return true;
		s->ended = true;
		return false;
	}
	s->ended = true;
	bool whole = warc_read_finish(s->reader, &s->entry, &d);
	if (s->decoder != NULL)
		*damage = http_decoder_end(s->decoder, out);
	if (!whole && *damage == HTTP_FINE)
		*damage = HTTP_CUT;
	return false;
}

void
capture_stream_close(struct capture_stream **sp)
{
	struct capture_stream *s = *sp;

	if (s == NULL)
		return;
	warc_reader_free(&s->reader);
	http_decoder_free(&s->decoder);
	archive_source_close(&s->source);
	buf_free(&s->first);
	arena_free(&s->arena);
	mem_free(sp);
}
