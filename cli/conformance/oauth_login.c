/*
 * oauth_login -- the checks of logins that end.  They are made when the
 * provider sends a client without cookies back at once, as providers for tests
 * do; others ask a person, and the checks are skipped.
 */
#include "cli/conformance/oauth_calls.h"

static const enum check_id checks[] = { CHECK_OAUTH_CLOSING,
	CHECK_OAUTH_REPLAYED_CODE, CHECK_OAUTH_TOKEN, CHECK_OAUTH_RESET };

/* The code with which the provider sends back; empty: it does not. */
static struct str
visit_provider(struct conformance *c, const struct oauth_login *l)
{
	struct peer_order o = { .method = "GET", .url = l->provider.href,
	    .anonymous = true };
	struct peer_answer a = peer_call(c, &o);
	struct str expected = arena_printf(&c->arena, "%.*s/callback?",
	    STR_FMT(oauth_base(c)));
	struct url back;

	if (a.status < 300 || a.status > 399 ||
	    !str_starts(a.location, expected) || crawler_read_url(a.location,
	    "Location", &c->arena, &back, NULL) != OK)
		return STR("");
	return oauth_query_value(c, back.query, STR("code"));
}

static struct peer_answer
bring_code(struct conformance *c, const struct oauth_login *l, struct str code)
{
	struct str what = arena_printf(&c->arena, "code=%.*s", STR_FMT(code));

	return oauth_come_back(c, what.p, l->state, l->cookies);
}

static void
judge_closing_page(struct conformance *c, const struct peer_answer *a)
{
	if (!verdict_judge(c->verdicts, CHECK_OAUTH_CLOSING, a->status == 200,
	    "%s", peer_status_text(c, a, "200")))
		return;
	verdict_judge(c->verdicts, CHECK_OAUTH_CLOSING, oauth_closes(a) &&
	    str_starts_nocase(a->type, STR("text/html")),
	    "the page is not HTML with <script>window.close()</script>");
}

/* ---- The token ---------------------------------------------------------- */

/* ISO 8601, or a number of seconds or milliseconds. */
static bool
is_date(yyjson_val *v)
{
	struct wall t;

	return yyjson_is_num(v) || wall_from_iso(json_text(v), &t);
}

static void
judge_token(struct conformance *c, const struct peer_answer *a)
{
	static const char *const texts[] = { "user", "token" };
	static const char *const dates[] = { "issued", "expiry" };

	if (!verdict_judge(c->verdicts, CHECK_OAUTH_TOKEN, a->status == 200 &&
	    a->json != NULL, "%s", peer_status_text(c, a, "200 with JSON")))
		return;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		verdict_judge(c->verdicts, CHECK_OAUTH_TOKEN, json_text(
		    yyjson_obj_get(a->json, texts[i])).n > 0,
		    "%s is missing, or no text", texts[i]);
	for (size_t i = 0; i < ARRAY_LEN(dates); i++)
		verdict_judge(c->verdicts, CHECK_OAUTH_TOKEN, is_date(
		    yyjson_obj_get(a->json, dates[i])),
		    "%s is missing, or no date", dates[i]);
}

/* ---- Reset, and what follows a login ------------------------------------ */

static void
judge_replayed_code(struct conformance *c, struct str code)
{
	struct oauth_login l = oauth_login_begin(c, conformance_fid(c), "");
	struct peer_answer a;

	if (!l.fine)
		return;
	a = bring_code(c, &l, code);
	/* The provider refuses it: to some crawlers that is its failure. */
	verdict_judge(c->verdicts, CHECK_OAUTH_REPLAYED_CODE, a.status >= 400 &&
	    !oauth_closes(&a), "%s", peer_status_text(c, &a, "a refusal"));
}

static bool
judge_reset(struct conformance *c, struct str uuid, struct oauth_login *out)
{
	struct oauth_login l = oauth_login_begin(c, uuid, "");

	if (!verdict_judge(c->verdicts, CHECK_OAUTH_RESET, l.answer.status ==
	    200 && oauth_closes(&l.answer), "a second login of a user with a "
	    "token: %s", peer_status_text(c, &l.answer,
	    "200 with the page that closes")))
		return false;
	*out = oauth_login_begin(c, uuid, "&reset=1");
	if (!verdict_judge(c->verdicts, CHECK_OAUTH_RESET, out->fine,
	    "reset=1: %s", peer_status_text(c, &out->answer, "302")))
		return false;
	struct peer_answer a = oauth_token_call(c, "GET", uuid);
	return verdict_judge(c->verdicts, CHECK_OAUTH_RESET, a.status == 404,
	    "GET /token after reset=1: %s", peer_status_text(c, &a, "404"));
}

static void
judge_clear(struct conformance *c, struct str uuid)
{
	struct peer_answer a = oauth_token_call(c, "GET", uuid);

	if (!verdict_judge(c->verdicts, CHECK_OAUTH_CLEAR, a.status == 200,
	    "GET /token after a login: %s", peer_status_text(c, &a, "200")))
		return;
	a = oauth_token_call(c, "DELETE", uuid);
	verdict_judge(c->verdicts, CHECK_OAUTH_CLEAR, a.status == 200, "%s",
	    peer_status_text(c, &a, "200"));
	a = oauth_token_call(c, "GET", uuid);
	verdict_judge(c->verdicts, CHECK_OAUTH_CLEAR, a.status == 404,
	    "GET /token after DELETE: %s", peer_status_text(c, &a, "404"));
}

void
judge_signed_in(struct conformance *c)
{
	struct oauth_login l = oauth_login_begin(c, conformance_fid(c), "");
	struct str code = l.fine ? visit_provider(c, &l) : STR("");
	struct peer_answer a;

	if (code.n == 0) {
		for (size_t i = 0; i < ARRAY_LEN(checks); i++)
			verdict_skip(c->verdicts, checks[i], "the provider "
			    "does not send back at once");
		return;
	}
	a = bring_code(c, &l, code);
	judge_closing_page(c, &a);
	judge_replayed_code(c, code);
	a = oauth_token_call(c, "GET", l.uuid);
	judge_token(c, &a);
	struct oauth_login again;
	if (!judge_reset(c, l.uuid, &again))
		return;
	code = visit_provider(c, &again);
	(void)bring_code(c, &again, code);
	judge_clear(c, l.uuid);
}
