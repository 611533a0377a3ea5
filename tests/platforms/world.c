/* What the worlds of several platforms have in common. */
#include <stdarg.h>

#include "tests/platforms/platforms.h"

#define OVERLAP_N 3u

static const char *const phrases[] = {
	"A heron in the reeds.", "\xe5\xb1\xb1\xe3\x81\xae\xe5\x86\x99\xe7\x9c"
	"\x9f", "\xd9\x82\xd8\xb7\xd8\xa9 \xd8\xb5\xd8\xba\xd9\x8a\xd8\xb1\xd8"
	"\xa9", "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x9a\x80 \xf0\x9f\x93\xb7",
	"na\xc3\xafve and nai\xcc\x88ve", "<b>bold</b> & \"quoted\"",
	"two\nlines", "a tab\tand a \\", "=SUM(A1)", "comma, semicolon; end",
};

void
json_format(struct buf *b, const char *name, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_str(b, name, str_of(text));
}

const char *
world_phrase(uint64_t *random)
{
	return phrases[random_next(random) % ARRAY_LEN(phrases)];
}

void
json_phrases(struct buf *b, const char *name, uint64_t look, uint64_t big)
{
	FREED(buf_free) struct buf text = BUF_INIT;

	for (unsigned n = 1 + look % 4; n > 0; n--)
		buf_printf(&text, "%s ", world_phrase(&look));
	if (big > 0)
		memset(buf_grow(&text, big), 'x', big);
	json_str(b, name, buf_str(&text));
}

void
world_word(uint64_t *random, char *out, size_t n)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

	for (size_t i = 0; i < n; i++)
		out[i] = letters[random_next(random) % (sizeof(letters) - 1)];
	out[n] = '\0';
}

void
slice_cut(const struct fault *f, size_t all, size_t at, size_t most,
    struct slice *out)
{
	size_t back = f->page == PAGE_DUPLICATE ? most :
	    f->page == PAGE_OVERLAP ? OVERLAP_N : 0;

	at = MIN(at, all);
	out->next = f->page == PAGE_LOOP ? at : MIN(at + most, all);
	out->at = at - MIN(at, back);
	out->n = f->page == PAGE_EMPTY ? 0 : MIN(most, all - out->at);
	if (f->page == PAGE_OVERLAP)
		out->next = out->at + out->n;
	out->reversed = f->page == PAGE_REORDERED;
}

size_t
slice_place(const struct slice *s, size_t i)
{
	return s->at + (s->reversed ? s->n - 1 - i : i);
}
