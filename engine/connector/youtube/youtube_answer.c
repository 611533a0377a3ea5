/* Reads YouTube's answers: channels, pages of lists, videos, refusals. */
#include "base/hash.h"
#include "base/text.h"
#include "engine/connector/items.h"
#include "engine/connector/pacific.h"
#include "engine/connector/shown.h"
#include "engine/connector/youtube/youtube_own.h"

#define QUOTA_SLACK_S 10
#define PAUSE_S 60u
#define PAUSE_S_MAX 900u

/* ---- What is read ------------------------------------------------------ */

static struct wall
date_at(yyjson_val *v, const char *path)
{
	struct wall date;

	return wall_from_iso(json_text(json_at(v, path)), &date) ? date :
	    (struct wall){ 0 };
}

/* Of a comment: like a word, and with dots in those of replies. */
static bool
is_comment_id(struct str id)
{
	for (size_t i = 0; i < id.n; i++)
		if (id.p[i] != '.' && !seed_run_is_word(str_cut(id, i, i + 1),
		    1))
			return false;
	return id.n > 0 && id.n <= YOUTUBE_COMMENT_BYTES_MAX;
}

static void
put_id(struct buf *ids, struct str id)
{
	if (ids->n > 0)
		buf_put_char(ids, ',');
	buf_put_str(ids, id);
}

static void
drop_first(struct buf *ids)
{
	size_t n = MIN(youtube_first(ids).n + 1, ids->n);

	memmove(ids->p, ids->p + n, ids->n - n);
	ids->n -= n;
}

/* ---- Lists ------------------------------------------------------------- */

/* An entry of that date was found; false: the last run had it. */
static bool
is_new(struct youtube_list *l, struct wall date, bool *any)
{
	if (date.us != 0 && date.us <= l->since.us)
		return false;
	*any |= date.us != 0;
	l->newest.us = MAX(l->newest.us, date.us);
	return true;
}

/*
 * Whether a page of entries with an id at `path` shows what the page before has
 * shown, or nothing though it leads on; then it is asked for again.
 */
static bool
is_repeated(struct youtube_run *y, struct youtube_list *l, yyjson_val *page,
    const char *path, const struct connector_findings *f)
{
	yyjson_val *list = yyjson_obj_get(page, "items"), *v;
	bool leads_on = json_text(yyjson_obj_get(page,
	    "nextPageToken")).n > 0;
	uint64_t ids = 1;
	size_t i, n;

	yyjson_arr_foreach(list, i, n, v)
		ids = hash_bytes(json_text(json_at(v, path)), ids);
	if ((n > 0 && ids == l->ids) || (n == 0 && leads_on &&
	    y->seed.tries < YOUTUBE_EMPTY_TRIES)) {
		seed_run_again(&y->seed, f, "a page without another entry");
		return true;
	}
	l->ids = ids;
	return false;
}

/*
 * Go to the page after this one, if it may have something new.  False: it is
 * none to go to, and the run has failed.
 */
static bool
move_on(struct youtube_run *y, struct youtube_list *l, yyjson_val *page,
    bool any_new, const struct connector_findings *f)
{
	struct str next = json_text(yyjson_obj_get(page, "nextPageToken"));

	y->seed.tries = 0;
	l->has_more = next.n > 0 && (any_new || l->since.us == 0);
	if (!l->has_more || cursor_move(&l->page, next))
		return true;
	seed_run_fail(&y->seed, f, "unknown_error", " sent a page that leads "
	    "back to an earlier one");
	return false;
}

static void
put_state(struct youtube_list *l, struct str id,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	char iso[WALL_ISO_MAX];

	if (l->newest.us == 0)
		return;
	youtube_state_key(id, &key);
	wall_to_iso(l->newest, iso);
	/* As YouTube writes it, in whole seconds. */
	snprintf(iso + 19, sizeof(iso) - 19, "Z");
	f->state(f->arg, buf_str(&key), str_of(iso));
}

/* The page at hand of the seed's own list has been read. */
static void
leave_page(struct youtube_run *y, struct youtube_list *l, struct str id,
    unsigned step, const struct connector_findings *f)
{
	if (!l->has_more || y->seed.items >= (uint64_t)y->seed.limit)
		put_state(l, id, f);
	if (seed_run_is_full(&y->seed, f))
		return;
	if (l->has_more)
		y->seed.step = step;
	else
		seed_run_leave(&y->seed, f);
}

