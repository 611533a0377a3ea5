#include "engine/store/token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/store/store_testing.h"
#include "os/clock.h"
#include "os/database.h"
#include "os/file.h"
#include "os/postgresql_testing.h"

static char dir[64];
static struct store *store;
static struct arena arena;
static const struct wall t0 = { INT64_C(1795166296000000) };  /* 2026-11-20 */

static void
open_store(const struct store_options *o, struct store **st)
{
	struct why w = WHY_INIT;

	if (store_test_open(dir, o, st, &w) != OK)
		fail_msg("%s", w.text);
}

static int
setup(void **state)
{
	static const struct store_options o = { .tokens_max = 3 };

	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/argiope-token-XXXXXX");
	assert_non_null(mkdtemp(dir));
	store_test_renew();
	open_store(&o, &store);
	arena = ARENA_INIT;
	return 0;
}

static int
teardown(void **state)
{
	char path[96];
	struct str *names;
	size_t n;

	(void)state;
	store_close(&store);
	clock_use(&clock_real);
	assert_int_equal(file_list(dir, &arena, &names, &n, NULL), OK);
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%.*s", dir,
		    STR_FMT(names[i]));
		unlink(path);
	}
	arena_free(&arena);
	return rmdir(dir);
}

/* -- Names and scopes -- */

static void
names(void **state)
{
	static const char *const good[] = { "a", "ci", "Ada@host-2.example",
	    "_x", "9", ".", "@" };
	static const char *const bad[] = { "", "-a", "a b", "a/b", "a\n",
	    "a\"", "\xc3\xa4", "a,b", "a:b", "*" };
	char text[TOKEN_NAME_BYTES_MAX + 1];
	struct why w = WHY_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_int_equal(token_name_check(str_of(good[i]), NULL), OK);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(token_name_check(str_of(bad[i]), NULL),
		    ERR_INPUT);
	assert_int_equal(token_name_check(STR("a\0b"), NULL), ERR_INPUT);
	memset(text, 'x', sizeof(text));
	assert_int_equal(token_name_check((struct str){ text, 64 }, NULL),
	    OK);
	assert_int_equal(token_name_check((struct str){ text, 65 }, &w),
	    ERR_INPUT);
	assert_string_equal(w.text, "name: 65 bytes; at most 64 are allowed");
}

static struct token_scopes
scopes(const char *list)
{
	struct token_scopes s;
	struct why w = WHY_INIT;

	if (token_scopes_read(str_of(list), false, &s, &w) != OK)
		fail_msg("%s: %s", list, w.text);
	return s;
}

/* What is read and written again. */
static void
expect(const char *list, const char *want)
{
	struct buf b = BUF_INIT;

	buf_put_text(&b, "=");
	token_scopes_write(scopes(list), &b);
	assert_string_equal(buf_text(&b) + 1, want);
	buf_free(&b);
}

static void
one_form(void **state)
{
	(void)state;
	expect("urlfrontier:write", "urlfrontier:write");
	expect("items:read,urlfrontier:write",
	    "urlfrontier:write,items:read");
	expect(" items:read ,\titems:read", "items:read");
	expect("items:read,items:write", "items:write");
	expect("items:write,items:read", "items:write");
	expect("console:write,*:read,items:read", "*:read,console:write");
	expect("*:write,*:read,items:write", "*:write");
	expect("console:read,external:read,items:read,harvest:read,"
	    "realtime:read,urlfrontier:read", "urlfrontier:read,"
	    "realtime:read,harvest:read,items:read,external:read,"
	    "console:read");
}

