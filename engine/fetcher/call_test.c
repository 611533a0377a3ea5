/* Calls: requests that belong to no queue. */
#include "engine/fetcher/call.h"
#include "engine/fetcher/fetcher_testing.h"
#include "engine/frontier/checkpoint.h"

static struct fetch_rig rig;

#define PLAIN "{\"robots\":\"ignore\",\"rate_limit\":0}"
#define OBEY "{\"robots\":\"obey\",\"rate_limit\":0}"

/* A call and what its owner heard. */
struct asked {
	struct call call;
	unsigned answered, done, begun, pieces;
	size_t bytes;
	uint64_t turn;               /* which answer it was, of all */
};
static uint64_t turns;

static void
answered(struct call *c)
{
	struct asked *a = CONTAINER(c, struct asked, call);

	assert_int_equal(a->done, 0);
	a->answered++;
	a->turn = ++turns;
}

static void
done(struct call *c)
{
	CONTAINER(c, struct asked, call)->done++;
}

static struct asked
get(const char *url)
{
	return (struct asked){ .call = { .method = STR("GET"),
	    .url = str_of(url), .crawl = rig.crawl.id,
	    .home = rig.rig.loop, .archive = CALL_UNARCHIVED,
	    .answered = answered, .done = done } };
}

static void
start(struct asked *a)
{
	call_start(rig.fetcher, &a->call);
}

/* Let it come to its end. */
static void
ask(struct asked *a, int64_t ms)
{
	start(a);
	fetch_rig_pass(&rig, ms);
	assert_int_equal(a->done, 1);
}

static void
answers(const struct asked *a, int status, const char *content)
{
	assert_int_equal(a->answered, 1);
	assert_int_equal(a->call.end, CALL_ANSWERED);
	assert_int_equal(a->call.result, OK);
	assert_int_equal(a->call.status, status);
	assert_int_equal(a->call.content.n, strlen(content));
	assert_memory_equal(a->call.content.p, content, strlen(content));
}

/* The rig's crawl asks for its seed first; it is no business of the tests. */
static void
begin(site_fn *site, const char *policy)
{
	fetch_rig_init(&rig, site);
	rig.rig.kind = CRAWL_TASKS;
	fetch_rig_begin(&rig, policy, "http://seed.test/");
	fetch_rig_pass(&rig, 1000);
	rig.seen_n = 0;
}

static void
end(struct asked *a)
{
	call_free_answer(&a->call);
}

static void
site(struct str url, struct answer *a)
{
	a->head = "Content-Type: application/json\r\n";
	a->body = "{\"a\":1}";
	if (str_ends(url, STR("/made")))
		a->status = 201;
	else if (str_ends(url, STR("/see")))
		a->status = 303, a->head = "Location: /made\r\n";
	else if (str_ends(url, STR("/again")))
		a->status = 307, a->head = "Location: /made\r\n";
	else if (str_ends(url, STR("/away")))
		a->status = 307, a->head = "Location: http://o.test/made\r\n";
	else if (str_ends(url, STR("/port")))
		a->status = 307, a->head = "Location: http://api.test:81/\r\n";
	else if (str_ends(url, STR("/robots.txt")))
		a->body = "User-agent: *\nDisallow: /no\n";
	else if (str_ends(url, STR("/busy")) && rig.seen_n < 3)
		a->status = 429, a->head = "Retry-After: 5\r\n";
	else if (str_ends(url, STR("/never")))
		a->status = 503;
	else if (str_ends(url, STR("/cut")))
		a->status = 0, a->end = TRANSPORT_RESET;
	else if (str_ends(url, STR("/cookie")))
		a->head = "Set-Cookie: id=7\r\n";
}

