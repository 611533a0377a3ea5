/* What a configuration may say, and where its faults are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/items/task_cron.h"
#include "engine/items/task_read.h"

#define FUNCTION "{'$function':true}"

/* JSON in which quotes are single ones. */
static struct str
json_of(struct buf *b, const char *text)
{
	buf_put_text(b, text);
	for (size_t i = 0; i < b->n; i++)
		if (b->p[i] == '\'')
			b->p[i] = '"';
	return buf_str(b);
}

static enum err
read_config(const char *text, const struct item_limits *limits,
    struct task_config **c, struct task_faults *faults, struct why *w)
{
	FREED(buf_free) struct buf json = BUF_INIT;

	return task_config_read(json_of(&json, text), limits, c, faults, w);
}

static struct task_config *
config_of(const char *text)
{
	const struct item_limits limits = ITEM_LIMITS_DEFAULT;
	FREED(task_faults_free) struct task_faults faults = TASK_FAULTS_INIT;
	struct task_config *c;
	struct why w = WHY_INIT;

	if (read_config(text, &limits, &c, &faults, &w) != OK)
		fail_msg("%s\n%s", text, buf_text(&faults.text));
	assert_null(faults.limit);
	return c;
}

/* All faults, in lines; the first is the error's text.  Returns the limit that
 * is exceeded. */
static const char *
expect_faults_limited(const char *text, const struct item_limits *limits,
    const char *expected)
{
	FREED(task_faults_free) struct task_faults all = TASK_FAULTS_INIT;
	struct buf *faults = &all.text;
	struct task_config *c;
	struct why w = WHY_INIT;

	if (read_config(text, limits, &c, &all, &w) != ERR_INPUT)
		fail_msg("it is accepted: %s", text);
	assert_null(c);
	if (strcmp(buf_text(faults), expected) != 0)
		fail_msg("%s\ngives: %s\nnot:   %s", text, buf_text(faults),
		    expected);
	size_t line = str_find_char(buf_str(faults), '\n');
	assert_int_equal(w.err, ERR_INPUT);
	assert_true(str_eq(str_of(w.text), str_cut(buf_str(faults), 0,
	    MIN(line, sizeof(w.text) - 1))));
	assert_true(w.field[0] != '\0');
	assert_true(str_starts(str_of(w.text), str_of(w.field)));
	return all.limit;
}

static void
expect_faults(const char *text, const char *expected)
{
	const struct item_limits limits = ITEM_LIMITS_DEFAULT;

	(void)expect_faults_limited(text, &limits, expected);
}

/* -- What is accepted -- */

/* The example of contracts/items.md section 6. */
static const char example[] =
    "{'migrations':[{'id':'2026-11-tag','renameTag':['lcsc:prod',"
    "'lcsc:product']},{'id':'2','renameTask':['old','lcsc:norm']}],"
    "'seeds':[{'id':'lcsc:home','tags':['lcsc:category','site=eu'],"
    "'data':{'url':'https://shop.example/'}},{'id':'bare'}],"
    "'tags':{'lcsc:product':['lcsc:scrape','lcsc:norm'],"
    "'lcsc:category':['lcsc:scrape'],'none':[]},"
    "'fetch':{'policy':'default','private':['10.0.0.5:80','[::1]:8080']},"
    "'limits':{'global':'5/s burst 10','groups':{'lcsc:*':'1/s'}},"
    "'sessions':{'shop':{'ttl':'1d','login':" FUNCTION ",'isExpired':"
    FUNCTION "}},"
    "'tasks':{'lcsc:scrape':{'version':'3','ttl':'30d','parallel':4,"
    "'weight':2,'lease':'90s','minInterval':'0s','retries':3,"
    "'backoff':'10s','backoffMax':'2h','limits':{'rate':'2/s','tags':"
    "{'site=eu':'10/m','b,a':'1/s'},'global':false,'groups':true},"
    "'onFailure':'store','maxOutstandingFailures':50,"
    "'prefetch':['lcsc:norm'],'runs':'failed','memory':'64M','cpu':'5s',"
    "'wall':'60s','remote':false,'run':" FUNCTION "},"
    "'lcsc:norm':{'version':'1','dependsOn':['lcsc:scrape'],'ttl':"
    "'cron 0 3 * * 1','remote':true}}}";

static void
expect_str(struct str s, const char *text)
{
	if (!str_eq(s, str_of(text)))
		fail_msg("%.*s is not %s", STR_FMT(s), text);
}

