/*
 * oauth -- the checks of a crawler's OAuth calls that need no account at the
 * provider; those of a login that ends are in oauth_login.c.
 */
#include "cli/conformance/oauth_calls.h"
#include "cli/conformance/ticket.h"
#include "os/clock.h"

#define STATE_LETTERS_MIN 22u    /* 128 bits in base64url */
#define CHALLENGE_LETTERS 43u    /* SHA-256 in base64url */
#define TICKET_S 300

/* ---- Calls ---------------------------------------------------------- */

struct str
oauth_base(struct conformance *c)
{
	struct str base = json_text(yyjson_obj_get(c->options->object,
	    "oauth"));

	return base.n > 0 ? base : peer_url(c, "/oauth", STR(""));
}

/* The name of the connector: the last segment of the crawler's path. */
static struct str
connector_name(const struct conformance *c)
{
	struct str rest = c->peer.path, word, last = STR("");

	while (str_split(&rest, '/', &word))
		if (word.n > 0)
			last = word;
	return last;
}

static struct ticket
usual_ticket(struct conformance *c, struct str uuid, const char *act)
{
	return (struct ticket){ .issuer = c->options->issuer,
	    .audience = connector_name(c), .uuid = uuid,
	    .subdomain = c->options->subdomain, .act = act,
	    .exp_s = wall_s(clock_wall()) + TICKET_S,
	    .jti = conformance_fid(c) };
}

struct str
oauth_make_ticket(struct conformance *c, struct str uuid, const char *act)
{
	struct ticket t = usual_ticket(c, uuid, act);

	return c->options->ticket_key.n == 0 ? STR("") : ticket_make(&t,
	    c->options->ticket_key, &c->arena);
}

struct peer_answer
oauth_call(struct conformance *c, const char *method, const char *path,
    struct str query, struct str ticket, struct str cookies)
{
	struct peer_order o = { .method = method, .url = arena_printf(
	    &c->arena, "%.*s%s?%.*s%s%.*s", STR_FMT(oauth_base(c)), path,
	    STR_FMT(query), ticket.n > 0 ? "&ticket=" : "",
	    STR_FMT(ticket)), .cookie = cookies, .anonymous = true,
	    .referer = c->options->origin };

	return peer_call(c, &o);
}

struct str
oauth_user_query(struct conformance *c, struct str uuid)
{
	return arena_printf(&c->arena, "uuid=%.*s&subdomain=%.*s",
	    STR_FMT(uuid), STR_FMT(c->options->subdomain));
}

struct peer_answer
oauth_token_call(struct conformance *c, const char *method, struct str uuid)
{
	const char *act = strcmp(method, "DELETE") == 0 ? "clear" : "token";

	return oauth_call(c, method, "/token", oauth_user_query(c, uuid),
	    oauth_make_ticket(c, uuid, act), STR(""));
}

/* ---- A login -------------------------------------------------------- */

struct str
oauth_query_value(struct conformance *c, struct str query, struct str name)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct str rest = str_from(query, 1), pair;

	while (str_split(&rest, '&', &pair)) {
		size_t at = str_find_char(pair, '=');
		if (!str_eq(str_cut(pair, 0, at), name))
			continue;
		for (at++; at < pair.n; at++) {
			int byte = str_percent_byte(str_from(pair, at));
			buf_put_char(&b, byte < 0 ? pair.p[at] : (char)byte);
			at += byte < 0 ? 0 : 2;
		}
		break;
	}
	return arena_copy(&c->arena, buf_str(&b));
}

struct oauth_login
oauth_login_begin(struct conformance *c, struct str uuid, const char *more)
{
	struct oauth_login l = { .uuid = uuid };
	struct str query = arena_printf(&c->arena, "%.*s%s", STR_FMT(
	    oauth_user_query(c, uuid)), more);

	l.answer = oauth_call(c, "GET", "/login", query, oauth_make_ticket(c,
	    uuid, "login"), STR(""));
	l.cookies = l.answer.cookies;
	l.fine = l.answer.status == 302 && crawler_read_url(l.answer.location,
	    "Location", &c->arena, &l.provider, NULL) == OK;
	if (l.fine)
		l.state = oauth_query_value(c, l.provider.query, STR("state"));
	return l;
}

