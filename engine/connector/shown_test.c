/* Texts from outside stay on one line, in UTF-8, and short. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/connector/shown.h"

static void
expect(struct str text, const char *want)
{
	struct buf b = BUF_INIT;

	shown_put(&b, text);
	assert_string_equal(buf_text(&b), want);
	buf_free(&b);
}

static void
texts_are_made_fit_for_a_message(void **state)
{
	(void)state;
	expect(STR_NONE, "");
	expect(STR("caf\xc3\xa9 \xf0\x9f\x90\x88"),
	    "caf\xc3\xa9 \xf0\x9f\x90\x88");
	expect(STR("a\nb\0c\x7f"), "a b c ");
	expect(STR("a\xba\xc3z\xc3"), "a??z?");
}

static void
texts_are_cut_between_characters(void **state)
{
	struct buf b = BUF_INIT;
	char want[201];

	(void)state;
	memset(want, 'x', 200);
	want[200] = '\0';
	for (int i = 0; i < 199; i++)
		buf_put_char(&b, 'x');
	buf_put_text(&b, "\xc3\xa9");
	expect(buf_str(&b), want + 1);
	b.n = 199;
	buf_put_text(&b, "xyz");
	expect(buf_str(&b), want);
	buf_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_made_fit_for_a_message),
		cmocka_unit_test(texts_are_cut_between_characters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
