#include "wire/unpack.h"

#include <zlib.h>
#include <zstd.h>

#define WINDOW ((size_t)64 << 10)
#define ZSTD_WINDOW_LOG 23
/* Enough for any sensible gzip head and the first bytes behind it. */
#define PROBE_BYTES 2048
#define ZSTD_MAGIC "\x28\xb5\x2f\xfd"
/* The skippable frame that holds a dictionary, little-endian. */
#define DICTIONARY_MAGIC "\x5d\x2a\x4d\x18"

struct unpack {
	struct unpack_source source;
	struct unpack_limits limits;
	enum unpack_kind kind;        /* of the member in hand; END: none */
	bool io_failed, ended;        /* ended: the member's last byte is out */
	enum unpack_found fault;      /* what unpack_peek() repeats */
	/* The file's bytes [raw_from, raw_from + raw_n); raw_at is next. */
	uint64_t raw_from;
	size_t raw_n, raw_at;
	uint64_t in_n, out_total;     /* of the member */
	size_t out_n, out_at;
	struct gzip_head head;
	z_stream zlib, probe;
	ZSTD_DCtx *zstd;
	struct buf dictionary;
	uint8_t raw[WINDOW], out[WINDOW];
};

struct unpack *
unpack_new(struct unpack_source source, struct unpack_limits limits)
{
	struct unpack *u = mem_new(sizeof(*u));

	u->source = source;
	u->limits = limits;
	CHECK(limits.ratio_max > 0);
	CHECK(inflateInit2(&u->zlib, 15 + 16) == Z_OK);
	CHECK(inflateInit2(&u->probe, 15 + 16) == Z_OK);
	return u;
}

void
unpack_free(struct unpack **up)
{
	struct unpack *u = *up;

	if (u == NULL)
		return;
	inflateEnd(&u->zlib);
	inflateEnd(&u->probe);
	ZSTD_freeDCtx(u->zstd);
	buf_free(&u->dictionary);
	mem_free(up);
}

void
unpack_seek(struct unpack *u, uint64_t at)
{
	u->kind = UNPACK_END;
	u->out_n = u->out_at = 0;
	if (at >= u->raw_from && at <= u->raw_from + u->raw_n) {
		u->raw_at = (size_t)(at - u->raw_from);
		return;
	}
	u->raw_from = at;
	u->raw_n = u->raw_at = 0;
}

uint64_t
unpack_at(const struct unpack *u)
{
	return u->raw_from + u->raw_at;
}

static size_t
source_read(struct unpack *u, uint64_t at, void *p, size_t n)
{
	size_t got = 0;

	if (u->io_failed || u->source.read(u->source.arg, at, p, n, &got) != OK)
		u->io_failed = true;
	return u->io_failed ? 0 : MIN(got, n);
}

size_t
unpack_raw(struct unpack *u, uint64_t at, void *p, size_t n)
{
	if (at >= u->raw_from && at < u->raw_from + u->raw_n &&
	    n <= u->raw_n - (at - u->raw_from)) {
		memcpy(p, u->raw + (at - u->raw_from), n);
		return n;
	}
	return source_read(u, at, p, n);
}

/* At least `want` bytes in the window, fewer only at the end. */
static struct str
raw_peek(struct unpack *u, size_t want)
{
	if (u->raw_n - u->raw_at < want) {
		memmove(u->raw, u->raw + u->raw_at, u->raw_n - u->raw_at);
		u->raw_from += u->raw_at;
		u->raw_n -= u->raw_at;
		u->raw_at = 0;
		u->raw_n += source_read(u, u->raw_from + u->raw_n,
		    u->raw + u->raw_n, WINDOW - u->raw_n);
	}
	return (struct str){ (const char *)u->raw + u->raw_at,
		u->raw_n - u->raw_at };
}

bool
unpack_skip_padding(struct unpack *u)
{
	bool zeros = false;

	for (;;) {
		struct str s = raw_peek(u, 1);
		size_t i = 0;
		for (; i < s.n && (s.p[i] == '\0' || s.p[i] == '\r' ||
		    s.p[i] == '\n'); i++)
			zeros |= s.p[i] == '\0';
		u->raw_at += i;
		if (s.n == 0 || i < s.n)
			return zeros;
	}
}

/* A dictionary may itself be one zstd frame (WARC zstd draft §5). */
static void
dictionary_unpack(struct unpack *u)
{
	struct buf plain = BUF_INIT;
	unsigned long long size = ZSTD_getFrameContentSize(u->dictionary.p,
	    u->dictionary.n);

	if (u->dictionary.n < 4 || memcmp(u->dictionary.p, ZSTD_MAGIC, 4) != 0)
		return;
	size_t room = size > UNPACK_DICTIONARY_MAX ? UNPACK_DICTIONARY_MAX :
	    (size_t)size;
	size_t n = ZSTD_decompress(buf_grow(&plain, room), room,
	    u->dictionary.p, u->dictionary.n);
	if (ZSTD_isError(n)) {
		buf_free(&plain);
		return;
	}
	plain.n = n;
	buf_free(&u->dictionary);
	u->dictionary = plain;
}

