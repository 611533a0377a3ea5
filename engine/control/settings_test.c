/*
 * reload_test -- what base/settings.def says of a restart is true: every
 * setting without RESTART reaches the loops that fetch, and no other does.
 */
#include "engine/control/engine_own.h"
#include "engine/control/engine_testing.h"

/* Texts by what they say, not by where they are. */
static bool
differ(struct fetch_settings *a, struct fetch_settings *b)
{
	bool texts = !str_eq(a->user_agent, b->user_agent) ||
	    !str_eq(a->product_token, b->product_token) ||
	    (a->resolve == NULL) != (b->resolve == NULL);

	a->user_agent = b->user_agent = STR_NONE;
	a->product_token = b->product_token = STR_NONE;
	a->resolve = b->resolve = NULL;
	return texts || memcmp(a, b, sizeof(*a)) != 0;
}

/* Another value than the default. */
static void
put_other(struct conf *c, enum conf_id id)
{
	const struct setting *row = conf_setting(id);
	char text[64];

	switch (row->type) {
	case CONF_BOOL:
		snprintf(text, sizeof(text), "%s",
		    strcmp(row->text, "on") == 0 ? "off" : "on");
		break;
	case CONF_STRING:
		snprintf(text, sizeof(text), "Other/1.0");
		break;
	case CONF_LIST:
		snprintf(text, sizeof(text), "a.example:80:127.0.0.1:81");
		break;
	default:
		snprintf(text, sizeof(text), "%.0f", row->most);
	}
	struct conf usual;
	conf_init(&usual);
	assert_int_equal(conf_put(c, id, str_of(text), CONF_FROM_FLAG, "--set",
	    NULL), OK);
	if (!conf_differs(c, &usual, id))
		snprintf(text, sizeof(text), "%.0f", row->least);
	conf_free(&usual);
	assert_int_equal(conf_put(c, id, str_of(text), CONF_FROM_FLAG, "--set",
	    NULL), OK);
}

static void
test_flags(void **state)
{
	struct engine e = { .loops_n = 1 };
	int live = 0;

	(void)state;
	for (size_t i = 0; i < CONF_COUNT; i++) {
		enum conf_id id = (enum conf_id)i;
		const struct setting *row = conf_setting(id);
		/* The log's are the daemon's own: tests/scenes/signals.sh. */
		if (row->flags & CONF_RESTART ||
		    str_starts(str_of(row->name), STR("log.")))
			continue;
		struct fetch_settings before, after;
		struct conf c;
		memset(&before, 0, sizeof(before));
		memset(&after, 0, sizeof(after));
		conf_init(&c);
		engine_settings(&e, &c, &before);
		put_other(&c, id);
		engine_settings(&e, &c, &after);
		if (!differ(&before, &after))
			fail_msg("%s does not say RESTART, and a reload does "
			    "not take it up", row->name);
		conf_free(&c);
		live++;
	}
	assert_true(live > 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
