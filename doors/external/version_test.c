/* Each rule of external.md §7 about the connector that a task runs. */
#include "doors/external/version.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define THINGS(title) "{\"name\":\"things\",\"version\":1,\"title\":\"" title \
	"\",\"parameters\":{\"type\":\"object\",\"properties\":{}}," \
	"\"credential\":\"none\",\"schema\":{\"type\":\"object\"}," \
	"\"docIdField\":\"id\",\"api\":{\"url\":\"https://a.example/x\"," \
	"\"label\":\"things\",\"items\":\"/items\",\"id\":\"/id\"}}"

static void
chooses_by_the_rules(void **state)
{
	static const struct {
		struct version_facts facts;
		enum version_choice choice;
	} cases[] = {
		/* Never registered: any number, or none. */
		{ { .named = 0 }, VERSION_LISTED },
		{ { .named = 9 }, VERSION_LISTED },
		{ { .named = 9, .is_strict = true }, VERSION_LISTED },
		/* A published version that this back end lacks is 0. */
		{ { .newest = 4 }, VERSION_NEWEST },
		{ { .newest = 4, .published = 2 }, VERSION_PUBLISHED },
		{ { .newest = 4, .published = 2, .is_strict = true },
		    VERSION_PUBLISHED },
		{ { .newest = 4, .named = 4, .is_registered = true },
		    VERSION_NAMED },
		{ { .newest = 4, .named = 1, .is_registered = true,
		    .published = 2 }, VERSION_NAMED },
		/* Below the newest, and never registered. */
		{ { .newest = 4, .named = 3 }, VERSION_UNKNOWN },
		/* Above it. */
		{ { .newest = 4, .named = 5 }, VERSION_AHEAD },
		{ { .newest = 4, .named = INT64_MAX, .published = 2 },
		    VERSION_AHEAD },
		{ { .newest = 4, .named = 5, .is_strict = true },
		    VERSION_UNKNOWN },
		/* A task that is there goes on with its own, even if that is
		 * not registered any more. */
		{ { .newest = 4, .named = 3, .has_task = true,
		    .task_version = 3 }, VERSION_KEPT },
		{ { .newest = 4, .has_task = true, .task_version = 3,
		    .published = 4 }, VERSION_KEPT },
		{ { .newest = 4, .named = 5, .has_task = true,
		    .task_version = 5, .is_strict = true }, VERSION_KEPT },
		{ { .named = 3, .has_task = true, .task_version = 3 },
		    VERSION_KEPT },
		/* Another one is named: a new attempt runs that. */
		{ { .newest = 4, .named = 4, .is_registered = true,
		    .has_task = true, .task_version = 3 }, VERSION_NAMED },
		{ { .newest = 4, .named = 2, .has_task = true,
		    .task_version = 3 }, VERSION_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (version_choose(&cases[i].facts) != cases[i].choice)
			fail_msg("case %zu: %d, not %d", i, version_choose(
			    &cases[i].facts), cases[i].choice);
}

static void
warns_by_numbers(void **state)
{
	const struct version_look x = { .backend = STR("acme"),
		.connector = STR("things"),
		.facts = { .named = 7, .newest = 5 } };
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	version_put_warning(&x, &b);
	assert_string_equal(buf_text(&b), "version 7 is newer than 5, the "
	    "newest that is registered, and runs as that one; argiope "
	    "external register things --backend acme makes it known");
}

static struct held_connector *
load_declaration(const char *text)
{
	struct external_connector *c;
	struct why w = WHY_INIT;

	if (external_connector_load(str_of(text), NULL, &c, &w) != OK)
		fail_msg("%s", w.text);
	return connector_new(c, NULL);
}

static void
keeps_connectors_by_hash(void **state)
{
	struct held_connector *listed = load_declaration(THINGS("New")),
	    *old, *web;
	struct held_connector *gone = load_declaration(THINGS("Old"));
	struct str hash = external_connector_hash(gone->connector);
	struct versions v = { .n = 0 };
	struct why w = WHY_INIT;

	(void)state;
	assert_ptr_equal(versions_find(&v, listed, STR("")), listed);
	assert_ptr_equal(versions_find(&v, listed, external_connector_hash(
	    listed->connector)), listed);
	assert_null(versions_find(&v, listed, hash));
	assert_null(versions_find(&v, NULL, STR("")));
	assert_int_equal(versions_add(&v, hash, str_of(THINGS("Old")), &old,
	    &w), OK);
	assert_ptr_equal(versions_find(&v, listed, hash), old);
	assert_ptr_equal(versions_find(&v, NULL, hash), old);
	/* A declaration from the store must have the registered hash. */
	assert_int_equal(versions_add(&v, hash, str_of(THINGS("Other")), &old,
	    NULL), ERR_CORRUPT);
	assert_int_equal(versions_add(&v, hash, STR("{"), &old, &w),
	    ERR_CORRUPT);
	/* The program of a built-in connector runs all of its versions. */
	web = connector_new(external_connector_builtin(0),
	    NULL);
	assert_ptr_equal(versions_find(&v, web, hash), web);
	connector_release(&web);
	connector_release(&listed);
	connector_release(&gone);
	versions_free(&v);
}

static void
forgets_idle_connectors(void **state)
{
	struct versions v = { .n = 0 };
	struct held_connector *first = NULL, *c = NULL;

	(void)state;
	for (unsigned i = 0; i < VERSIONS_IDLE_MAX + 3; i++) {
		FREED(arena_free) struct arena a = ARENA_INIT;
		struct str text = arena_printf(&a, THINGS("Number %u"), i);
		struct held_connector *same = load_declaration(text.p);
		assert_int_equal(versions_add(&v, external_connector_hash(
		    same->connector), text, &c, NULL), OK);
		connector_release(&same);
		if (i == 0)
			first = connector_hold(c);
	}
	/* Those that are idle, and the one that a task holds. */
	assert_int_equal(v.n, VERSIONS_IDLE_MAX + 1);
	assert_ptr_equal(v.list[0], first);
	assert_ptr_equal(v.list[v.n - 1], c);
	connector_release(&first);
	versions_free(&v);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chooses_by_the_rules),
		cmocka_unit_test(warns_by_numbers),
		cmocka_unit_test(keeps_connectors_by_hash),
		cmocka_unit_test(forgets_idle_connectors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