/* Take a skippable frame; the one with a dictionary at the file's start. */
static bool
skip_frame(struct unpack *u, struct str s)
{
	uint64_t start = unpack_at(u);
	uint32_t n = gzip_le32(s.p + 4);

	if (memcmp(s.p, DICTIONARY_MAGIC, 4) == 0 && start == 0 &&
	    n <= UNPACK_DICTIONARY_MAX) {
		buf_clear(&u->dictionary);
		size_t got = source_read(u, 8, buf_grow(&u->dictionary, n), n);
		if (got < n)
			return false;
		dictionary_unpack(u);
	}
	unpack_seek(u, start + 8 + n);
	return true;
}

static bool
is_skippable(struct str s)
{
	return s.n >= 8 && (gzip_le32(s.p) & 0xfffffff0u) == 0x184d2a50u;
}

static bool
zstd_start(struct unpack *u)
{
	if (u->zstd == NULL) {
		u->zstd = ZSTD_createDCtx();
		CHECK(u->zstd != NULL);
	}
	ZSTD_DCtx_reset(u->zstd, ZSTD_reset_session_and_parameters);
	ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG);
	return u->dictionary.n == 0 ||
	    !ZSTD_isError(ZSTD_DCtx_loadDictionary(u->zstd, u->dictionary.p,
	    u->dictionary.n));
}

enum unpack_kind
unpack_begin(struct unpack *u)
{
	struct str s = raw_peek(u, PROBE_BYTES);

	while (is_skippable(s)) {
		if (!skip_frame(u, s))
			return u->kind = UNPACK_STRANGE;
		s = raw_peek(u, PROBE_BYTES);
	}
	u->in_n = u->out_total = 0;
	u->out_n = u->out_at = 0;
	u->ended = false;
	u->fault = UNPACK_BYTES;
	memset(&u->head, 0, sizeof(u->head));
	if (s.n == 0) {
		u->kind = UNPACK_END;
	} else if (gzip_starts(s)) {
		gzip_head_parse(s, &u->head);
		inflateReset2(&u->zlib, 15 + 16);
		u->kind = UNPACK_GZIP;
	} else if (s.n >= 4 && memcmp(s.p, ZSTD_MAGIC, 4) == 0) {
		u->kind = zstd_start(u) ? UNPACK_ZSTD : UNPACK_STRANGE;
	} else if (str_starts_nocase(s, STR("WARC/"))) {
		u->kind = UNPACK_PLAIN;
	} else {
		u->kind = UNPACK_STRANGE;
	}
	return u->kind;
}

const struct gzip_head *
unpack_gzip_head(const struct unpack *u)
{
	return &u->head;
}

static enum unpack_found
step_gzip(struct unpack *u, struct str in, size_t *used)
{
	u->zlib.next_in = (Bytef *)(uintptr_t)in.p;
	u->zlib.avail_in = (uInt)in.n;
	u->zlib.next_out = u->out;
	u->zlib.avail_out = WINDOW;
	int r = inflate(&u->zlib, Z_NO_FLUSH);
	*used = in.n - u->zlib.avail_in;
	u->out_n = WINDOW - u->zlib.avail_out;
	u->ended = r == Z_STREAM_END;
	return r == Z_OK || r == Z_STREAM_END || r == Z_BUF_ERROR ?
	    UNPACK_BYTES : UNPACK_DAMAGED;
}

static enum unpack_found
step_zstd(struct unpack *u, struct str in, size_t *used)
{
	ZSTD_inBuffer from = { in.p, in.n, 0 };
	ZSTD_outBuffer to = { u->out, WINDOW, 0 };
	size_t r = ZSTD_decompressStream(u->zstd, &to, &from);

	*used = from.pos;
	u->out_n = to.pos;
	if (ZSTD_isError(r))
		return UNPACK_DAMAGED;
	u->ended = r == 0;
	return UNPACK_BYTES;
}

/* Unpack until there is a byte, the end, or a fault. */
static enum unpack_found
fill(struct unpack *u)
{
	while (u->out_n == 0 && !u->ended) {
		size_t used;
		struct str in = raw_peek(u, 1);
		if (u->io_failed)
			return UNPACK_IO;
		enum unpack_found f = u->kind == UNPACK_GZIP ?
		    step_gzip(u, in, &used) : step_zstd(u, in, &used);
		u->raw_at += used;
		u->in_n += used;
		u->out_total += u->out_n;
		if (f != UNPACK_BYTES)
			return f;
		if (u->out_total > u->limits.bytes_max ||
		    (u->out_total > UNPACK_RATIO_FROM &&
		    u->out_total / u->limits.ratio_max > u->in_n))
			return UNPACK_TOO_BIG;
		if (u->out_n == 0 && !u->ended && in.n == 0)
			return UNPACK_CUT;
	}
	return u->out_n > 0 ? UNPACK_BYTES : UNPACK_MEMBER_END;
}