static void
check_example_task(const struct task *t)
{
	expect_str(t->version, "3");
	assert_int_equal(t->ttl.kind, TASK_TTL_AFTER);
	assert_int_equal(t->ttl.after_us, 30 * 86400 * US_PER_S);
	assert_int_equal(t->parallel, 4);
	assert_int_equal(t->weight, 2);
	assert_int_equal(t->lease_us, 90 * US_PER_S);
	assert_int_equal(t->min_interval_us, 0);
	assert_int_equal(t->retries, 3);
	assert_int_equal(t->backoff_us, 10 * US_PER_S);
	assert_int_equal(t->backoff_max_us, 7200 * US_PER_S);
	assert_true(t->rate.set && t->rate.n == 2 && t->rate.burst == 1);
	assert_int_equal(t->rate.per_us, US_PER_S);
	assert_int_equal(t->tag_limits_n, 2);
	expect_str(t->tag_limits[0].key, "a,b");
	assert_int_equal(t->tag_limits[0].parts_n, 2);
	assert_null(t->tag_limits[0].parts[0].value.p);
	expect_str(t->tag_limits[1].key, "site=eu");
	expect_str(t->tag_limits[1].parts[0].value, "eu");
	assert_int_equal(t->tag_limits[1].rate.n, 10);
	assert_int_equal(t->tag_limits[1].rate.per_us, 60 * US_PER_S);
	assert_true(!t->global_limit && t->group_limits);
	assert_true(t->store_on_failure && t->has_run && !t->remote);
	assert_int_equal(t->outstanding_failures_max, 50);
	assert_int_equal(t->prefetch_n, 1);
	expect_str(t->prefetch[0], "lcsc:norm");
	assert_int_equal(t->runs, TASK_RUNS_FAILED);
	assert_int_equal(t->memory_bytes, 64 << 20);
	assert_int_equal(t->cpu_us, 5 * US_PER_S);
	assert_int_equal(t->wall_us, 60 * US_PER_S);
	assert_int_equal(t->tags_n, 2);
	expect_str(t->tags[0], "lcsc:category");
	expect_str(t->tags[1], "lcsc:product");
}

static void
check_example_defaults(const struct task *t)
{
	assert_int_equal(t->ttl.kind, TASK_TTL_CRON);
	assert_int_equal(t->parallel, 0);
	assert_int_equal(t->weight, 1);
	assert_int_equal(t->lease_us, 60 * US_PER_S);
	assert_int_equal(t->min_interval_us, 10 * US_PER_S);
	assert_int_equal(t->retries, 10);
	assert_int_equal(t->backoff_us, 30 * US_PER_S);
	assert_int_equal(t->backoff_max_us, 6 * 3600 * US_PER_S);
	assert_true(!t->rate.set && t->tag_limits_n == 0);
	assert_true(t->global_limit && t->group_limits);
	assert_true(!t->store_on_failure && !t->has_run && t->remote);
	assert_int_equal(t->outstanding_failures_max, 0);
	assert_int_equal(t->runs, TASK_RUNS_LAST);
	assert_true(t->memory_bytes == 0 && t->cpu_us == 0 && t->wall_us == 0);
	assert_int_equal(t->depends_on_n, 1);
	expect_str(t->depends_on[0], "lcsc:scrape");
	assert_int_equal(t->tags_n, 1);
}

static void
reads_the_example(void **state)
{
	struct task_config *c = config_of(example);

	(void)state;
	assert_int_equal(c->tasks_n, 2);
	check_example_task(task_find(c, STR("lcsc:scrape")));
	check_example_defaults(task_find(c, STR("lcsc:norm")));
	assert_null(task_find(c, STR("lcsc:")));
	assert_true(c->global.set && c->global.n == 5 && c->global.burst == 10);
	assert_int_equal(c->groups_n, 1);
	expect_str(c->groups[0].pattern, "lcsc:*");
	assert_int_equal(c->seeds_n, 2);
	expect_str(c->seeds[0].id, "lcsc:home");
	expect_str(c->seeds[0].data, "{\"url\":\"https://shop.example/\"}");
	assert_int_equal(c->seeds[0].tags_n, 2);
	expect_str(c->seeds[0].tags[1], "site=eu");
	expect_str(c->seeds[1].data, "{}");
	assert_int_equal(c->migrations_n, 2);
	assert_int_equal(c->migrations[0].kind, MIGRATION_RENAME_TAG);
	expect_str(c->migrations[0].to, "lcsc:product");
	assert_int_equal(c->migrations[1].kind, MIGRATION_RENAME_TASK);
	expect_str(c->migrations[1].from, "old");
	expect_str(c->fetch_policy, "\"default\"");
	assert_int_equal(c->fetch_private_n, 2);
	expect_str(c->fetch_private[1], "[::1]:8080");
	assert_true(str_starts(c->sessions, STR("{\"shop\":{\"ttl\"")));
	task_config_free(&c);
	assert_null(c);
}

static void
one_without_tasks(void **state)
{
	struct task_config *c = task_config_none();

	(void)state;
	assert_int_equal(c->tasks_n, 0);
	assert_null(task_find(c, STR("a")));
	expect_str(c->sessions, "{}");
	task_config_free(&c);
	c = config_of("{}");
	assert_int_equal(c->tasks_n, 0);
	task_config_free(&c);
	task_config_free(&c);
}

