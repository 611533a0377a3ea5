#include "server/token_set.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/metric.h"
#include "engine/store/store.h"
#include "os/clock.h"
#include "os/database.h"
#include "os/file.h"
#include "os/log.h"

#define FRONTIER TOKEN_DOOR_URLFRONTIER

static char dir[64];
static struct loop *home;
static struct store *store;       /* as another process has it open */
static struct store_async *async;
static struct token_set *set;
static int pipe_fds[2];
static char lines[1 << 16];
static const struct wall t0 = { INT64_C(1795166296000000) };  /* 2026-11-20 */

typedef char text_of_token[TOKEN_TEXT_BYTES + 1];

static enum err
open_with(struct token_set_options o)
{
	struct store_async_options a = { .home = home, .poll_ms = 1 };

	assert_int_equal(store_open(dir, NULL, &a.store, NULL), OK);
	o.store = async = store_async_new(&a);
	return token_set_open(&o, &set, NULL);
}

static void
open_set(unsigned used_ms)
{
	assert_int_equal(open_with((struct token_set_options){
	    .used_ms = used_ms }), OK);
}

static void
close_set(void)
{
	token_set_close(&set);
	store_async_close(&async);
}

static int
setup(void **state)
{
	struct why w = WHY_INIT;

	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/argiope-tokens-XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(pipe2(pipe_fds, O_NONBLOCK | O_CLOEXEC), 0);
	log_open(LOG_INFO, pipe_fds[1], false);
	home = loop_new("home");
	if (store_open(dir, NULL, &store, &w) != OK)
		fail_msg("%s", w.text);
	return 0;
}

static int
teardown(void **state)
{
	struct arena a = ARENA_INIT;
	char path[96];
	struct str *names;
	size_t n;

	(void)state;
	close_set();
	store_close(&store);
	loop_free(&home);
	log_open(LOG_WARN, 2, false);
	clock_use(&clock_real);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	assert_int_equal(file_list(dir, &a, &names, &n, NULL), OK);
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%.*s", dir,
		    STR_FMT(names[i]));
		unlink(path);
	}
	arena_free(&a);
	return rmdir(dir);
}

static void
add(const char *name, const char *list, text_of_token text)
{
	struct token_scopes s;
	struct why w = WHY_INIT;

	assert_int_equal(token_scopes_read(str_of(list), false, &s, NULL), OK);
	if (store_token_add(store, str_of(name), s, t0, text, &w) != OK)
		fail_msg("%s", w.text);
}

static void
take_back(const char *name)
{
	assert_int_equal(store_token_revoke(store, str_of(name), NULL), OK);
}

static enum token_answer
check(const char *text, enum token_door d, enum token_access a)
{
	return token_check(set, str_of(text), d, a, STR("192.0.2.1"), NULL);
}

/* Let home live until the token is answered so; 10 s at most. */
static void
until(const char *text, enum token_answer want)
{
	for (int i = 0; i < 10000; i++) {
		if (check(text, FRONTIER, TOKEN_READ) == want)
			return;
		loop_step(home);
		usleep(1000);
	}
	fail_msg("no \"%s\" in 10 s", token_answer_text(want));
}

static struct str
logged(void)
{
	ssize_t n = read(pipe_fds[0], lines, sizeof(lines) - 1);

	return (struct str){ lines, n < 0 ? 0 : (size_t)n };
}

struct asked {
	const char *name;
	size_t label;
	int64_t value;
};

static void
count(const struct metric *m, void *arg)
{
	struct asked *q = arg;

	if (strcmp(m->name, q->name) == 0)
		q->value = metric_value(m, q->label);
}

static int64_t
figure(const char *name, size_t label)
{
	struct asked q = { name, label, -1 };

	metric_each(count, &q);
	return q.value;
}

