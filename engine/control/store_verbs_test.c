/* What is put down: policies, schedules, tokens; and what schedules start. */
#include "engine/control/engine_testing.h"

#include "engine/catalog/catalog.h"
#include "os/clock.h"
#include "tests/rounds.h"

static struct rig rig;

/* The real clocks, but the wall's can be moved. */
static _Atomic int64_t moved_us;

static struct mono
real_mono(void)
{
	return clock_real.mono();
}

static struct wall
moved_wall(void)
{
	return (struct wall){ clock_real.wall().us + moved_us };
}

static void
real_random(void *p, size_t n)
{
	clock_real.random(p, n);
}

static const struct clock_table moved_clock = { real_mono, moved_wall,
	real_random };

static void
site(struct str path, struct rig_page *p)
{
	if (str_starts(path, STR("/slow")))
		p->delay_ms = 20;
	for (int i = 0; i < 5; i++)
		buf_printf(&p->body, "<a href=%d>x</a>", i);
}

static int
setup(void **state)
{
	(void)state;
	moved_us = 0;
	rig_open(&rig, site, NULL);
	rig_start(&rig);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	rig_close(&rig);
	return 0;
}

static void
came(struct store_request *s)
{
	*(bool *)s->arg = true;
}

/* The answer; its arena is the caller's to free. */
static enum err
say(struct store_request *s)
{
	bool done = false;

	s->done = came;
	s->arg = &done;
	engine_store(rig.engine, s);
	RIG_UNTIL_DONE(&rig, done);
	return s->why.err;
}

static void
refused(struct store_request s, enum err e, const char *text)
{
	assert_int_equal(say(&s), e);
	if (strncmp(s.why.text, text, strlen(text)) != 0)
		fail_msg("\"%s\" does not begin with \"%s\"", s.why.text,
		    text);
	arena_free(&s.arena);
}

static void
fine(struct store_request s)
{
	enum err e = say(&s);

	if (e != OK)
		fail_msg("%s: %s", err_name(e), s.why.text);
	arena_free(&s.arena);
}

static const struct crawl_row *
row(uint32_t crawl)
{
	return crawl_row(engine_registry(rig.engine), crawl);
}

/* --- policies ------------------------------------------------------------- */

/* Section 8 of docs/protocols/realtime.md. */
static const char contract_default[] =
    "{\"url_rules\":[{\"pattern\":\"^https?://{SEED_DOMAINS}(:\\\\d+)?/\","
    "\"action\":\"add\",\"amount\":1},{\"action\":\"multiply\",\"amount\":0}],"
    "\"limits\":{\"max_cost\":null,\"max_depth\":3,\"max_items\":null,"
    "\"max_duration\":null,\"max_body_bytes\":10485760,\"timeout\":30},"
    "\"mime_rules\":[{\"keep\":true}],\"robots\":\"obey\",\"normalize\":"
    "{\"strip\":[\"JSESSIONID\",\"PHPSESSID\",\"sid\"]},\"user_agent\":null,"
    "\"rate_limit\":5,\"headers\":{},\"downloads\":10,\"embeds\":false,"
    "\"sitemaps\":false,\"proxy\":null,\"cookies\":true}";

static void
the_default_policy_is_the_contracts(void **state)
{
	struct store_request s = { .verb = STORE_POLICY_GET,
	    .name = STR("default") };

	(void)state;
	assert_int_equal(say(&s), OK);
	assert_true(str_eq(s.policy.json, str_of(contract_default)));
	arena_free(&s.arena);
	refused((struct store_request){ .verb = STORE_POLICY_DELETE,
	    .name = STR("default") }, ERR_STATE, "");
}