static bool
sign(struct call *c, struct exchange *x, struct arena *a)
{
	struct transport_header *h = ARENA_ARRAY(a, struct transport_header,
	    x->headers_n + 1);

	(void)c;
	if (!str_eq(x->host, STR("api.test")))
		return true;
	memcpy(h, x->headers, x->headers_n * sizeof(*h));
	h[x->headers_n++] = (struct transport_header){ STR("Authorization"),
	    STR("Bearer secret") };
	x->headers = h;
	return true;
}

static void
method_headers_body_and_signature_go_out(void **state)
{
	static const struct transport_header headers[] = {
		{ STR("Accept"), STR("application/json") },
		{ STR("X-Own"), STR("1") },
	};

	(void)state;
	begin(site, PLAIN);
	struct asked a = get("http://api.test/made#part");
	a.call.method = STR("POST");
	a.call.body = STR("{\"q\":2}");
	a.call.headers = headers;
	a.call.headers_n = ARRAY_LEN(headers);
	a.call.sign = sign;
	ask(&a, 1000);
	answers(&a, 201, "{\"a\":1}");
	assert_int_equal(a.call.number, 0);
	assert_int_equal(rig.seen_n, 1);
	fetch_rig_asked(&rig, 0, "http://api.test/made");
	assert_string_equal(rig.seen[0].method, "POST");
	assert_string_equal(rig.seen[0].body, "{\"q\":2}");
	assert_non_null(strstr(rig.seen[0].headers,
	    "\nAccept: application/json\n"));
	assert_null(strstr(rig.seen[0].headers, "text/html"));
	assert_non_null(strstr(rig.seen[0].headers, "\nX-Own: 1\n"));
	assert_non_null(strstr(rig.seen[0].headers,
	    "\nAuthorization: Bearer secret\n"));
	assert_true(str_eq(http_find(&a.call.head, STR("Content-Type")),
	    STR("application/json")));
	assert_true(str_eq(a.call.final_url, STR("http://api.test/made")));
	/* None of the crawl's pages is touched by it. */
	assert_int_equal(rig_view(&rig.rig).counts.items, 1);
	end(&a);
	fetch_rig_end(&rig);
}

/* RFC 9110 §15.4: 303 is asked for by GET, 307 as it was. */
static void
redirects_keep_or_change_the_method(void **state)
{
	(void)state;
	begin(site, PLAIN);
	for (int see = 0; see <= 1; see++) {
		struct asked a = get(see ? "http://api.test/see" :
		    "http://api.test/again");
		rig.seen_n = 0;
		a.call.method = STR("POST");
		a.call.body = STR("body");
		a.call.follow = true;
		ask(&a, 1000);
		answers(&a, 201, "{\"a\":1}");
		assert_int_equal(a.call.hops, 1);
		assert_int_equal(rig.seen_n, 2);
		assert_string_equal(rig.seen[1].method, see ? "GET" : "POST");
		assert_string_equal(rig.seen[1].body, see ? "" : "body");
		end(&a);
	}
	struct asked a = get("http://api.test/see");
	rig.seen_n = 0;
	ask(&a, 1000);
	answers(&a, 303, "{\"a\":1}");
	assert_int_equal(rig.seen_n, 1);
	end(&a);
	fetch_rig_end(&rig);
}

/* What the owner set itself stays with the URL's origin, too. */
static void
credentials_do_not_follow_redirects(void **state)
{
	static const struct transport_header headers[] = {
		{ STR("authorization"), STR("Bearer own") },
		{ STR("Cookie"), STR("id=own") },
		{ STR("X-Own"), STR("1") },
	};
	static const char *const urls[] = { "http://api.test/again",
		"http://api.test/away", "http://api.test/port" };

	(void)state;
	begin(site, PLAIN);
	for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
		struct asked a = get(urls[i]);
		a.call.follow = true;
		a.call.headers = headers;
		a.call.headers_n = ARRAY_LEN(headers);
		rig.seen_n = 0;
		ask(&a, 1000);
		assert_int_equal(rig.seen_n, 2);
		for (unsigned hop = 0; hop <= 1; hop++) {
			const char *sent = rig.seen[hop].headers;
			assert_non_null(strstr(sent, "\nX-Own: 1\n"));
			bool home = hop == 0 || i == 0;
			assert_int_equal(strstr(sent, "own\n") != NULL, home);
			assert_int_equal(strstr(sent, "=own\n") != NULL, home);
		}
		end(&a);
	}
	fetch_rig_end(&rig);
}

