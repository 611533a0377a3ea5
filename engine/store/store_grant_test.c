/* Grants, logins and tickets as rows, in both databases. */
#include "engine/store/store_grant.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/store/store_testing.h"
#include "os/postgresql_testing.h"
#include "os/tree.h"

static char dir[64];
static struct store *store;
static struct arena arena;
static const struct wall t0 = { INT64_C(1795166296250000) };  /* 2026-11-20 */
static const struct seal_key key = { "a key of just thirty-two bytes.." };
static const struct seal_key other_key = { "another key of thirty-two bytes" };

static int
setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/argiope-store-XXXXXX");
	assert_non_null(mkdtemp(dir));
	store_test_renew();
	assert_int_equal(store_test_open(dir, NULL, &store, NULL), OK);
	arena = ARENA_INIT;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	assert_int_equal(store_test_check(dir, store, NULL), OK);
	store_close(&store);
	arena_free(&arena);
	return tree_remove(dir, NULL) != OK;
}

static void
ok(enum err e, struct why *w)
{
	if (e != OK)
		fail_msg("%s", w->text);
}

static struct wall
at_second(int n)
{
	return (struct wall){ t0.us + n * US_PER_S };
}

static void
assert_text(struct str s, const char *text)
{
	assert_int_equal(s.n, strlen(text));
	assert_memory_equal(s.p, text, s.n);
}

static struct store_user
key_of(const char *uuid)
{
	return (struct store_user){ STR("acme"), STR("mastodon"),
		STR("eu"), str_of(uuid) };
}

static struct store_grant
sample(const char *uuid, const char *account)
{
	return (struct store_grant){ .user = key_of(uuid),
		.account = str_of(account),
		.text = STR("{\"access\":\"s3cr3t\"}"),
		.expiry = at_second(86400), .refresh_at = at_second(3000) };
}

/* Put it, and return the stored row.  `ended` may be NULL. */
static struct store_grant
put(const struct store_grant *g, struct wall now, struct store_grant *ended)
{
	struct store_grant out, none;
	struct why w = WHY_INIT;

	ok(store_grant_put(store, &key, g, now, &arena, &out,
	    ended != NULL ? ended : &none, &w), &w);
	return out;
}

static struct store_grant
put_user(const char *uuid)
{
	struct store_grant g = sample(uuid, "ada");

	return put(&g, t0, NULL);
}

static enum err
get(const char *uuid, struct store_grant *out)
{
	struct store_user u = key_of(uuid);

	return store_grant_get(store, &key, &u, &arena, out, NULL);
}

static enum err
find(const char *backend, struct str handle)
{
	struct store_grant out;

	return store_grant_find(store, &key, str_of(backend), handle, &arena,
	    &out, NULL);
}

static enum err
lease(const char *uuid, int now, int until, struct store_grant *out)
{
	struct store_user u = key_of(uuid);

	return store_grant_lease(store, &key, &u, at_second(now),
	    at_second(until), &arena, out, NULL);
}

/* One statement, to damage what is stored. */
static void
run_suite(const char *sqlite, const char *postgresql)
{
	struct sql text = { sqlite, postgresql };
	struct database *d;

	assert_int_equal(store_test_database(dir, &d, NULL), OK);
	struct query *q = database_query_sql(d, &text);
	query_step(q);
	assert_true(query_changes(q) > 0);
	assert_int_equal(query_end(&q, NULL), OK);
	database_close(&d);
}

/* --- Grants -------------------------------------------------------------- */

static void
a_login_gives_a_handle(void **state)
{
	struct store_grant g = sample("u7", "ada"), ended, got;

	(void)state;
	struct store_grant out = put(&g, t0, &ended);
	assert_int_equal(ended.handle.n, 0);
	assert_true(str_starts(out.handle, STR("argt_")));
	assert_int_equal(out.handle.n, 5 + 43);
	/* Rounded to seconds, because back ends get `issued` in seconds. */
	assert_int_equal(out.issued.us, INT64_C(1795166296000000));
	assert_int_equal(get("u7", &got), OK);
	assert_true(str_eq(got.handle, out.handle));
	assert_text(got.account, "ada");
	assert_text(got.text, "{\"access\":\"s3cr3t\"}");
	assert_text(got.user.backend, "acme");
	assert_text(got.user.connector, "mastodon");
	assert_text(got.user.subdomain, "eu");
	assert_text(got.user.uuid, "u7");
	assert_int_equal(got.issued.us, out.issued.us);
	assert_int_equal(got.expiry.us, g.expiry.us);
	assert_int_equal(got.refresh_at.us, g.refresh_at.us);
	assert_int_equal(get("u8", &got), ERR_ABSENT);
	/* By its handle, within the back end. */
	assert_int_equal(find("acme", out.handle), OK);
	assert_int_equal(find("other", out.handle), ERR_ABSENT);
	assert_int_equal(find("acme", STR("argt_")), ERR_ABSENT);
	assert_int_equal(find("acme", STR_NONE), ERR_ABSENT);
	assert_false(str_eq(put_user("u8").handle, out.handle));
}

