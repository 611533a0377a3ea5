/* Fuzz: any bytes as a WARC file, read to the end and at a random offset. */
#include "wire/warc_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static enum err
fuzz_read(void *arg, uint64_t at, void *p, size_t n, size_t *got)
{
	const struct str *s = arg;
	struct str part = at >= s->n ? STR_NONE :
	    str_cut(*s, (size_t)at, (size_t)at + MIN(n, s->n - (size_t)at));

	if (part.n > 0)
		memcpy(p, part.p, part.n);
	*got = part.n;
	return OK;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str bytes = { (const char *)data, n }, piece;
	struct warc_read_limits limits = { { (uint64_t)1 << 22, 50 }, 4096,
		512, 20 };
	struct warc_reader *r = warc_reader_new((struct unpack_source){
	    fuzz_read, &bytes }, limits);
	struct warc_entry e;
	struct warc_damage d;
	enum warc_found f;
	uint64_t last = 0;
	size_t steps = 0;

	while ((f = warc_read_next(r, &e, &d)) != WARC_FOUND_END) {
		/* Reading always goes on, and never without end. */
		CHECK(++steps <= 4 * n + 16);
		if (f == WARC_FOUND_DAMAGE)
			continue;
		CHECK(e.offset >= last);
		last = e.offset;
		uint64_t got = 0;
		while (warc_read_block(r, &piece))
			got += piece.n;
		if (warc_read_finish(r, &e, &d))
			CHECK(got == e.length);
	}
	if (n > 0 && warc_read_at(r, data[0], &e, &d) == WARC_FOUND_RECORD)
		warc_read_finish(r, &e, &d);
	warc_reader_free(&r);
	return 0;
}
