/* Reads answers: profiles, pages of feeds, refusals. */
#include "base/text.h"
#include "engine/connector/bluesky/bluesky_own.h"
#include "engine/connector/shown.h"
#include "engine/connector/url_text.h"

#define HANDLE_BYTES_MAX 253u
#define URL_BYTES_MAX 8192u

/* `code` goes after "uid_" or "token_", and `what` after the seed in a
 * sentence. */
static void
skip_seed(struct bluesky_run *b, const struct connector_findings *f,
    const char *code, const char *what, struct str said)
{
	FREED(buf_free) struct buf shown = BUF_INIT;
	bool by_uid = seed_run_seed(&b->run)->uid.n > 0;
	char whole[40];

	shown_put(&shown, said);
	snprintf(whole, sizeof(whole), "%s_%s", by_uid ? "uid" : "token",
	    code);
	seed_run_skip(&b->run, f, whole, "%s%s", what, buf_text(&shown));
}

/* ---- Refusals ---------------------------------------------------------- */

/* Errors that say what an account is. */
static const struct {
	const char *error, *code, *what;
} errors[] = {
	{ "AccountDeactivated", "suspended", " is deactivated" },
	{ "AccountSuspended", "suspended", " is suspended" },
	{ "AccountTakedown", "suspended", " was taken down" },
	{ "BlockedActor", "unauthorized", " may not be shown: it is blocked" },
	{ "BlockedByActor", "unauthorized",
	    " may not be shown: it blocks others" },
};

static bool
says_missing(struct str error, struct str message)
{
	return str_eq(error, STR("InvalidRequest")) &&
	    (str_find(message, STR("not found")) < message.n ||
	    str_find(message, STR("valid did or")) < message.n);
}

/* 400, 401 or 403.  The public API wants no credential; where it refuses
 * without naming an account, it refuses all of them. */
static void
answer_refusal(struct bluesky_run *b, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct str error = json_text(yyjson_obj_get(answer->json, "error"));
	struct str message = json_text(yyjson_obj_get(answer->json,
	    "message"));
	size_t i = STR_ROW(error, errors);

	if (i < ARRAY_LEN(errors)) {
		skip_seed(b, f, errors[i].code, errors[i].what, STR_NONE);
	} else if (says_missing(error, message)) {
		skip_seed(b, f, "not_found", " does not exist", STR_NONE);
	} else if (answer->status != 400) {
		shown_put(&text, message.n > 0 ? message : error);
		seed_run_fail(&b->run, f, "harvest_Unauthorized",
		    " refuses requests: %d%s%s", answer->status,
		    text.n > 0 ? ", " : "", buf_text(&text));
	} else if (error.n == 0) {
		seed_run_again(&b->run, f, "an error without a name");
	} else {
		skip_seed(b, f, "unknown_error", " cannot be harvested: ",
		    message.n > 0 ? message : error);
	}
}

/* ---- A profile --------------------------------------------------------- */

static bool
is_other_handle(struct str given, struct str handle)
{
	/* The last one stands for a handle whose domain denies it. */
	return given.n > 0 && !bluesky_is_did(given) && handle.n > 0 &&
	    handle.n <= HANDLE_BYTES_MAX && !text_has_control(handle) &&
	    !str_eq_nocase(given, handle) &&
	    !str_eq(handle, STR("handle.invalid"));
}

static void
answer_profile(struct bluesky_run *b, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	const struct connector_seed *s = seed_run_seed(&b->run);
	struct str did = json_text(yyjson_obj_get(answer->json, "did"));
	struct str handle = json_text(yyjson_obj_get(answer->json, "handle"));

	if (!bluesky_is_did(did)) {
		seed_run_again(&b->run, f, "a profile without a DID");
		return;
	}
	bool other = is_other_handle(bluesky_handle(s), handle);
	if (!str_eq(s->uid, did) || other)
		f->seed(f->arg, s, str_eq(s->uid, did) ? STR_NONE : did,
		    other ? handle : STR_NONE);
	b->run.tries = 0;
	b->run.step = BLUESKY_PAGE;
	buf_clear(&b->did);
	buf_put_str(&b->did, did);
}

/* ---- An entry of a page ------------------------------------------------ */

static void
find_url(yyjson_val *v, const struct connector_findings *f)
{
	struct str url = json_text(v);

	if (url.n <= URL_BYTES_MAX && url_text_is_web(url))
		f->url(f->arg, url);
}

/*
 * Images, in either of their forms, or a link's card; alone or beside a post
 * that is quoted.
 */
static void
find_urls(yyjson_val *embed, const struct connector_findings *f)
{
	yyjson_val *media = yyjson_obj_get(embed, "media"), *image;
	size_t i, n;

	if (yyjson_is_obj(media))
		embed = media;
	yyjson_arr_foreach(yyjson_obj_get(embed, "images"), i, n, image)
		find_url(yyjson_obj_get(image, "fullsize"), f);
	yyjson_arr_foreach(yyjson_obj_get(embed, "items"), i, n, image)
		find_url(yyjson_obj_get(image, "fullsize"), f);
	find_url(yyjson_obj_get(yyjson_obj_get(embed, "external"), "uri"), f);
}

