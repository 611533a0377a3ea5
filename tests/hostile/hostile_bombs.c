/*
 * hostile_bombs -- bodies that become 10 GB, from pieces that are compressed
 * once and sent again and again.
 */
#include "tests/hostile/hostile.h"

#include <brotli/encode.h>
#include <zlib.h>

void
put_repeated(struct buf *b, const char *text, size_t times)
{
	size_t n = strlen(text);

	buf_reserve(b, n * times);
	for (size_t i = 0; i < times; i++)
		buf_put(b, text, n);
}

uint64_t
number_behind(const struct conn *c, const char *mark, uint64_t otherwise)
{
	size_t at = str_find(c->path, str_of(mark)) + strlen(mark);
	size_t end = at;
	uint64_t value;

	while (end < c->path.n && ascii_is_digit(c->path.p[end]))
		end++;
	return str_to_u64(str_cut(c->path, at, end), &value) ? value :
	    otherwise;
}

struct bomb {
	struct buf first, piece, last;
	uint64_t piece_bytes;      /* what one piece becomes */
};
static struct bomb gzip_bomb, gzip2_bomb, brotli_bomb, zstd_bomb;
static char zeros[1 << 20];

static void
deflate_into(z_stream *z, struct buf *out, const void *in, size_t n, int flush)
{
	z->next_in = (Bytef *)(uintptr_t)in;
	z->avail_in = (uInt)n;
	do {
		char *to = buf_grow(out, PIECE);
		z->next_out = (Bytef *)to;
		z->avail_out = PIECE;
		CHECK(deflate(z, flush) != Z_STREAM_ERROR);
		out->n -= z->avail_out;
	} while (z->avail_out == 0);
}

/*
 * After a full flush the next piece does not depend on what came before, so the
 * second one may stand any number of times.  The checksum at the end is wrong:
 * nobody should come that far.
 */
static void
make_gzip(struct bomb *b, struct str unit, unsigned times, uint64_t bytes)
{
	z_stream z = { .zalloc = NULL };

	CHECK(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9,
	    Z_DEFAULT_STRATEGY) == Z_OK);
	deflate_into(&z, &b->first, unit.p, unit.n, Z_FULL_FLUSH);
	for (unsigned i = 0; i < times; i++)
		deflate_into(&z, &b->piece, unit.p, unit.n,
		    i + 1 == times ? Z_FULL_FLUSH : Z_NO_FLUSH);
	deflate_into(&z, &b->last, "", 0, Z_FINISH);
	deflateEnd(&z);
	b->piece_bytes = bytes;
}

/* gzip within gzip: the inner pieces compress once more. */
static void
make_gzip2(void)
{
	struct bomb inner = { .piece_bytes = 0 };
	z_stream z = { .zalloc = NULL };
	struct bomb *b = &gzip2_bomb;

	make_gzip(&inner, (struct str){ zeros, sizeof(zeros) }, 1,
	    sizeof(zeros));
	CHECK(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9,
	    Z_DEFAULT_STRATEGY) == Z_OK);
	deflate_into(&z, &b->first, inner.first.p, inner.first.n, Z_FULL_FLUSH);
	for (int i = 0; i < 256; i++)
		deflate_into(&z, &b->piece, inner.piece.p, inner.piece.n,
		    i == 255 ? Z_FULL_FLUSH : Z_NO_FLUSH);
	deflate_into(&z, &b->last, inner.last.p, inner.last.n, Z_FINISH);
	deflateEnd(&z);
	b->piece_bytes = 256 * sizeof(zeros);
	buf_free(&inner.first);
	buf_free(&inner.piece);
	buf_free(&inner.last);
}

static void
brotli_into(BrotliEncoderState *s, struct buf *out, size_t megabytes)
{
	for (size_t i = 0; i < megabytes; i++) {
		BrotliEncoderOperation op = i + 1 == megabytes ?
		    BROTLI_OPERATION_FLUSH : BROTLI_OPERATION_PROCESS;
		const uint8_t *in = (const uint8_t *)zeros;
		size_t in_n = sizeof(zeros);
		do {
			uint8_t *to = buf_grow(out, PIECE);
			size_t room = PIECE;
			CHECK(BrotliEncoderCompressStream(s, op, &in_n, &in,
			    &room, &to, NULL));
			out->n -= room;
		} while (in_n > 0 || BrotliEncoderHasMoreOutput(s));
	}
}

static void
make_brotli(void)
{
	BrotliEncoderState *s = BrotliEncoderCreateInstance(NULL, NULL, NULL);
	struct bomb *b = &brotli_bomb;

	CHECK(s != NULL);
	BrotliEncoderSetParameter(s, BROTLI_PARAM_QUALITY, 5);
	brotli_into(s, &b->first, 1);
	brotli_into(s, &b->piece, 16);
	/* ISLAST and ISLASTEMPTY (RFC 7932 §9.2). */
	buf_put_char(&b->last, 3);
	b->piece_bytes = 16 * sizeof(zeros);
	BrotliEncoderDestroyInstance(s);
}

/*
 * RFC 8878 §3.1.1: a frame without a size, then blocks of 128 KiB that are one
 * repeated byte each.
 */
static void
make_zstd(void)
{
	struct bomb *b = &zstd_bomb;
	uint32_t block = 131072u << 3 | 1u << 1;

	buf_put(&b->first, "\x28\xb5\x2f\xfd\x00\x58", 6);
	for (int i = 0; i < 8; i++) {
		buf_put_char(&b->piece, (char)(block & 255));
		buf_put_char(&b->piece, (char)(block >> 8 & 255));
		buf_put_char(&b->piece, (char)(block >> 16 & 255));
		buf_put_char(&b->piece, '\0');
	}
	buf_put(&b->last, "\x01\x00\x00", 3);
	b->piece_bytes = 8 * 131072;
}

static bool
more_bomb(struct conn *c, const struct bomb *b)
{
	uint64_t pieces = number_behind(c, "?mb=", 10240) * (1 << 20) /
	    b->piece_bytes;

	for (size_t sent = 0; c->n < pieces && sent < PIECE;
	    sent += b->piece.n, c->n++)
		buf_put(&c->out, b->piece.p, b->piece.n);
	if (c->n < pieces)
		return true;
	buf_put(&c->out, b->last.p, b->last.n);
	return false;
}

static void
begin_bomb(struct conn *c, const char *coding, const struct bomb *b)
{
	buf_printf(&c->out, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
	    "Content-Encoding: %s\r\nConnection: close\r\n\r\n", coding);
	buf_put(&c->out, b->first.p, b->first.n);
	c->then = CLOSE;
}

#define BOMB(name, coding)                                                   \
	static bool                                                          \
	more_##name(struct conn *c)                                          \
	{                                                                    \
		return more_bomb(c, &name##_bomb);                           \
	}                                                                    \
	void                                                                 \
	begin_##name(struct conn *c)                                         \
	{                                                                    \
		begin_bomb(c, coding, &name##_bomb);                         \
		c->more = more_##name;                                       \
	}
BOMB(gzip, "gzip")
BOMB(gzip2, "gzip, gzip")
BOMB(brotli, "br")
BOMB(zstd, "zstd")

void
make_bombs(void)
{
	make_gzip(&gzip_bomb, (struct str){ zeros, sizeof(zeros) }, 1,
	    sizeof(zeros));
	make_gzip2();
	make_brotli();
	make_zstd();
}