static enum err
find_issued(const char *connector, const char *account, int seconds)
{
	struct store_grant out;

	return store_grant_find_issued(store, &key, STR("acme"),
	    str_of(connector), str_of(account), at_second(seconds), &arena,
	    &out, NULL);
}

/* Credentials without a token name user and issued (external.md §2). */
static void
found_by_account_and_issued(void **state)
{
	struct store_grant g = sample("u7", "ada"), nameless = sample("u9", "");

	(void)state;
	put_user("u7");
	assert_int_equal(find_issued("mastodon", "ada", 0), OK);
	assert_int_equal(find_issued("mastodon", "ada", 1), ERR_ABSENT);
	assert_int_equal(find_issued("mastodon", "u7", 0), ERR_ABSENT);
	assert_int_equal(find_issued("mastodon", "eve", 0), ERR_ABSENT);
	assert_int_equal(find_issued("flickr", "ada", 0), ERR_ABSENT);
	g.user.subdomain = STR("us");
	put(&g, at_second(1), NULL);
	assert_int_equal(find_issued("mastodon", "ada", 0), OK);
	assert_int_equal(find_issued("mastodon", "ada", 1), OK);
	/* The same account in one second, of two users. */
	g.user.subdomain = STR("asia");
	put(&g, at_second(1), NULL);
	assert_int_equal(find_issued("mastodon", "ada", 1), ERR_STATE);
	/* Others do not matter; a user without an account has its uuid. */
	put(&nameless, at_second(0), NULL);
	assert_int_equal(find_issued("mastodon", "ada", 0), OK);
	assert_int_equal(find_issued("mastodon", "u9", 0), OK);
	assert_int_equal(find_issued("mastodon", "", 0), ERR_ABSENT);
}

static void
the_same_account_keeps_its_handle(void **state)
{
	struct store_grant g = sample("u7", "ada"), ended, got;

	(void)state;
	struct store_grant first = put_user("u7");
	g.text = STR("{\"access\":\"new\"}");
	g.expiry = at_second(90000);
	struct store_grant second = put(&g, at_second(100), &ended);
	assert_int_equal(ended.handle.n, 0);
	assert_true(str_eq(second.handle, first.handle));
	assert_int_equal(second.issued.us, first.issued.us);
	assert_int_equal(get("u7", &got), OK);
	assert_text(got.text, "{\"access\":\"new\"}");
	assert_int_equal(got.expiry.us, at_second(90000).us);
	/* Another account ends it. */
	g.account = STR("bob");
	struct store_grant third = put(&g, at_second(200), &ended);
	assert_false(str_eq(third.handle, first.handle));
	assert_int_equal(third.issued.us, at_second(200).us - 250000);
	assert_true(str_eq(ended.handle, first.handle));
	assert_text(ended.account, "ada");
	assert_text(ended.text, "{\"access\":\"new\"}");
	assert_int_equal(find("acme", first.handle), ERR_ABSENT);
	assert_int_equal(find("acme", third.handle), OK);
}

/* Two that are not known are not the same. */
static void
an_unknown_account_is_never_the_same(void **state)
{
	struct store_grant g = sample("u7", ""), ended;

	(void)state;
	struct store_grant first = put(&g, t0, &ended);
	assert_int_equal(ended.handle.n, 0);
	struct store_grant second = put(&g, t0, &ended);
	assert_false(str_eq(second.handle, first.handle));
	assert_true(str_eq(ended.handle, first.handle));
}

static void
cleared(void **state)
{
	struct store_grant was, got;
	struct store_user u = key_of("u7");
	bool found;

	(void)state;
	struct store_grant g = put_user("u7");
	put_user("u8");
	assert_int_equal(store_grant_clear(store, &key, &u, &arena, &found,
	    &was, NULL), OK);
	assert_true(found);
	assert_true(str_eq(was.handle, g.handle));
	assert_text(was.text, "{\"access\":\"s3cr3t\"}");
	assert_int_equal(get("u7", &got), ERR_ABSENT);
	assert_int_equal(find("acme", g.handle), ERR_ABSENT);
	assert_int_equal(get("u8", &got), OK);
	assert_int_equal(store_grant_clear(store, &key, &u, &arena, &found,
	    &was, NULL), OK);
	assert_false(found);
	/* One that this key cannot open goes, too. */
	u = key_of("u8");
	assert_int_equal(store_grant_clear(store, &other_key, &u, &arena,
	    &found, &was, NULL), OK);
	assert_true(found);
	assert_int_equal(was.handle.n, 0);
	assert_int_equal(get("u8", &got), ERR_ABSENT);
}