/* -- Faults -- */

#define TASK(rest) "{'tasks':{'a':{'version':'1','run':" FUNCTION rest "}}}"

static const struct {
	const char *json, *faults;
} bad[] = {
	{ "[]", "config: it is not an object\n" },
	{ "{", "config: it is not JSON: unexpected end of data at byte 1\n" },
	{ "", "config: it is empty\n" },
	{ FUNCTION, "config: it is not an object\n" },
	{ "{'taskes':{}}",
	    "taskes: there is no such key; \"tasks\" may be meant\n" },
	{ "{'x.y':{}}", "[\"x.y\"]: there is no such key\n" },
	{ "{'tags':{},'tags':{}}", "tags: it stands twice\n" },
	/* tasks */
	{ "{'tasks':[]}", "tasks: it is not an object\n" },
	{ "{'tasks':{'':{}}}", "tasks[\"\"]: it is empty\n" },
	{ "{'tasks':{'a*':{}}}",
	    "tasks.a*: a task's name has no \"*\" and no \",\"\n" },
	{ "{'tasks':{'a,b':{}}}",
	    "tasks.a,b: a task's name has no \"*\" and no \",\"\n" },
	{ "{'tasks':{'a\\n':{}}}",
	    "tasks[\"a\\u000a\"]: it has control characters\n" },
	{ "{'tasks':{'a':{'version':'1','remote':true},'a':{'version':'1',"
	    "'remote':true}}}", "tasks.a: it stands twice\n" },
	{ "{'tasks':{'a':" FUNCTION "}}", "tasks.a: it is not an object\n" },
	{ "{'tasks':{'a':{}}}", "tasks.a.version: it is missing\n"
	    "tasks.a.run: it is missing; only a task with remote: true may "
	    "go without\n" },
	{ "{'tasks':{'a':{'version':3,'run':1}}}",
	    "tasks.a.version: it is not a string\n"
	    "tasks.a.run: it is not a function\n" },
	{ "{'tasks':{'a':{'version':'','remote':true}}}",
	    "tasks.a.version: it is empty\n" },
	{ TASK(",'ver':1"), "tasks.a.ver: there is no such key\n" },
	{ TASK(",'dependOn':1"), "tasks.a.dependOn: there is no such key; "
	    "\"dependsOn\" may be meant\n" },
	{ TASK(",'ttl':'7x'"), "tasks.a.ttl: it is not a duration, such as "
	    "\"500ms\", \"10s\", \"5m\", \"2h\" or \"30d\"\n" },
	{ TASK(",'ttl':7"), "tasks.a.ttl: it is not a duration, such as "
	    "\"500ms\", \"10s\", \"5m\", \"2h\" or \"30d\"\n" },
	{ TASK(",'ttl':'0s'"), "tasks.a.ttl: it is not from 1ms to 36500d\n" },
	{ TASK(",'ttl':'36501d'"),
	    "tasks.a.ttl: it is not from 1ms to 36500d\n" },
	{ TASK(",'ttl':'99999999999999999999d'"),
	    "tasks.a.ttl: it is not a duration, such as \"500ms\", \"10s\", "
	    "\"5m\", \"2h\" or \"30d\"\n" },
	{ TASK(",'ttl':'cron 0 25 * * 1'"),
	    "tasks.a.ttl: \"25\" is no hour\n" },
	{ TASK(",'ttl':'cron 0 3 * *'"),
	    "tasks.a.ttl: a cron line has five fields\n" },
	{ TASK(",'parallel':0"),
	    "tasks.a.parallel: it is not a whole number from 1 to 10000\n" },
	{ TASK(",'parallel':10001"),
	    "tasks.a.parallel: it is not a whole number from 1 to 10000\n" },
	{ TASK(",'parallel':1.5"),
	    "tasks.a.parallel: it is not a whole number from 1 to 10000\n" },
	{ TASK(",'weight':-1"),
	    "tasks.a.weight: it is not a whole number from 1 to 1000\n" },
	{ TASK(",'weight':'2'"),
	    "tasks.a.weight: it is not a whole number from 1 to 1000\n" },
	{ TASK(",'lease':'999ms'"),
	    "tasks.a.lease: it is not from 1s to 1d\n" },
	{ TASK(",'minInterval':null"),
	    "tasks.a.minInterval: it is not a duration, such as \"500ms\", "
	    "\"10s\", \"5m\", \"2h\" or \"30d\"\n" },
	{ TASK(",'retries':1001"),
	    "tasks.a.retries: it is not a whole number from 0 to 1000\n" },
	{ TASK(",'backoff':'2m','backoffMax':'1m'"),
	    "tasks.a.backoffMax: it is less than backoff\n" },
	{ TASK(",'backoff':'366d'"),
	    "tasks.a.backoff: it is not from 1ms to 365d\n" },
	{ TASK(",'limits':'5/s'"), "tasks.a.limits: it is not an object\n" },
	{ TASK(",'limits':{'rat':'5/s'}"), "tasks.a.limits.rat: there is no "
	    "such key; \"rate\" may be meant\n" },
	{ TASK(",'limits':{'rate':'5'}"), "tasks.a.limits.rate: it is not a "
	    "rate, such as \"5/s\", \"10/m\" or \"100/h burst 20\"\n" },
	{ TASK(",'limits':{'global':1,'groups':null}"),
	    "tasks.a.limits.global: it is not true or false\n"
	    "tasks.a.limits.groups: it is not true or false\n" },
	{ TASK(",'limits':{'tags':[]}"),
	    "tasks.a.limits.tags: it is not an object\n" },
	{ TASK(",'limits':{'tags':{'a,':'1/s'}}"),
	    "tasks.a.limits.tags.a,: it is empty\n" },
	{ TASK(",'limits':{'tags':{'a=1,a=2':'1/s'}}"),
	    "tasks.a.limits.tags.a=1,a=2: it has one tag twice\n" },
	{ TASK(",'limits':{'tags':{'a,b':'1/s','b,a':'2/s'}}"),
	    "tasks.a.limits.tags.b,a: these tags stand twice\n" },
	{ TASK(",'limits':{'tags':{'a':'1/x'}}"),
	    "tasks.a.limits.tags.a: it is not a rate, such as \"5/s\", "
	    "\"10/m\" or \"100/h burst 20\"\n" },
	{ TASK(",'limits':{'tags':{'a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q':"
	    "'1/s'}}"), "tasks.a.limits.tags.a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,"
	    "p,q: it has more than 16 tags\n" },
	{ TASK(",'onFailure':'keep'"),
	    "tasks.a.onFailure: it is none of these: discard store\n" },
	{ TASK(",'runs':true"),
	    "tasks.a.runs: it is none of these: last failed none\n" },
	{ TASK(",'maxOutstandingFailures':0"),
	    "tasks.a.maxOutstandingFailures: it is not a whole number from 1 "
	    "to 1000000\n" },
	{ TASK(",'memory':64"), "tasks.a.memory: it is not a size, such as "
	    "\"512K\", \"64M\" or \"1G\"\n" },
	{ TASK(",'memory':'64MB'"), "tasks.a.memory: it is not a size, such "
	    "as \"512K\", \"64M\" or \"1G\"\n" },
	{ TASK(",'memory':'1023K'"),
	    "tasks.a.memory: it is not from 1M to 4096M\n" },
	{ TASK(",'memory':'5G'"),
	    "tasks.a.memory: it is not from 1M to 4096M\n" },
	{ TASK(",'cpu':'61m'"), "tasks.a.cpu: it is not from 1ms to 1h\n" },
	{ TASK(",'wall':'25h'"), "tasks.a.wall: it is not from 1ms to 1d\n" },
	{ TASK(",'remote':'yes'"),
	    "tasks.a.remote: it is not true or false\n" },
	/* dependsOn, prefetch */
	{ TASK(",'dependsOn':'b'"), "tasks.a.dependsOn: it is not a list\n" },
	{ TASK(",'dependsOn':['b',1]"),
	    "tasks.a.dependsOn[0]: there is no task \"b\"\n"
	    "tasks.a.dependsOn[1]: it is not a string\n" },
	{ TASK(",'prefetch':['a','a']"),
	    "tasks.a.prefetch[1]: it stands twice\n" },
	{ TASK(",'dependsOn':['a']"),
	    "tasks.a.dependsOn: the task needs itself: a -> a\n" },
	{ "{'tasks':{'a':{'version':'1','remote':true,'dependsOn':['b']},"
	    "'b':{'version':'1','remote':true,'dependsOn':['d','c']},"
	    "'c':{'version':'1','remote':true,'dependsOn':['b']},"
	    "'d':{'version':'1','remote':true}}}",
	    "tasks.b.dependsOn: the task needs itself: b -> c -> b\n" },
	/* tags */
	{ "{'tags':[]}", "tags: it is not an object\n" },
	{ "{'tags':{'a=b':[]}}",
	    "tags.a=b: a tag's name has no \"=\" and no \",\"\n" },
	{ "{'tags':{'a,b':[]}}",
	    "tags.a,b: a tag's name has no \"=\" and no \",\"\n" },
	{ "{'tags':{'a':'t'}}", "tags.a: it is not a list\n" },
	{ "{'tags':{'a':['t']}}", "tags.a[0]: there is no task \"t\"\n" },
	{ "{'tags':{'a':[],'a':[]}}", "tags.a: it stands twice\n" },
	/* limits */
	{ "{'limits':{'global':5}}", "limits.global: it is not a rate, such "
	    "as \"5/s\", \"10/m\" or \"100/h burst 20\"\n" },
	{ "{'limits':{'groups':{'':'1/s'}}}",
	    "limits.groups[\"\"]: it is empty\n" },
	{ "{'limits':{'groups':{'a*':'1'}}}", "limits.groups.a*: it is not a "
	    "rate, such as \"5/s\", \"10/m\" or \"100/h burst 20\"\n" },
	{ "{'limits':{'groups':{'a*':'1/s','a*':'1/s'}}}",
	    "limits.groups.a*: it stands twice\n" },
	{ "{'limits':{'tasks':{}}}", "limits.tasks: there is no such key\n" },
	/* seeds */
	{ "{'seeds':{}}", "seeds: it is not a list\n" },
	{ "{'seeds':[1]}", "seeds[0]: it is not an object\n" },
	{ "{'seeds':[{'id':'a'},{'tags':[]}]}",
	    "seeds[1].id: it is missing\n" },
	{ "{'seeds':[{'id':'a'},{'id':'a'}]}",
	    "seeds[1].id: another one has it\n" },
	{ "{'seeds':[{'id':'a\\u0007'}]}",
	    "seeds[0].id: it has control characters\n" },
	{ "{'seeds':[{'id':'a','data':[]}]}",
	    "seeds[0].data: it is not an object\n" },
	{ "{'seeds':[{'id':'a','data':{'b':[" FUNCTION "]}}]}",
	    "seeds[0].data: it has a function in it\n" },
	{ "{'seeds':[{'id':'a','tags':['x','x=1',2,'=']}]}",
	    "seeds[0].tags[1]: the tag stands twice\n"
	    "seeds[0].tags[2]: it is not a string\n"
	    "seeds[0].tags[3]: it is empty\n" },
	{ "{'seeds':[{'id':'a','aliases':[]}]}",
	    "seeds[0].aliases: there is no such key\n" },
	/* migrations */
	{ "{'migrations':{}}", "migrations: it is not a list\n" },
	{ "{'migrations':[{'id':'1'}]}", "migrations[0]: it renames nothing: "
	    "renameTag or renameTask is missing\n" },
	{ "{'migrations':[{'renameTag':['a','b']}]}",
	    "migrations[0].id: it is missing\n" },
	{ "{'migrations':[{'id':'1','renameTag':['a','b']},{'id':'1',"
	    "'renameTask':['a','b']}]}",
	    "migrations[1].id: another one has it\n" },
	{ "{'migrations':[{'id':'1','renameTag':['a','b'],'renameTask':"
	    "['a','b']}]}",
	    "migrations[0].renameTask: a migration renames one thing\n" },
	{ "{'migrations':[{'id':'1','renameTag':['a']}]}",
	    "migrations[0].renameTag: it is not a list of two names\n" },
	{ "{'migrations':[{'id':'1','renameTag':['a','b=c']}]}",
	    "migrations[0].renameTag[1]: a tag's name has no \"=\" and no "
	    "\",\"\n" },
	{ "{'migrations':[{'id':'1','renameTask':['a',1]}]}",
	    "migrations[0].renameTask[1]: it is not a string\n" },
	{ "{'migrations':[{'id':'1','renameTag':['a','a']}]}",
	    "migrations[0].renameTag: both names are the same\n" },
	/* fetch */
	{ "{'fetch':{'policy':1}}", "fetch.policy: it is neither the name of "
	    "a policy nor an object\n" },
	{ "{'fetch':{'policy':''}}", "fetch.policy: it is empty\n" },
	{ "{'fetch':{'policy':" FUNCTION "}}",
	    "fetch.policy: it has a function in it\n" },
	{ "{'fetch':{'private':['a','a:0','a:65536',':1','::1:80','a b:1',"
	    "'http://a:1','a:1']}}",
	    "fetch.private[0]: it is not HOST:PORT, such as \"10.0.0.5:8080\""
	    "\n"
	    "fetch.private[1]: it is not HOST:PORT, such as \"10.0.0.5:8080\""
	    "\n"
	    "fetch.private[2]: it is not HOST:PORT, such as \"10.0.0.5:8080\""
	    "\n"
	    "fetch.private[3]: it is not HOST:PORT, such as \"10.0.0.5:8080\""
	    "\n"
	    "fetch.private[4]: it is not HOST:PORT, such as \"10.0.0.5:8080\""
	    "\n"
	    "fetch.private[5]: it is not HOST:PORT, such as \"10.0.0.5:8080\""
	    "\n"
	    "fetch.private[6]: it is not HOST:PORT, such as \"10.0.0.5:8080\""
	    "\n" },
	{ "{'fetch':{'allow':1}}", "fetch.allow: there is no such key\n" },
	/* sessions */
	{ "{'sessions':[]}", "sessions: it is not an object\n" },
	{ "{'sessions':{'a':{}}}", "sessions.a.login: it is missing\n" },
	{ "{'sessions':{'a':{'login':true,'ttl':'1','logout':1}}}",
	    "sessions.a.login: it is not a function\n"
	    "sessions.a.ttl: it is not a duration, such as \"500ms\", "
	    "\"10s\", \"5m\", \"2h\" or \"30d\"\n"
	    "sessions.a.logout: there is no such key\n" },
};

