/* Texts, dates and ids that JSON of both APIs of Twitter has. */
#include <stdarg.h>
#include <time.h>

#include "tests/platforms/twitter.h"

static const char *const phrases[] = {
	"A cat sat on the mat.", "\xe7\x8c\xab\xe3\x81\xaf\xe5\xaf\x9d\xe3\x82"
	"\x8b\xe3\x80\x82", "\xd7\x97\xd7\xaa\xd7\x95\xd7\x9c \xd7\xa2\xd7\x9c "
	"\xd7\x92\xd7\x92", "\xf0\x9f\x90\x88\xe2\x80\x8d\xe2\xac\x9b \xf0\x9f"
	"\xa6\x89", "e\xcc\x81 and \xc3\xa9", "&lt;b&gt; &amp; &quot;x&quot;",
	"a tab\tand a \\ and a \"quote\"", "line\xe2\x80\xa8separator",
	"=1+1", "two\nlines",
};

void
twitter_put_text(struct buf *text, const struct tweet *t, uint64_t big)
{
	uint64_t look = t->look;

	for (unsigned n = 1 + look % 3; n > 0; n--)
		buf_printf(text, "%s ", phrases[random_next(&look) %
		    ARRAY_LEN(phrases)]);
	for (unsigned w = 0; w < WORDS_N; w++)
		if ((t->words & 1u << w) != 0)
			buf_printf(text, "#%s ", twitter_words[w]);
	if (t->link)
		buf_printf(text, "https://t.co/%010llx",
		    (unsigned long long)(t->look & 0xffffffffff));
	if (big > 0)
		memset(buf_grow(text, big), 'x', big);
}

void
twitter_put(struct buf *b, const char *name, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_str(b, name, str_of(text));
}

void
twitter_put_id(struct buf *b, const char *name, uint64_t id)
{
	twitter_put(b, name, "%llu", (unsigned long long)id);
}

void
twitter_put_iso(struct buf *b, const char *name, struct wall when)
{
	char iso[WALL_ISO_MAX];

	wall_to_iso(when, iso);
	twitter_put(b, name, "%.19s.000Z", iso);
}

void
twitter_put_date(struct buf *b, const char *name, struct wall when)
{
	time_t s = (time_t)wall_s(when);
	struct tm tm;
	char text[40];

	gmtime_r(&s, &tm);
	strftime(text, sizeof(text), "%a %b %d %H:%M:%S +0000 %Y", &tm);
	json_str(b, name, str_of(text));
}
