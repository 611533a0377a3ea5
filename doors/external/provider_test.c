/*
 * Logins at a provider and the end of tokens: the calls that are made, and what
 * the store has afterwards.  The provider is a server on this loop that gives
 * the answers of a list, in order.
 */
#include "doors/external/provider.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/clock.h"
#include "os/file.h"
#include "os/system.h"
#include "os/tree.h"
#include "server/web.h"

#define SEEN_MAX 16u
#define REDIRECT STR("https://crawl.example/external/acc/oauth/callback")
#define OTHER_REDIRECT STR("https://other.example/external/acc/oauth/callback")
#define ACCESS "hush-access"
#define REFRESH "hush-refresh"
#define TOKENS "{\"access_token\":\"" ACCESS "\",\"token_type\":\"bearer\","  \
	"\"expires_in\":3600,\"refresh_token\":\"" REFRESH "\"}"

/* ---- The provider ------------------------------------------------------- */

struct answer {
	int status;
	const char *body;
};

static struct web *server;
static struct answer answers[SEEN_MAX];
static size_t answers_n, seen_n;
static char seen[SEEN_MAX][1200];    /* "POST /token AUTHORIZATION BODY" */
static bool was_asked;

static void
answer_next(struct web_request *r)
{
	struct str rest = web_rest(r), token = STR("");

	(void)!web_field(r, "authorization", &token);
	CHECK(seen_n < SEEN_MAX);
	snprintf(seen[seen_n], sizeof(seen[0]), "/%.*s %.*s %.*s",
	    STR_FMT(rest), STR_FMT(token), STR_FMT(web_body(r)));
	was_asked = true;
	struct answer a = seen_n < answers_n ? answers[seen_n] :
	    (struct answer){ 200, "{}" };
	seen_n++;
	web_answer(r, a.status, "application/json", str_of(a.body));
}

#define ROW(method) { method, "/p/", WEB_PREFIX, answer_next, NULL,          \
	"for tests", WEB_TO_ALL, TOKEN_DOOR_CONSOLE, TOKEN_READ,             \
	.early = false }
static const struct web_route routes[] = { ROW("POST"), ROW("GET") };

#define ANSWERS(...) expect_calls((struct answer[]){ __VA_ARGS__ },          \
	ARRAY_LEN(((struct answer[]){ __VA_ARGS__ })))
static void
expect_calls(const struct answer *list, size_t n)
{
	seen_n = 0;
	answers_n = n;
	for (size_t i = 0; i < n; i++)
		answers[i] = list[i];
}

static void
assert_call(size_t i, const char *path, const char *part)
{
	assert_true(i < seen_n);
	if (!str_starts(str_of(seen[i]), str_of(path)) ||
	    strstr(seen[i], part) == NULL)
		fail_msg("call %zu is %s, not %s with %s", i, seen[i], path,
		    part);
}

/* ---- The door ----------------------------------------------------------- */

static char dir[64];
static struct loop *home;
static struct door_host host;
static struct external_door door;
static struct store *store;
static struct arena arena;
static bool is_done;

static void
write_connector(const char *name, const char *oauth)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	char path[128];

	buf_printf(&b, "{\"name\":\"%s\",\"version\":1,\"title\":\"T\","
	    "\"schema\":{},\"docIdField\":\"id\",\"credential\":\"oauth\","
	    "\"oauth\":{%s},\"api\":{\"url\":\"https://a.example/x\","
	    "\"label\":\"l\",\"items\":\"/list\",\"id\":\"/id\",\"auth\":"
	    "{\"kind\":\"bearer\"}}}", name, oauth);
	snprintf(path, sizeof(path), "%s/%s.json", dir, name);
	assert_int_equal(file_store(path, buf_str(&b), NULL), OK);
}