/* A login of a user who has no token. */
static struct oauth_login
begin_login(struct conformance *c)
{
	struct oauth_login l = oauth_login_begin(c, conformance_fid(c), "");

	verdict_judge(c->verdicts, CHECK_OAUTH_REDIRECT, l.fine, "%s",
	    l.answer.status == 302 ? "Location is no URL of a provider" :
	    peer_status_text(c, &l.answer, "302"));
	return l;
}

static void
judge_login(struct conformance *c, const struct oauth_login *l,
    const struct oauth_login *other)
{
	struct str query = l->provider.query;
	struct str wanted = arena_printf(&c->arena, "%.*s/callback",
	    STR_FMT(oauth_base(c)));

	verdict_judge(c->verdicts, CHECK_OAUTH_STATE, l->state.n >=
	    STATE_LETTERS_MIN && !str_eq(l->state, other->state),
	    l->state.n < STATE_LETTERS_MIN ? "state is shorter than 128 bits" :
	    "two logins have the same state");
	verdict_judge(c->verdicts, CHECK_OAUTH_PKCE, str_eq(oauth_query_value(c,
	    query, STR("code_challenge_method")), STR("S256")) &&
	    oauth_query_value(c, query, STR("code_challenge")).n ==
	    CHALLENGE_LETTERS,
	    "the login has no code_challenge by S256");
	verdict_judge(c->verdicts, CHECK_OAUTH_REDIRECT_URI, str_eq(
	    oauth_query_value(c, query, STR("redirect_uri")), wanted),
	    "redirect_uri is not %.*s", STR_FMT(wanted));
}

/* The call may be refused, too. */
static void
judge_foreign_redirect(struct conformance *c)
{
	struct oauth_login l = oauth_login_begin(c, conformance_fid(c),
	    "&redirect_uri=https%3A%2F%2Fattacker.example%2F");

	verdict_judge(c->verdicts, CHECK_OAUTH_FOREIGN_REDIRECT, !l.fine ||
	    str_find(l.answer.location, STR("attacker")) ==
	    l.answer.location.n, "/login takes the redirect_uri of its call");
}

/* ---- The way back --------------------------------------------------- */

struct peer_answer
oauth_come_back(struct conformance *c, const char *what, struct str state,
    struct str cookies)
{
	return oauth_call(c, "GET", "/callback", arena_printf(&c->arena,
	    "%s&state=%.*s", what, STR_FMT(state)), STR(""), cookies);
}

bool
oauth_closes(const struct peer_answer *a)
{
	return str_find(a->body, STR("window.close")) < a->body.n;
}

void
oauth_judge_refusal(struct conformance *c, enum check_id id,
    const struct peer_answer *a)
{
	if (verdict_judge(c->verdicts, id, a->status >= 400 && a->status < 500,
	    "%s", peer_status_text(c, a, "a refusal")))
		verdict_judge(c->verdicts, id, !oauth_closes(a),
		    "the page of the refusal closes itself");
}

static void
judge_states(struct conformance *c, const struct oauth_login *l)
{
	struct oauth_login replayed = begin_login(c);
	struct peer_answer a = oauth_come_back(c, "code=x",
	    STR("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"), l->cookies);

	oauth_judge_refusal(c, CHECK_OAUTH_UNKNOWN_STATE, &a);
	a = oauth_come_back(c, "code=x", l->state, STR(""));
	oauth_judge_refusal(c, CHECK_OAUTH_FOREIGN, &a);
	if (!replayed.fine)
		return;
	/* The login is aborted, which uses its state up. */
	(void)oauth_come_back(c, "error=access_denied", replayed.state,
	    replayed.cookies);
	a = oauth_come_back(c, "code=x", replayed.state, replayed.cookies);
	oauth_judge_refusal(c, CHECK_OAUTH_REPLAYED, &a);
}

/* ---- Tokens --------------------------------------------------------- */