static void
leave_uploads(struct youtube_run *y, const struct connector_findings *f)
{
	leave_page(y, &y->videos, buf_str(&y->channel), YOUTUBE_UPLOADS, f);
}

/* The video at hand has no more comments, or none. */
static void
leave_video(struct youtube_run *y, const struct connector_findings *f)
{
	drop_first(&y->video_ids);
	if (y->video_ids.n == 0) {
		leave_uploads(y, f);
		return;
	}
	youtube_begin_list(y, &y->threads, youtube_first(&y->video_ids));
	y->seed.step = YOUTUBE_THREADS;
}

static void
leave_threads(struct youtube_run *y, const struct connector_findings *f)
{
	if (youtube_is_comments(y))
		leave_page(y, &y->threads, buf_str(&y->video_ids),
		    YOUTUBE_THREADS, f);
	else if (y->threads.has_more)
		y->seed.step = YOUTUBE_THREADS;
	else
		leave_video(y, f);
}

static void
leave_comment(struct youtube_run *y, const struct connector_findings *f)
{
	drop_first(&y->comment_ids);
	cursor_begin(&y->replies);
	if (y->comment_ids.n > 0)
		y->seed.step = YOUTUBE_REPLIES;
	else
		leave_threads(y, f);
}

/* ---- Refusals ---------------------------------------------------------- */

enum refusal {
	REFUSAL_QUOTA,               /* until midnight */
	REFUSAL_RATE,                /* for some time */
	REFUSAL_KEY,
	REFUSAL_CURSOR,
	REFUSAL_FAULT,               /* of theirs */
	REFUSAL_OTHER
};

static const struct {
	const char *reason;
	enum refusal what;
} refusals[] = {
	{ "quotaExceeded", REFUSAL_QUOTA },
	{ "dailyLimitExceeded", REFUSAL_QUOTA },
	{ "rateLimitExceeded", REFUSAL_RATE },
	{ "userRateLimitExceeded", REFUSAL_RATE },
	{ "keyInvalid", REFUSAL_KEY }, { "keyExpired", REFUSAL_KEY },
	{ "API_KEY_INVALID", REFUSAL_KEY },
	{ "API_KEY_SERVICE_BLOCKED", REFUSAL_KEY },
	{ "accessNotConfigured", REFUSAL_KEY },
	{ "SERVICE_DISABLED", REFUSAL_KEY },
	{ "ipRefererBlocked", REFUSAL_KEY }, { "authError", REFUSAL_KEY },
	{ "dailyLimitExceededUnreg", REFUSAL_KEY },
	{ "invalidPageToken", REFUSAL_CURSOR },
	{ "processingFailure", REFUSAL_FAULT },
	{ "backendError", REFUSAL_FAULT },
};

static enum refusal
refusal_of(struct str reason, struct str detail, int status)
{
	size_t i = STR_ROW(detail, refusals);

	if (i == ARRAY_LEN(refusals))
		i = STR_ROW(reason, refusals);
	return i < ARRAY_LEN(refusals) ? refusals[i].what :
	    status == 401 ? REFUSAL_KEY : REFUSAL_OTHER;
}

static void
await_quota(struct youtube_run *y, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	int64_t left = pacific_midnight(answer->when).us - answer->when.us;

	f->note(f->arg, CONNECTOR_WARNING, "quota_exhausted", STR("YouTube "
	    "answers no more calls with this key until midnight in Los "
	    "Angeles"), NULL);
	seed_run_wait(&y->seed, f, (unsigned)(left / US_PER_S) +
	    QUOTA_SLACK_S);
}

/* A cursor is good for some time only; a list begins anew once. */
static void
begin_anew(struct youtube_run *y, const struct connector_findings *f)
{
	struct youtube_list *l = y->seed.step == YOUTUBE_UPLOADS ? &y->videos :
	    &y->threads;

	if (l->begun_anew) {
		seed_run_fail(&y->seed, f, "unknown_error", " does not know a "
		    "page that it has named itself");
		return;
	}
	l->begun_anew = true;
	if (y->seed.step != YOUTUBE_REPLIES)
		l->ids = 0;
	cursor_begin(y->seed.step == YOUTUBE_REPLIES ? &y->replies : &l->page);
}