static void
locates_every_fault(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		expect_faults(bad[i].json, bad[i].faults);
}

static void
tells_twenty_faults_and_no_more(void **state)
{
	FREED(buf_free) struct buf json = BUF_INIT;
	FREED(buf_free) struct buf faults = BUF_INIT;

	(void)state;
	buf_put_text(&json, "{");
	for (unsigned i = 0; i < TASK_FAULTS_MAX + 5; i++) {
		buf_printf(&json, "%s'x%u':1", i == 0 ? "" : ",", i);
		if (i < TASK_FAULTS_MAX)
			buf_printf(&faults, "x%u: there is no such key\n", i);
	}
	buf_put_text(&json, "}");
	expect_faults(buf_text(&json), buf_text(&faults));
}

static void
long_keys_are_cut_in_paths(void **state)
{
	FREED(buf_free) struct buf json = BUF_INIT;
	FREED(buf_free) struct buf faults = BUF_INIT;

	(void)state;
	buf_put_text(&json, "{'");
	buf_put_text(&faults, "[\"");
	for (unsigned i = 0; i < 100; i++)
		buf_put_text(&json, "\xc3\xa4");
	for (unsigned i = 0; i < TASK_FAULT_KEY_BYTES / 2; i++)
		buf_put_text(&faults, "\xc3\xa4");
	buf_put_text(&json, "':1}");
	buf_put_text(&faults, "\"]: there is no such key\n");
	expect_faults(buf_text(&json), buf_text(&faults));
}