static void
write_connectors(void)
{
	char at[64], text[1024];

	snprintf(at, sizeof(at), "http://127.0.0.1:%u/p", web_port(server));
	snprintf(text, sizeof(text), "\"kind\":\"oauth2\",\"authorize\":"
	    "\"%s/authorize\",\"token\":\"%s/token\",\"revoke\":\"%s/revoke\","
	    "\"clientAuth\":\"post\",\"profile\":{\"url\":\"%s/profile\","
	    "\"account\":\"/id\",\"name\":\"/name\"},\"parameters\":"
	    "{\"tenant\":\"t\"},\"issuer\":\"https://issuer.example/{tenant}\","
	    "\"register\":{\"form\":\"rfc7591\",\"url\":\"%s/register\"}", at,
	    at, at, at, at);
	write_connector("acc", text);
	snprintf(text, sizeof(text), "\"kind\":\"oauth1\",\"authorize\":"
	    "\"%s/authorize\",\"token\":\"%s/token\",\"request\":"
	    "\"%s/request\"", at, at, at);
	write_connector("old", text);
	/* No server listens on port 1. */
	write_connector("away", "\"kind\":\"oauth2\",\"authorize\":"
	    "\"http://127.0.0.1:1/a\",\"token\":\"http://127.0.0.1:1/t\","
	    "\"revoke\":\"http://127.0.0.1:1/r\",\"clientAuth\":\"none\"");
}

static void
use_clients(const char *json)
{
	clients_free(&door.clients);
	assert_int_equal(clients_parse(str_of(json), &door.clients, NULL), OK);
}

static int
open_fixture(void **state)
{
	struct web_options web = { .loop = NULL };
	struct why w = WHY_INIT;

	(void)state;
	system_ignore_sigpipe();
	snprintf(dir, sizeof(dir), "/tmp/argiope-provider-XXXXXX");
	assert_non_null(mkdtemp(dir));
	web.loop = home = loop_new("home");
	assert_int_equal(web_open(&web, routes, ARRAY_LEN(routes), &server,
	    NULL), OK);
	write_connectors();
	arena = ARENA_INIT;
	host = (struct door_host){ .home = home };
	door = (struct external_door){ .host = &host, .key = { "k" } };
	list_init(&door.provider_calls);
	list_init(&door.revocations);
	if (connectors_read(dir, NULL, false, &door.connectors, &w) != OK)
		fail_msg("%s", w.text);
	door.clients = clients_none();
	const struct caller_options calls = { .home = home, .call_ms = 5000 };
	assert_int_equal(caller_new(&calls, &door.caller, NULL), OK);
	assert_int_equal(store_open(dir, NULL, &store, NULL), OK);
	const struct store_async_options o = { .store = store, .home = home };
	door.store = store_async_new(&o);
	return 0;
}

static void
set_flag(void *arg)
{
	*(bool *)arg = true;
}

static int
close_fixture(void **state)
{
	bool drained = false, stopped = false;

	(void)state;
	door.stopping = true;
	provider_stop(&door);
	drain_gate_close(&door.asked, set_flag, &drained);
	loop_run_until(home, &drained);
	assert_int_equal(door.revocations_n, 0);
	caller_stop(door.caller, set_flag, &stopped);
	loop_run_until(home, &stopped);
	caller_free(&door.caller);
	store_async_close(&door.store);
	connectors_free(&door.connectors);
	clients_free(&door.clients);
	web_close(&server);
	loop_free(&home);
	arena_free(&arena);
	return tree_remove(dir, NULL) != OK;
}

static void
turn_until(bool (*is_so)(void))
{
	struct mono until = mono_add_ms(clock_mono(), 10000);

	while (!is_so() && mono_before(clock_mono(), until)) {
		(void)loop_step(home);
		usleep(500);
	}
	assert_true(is_so());
}

static bool
has_no_revocations(void)
{
	return door.revocations_n == 0;
}

/* ---- Logins ------------------------------------------------------------- */

static void
start_done(struct provider_start *s)
{
	(void)s;
	is_done = true;
}

static struct provider_start
start_login(const char *connector, struct str redirect)
{
	const struct str values[OAUTH_PARAMS_MAX] = { STR("t") };
	struct provider_start s = { .door = &door,
		.connector = connectors_find(door.connectors,
		str_of(connector)), .values = values,
		.redirect_uri = redirect, .arena = &arena,
		.done = start_done };

	is_done = false;
	provider_start(&s);
	assert_false(is_done);
	loop_run_until(home, &is_done);
	return s;
}

static void
finish_done(struct provider_finish *f)
{
	(void)f;
	is_done = true;
}

static struct provider_finish
finish_login(const char *connector, const struct provider_start *s,
    struct str iss)
{
	struct provider_finish f = { .door = &door,
		.connector = connectors_find(door.connectors,
		str_of(connector)), .user = { STR("acme"), str_of(connector),
		STR("eu"), STR("u1") }, .text = s->text, .state = s->state,
		.code = STR("the-code"), .iss = iss,
		.redirect_uri = s->redirect_uri, .arena = &arena,
		.done = finish_done };