enum unpack_found
unpack_peek(struct unpack *u, struct str *s)
{
	*s = STR_NONE;
	if (u->kind == UNPACK_PLAIN) {
		*s = raw_peek(u, 1);
		if (u->io_failed)
			return UNPACK_IO;
		return s->n > 0 ? UNPACK_BYTES : UNPACK_MEMBER_END;
	}
	if (u->kind != UNPACK_GZIP && u->kind != UNPACK_ZSTD)
		return UNPACK_MEMBER_END;
	if (u->out_at == u->out_n && u->fault == UNPACK_BYTES) {
		u->out_at = u->out_n = 0;
		u->fault = fill(u);
		/* What was unpacked before a fault is still good to have. */
		if (u->fault != UNPACK_BYTES && u->out_n > 0 &&
		    u->fault != UNPACK_TOO_BIG) {
			*s = (struct str){ (const char *)u->out, u->out_n };
			return UNPACK_BYTES;
		}
	}
	if (u->out_at < u->out_n && u->fault != UNPACK_TOO_BIG) {
		*s = (struct str){ (const char *)u->out + u->out_at,
			u->out_n - u->out_at };
		return UNPACK_BYTES;
	}
	return u->fault;
}

void
unpack_take(struct unpack *u, size_t n)
{
	if (u->kind == UNPACK_PLAIN) {
		CHECK(n <= u->raw_n - u->raw_at);
		u->raw_at += n;
	} else {
		CHECK(n <= u->out_n - u->out_at);
		u->out_at += n;
	}
}

static bool
is_warc(const char first[5])
{
	return str_eq_nocase((struct str){ first, 5 }, STR("WARC/"));
}

/* Does the member at the start of `s` unpack to "WARC/"? */
static bool
probe_gzip(struct unpack *u, struct str s)
{
	char first[5];

	inflateReset2(&u->probe, 15 + 16);
	u->probe.next_in = (Bytef *)(uintptr_t)s.p;
	u->probe.avail_in = (uInt)s.n;
	u->probe.next_out = (Bytef *)first;
	u->probe.avail_out = sizeof(first);
	int r = inflate(&u->probe, Z_SYNC_FLUSH);
	return (r == Z_OK || r == Z_STREAM_END) && u->probe.avail_out == 0 &&
	    is_warc(first);
}

static bool
probe_zstd(struct unpack *u, struct str s)
{
	char first[5];
	ZSTD_inBuffer from = { s.p, s.n, 0 };
	ZSTD_outBuffer to = { first, sizeof(first), 0 };

	if (!zstd_start(u))
		return false;
	while (to.pos < to.size && from.pos < from.size)
		if (ZSTD_isError(ZSTD_decompressStream(u->zstd, &to, &from)))
			return false;
	return to.pos == to.size && is_warc(first);
}

/* "WARC/1.1" and a line end, so that prose about WARC does not match. */
static bool
probe_plain(struct str s)
{
	return s.n >= 9 && str_starts_nocase(s, STR("WARC/")) &&
	    ascii_is_digit(s.p[5]) && s.p[6] == '.' &&
	    ascii_is_digit(s.p[7]) &&
	    (s.p[8] == '\r' || s.p[8] == '\n' || ascii_is_digit(s.p[8]));
}

static bool
probe(struct unpack *u, struct str s, bool line_start)
{
	switch (s.p[0]) {
	case 'W':
		return line_start && probe_plain(s);
	case '\x1f':
		return gzip_starts(s) && probe_gzip(u, s);
	case '\x28':
		return s.n >= 4 && memcmp(s.p, ZSTD_MAGIC, 4) == 0 &&
		    probe_zstd(u, str_cut(s, 0, PROBE_BYTES));
	default:
		return false;
	}
}

bool
unpack_find(struct unpack *u, uint64_t from, uint64_t *at)
{
	char before = '\n';

	unpack_seek(u, from);
	if (from > 0 && unpack_raw(u, from - 1, &before, 1) != 1)
		return false;
	for (;;) {
		struct str s = raw_peek(u, PROBE_BYTES);
		if (s.n == 0)
			return false;
		/* A probe wants room behind it, except at the very end. */
		size_t n = s.n > PROBE_BYTES ? s.n - PROBE_BYTES + 1 : s.n;
		for (size_t i = 0; i < n; i++) {
			bool line = before == '\n' || before == '\0';
			before = s.p[i];
			struct str here = str_cut(s, i, i + PROBE_BYTES);
			if ((before == 'W' || before == '\x1f' ||
			    before == '\x28') && probe(u, here, line)) {
				*at = u->raw_from + u->raw_at + i;
				unpack_seek(u, *at);
				return true;
			}
		}
		u->raw_at += n;
	}
}
