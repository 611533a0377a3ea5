#include "wire/grpc/message.h"

#include <zlib.h>

#define SPARE_BYTES_MAX ((size_t)64 << 10)
#define GZIP_WINDOW_BITS (15 + 16)

struct message_gunzip {
	z_stream z;
	bool open;
	struct buf plain;
};

struct message_gunzip *
message_gunzip_new(void)
{
	return mem_new(sizeof(struct message_gunzip));
}

void
message_gunzip_free(struct message_gunzip **gp)
{
	if (*gp == NULL)
		return;
	if ((*gp)->open)
		inflateEnd(&(*gp)->z);
	buf_free(&(*gp)->plain);
	mem_free(gp);
}

static void
begin(struct message_gunzip *g, struct str packed)
{
	if (g->plain.cap > SPARE_BYTES_MAX)
		buf_free(&g->plain);
	buf_clear(&g->plain);
	if (g->open)
		CHECK(inflateReset(&g->z) == Z_OK);
	else
		CHECK(inflateInit2(&g->z, GZIP_WINDOW_BITS) == Z_OK);
	g->open = true;
	g->z.next_in = (Bytef *)(uintptr_t)packed.p;
	g->z.avail_in = (uInt)packed.n;
}

/* One gzip member, and nothing behind it. */
static enum message_found
unpack(struct message_gunzip *g, struct str packed, size_t bytes_max,
    struct str *message)
{
	int got;

	begin(g, packed);
	do {
		buf_reserve(&g->plain, MAX(packed.n * 3, 4096));
		size_t room = MIN(g->plain.cap, bytes_max + 1) - g->plain.n;
		g->z.next_out = (Bytef *)g->plain.p + g->plain.n;
		g->z.avail_out = (uInt)room;
		got = inflate(&g->z, Z_NO_FLUSH);
		g->plain.n += room - g->z.avail_out;
		if (g->plain.n > bytes_max)
			return MESSAGE_TOO_BIG;
	} while (got == Z_OK);
	if (got != Z_STREAM_END || g->z.avail_in > 0)
		return MESSAGE_BAD;
	*message = buf_str(&g->plain);
	return MESSAGE_HERE;
}

static size_t
length_of(const char *head)
{
	struct reader r = reader_of((struct str){ head + 1, 4 });

	return read_be32(&r);
}

static enum message_found
check_head(const struct message_reader *m, const char *head, size_t bytes_max)
{
	if (head[0] != 0 && (head[0] != 1 || !m->gzip))
		return MESSAGE_BAD;
	return length_of(head) > bytes_max ? MESSAGE_TOO_BIG : MESSAGE_HERE;
}

static enum message_found
hand_out(struct message_gunzip *g, const char *head, size_t bytes_max,
    struct str *message)
{
	struct str body = { head + MESSAGE_HEAD_BYTES, length_of(head) };

	if (head[0] == 1)
		return unpack(g, body, bytes_max, message);
	*message = body;
	return MESSAGE_HERE;
}

/* Move up to n bytes from `*more` to what is kept. */
static void
move(struct message_reader *m, struct str *more, size_t n)
{
	n = MIN(n, more->n);
	message_keep(m, str_cut(*more, 0, n));
	*more = str_from(*more, n);
}

/* The kept bytes are the beginning of a message, or all of it. */
static enum message_found
next_kept(struct message_reader *m, struct message_gunzip *g,
    size_t bytes_max, struct str *more, struct str *message)
{
	if (message_kept(m) < MESSAGE_HEAD_BYTES)
		move(m, more, MESSAGE_HEAD_BYTES - message_kept(m));
	if (message_kept(m) < MESSAGE_HEAD_BYTES)
		return MESSAGE_NONE;
	enum message_found found = check_head(m, m->in.p + m->at, bytes_max);
	if (found != MESSAGE_HERE)
		return found;
	size_t n = MESSAGE_HEAD_BYTES + length_of(m->in.p + m->at);
	if (message_kept(m) < n)
		move(m, more, n - message_kept(m));
	if (message_kept(m) < n)
		return MESSAGE_NONE;
	found = hand_out(g, m->in.p + m->at, bytes_max, message);
	m->at += n;
	return found;
}

enum message_found
message_next(struct message_reader *m, struct message_gunzip *g,
    size_t bytes_max, struct str *more, struct str *message)
{
	if (message_kept(m) > 0)
		return next_kept(m, g, bytes_max, more, message);
	message_clear(m);
	if (more->n >= MESSAGE_HEAD_BYTES) {
		const char *head = more->p;
		enum message_found found = check_head(m, head, bytes_max);
		if (found != MESSAGE_HERE)
			return found;
		size_t n = MESSAGE_HEAD_BYTES + length_of(head);
		if (n <= more->n) {
			*more = str_from(*more, n);
			return hand_out(g, head, bytes_max, message);
		}
	}
	move(m, more, more->n);
	return MESSAGE_NONE;
}

void
message_keep(struct message_reader *m, struct str s)
{
	/* Moved at most once for each byte that was used. */
	if (m->at > 0 && m->at >= m->in.n / 2) {
		m->in.n -= m->at;
		memmove(m->in.p, m->in.p + m->at, m->in.n);
		m->at = 0;
	}
	buf_put(&m->in, s.p, s.n);
}

size_t
message_kept(const struct message_reader *m)
{
	return m->in.n - m->at;
}

void
message_clear(struct message_reader *m)
{
	m->at = 0;
	if (m->in.cap > SPARE_BYTES_MAX)
		buf_free(&m->in);
	buf_clear(&m->in);
}

void
message_free(struct message_reader *m)
{
	buf_free(&m->in);
	m->at = 0;
}

void
message_put_head(struct buf *b, size_t n)
{
	char *head = buf_grow(b, MESSAGE_HEAD_BYTES);

	CHECK(n <= UINT32_MAX);
	head[0] = 0;
	head[1] = (char)(n >> 24);
	head[2] = (char)(n >> 16);
	head[3] = (char)(n >> 8);
	head[4] = (char)n;
}