	is_done = false;
	provider_finish(&f);
	assert_false(is_done);
	loop_run_until(home, &is_done);
	return f;
}

static void
assert_fault(const struct oauth_fault *f, const char *actor, const char *text)
{
	assert_string_equal(oauth_actor_text(f->actor), actor);
	if (strstr(f->text, text) == NULL || strstr(f->text, "hush") != NULL)
		fail_msg("the fault is \"%s\", not \"%s\"", f->text, text);
}

static void
assert_part(struct str s, const char *part)
{
	if (str_find(s, str_of(part)) == s.n)
		fail_msg("\"%.*s\" has no \"%s\"", STR_FMT(s), part);
}

static enum err
get_grant(struct store_grant *out)
{
	const struct store_user u = { STR("acme"), STR("acc"), STR("eu"),
		STR("u1") };

	return store_grant_get(store_async_store(door.store), &door.key, &u,
	    &arena, out, NULL);
}

static void
a_login_begins_with_the_client_of_the_file(void **state)
{
	(void)state;
	use_clients("{\"acc\":{\"client_id\":\"file\",\"client_secret\":"
	    "\"hush\"}}");
	expect_calls(NULL, 0);
	struct provider_start s = start_login("acc", REDIRECT);
	assert_true(s.ok);
	assert_int_equal(seen_n, 0);
	assert_int_equal(s.state.n, 43);
	assert_part(s.url, "/p/authorize?");
	assert_part(s.url, "client_id=file");
	assert_part(s.url, "code_challenge_method=S256");
	assert_part(s.url, arena_printf(&arena, "state=%.*s",
	    STR_FMT(s.state)).p);
	assert_part(s.text, "\"client_id\":\"file\"");
	assert_part(s.text, "\"verifier\":\"");
	struct provider_start again = start_login("acc", REDIRECT);
	assert_false(str_eq(s.state, again.state));
	assert_false(str_eq(s.text, again.text));
}

#define CLIENT(id) { 201, "{\"client_id\":\"" id "\",\"client_secret\":"       \
	"\"hush-" id "\"}" }

static void
a_client_is_registered_once(void **state)
{
	(void)state;
	ANSWERS(CLIENT("first"));
	struct provider_start s = start_login("acc", REDIRECT);
	assert_true(s.ok);
	assert_call(0, "/register", "crawl.example");
	assert_part(s.text, "hush-first");
	s = start_login("acc", REDIRECT);
	assert_int_equal(seen_n, 1);
	assert_part(s.text, "hush-first");
	/* It was registered with another redirect_uri. */
	ANSWERS(CLIENT("second"));
	s = start_login("acc", OTHER_REDIRECT);
	assert_int_equal(seen_n, 1);
	assert_part(s.text, "hush-second");
	/* The provider does not know it any more. */
	ANSWERS({ 401, "{\"error\":\"invalid_client\"}" });
	struct provider_finish f = finish_login("acc", &s, STR_NONE);
	assert_false(f.ok);
	assert_fault(&f.fault, "system", "invalid_client");
	ANSWERS(CLIENT("third"));
	s = start_login("acc", OTHER_REDIRECT);
	assert_part(s.text, "hush-third");
	/* The other one stays. */
	expect_calls(NULL, 0);
	s = start_login("acc", REDIRECT);
	assert_int_equal(seen_n, 0);
	assert_part(s.text, "hush-first");
}

static void
a_registration_that_fails_says_who_must_act(void **state)
{
	(void)state;
	ANSWERS({ 503, "" }, { 200, "[]" }, { 403, "{\"error\":"
	    "\"access_denied\"}" });
	struct provider_start s = start_login("acc", REDIRECT);
	assert_false(s.ok);
	assert_fault(&s.fault, "transient", "status 503");
	s = start_login("acc", REDIRECT);
	assert_fault(&s.fault, "system", "not a JSON object");
	s = start_login("acc", REDIRECT);
	assert_fault(&s.fault, "config", "access_denied");
	s = start_login("away", REDIRECT);
	assert_fault(&s.fault, "system", "clients_file");
	door.stopping = true;
	s = start_login("acc", REDIRECT);
	assert_fault(&s.fault, "transient", "ending");
	door.stopping = false;
}