static void
a_busy_server_is_asked_when_it_says(void **state)
{
	(void)state;
	begin(site, PLAIN);
	struct asked a = get("http://api.test/busy");
	ask(&a, 30000);
	answers(&a, 200, "{\"a\":1}");
	assert_int_equal(rig.seen_n, 3);
	assert_in_range(fetch_rig_gap_ms(&rig, 0, 1), 5000, 5100);
	end(&a);
	/* Not behind its deadline: then the last answer is the answer. */
	rig.seen_n = 0;
	fetch_rig_pass(&rig, 60000);
	struct asked b = get("http://api.test/busy");
	b.call.deadline = mono_add_ms(loop_now(rig.rig.loop), 2000);
	ask(&b, 1000);
	answers(&b, 429, "{\"a\":1}");
	end(&b);
	/* Its owner may keep the tries to itself. */
	rig.seen_n = 0;
	fetch_rig_pass(&rig, 60000);
	struct asked c = get("http://other.test/never");
	c.call.tries_max = 1;
	ask(&c, 1000);
	answers(&c, 503, "{\"a\":1}");
	assert_int_equal(rig.seen_n, 1);
	end(&c);
	fetch_rig_end(&rig);
}

static void
a_lost_answer_is_a_failure(void **state)
{
	(void)state;
	begin(site, PLAIN);
	struct asked a = get("http://api.test/cut");
	ask(&a, 60000);
	assert_int_equal(a.answered, 0);
	assert_int_equal(a.call.end, CALL_FAILED);
	assert_int_equal(a.call.exception, EXCEPTION_RESET);
	assert_int_equal(rig.seen_n, 3);
	end(&a);
	struct asked b = get("gopher://api.test/");
	ask(&b, 1000);
	assert_int_equal(b.call.end, CALL_REFUSED);
	assert_int_equal(b.call.skip, SKIP_URL);
	end(&b);
	fetch_rig_end(&rig);
}

static void
robots_or_the_owners_budget(void **state)
{
	(void)state;
	begin(site, OBEY);
	struct asked a = get("http://api.test/no/1");
	a.call.robots = true;
	ask(&a, 5000);
	assert_int_equal(a.call.end, CALL_REFUSED);
	assert_int_equal(a.call.skip, SKIP_ROBOTS);
	end(&a);
	struct asked b = get("http://api.test/no/1");
	ask(&b, 5000);
	answers(&b, 200, "{\"a\":1}");
	end(&b);
	fetch_rig_end(&rig);
}

/* fetch.allow_private is for crawls. */
static void
private_addresses_are_refused_but_for_those_listed(void **state)
{
	static const struct str listed[] = { STR("private.test:81"),
	    STR("private.test:80") };

	(void)state;
	fetch_rig_init(&rig, site);
	rig.settings.allow_private = true;
	rig.settings.resolve = NULL;
	fetch_rig_begin(&rig, PLAIN, "http://public.test/");
	fetch_rig_pass(&rig, 1000);
	for (size_t n = 0; n <= 2; n++) {
		struct asked a = get("http://private.test/x");
		a.call.private_hosts = listed;
		a.call.private_n = n;
		ask(&a, 1000);
		assert_int_equal(a.call.end, n == 2 ? CALL_ANSWERED :
		    CALL_REFUSED);
		assert_int_equal(a.call.skip, n == 2 ? SKIP_NONE :
		    SKIP_BLOCKED);
		end(&a);
	}
	fetch_rig_end(&rig);
}