static void
answers(void **state)
{
	text_of_token text, other, wrong;
	struct token_pass pass;

	(void)state;
	add("ci", "urlfrontier:write,items:read", text);
	add("all", "*:read", other);
	open_set(0);
	assert_int_equal(token_check(set, str_of(text), FRONTIER, TOKEN_WRITE,
	    STR_NONE, &pass), TOKEN_FINE);
	assert_int_equal(pass.id, 1);
	assert_string_equal(pass.name, "ci");
	assert_int_equal(check(text, FRONTIER, TOKEN_READ), TOKEN_FINE);
	assert_int_equal(check(text, TOKEN_DOOR_ITEMS, TOKEN_READ),
	    TOKEN_FINE);
	assert_int_equal(check(text, TOKEN_DOOR_ITEMS, TOKEN_WRITE),
	    TOKEN_SCOPE);
	assert_int_equal(check(text, TOKEN_DOOR_REALTIME, TOKEN_READ),
	    TOKEN_SCOPE);
	assert_int_equal(check(other, TOKEN_DOOR_CONSOLE, TOKEN_READ),
	    TOKEN_FINE);
	assert_int_equal(check(other, TOKEN_DOOR_CONSOLE, TOKEN_WRITE),
	    TOKEN_SCOPE);
	assert_int_equal(check("", FRONTIER, TOKEN_READ), TOKEN_MISSING);
	assert_int_equal(token_check(set, STR_NONE, FRONTIER, TOKEN_READ,
	    STR_NONE, NULL), TOKEN_MISSING);
	/* Every place counts, and so does the length. */
	for (size_t i = 0; i < TOKEN_TEXT_BYTES; i++) {
		memcpy(wrong, text, sizeof(wrong));
		wrong[i] = wrong[i] == '0' ? '1' : '0';
		assert_int_equal(check(wrong, FRONTIER, TOKEN_READ),
		    TOKEN_UNKNOWN);
		wrong[i] = '\0';
		assert_int_equal(check(wrong, FRONTIER, TOKEN_READ),
		    i == 0 ? TOKEN_MISSING : TOKEN_UNKNOWN);
		assert_int_equal(token_check(set, (struct str){ wrong,
		    TOKEN_TEXT_BYTES }, FRONTIER, TOKEN_READ, STR_NONE, NULL),
		    TOKEN_UNKNOWN);
	}
	assert_int_equal(token_check(set, (struct str){ text,
	    sizeof(text) }, FRONTIER, TOKEN_READ, STR_NONE, NULL),
	    TOKEN_UNKNOWN);
	/* The hash is no token. */
	struct arena a = ARENA_INIT;
	struct token *list;
	size_t n;
	assert_int_equal(store_token_list(store, &a, &list, &n, NULL), OK);
	assert_int_equal(token_check(set, (struct str){
	    (const char *)list[0].hash, TOKEN_HASH_BYTES }, FRONTIER,
	    TOKEN_READ, STR_NONE, NULL), TOKEN_UNKNOWN);
	arena_free(&a);
}

static void
put_hash(struct database *d, const uint8_t hash[TOKEN_HASH_BYTES])
{
	struct query *q = database_query(d, "UPDATE token SET hash = ?1");

	query_bytes(q, 1, (struct str){ (const char *)hash,
	    TOKEN_HASH_BYTES });
	query_step(q);
	assert_int_equal(query_changes(q), 1);
	assert_int_equal(query_end(&q, NULL), OK);
}

/* A hash of which one byte differs is another one. */
static void
hashes(void **state)
{
	static const struct database_options o = {
	    .application = 0x41726769u };
	uint8_t hash[TOKEN_HASH_BYTES];
	struct database *d;
	text_of_token text;
	char path[96];

	(void)state;
	add("ci", "urlfrontier:read", text);
	token_hash(str_of(text), hash);
	snprintf(path, sizeof(path), "%s/store.db", dir);
	assert_int_equal(database_open(path, &o, &d, NULL), OK);
	for (size_t i = 0; i <= sizeof(hash); i++) {
		hash[i % sizeof(hash)] ^= i < sizeof(hash) ? 0x40 : 0;
		put_hash(d, hash);
		open_set(0);
		assert_int_equal(check(text, FRONTIER, TOKEN_READ),
		    i < sizeof(hash) ? TOKEN_UNKNOWN : TOKEN_FINE);
		close_set();
		hash[i % sizeof(hash)] ^= i < sizeof(hash) ? 0x40 : 0;
	}
	database_close(&d);
}