static void
no_scopes(void **state)
{
	static const char *const bad[] = { "", ",", "items", "items:",
	    ":read", "items:both", "items:READ", "Items:read",
	    "items:read,", ",items:read", "items:read;urlfrontier:read",
	    "items:read:write", "items :read", "**:read", "engine:read" };
	struct token_scopes s;
	struct buf b = BUF_INIT;
	struct why w = WHY_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (token_scopes_read(str_of(bad[i]), false, &s, NULL) !=
		    ERR_INPUT)
			fail_msg("%s", bad[i]);
	assert_int_equal(token_scopes_read(STR_NONE, false, &s, NULL),
	    ERR_INPUT);
	assert_int_equal(token_scopes_read(STR("engine:read"), false, &s, &w),
	    ERR_INPUT);
	assert_string_equal(w.text, "scope: there is no door \"engine\"; it "
	    "is urlfrontier, realtime, harvest, items, external, console, "
	    "worker or *");
	for (unsigned i = 0; i < TOKEN_SCOPES_MAX; i++)
		buf_put_text(&b, i == 0 ? "items:read" : ",items:read");
	assert_int_equal(token_scopes_read(buf_str(&b), false, &s, NULL), OK);
	buf_put_text(&b, ",items:read");
	assert_int_equal(token_scopes_read(buf_str(&b), false, &s, NULL),
	    ERR_INPUT);
	buf_free(&b);
}

static void
what_is_allowed(void **state)
{
	struct token_scopes s = scopes("urlfrontier:write,items:read");

	(void)state;
	/* Nothing stands in both. */
	assert_int_equal(s.write & s.read, 0);
	assert_int_equal(scopes("items:write,items:read").read, 0);
	assert_true(token_scopes_allow(s, TOKEN_DOOR_URLFRONTIER,
	    TOKEN_WRITE));
	assert_true(token_scopes_allow(s, TOKEN_DOOR_URLFRONTIER,
	    TOKEN_READ));
	assert_true(token_scopes_allow(s, TOKEN_DOOR_ITEMS, TOKEN_READ));
	assert_false(token_scopes_allow(s, TOKEN_DOOR_ITEMS, TOKEN_WRITE));
	assert_false(token_scopes_allow(s, TOKEN_DOOR_REALTIME, TOKEN_READ));
	s = scopes("*:read,console:write");
	for (unsigned d = 0; d < TOKEN_DOOR_FIXED; d++) {
		assert_true(token_scopes_allow(s, (enum token_door)d,
		    TOKEN_READ));
		assert_int_equal(token_scopes_allow(s, (enum token_door)d,
		    TOKEN_WRITE), d == TOKEN_DOOR_CONSOLE);
	}
	s = scopes("*:write");
	for (unsigned d = 0; d < TOKEN_DOOR_FIXED; d++)
		assert_true(token_scopes_allow(s, (enum token_door)d,
		    TOKEN_WRITE));
}

/* -- Texts -- */

static void
count_up(void *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((uint8_t *)out)[i] = (uint8_t)(i * 8 + 7);
}

static void
texts(void **state)
{
	char text[TOKEN_TEXT_BYTES + 1], other[TOKEN_TEXT_BYTES + 1];
	uint8_t hash[TOKEN_HASH_BYTES];
	static struct clock_table table;

	(void)state;
	token_make(text);
	token_make(other);
	assert_string_not_equal(text, other);
	assert_int_equal(strlen(text), 72);
	assert_int_equal(strspn(text + 8, "0123456789abcdef"), 64);
	/* All 32 bytes are there, the first and the last too. */
	table = clock_real;
	table.random = count_up;
	clock_use(&table);
	token_make(text);
	assert_string_equal(text, "argiope_070f171f272f373f474f575f676f777f"
	    "878f979fa7afb7bfc7cfd7dfe7eff7ff");
	token_hash(STR("abc"), hash);
	assert_memory_equal(hash, "\xba\x78\x16\xbf\x8f\x01\xcf\xea\x41\x41"
	    "\x40\xde\x5d\xae\x22\x23\xb0\x03\x61\xa3\x96\x17\x7a\x9c\xb4"
	    "\x10\xff\x61\xf2\x00\x15\xad", 32);
}

/* -- In the store -- */

static void
add(struct store *st, const char *name, const char *list,
    char text[static TOKEN_TEXT_BYTES + 1])
{
	struct why w = WHY_INIT;

	if (store_token_add(st, str_of(name), scopes(list), t0, text,
	    &w) != OK)
		fail_msg("%s", w.text);
}

