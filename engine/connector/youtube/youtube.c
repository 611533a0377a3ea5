/* The rows of the table, a run's beginning and end, and its calls. */
#include "engine/connector/youtube/youtube.h"

#include "engine/connector/url_text.h"
#include "engine/connector/youtube/youtube_own.h"

#define API "https://www.googleapis.com/youtube/v3/"

static const int statuses[] = { 400, 401, 403, 404, 0 };
static const struct connector_rate rates[] = { { 10000, 0, false }, { 0 } };

bool
youtube_is_comments(const struct youtube_run *y)
{
	return y->seed.run.order->connector == &youtube_comments;
}

/* ---- Seeds ------------------------------------------------------------- */

static bool
is_host(struct str host)
{
	static const char *const hosts[] = { "youtube.com", "www.youtube.com",
		"m.youtube.com", "music.youtube.com",
		"www.youtube-nocookie.com" };

	return STR_ROW_NOCASE(host, hosts) < ARRAY_LEN(hosts);
}

/* What follows one of these in a path, up to the next slash. */
static struct str
id_of_path(struct str path)
{
	static const char *const folders[] = { "/shorts/", "/live/",
		"/embed/", "/v/" };

	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		if (str_starts(path, str_of(folders[i])))
			return str_from(path, strlen(folders[i]));
	return STR_NONE;
}

bool
youtube_video_id(struct str given, struct buf *id)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	size_t scheme = str_starts_nocase(given, STR("https://")) ? 8 :
	    str_starts_nocase(given, STR("http://")) ? 7 : 0;
	struct str url = str_from(given, scheme), found = STR_NONE;
	size_t n = str_find_char(url, '/');
	struct str host = str_cut(url, 0, n), path = str_from(url, n);

	if (seed_run_is_word(given, YOUTUBE_ID_BYTES_MAX))
		found = given;
	else if (str_eq_nocase(host, STR("youtu.be")))
		found = str_from(path, 1);
	else if (is_host(host) && str_starts(path, STR("/watch?")))
		(void)url_text_find(path, "v", &a, &found);
	else if (is_host(host))
		found = id_of_path(path);
	for (const char *end = "/?#&"; *end != '\0'; end++)
		found = str_cut(found, 0, str_find_char(found, *end));
	if (!seed_run_is_word(found, YOUTUBE_ID_BYTES_MAX))
		return false;
	buf_clear(id);
	buf_put_str(id, found);
	return true;
}

static enum err
check_seed(const struct youtube_run *y, const struct connector_seed *s,
    const char *field, struct why *w)
{
	FREED(buf_free) struct buf id = BUF_INIT;

	if (youtube_is_comments(y))
		return youtube_video_id(s->uid.n > 0 ? s->uid : s->token,
		    &id) ? OK : why_field(w, ERR_INPUT, field,
		    "it is no id and no address of a video");
	if (s->uid.n > 0 && !seed_run_is_word(s->uid, YOUTUBE_ID_BYTES_MAX))
		return why_field(w, ERR_INPUT, field,
		    "it is not a channel's id");
	return OK;
}

static enum err
check(struct seed_run *r, struct why *w)
{
	const struct connector_order *o = r->run.order;
	char field[48];

	for (size_t i = 0; i < o->seeds_n; i++) {
		snprintf(field, sizeof(field), "seeds[%zu].%s", i,
		    o->seeds[i].uid.n > 0 ? "uid" : "token");
		enum err e = check_seed((struct youtube_run *)r, &o->seeds[i],
		    field, w);
		if (e != OK)
			return e;
	}
	return OK;
}

/* ---- Lists ------------------------------------------------------------- */

void
youtube_state_key(struct str id, struct buf *key)
{
	buf_put_str(key, id);
	buf_put_text(key, ".since");
}

void
youtube_begin_list(struct youtube_run *y, struct youtube_list *l,
    struct str id)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	const struct connector_order *o = y->seed.run.order;

	cursor_begin(&l->page);
	l->has_more = l->begun_anew = false;
	l->newest = l->since = (struct wall){ 0 };
	l->ids = 0;
	if (!connector_param_bool(o->options, "incremental"))
		return;
	youtube_state_key(id, &key);
	if (!wall_from_iso(connector_state_find(o, buf_str(&key)), &l->since))
		l->since = (struct wall){ 0 };
}

struct str
youtube_first(const struct buf *ids)
{
	return str_cut(buf_str(ids), 0, str_find_char(buf_str(ids), ','));
}

