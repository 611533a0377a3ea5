/* Pages of the popup: escaping, the policy, and what each has to have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "doors/external/login_page.h"
#include "wire/base64.h"
#include "wire/digest.h"

#define HOSTILE "</p><script>alert(1)</script>\"'&\xe2\x80\xae"
#define ESCAPED "&lt;/p&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;" \
	"&amp;\xe2\x80\xae"

/* The hash of what stands between two texts of the page, as in the policy. */
static bool
allows(struct str page, struct str from, struct str to)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf b = BUF_INIT;
	struct str inner = str_from(page, str_find(page, from) + from.n);
	struct digest d;

	inner = str_cut(inner, 0, str_find(inner, to));
	digest_of(DIGEST_SHA256, inner, &d);
	buf_put_text(&b, "'sha256-");
	base64_put(&b, (struct str){ (const char *)d.bytes, 32 });
	buf_put_char(&b, '\'');
	struct str policy = login_page_policy(&a);
	return str_find(policy, buf_str(&b)) < policy.n;
}

static bool
has(const struct buf *b, const char *text)
{
	return str_find(buf_str(b), str_of(text)) < b->n;
}

static void
policy(void **state)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str p = login_page_policy(&a);

	(void)state;
	assert_true(str_starts(p, STR("default-src 'none'; ")));
	assert_true(str_ends(p, STR("; frame-ancestors 'none'")));
	assert_int_equal(str_find(p, STR("unsafe")), p.n);
	assert_int_equal(str_find(p, STR("form-action")), p.n);
}

static void
closing_page(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	login_page_put_end(STR(HOSTILE), &b);
	assert_true(has(&b, "<script>window.close()</script>"));
	assert_true(has(&b, "<bdi>" ESCAPED "</bdi>"));
	assert_false(has(&b, "<script>alert"));
	assert_true(has(&b, "may close this window"));
	assert_true(allows(buf_str(&b), STR("<script>"), STR("</script>")));
	assert_true(allows(buf_str(&b), STR("<style>"), STR("</style>")));
}

static void
errors_stay_open(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	login_page_put_error(STR(HOSTILE), &b);
	assert_true(has(&b, "<p role=\"alert\">" ESCAPED "</p>"));
	assert_false(has(&b, "<script"));
	assert_true(allows(buf_str(&b), STR("<style>"), STR("</style>")));
}

static void
question(void **state)
{
	const struct login_page_field fields[] = {
		{ STR("uuid"), STR(HOSTILE) }, { STR("a\"b"), STR("c") } };
	FREED(buf_free) struct buf b = BUF_INIT;
	struct login_page_question q = { .title = STR("T<i>"),
	    .subdomain = STR("s<i>"), .uuid = STR("u<i>"), .name = STR("n<i>"),
	    .fields = fields, .fields_n = 2 };

	(void)state;
	login_page_put_question(&q, &b);
	assert_false(has(&b, "<i>"));
	assert_false(has(&b, "<script"));
	assert_true(has(&b, "<dd><bdi>T&lt;i&gt;</bdi></dd>"));
	assert_true(has(&b, "<dd><bdi>s&lt;i&gt;</bdi></dd>"));
	assert_true(has(&b, "<dd><bdi>u&lt;i&gt;</bdi></dd>"));
	assert_true(has(&b, "<dd><bdi>n&lt;i&gt;</bdi></dd>"));
	assert_true(has(&b, "<input type=\"hidden\" name=\"uuid\" value=\""
	    ESCAPED "\">"));
	assert_true(has(&b, "name=\"a&quot;b\" value=\"c\">"));
	assert_true(has(&b, "<button>"));
	assert_false(has(&b, "disconnected"));
	buf_clear(&b);
	q.name = STR("");
	q.is_reset = true;
	login_page_put_question(&q, &b);
	assert_false(has(&b, "<dt>Name</dt>"));
	assert_true(has(&b, "disconnected"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(policy), cmocka_unit_test(closing_page),
		cmocka_unit_test(errors_stay_open), cmocka_unit_test(question),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