static void
rows(void **state)
{
	char a[TOKEN_TEXT_BYTES + 1], b[TOKEN_TEXT_BYTES + 1];
	uint8_t hash[TOKEN_HASH_BYTES];
	struct why w = WHY_INIT;
	struct token *list;
	size_t n;

	(void)state;
	add(store, "z", "items:read", a);
	add(store, "a", "*:write", b);
	assert_int_equal(store_token_list(store, &arena, &list, &n, NULL),
	    OK);
	assert_int_equal(n, 2);
	assert_string_equal(list[0].name.p, "a");
	assert_string_equal(list[1].name.p, "z");
	assert_int_equal(list[1].id, 1);
	assert_int_equal(list[1].created.us, t0.us);
	assert_int_equal(list[1].used.us, 0);
	assert_true(token_scopes_allow(list[0].scopes, TOKEN_DOOR_CONSOLE,
	    TOKEN_WRITE));
	assert_false(token_scopes_allow(list[1].scopes, TOKEN_DOOR_ITEMS,
	    TOKEN_WRITE));
	token_hash(str_of(a), hash);
	assert_memory_equal(list[1].hash, hash, sizeof(hash));
	token_hash(str_of(b), hash);
	assert_memory_equal(list[0].hash, hash, sizeof(hash));
	/* A name that is taken leaves no text behind. */
	assert_int_equal(store_token_add(store, STR("a"), scopes("*:read"),
	    t0, b, &w), ERR_EXISTS);
	assert_string_equal(w.text, "there is a token \"a\" already");
	assert_int_equal(b[0], '\0');
	/* Of one that is gone nothing stays, its id neither. */
	assert_int_equal(store_token_used(store, 2, (struct wall){ 77 },
	    NULL), OK);
	assert_int_equal(store_token_revoke(store, STR("a"), NULL), OK);
	w = WHY_INIT;
	assert_int_equal(store_token_revoke(store, STR("a"), &w),
	    ERR_ABSENT);
	assert_string_equal(w.text, "there is no token \"a\"");
	assert_int_equal(store_token_revoke(store, STR_NONE, NULL),
	    ERR_ABSENT);
	assert_int_equal(store_token_used(store, 2, t0, NULL), OK);
	add(store, "a", "items:read", b);
	assert_int_equal(store_token_used(store, 1, t0, NULL), OK);
	assert_int_equal(store_token_list(store, &arena, &list, &n, NULL),
	    OK);
	assert_int_equal(n, 2);
	/* A server counts the one that was refused, too. */
	assert_int_equal(list[0].id, store_is_shared(store) ? 4 : 3);
	assert_int_equal(list[0].used.us, 0);
	assert_int_equal(list[1].used.us, t0.us);
	assert_int_equal(store_test_check(dir, store, NULL), OK);
}

static void
limits(void **state)
{
	char text[TOKEN_TEXT_BYTES + 1], name[TOKEN_NAME_BYTES_MAX + 2];
	struct why w = WHY_INIT;

	(void)state;
	memset(name, 'n', sizeof(name));
	assert_int_equal(store_token_add(store, (struct str){ name,
	    TOKEN_NAME_BYTES_MAX + 1 }, scopes("*:read"), t0, text, NULL),
	    ERR_INPUT);
	assert_int_equal(store_token_add(store, (struct str){ name,
	    TOKEN_NAME_BYTES_MAX }, scopes("*:read"), t0, text, NULL), OK);
	add(store, "b", "*:read", text);
	add(store, "c", "*:read", text);
	assert_int_equal(store_token_add(store, STR("d"), scopes("*:read"),
	    t0, text, &w), ERR_FULL);
	assert_string_equal(w.text,
	    "there are 3 tokens, and no more are allowed");
	assert_int_equal(text[0], '\0');
	assert_int_equal(store_token_revoke(store, STR("b"), NULL), OK);
	add(store, "d", "*:read", text);
}

/* All that a store in a file, or the row on a server, is made of. */
static void
load_store(struct buf *b)
{
	static const char *const files[] = { "store.db", "store.db-wal" };
	struct database *d;
	char path[96];

	if (store_test_server() != NULL) {
		assert_int_equal(store_test_database(dir, &d, NULL), OK);
		struct query *q = database_query(d, "SELECT t::text"
		    " FROM token AS t");
		assert_true(query_step(q));
		buf_put_str(b, query_get_str(q, 0));
		assert_int_equal(query_end(&q, NULL), OK);
		database_close(&d);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		assert_int_equal(file_load(path, 1 << 24, b, NULL), OK);
	}
}