/* -- Limits at their edges -- */

/* `n` elements, `%u` in each, between the ends. */
static void
put_elements(struct buf *b, const char *before, const char *element,
    unsigned n, const char *after)
{
	buf_clear(b);
	buf_put_text(b, before);
	for (unsigned i = 0; i < n; i++) {
		struct str rest = str_of(element), part;
		if (i > 0)
			buf_put_char(b, ',');
		for (size_t k = 0; str_split(&rest, '%', &part); k++) {
			if (k > 0)
				buf_printf(b, "%u", i);
			buf_put_str(b, part);
		}
	}
	buf_put_text(b, after);
}

static const struct {
	const char *before, *element, *after, *fault;
	unsigned n;
	const char *limit;
} counts[] = {
	{ "{'tasks':{", "'t%':{'version':'1','remote':true}", "}}",
	    "tasks: it has more than 3 tasks\n", 3, "tasks_max" },
	{ "{'tags':{", "'t%':[]", "}}", "tags: it has more than 4 tags\n", 4,
	    "tag_names_max" },
	{ "{'migrations':[", "{'id':'%','renameTag':['a%','b%']}", "]}",
	    "migrations: it has more than 5 elements\n", 5, "migrations_max" },
	{ "{'seeds':[{'id':'a','tags':[", "'t%'", "]}]}",
	    "seeds[0].tags: it has more than 6 elements\n", 6, "tags_max" },
	{ "{'seeds':[", "{'id':'%'}", "]}",
	    "seeds: it has more than 10000 elements\n", 10000, NULL },
	{ "{'limits':{'groups':{", "'g%*':'1/s'", "}}}",
	    "limits.groups: it has more than 1000 groups\n", 1000, NULL },
	{ "{'fetch':{'private':[", "'a:1%'", "]}}",
	    "fetch.private: it has more than 100 elements\n", 100, NULL },
	{ "{'sessions':{", "'s%':{'login':" FUNCTION "}", "}}",
	    "sessions: it has more than 100 sessions\n", 100, NULL },
	{ "{'tasks':{'a':{'version':'1','remote':true,'limits':{'tags':{",
	    "'t%':'1/s'", "}}}}}",
	    "tasks.a.limits.tags: it has more than 32 keys\n", 32, NULL },
};