static void
a_login_by_oauth_1_has_a_request_token(void **state)
{
	(void)state;
	use_clients("{\"old\":{\"client_id\":\"i\",\"client_secret\":\"s\"}}");
	ANSWERS({ 200, "oauth_token=request&oauth_token_secret=hush&"
	    "oauth_callback_confirmed=true" }, { 200, "oauth_token=" ACCESS
	    "&oauth_token_secret=hush2" });
	struct provider_start s = start_login("old", REDIRECT);
	assert_true(s.ok);
	assert_call(0, "/request", "oauth_callback=");
	assert_true(str_eq(s.state, STR("request")));
	assert_part(s.url, "oauth_token=request");
	assert_part(s.text, "\"request_secret\":\"hush\"");
	struct provider_finish f = finish_login("old", &s, STR_NONE);
	assert_true(f.ok);
	assert_call(1, "/token", "oauth_verifier=\"the-code\"");
	assert_part(f.grant.text, "\"secret\":\"hush2\"");
}

/* ---- The grant ---------------------------------------------------------- */

static struct provider_start
start_at_provider(void)
{
	use_clients("{\"acc\":{\"client_id\":\"i\",\"client_secret\":\"s\"}}");
	return start_login("acc", REDIRECT);
}

static struct provider_finish
sign_in(const char *account)
{
	struct provider_start s = start_at_provider();
	char profile[128];

	snprintf(profile, sizeof(profile), "{\"id\":\"%s\",\"name\":\"Ada\"}",
	    account);
	ANSWERS({ 200, TOKENS }, { 200, profile });
	struct provider_finish f = finish_login("acc", &s, STR_NONE);
	if (!f.ok)
		fail_msg("%s", f.fault.text);
	return f;
}

static void
a_code_becomes_a_grant(void **state)
{
	struct store_grant g;

	(void)state;
	struct provider_finish f = sign_in("ada");
	assert_int_equal(seen_n, 2);
	assert_call(0, "/token", "code=the-code");
	assert_call(0, "/token", "code_verifier=");
	assert_call(0, "/token", "redirect_uri=https%3A%2F%2Fcrawl.example");
	assert_call(1, "/profile", "Bearer " ACCESS);
	assert_true(str_eq(f.account.name, STR("Ada")));
	assert_int_equal(get_grant(&g), OK);
	assert_true(str_eq(g.handle, f.grant.handle));
	assert_true(str_starts(g.handle, STR("argt_")));
	assert_part(g.text, ACCESS);
	assert_true(str_eq(g.account, STR("ada")));
	/* The same account: the handle stays, nothing is revoked. */
	struct provider_finish again = sign_in("ada");
	assert_true(str_eq(again.grant.handle, f.grant.handle));
	assert_int_equal(door.revocations_n, 0);
}

static void
another_account_ends_the_grant(void **state)
{
	(void)state;
	struct provider_finish f = sign_in("ada"), other = sign_in("bob");
	assert_false(str_eq(other.grant.handle, f.grant.handle));
	turn_until(has_no_revocations);
	assert_int_equal(seen_n, 4);
	assert_call(2, "/revoke", "token=" REFRESH);
	assert_call(2, "/revoke", "token_type_hint=refresh_token");
	assert_call(3, "/revoke", "token=" ACCESS);
}

static void
a_login_that_fails_leaves_nothing(void **state)
{
	struct provider_start s = start_at_provider();
	struct store_grant g;

	(void)state;
	ANSWERS({ 200, TOKENS }, { 500, "" });
	struct provider_finish f = finish_login("acc", &s, STR_NONE);
	assert_false(f.ok);
	assert_fault(&f.fault, "transient", "status 500");
	turn_until(has_no_revocations);
	assert_call(2, "/revoke", "token=" REFRESH);
	assert_call(3, "/revoke", "token=" ACCESS);
	assert_int_equal(get_grant(&g), ERR_ABSENT);
	/* The code is refused: there is nothing to revoke. */
	ANSWERS({ 400, "{\"error\":\"invalid_grant\"}" });
	f = finish_login("acc", &s, STR_NONE);
	assert_fault(&f.fault, "config", "invalid_grant");
	assert_int_equal(door.revocations_n, 0);
	assert_int_equal(seen_n, 1);
	/* A text that is no login's. */
	s.text = STR("{}");
	f = finish_login("acc", &s, STR_NONE);
	assert_fault(&f.fault, "config", "sign in again");
	assert_int_equal(seen_n, 1);
}