/* Neither in the file nor in its log: only the hash is. */
static void
nowhere_in_clear(void **state)
{
	static const char digits[] = "0123456789abcdef";
	char text[TOKEN_TEXT_BYTES + 1], hex[2 * TOKEN_HASH_BYTES];
	uint8_t hash[TOKEN_HASH_BYTES];
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	add(store, "a", "*:write", text);
	token_hash(str_of(text), hash);
	for (size_t i = 0; i < sizeof(hash); i++) {
		hex[2 * i] = digits[hash[i] >> 4];
		hex[2 * i + 1] = digits[hash[i] & 15];
	}
	load_store(&b);
	assert_true(str_find(buf_str(&b), store_is_shared(store) ?
	    (struct str){ hex, sizeof(hex) } :
	    (struct str){ (char *)hash, sizeof(hash) }) < b.n);
	/* Not even a half of it. */
	assert_int_equal(str_find(buf_str(&b), (struct str){ text + 8, 32 }),
	    b.n);
	assert_int_equal(str_find(buf_str(&b), (struct str){ text + 40,
	    32 }), b.n);
}

/* Commits change the version, whoever makes them; a date of use does not. */
static void
versions(void **state)
{
	char text[TOKEN_TEXT_BYTES + 1];
	uint64_t before, after;
	struct store *other;

	(void)state;
	open_store(NULL, &other);
	assert_int_equal(store_version(store, &before, NULL), OK);
	assert_int_equal(store_version(store, &after, NULL), OK);
	assert_true(before == after);
	add(store, "mine", "*:read", text);
	assert_int_equal(store_version(store, &after, NULL), OK);
	assert_true(before != after);
	before = after;
	assert_int_equal(store_token_used(store, 1, t0, NULL), OK);
	assert_int_equal(store_version(store, &after, NULL), OK);
	assert_true(before == after);
	add(other, "its", "*:read", text);
	assert_int_equal(store_version(store, &after, NULL), OK);
	assert_true(before != after);
	before = after;
	assert_int_equal(store_token_revoke(other, STR("mine"), NULL), OK);
	assert_int_equal(store_version(store, &after, NULL), OK);
	assert_true(before != after);
	assert_int_equal(store_version(store, &before, NULL), OK);
	assert_true(before == after);
	store_close(&other);
}

static void
damaged(void **state)
{
	static const struct sql harm[] = {
		{ "UPDATE token SET scopes = 'engine:both'", NULL },
		{ "UPDATE token SET scopes = ''", NULL },
		{ "UPDATE token SET hash = x'00'",
		    "UPDATE token SET hash = '\\x00'" },
		{ "UPDATE token SET name = 'a b'", NULL },
	};
	char text[TOKEN_TEXT_BYTES + 1];
	struct database *d;
	struct token *list;
	size_t n;

	(void)state;
	assert_int_equal(store_test_database(dir, &d, NULL), OK);
	for (size_t i = 0; i < ARRAY_LEN(harm); i++) {
		assert_int_equal(database_do(d, "DELETE FROM token", NULL),
		    OK);
		add(store, "a", "*:read", text);
		assert_int_equal(store_test_check(dir, store, NULL), OK);
		struct query *q = database_query_sql(d, &harm[i]);
		query_step(q);
		assert_int_equal(query_changes(q), 1);
		assert_int_equal(query_end(&q, NULL), OK);
		assert_int_equal(store_token_list(store, &arena, &list, &n,
		    NULL), ERR_CORRUPT);
		assert_int_equal(store_test_check(dir, store, NULL),
		    ERR_CORRUPT);
	}
	database_close(&d);
}