static void
expired_ones_are_forgotten(void **state)
{
	struct store_grant g = sample("u7", "ada"), got;
	size_t n;

	(void)state;
	put(&g, t0, NULL);
	g.user.uuid = STR("u8");
	g.expiry.us++;
	put(&g, t0, NULL);
	assert_int_equal(store_grant_forget(store, at_second(86400), &n,
	    NULL), OK);
	assert_int_equal(n, 0);
	assert_int_equal(store_grant_forget(store,
	    (struct wall){ g.expiry.us }, &n, NULL), OK);
	assert_int_equal(n, 1);
	assert_int_equal(get("u7", &got), ERR_ABSENT);
	assert_int_equal(get("u8", &got), OK);
}

/* --- Refreshing ---------------------------------------------------------- */

/* The uuids that are due at this second, and when to ask again. */
static struct wall
due(int now, size_t most, const char *expected)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct store_user *list;
	struct wall next;
	struct why w = WHY_INIT;
	size_t n;

	ok(store_grant_due(store, at_second(now), most, &arena, &list, &n,
	    &next, &w), &w);
	for (size_t i = 0; i < n; i++)
		buf_printf(&b, "%s%.*s", i == 0 ? "" : " ",
		    STR_FMT(list[i].uuid));
	assert_string_equal(buf_text(&b), expected);
	return next;
}

static void
due_ones_are_listed_and_leased(void **state)
{
	struct store_grant g = sample("a", "ada"), got;

	(void)state;
	assert_true(due(0, 0, "").us == INT64_MAX);
	put(&g, t0, NULL);
	g.user.uuid = STR("b");
	g.refresh_at = at_second(2000);
	put(&g, t0, NULL);
	/* Never refreshed. */
	g.user.uuid = STR("c");
	g.refresh_at.us = 0;
	put(&g, t0, NULL);
	assert_int_equal(due(1999, 0, "").us, at_second(2000).us);
	assert_int_equal(due(2000, 0, "b").us, at_second(3000).us);
	assert_int_equal(due(3000, 1, "b").us, at_second(3000).us);
	assert_true(due(3000, 0, "b a").us == INT64_MAX);
	/* One at a time. */
	assert_int_equal(lease("b", 3000, 3060, &got), OK);
	assert_text(got.text, "{\"access\":\"s3cr3t\"}");
	assert_int_equal(lease("b", 3059, 3100, &got), ERR_BUSY);
	assert_int_equal(due(3059, 0, "a").us, at_second(3060).us);
	assert_true(due(3060, 0, "b a").us == INT64_MAX);
	assert_int_equal(lease("b", 3060, 3100, &got), OK);
	assert_int_equal(lease("d", 3060, 3100, &got), ERR_ABSENT);
}

static void
a_refresh_is_committed(void **state)
{
	struct store_grant g, got;

	(void)state;
	struct store_grant first = put_user("u7");
	assert_int_equal(lease("u7", 3000, 3060, &g), OK);
	g.text = STR("{\"access\":\"rotated\"}");
	g.expiry = at_second(99999);
	g.refresh_at = at_second(6000);
	assert_int_equal(store_grant_refresh(store, &key, &g, NULL), OK);
	/* Its answer was lost: once more. */
	assert_int_equal(store_grant_refresh(store, &key, &g, NULL), OK);
	assert_int_equal(get("u7", &got), OK);
	assert_text(got.text, "{\"access\":\"rotated\"}");
	assert_text(got.account, "ada");
	assert_true(str_eq(got.handle, first.handle));
	assert_int_equal(got.issued.us, first.issued.us);
	assert_int_equal(got.expiry.us, at_second(99999).us);
	/* The lease has ended. */
	assert_int_equal(due(3001, 0, "").us, at_second(6000).us);
	assert_int_equal(lease("u7", 3001, 3060, &g), OK);
	/* The provider could not be reached. */
	assert_int_equal(store_grant_delay(store, &g, at_second(3100), NULL),
	    OK);
	assert_int_equal(due(3002, 0, "").us, at_second(3100).us);
	assert_int_equal(lease("u7", 3100, 3160, &g), OK);
	assert_text(g.text, "{\"access\":\"rotated\"}");
	/* It has refused the refresh token. */
	assert_int_equal(store_grant_revoke(store, &g, NULL), OK);
	assert_int_equal(get("u7", &got), ERR_ABSENT);
	assert_int_equal(store_grant_revoke(store, &g, NULL), ERR_ABSENT);
}