static void
policies_are_kept(void **state)
{
	struct store_request s = { .verb = STORE_POLICY_PUT,
		.name = STR("quick"),
		.json = STR("{\"rate_limit\":\"0\",\"limits\":"
		            "{\"max_depth\":1}}") };

	(void)state;
	assert_int_equal(say(&s), OK);
	assert_true(str_find(s.policy.json, STR("\"rate_limit\":0,")) <
	    s.policy.json.n);
	arena_free(&s.arena);
	refused((struct store_request){ .verb = STORE_POLICY_PUT,
	    .name = STR("x"), .json = STR("{\"url_rules\":[{\"pattern\":"
	    "\"a\"},{\"pattern\":\"(\"},{}]}") }, ERR_INPUT, "url_rules[");
	refused((struct store_request){ .verb = STORE_POLICY_PUT,
	    .name = STR(""), .json = STR("{}") }, ERR_INPUT, "name");
	refused((struct store_request){ .verb = STORE_POLICY_GET,
	    .name = STR("x") }, ERR_ABSENT, "");
	s = (struct store_request){ .verb = STORE_POLICY_LIST };
	assert_int_equal(say(&s), OK);
	assert_int_equal(s.n, 2);
	assert_true(str_eq(s.policies[1].name, STR("quick")));
	arena_free(&s.arena);
	/* A crawl copies it: what is put later does not touch the crawl. */
	struct launch_seed seed = { rig_url(&rig, "/"), -1 };
	struct launch l = { .seeds = &seed, .seeds_n = 1,
	    .spec.policy_name = STR("quick") };
	rig_say_launch(&rig, &l);
	assert_int_equal(l.why.err, OK);
	fine((struct store_request){ .verb = STORE_POLICY_PUT,
	    .name = STR("quick"), .json = STR("{}") });
	rig_until_state(&rig, l.crawl, CRAWL_COMPLETE);
	assert_true(str_eq(row(l.crawl)->policy, STR("quick")));
	assert_int_equal(row(l.crawl)->view.counts.items, 6);
	/* `default` can be replaced: it is what a launch without one takes. */
	fine((struct store_request){ .verb = STORE_POLICY_PUT,
	    .name = STR("default"), .json = STR("{\"rate_limit\":0,"
	    "\"limits\":{\"max_depth\":0}}") });
	l.spec.policy_name = STR("");
	rig_say_launch(&rig, &l);
	rig_until_state(&rig, l.crawl, CRAWL_COMPLETE);
	assert_int_equal(row(l.crawl)->view.counts.items, 1);
	fine((struct store_request){ .verb = STORE_POLICY_DELETE,
	    .name = STR("quick") });
}

static void
tokens_are_kept(void **state)
{
	struct store_request s = { .verb = STORE_TOKEN_ADD,
		.name = STR("ann") };
	struct store_request t = { .verb = STORE_TOKEN_LIST };
	struct why w = WHY_INIT;

	(void)state;
	assert_int_equal(token_scopes_read(STR("realtime:write"), false,
	    &s.scopes, &w), OK);
	assert_int_equal(say(&s), OK);
	assert_int_equal(strlen(s.token_text), TOKEN_TEXT_BYTES);
	assert_int_equal(say(&t), OK);
	assert_int_equal(t.n, 1);
	assert_true(str_eq(t.tokens[0].name, STR("ann")));
	arena_free(&t.arena);
	refused(s, ERR_EXISTS, "");
	fine((struct store_request){ .verb = STORE_TOKEN_REVOKE,
	    .name = STR("ann") });
	refused((struct store_request){ .verb = STORE_TOKEN_REVOKE,
	    .name = STR("ann") }, ERR_ABSENT, "");
}

/* --- schedules ------------------------------------------------------------ */

static struct schedule
each_minute(const char *path)
{
	return (struct schedule){
		.name = STR("daily"), .every = 1, .unit = SCHEDULE_MINUTES,
		.seeds = arena_printf(&rig.arena, "[{\"url\":\"%s\","
		    "\"rate_limit\":\"0\"}]", rig_url(&rig, path).p),
		.policy_json = STR("{\"rate_limit\":0}"),
	};
}

static uint64_t
put(struct schedule schedule)
{
	struct store_request s = { .verb = STORE_SCHEDULE_PUT,
	    .schedule = schedule };
	enum err e = say(&s);

	if (e != OK)
		fail_msg("%s: %s", err_name(e), s.why.text);
	assert_int_equal(s.n, 1);
	uint64_t id = s.schedules[0].id;
	arena_free(&s.arena);
	return id;
}

static struct schedule
get(uint64_t id)
{
	struct store_request s = { .verb = STORE_SCHEDULE_GET,
	    .schedule.id = id };

	assert_int_equal(say(&s), OK);
	struct schedule found = s.schedules[0];
	arena_free(&s.arena);
	return found;
}

static bool
has_run(struct rig *r, void *arg)
{
	(void)r;
	return row(*(uint32_t *)arg) != NULL;
}

static void
until_crawl(uint32_t id)
{
	rig_until(&rig, has_run, &id);
}

struct runs_wanted {
	uint64_t id, runs;
	bool asked, done;
	struct store_request ask;
};

static void
got(struct store_request *s)
{
	struct runs_wanted *x = s->arg;

	assert_int_equal(s->why.err, OK);
	x->done |= s->schedules[0].runs == x->runs;
	x->asked = false;
	arena_free(&s->arena);
}

static bool
ran(struct rig *r, void *arg)
{
	struct runs_wanted *x = arg;

	if (x->asked || x->done)
		return x->done && !x->asked;
	x->ask = (struct store_request){ .verb = STORE_SCHEDULE_GET,
	    .schedule.id = x->id, .done = got, .arg = x };
	x->asked = true;
	engine_store(r->engine, &x->ask);
	return false;
}