static void
a_session_has_its_own_cookies(void **state)
{
	struct cookie_jar *jar = cookie_jar_new();

	(void)state;
	begin(site, PLAIN);
	struct asked a = get("http://api.test/cookie"), b;
	a.call.session = jar;
	ask(&a, 1000);
	for (int own = 0; own <= 1; own++) {
		b = get("http://api.test/made");
		b.call.session = own ? jar : NULL;
		rig.seen_n = 0;
		ask(&b, 1000);
		assert_int_equal(strstr(rig.seen[0].headers,
		    "\nCookie: id=7\n") != NULL, own);
		end(&b);
	}
	end(&a);
	fetch_rig_end(&rig);
	cookie_jar_free(&jar);
}

/* --- turns --------------------------------------------------------------- */

static void
many_links(struct str url, struct answer *a)
{
	site(url, a);
	a->head = "Content-Type: text/html\r\n";
	if (str_ends(url, STR("h.test/")))
		a->body = "<a href=/1>x</a><a href=/2>x</a><a href=/3>x</a>"
		    "<a href=/4>x</a><a href=/5>x</a>";
}

/* With a delay of a second between requests to the host, each waits for two. */
static void
calls_and_a_crawl_alternate(void **state)
{
	struct asked a[4];

	(void)state;
	fetch_rig_init(&rig, many_links);
	fetch_rig_begin(&rig, "{\"robots\":\"ignore\",\"rate_limit\":1}",
	    "http://h.test/");
	fetch_rig_pass(&rig, 500);
	assert_int_equal(rig.seen_n, 1);
	turns = 0;
	for (size_t i = 0; i < ARRAY_LEN(a); i++) {
		a[i] = get("http://h.test/call");
		start(&a[i]);
	}
	fetch_rig_pass(&rig, 20000);
	assert_int_equal(rig.seen_n, 1 + 5 + 4);
	for (unsigned i = 1; i < 9; i++) {
		bool was_call = strstr(rig.seen[i].url, "/call") != NULL;
		bool is_call = strstr(rig.seen[i + 1].url, "/call") != NULL;
		if (i < 8)
			assert_true(was_call != is_call);
		assert_in_range(fetch_rig_gap_ms(&rig, i, i + 1), 1000, 1050);
	}
	for (size_t i = 0; i < ARRAY_LEN(a); i++) {
		assert_int_equal(a[i].done, 1);
		assert_int_equal(a[i].turn, i + 1);
		end(&a[i]);
	}
	fetch_rig_end(&rig);
}

/* Its turn comes behind its deadline: nothing is asked. */
static void
a_late_turn_is_not_taken(void **state)
{
	struct asked a[4];

	(void)state;
	begin(site, "{\"robots\":\"ignore\",\"rate_limit\":1}");
	for (size_t i = 0; i < ARRAY_LEN(a); i++) {
		a[i] = get("http://api.test/made");
		a[i].call.deadline = mono_add_ms(loop_now(rig.rig.loop),
		    1500);
		start(&a[i]);
	}
	fetch_rig_pass(&rig, 10000);
	assert_int_equal(rig.seen_n, 2);
	for (size_t i = 0; i < ARRAY_LEN(a); i++) {
		assert_int_equal(a[i].done, 1);
		assert_int_equal(a[i].answered, i < 2);
		assert_int_equal(a[i].call.end, i < 2 ? CALL_ANSWERED :
		    CALL_FAILED);
		assert_int_equal(a[i].call.exception, i < 2 ? 0 :
		    EXCEPTION_TIMEOUT);
		end(&a[i]);
	}
	fetch_rig_end(&rig);
}