/* Every verb of a lease that another has, or of a grant that is another. */
static void
expect_lost(struct store_grant *g, enum err expected)
{
	g->text = STR("{\"access\":\"late\"}");
	assert_int_equal(store_grant_refresh(store, &key, g, NULL), expected);
	assert_int_equal(store_grant_delay(store, g, at_second(9), NULL),
	    expected);
	assert_int_equal(store_grant_revoke(store, g, NULL), expected);
}

static void
a_lost_lease_changes_nothing(void **state)
{
	struct store_grant old, g, got, was;
	struct store_user u = key_of("u7");
	bool found;

	(void)state;
	put_user("u7");
	/* Another daemon after its end. */
	assert_int_equal(lease("u7", 0, 60, &old), OK);
	assert_int_equal(lease("u7", 60, 120, &g), OK);
	expect_lost(&old, ERR_STATE);
	/* A new login of the same account. */
	put_user("u7");
	expect_lost(&g, ERR_STATE);
	assert_int_equal(get("u7", &got), OK);
	assert_text(got.text, "{\"access\":\"s3cr3t\"}");
	/* A clear, and then a login and a lease that count from 1 again. */
	assert_int_equal(store_grant_clear(store, &key, &u, &arena, &found,
	    &was, NULL), OK);
	expect_lost(&g, ERR_ABSENT);
	put_user("u7");
	while (lease("u7", 200, 0, &got) == OK && got.lease < g.lease)
		continue;
	assert_int_equal(got.lease, g.lease);
	expect_lost(&g, ERR_STATE);
	assert_int_equal(get("u7", &got), OK);
	assert_text(got.text, "{\"access\":\"s3cr3t\"}");
}

/* --- Sealed text --------------------------------------------------------- */

/* Secrets, the account and the handle are in no column. */
static void
nothing_is_in_clear(void **state)
{
	static const struct sql whole = { "SELECT backend || connector ||"
	    " subdomain || uuid || key_id || hex(handle) || hex(sealed) ||"
	    " CAST(sealed AS TEXT) FROM external_grant",
	    "SELECT t::text FROM external_grant AS t" };
	struct database *d;

	(void)state;
	/* Three letters would be in some hexadecimal digest by chance. */
	struct store_grant sent = sample("u7", "ada@social.example");
	struct store_grant g = put(&sent, t0, NULL);
	assert_int_equal(store_test_database(dir, &d, NULL), OK);
	struct query *q = database_query_sql(d, &whole);
	assert_true(query_step(q));
	struct str row = query_get_str(q, 0);
	assert_true(str_find(row, STR("u7")) < row.n);
	assert_int_equal(str_find(row, STR("s3cr3t")), row.n);
	assert_int_equal(str_find(row, STR("ada@")), row.n);
	assert_int_equal(str_find(row, str_from(g.handle, 5)), row.n);
	assert_int_equal(query_end(&q, NULL), OK);
	database_close(&d);
}

/* Each column that is authenticated, and the text itself. */
static void
a_changed_row_is_refused(void **state)
{
	static const struct { const char *sqlite, *postgresql; } rows[] = {
		{ "UPDATE external_grant SET expiry = expiry + 1", NULL },
		{ "UPDATE external_grant SET issued = issued + 1000000",
		    NULL },
		{ "UPDATE external_grant SET handle = zeroblob(32)",
		    "UPDATE external_grant SET handle = decode(repeat('00',"
		    " 32), 'hex')" },
		{ "UPDATE external_grant SET sealed = CAST(sealed || x'00' AS"
		    " BLOB)", "UPDATE external_grant SET sealed ="
		    " sealed || '\\x00'::bytea" },
		{ "UPDATE external_grant SET sealed = substr(sealed, 1,"
		    " length(sealed) - 1)", NULL },
		{ "UPDATE external_grant SET sealed = zeroblob(5)",
		    "UPDATE external_grant SET sealed = ''::bytea" },
	};
	struct store_grant got;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		put_user("u7");
		assert_int_equal(get("u7", &got), OK);
		run_suite(rows[i].sqlite, rows[i].postgresql);
		assert_int_equal(get("u7", &got), ERR_CORRUPT);
		assert_int_equal(lease("u7", 0, 60, &got), ERR_CORRUPT);
	}
	/* A login makes it good again, under a new handle. */
	put_user("u7");
	assert_int_equal(get("u7", &got), OK);
}

