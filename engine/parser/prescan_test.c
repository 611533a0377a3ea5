#include "engine/parser/suite_test.h"

#include <lexbor/html/encoding.h>

#include "engine/parser/prescan.h"
#include "tests/rounds.h"

/* All labels, each in brackets. */
static void
put_labels(struct str head, struct buf *b)
{
	struct prescan s = prescan_begin(head);
	struct str label;

	while (prescan_next(&s, &label))
		buf_printf(b, "[%.*s]", STR_FMT(label));
}

static void
check(const char *head, const char *want)
{
	struct buf b = BUF_INIT;

	put_labels(str_of(head), &b);
	assert_str(buf_str(&b), want);
	buf_free(&b);
}

static void
test_labels(void **state)
{
	(void)state;
	check("", "");
	check("<", "");
	check("<meta charset=a>", "[a]");
	check("<META/CHARSET = 'a b'/><meta charset=\"c\"><meta\tcharset=d x>",
	    "[a b][c][d]");
	check("<meta charset=a charset=b>", "[a]");
	check("<meta charsets=a><metas charset=a><meta =charset=a>", "");
	check("<meta charset=a", "");
	check("<meta charset='a>", "");
	check("<meta charset='' content=x><meta charset>", "");
	check("<meta http-equiv=Content-Type content='text/html; charset=a'>"
	    "<meta content=\"charset = 'b c';\" http-equiv=content-type>"
	    "<meta content='charset x charset=d;e' http-equiv=content-type>",
	    "[a][b c][d]");
	check("<meta content='charset=a'><meta http-equiv=refresh "
	    "content='charset=a'>", "");
	/* A charset is stronger than a content, in any order. */
	check("<meta content='charset=a' http-equiv=content-type charset=b>",
	    "[b]");
	check("<meta content=\"charset='a\" http-equiv=content-type>", "");
}

static void
test_other_markup(void **state)
{
	(void)state;
	check("<!-- <meta charset=a> --><meta charset=b>", "[b]");
	check("<!--><meta charset=a>", "[a]");
	check("<!x '<meta charset=a>'><?x <meta charset=b>", "");
	check("<p title='<meta charset=a>'><meta charset=b></p y=\">\">"
	    "<meta charset=c>", "[b][c]");
	check("</ <meta charset=a><<meta charset=b>", "[b]");
	check("a < b<meta charset=c>", "[c]");
}

/* ---- Against lexbor ---------------------------------------------------- */

static uint64_t seed;

static unsigned
draw(unsigned n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(seed >> 33) % n;
}

static void
put_one(struct buf *b, const char *const *words, size_t n)
{
	buf_put_text(b, words[draw((unsigned)n)]);
}

/*
 * lexbor differs in three points, which these pages leave out: "charset" and
 * "content" match longer names, "=" ends an empty name, and a content may count
 * beside a charset in the same tag.
 */
static void
put_meta(struct buf *b)
{
	static const char *const labels[] = { "utf-8", "a b", "'x'", "\"y\"",
		"", "k;", "koi8-r", "q/" };
	static const char *const spaces[] = { " ", "\n", "\f", "\t ", " / " };
	static const char *const equals[] = { "=", " =", "= ", "\f=\r" };
	static const char *const quotes[] = { "", "'", "\"" };
	static const char *const pragmas[] = { "http-equiv=content-type",
		"HTTP-EQUIV='Content-Type'", "http-equiv=refresh", "http-equiv",
		"x=y" };
	const char *quote = quotes[draw(3)];

	buf_put_text(b, draw(2) == 0 ? "<meta" : "<Meta");
	put_one(b, spaces, ARRAY_LEN(spaces));
	put_one(b, pragmas, ARRAY_LEN(pragmas));
	put_one(b, spaces, ARRAY_LEN(spaces));
	if (draw(2) == 0) {
		buf_put_text(b, "charset");
		put_one(b, equals, ARRAY_LEN(equals));
		buf_put_text(b, quote);
	} else {
		buf_put_text(b, "content");
		put_one(b, equals, ARRAY_LEN(equals));
		buf_put_text(b, quote);
		buf_put_text(b, draw(2) == 0 ? "text/html;charset" :
		    "charsetcharset");
		put_one(b, equals, ARRAY_LEN(equals));
	}
	put_one(b, labels, ARRAY_LEN(labels));
	buf_put_text(b, quote);
	buf_put_text(b, draw(4) == 0 ? " z" : "");
	buf_put_char(b, '>');
}

static void
put_other(struct buf *b)
{
	static const char *const parts[] = { "<!-- ", "-->", "<!-->", "<!x ",
		">", "<?", "</p ", "</ ", "<", "<p title='", "'", "\"",
		"<html>", "<title>x</title>", " ", "text" };

	put_one(b, parts, ARRAY_LEN(parts));
}

static void
put_labels_lexbor(struct str head, struct buf *b)
{
	lxb_html_encoding_t em;

	memset(&em, 0, sizeof(em));
	assert_int_equal(lxb_html_encoding_init(&em), LXB_STATUS_OK);
	(void)lxb_html_encoding_determine(&em, (const lxb_char_t *)head.p,
	    (const lxb_char_t *)head.p + head.n);
	for (size_t i = 0; i < lxb_html_encoding_meta_length(&em); i++) {
		const lxb_html_encoding_entry_t *e =
		    lxb_html_encoding_meta_entry(&em, i);
		/* An empty label names no encoding. */
		if (e->end > e->name)
			buf_printf(b, "[%.*s]", (int)(e->end - e->name),
			    (const char *)e->name);
	}
	lxb_html_encoding_destroy(&em, false);
}

static void
test_generated(void **state)
{
	struct buf page = BUF_INIT, got = BUF_INIT, want = BUF_INIT;

	(void)state;
	for (unsigned i = 0; i < ROUNDS(50000); i++) {
		seed = i;
		buf_clear(&page);
		buf_clear(&got);
		buf_clear(&want);
		for (unsigned n = 1 + draw(6); n > 0; n--)
			if (draw(2) == 0)
				put_meta(&page);
			else
				put_other(&page);
		struct str head = str_cut(buf_str(&page), 0,
		    draw(4) == 0 ? draw(200) : page.n);
		put_labels(head, &got);
		put_labels_lexbor(head, &want);
		if (!str_eq(buf_str(&got), buf_str(&want)))
			fail_msg("%.*s: got %s, want %s", STR_FMT(head),
			    buf_text(&got), buf_text(&want));
	}
	buf_free(&page);
	buf_free(&got);
	buf_free(&want);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_other_markup),
		cmocka_unit_test(test_generated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