static void
until_ran(uint64_t id, uint64_t runs)
{
	struct runs_wanted x = { .id = id, .runs = runs };

	rig_until(&rig, ran, &x);
}

static void
pass(int minutes)
{
	moved_us += (int64_t)minutes * 60 * US_PER_S + US_PER_S;
}

struct pause {
	struct mono until;
};

static bool
is_over(struct rig *r, void *arg)
{
	const struct pause *p = arg;

	(void)r;
	return mono_before(p->until, clock_mono());
}

/* The loop goes on meanwhile. */
static void
rest_ms(int ms)
{
	struct pause p = { mono_add_ms(clock_mono(), ms) };

	rig_until(&rig, is_over, &p);
}

static void
schedules_are_judged(void **state)
{
	struct store_request s = { .verb = STORE_SCHEDULE_PUT };

	(void)state;
	s.schedule = each_minute("/");
	s.schedule.seeds = STR("[\"http://a.org/\",{\"rate_limit\":1}]");
	refused(s, ERR_INPUT, "seeds[1].url");
	s.schedule.seeds = STR("[{\"url\":\"a.org\",\"rate_limit\":-1}]");
	refused(s, ERR_INPUT, "seeds[0].rate_limit");
	s.schedule.seeds = STR("[]");
	refused(s, ERR_INPUT, "seeds");
	s.schedule.seeds = STR("[\"ftp://a.org/\"]");
	refused(s, ERR_INPUT, "seeds[0].url");
	s.schedule = each_minute("/");
	s.schedule.policy_json = STR("{\"robots\":\"maybe\"}");
	refused(s, ERR_INPUT, "policy: robots");
	s.schedule.policy_json = STR("");
	s.schedule.policy = STR("nobody's");
	refused(s, ERR_ABSENT, "");
	s.schedule.policy = STR("");
	s.schedule.id = 9;
	assert_int_equal(say(&s), ERR_ABSENT);
	assert_string_equal(s.why.field, "schedule");
	arena_free(&s.arena);
	s.schedule = each_minute("/");
	s.schedule.every = 0;
	refused(s, ERR_INPUT, "every");
	refused((struct store_request){ .verb = STORE_SCHEDULE_GET,
	    .schedule.id = 9 }, ERR_ABSENT, "");
	assert_null(row(0));
}

static void
log_came(struct log_query *a)
{
	*(bool *)a->arg = true;
}

static void
log_says_schedule(uint32_t crawl)
{
	bool done = false, found = false;
	struct log_query a = { .crawl = crawl, .from = 1, .max = 100,
	    .done = log_came, .arg = &done };

	catalog_log(engine_catalog(rig.engine), &a);
	RIG_UNTIL_DONE(&rig, done);
	for (size_t i = 0; i < a.n; i++)
		found |= strcmp(a.entries[i].kind, "schedule") == 0;
	assert_true(found);
	arena_free(&a.arena);
}

static void
a_schedule_starts_crawls(void **state)
{
	struct str tag = STR("t");
	struct schedule s = each_minute("/");

	(void)state;
	s.tags = &tag;
	s.tags_n = 1;
	s.name_template = STR("run {COUNT}");
	uint64_t id = put(s);
	until_crawl(0);
	assert_true(str_eq(row(0)->name, STR("run 1")));
	assert_true(crawl_registry_has_tag(row(0), STR("t")));
	assert_int_equal(row(0)->schedule, id);
	rig_until_state(&rig, 0, CRAWL_COMPLETE);
	assert_int_equal(row(0)->view.counts.items, 6);
	log_says_schedule(0);
	until_ran(id, 1);
	pass(1);
	until_crawl(1);
	assert_true(str_eq(row(1)->name, STR("run 2")));
	until_ran(id, 2);
	/* The clock is set back by an hour: nothing runs twice. */
	moved_us -= 3600 * US_PER_S;
	rest_ms(1100);
	assert_null(row(2));
	moved_us += 3600 * US_PER_S;
	/* Those that were missed are one. */
	rig_stop(&rig);
	pass(100);
	rig_start(&rig);
	until_crawl(2);
	until_ran(id, 3);
	rest_ms(1500);
	assert_null(row(3));
	fine((struct store_request){ .verb = STORE_SCHEDULE_DELETE,
	    .schedule.id = id });
	pass(5);
	rest_ms(1500);
	assert_null(row(3));
}

