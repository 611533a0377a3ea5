/*
 * Topics and links in the texts of posts, as the patterns of SFM's exporter
 * find them (Python's re.findall):
 *
 *     #[\w\\\s\u4e00-\u9fff]+#          topics
 *     http://t.cn/[a-zA-z0-9]+          links
 *
 * Both are kept as they are: the blank between "#a.b# #c.d#" is a topic; the
 * class A-z contains [ \ ] ^ _ and the backtick, the dot is any character.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdatomic.h>

#include "base/text.h"
#include "engine/connector/weibo/weibo_items.h"

/* Python's \w and \s for texts, written out; PCRE2's differ a little. */
#define WORD "\\p{L}\\p{N}_"
#define SPACE "\\x{09}-\\x{0d}\\x{1c}-\\x{20}\\x{85}\\x{a0}\\x{1680}" \
	"\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"
static const char topic_pattern[] = "[" WORD "\\\\" SPACE
    "\\x{4e00}-\\x{9fff}]+";
#define TOPIC_OPTIONS (PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_ANCHORED | \
	PCRE2_ENDANCHORED)

/* Compiled once for the process; whoever comes second drops its own. */
static const pcre2_code *
topic_code(void)
{
	static _Atomic(pcre2_code *) compiled;
	pcre2_code *code = atomic_load(&compiled), *first = NULL;
	size_t at;
	int fault;

	if (code != NULL)
		return code;
	code = pcre2_compile((PCRE2_SPTR)topic_pattern, PCRE2_ZERO_TERMINATED,
	    TOPIC_OPTIONS, &fault, &at, NULL);
	CHECK(code != NULL);
	if (!atomic_compare_exchange_strong(&compiled, &first, code)) {
		pcre2_code_free(code);
		return first;
	}
	return code;
}

static void *
take_memory(size_t n, void *arena)
{
	return arena_take(arena, n);
}

static void
keep_memory(void *p, void *arena)
{
	(void)p, (void)arena;
}

static bool
is_topic(struct str s, pcre2_match_data *m)
{
	return s.n > 0 && pcre2_match(topic_code(), (PCRE2_SPTR)s.p, s.n, 0,
	    0, m, NULL) >= 0;
}

/*
 * A topic contains no "#", so what stands between two neighbours is one or is
 * none; the second of them may begin another only if it was none.
 */
void
weibo_put_topics(struct str text, struct arena *a, struct buf *out)
{
	size_t at = str_find_char(text, '#');

	/* Most texts have none. */
	if (at == text.n)
		return;
	pcre2_match_data *m = pcre2_match_data_create(1,
	    pcre2_general_context_create(take_memory, keep_memory, a));
	for (bool first = true; at < text.n;) {
		text = str_from(text, at + 1);
		at = str_find_char(text, '#');
		struct str topic = str_cut(text, 0, at);
		if (at == text.n || !is_topic(topic, m))
			continue;
		if (!first)
			buf_put_text(out, ", ");
		first = false;
		buf_put_str(out, topic);
		text = str_from(text, at + 1);
		at = str_find_char(text, '#');
	}
}

static bool
is_link_character(char c)
{
	return (c >= 'A' && c <= 'z') || ascii_is_digit(c);
}

/* Its length at the start of `s`; 0: none begins there. */
static size_t
link_length(struct str s)
{
	struct str begin = STR("http://t"), end = STR("cn/");

	if (!str_starts(s, begin) || s.n == begin.n)
		return 0;
	struct str rest = str_from(s, begin.n);
	size_t any = text_utf8_length(rest);
	if (any == 0)
		/* What stands for half a surrogate is a character, too. */
		any = (unsigned char)rest.p[0] == 0xed ? 3 : 1;
	if (rest.p[0] == '\n' || !str_starts(str_from(rest, any), end))
		return 0;
	rest = str_from(rest, any + end.n);
	size_t n = 0;
	while (n < rest.n && is_link_character(rest.p[n]))
		n++;
	return n == 0 ? 0 : begin.n + any + end.n + n;
}

bool
weibo_take_link(struct str *text, struct str *link)
{
	struct str begin = STR("http://t");

	for (;;) {
		size_t at = str_find(*text, begin);
		if (at == text->n)
			return false;
		*text = str_from(*text, at);
		size_t n = link_length(*text);
		*link = str_cut(*text, 0, n);
		*text = str_from(*text, MAX(n, 1));
		if (n > 0)
			return true;
	}
}