/* The comments on one of a channel's videos cannot be had. */
static void
pass_over_video(struct youtube_run *y, struct str reason, struct str text,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf sentence = BUF_INIT;
	bool disabled = str_eq(reason, STR("commentsDisabled"));

	if (!str_eq(reason, STR("videoNotFound"))) {
		buf_put_text(&sentence, "video ");
		buf_put_str(&sentence, youtube_first(&y->video_ids));
		buf_printf(&sentence, disabled ? " has no comments, since they"
		    " are disabled" : ": %.*s", STR_FMT(text));
		f->note(f->arg, CONNECTOR_WARNING, disabled ?
		    "commentsDisabled" : "uid_unauthorized",
		    buf_str(&sentence), seed_run_seed(&y->seed));
	}
	leave_video(y, f);
}

/* Something about the seed, or what is at hand of it. */
static void
refuse_step(struct youtube_run *y, const struct connector_answer *answer,
    struct str reason, struct str text, const struct connector_findings *f)
{
	struct seed_run *r = &y->seed;

	if (r->step == YOUTUBE_REPLIES) {
		/* It was deleted meanwhile, most likely. */
		if (answer->status != 404)
			seed_run_warn(r, f, "uid_unknown_error", ": replies "
			    "to comment %.*s: %.*s", STR_FMT(youtube_first(
			    &y->comment_ids)), STR_FMT(text));
		leave_comment(y, f);
	} else if (r->step == YOUTUBE_UPLOADS && answer->status == 404)
		/* There is no such list until a channel has a video. */
		leave_uploads(y, f);
	else if (r->step >= YOUTUBE_THREADS && !youtube_is_comments(y))
		pass_over_video(y, reason, text, f);
	else if (str_eq(reason, STR("commentsDisabled")))
		seed_run_skip(r, f, "commentsDisabled", " has no comments, "
		    "since they are disabled");
	else if (answer->status == 404)
		seed_run_skip(r, f, "uid_not_found", " does not exist");
	else
		seed_run_skip(r, f, answer->status == 403 ?
		    "uid_unauthorized" : "uid_unknown_error", ": %.*s",
		    STR_FMT(text));
}

/* "403 forbidden, The caller ..." */
static void
put_refusal(struct buf *text, const struct connector_answer *answer,
    struct str reason)
{
	struct str message = json_text(json_at(answer->json,
	    "error.message"));

	buf_printf(text, "%d ", answer->status);
	shown_put(text, reason);
	if (message.n > 0) {
		buf_put_text(text, ", ");
		shown_put(text, message);
	}
}

static void
answer_refusal(struct youtube_run *y, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct seed_run *r = &y->seed;
	yyjson_val *error = yyjson_obj_get(answer->json, "error");
	struct str reason = json_text(yyjson_obj_get(yyjson_arr_get_first(
	    yyjson_obj_get(error, "errors")), "reason"));
	struct str detail = json_text(yyjson_obj_get(yyjson_arr_get_first(
	    yyjson_obj_get(error, "details")), "reason"));

	put_refusal(&text, answer, reason);
	switch (refusal_of(reason, detail, answer->status)) {
	case REFUSAL_QUOTA:
		await_quota(y, answer, f);
		return;
	case REFUSAL_RATE:
		r->tries = MIN(r->tries + 1, SEED_RUN_TRIES_MAX);
		seed_run_wait(r, f, MIN(PAUSE_S << (r->tries - 1),
		    PAUSE_S_MAX));
		return;
	case REFUSAL_KEY:
		seed_run_fail(r, f, "harvest_Unauthorized", " refuses the key:"
		    " %.*s", STR_FMT(buf_str(&text)));
		return;
	case REFUSAL_CURSOR:
		begin_anew(y, f);
		return;
	case REFUSAL_FAULT:
		seed_run_again(r, f, "an error of its own");
		return;
	case REFUSAL_OTHER:
		r->tries = 0;
		refuse_step(y, answer, reason, buf_str(&text), f);
	}
}

/* ---- A channel --------------------------------------------------------- */

static void
note_channel(struct youtube_run *y, struct str id, struct str handle,
    const struct connector_findings *f)
{
	const struct connector_seed *s = seed_run_seed(&y->seed);
	struct str given = s->token;

	(void)str_take_char(&given, '@');
	/* Names without "@" are those of long ago, which lead there, too. */
	bool other = s->token.n > 0 && str_starts(handle, STR("@")) &&
	    seed_run_is_word(id, YOUTUBE_ID_BYTES_MAX) &&
	    handle.n <= YOUTUBE_COMMENT_BYTES_MAX &&
	    !text_has_control(handle) &&
	    !str_eq_nocase(given, str_from(handle, 1));
	if (!str_eq(s->uid, id) || other)
		f->seed(f->arg, s, str_eq(s->uid, id) ? STR_NONE : id,
		    other ? handle : STR_NONE);
}