static void
one_waits_for_its_crawl(void **state)
{
	struct schedule s = each_minute("/slow");
	struct crawl_order o;

	(void)state;
	s.timing = SCHEDULE_AFTER;
	uint64_t id = put(s);
	until_crawl(0);
	rig_steer(&rig, 0, CRAWL_PAUSED, &o);
	until_ran(id, 1);
	pass(100);
	rest_ms(1500);
	assert_null(row(1));
	rig_stop(&rig);
	rig_start(&rig);
	rig_steer(&rig, 0, CRAWL_CANCELLED, &o);
	rest_ms(1500);
	assert_null(row(1));
	pass(1);
	until_crawl(1);
	until_ran(id, 2);
	rig_until_state(&rig, 1, CRAWL_COMPLETE);
	/* It ended, and nobody told the store: the next start does. */
	rig_crash(&rig);
	rig_start(&rig);
	rest_ms(100);
	pass(1);
	until_crawl(2);
}

static void
what_others_put_is_seen(void **state)
{
	struct store *st;
	struct why w = WHY_INIT;
	struct schedule s = each_minute("/");

	(void)state;
	rest_ms(1200);
	assert_int_equal(store_open(rig.dir, NULL, &st, &w), OK);
	assert_int_equal(store_schedule_put(st, &s, clock_wall(), &w), OK);
	store_close(&st);
	until_crawl(0);
	until_ran(s.id, 1);
}

/* More of them than are looked at at once, and all due before the good one. */
static void
those_that_fail_delay_no_other(void **state)
{
	struct store *st;
	struct why w = WHY_INIT;
	struct schedule s = each_minute("/");
	uint64_t first = 0;

	(void)state;
	s.policy_json = STR("");
	s.policy = STR("nobody's");
	s.start_at.us = clock_wall().us - 5 * US_PER_S;
	s.every = 10000;
	s.timing = SCHEDULE_AFTER;
	assert_int_equal(store_open(rig.dir, NULL, &st, &w), OK);
	for (unsigned i = 0; i <= STORE_DUE_MAX; i++) {
		s.id = 0;
		assert_int_equal(store_schedule_put(st, &s, s.start_at, &w),
		    OK);
		first = i == 0 ? s.id : first;
	}
	store_close(&st);
	uint64_t good = put(each_minute("/"));
	until_ran(good, 1);
	assert_int_equal(get(good).last_crawl, 0);
	/* They are tried again, until what is missing is there. */
	assert_int_equal(get(first).runs, 0);
	assert_true(get(first).next_at.us > clock_wall().us);
	fine((struct store_request){ .verb = STORE_SCHEDULE_DELETE,
	    .schedule.id = good });
	fine((struct store_request){ .verb = STORE_POLICY_PUT,
	    .name = s.policy, .json = STR("{\"rate_limit\":0}") });
	pass(1);
	until_ran(first, 1);
	until_ran(s.id, 1);
}

/* The ledger has the crawl, the store does not know: no second one begins. */
static void
a_crash_between_two_commits(void **state)
{
	struct schedule s = each_minute("/");

	(void)state;
	s.start_at.us = clock_wall().us + 30 * US_PER_S;
	uint64_t id = put(s);
	struct launch_seed seed = { rig_url(&rig, "/"), 0 };
	struct launch l = { .seeds = &seed, .seeds_n = 1, .spec.schedule = id,
	    .spec.key = arena_printf(&rig.arena, "%llu/1",
	    (unsigned long long)id) };
	rig_say_launch(&rig, &l);
	assert_int_equal(l.why.err, OK);
	rig_crash(&rig);
	pass(1);
	rig_start(&rig);
	until_ran(id, 1);
	assert_int_equal(get(id).last_crawl, 0);
	assert_null(row(1));
}

/* Whenever it crashes: a run has one crawl, and a crawl its run. */
static void
crashes_lose_and_repeat_no_run(void **state)
{
	unsigned random = 7;

	(void)state;
	uint64_t id = put(each_minute("/"));
	for (int i = 0; i < ROUNDS(12); i++) {
		struct pause p = { mono_add_ms(clock_mono(),
		    random % 40) };
		random = random * 1103515245 + 12345;
		rig_until(&rig, is_over, &p);
		rig_crash(&rig);
		pass(1);
		rig_start(&rig);
	}
	rest_ms(1500);
	uint64_t runs = get(id).runs, crawls = 0;
	while (row((uint32_t)crawls) != NULL)
		crawls++;
	assert_int_equal(runs, crawls);
	assert_int_equal(get(id).last_crawl, crawls - 1);
	assert_in_range(runs, ROUNDS(2), 13);
}

int
main(void)
{
#define ONE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		ONE(the_default_policy_is_the_contracts),
		ONE(policies_are_kept),
		ONE(tokens_are_kept),
		ONE(schedules_are_judged),
		ONE(a_schedule_starts_crawls),
		ONE(one_waits_for_its_crawl),
		ONE(what_others_put_is_seen),
		ONE(those_that_fail_delay_no_other),
		ONE(a_crash_between_two_commits),
		ONE(crashes_lose_and_repeat_no_run),
	};

	clock_use(&moved_clock);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