/* Those that would wait for more than two delays are told when to come. */
static void
a_far_turn_is_told(void **state)
{
	struct asked a[5];

	(void)state;
	begin(site, "{\"robots\":\"ignore\",\"rate_limit\":1}");
	for (size_t i = 0; i < ARRAY_LEN(a); i++) {
		a[i] = get("http://api.test/made");
		a[i].call.turn_ms_max = 2000;
		start(&a[i]);
	}
	fetch_rig_pass(&rig, 100);
	/* One has left, two wait: the next would leave in three seconds. */
	for (size_t i = 3; i < ARRAY_LEN(a); i++) {
		assert_int_equal(a[i].done, 1);
		assert_int_equal(a[i].answered, 0);
		assert_int_equal(a[i].call.end, CALL_FAR);
		assert_in_range(a[i].call.turn_ms, 2900, 3001);
		assert_int_equal(a[i].call.delay_ms, 1000);
		end(&a[i]);
	}
	fetch_rig_pass(&rig, 10000);
	assert_int_equal(rig.seen_n, 3);
	for (size_t i = 0; i < 3; i++) {
		answers(&a[i], 201, "{\"a\":1}");
		end(&a[i]);
	}
	fetch_rig_end(&rig);
}

static struct mono wait_began;
static int64_t waited_ms;
static unsigned turns_told;

static void
count_turn(struct call *c, bool waits)
{
	struct mono now = loop_now(c->home);

	if (!waits) {
		waited_ms += mono_ns_between(wait_began, now) / 1000000;
		turns_told++;
	}
	wait_began = now;
}

static void
waiting_and_turns_are_told(void **state)
{
	(void)state;
	begin(site, PLAIN);
	struct asked a = get("http://api.test/busy");
	waited_ms = turns_told = 0;
	a.call.turned = count_turn;
	wait_began = loop_now(rig.rig.loop);
	ask(&a, 30000);
	answers(&a, 200, "{\"a\":1}");
	/* At once, and after each of two answers that say "in 5 s". */
	assert_int_equal(turns_told, 3);
	assert_in_range(waited_ms, 9990, 10100);
	end(&a);
	fetch_rig_end(&rig);
}

static void
a_paused_crawl_holds_its_calls(void **state)
{
	(void)state;
	begin(site, PLAIN);
	fetcher_order(rig.fetcher, &rig.crawl, FETCH_PAUSE);
	fetch_rig_pass(&rig, 100);
	struct asked a = get("http://api.test/made");
	start(&a);
	fetch_rig_pass(&rig, 5000);
	assert_int_equal(rig.seen_n, 0);
	fetcher_order(rig.fetcher, &rig.crawl, FETCH_RUN);
	fetch_rig_pass(&rig, 1000);
	assert_int_equal(a.done, 1);
	answers(&a, 201, "{\"a\":1}");
	end(&a);
	fetch_rig_end(&rig);
}

/* While it waits for its turn, while its request is out, and with its crawl. */
static void
a_call_can_be_stopped(void **state)
{
	(void)state;
	begin(site, PLAIN);
	for (int when = 0; when <= 2; when++) {
		struct asked a = get("http://api.test/made");
		rig.seen_n = 0;
		rig.answer_ms = 3000;
		fetcher_order(rig.fetcher, &rig.crawl, when == 0 ?
		    FETCH_PAUSE : FETCH_RUN);
		start(&a);
		fetch_rig_pass(&rig, 500);
		assert_int_equal(rig.seen_n, when > 0);
		if (when == 2)
			fetcher_order(rig.fetcher, &rig.crawl, FETCH_END);
		else
			call_stop(&a.call);
		fetch_rig_pass(&rig, 500);
		assert_int_equal(rig.open, 0);
		assert_int_equal(a.answered, 0);
		assert_int_equal(a.done, 1);
		assert_int_equal(a.call.end, CALL_STOPPED);
		end(&a);
	}
	struct asked late = get("http://api.test/made");
	ask(&late, 100);
	assert_int_equal(late.call.end, CALL_STOPPED);
	assert_int_equal(rig.crawl.users, 1);
	fetch_rig_end(&rig);
}

/* --- numbers ------------------------------------------------------------- */