static void
answer_channel(struct youtube_run *y, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	const struct connector_seed *s = seed_run_seed(&y->seed);
	yyjson_val *list = yyjson_obj_get(answer->json, "items");
	yyjson_val *channel = yyjson_arr_get_first(list);
	struct str id = json_text(json_member(channel, "id"));
	struct str uploads = json_text(json_at(channel,
	    "contentDetails.relatedPlaylists.uploads"));

	/* Without a match YouTube leaves out the list, too. */
	if (str_eq(json_text(json_member(answer->json, "kind")),
	    STR("youtube#channelListResponse")) && channel == NULL) {
		seed_run_skip(&y->seed, f, s->uid.n > 0 ? "uid_not_found" :
		    "token_not_found", " does not exist");
		return;
	}
	if (!seed_run_is_word(id, YOUTUBE_ID_BYTES_MAX) ||
	    !seed_run_is_word(uploads, YOUTUBE_ID_BYTES_MAX)) {
		seed_run_again(&y->seed, f, "no channel");
		return;
	}
	y->seed.tries = 0;
	note_channel(y, id, json_text(json_at(channel, "snippet.customUrl")),
	    f);
	buf_clear(&y->channel);
	buf_put_str(&y->channel, id);
	buf_clear(&y->uploads);
	buf_put_str(&y->uploads, uploads);
	youtube_begin_list(y, &y->videos, id);
	y->seed.step = YOUTUBE_UPLOADS;
}

/* ---- Videos ------------------------------------------------------------ */

/* An entry of the list of uploads; false: it has no id. */
static bool
read_upload(struct youtube_run *y, yyjson_val *v, bool *any_new)
{
	struct str id = json_text(json_at(v, "contentDetails.videoId"));
	/* A private video has not been published. */
	struct wall date = date_at(v, "contentDetails.videoPublishedAt");
	bool is_private = str_eq(json_text(json_at(v,
	    "status.privacyStatus")), STR("private"));

	if (!seed_run_is_word(id, YOUTUBE_ID_BYTES_MAX))
		return false;
	if (date.us == 0)
		date = date_at(v, "snippet.publishedAt");
	if (is_new(&y->videos, date, any_new) && !is_private)
		put_id(&y->video_ids, id);
	return true;
}

static void
answer_uploads(struct youtube_run *y, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	yyjson_val *list = yyjson_obj_get(answer->json, "items"), *v;
	size_t i, n, without = 0;
	bool any_new = false;

	if (!yyjson_is_arr(list) || yyjson_arr_size(list) >
	    YOUTUBE_VIDEOS_MAX) {
		seed_run_again(&y->seed, f, "no page of a list of videos");
		return;
	}
	if (is_repeated(y, &y->videos, answer->json,
	    "contentDetails.videoId", f))
		return;
	buf_clear(&y->video_ids);
	yyjson_arr_foreach(list, i, n, v)
		without += !read_upload(y, v, &any_new);
	if (without > 0)
		seed_run_warn(&y->seed, f, "uid_unknown_error",
		    ": %zu of %zu videos of a page have no id and are not "
		    "asked for", without, n);
	if (!move_on(y, &y->videos, answer->json, any_new, f))
		return;
	if (y->video_ids.n > 0)
		y->seed.step = YOUTUBE_VIDEOS;
	else
		leave_uploads(y, f);
}

static void
answer_videos(struct youtube_run *y, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	yyjson_val *list = yyjson_obj_get(answer->json, "items"), *v;
	bool comments = connector_param_bool(y->seed.run.order->options,
	    "comments");
	size_t i, n, found = 0;

	if (!yyjson_is_arr(list) || yyjson_arr_size(list) >
	    YOUTUBE_VIDEOS_MAX) {
		seed_run_again(&y->seed, f, "no list of videos");
		return;
	}
	y->seed.tries = 0;
	buf_clear(&y->video_ids);
	yyjson_arr_foreach(list, i, n, v) {
		struct str id = json_text(json_member(v, "id"));
		bool silent = str_eq(json_text(json_at(v,
		    "statistics.commentCount")), STR("0"));
		found += id.n > 0;
		if (comments && !silent &&
		    seed_run_is_word(id, YOUTUBE_ID_BYTES_MAX))
			put_id(&y->video_ids, id);
	}
	seed_run_count(&y->seed, f, found);
	if (y->video_ids.n == 0) {
		leave_uploads(y, f);
		return;
	}
	youtube_begin_list(y, &y->threads, youtube_first(&y->video_ids));
	y->seed.step = YOUTUBE_THREADS;
}

