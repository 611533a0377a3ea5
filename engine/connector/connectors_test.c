/* The table of connectors: every row is whole and can be told from others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/text.h"
#include "engine/connector/connectors.h"

static void
check_params(const struct connector_param *p)
{
	for (; p->name != NULL; p++) {
		assert_true(text_is_token(str_of(p->name)));
		assert_true(strlen(p->help) > 0);
		assert_false(str_ends(str_of(p->help), STR(".")));
		assert_int_equal(p->type == CONNECTOR_INT, p->most != 0);
		assert_true(p->least <= p->most);
	}
}

static void
check_row(const struct connector *c)
{
	/* SFM's services take a key apart at these words. */
	assert_null(strstr(c->type, "start"));
	assert_null(strstr(c->type, "stop"));
	/* "twitter2" has "twitter_search_2". */
	struct str platform = str_of(c->platform);
	if (ascii_is_digit(platform.p[platform.n - 1]))
		platform.n--;
	assert_true(str_starts(str_of(c->type), platform));
	assert_true(strlen(c->label) > 0 && strlen(c->title) > 0);
	assert_true(str_ends(str_of(c->help), STR(".")));
	assert_true(c->seeds.least <= c->seeds.most);
	check_params(c->params);
	if (c->seeds.fields != NULL)
		check_params(c->seeds.fields);
	for (const struct connector_key *k = c->credential; k->name != NULL;
	    k++)
		assert_true(strlen(k->help) > 0);
	assert_non_null(c->hosts);
	if (c->is_crawl) {
		assert_true(c->open == NULL && c->next == NULL);
		return;
	}
	assert_true(c->open != NULL && c->next != NULL && c->answer != NULL);
	assert_true(c->save != NULL && c->load != NULL && c->close != NULL);
}

static void
rows_are_whole(void **state)
{
	const struct connector *c, *before = NULL;

	(void)state;
	for (size_t i = 0; (c = connector_at(i)) != NULL; i++) {
		assert_ptr_equal(connector_find(str_of(c->type)), c);
		assert_true(before == NULL ||
		    strcmp(before->type, c->type) < 0);
		check_row(c);
		before = c;
	}
	assert_non_null(before);
	assert_null(connector_find(STR("mastodon")));
	assert_null(connector_find(STR("")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