static void
limits_of_numbers(void **state)
{
	struct item_limits limits = ITEM_LIMITS_DEFAULT;
	FREED(buf_free) struct buf json = BUF_INIT;

	(void)state;
	limits.tasks_max = 3;
	limits.tag_names_max = 4;
	limits.migrations_max = 5;
	limits.tags_max = 6;
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		struct task_config *c;
		struct why w = WHY_INIT;
		put_elements(&json, counts[i].before, counts[i].element,
		    counts[i].n, counts[i].after);
		assert_int_equal(read_config(buf_text(&json), &limits, &c,
		    NULL, &w), OK);
		task_config_free(&c);
		put_elements(&json, counts[i].before, counts[i].element,
		    counts[i].n + 1, counts[i].after);
		const char *limit = expect_faults_limited(buf_text(&json),
		    &limits, counts[i].fault);
		assert_true(str_eq(str_of(limit == NULL ? "" : limit),
		    str_of(counts[i].limit == NULL ? "" :
		    counts[i].limit)));
	}
}

static void
dependencies_are_limited(void **state)
{
	FREED(buf_free) struct buf tasks = BUF_INIT;
	FREED(buf_free) struct buf json = BUF_INIT;

	(void)state;
	put_elements(&tasks, "", "'t%':{'version':'1','remote':true}", 33, "");
	for (unsigned n = 32; n <= 33; n++) {
		buf_clear(&json);
		put_elements(&json, "{'tasks':{'a':{'version':'1',"
		    "'remote':true,'dependsOn':[", "'t%'", n, "]},");
		buf_put_str(&json, buf_str(&tasks));
		buf_put_text(&json, "}}");
		if (n == 33) {
			expect_faults(buf_text(&json), "tasks.a.dependsOn: it "
			    "has more than 32 elements\n");
			continue;
		}
		struct task_config *c = config_of(buf_text(&json));
		assert_int_equal(c->tasks[0].depends_on_n, 32);
		task_config_free(&c);
	}
}

