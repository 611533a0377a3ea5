#include "wire/http.h"

#include <brotli/decode.h>
#include <libdeflate.h>
#include <zlib.h>
#include <zstd.h>

#include "wire/gzip.h"

/*
 * A body runs through stages, one per coding: chunks first, the content coding
 * that was applied first last.  Each stage appends to its own buffer, which
 * the next one takes; the last one's is the caller's.
 */

#define STEP ((size_t)32 << 10)
/* RFC 9659: a window above 8 MiB is not for HTTP. */
#define ZSTD_WINDOW_LOG 23

enum coding { CHUNKED, GZIP, DEFLATE, BROTLI, ZSTD, UNKNOWN, IDENTITY };

/* ENDED: another member may follow; OVER: it does not. */
enum stage_state { START, RUNNING, PASSING, ENDED, OVER, FAILED };

struct stage {
	enum coding coding;
	enum stage_state state;
	enum http_damage damage;     /* the first that it met */
	uint64_t in_n, out_n;
	struct buf first;            /* bytes held back until START is over */
	struct buf out;              /* for the next stage */
	struct http_chunks chunks;
	union {
		z_stream zlib;
		BrotliDecoderState *brotli;
		ZSTD_DCtx *zstd;
	};
};

struct http_decoder {
	struct http_decode_limits limits;
	enum http_damage damage;     /* of no stage */
	size_t n;
	struct stage stages[HTTP_CODINGS_MAX];
};

bool
http_damage_cuts(enum http_damage d)
{
	return d != HTTP_FINE && d != HTTP_NOT_CHUNKED &&
	    d != HTTP_NOT_CODED && d != HTTP_UNKNOWN_CODING;
}

/* --- one stage ---------------------------------------------------------- */

/* Bytes that the stage may give.  Chunks before another coding are not longer
 * than what was received, and may be longer than what they mean. */
static uint64_t
most_of(const struct http_decoder *x, const struct stage *s)
{
	return s->coding == CHUNKED && s + 1 < x->stages + x->n ? UINT64_MAX :
	    x->limits.bytes_max;
}

/* How many more bytes the stage may give; what stops it then in `*d`. */
static uint64_t
room_of(const struct http_decoder *x, const struct stage *s,
    enum http_damage *d)
{
	uint64_t dense = s->in_n > UINT64_MAX / x->limits.ratio_max ?
	    UINT64_MAX : s->in_n * x->limits.ratio_max;
	uint64_t max = MAX(dense, HTTP_RATIO_FROM);

	*d = HTTP_TOO_DENSE;
	if (s->coding == CHUNKED || max >= x->limits.bytes_max) {
		*d = HTTP_TOO_LONG;
		max = most_of(x, s);
	}
	return max - MIN(max, s->out_n);
}

static void
note(struct stage *s, enum http_damage d)
{
	if (s->damage == HTTP_FINE)
		s->damage = d;
}

static void
fail(struct stage *s, enum http_damage d)
{
	s->state = FAILED;
	note(s, d);
}

/*
 * Damage in a stage makes damage in the ones behind it: the first stage's is
 * the cause, however the bytes were cut into pieces.
 */
static enum http_damage
cause(const struct http_decoder *x)
{
	for (size_t i = 0; i < MAX(x->n, 1); i++)
		if (x->stages[i].damage != HTTP_FINE)
			return x->stages[i].damage;
	return x->damage;
}

/* Copy through what is not coded, within the limits. */
static void
pass(struct http_decoder *x, struct stage *s, struct str in, struct buf *out)
{
	uint64_t most = most_of(x, s);
	size_t n = (size_t)MIN(most - MIN(most, s->out_n), in.n);

	buf_put(out, in.p, n);
	s->out_n += n;
	if (n < in.n)
		fail(s, HTTP_TOO_LONG);
}

