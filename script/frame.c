#include "script/frame.h"

static bool
is_known_kind(uint8_t kind)
{
	switch (kind) {
#define FRAME_CASE(id, letter, text) case letter:
	FRAME_KINDS(FRAME_CASE)
#undef FRAME_CASE
		return true;
	default:
		return false;
	}
}

void
frame_reader_init(struct frame_reader *r, size_t message_bytes_max)
{
	*r = (struct frame_reader){ .message_bytes_max = message_bytes_max };
}

void
frame_reader_free(struct frame_reader *r)
{
	buf_free(&r->bytes);
	buf_free(&r->parts);
	buf_free(&r->whole);
}

void *
frame_room(struct frame_reader *r, size_t n)
{
	/* What was used goes, before the buffer grows. */
	if (r->at > 0) {
		memmove(r->bytes.p, r->bytes.p + r->at, r->bytes.n - r->at);
		r->bytes.n -= r->at;
		r->at = 0;
	}
	return buf_grow(&r->bytes, n);
}

void
frame_unroom(struct frame_reader *r, size_t n)
{
	CHECK(n <= r->bytes.n - r->at);
	r->bytes.n -= n;
	/* An idle process keeps no room for what it once read. */
	if (r->bytes.n == r->at && r->bytes.cap > FRAME_PART_BYTES) {
		buf_free(&r->bytes);
		r->at = 0;
	}
}

/* Split a whole message into its two halves. */
static enum err
open_message(struct frame_reader *r, uint8_t kind, struct message *m,
    struct why *w)
{
	struct reader in = reader_of(buf_str(&r->whole));
	uint32_t n = read_be32(&in);

	m->kind = (enum frame_kind)kind;
	m->json = read_bytes(&in, n);
	m->body = (struct str){ in.p, in.n };
	if (in.bad)
		return why(w, ERR_INPUT, "frame: its JSON is cut");
	return OK;
}

enum err
frame_next(struct frame_reader *r, struct message *m, bool *got,
    struct why *w)
{
	*got = false;
	for (;;) {
		struct reader in = reader_of(str_from(buf_str(&r->bytes),
		    r->at));
		uint32_t n = read_be32(&in);
		uint8_t kind = read_u8(&in);
		if (in.bad)
			return OK;
		if (n > FRAME_BYTES_MAX)
			return why(w, ERR_INPUT, "frame: %u bytes are too long",
			    n);
		if (!is_known_kind(kind))
			return why(w, ERR_INPUT, "frame: unknown kind %u",
			    kind);
		if (r->parts.n + n > r->message_bytes_max)
			return why(w, ERR_INPUT, "frame: the message is longer "
			    "than %zu bytes", r->message_bytes_max);
		struct str payload = read_bytes(&in, n);
		if (in.bad)
			return OK;
		buf_put_str(&r->parts, payload);
		r->at += FRAME_HEAD_BYTES + n;
		if (kind == FRAME_PART)
			continue;
		buf_free(&r->whole);
		r->whole = r->parts;
		r->parts = BUF_INIT;
		*got = true;
		return open_message(r, kind, m, w);
	}
}

static void
put_frame(struct buf *out, enum frame_kind kind, struct str payload)
{
	buf_put_be32(out, (uint32_t)payload.n);
	buf_put_char(out, (char)kind);
	buf_put_str(out, payload);
}

/* Cut what is too long for one frame into PARTs; the rest is returned. */
static struct str
put_parts(struct buf *out, struct str s)
{
	while (s.n > FRAME_PART_BYTES) {
		put_frame(out, FRAME_PART, str_cut(s, 0, FRAME_PART_BYTES));
		s = str_from(s, FRAME_PART_BYTES);
	}
	return s;
}

void
frame_put(struct buf *out, enum frame_kind kind, struct str json,
    struct str body)
{
	struct buf head = BUF_INIT;

	if (json.n + body.n + 4 <= FRAME_PART_BYTES) {
		/* The usual case, in one frame. */
		buf_put_be32(out, (uint32_t)(json.n + body.n + 4));
		buf_put_char(out, (char)kind);
		buf_put_be32(out, (uint32_t)json.n);
		buf_put_str(out, json);
		buf_put_str(out, body);
		return;
	}
	buf_put_be32(&head, (uint32_t)json.n);
	put_frame(out, FRAME_PART, buf_str(&head));
	buf_free(&head);
	struct str rest = put_parts(out, json);
	put_frame(out, FRAME_PART, rest);
	rest = put_parts(out, body);
	put_frame(out, kind, rest);
}