/* A text of `n` bytes between two others. */
static const char *
put_long(struct buf *b, const char *before, size_t n, const char *after)
{
	buf_clear(b);
	buf_put_text(b, before);
	memset(buf_grow(b, n), 'x', n);
	buf_put_text(b, after);
	return buf_text(b);
}

static void
limits_of_lengths(void **state)
{
	static const struct {
		const char *before, *after, *fault;
		size_t max;
	} rows[] = {
		{ "{'seeds':[{'id':'", "'}]}",
		    "seeds[0].id: it is longer than 1024 bytes\n", 1024 },
		{ "{'seeds':[{'id':'a','tags':['", "']}]}",
		    "seeds[0].tags[0]: it is longer than 200 bytes\n", 200 },
		{ "{'migrations':[{'id':'", "','renameTag':['a','b']}]}",
		    "migrations[0].id: it is longer than 200 bytes\n", 200 },
		{ "{'migrations':[{'id':'1','renameTask':['a','", "']}]}",
		    "migrations[0].renameTask[1]: it is longer than 200 bytes"
		    "\n", 200 },
		{ "{'tasks':{'a':{'remote':true,'version':'", "'}}}",
		    "tasks.a.version: it is longer than 100 bytes\n", 100 },
		{ "{'fetch':{'policy':'", "'}}",
		    "fetch.policy: it is longer than 200 bytes\n", 200 },
		{ "{'seeds':[{'id':'a','data':{'a':'", "'}}]}",
		    "seeds[0].data: it is longer than 1048576 bytes\n",
		    (1 << 20) - strlen("{'a':''}") },
	};
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct task_config *c = config_of(put_long(&b, rows[i].before,
		    rows[i].max, rows[i].after));
		task_config_free(&c);
		expect_faults(put_long(&b, rows[i].before, rows[i].max + 1,
		    rows[i].after), rows[i].fault);
	}
}

static void
a_task_name_has_200_bytes_at_most(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	FREED(buf_free) struct buf fault = BUF_INIT;
	const char *after = "':{'version':'1','remote':true}}}";

	(void)state;
	struct task_config *c = config_of(put_long(&b, "{'tasks':{'", 200,
	    after));
	task_config_free(&c);
	put_long(&fault, "tasks[\"", TASK_FAULT_KEY_BYTES,
	    "\"]: it is longer than 200 bytes\n");
	expect_faults(put_long(&b, "{'tasks':{'", 201, after),
	    buf_text(&fault));
}

static void
data_has_64_levels_at_most(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	for (unsigned n = ITEM_JSON_DEPTH_MAX; n <= ITEM_JSON_DEPTH_MAX + 1;
	    n++) {
		buf_clear(&b);
		buf_put_text(&b, "{'seeds':[{'id':'a','data':{'a':");
		for (unsigned i = 1; i < n; i++)
			buf_put_char(&b, '[');
		for (unsigned i = 1; i < n; i++)
			buf_put_char(&b, ']');
		buf_put_text(&b, "}}]}");
		if (n > ITEM_JSON_DEPTH_MAX) {
			expect_faults(buf_text(&b),
			    "seeds[0].data: it is nested too deep\n");
			continue;
		}
		struct task_config *c = config_of(buf_text(&b));
		task_config_free(&c);
	}
}

static void
the_whole_has_16_megabytes_at_most(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	buf_put_text(&b, "{}");
	memset(buf_grow(&b, (16u << 20) - 2), ' ', (16u << 20) - 2);
	struct task_config *c = config_of(buf_text(&b));
	task_config_free(&c);
	buf_put_char(&b, ' ');
	expect_faults(buf_text(&b),
	    "config: it is longer than 16777216 bytes\n");
}

/* -- Small things -- */