static void
feed_chunks(struct http_decoder *x, struct stage *s, struct str in,
    struct buf *out)
{
	struct str whole = in;
	enum http_damage stop;
	size_t before = out->n;
	uint64_t room = room_of(x, s, &stop);
	enum http_chunks_found f = http_chunks_feed(&s->chunks, &in, out,
	    room > UINT64_MAX - before ? UINT64_MAX : before + room);

	s->out_n += out->n - before;
	if (f == HTTP_CHUNKS_END) {
		s->state = ENDED;
	} else if (f == HTTP_CHUNKS_MORE) {
		if (in.n > 0)
			fail(s, stop);
		else if (s->chunks.chunks == 0)
			buf_put_str(&s->first, whole);
	} else if (s->chunks.chunks == 0) {
		/* Not even a first chunk: the head told a lie. */
		note(s, HTTP_NOT_CHUNKED);
		s->state = PASSING;
		pass(x, s, buf_str(&s->first), out);
		if (s->state == PASSING)
			pass(x, s, whole, out);
		buf_free(&s->first);
	} else {
		fail(s, HTTP_BAD_CHUNK);
	}
}

/* One library call: take from `*in`, fill up to n bytes at `at`. */
enum step { STEP_MORE, STEP_END, STEP_BAD };

static enum step
step_zlib(struct stage *s, struct str *in, void *at, size_t *n)
{
	s->zlib.next_in = (Bytef *)(uintptr_t)in->p;
	s->zlib.avail_in = (uInt)MIN(in->n, (size_t)1 << 30);
	uInt given = s->zlib.avail_in;
	s->zlib.next_out = at;
	s->zlib.avail_out = (uInt)*n;
	int r = inflate(&s->zlib, Z_NO_FLUSH);
	*in = str_from(*in, given - s->zlib.avail_in);
	*n -= s->zlib.avail_out;
	if (r == Z_STREAM_END)
		return STEP_END;
	return r == Z_OK || r == Z_BUF_ERROR ? STEP_MORE : STEP_BAD;
}

static enum step
step_brotli(struct stage *s, struct str *in, void *at, size_t *n)
{
	size_t in_n = in->n, room = *n;
	const uint8_t *next = (const uint8_t *)in->p;
	uint8_t *to = at;
	BrotliDecoderResult r = BrotliDecoderDecompressStream(s->brotli, &in_n,
	    &next, &room, &to, NULL);

	*in = str_from(*in, in->n - in_n);
	*n -= room;
	if (r == BROTLI_DECODER_RESULT_SUCCESS)
		return STEP_END;
	return r == BROTLI_DECODER_RESULT_ERROR ? STEP_BAD : STEP_MORE;
}

static enum step
step_zstd(struct stage *s, struct str *in, void *at, size_t *n)
{
	ZSTD_inBuffer from = { in->p, in->n, 0 };
	ZSTD_outBuffer to = { at, *n, 0 };
	size_t r = ZSTD_decompressStream(s->zstd, &to, &from);

	*in = str_from(*in, from.pos);
	*n = to.pos;
	if (ZSTD_isError(r))
		return STEP_BAD;
	return r == 0 ? STEP_END : STEP_MORE;
}

static enum step
step(struct stage *s, struct str *in, void *at, size_t *n)
{
	if (s->coding == BROTLI)
		return step_brotli(s, in, at, n);
	if (s->coding == ZSTD)
		return step_zstd(s, in, at, n);
	return step_zlib(s, in, at, n);
}

/* Another member or frame behind the one that ended? */
static bool
starts_again(struct stage *s, struct str in)
{
	if (s->coding == GZIP && in.n >= 2 && memcmp(in.p, "\x1f\x8b", 2) == 0)
		return inflateReset(&s->zlib) == Z_OK;
	return s->coding == ZSTD && in.n >= 4 &&
	    memcmp(in.p, "\x28\xb5\x2f\xfd", 4) == 0;
}

