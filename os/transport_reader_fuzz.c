/*
 * Fed whole, or in pieces whose lengths the first bytes choose: the same head,
 * body and end.
 */
#include "os/transport_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct outcome {
	struct buf head, body;
	enum transport_read end;
	const char *wrong;
	size_t left;
	bool may_keep;
};

/* Returns false once nothing more is to be fed. */
static bool
take_piece(struct transport_reader *r, struct str *bytes, struct outcome *o)
{
	for (;;) {
		struct str part = STR_NONE;
		o->end = transport_reader_next(r, bytes, &part);
		if (o->end == TRANSPORT_READ_HEAD)
			buf_put_str(&o->head, buf_str(&r->head));
		else if (o->end == TRANSPORT_READ_BODY)
			buf_put_str(&o->body, part);
		else
			return o->end == TRANSPORT_READ_MORE;
	}
}

static void
read_all(struct str all, uint8_t flags, size_t step, struct outcome *o)
{
	struct transport_reader r = { .status = 0 };
	size_t at = 0;

	transport_reader_begin(&r, 2000, flags & 1, flags & 2);
	do {
		struct str bytes = str_cut(all, at, at + step);
		at += bytes.n;
		bool more = take_piece(&r, &bytes, o);
		o->left = all.n - at + bytes.n;
		if (!more)
			break;
		CHECK(bytes.n == 0);
	} while (at < all.n);
	o->wrong = r.wrong;
	o->may_keep = r.may_keep;
	transport_reader_free(&r);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct outcome whole = { .left = 0 }, parts = { .left = 0 };

	if (n < 2)
		return 0;
	struct str all = { (const char *)data + 2, n - 2 };
	read_all(all, data[0], n, &whole);
	read_all(all, data[0], 1 + data[1] % 16, &parts);
	CHECK(whole.end == parts.end);
	CHECK(str_eq(buf_str(&whole.head), buf_str(&parts.head)));
	/* Where it is wrong, the rest of the piece goes with it. */
	if (whole.end != TRANSPORT_READ_WRONG) {
		CHECK(str_eq(buf_str(&whole.body), buf_str(&parts.body)));
		CHECK(whole.left == parts.left);
		CHECK(whole.may_keep == parts.may_keep);
	}
	buf_free(&whole.head);
	buf_free(&whole.body);
	buf_free(&parts.head);
	buf_free(&parts.body);
	return 0;
}