static void
durations(void **state)
{
	static const struct {
		const char *text;
		int64_t us;              /* -1: none */
	} rows[] = {
		{ "500ms", 500000 }, { "10s", 10000000 },
		{ "5m", 300000000 }, { "2h", INT64_C(7200000000) },
		{ "30d", INT64_C(2592000000000) }, { "0s", 0 },
		{ "", -1 }, { "5", -1 }, { "s", -1 }, { "5 s", -1 },
		{ "-5s", -1 }, { "1.5s", -1 }, { "5S", -1 }, { "5w", -1 },
		{ "9223372036854775807d", -1 }, { "5ss", -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t us = -1;
		assert_int_equal(task_duration(str_of(rows[i].text), &us),
		    rows[i].us >= 0);
		assert_int_equal(us, rows[i].us);
	}
}

static void
rates(void **state)
{
	static const struct {
		const char *text;
		struct task_rate rate;
	} rows[] = {
		{ "5/s", { true, 5, 1000000, 1 } },
		{ "10/m burst 20", { true, 10, 60000000, 20 } },
		{ "1/h", { true, 1, INT64_C(3600000000), 1 } },
		{ "1000000/d burst 1000000",
		    { true, 1000000, INT64_C(86400000000), 1000000 } },
		{ "0/s", { false, 0, 0, 0 } },
		{ "1000001/s", { false, 0, 0, 0 } },
		{ "5/ms", { false, 0, 0, 0 } },
		{ "5/s ", { false, 0, 0, 0 } },
		{ "5/s burst", { false, 0, 0, 0 } },
		{ "5/s burst 0", { false, 0, 0, 0 } },
		{ "5/s burst 1000001", { false, 0, 0, 0 } },
		{ "5/s burst 2x", { false, 0, 0, 0 } },
		{ "5", { false, 0, 0, 0 } },
		{ "5/", { false, 0, 0, 0 } },
		{ "/s", { false, 0, 0, 0 } },
		{ "", { false, 0, 0, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct task_rate r = { .set = false };
		const struct task_rate *x = &rows[i].rate;
		assert_int_equal(task_rate_parse(str_of(rows[i].text), &r),
		    x->set);
		assert_int_equal(r.n, x->n);
		assert_int_equal(r.per_us, x->per_us);
		assert_int_equal(r.burst, x->burst);
	}
}

static void
patterns(void **state)
{
	static const struct {
		const char *pattern, *name;
		bool matches;
	} rows[] = {
		{ "a", "a", true }, { "a", "ab", false }, { "ab", "a", false },
		{ "*", "a", true }, { "*", "", true }, { "a:*", "a:", true },
		{ "a:*", "a:b:c", true }, { "a:*", "b:a:", false },
		{ "*:a", "x:a", true }, { "*:a", "x:a:ab", false },
		{ "*:a", "x:a:a", true }, { "a*b*c", "a-b-b-c", true },
		{ "a*b*c", "a-c", false }, { "**", "x", true },
		{ "", "a", false }, { "", "", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (task_matches(str_of(rows[i].pattern),
		    str_of(rows[i].name)) != rows[i].matches)
			fail_msg("%s %s", rows[i].pattern, rows[i].name);
}

static void
results_expire(void **state)
{
	struct task_config *c = config_of(example);
	const struct task *scrape = task_find(c, STR("lcsc:scrape"));
	const struct task *norm = task_find(c, STR("lcsc:norm"));
	struct wall done, expected;

	(void)state;
	assert_true(wall_from_iso(STR("2026-11-24T13:00:00.5Z"), &done));
	assert_true(wall_from_iso(STR("2026-12-24T13:00:00.5Z"), &expected));
	assert_int_equal(task_ttl_expires(&scrape->ttl, done).us, expected.us);
	assert_true(wall_from_iso(STR("2026-11-30T03:00:00Z"), &expected));
	assert_int_equal(task_ttl_expires(&norm->ttl, done).us, expected.us);
	assert_int_equal(task_ttl_expires(&(struct task_ttl){
	    .kind = TASK_TTL_NEVER }, done).us, INT64_MIN);
	task_config_free(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_example),
		cmocka_unit_test(one_without_tasks),
		cmocka_unit_test(locates_every_fault),
		cmocka_unit_test(tells_twenty_faults_and_no_more),
		cmocka_unit_test(long_keys_are_cut_in_paths),
		cmocka_unit_test(limits_of_numbers),
		cmocka_unit_test(dependencies_are_limited),
		cmocka_unit_test(limits_of_lengths),
		cmocka_unit_test(a_task_name_has_200_bytes_at_most),
		cmocka_unit_test(data_has_64_levels_at_most),
		cmocka_unit_test(the_whole_has_16_megabytes_at_most),
		cmocka_unit_test(durations),
		cmocka_unit_test(rates),
		cmocka_unit_test(patterns),
		cmocka_unit_test(results_expire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