static void
an_archived_answer_has_a_number_and_a_checkpoint(void **state)
{
	struct index *x;
	struct arena arena = ARENA_INIT;
	struct str value;

	(void)state;
	begin(site, PLAIN);
	/* It ends when its owner says so: it had no URL for a while. */
	assert_int_equal(rig_view(&rig.rig).state, CRAWL_RUNNING);
	x = ledger_index(frontier_ledger(rig.rig.frontier));
	assert_int_equal(rig_view(&rig.rig).counts.items, 1);
	for (uint64_t i = 2; i <= 3; i++) {
		char text[8];
		struct asked a = get("http://api.test/made");
		snprintf(text, sizeof(text), "at %u", (unsigned)i);
		a.call.archive = CALL_RESPONSE;
		a.call.checkpoint = str_of(text);
		ask(&a, 1000);
		assert_int_equal(a.call.number, i);
		assert_int_equal(rig_view(&rig.rig).counts.items, i);
		assert_int_equal(checkpoint_get(x, rig.crawl.id, STR(""),
		    &arena, &value, NULL), OK);
		assert_true(str_eq(value, str_of(text)));
		end(&a);
	}
	assert_int_equal(checkpoint_get(x, rig.crawl.id, STR("other"), &arena,
	    &value, NULL), ERR_ABSENT);
	assert_int_equal(rig_captures(&rig.rig), 3);
	arena_free(&arena);
	fetch_rig_end(&rig);
}

static void
cancels_its_crawl(struct call *c)
{
	answered(c);
	assert_int_equal(frontier_set_state(rig.rig.frontier, c->crawl,
	    CRAWL_CANCELLED, "a test", NULL), OK);
}

/* The answer is whole, and its crawl ends before it is numbered. */
static void
an_answer_behind_its_crawls_end_is_not_kept(void **state)
{
	struct arena arena = ARENA_INIT;
	struct str value;

	(void)state;
	begin(site, PLAIN);
	struct asked a = get("http://api.test/made");
	a.call.archive = CALL_RESPONSE;
	a.call.checkpoint = STR("lost");
	a.call.answered = cancels_its_crawl;
	ask(&a, 1000);
	assert_int_equal(a.answered, 1);
	assert_int_equal(a.call.end, CALL_STOPPED);
	assert_int_equal(a.call.number, 0);
	assert_int_equal(rig_view(&rig.rig).counts.items, 1);
	assert_int_equal(checkpoint_get(ledger_index(frontier_ledger(
	    rig.rig.frontier)), a.call.crawl, STR(""), &arena, &value, NULL),
	    ERR_ABSENT);
	end(&a);
	arena_free(&arena);
	fetch_rig_end(&rig);
}

/* --- answers without an end ----------------------------------------------- */

static void
begins(struct call *c)
{
	struct asked *a = CONTAINER(c, struct asked, call);

	assert_int_equal(c->status, 200);
	assert_int_equal(a->pieces, 0);
	a->begun++;
}

static void
piece(struct call *c, struct str bytes)
{
	struct asked *a = CONTAINER(c, struct asked, call);

	assert_int_equal(a->begun, 1);
	assert_int_equal(a->answered, 0);
	a->pieces++;
	a->bytes += bytes.n;
}

static struct asked
follow(const char *url, int64_t silence_ms)
{
	struct asked a = get(url);

	a.call.silence_ms = silence_ms;
	a.call.begins = begins;
	a.call.piece = piece;
	return a;
}

/* "3\r\nabc\r\n" is a chunk of HTTP/1.1 (RFC 9112 §7.1). */
static void
streaming(struct str url, struct answer *a)
{
	site(url, a);
	if (!str_starts(url, STR("http://stream.test")))
		return;
	a->head = "Transfer-Encoding: chunked\r\n";
	a->body = "3\r\nabc\r\n";
	a->times = str_ends(url, STR("/day")) ? 24 * 60 : 3;
	a->every_ms = 60000;
	a->endless = true;
}