/* ---- Comments ---------------------------------------------------------- */

static void
count_comments(struct youtube_run *y, const struct connector_findings *f,
    size_t n)
{
	/* The limit of a channel is about its videos. */
	if (youtube_is_comments(y))
		seed_run_count(&y->seed, f, n);
	else if (n > 0)
		f->count(f->arg, YOUTUBE_COMMENTS_LABEL, n);
}

/* How many comments a thread shows; its replies are asked for where there are
 * more than that. */
static size_t
read_thread(struct youtube_run *y, yyjson_val *v, bool *any_new)
{
	yyjson_val *top = json_at(v, "snippet.topLevelComment");
	struct str id = json_text(json_member(top, "id"));
	size_t shown = yyjson_arr_size(json_at(v, "replies.comments"));
	uint64_t all = yyjson_get_uint(json_at(v, "snippet.totalReplyCount"));

	if (id.n == 0 || !is_new(&y->threads, date_at(top,
	    "snippet.publishedAt"), any_new))
		return 0;
	if (all <= shown || !is_comment_id(id))
		return 1 + shown;
	put_id(&y->comment_ids, id);
	return 1;
}

static void
answer_threads(struct youtube_run *y, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	yyjson_val *list = yyjson_obj_get(answer->json, "items"), *v;
	size_t i, n, found = 0;
	bool any_new = false;

	if (!yyjson_is_arr(list) || yyjson_arr_size(list) >
	    YOUTUBE_COMMENTS_MAX) {
		seed_run_again(&y->seed, f, "no page of comments");
		return;
	}
	if (is_repeated(y, &y->threads, answer->json,
	    "snippet.topLevelComment.id", f))
		return;
	buf_clear(&y->comment_ids);
	yyjson_arr_foreach(list, i, n, v)
		found += read_thread(y, v, &any_new);
	count_comments(y, f, found);
	if (!move_on(y, &y->threads, answer->json, any_new, f))
		return;
	cursor_begin(&y->replies);
	if (y->comment_ids.n > 0)
		y->seed.step = YOUTUBE_REPLIES;
	else
		leave_threads(y, f);
}

static void
answer_replies(struct youtube_run *y, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	yyjson_val *list = yyjson_obj_get(answer->json, "items"), *v;
	struct str next = json_text(yyjson_obj_get(answer->json,
	    "nextPageToken"));
	size_t i, n, found = 0;

	if (!yyjson_is_arr(list)) {
		seed_run_again(&y->seed, f, "no page of replies");
		return;
	}
	y->seed.tries = 0;
	yyjson_arr_foreach(list, i, n, v)
		found += json_text(json_member(v, "id")).n > 0;
	count_comments(y, f, found);
	if (next.n == 0)
		leave_comment(y, f);
	else if (!cursor_move(&y->replies, next))
		seed_run_fail(&y->seed, f, "unknown_error", " sent a page of "
		    "replies that leads back to an earlier one");
}

/* ---- Any --------------------------------------------------------------- */

/* A video that was given by its address. */
static void
note_video(struct youtube_run *y, const struct connector_findings *f)
{
	const struct connector_seed *s = seed_run_seed(&y->seed);

	if (y->threads.page.at.n == 0 && !str_eq(seed_run_name(&y->seed),
	    buf_str(&y->video_ids)))
		f->seed(f->arg, s, buf_str(&y->video_ids), STR_NONE);
}

void
youtube_answer(struct seed_run *r, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	struct youtube_run *y = (struct youtube_run *)r;

	if (answer->status >= 300) {
		answer_refusal(y, answer, f);
		return;
	}
	switch (r->step) {
	case YOUTUBE_CHANNEL:
		answer_channel(y, answer, f);
		return;
	case YOUTUBE_UPLOADS:
		answer_uploads(y, answer, f);
		return;
	case YOUTUBE_VIDEOS:
		answer_videos(y, answer, f);
		return;
	case YOUTUBE_THREADS:
		if (youtube_is_comments(y))
			note_video(y, f);
		answer_threads(y, answer, f);
		return;
	default:
		answer_replies(y, answer, f);
	}
}
