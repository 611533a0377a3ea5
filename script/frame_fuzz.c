/* Fed whole, or byte by byte: the same messages and the same end. */
#include "script/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct heard {
	struct buf messages;
	bool broken;
};

static void
take_messages(struct frame_reader *r, struct heard *h)
{
	struct message m;
	struct why w = WHY_INIT;
	bool got = true;

	while (got && !h->broken) {
		h->broken = frame_next(r, &m, &got, &w) != OK;
		if (h->broken || !got)
			continue;
		buf_put_char(&h->messages, (char)m.kind);
		buf_put_field(&h->messages, m.json);
		buf_put_field(&h->messages, m.body);
	}
}

static struct heard
read_in_steps(const uint8_t *data, size_t n, size_t step)
{
	struct frame_reader r;
	struct heard h = { .messages = BUF_INIT };

	frame_reader_init(&r, 4096);
	for (size_t at = 0; at < n && !h.broken; at += step) {
		size_t now = MIN(step, n - at);
		memcpy(frame_room(&r, now), data + at, now);
		take_messages(&r, &h);
	}
	frame_reader_free(&r);
	return h;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (n == 0)
		return 0;
	struct heard whole = read_in_steps(data, n, n);
	struct heard bytes = read_in_steps(data, n, 1);

	CHECK(whole.broken == bytes.broken);
	CHECK(str_eq(buf_str(&whole.messages), buf_str(&bytes.messages)));
	buf_free(&whole.messages);
	buf_free(&bytes.messages);
	return 0;
}