/* One bit of each byte of the sealed text. */
static void
a_flipped_bit_is_refused(void **state)
{
	struct database *d;
	struct store_grant got;
	struct buf sealed = BUF_INIT;

	(void)state;
	put_user("u7");
	assert_int_equal(store_test_database(dir, &d, NULL), OK);
	struct query *q = database_query(d, "SELECT sealed FROM"
	    " external_grant");
	assert_true(query_step(q));
	buf_put_str(&sealed, query_get_str(q, 0));
	assert_int_equal(query_end(&q, NULL), OK);
	for (size_t i = 0; i <= sealed.n; i++) {
		if (i < sealed.n)
			sealed.p[i] ^= (char)(1 << i % 8);
		q = database_query(d, "UPDATE external_grant SET"
		    " sealed = ?1");
		query_bytes(q, 1, buf_str(&sealed));
		query_step(q);
		assert_int_equal(query_end(&q, NULL), OK);
		assert_int_equal(get("u7", &got), i < sealed.n ?
		    ERR_CORRUPT : OK);
		if (i < sealed.n)
			sealed.p[i] ^= (char)(1 << i % 8);
	}
	database_close(&d);
	buf_free(&sealed);
}

/* Another's uuid, subdomain, connector or back end gives nothing. */
static void
a_moved_row_is_refused(void **state)
{
	static const char *const columns[] = { "backend", "connector",
	    "subdomain", "uuid" };
	struct store_grant got;
	char sql[100];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		struct store_user u = key_of("u7");
		struct str *moved[] = { &u.backend, &u.connector,
		    &u.subdomain, &u.uuid };
		put_user("u7");
		snprintf(sql, sizeof(sql), "UPDATE external_grant SET %s ="
		    " 'm%zu'", columns[i], i);
		struct database *d;
		assert_int_equal(store_test_database(dir, &d, NULL), OK);
		assert_int_equal(database_do(d, sql, NULL), OK);
		*moved[i] = arena_printf(&arena, "m%zu", i);
		assert_int_equal(store_grant_get(store, &key, &u, &arena, &got,
		    NULL), ERR_CORRUPT);
		assert_int_equal(database_do(d, "DELETE FROM external_grant",
		    NULL), OK);
		database_close(&d);
	}
}

static void
another_key_opens_nothing(void **state)
{
	struct store_grant g = sample("u7", "ada"), out, ended;
	struct store_user u = key_of("u7");
	struct why w = WHY_INIT;

	(void)state;
	struct store_grant first = put_user("u7");
	assert_int_equal(store_grant_get(store, &other_key, &u, &arena, &out,
	    NULL), ERR_ABSENT);
	/* The user signs in anew: whose the old one was is not known. */
	ok(store_grant_put(store, &other_key, &g, t0, &arena, &out, &ended,
	    &w), &w);
	assert_false(str_eq(out.handle, first.handle));
	assert_int_equal(ended.handle.n, 0);
}

static void
rekeyed_in_batches(void **state)
{
	struct store_rekey r = { .after = 0 };
	struct store_grant got, handles[5];
	char name[8];

	(void)state;
	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "u%d", i);
		handles[i] = put_user(name);
	}
	run_suite("UPDATE external_grant SET expiry = 1 WHERE uuid = 'u2'",
	    NULL);
	struct store_grant leased;
	assert_int_equal(lease("u4", 0, 60, &leased), OK);
	for (int calls = 1; !r.is_complete; calls++) {
		assert_int_equal(store_grant_rekey(store, &key, &other_key, 2,
		    &r, NULL), OK);
		assert_int_equal(r.done + r.damaged, MIN(2 * calls, 5));
		assert_true(calls <= 3);
	}
	assert_int_equal(r.done, 4);
	assert_int_equal(r.damaged, 1);
	for (int i = 0; i < 5; i++) {
		struct store_user u = key_of("");
		u.uuid = arena_printf(&arena, "u%d", i);
		/* The old key is of no use, save for the damaged one. */
		assert_int_equal(store_grant_get(store, &key, &u, &arena,
		    &got, NULL), i == 2 ? ERR_CORRUPT : ERR_ABSENT);
		assert_int_equal(store_grant_get(store, &other_key, &u, &arena,
		    &got, NULL), i == 2 ? ERR_ABSENT : OK);
		assert_true(i == 2 || str_eq(got.handle, handles[i].handle));
	}
	/* A lease outlives it. */
	assert_int_equal(store_grant_refresh(store, &other_key, &leased,
	    NULL), OK);
	/* Again: nothing is left to do. */
	r = (struct store_rekey){ .after = 0 };
	assert_int_equal(store_grant_rekey(store, &key, &other_key, 0, &r,
	    NULL), OK);
	assert_true(r.is_complete);
	assert_int_equal(r.done, 0);
}

/* --- Logins -------------------------------------------------------------- */

static void
begin_login(const char *state, const char *cookie)
{
	struct store_login l = { .user = key_of("u7"), .state = str_of(state),
	    .cookie = str_of(cookie), .text = STR("{\"verifier\":\"v\"}") };
	struct why w = WHY_INIT;

	ok(store_login_put(store, &key, &l, t0, &w), &w);
}