/* Decode until `*in` is used up, the coded data ends, or a limit is met. */
static void
run(struct http_decoder *x, struct stage *s, struct str *in, struct buf *out)
{
	for (;;) {
		enum http_damage stop;
		uint64_t room = room_of(x, s, &stop);
		/* One byte more than allowed shows that there is more. */
		size_t n = room < STEP ? (size_t)room + 1 : STEP, asked = n;
		size_t before = in->n;
		buf_reserve(out, n);
		enum step r = step(s, in, out->p + out->n, &n);
		size_t keep = (size_t)MIN(n, room);
		out->n += keep;
		s->out_n += keep;
		if (n > room) {
			fail(s, stop);
			return;
		}
		if (r == STEP_BAD) {
			fail(s, HTTP_BAD_CODING);
			return;
		}
		if (r == STEP_END) {
			s->state = ENDED;
			return;
		}
		if (n == asked)
			continue;
		if (in->n == 0)
			return;
		if (n == 0 && in->n == before) {
			fail(s, HTTP_BAD_CODING);
			return;
		}
	}
}

/*
 * Look at the first bytes and make the decoder.  False: not coded like this.
 * Brotli has no mark; it is tried.
 */
static bool
start_stage(struct stage *s, struct str first)
{
	const uint8_t *p = (const uint8_t *)first.p;
	int window = 15;

	switch (s->coding) {
	case GZIP:
		if (first.n < 2 || p[0] != 0x1f || p[1] != 0x8b)
			return false;
		window = 15 + 16;
		break;
	case DEFLATE:
		/* Either zlib's wrapper or, with many servers, none. */
		if (first.n >= 2 && ((p[0] & 15) != 8 ||
		    ((unsigned)p[0] << 8 | p[1]) % 31 != 0))
			window = -15;
		break;
	case BROTLI:
		s->brotli = BrotliDecoderCreateInstance(NULL, NULL, NULL);
		CHECK(s->brotli != NULL);
		return true;
	case ZSTD:
		if (first.n < 4 || memcmp(p + 1, "\xb5\x2f\xfd", 3) != 0 ||
		    p[0] != 0x28)
			return false;
		s->zstd = ZSTD_createDCtx();
		CHECK(s->zstd != NULL);
		ZSTD_DCtx_setParameter(s->zstd, ZSTD_d_windowLogMax,
		    ZSTD_WINDOW_LOG);
		return true;
	default:
		return false;
	}
	memset(&s->zlib, 0, sizeof(s->zlib));
	CHECK(inflateInit2(&s->zlib, window) == Z_OK);
	return true;
}

static size_t
first_needed(enum coding c)
{
	return c == ZSTD ? 4 : c == BROTLI ? 1 : 2;
}

/*
 * Bytes behind the end: another member, or rubbish that is ignored.  Its first
 * bytes, held back until they can tell, never hold a whole member.
 */
static void
begin_again(struct http_decoder *x, struct stage *s, struct buf *out)
{
	struct buf first = s->first;
	struct str in = buf_str(&first);

	s->first = BUF_INIT;
	s->state = OVER;
	if (starts_again(s, in)) {
		s->state = RUNNING;
		run(x, s, &in, out);
	}
	buf_free(&first);
}

/* Begin with the bytes held back, coded or not. */
static void
begin(struct http_decoder *x, struct stage *s, struct buf *out)
{
	struct buf first = s->first;
	struct str in = buf_str(&first);

	s->first = BUF_INIT;
	if (start_stage(s, in)) {
		s->state = RUNNING;
		run(x, s, &in, out);
	} else {
		note(s, HTTP_NOT_CODED);
		s->state = PASSING;
		pass(x, s, in, out);
	}
	buf_free(&first);
}

/* Hold bytes back until there are enough to begin with. */
static bool
hold_back(struct stage *s, struct str *in)
{
	size_t need = first_needed(s->coding);
	size_t n = MIN(in->n, need - MIN(need, s->first.n));

	buf_put(&s->first, in->p, n);
	*in = str_from(*in, n);
	return s->first.n >= need;
}