/* A day long, a piece each minute; fetch.timeout_ms does not count. */
static void
a_stream_lasts_until_it_is_silent(void **state)
{
	(void)state;
	fetch_rig_init(&rig, streaming);
	rig.rig.kind = CRAWL_TASKS;
	rig.settings.total_ms = 1000;
	rig.settings.speed_bytes_min = 1000;
	rig.settings.speed_s = 10;
	rig.settings.host_connections_max = 1;
	rig.settings.address_connections_max = 1;
	fetch_rig_begin(&rig, PLAIN, "http://seed.test/");
	fetch_rig_pass(&rig, 1000);
	struct asked a = follow("http://stream.test/day", 90000);
	a.call.archive = CALL_RESPONSE;
	a.call.checkpoint = STR("at the end");
	start(&a);
	fetch_rig_pass(&rig, 3600 * 1000);
	assert_in_range(a.pieces, 59, 61);
	assert_int_equal(rig.crawl.downloads, 0);
	/* It takes none of its host's connections. */
	struct asked b = get("http://stream.test/other");
	b.call.silence_ms = 0;
	b.call.tries_max = 1;
	start(&b);
	fetch_rig_pass(&rig, 1000);
	assert_int_equal(rig.open, 2);
	call_stop(&b.call);
	for (int hour = 0; hour < 24; hour++)
		fetch_rig_pass(&rig, 3600 * 1000);
	assert_int_equal(a.pieces, 24 * 60);
	assert_int_equal(a.bytes, 3 * 24 * 60);
	assert_int_equal(a.done, 1);
	assert_int_equal(a.call.end, CALL_ANSWERED);
	assert_true(a.call.truncated && !a.call.cut);
	assert_int_equal(a.call.content.n, 0);
	assert_int_equal(a.call.number, 2);
	assert_int_equal(b.done, 1);
	end(&a);
	end(&b);
	fetch_rig_end(&rig);
}

/* What an earlier process received is archived, and nothing is asked for. */
static void
a_stream_is_archived_later(void **state)
{
	struct call_received r = { .url = STR("http://stream.test/day"),
	    .request = STR("GET /day HTTP/1.1\r\nHost: stream.test\r\n\r\n"),
	    .head = STR("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
	    "\r\n"), .body = STR("3\r\nabc\r\n"), .start = { 1000 },
	    .end = { 61000 } };

	(void)state;
	begin(streaming, PLAIN);
	struct asked a = get("http://stream.test/day");
	a.call.archive = CALL_RESPONSE;
	a.call.stored = &r;
	ask(&a, 1000);
	assert_int_equal(a.call.end, CALL_ANSWERED);
	assert_int_equal(a.call.status, 200);
	assert_int_equal(a.call.number, 2);
	assert_true(a.call.truncated);
	assert_int_equal(rig.open, 0);
	end(&a);
	fetch_rig_end(&rig);
}

/* It is archived all the same: what came was an answer. */
static void
a_stream_is_stopped_by_its_owner(void **state)
{
	(void)state;
	begin(streaming, PLAIN);
	struct asked a = follow("http://stream.test/day", 90000);
	a.call.archive = CALL_RESPONSE;
	start(&a);
	fetch_rig_pass(&rig, 150000);
	call_stop(&a.call);
	fetch_rig_pass(&rig, 1000);
	assert_int_equal(a.done, 1);
	assert_int_equal(a.pieces, 3);
	assert_true(a.call.truncated && a.call.cut);
	assert_int_equal(a.call.number, 2);
	assert_int_equal(rig.open, 0);
	end(&a);
	/* Another status is an answer as any. */
	struct asked b = follow("http://api.test/never", 90000);
	b.call.tries_max = 1;
	ask(&b, 1000);
	answers(&b, 503, "{\"a\":1}");
	assert_int_equal(b.begun, 0);
	end(&b);
	fetch_rig_end(&rig);
}