static enum err
take_login(const char *connector, const char *state, const char *cookie,
    int seconds)
{
	struct store_login l;

	enum err e = store_login_take(store, &key, str_of(connector),
	    str_of(state), str_of(cookie), at_second(seconds), &arena, &l,
	    NULL);
	if (e == OK) {
		assert_text(l.text, "{\"verifier\":\"v\"}");
		assert_text(l.user.backend, "acme");
		assert_text(l.user.subdomain, "eu");
		assert_text(l.user.uuid, "u7");
	}
	return e;
}

static void
a_login_is_taken_once(void **state)
{
	(void)state;
	begin_login("s1", "c1");
	begin_login("s2", "c2");
	assert_int_equal(take_login("mastodon", "s1", "c2", 0), ERR_ABSENT);
	assert_int_equal(take_login("mastodon", "s2", "c1", 0), ERR_ABSENT);
	assert_int_equal(take_login("mastodon", "", "", 0), ERR_ABSENT);
	assert_int_equal(take_login("flickr", "s1", "c1", 0), ERR_ABSENT);
	/* All those have left it to its own browser. */
	assert_int_equal(take_login("mastodon", "s1", "c1", 0), OK);
	assert_int_equal(take_login("mastodon", "s1", "c1", 0), ERR_ABSENT);
	assert_int_equal(take_login("mastodon", "s2", "c2", 0), OK);
}

static void
a_login_lasts_ten_minutes(void **state)
{
	struct store_login l = { .user = key_of("u7"), .state = STR("s3"),
	    .cookie = STR("c"), .text = STR("{}") };
	struct database *d;

	(void)state;
	begin_login("s1", "c1");
	begin_login("s2", "c2");
	assert_int_equal(take_login("mastodon", "s1", "c1", STORE_LOGIN_S),
	    ERR_ABSENT);
	assert_int_equal(take_login("mastodon", "s2", "c2",
	    STORE_LOGIN_S - 1), OK);
	/* The next login deletes what has expired. */
	assert_int_equal(store_login_put(store, &key, &l,
	    at_second(STORE_LOGIN_S), NULL), OK);
	assert_int_equal(store_test_database(dir, &d, NULL), OK);
	struct query *q = database_query(d, "SELECT count(*) FROM"
	    " external_login");
	assert_true(query_step(q));
	assert_int_equal(query_get_i64(q, 0), 1);
	assert_int_equal(query_end(&q, NULL), OK);
	database_close(&d);
}

static void
a_state_is_taken_by_one_login(void **state)
{
	struct store_login l = { .user = key_of("u8"), .state = STR("s1"),
	    .cookie = STR("c2"), .text = STR("{}") };
	struct why w = WHY_INIT;

	(void)state;
	begin_login("s1", "c1");
	assert_int_equal(store_login_put(store, &key, &l, t0, &w),
	    ERR_EXISTS);
	assert_string_equal(w.field, "state");
	assert_int_equal(take_login("mastodon", "s1", "c1", 0), OK);
}