/* A store of the version before tokens gets its table. */
static void
older_store(void **state)
{
	static const struct sql undo[] = {
		{ "DROP TABLE token", NULL },
		{ "DROP TABLE harvest_warc", NULL },
		{ "DROP TABLE harvest", NULL },
		{ "DROP TABLE credential", NULL },
		{ "DROP TABLE harvest_order", NULL },
		{ "DROP TABLE harvest_stop", NULL },
		{ "DROP TABLE harvest_crash", NULL },
		{ "DROP TABLE outbox", NULL },
		{ "DROP TABLE harvest_budget", NULL },
		{ "DROP TABLE export", NULL },
		{ "DROP TABLE external_task", NULL },
		{ "DROP TABLE external_lease", NULL },
		{ "DROP TABLE external_spool", NULL },
		{ "DROP TABLE external_rejected", NULL },
		{ "DROP TABLE external_log", NULL },
		{ "DROP TABLE external_cursor", NULL },
		{ "DROP TABLE external_registration", NULL },
		{ "DROP TABLE external_published", NULL },
		{ "DROP TABLE external_grant", NULL },
		{ "DROP TABLE external_login", NULL },
		{ "DROP TABLE external_ticket", NULL },
		{ "DROP TABLE external_client", NULL },
		{ "DROP TABLE external_declaration", NULL },
		{ "ALTER TABLE schedule DROP COLUMN claim", NULL },
		{ "ALTER TABLE schedule DROP COLUMN node", NULL },
		{ "ALTER TABLE schedule DROP COLUMN harvest_type", NULL },
		{ "ALTER TABLE schedule DROP COLUMN harvest", NULL },
		{ "ALTER TABLE schedule DROP COLUMN skips", NULL },
		{ "SELECT 1", "DROP TABLE store_version" },
		{ "SELECT 1", "DELETE FROM setting" },
		{ "PRAGMA user_version = 1",
		    "UPDATE argiope_schema SET version = 1" },
	};
	char text[TOKEN_TEXT_BYTES + 1];
	struct database *d;
	struct store_policy p;

	(void)state;
	assert_int_equal(store_policy_put(store, STR("k"), STR("v"), t0, NULL),
	    OK);
	store_close(&store);
	assert_int_equal(store_test_database(dir, &d, NULL), OK);
	for (size_t i = 0; i < ARRAY_LEN(undo); i++) {
		struct query *q = database_query_sql(d, &undo[i]);
		query_step(q);
		assert_int_equal(query_end(&q, NULL), OK);
	}
	database_close(&d);
	open_store(NULL, &store);
	add(store, "a", "*:read", text);
	assert_int_equal(store_policy_get(store, STR("k"), &arena, &p,
	    NULL), OK);
	assert_string_equal(p.json.p, "v");
}

/* A name that a door adds, and stored names that no door has.  The name stays
 * known, so this is the last test. */
static void
added_doors(void **state)
{
	struct token_scopes s;
	size_t n;

	(void)state;
	assert_int_equal(token_scopes_read(STR("sample:read"), false, &s, NULL),
	    ERR_INPUT);
	assert_int_equal(token_scopes_read(STR("sample:read,items:read"), true,
	    &s, NULL), OK);
	assert_int_equal(s.read, 1u << TOKEN_DOOR_ITEMS);
	assert_int_equal(token_scopes_read(STR("sample:all"), true, &s, NULL),
	    ERR_INPUT);
	assert_int_equal(token_door_add("console"), TOKEN_DOOR_CONSOLE);
	enum token_door d = token_door_add("sample");
	assert_int_equal(d, TOKEN_DOOR_FIXED);
	assert_int_equal(token_door_add("sample"), d);
	assert_string_equal(token_door_names(&n)[d], "sample");
	assert_int_equal(n, TOKEN_DOOR_FIXED + 1);
	expect("sample:write,items:read,*:read", "*:read,sample:write");
	assert_true(token_scopes_allow(scopes("*:write"), d, TOKEN_WRITE));
	assert_false(token_scopes_allow(scopes("items:write"), d, TOKEN_READ));
}

int
main(int argc, char **argv)
{
#define WITH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names), cmocka_unit_test(one_form),
		cmocka_unit_test(no_scopes),
		cmocka_unit_test(what_is_allowed),
		cmocka_unit_test(added_doors),
		WITH(texts), WITH(rows), WITH(limits),
		WITH(nowhere_in_clear), WITH(versions), WITH(damaged),
		WITH(older_store),
	};

	if (!store_test_begin(argc, argv))
		return POSTGRESQL_TEST_SKIP;
	return store_test_end(cmocka_run_group_tests(tests, NULL, NULL));
}