/* The limit of a body is what is archived of a stream, too. */
static void
a_stream_ends_at_the_limit_of_a_body(void **state)
{
	(void)state;
	fetch_rig_init(&rig, streaming);
	rig.rig.kind = CRAWL_TASKS;
	rig.settings.body_bytes_max = 8 * 10;
	fetch_rig_begin(&rig, PLAIN, "http://seed.test/");
	fetch_rig_pass(&rig, 1000);
	for (int archived = 0; archived <= 1; archived++) {
		struct asked a = follow("http://stream.test/day", 90000);
		a.call.archive = archived ? CALL_RESPONSE : CALL_UNARCHIVED;
		start(&a);
		fetch_rig_pass(&rig, 3600 * 1000);
		assert_int_equal(a.done, archived);
		if (archived)
			assert_int_equal(a.pieces, 11);
		else
			assert_in_range(a.pieces, 59, 61);
		if (!archived)
			call_stop(&a.call);
		fetch_rig_pass(&rig, 1000);
		end(&a);
	}
	fetch_rig_end(&rig);
}

static char megabyte[(1 << 20) + 1];

static void
flooding(struct str url, struct answer *a)
{
	streaming(url, a);
	memset(megabyte, 'x', sizeof(megabyte) - 1);
	a->head = "";
	a->body = megabyte;
	a->times = str_ends(url, STR("/nine")) ? 9 : 10;
	a->endless = false;
}

/* Its owner's loop does not move; the ninth MiB is the last that is taken. */
static void
a_stream_ends_when_its_reader_is_behind(void **state)
{
	(void)state;
	begin(flooding, PLAIN);
	for (int ten = 0; ten <= 1; ten++) {
		struct loop *slow = loop_new("slow");
		struct asked a = follow(ten ? "http://stream.test/ten" :
		    "http://stream.test/nine", 90000);
		a.call.home = slow;
		start(&a);
		for (int minute = 0; minute < 12; minute++)
			fetch_rig_pass(&rig, 60000);
		assert_int_equal(a.pieces, 0);
		assert_int_equal(rig.open, 0);
		world_run(slow, NULL);
		assert_int_equal(a.done, 1);
		assert_int_equal(a.pieces, ten ? 10 : 9);
		assert_int_equal(a.call.truncated, ten);
		assert_int_equal(a.call.cut, ten);
		end(&a);
		loop_free(&slow);
	}
	fetch_rig_end(&rig);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(method_headers_body_and_signature_go_out),
		cmocka_unit_test(redirects_keep_or_change_the_method),
		cmocka_unit_test(credentials_do_not_follow_redirects),
		cmocka_unit_test(a_busy_server_is_asked_when_it_says),
		cmocka_unit_test(a_lost_answer_is_a_failure),
		cmocka_unit_test(robots_or_the_owners_budget),
		cmocka_unit_test(
		    private_addresses_are_refused_but_for_those_listed),
		cmocka_unit_test(a_session_has_its_own_cookies),
		cmocka_unit_test(calls_and_a_crawl_alternate),
		cmocka_unit_test(a_late_turn_is_not_taken),
		cmocka_unit_test(a_far_turn_is_told),
		cmocka_unit_test(waiting_and_turns_are_told),
		cmocka_unit_test(a_paused_crawl_holds_its_calls),
		cmocka_unit_test(a_call_can_be_stopped),
		cmocka_unit_test(
		    an_archived_answer_has_a_number_and_a_checkpoint),
		cmocka_unit_test(
		    an_answer_behind_its_crawls_end_is_not_kept),
		cmocka_unit_test(a_stream_lasts_until_it_is_silent),
		cmocka_unit_test(a_stream_is_archived_later),
		cmocka_unit_test(a_stream_is_stopped_by_its_owner),
		cmocka_unit_test(a_stream_ends_at_the_limit_of_a_body),
		cmocka_unit_test(a_stream_ends_when_its_reader_is_behind),
	};

	return cmocka_run_group_tests(tests, world_setup, world_teardown);
}