static void
the_issuer_must_be_the_provider(void **state)
{
	struct provider_start s = start_at_provider();

	(void)state;
	ANSWERS({ 200, TOKENS }, { 200, "{\"id\":1}" });
	struct provider_finish f = finish_login("acc", &s,
	    STR("https://evil.example"));
	assert_false(f.ok);
	assert_fault(&f.fault, "config", "another provider");
	assert_int_equal(seen_n, 0);
	f = finish_login("acc", &s, STR("https://issuer.example/t"));
	assert_true(f.ok);
}

/* ---- Revocation --------------------------------------------------------- */

static void
revocation_is_tried_again(void **state)
{
	struct provider_finish f = sign_in("ada");
	const struct store_grant unread = { .text = STR("x") };

	(void)state;
	ANSWERS({ 503, "" }, { 200, "" }, { 400, "{\"error\":"
	    "\"invalid_token\"}" });
	provider_end_grant(&door, &unread);
	assert_int_equal(door.revocations_n, 0);
	provider_end_grant(&door, &f.grant);
	assert_int_equal(door.revocations_n, 1);
	struct mono from = clock_mono();
	turn_until(has_no_revocations);
	assert_true(mono_ns_between(from, clock_mono()) >=
	    PROVIDER_REVOKE_PAUSE_MS_MIN * NS_PER_MS);
	assert_int_equal(seen_n, 3);
	assert_call(0, "/revoke", "token=" REFRESH);
	assert_call(1, "/revoke", "token=" REFRESH);
	assert_call(2, "/revoke", "token=" ACCESS);
	/* One that the provider does not want is given up. */
	ANSWERS({ 400, "{\"error\":\"invalid_client\"}" });
	provider_end_grant(&door, &f.grant);
	turn_until(has_no_revocations);
	assert_int_equal(seen_n, 1);
}

static bool
none_is_under_way(void)
{
	return list_empty(&door.provider_calls);
}

static void
revocations_are_bounded(void **state)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	const struct oauth_granted g = { .client = { STR("i"), STR_NONE },
		.tokens = { .access = STR("a") } };

	(void)state;
	oauth_granted_write(external_connector_oauth(connectors_find(
	    door.connectors, STR("away"))->connector), &g, &text);
	const struct store_grant gone = { .user = { STR("acme"), STR("away"),
		STR("eu"), STR("u") }, .text = buf_str(&text),
		.handle = STR("argt_x") };
	for (size_t i = 0; i < PROVIDER_REVOKES_MAX; i++)
		provider_end_grant(&door, &gone);
	assert_int_equal(door.revocations_n, PROVIDER_REVOKES_MAX);
	/* All wait for their next try. */
	turn_until(none_is_under_way);
	provider_end_grant(&door, &gone);
	assert_int_equal(door.revocations_n, PROVIDER_REVOKES_MAX);
}

static void
refusals_are_sentences(void **state)
{
	struct held_connector *c = connectors_find(door.connectors,
	    STR("old"));

	(void)state;
	assert_non_null(strstr(provider_refusal(&door, c), "no client for"));
	assert_null(provider_refusal(&door, connectors_find(door.connectors,
	    STR("acc"))));
	use_clients("{\"old\":{\"client_id\":\"i\"},\"away\":{\"client_id\":"
	    "\"i\"}}");
	assert_non_null(strstr(provider_refusal(&door, c), "client_secret"));
	assert_null(provider_refusal(&door, connectors_find(door.connectors,
	    STR("away"))));
	snprintf(door.key_fault, sizeof(door.key_fault), "no key");
	assert_string_equal(provider_refusal(&door, c), "no key");
}

#define WITH(name) \
	cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(a_login_begins_with_the_client_of_the_file),
		WITH(a_client_is_registered_once),
		WITH(a_registration_that_fails_says_who_must_act),
		WITH(a_login_by_oauth_1_has_a_request_token),
		WITH(a_code_becomes_a_grant),
		WITH(another_account_ends_the_grant),
		WITH(a_login_that_fails_leaves_nothing),
		WITH(the_issuer_must_be_the_provider),
		WITH(revocation_is_tried_again),
		WITH(revocations_are_bounded),
		WITH(refusals_are_sentences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