static void
headers(void **state)
{
	static const char *const rows[][2] = {
		{ "Bearer abc", "abc" }, { "bearer abc", "abc" },
		{ "BEARER   abc ", "abc" }, { " Bearer abc", "abc" },
		{ "Bearer", NULL }, { "Bearer ", NULL }, { "", NULL },
		{ "Bearerabc", NULL }, { "Basic abc", NULL },
		{ "abc", NULL }, { "Bearer a b", "a b" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct str s = token_of_header(str_of(rows[i][0]));
		if (rows[i][1] == NULL ? s.n != 0 : !str_eq(s,
		    str_of(rows[i][1])))
			fail_msg("%s", rows[i][0]);
	}
	assert_int_equal(token_of_header(STR_NONE).n, 0);
}

/* What another process adds and revokes is known to a set that is open. */
static void
changes(void **state)
{
	text_of_token text, second;

	(void)state;
	open_set(0);
	assert_false(token_wanted(set, FRONTIER));
	add("ci", "urlfrontier:read", text);
	until(text, TOKEN_FINE);
	assert_true(token_wanted(set, FRONTIER));
	assert_false(token_wanted(set, TOKEN_DOOR_ITEMS));
	/* Whoever enters the console can make a token for any door. */
	assert_true(token_wanted(set, TOKEN_DOOR_CONSOLE));
	assert_true(token_holds(set, 1, FRONTIER, TOKEN_READ));
	assert_false(token_holds(set, 1, FRONTIER, TOKEN_WRITE));
	assert_false(token_holds(set, 1, TOKEN_DOOR_ITEMS, TOKEN_READ));
	assert_false(token_holds(set, 2, FRONTIER, TOKEN_READ));
	assert_int_equal(figure("argiope_doors_tokens", 0), 1);
	take_back("ci");
	until(text, TOKEN_UNKNOWN);
	assert_false(token_holds(set, 1, FRONTIER, TOKEN_READ));
	assert_int_equal(figure("argiope_doors_tokens", 0), 0);
	/* The door does not fall open. */
	assert_true(token_wanted(set, FRONTIER));
	/* The same name again is another token. */
	add("ci", "urlfrontier:write", second);
	until(second, TOKEN_FINE);
	assert_int_equal(check(text, FRONTIER, TOKEN_READ), TOKEN_UNKNOWN);
	assert_false(token_holds(set, 1, FRONTIER, TOKEN_READ));
	/* A process that starts later starts from what there is. */
	take_back("ci");
	close_set();
	open_set(0);
	assert_false(token_wanted(set, FRONTIER));
	add("all", "*:read", text);
	until(text, TOKEN_FINE);
	for (unsigned d = 0; d < TOKEN_DOOR_FIXED; d++)
		assert_true(token_wanted(set, (enum token_door)d));
}

/* The operator's key opens every door, and makes none of them want a token. */
static void
operator_key(void **state)
{
	text_of_token key, text;
	struct token_pass pass;

	(void)state;
	token_make(key);
	assert_int_equal(open_with((struct token_set_options){
	    .operator_key = str_of(key) }), OK);
	for (unsigned d = 0; d < TOKEN_DOOR_FIXED; d++)
		assert_false(token_wanted(set, (enum token_door)d));
	add("ci", "urlfrontier:read", text);
	until(text, TOKEN_FINE);
	assert_int_equal(check(key, TOKEN_DOOR_CONSOLE, TOKEN_WRITE),
	    TOKEN_FINE);
	assert_true(token_find(set, str_of(key), &pass));
	assert_string_equal(pass.name, TOKEN_OPERATOR_NAME);
	assert_true(token_is(set, pass.id));
	assert_true(token_holds(set, pass.id, FRONTIER, TOKEN_WRITE));
	key[TOKEN_TEXT_BYTES - 1] ^= 1;
	assert_int_equal(check(key, FRONTIER, TOKEN_READ), TOKEN_UNKNOWN);
	/* Another process's key is none here. */
	close_set();
	open_set(0);
	key[TOKEN_TEXT_BYTES - 1] ^= 1;
	assert_int_equal(check(key, FRONTIER, TOKEN_READ), TOKEN_UNKNOWN);
	assert_false(token_holds(set, TOKEN_OPERATOR_ID, FRONTIER,
	    TOKEN_READ));
}

/* A store in which nothing changes is not read again and again. */
static void
no_change(void **state)
{
	text_of_token text;

	(void)state;
	add("ci", "urlfrontier:read", text);
	log_open(LOG_DEBUG, pipe_fds[1], false);
	open_set(0);
	struct str log = logged();
	assert_true(str_find(log, STR("token.read tokens=1\n")) < log.n);
	for (int i = 0; i < 50; i++) {
		loop_step(home);
		usleep(1000);
	}
	assert_int_equal(logged().n, 0);
	take_back("ci");
	until(text, TOKEN_UNKNOWN);
	log = logged();
	assert_true(str_find(log, STR("token.read tokens=0\n")) < log.n);
}

/* -- Many threads -- */

static text_of_token stable, flickering;
static atomic_bool stop;
static atomic_ulong checks, wrongs, fines;

static void *
ask(void *arg)
{
	unsigned long n = 0;

	(void)arg;
	while (!atomic_load(&stop)) {
		if (check(stable, FRONTIER, TOKEN_WRITE) != TOKEN_FINE ||
		    !token_holds(set, 1, FRONTIER, TOKEN_READ))
			atomic_fetch_add(&wrongs, 1);
		if (check(flickering, FRONTIER, TOKEN_READ) == TOKEN_FINE)
			atomic_fetch_add(&fines, 1);
		n++;
	}
	atomic_fetch_add(&checks, n);
	return NULL;
}

static void
threads(void **state)
{
	pthread_t ids[4];

	(void)state;
	atomic_store(&stop, false);
	atomic_store(&checks, 0);
	atomic_store(&wrongs, 0);
	add("stable", "urlfrontier:write", stable);
	add("flickering", "urlfrontier:write", flickering);
	open_set(1);
	for (size_t i = 0; i < ARRAY_LEN(ids); i++)
		assert_int_equal(pthread_create(&ids[i], NULL, ask, NULL), 0);
	for (int i = 0; i < 40; i++) {
		text_of_token text;
		add("more", "urlfrontier:read", text);
		until(text, TOKEN_FINE);
		take_back("more");
		until(text, TOKEN_UNKNOWN);
	}
	take_back("flickering");
	until(flickering, TOKEN_UNKNOWN);
	atomic_store(&stop, true);
	for (size_t i = 0; i < ARRAY_LEN(ids); i++)
		pthread_join(ids[i], NULL);
	assert_int_equal(atomic_load(&wrongs), 0);
	assert_true(atomic_load(&checks) > 0 && atomic_load(&fines) > 0);
}

/* -- Limits, dates, logs, failures -- */

static void
as_many_as_may_be(void **state)
{
	text_of_token first, last, text;
	char name[16];
	enum { ROUNDS = 10000 };

	(void)state;
	assert_int_equal(store_begin(store, NULL), OK);
	for (unsigned i = 0; i < STORE_TOKENS_MAX; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		add(name, "urlfrontier:read", i == 0 ? first : last);
	}
	assert_int_equal(store_end(store, OK, NULL), OK);
	assert_int_equal(store_token_add(store, STR("one-more"),
	    (struct token_scopes){ 1, 0 }, t0, text, NULL), ERR_FULL);
	open_set(0);
	assert_int_equal(check(first, FRONTIER, TOKEN_READ), TOKEN_FINE);
	assert_int_equal(check(last, FRONTIER, TOKEN_READ), TOKEN_FINE);
	struct mono from = clock_mono();
	for (int i = 0; i < ROUNDS; i++)
		assert_int_equal(check(last, FRONTIER, TOKEN_READ),
		    TOKEN_FINE);
	print_message("a check among %u: %lld ns\n", STORE_TOKENS_MAX,
	    (long long)mono_ns_between(from, clock_mono()) / ROUNDS);
	take_back("n0");
	until(first, TOKEN_UNKNOWN);
	assert_int_equal(check(last, FRONTIER, TOKEN_READ), TOKEN_FINE);
}

static struct wall now;

static struct wall
told_wall(void)
{
	return now;
}

static int64_t
used_of(const char *name)
{
	struct arena a = ARENA_INIT;
	struct token *list;
	int64_t used = -1;
	size_t n;

	assert_int_equal(store_token_list(store, &a, &list, &n, NULL), OK);
	for (size_t i = 0; i < n; i++)
		if (str_eq(list[i].name, str_of(name)))
			used = list[i].used.us;
	arena_free(&a);
	return used;
}

static void
dates_of_use(void **state)
{
	static struct clock_table table;
	text_of_token a, b;

	(void)state;
	table = clock_real;
	table.wall = told_wall;
	clock_use(&table);
	now = t0;
	add("a", "urlfrontier:read", a);
	add("b", "urlfrontier:read", b);
	/* Put when the time has come ... */
	open_set(1);
	assert_int_equal(check(a, FRONTIER, TOKEN_READ), TOKEN_FINE);
	for (int i = 0; i < 10000 && used_of("a") == 0; i++) {
		loop_step(home);
		usleep(1000);
	}
	assert_int_equal(used_of("a"), t0.us);
	assert_int_equal(used_of("b"), 0);
	close_set();
	/* ... and at the end; one that was only refused was not used. */
	open_set(1000000);
	now.us += US_PER_S - 1;
	assert_int_equal(check(a, FRONTIER, TOKEN_READ), TOKEN_FINE);
	assert_int_equal(check(b, FRONTIER, TOKEN_WRITE), TOKEN_SCOPE);
	close_set();
	assert_int_equal(used_of("a"), t0.us);
	open_set(1000000);
	now.us += 1;
	assert_int_equal(check(a, FRONTIER, TOKEN_READ), TOKEN_FINE);
	/* The date in memory outlives a change of the set. */
	take_back("b");
	until(b, TOKEN_UNKNOWN);
	close_set();
	assert_int_equal(used_of("a"), t0.us + US_PER_S);
}

static void
refusals(void **state)
{
	int64_t before;
	text_of_token text, wrong;

	(void)state;
	add("ci", "urlfrontier:read", text);
	open_set(0);
	memcpy(wrong, text, sizeof(wrong));
	wrong[20] ^= 1;
	before = figure("argiope_doors_refused_total", FRONTIER);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(check(i % 2 == 0 ? wrong : "guess", FRONTIER,
		    TOKEN_READ), TOKEN_UNKNOWN);
	assert_int_equal(check(text, FRONTIER, TOKEN_WRITE), TOKEN_SCOPE);
	assert_int_equal(figure("argiope_doors_refused_total", FRONTIER) -
	    before, 1001);
	/* One line for all, and the text of no token in it. */
	struct str log = logged();
	assert_int_equal(str_find_char(log, '\n'), log.n - 1);
	assert_true(str_find(log, STR("warn token.refused door=urlfrontier "
	    "access=read reason=unknown token=- peer=\"192.0.2.1\" "
	    "refused=1")) < log.n);
	for (size_t i = 0; i + 8 <= 64; i += 8) {
		assert_int_equal(str_find(log, (struct str){ text + 8 + i,
		    8 }), log.n);
		assert_int_equal(str_find(log, (struct str){ wrong + 8 + i,
		    8 }), log.n);
	}
	assert_int_equal(str_find(log, STR("guess")), log.n);
}

static _Atomic int64_t ahead_ns;

static struct mono
mono_ahead(void)
{
	return mono_add_ns(clock_real.mono(), atomic_load(&ahead_ns));
}

/* Those behind the first line are told of later, once. */
static void
refusals_later(void **state)
{
	static struct clock_table table;
	text_of_token text;

	(void)state;
	table = clock_real;
	table.mono = mono_ahead;
	clock_use(&table);
	atomic_store(&ahead_ns, 0);
	add("ci", "urlfrontier:read", text);
	open_set(0);
	for (int i = 0; i < 8; i++)
		assert_int_equal(check("x", FRONTIER, TOKEN_READ),
		    TOKEN_UNKNOWN);
	assert_true(logged().n > 0);
	for (int i = 0; i < 20; i++) {
		loop_step(home);
		usleep(1000);
	}
	assert_int_equal(logged().n, 0);
	atomic_store(&ahead_ns, 10 * NS_PER_S);
	struct str log = logged();
	for (int i = 0; i < 5000 && log.n == 0; i++) {
		loop_step(home);
		usleep(2000);
		log = logged();
	}
	assert_int_equal(str_find_char(log, '\n'), log.n - 1);
	assert_true(str_find(log, STR("warn token.refused refused=7\n")) <
	    log.n);
	atomic_store(&ahead_ns, 20 * NS_PER_S);
	assert_int_equal(check(text, FRONTIER, TOKEN_WRITE), TOKEN_SCOPE);
	log = logged();
	assert_true(str_find(log, STR("access=write reason=scope token=ci "
	    "peer=\"192.0.2.1\" refused=1\n")) < log.n);
}

/* A store that cannot be read leaves the set as it was. */
static void
failures(void **state)
{
	static const struct database_options o = {
	    .application = 0x41726769u };
	text_of_token text, more;
	struct database *d;
	char path[96];
	int64_t before;

	(void)state;
	add("ci", "urlfrontier:read", text);
	open_set(0);
	before = figure("argiope_doors_token_failures_total", 0);
	snprintf(path, sizeof(path), "%s/store.db", dir);
	assert_int_equal(database_open(path, &o, &d, NULL), OK);
	assert_int_equal(database_do(d, "ALTER TABLE token RENAME TO gone",
	    NULL), OK);
	for (int i = 0; i < 10000 && figure(
	    "argiope_doors_token_failures_total", 0) < before + 3; i++) {
		loop_step(home);
		usleep(1000);
	}
	assert_true(figure("argiope_doors_token_failures_total", 0) >=
	    before + 3);
	assert_int_equal(check(text, FRONTIER, TOKEN_READ), TOKEN_FINE);
	/* Said once, and once when it is over. */
	struct str log = logged();
	assert_int_equal(str_find_char(log, '\n'), log.n - 1);
	assert_true(str_find(log, STR("error token.failing")) < log.n);
	assert_int_equal(database_do(d, "ALTER TABLE gone RENAME TO token",
	    NULL), OK);
	add("more", "urlfrontier:read", more);
	until(more, TOKEN_FINE);
	for (int i = 0; i < 20; i++) {
		loop_step(home);
		usleep(1000);
	}
	log = logged();
	assert_true(str_find(log, STR("info token.fine tokens=2\n")) < log.n);
	database_close(&d);
}

static void
no_tokens(void **state)
{
	static const struct database_options o = {
	    .application = 0x41726769u };
	struct database *d;
	char path[96];

	(void)state;
	snprintf(path, sizeof(path), "%s/store.db", dir);
	assert_int_equal(database_open(path, &o, &d, NULL), OK);
	assert_int_equal(database_do(d, "ALTER TABLE token RENAME TO gone",
	    NULL), OK);
	assert_int_not_equal(open_with((struct token_set_options){
	    .used_ms = 1 }), OK);
	assert_null(set);
	/* Nobody looks at the set that is gone. */
	for (int i = 0; i < 20; i++) {
		loop_step(home);
		usleep(1000);
	}
	database_close(&d);
}

int
main(void)
{
#define WITH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH(answers), WITH(hashes), cmocka_unit_test(headers),
		WITH(changes), WITH(operator_key), WITH(no_change),
		WITH(threads),
		WITH(as_many_as_may_be), WITH(dates_of_use),
		WITH(refusals), WITH(refusals_later), WITH(failures),
		WITH(no_tokens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