static void
feed_coded(struct http_decoder *x, struct stage *s, struct str in,
    struct buf *out)
{
	while (in.n > 0)
		switch (s->state) {
		case START:
			if (hold_back(s, &in))
				begin(x, s, out);
			break;
		case RUNNING:
			run(x, s, &in, out);
			break;
		case ENDED:
			if (hold_back(s, &in))
				begin_again(x, s, out);
			break;
		case PASSING:
			pass(x, s, in, out);
			return;
		case OVER:
		case FAILED:
			return;
		}
}

static void
feed_stage(struct http_decoder *x, struct stage *s, struct str in,
    struct buf *out)
{
	s->in_n += in.n;
	if (s->coding != CHUNKED)
		feed_coded(x, s, in, out);
	else if (s->state == PASSING)
		pass(x, s, in, out);
	else if (s->state == START)
		feed_chunks(x, s, in, out);
}

static void
end_stage(struct http_decoder *x, struct stage *s, struct buf *out)
{
	if (s->state == START && s->coding == CHUNKED && s->first.n > 0 &&
	    s->chunks.chunks == 0) {
		/* Too short to be told from a chunk's size. */
		pass(x, s, buf_str(&s->first), out);
		note(s, HTTP_CUT);
		s->state = FAILED;
	}
	if (s->state == START && s->coding != CHUNKED && s->first.n > 0)
		begin(x, s, out);
	/* An empty body is no damage: HEAD, 304, and careless servers. */
	if (s->state == RUNNING || (s->state == START && s->in_n > 0))
		fail(s, HTTP_CUT);
}

static void
free_stage(struct stage *s)
{
	bool made = s->state != START && s->state != PASSING;

	if (made && (s->coding == GZIP || s->coding == DEFLATE))
		inflateEnd(&s->zlib);
	else if (made && s->coding == BROTLI)
		BrotliDecoderDestroyInstance(s->brotli);
	else if (made && s->coding == ZSTD)
		ZSTD_freeDCtx(s->zstd);
	buf_free(&s->first);
	buf_free(&s->out);
}

/* --- the chain ---------------------------------------------------------- */

static enum coding
coding_of(struct str s)
{
	static const struct {
		const char *name;
		enum coding coding;
	} names[] = {
		{ "chunked", CHUNKED }, { "gzip", GZIP }, { "x-gzip", GZIP },
		{ "deflate", DEFLATE }, { "br", BROTLI }, { "zstd", ZSTD },
		{ "identity", IDENTITY }, { "", IDENTITY },
		{ "none", IDENTITY },
	};
	size_t i = STR_ROW_NOCASE(s, names);

	return i < ARRAY_LEN(names) ? names[i].coding : UNKNOWN;
}

/* Codings are undone from the last to the first; false at one not known. */
static bool
add_codings(struct http_decoder *x, const struct http_head *h,
    struct str field)
{
	enum coding list[HTTP_CODINGS_MAX];
	size_t n = 0, at = 0;
	struct str value, part;

	while (http_next(h, field, &at, &value))
		while (str_split(&value, ',', &part)) {
			enum coding c = coding_of(str_trim(part));
			if (c == IDENTITY)
				continue;
			if (n == HTTP_CODINGS_MAX)
				return false;
			list[n++] = c;
		}
	while (n-- > 0) {
		bool twice = false;
		for (size_t i = 0; i < x->n; i++)
			twice |= x->stages[i].coding == list[n];
		/* "chunked, chunked" of careless proxies is one. */
		if (twice && list[n] == CHUNKED)
			continue;
		if (list[n] == UNKNOWN || x->n == HTTP_CODINGS_MAX)
			return false;
		x->stages[x->n++].coding = list[n];
	}
	return true;
}

struct http_decoder *
http_decoder_new(const struct http_head *h, struct http_decode_limits limits)
{
	struct http_decoder *x = mem_new(sizeof(*x));

	CHECK(limits.ratio_max > 0);
	x->limits = limits;
	if (!add_codings(x, h, STR("transfer-encoding")) ||
	    !add_codings(x, h, STR("content-encoding")))
		x->damage = HTTP_UNKNOWN_CODING;
	return x;
}