/* Where an entry stands in its feed.  False: it does not say so, or its author
 * has pinned it to the top. */
static bool
read_position(yyjson_val *entry, struct wall *position)
{
	yyjson_val *reason = yyjson_obj_get(entry, "reason");
	bool is_repost = yyjson_is_obj(yyjson_obj_get(reason, "by"));

	if (yyjson_is_obj(reason) && !is_repost)
		return false;
	return wall_from_iso(json_text(yyjson_obj_get(is_repost ? reason :
	    yyjson_obj_get(entry, "post"), "indexedAt")), position) &&
	    position->us > 0;
}

/* What a page says about all of its entries. */
struct page {
	uint64_t n, posts;           /* posts: those with an address */
	struct wall newest;          /* us 0: none has a date */
	bool reaches_known;          /* an entry of the last run */
};

static void
read_page(const struct bluesky_run *b, yyjson_val *feed,
    const struct connector_findings *f, struct page *p)
{
	struct wall since = bluesky_since(b), position;
	yyjson_val *entry;
	size_t i, n;

	yyjson_arr_foreach(feed, i, n, entry) {
		yyjson_val *post = yyjson_obj_get(entry, "post");
		p->n++;
		if (json_text(yyjson_obj_get(post, "uri")).n == 0)
			continue;
		p->posts++;
		find_urls(yyjson_obj_get(post, "embed"), f);
		if (!read_position(entry, &position))
			continue;
		p->newest.us = MAX(p->newest.us, position.us);
		p->reaches_known |= position.us <= since.us;
	}
}

/* ---- How a feed goes on, or ends --------------------------------------- */

/* The state never moves back: a clock of the platform's servers might. */
static void
set_state(struct bluesky_run *b, const struct connector_findings *f)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	char iso[WALL_ISO_MAX];

	if (b->newest.us <= bluesky_since(b).us)
		return;
	bluesky_state_key(b, &key);
	wall_to_iso(b->newest, iso);
	f->state(f->arg, buf_str(&key), str_of(iso));
}

static void
go_on(struct bluesky_run *b, struct str cursor, bool empty,
    const struct connector_findings *f)
{
	/* A page that came twice may be right the next time. */
	if (str_eq(cursor, buf_str(&b->cursor.at))) {
		seed_run_again(&b->run, f, "a page that leads nowhere");
		return;
	}
	b->run.tries = 0;
	b->empty = empty ? b->empty + 1 : 0;
	if (!cursor_move(&b->cursor, cursor))
		seed_run_fail(&b->run, f, "unknown_error", " sent pages that "
		    "lead in a circle, account %s", buf_text(&b->did));
	else if (b->empty >= BLUESKY_EMPTY_PAGES_MAX)
		seed_run_fail(&b->run, f, "unknown_error", " sent %u pages in a"
		    " row without posts, account %s", b->empty,
		    buf_text(&b->did));
}

static void
answer_page(struct bluesky_run *b, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	yyjson_val *feed = yyjson_obj_get(answer->json, "feed");
	struct str cursor = json_text(yyjson_obj_get(answer->json, "cursor"));
	struct page p = { .n = 0 };

	if (!yyjson_is_arr(feed) || cursor.n > CURSOR_BYTES_MAX) {
		seed_run_again(&b->run, f, "no page of a feed");
		return;
	}
	read_page(b, feed, f, &p);
	b->newest.us = MAX(b->newest.us, p.newest.us);
	seed_run_count(&b->run, f, p.posts);
	if (p.posts < p.n)
		seed_run_warn(&b->run, f, seed_run_seed(&b->run)->uid.n > 0 ?
		    "uid_unknown_error" : "token_unknown_error",
		    ": %llu of %llu entries of a page have no post and are not"
		    " counted", (unsigned long long)(p.n - p.posts),
		    (unsigned long long)p.n);
	/* A limit is a decision: what it leaves out is not asked for later. */
	bool ends = cursor.n == 0 || p.reaches_known ||
	    b->run.items >= (uint64_t)b->run.limit;
	if (ends)
		set_state(b, f);
	if (seed_run_is_full(&b->run, f))
		return;
	if (ends)
		seed_run_leave(&b->run, f);
	else
		go_on(b, cursor, p.n == 0, f);
}

/* ---- Any --------------------------------------------------------------- */

void
bluesky_answer(struct seed_run *run, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	struct bluesky_run *b = (struct bluesky_run *)run;

	if (answer->status >= 400)
		answer_refusal(b, answer, f);
	else if (run->step == BLUESKY_PROFILE)
		answer_profile(b, answer, f);
	else
		answer_page(b, answer, f);
}