static void
begin_channel(struct seed_run *r)
{
	struct youtube_run *y = (struct youtube_run *)r;

	buf_clear(&y->channel);
	buf_clear(&y->uploads);
	buf_clear(&y->video_ids);
	buf_clear(&y->comment_ids);
	r->step = YOUTUBE_CHANNEL;
}

static void
begin_comments(struct seed_run *r)
{
	struct youtube_run *y = (struct youtube_run *)r;

	begin_channel(r);
	CHECK(youtube_video_id(seed_run_name(r), &y->video_ids));
	youtube_begin_list(y, &y->threads, buf_str(&y->video_ids));
	r->step = YOUTUBE_THREADS;
}

/* ---- Calls ------------------------------------------------------------- */

static void
put_page(struct buf *url, const char *most, const struct cursor *c)
{
	url_text_param(url, "maxResults", str_of(most));
	if (c->at.n > 0)
		url_text_param(url, "pageToken", buf_str(&c->at));
}

static void
put_channel(struct youtube_run *y, struct buf *url)
{
	const struct connector_seed *s = seed_run_seed(&y->seed);

	buf_put_text(url, API "channels?part=snippet,contentDetails,"
	    "statistics");
	url_text_param(url, s->uid.n > 0 ? "id" : "forHandle",
	    seed_run_name(&y->seed));
}

static void
put_comments(struct youtube_run *y, struct buf *url)
{
	if (y->seed.step == YOUTUBE_THREADS) {
		buf_put_text(url, API "commentThreads?part=snippet,replies");
		url_text_param(url, "videoId", youtube_first(&y->video_ids));
		url_text_param(url, "order", STR("time"));
	} else {
		buf_put_text(url, API "comments?part=snippet");
		url_text_param(url, "parentId",
		    youtube_first(&y->comment_ids));
	}
	url_text_param(url, "textFormat", STR("plainText"));
	put_page(url, "100", y->seed.step == YOUTUBE_THREADS ?
	    &y->threads.page : &y->replies);
}

static void
put_call(struct seed_run *r, struct connector_call *call)
{
	struct youtube_run *y = (struct youtube_run *)r;
	struct buf *url = &r->url;

	if (r->step == YOUTUBE_CHANNEL) {
		put_channel(y, url);
	} else if (r->step == YOUTUBE_UPLOADS) {
		buf_put_text(url, API "playlistItems?part=snippet,"
		    "contentDetails,status");
		url_text_param(url, "playlistId", buf_str(&y->uploads));
		put_page(url, "50", &y->videos.page);
	} else if (r->step == YOUTUBE_VIDEOS) {
		/* Ids need no escapes, and the commas none. */
		buf_put_text(url, API "videos?part=snippet,contentDetails,"
		    "statistics,status,topicDetails&id=");
		buf_put_str(url, buf_str(&y->video_ids));
	} else {
		put_comments(y, url);
	}
	call->auth = CONNECTOR_QUERY;
	call->secret = call->secret_name = "key";
	call->budget = "units";
	call->cost = 1;
	call->rates = rates;
	call->statuses = statuses;
}

/* ---- What is saved ----------------------------------------------------- */

static void
save_list(const struct youtube_list *l, struct buf *out)
{
	cursor_save(&l->page, out);
	buf_put_char(out, (char)(l->has_more | l->begun_anew << 1));
	buf_put_be64(out, (uint64_t)l->since.us);
	buf_put_be64(out, (uint64_t)l->newest.us);
	buf_put_be64(out, l->ids);
}

static bool
load_list(struct youtube_list *l, struct reader *in)
{
	if (!cursor_load(&l->page, in))
		return false;
	uint8_t flags = read_u8(in);
	l->has_more = (flags & 1) != 0;
	l->begun_anew = (flags & 2) != 0;
	l->since.us = (int64_t)read_be64(in);
	l->newest.us = (int64_t)read_be64(in);
	l->ids = read_be64(in);
	return flags <= 3;
}

static void
save(const struct seed_run *r, struct buf *out)
{
	const struct youtube_run *y = (const struct youtube_run *)r;

	buf_put_field(out, buf_str(&y->channel));
	buf_put_field(out, buf_str(&y->uploads));
	save_list(&y->videos, out);
	buf_put_field(out, buf_str(&y->video_ids));
	save_list(&y->threads, out);
	buf_put_field(out, buf_str(&y->comment_ids));
	cursor_save(&y->replies, out);
}