void
http_decoder_free(struct http_decoder **xp)
{
	struct http_decoder *x = *xp;

	if (x == NULL)
		return;
	for (size_t i = 0; i < x->n; i++)
		free_stage(&x->stages[i]);
	mem_free(xp);
}

static void
feed_from(struct http_decoder *x, size_t i, struct str in, struct buf *out)
{
	for (; i < x->n; i++) {
		struct stage *s = &x->stages[i];
		struct buf *to = i + 1 == x->n ? out : &s->out;
		if (i + 1 < x->n)
			buf_clear(to);
		feed_stage(x, s, in, to);
		in = i + 1 == x->n ? STR_NONE : buf_str(to);
		if (in.n == 0)
			return;
	}
}

/* No coding at all: a copy within the limit. */
static void
copy_plain(struct http_decoder *x, struct str raw, struct buf *out)
{
	struct stage *s = &x->stages[0];

	if (s->state != FAILED)
		pass(x, s, raw, out);
}

enum http_damage
http_decoder_feed(struct http_decoder *x, struct str raw, struct buf *out)
{
	if (raw.n > 0 && x->n == 0)
		copy_plain(x, raw, out);
	else if (raw.n > 0)
		feed_from(x, 0, raw, out);
	return cause(x);
}

enum http_damage
http_decoder_end(struct http_decoder *x, struct buf *out)
{
	for (size_t i = 0; i < x->n; i++) {
		struct stage *s = &x->stages[i];
		bool last = i + 1 == x->n;
		if (!last)
			buf_clear(&s->out);
		end_stage(x, s, last ? out : &s->out);
		if (!last && s->out.n > 0)
			feed_from(x, i + 1, buf_str(&s->out), out);
	}
	return cause(x);
}

/*
 * One gzip member that says truthfully how long it is: libdeflate takes a
 * third of zlib's time.  False: nothing was appended, use the stream.
 */
static bool
gzip_at_once(struct str raw, struct http_decode_limits limits,
    struct buf *out)
{
	const uint8_t *end = (const uint8_t *)raw.p + raw.n;
	size_t used, n;

	if (raw.n < 18 || memcmp(raw.p, "\x1f\x8b", 2) != 0)
		return false;
	uint64_t size = gzip_le32(end - 4);
	uint64_t dense = MAX((uint64_t)raw.n * limits.ratio_max,
	    HTTP_RATIO_FROM);
	if (size == 0 || size > limits.bytes_max || size > dense)
		return false;
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	CHECK(d != NULL);
	buf_reserve(out, (size_t)size);
	enum libdeflate_result r = libdeflate_gzip_decompress_ex(d, raw.p,
	    raw.n, out->p + out->n, (size_t)size, &used, &n);
	libdeflate_free_decompressor(d);
	if (r != LIBDEFLATE_SUCCESS || used != raw.n || n != size)
		return false;
	out->n += n;
	return true;
}

enum http_damage
http_decode_body(const struct http_head *h, struct str raw,
    struct http_decode_limits limits, struct buf *out)
{
	struct http_decoder *x = http_decoder_new(h, limits);
	enum http_damage d = x->damage;

	if (x->n == 1 && x->stages[0].coding == GZIP &&
	    gzip_at_once(raw, limits, out)) {
		http_decoder_free(&x);
		return d;
	}
	if (x->n == 2 && x->stages[0].coding == CHUNKED &&
	    x->stages[1].coding == GZIP) {
		/* The chunks alone first, then as above. */
		FREED(buf_free) struct buf joined = BUF_INIT;
		feed_stage(x, &x->stages[0], raw, &joined);
		end_stage(x, &x->stages[0], &joined);
		if (!gzip_at_once(buf_str(&joined), limits, out)) {
			feed_from(x, 1, buf_str(&joined), out);
			end_stage(x, &x->stages[1], out);
		}
	} else {
		http_decoder_feed(x, raw, out);
		http_decoder_end(x, out);
	}
	d = cause(x);
	http_decoder_free(&x);
	return d;
}
