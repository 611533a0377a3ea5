/* Reads answers: profiles, pages of feeds, refusals. */
#include "base/text.h"
#include "engine/connector/bluesky/bluesky_own.h"
#include "engine/connector/shown.h"
#include "engine/connector/url_text.h"

#define HANDLE_BYTES_MAX 253u
#define URL_BYTES_MAX 8192u

/* ---- How a run or a seed ends ------------------------------------------ */

/* "account ada.example" */
static void
put_seed(struct buf *out, const struct bluesky_run *b)
{
	const struct connector_seed *s = bluesky_seed(b);
	struct str handle = bluesky_handle(s);

	buf_put_text(out, "account ");
	shown_put(out, handle.n > 0 ? handle : s->uid);
}

static void
fail_run(struct bluesky_run *b, const struct connector_findings *f,
    const char *code, const struct buf *text)
{
	b->step = BLUESKY_ENDED;
	b->tries = b->empty = 0;
	f->fail(f->arg, code, buf_str(text));
}

static void
leave_seed(struct bluesky_run *b, const struct connector_findings *f)
{
	b->tries = 0;
	if (!bluesky_next_seed(b))
		f->done(f->arg);
}

/* `code` goes after "uid_" or "token_", and `what` after the seed in a
 * sentence. */
static void
skip_seed(struct bluesky_run *b, const struct connector_findings *f,
    const char *code, const char *what, struct str said)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	const struct connector_seed *s = bluesky_seed(b);
	char whole[40];

	put_seed(&text, b);
	buf_put_text(&text, what);
	shown_put(&text, said);
	snprintf(whole, sizeof(whole), "%s_%s", s->uid.n > 0 ? "uid" : "token",
	    code);
	f->note(f->arg, CONNECTOR_WARNING, whole, buf_str(&text), s);
	f->skip_seed(f->arg, s);
	leave_seed(b, f);
}

/* An answer that cannot be: the same call again, a few times. */
static void
ask_again(struct bluesky_run *b, const struct connector_findings *f,
    const char *what)
{
	FREED(buf_free) struct buf text = BUF_INIT;

	if (++b->tries <= BLUESKY_TRIES_MAX) {
		b->is_out = true;
		f->again(f->arg, b->tries * b->tries);
		return;
	}
	buf_printf(&text, BLUESKY_BASE " sent %s %u times, ", what, b->tries);
	put_seed(&text, b);
	fail_run(b, f, "unknown_error", &text);
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
		buf_printf(&text, BLUESKY_BASE " refuses requests: %d ",
		    answer->status);
		shown_put(&text, message.n > 0 ? message : error);
		while (text.p[text.n - 1] == ' ')
			text.n--;
		fail_run(b, f, "harvest_Unauthorized", &text);
	} else if (error.n == 0) {
		ask_again(b, f, "an error without a name");
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
	const struct connector_seed *s = bluesky_seed(b);
	struct str did = json_text(yyjson_obj_get(answer->json, "did"));
	struct str handle = json_text(yyjson_obj_get(answer->json, "handle"));

	if (!bluesky_is_did(did)) {
		ask_again(b, f, "a profile without a DID");
		return;
	}
	bool other = is_other_handle(bluesky_handle(s), handle);
	if (!str_eq(s->uid, did) || other)
		f->seed(f->arg, s, str_eq(s->uid, did) ? STR_NONE : did,
		    other ? handle : STR_NONE);
	b->tries = 0;
	buf_clear(&b->did);
	buf_put_str(&b->did, did);
	bluesky_begin_feed(b);
}

/* ---- An entry of a page ------------------------------------------------ */

static void
find_url(yyjson_val *v, const struct connector_findings *f)
{
	struct str url = json_text(v);

	if (url.n <= URL_BYTES_MAX && url_text_is_web(url))
		f->url(f->arg, url);
}

/* Images, a link's card, or either beside a post that is quoted. */
static void
find_urls(yyjson_val *embed, const struct connector_findings *f)
{
	yyjson_val *media = yyjson_obj_get(embed, "media"), *image;
	size_t i, n;

	if (yyjson_is_obj(media))
		embed = media;
	yyjson_arr_foreach(yyjson_obj_get(embed, "images"), i, n, image)
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

static void
note_broken(const struct bluesky_run *b, const struct page *p,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	const struct connector_seed *s = bluesky_seed(b);

	put_seed(&text, b);
	buf_printf(&text, ": %llu of %llu entries of a page have no post and "
	    "are not counted", (unsigned long long)(p->n - p->posts),
	    (unsigned long long)p->n);
	f->note(f->arg, CONNECTOR_WARNING, s->uid.n > 0 ? "uid_unknown_error" :
	    "token_unknown_error", buf_str(&text), s);
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

static bool
limit_is_reached(struct bluesky_run *b, const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;

	if (b->items < (uint64_t)b->limit)
		return false;
	set_state(b, f);
	buf_printf(&text, "%llu posts were found, and the limit is %lld",
	    (unsigned long long)b->items, (long long)b->limit);
	f->note(f->arg, CONNECTOR_INFO, "limit_reached", buf_str(&text), NULL);
	b->step = BLUESKY_ENDED;
	b->empty = 0;
	f->done(f->arg);
	return true;
}

static void
go_behind(struct bluesky_run *b, struct str cursor, bool empty,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	bool loops = cursor_loop_closes(&b->loop, cursor);

	b->empty = empty ? b->empty + 1 : 0;
	buf_clear(&b->cursor);
	buf_put_str(&b->cursor, cursor);
	if (!loops && b->empty < BLUESKY_EMPTY_PAGES_MAX)
		return;
	put_seed(&text, b);
	if (loops)
		buf_put_text(&text, ": the pages of its feed lead in a "
		    "circle");
	else
		buf_printf(&text, ": %u pages in a row have no posts, and "
		    "each leads to another", b->empty);
	fail_run(b, f, "unknown_error", &text);
}

static void
answer_page(struct bluesky_run *b, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	yyjson_val *feed = yyjson_obj_get(answer->json, "feed");
	struct str cursor = json_text(yyjson_obj_get(answer->json, "cursor"));
	struct page p = { .n = 0 };

	if (!yyjson_is_arr(feed)) {
		ask_again(b, f, "no page of a feed");
		return;
	}
	if (cursor.n > BLUESKY_CURSOR_BYTES_MAX) {
		ask_again(b, f, "a cursor that is too long");
		return;
	}
	b->tries = 0;
	read_page(b, feed, f, &p);
	b->items += p.posts;
	b->newest.us = MAX(b->newest.us, p.newest.us);
	if (p.posts > 0)
		f->count(f->arg, BLUESKY_LABEL, p.posts);
	if (p.posts < p.n)
		note_broken(b, &p, f);
	if (limit_is_reached(b, f))
		return;
	if (cursor.n > 0 && !p.reaches_known) {
		go_behind(b, cursor, p.n == 0, f);
		return;
	}
	set_state(b, f);
	b->empty = 0;
	leave_seed(b, f);
}

/* ---- Any --------------------------------------------------------------- */

void
bluesky_answer(struct connector_run *run, const struct connector_call *call,
    const struct connector_answer *answer, const struct connector_findings *f)
{
	struct bluesky_run *b = (struct bluesky_run *)run;

	(void)call;
	b->is_out = false;
	if (b->step == BLUESKY_ENDED)
		return;
	if (answer->status >= 400)
		answer_refusal(b, answer, f);
	else if (b->step == BLUESKY_PROFILE)
		answer_profile(b, answer, f);
	else
		answer_page(b, answer, f);
}