static void
judge_missing_uuid(struct conformance *c, struct str uuid)
{
	struct str ticket = oauth_make_ticket(c, uuid, "token");
	struct peer_answer a = oauth_call(c, "GET", "/token", arena_printf(
	    &c->arena, "subdomain=%.*s", STR_FMT(c->options->subdomain)),
	    ticket, STR(""));

	peer_judge_refusal(c, CHECK_OAUTH_MISSING_UUID, &a, 400);
	a = oauth_call(c, "GET", "/token", arena_printf(&c->arena, "uuid=%.*s",
	    STR_FMT(uuid)), ticket, STR(""));
	peer_judge_refusal(c, CHECK_OAUTH_MISSING_UUID, &a, 400);
}

static void
judge_tokens(struct conformance *c)
{
	struct str uuid = conformance_fid(c);
	struct peer_answer a = oauth_token_call(c, "GET", uuid);

	peer_judge_refusal(c, CHECK_OAUTH_NO_TOKEN, &a, 404);
	judge_missing_uuid(c, uuid);
	a = oauth_token_call(c, "DELETE", uuid);
	if (verdict_judge(c->verdicts, CHECK_OAUTH_CLEAR, a.status == 200 &&
	    peer_is_success(&a), "%s", peer_status_text(c, &a,
	    "200 with success"))) {
		a = oauth_token_call(c, "GET", uuid);
		peer_judge_refusal(c, CHECK_OAUTH_CLEAR, &a, 404);
	}
	a = oauth_token_call(c, "DELETE", uuid);
	verdict_judge(c->verdicts, CHECK_OAUTH_CLEAR_TWICE, a.status == 200 &&
	    peer_is_success(&a), "%s", peer_status_text(c, &a,
	    "200 with success"));
}

void
judge_oauth(struct conformance *c)
{
	struct oauth_login first = begin_login(c), second = begin_login(c);

	if (first.fine && second.fine) {
		judge_login(c, &first, &second);
		judge_states(c, &first);
		judge_foreign_redirect(c);
		judge_signed_in(c);
	}
	judge_tokens(c);
}

/* ---- Tickets -------------------------------------------------------- */

static void
judge_ticket(struct conformance *c, const struct ticket *t, struct str key,
    const char *what)
{
	struct peer_answer a = oauth_call(c, "GET", "/token",
	    oauth_user_query(c, t->uuid), key.n == 0 ? STR("") :
	    ticket_make(t, key, &c->arena), STR(""));

	verdict_judge(c->verdicts, CHECK_EXT_TICKET, a.status == 403, "%s: %s",
	    what, peer_status_text(c, &a, "403"));
}

static void
judge_used_ticket(struct conformance *c)
{
	struct str uuid = conformance_fid(c), query = oauth_user_query(c, uuid);
	struct str ticket = oauth_make_ticket(c, uuid, "login");
	struct peer_answer a = oauth_call(c, "GET", "/login", query, ticket,
	    STR(""));

	a = oauth_call(c, "GET", "/login", query, ticket, STR(""));
	verdict_judge(c->verdicts, CHECK_EXT_TICKET, a.status == 403,
	    "a ticket that was used: %s", peer_status_text(c, &a, "403"));
}

void
judge_tickets(struct conformance *c)
{
	struct str key = c->options->ticket_key;
	struct ticket usual = usual_ticket(c, conformance_fid(c), "token");
	struct ticket t = usual;

	if (key.n == 0 || !c->options->oauth) {
		verdict_skip(c->verdicts, CHECK_EXT_TICKET,
		    "there is no --oauth with --ticket-key-file");
		return;
	}
	judge_ticket(c, &t, STR(""), "no ticket");
	judge_ticket(c, &t, STR("another key of the same length.."),
	    "a ticket by another key");
	t.exp_s -= 2 * TICKET_S;
	judge_ticket(c, &t, key, "an expired ticket");
	t = usual;
	t.audience = STR("another-connector");
	judge_ticket(c, &t, key, "a ticket of another connector");
	t = usual;
	t.act = "login";
	judge_ticket(c, &t, key, "a ticket for another call");
	judge_used_ticket(c);
}