static void
a_changed_login_is_refused_and_gone(void **state)
{
	static const char *const changes[] = {
		"UPDATE external_login SET uuid = 'u8'",
		"UPDATE external_login SET subdomain = 'us'",
		"UPDATE external_login SET backend = 'other'",
		"UPDATE external_login SET expires = expires + 1",
		("UPDATE external_login SET sealed = substr(sealed, 1,"
		    " length(sealed) - 1)"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		begin_login("s1", "c1");
		run_suite(changes[i], NULL);
		assert_int_equal(take_login("mastodon", "s1", "c1", 0),
		    ERR_CORRUPT);
		assert_int_equal(take_login("mastodon", "s1", "c1", 0),
		    ERR_ABSENT);
	}
}

/* --- Clients ------------------------------------------------------------- */

/* The text that is kept. */
static struct str
register_client(const struct seal_key *k, const char *provider,
    const char *text)
{
	struct str kept;
	struct why w = WHY_INIT;

	ok(store_client_put(store, k, STR("mastodon"), str_of(provider),
	    str_of(text), &arena, &kept, &w), &w);
	return kept;
}

static enum err
get_client(const char *connector, const char *provider, const char *expected)
{
	struct str text;

	enum err e = store_client_get(store, &key, str_of(connector),
	    str_of(provider), &arena, &text, NULL);
	if (e == OK)
		assert_text(text, expected);
	return e;
}

static void
the_first_client_stays(void **state)
{
	(void)state;
	assert_int_equal(get_client("mastodon", "https://a", ""), ERR_ABSENT);
	assert_text(register_client(&key, "https://a", "1"), "1");
	assert_text(register_client(&key, "https://a", "2"), "1");
	assert_text(register_client(&key, "https://b", "3"), "3");
	assert_int_equal(get_client("mastodon", "https://a", "1"), OK);
	assert_int_equal(get_client("pixelfed", "https://a", ""), ERR_ABSENT);
	/* Moved to another provider, and put right by the next one. */
	run_suite("UPDATE external_client SET provider = 'https://c'"
	    " WHERE provider = 'https://a'", NULL);
	assert_int_equal(get_client("mastodon", "https://c", ""), ERR_CORRUPT);
	assert_text(register_client(&key, "https://c", "4"), "4");
	assert_int_equal(get_client("mastodon", "https://c", "4"), OK);
	/* Another key. */
	assert_text(register_client(&other_key, "https://b", "5"), "5");
	assert_int_equal(get_client("mastodon", "https://b", ""), ERR_ABSENT);
	for (int i = 0; i < 2; i++)
		assert_int_equal(store_client_delete(store, STR("mastodon"),
		    STR("https://c"), NULL), OK);
	assert_int_equal(get_client("mastodon", "https://c", ""), ERR_ABSENT);
}

/* --- Tickets ------------------------------------------------------------- */

static enum err
use(const char *backend, const char *id, int expires, int now)
{
	return store_ticket_use(store, str_of(backend), str_of(id),
	    at_second(expires), at_second(now), NULL);
}

static void
a_ticket_is_used_once(void **state)
{
	int end = 300 + STORE_TICKET_AFTER_S;

	(void)state;
	assert_int_equal(use("acme", "j1", 300, 0), OK);
	assert_int_equal(use("acme", "j1", 300, 1), ERR_EXISTS);
	assert_int_equal(use("acme", "j1", 600, 1), ERR_EXISTS);
	assert_int_equal(use("other", "j1", 300, 1), OK);
	assert_int_equal(use("acme", "j2", 300, 1), OK);
	/* It is remembered somewhat longer than it is good. */
	assert_int_equal(use("acme", "j1", 900, end - 1), ERR_EXISTS);
	assert_int_equal(use("acme", "j1", 900, end), OK);
}

/* --- Limits -------------------------------------------------------------- */

static struct str
letters(size_t n)
{
	char *p = arena_bytes(&arena, n);

	memset(p, 'x', n);
	return (struct str){ p, n };
}

/* Each text at its edge, and one byte beyond. */
static void
texts_are_bounded(void **state)
{
	struct store_grant g = sample("u7", "ada"), out, ended;
	const struct { struct str *text; size_t most; const char *field; }
	    rows[] = {
		{ &g.user.backend, STORE_NAME_BYTES_MAX, "backend" },
		{ &g.user.connector, STORE_NAME_BYTES_MAX, "connector" },
		{ &g.user.subdomain, STORE_USER_BYTES_MAX, "subdomain" },
		{ &g.user.uuid, STORE_USER_BYTES_MAX, "uuid" },
		{ &g.account, STORE_ACCOUNT_BYTES_MAX, "account" },
		{ &g.text, STORE_SEALED_BYTES_MAX, "text" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t more = 0; more < 2; more++) {
			struct why w = WHY_INIT;
			g = sample("u7", "ada");
			*rows[i].text = letters(rows[i].most + more);
			assert_int_equal(store_grant_put(store, &key, &g, t0,
			    &arena, &out, &ended, &w), more ? ERR_FULL : OK);
			assert_string_equal(w.field, more ? rows[i].field :
			    "");
		}
	struct why w = WHY_INIT;
	g = sample("", "ada");
	assert_int_equal(store_grant_put(store, &key, &g, t0, &arena, &out,
	    &ended, &w), ERR_INPUT);
	assert_string_equal(w.field, "uuid");
}

static void
texts_of_logins_are_bounded(void **state)
{
	struct store_login l;
	const struct { struct str *text; size_t most; const char *field; }
	    rows[] = {
		{ &l.user.uuid, STORE_USER_BYTES_MAX, "uuid" },
		{ &l.state, STORE_SECRET_BYTES_MAX, "state" },
		{ &l.cookie, STORE_SECRET_BYTES_MAX, "cookie" },
		{ &l.text, STORE_SEALED_BYTES_MAX, "text" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t more = 0; more < 2; more++) {
			struct why w = WHY_INIT;
			l = (struct store_login){ key_of("u7"), arena_printf(
			    &arena, "s%zu", i), STR("c"), STR("{}") };
			*rows[i].text = letters(rows[i].most + more);
			assert_int_equal(store_login_put(store, &key, &l, t0,
			    &w), more ? ERR_FULL : OK);
			assert_string_equal(w.field, more ? rows[i].field :
			    "");
		}
	assert_int_equal(store_ticket_use(store, STR("acme"),
	    letters(STORE_USER_BYTES_MAX), t0, t0, NULL), OK);
	assert_int_equal(store_ticket_use(store, STR("acme"),
	    letters(STORE_USER_BYTES_MAX + 1), t0, t0, NULL), ERR_FULL);
}

#define COUNTED "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1" \
	" FROM c WHERE i < ?1) "
#define SERIES " FROM generate_series(1, ?1::int8) AS c(i)"

/* Fill a table up to `most` rows with one statement of both dialects. */
static void
fill_table(const char *sqlite, const char *postgresql, size_t n)
{
	struct sql text = { sqlite, postgresql };
	struct database *d;

	assert_int_equal(store_test_database(dir, &d, NULL), OK);
	struct query *q = database_query_sql(d, &text);
	query_i64(q, 1, (int64_t)n);
	query_step(q);
	assert_int_equal(query_changes(q), n);
	assert_int_equal(query_end(&q, NULL), OK);
	database_close(&d);
}

static void
rows_are_bounded(void **state)
{
	struct store_grant g = sample("u8", "ada"), out, ended;
	struct store_login l = { .user = key_of("u7"), .state = STR("s2"),
	    .cookie = STR("c"), .text = STR("{}") };

	(void)state;
#define GRANTS "INSERT INTO external_grant (backend, connector, subdomain,"  \
	" uuid, handle, key_id, sealed, issued, expiry, lease)"               \
	" SELECT 'b', 'c', 's', CAST(i AS TEXT), "
	fill_table(COUNTED GRANTS "CAST(CAST(i AS TEXT) AS BLOB), '', x'', 0,"
	    " 0, 0 FROM c", GRANTS "convert_to(i::text, 'UTF8'), '',"
	    " ''::bytea, 0, 0, 0" SERIES, STORE_GRANTS_MAX - 1);
	put_user("u7");
	assert_int_equal(store_grant_put(store, &key, &g, t0, &arena, &out,
	    &ended, NULL), ERR_FULL);
	put_user("u7");              /* replaces */
#define LOGINS "INSERT INTO external_login (state, cookie, backend,"         \
	" connector, subdomain, uuid, key_id, sealed, expires) SELECT "
#define LOGIN "'b', 'c', 's', 'u', '', "
	fill_table(COUNTED LOGINS "CAST(CAST(i AS TEXT) AS BLOB), x'', " LOGIN
	    "x'', 4000000000000000 FROM c", LOGINS "convert_to(i::text,"
	    " 'UTF8'), ''::bytea, " LOGIN "''::bytea, 4000000000000000"
	    SERIES, STORE_LOGINS_MAX - 1);
	begin_login("s1", "c1");
	assert_int_equal(store_login_put(store, &key, &l, t0, NULL),
	    ERR_FULL);
#define CLIENTS "INSERT INTO external_client (connector, provider, key_id,"   \
	" sealed) SELECT 'c', CAST(i AS TEXT), '', "
	fill_table(COUNTED CLIENTS "x'' FROM c", CLIENTS "''::bytea" SERIES,
	    STORE_CLIENTS_MAX - 1);
	register_client(&key, "https://a", "1");
	assert_int_equal(store_client_put(store, &key, STR("mastodon"),
	    STR("https://b"), STR("2"), &arena, &l.text, NULL), ERR_FULL);
#define TICKETS "INSERT INTO external_ticket (backend, id, expires)"         \
	" SELECT 'b', CAST(i AS TEXT), 4000000000000000"
	fill_table(COUNTED TICKETS " FROM c", TICKETS SERIES,
	    STORE_TICKETS_MAX - 1);
	assert_int_equal(use("acme", "j1", 300, 0), OK);
	assert_int_equal(use("acme", "j2", 300, 0), ERR_FULL);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WITH(a_login_gives_a_handle), WITH(found_by_account_and_issued),
		WITH(the_same_account_keeps_its_handle),
		WITH(an_unknown_account_is_never_the_same), WITH(cleared),
		WITH(expired_ones_are_forgotten),
		WITH(due_ones_are_listed_and_leased),
		WITH(a_refresh_is_committed),
		WITH(a_lost_lease_changes_nothing),
		WITH(nothing_is_in_clear), WITH(a_changed_row_is_refused),
		WITH(a_flipped_bit_is_refused), WITH(a_moved_row_is_refused),
		WITH(another_key_opens_nothing), WITH(rekeyed_in_batches),
		WITH(a_login_is_taken_once), WITH(a_login_lasts_ten_minutes),
		WITH(a_state_is_taken_by_one_login),
		WITH(a_changed_login_is_refused_and_gone),
		WITH(the_first_client_stays),
		WITH(a_ticket_is_used_once), WITH(texts_are_bounded),
		WITH(texts_of_logins_are_bounded), WITH(rows_are_bounded),
	};

	if (!store_test_begin(argc, argv))
		return POSTGRESQL_TEST_SKIP;
	return store_test_end(cmocka_run_group_tests(tests, NULL, NULL));
}