/* "a,b" of at most `most` ids; or "". */
static bool
load_ids(struct buf *ids, struct reader *in, size_t most)
{
	struct str saved = read_field(in), rest = saved, id;
	size_t n = 0;

	while (saved.n > 0 && str_split(&rest, ',', &id))
		if (id.n == 0 || id.n > YOUTUBE_COMMENT_BYTES_MAX ||
		    ++n > most)
			return false;
	buf_clear(ids);
	buf_put_str(ids, saved);
	return true;
}

static bool
load(struct seed_run *r, struct reader *in)
{
	struct youtube_run *y = (struct youtube_run *)r;

	if (!load_ids(&y->channel, in, 1) || !load_ids(&y->uploads, in, 1) ||
	    !load_list(&y->videos, in) ||
	    !load_ids(&y->video_ids, in, YOUTUBE_VIDEOS_MAX) ||
	    !load_list(&y->threads, in) ||
	    !load_ids(&y->comment_ids, in, YOUTUBE_COMMENTS_MAX) ||
	    !cursor_load(&y->replies, in))
		return false;
	switch (r->step) {
	case YOUTUBE_CHANNEL:
		return !youtube_is_comments(y);
	case YOUTUBE_UPLOADS:
		return y->uploads.n > 0;
	case YOUTUBE_VIDEOS:
		return y->uploads.n > 0 && y->video_ids.n > 0;
	case YOUTUBE_THREADS:
		return y->video_ids.n > 0;
	case YOUTUBE_REPLIES:
		return y->video_ids.n > 0 && y->comment_ids.n > 0;
	default:
		return true;
	}
}

static void
free_run(struct seed_run *r)
{
	struct youtube_run *y = (struct youtube_run *)r;

	buf_free(&y->channel);
	buf_free(&y->uploads);
	buf_free(&y->video_ids);
	buf_free(&y->comment_ids);
	cursor_free(&y->videos.page);
	cursor_free(&y->threads.page);
	cursor_free(&y->replies);
}

/* ---- The rows ---------------------------------------------------------- */

#define KIND_FUNCTIONS                                                       \
	.steps_n = YOUTUBE_STEPS_N, .bytes = sizeof(struct youtube_run),     \
	.check = check, .call = put_call, .answer = youtube_answer,          \
	.save = save, .load = load, .free = free_run

static const struct seed_run_kind channel_kind = {
	.service = "YouTube", .seed = "channel", .items = "videos",
	.begin = begin_channel, KIND_FUNCTIONS
};

static const struct seed_run_kind comments_kind = {
	.service = "YouTube", .seed = "video", .items = "comments",
	.begin = begin_comments, KIND_FUNCTIONS
};

static enum err
open_channel(const struct connector_order *o, struct connector_run **out,
    struct why *w)
{
	return seed_run_open(&channel_kind, o, out, w);
}

static enum err
open_comments(const struct connector_order *o, struct connector_run **out,
    struct why *w)
{
	return seed_run_open(&comments_kind, o, out, w);
}

static const struct connector_param channel_params[] = {
	SEED_RUN_PARAMS("videos"),
	{ "comments", CONNECTOR_BOOL, false, 0, 0, NULL,
	    "Ask for the comments on these videos, too" },
	{ .name = NULL },
};

static const struct connector_param comments_params[] = {
	SEED_RUN_PARAMS("comments"),
	{ .name = NULL },
};

static const struct connector_key credential[] = {
	{ "key", true, true, "Key of an application, for the YouTube Data API "
	    "v3" },
	{ .name = NULL },
};

static const char *const hosts[] = { "www.googleapis.com", NULL };

const struct connector youtube_channel = {
	.type = "youtube_channel", .platform = "youtube",
	.label = YOUTUBE_VIDEOS_LABEL, .title = "YouTube channels",
	.help = "Descriptions and counts of the videos of channels.",
	.kind = CONNECTOR_BATCH, .params = channel_params,
	.seeds = { 1, SIZE_MAX, "handle of the channel, @name",
	    "id of the channel", NULL },
	.credential = credential, .hosts = hosts,
	.open = open_channel, SEED_RUN_FUNCTIONS
};

const struct connector youtube_comments = {
	.type = "youtube_comments", .platform = "youtube",
	.label = YOUTUBE_COMMENTS_LABEL, .title = "YouTube comments",
	.help = "Comments on videos, and the replies to them.",
	.kind = CONNECTOR_BATCH, .params = comments_params,
	.seeds = { 1, SIZE_MAX, "id or address of the video",
	    "id of the video", NULL },
	.credential = credential, .hosts = hosts,
	.open = open_comments, SEED_RUN_FUNCTIONS
};
