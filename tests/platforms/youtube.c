/*
 * YouTube's Data API v3: https://developers.google.com/youtube/v3/docs.
 *
 * Channels: @ada (many videos), @bob (a few, one of them with comments
 * disabled), @eve (none, and so no list of uploads either), @dora (terminated).
 * The third newest video of @ada has a long list of comments, and one of these
 * many replies.
 */
#include <stdlib.h>
#include <time.h>

#include "tests/platforms/platforms.h"

#define UNITS 10000u
#define DAY_US (24 * 60 * 60 * US_PER_S)
#define LONG_REPLIES 130u
#define SHOWN_REPLIES 5u

struct channel {
	char handle[64], id[25];
	const char *title;
	bool gone;
};

struct video {
	char id[12];
	unsigned channel;
	struct wall when;            /* published */
	uint64_t look;
	bool private, deleted, no_comments;
};

struct comment {
	char id[64];
	size_t video;
	size_t parent;               /* a comment's place; SIZE_MAX: none */
	struct wall when;
	uint64_t look;
};

static struct channel channels[] = {
	{ "ada", "", "Ada \xf0\x9f\x8e\xac", false },
	{ "bob", "", "Bob & <friends>", false },
	{ "eve", "", "Eve", false },
	{ "dora", "", "Dora", true },
};
static struct {
	char key[40];
	bool expired;
	uint64_t random;
	struct video *videos;        /* the oldest first, for each channel */
	size_t videos_n, videos_cap;
	struct comment *comments;    /* the oldest first, for each video */
	size_t comments_n, comments_cap;
} world;

/* ---- Making ------------------------------------------------------------ */

static void
put_comment(size_t video, size_t parent, struct wall when)
{
	world.comments = mem_room(world.comments, world.comments_n,
	    &world.comments_cap, 1024, sizeof(*world.comments));
	struct comment *c = &world.comments[world.comments_n++];
	char word[32];

	*c = (struct comment){ .video = video, .parent = parent, .when = when,
		.look = random_next(&world.random) };
	world_word(&world.random, word, 22);
	snprintf(c->id, sizeof(c->id), parent == SIZE_MAX ? "Ug%.24s" :
	    "%.30s.%s", parent == SIZE_MAX ? word : world.comments[parent].id,
	    word);
}

static void
put_video(unsigned channel, struct wall when)
{
	world.videos = mem_room(world.videos, world.videos_n,
	    &world.videos_cap, 1024, sizeof(*world.videos));
	struct video *v = &world.videos[world.videos_n++];

	*v = (struct video){ .channel = channel, .when = when,
		.look = random_next(&world.random),
		.private = random_chance(&world.random, 2),
		.deleted = random_chance(&world.random, 3) };
	v->when.us -= v->when.us % US_PER_S;
	world_word(&world.random, v->id, 11);
}

/* Threads of a video, each with up to three replies, the middle one with as
 * many as that. */
static void
put_threads(size_t video, size_t n, size_t replies)
{
	struct wall when = world.videos[video].when;

	for (size_t i = 0; i < n; i++) {
		when.us += US_PER_S * (int64_t)(1 + random_next(
		    &world.random) % 60);
		put_comment(video, SIZE_MAX, when);
		size_t parent = world.comments_n - 1;
		size_t more = i == n / 2 && replies > 0 ? replies :
		    random_next(&world.random) % 8 / 2;
		for (size_t k = 0; k < more; k++)
			put_comment(video, parent, (struct wall){ when.us +
			    (int64_t)(k + 1) * US_PER_S });
	}
}

static void
make(uint64_t seed, struct wall now, unsigned items)
{
	const unsigned counts[] = { items, MAX(items / 20, 4), 0, 3 };

	world.random = seed ^ 0x59545942;
	world_word(&world.random, world.key, 39);
	for (unsigned c = 0; c < ARRAY_LEN(channels); c++) {
		memcpy(channels[c].id, "UC", 2);
		world_word(&world.random, channels[c].id + 2, 22);
		for (unsigned i = 0; i < counts[c]; i++)
			put_video(c, (struct wall){ now.us - (int64_t)
			    (counts[c] - i) * DAY_US / 3 });
	}
	for (size_t v = 0; v < world.videos_n; v++) {
		bool is_long = v + 3 == counts[0];
		if (v + 1 == counts[0] + counts[1])
			world.videos[v].no_comments = true;
		if (is_long || v + 1 == counts[0] + counts[1])
			world.videos[v].private = world.videos[v].deleted =
			    false;
		put_threads(v, is_long ? items / 2 + 1 : v % 4,
		    is_long ? LONG_REPLIES : 0);
	}
}

/* ---- Finding ----------------------------------------------------------- */

static struct channel *
channel_by(struct str id, struct str handle)
{
	(void)str_take_char(&handle, '@');
	for (size_t i = 0; i < ARRAY_LEN(channels); i++)
		if (str_eq(id, str_of(channels[i].id)) || (handle.n > 0 &&
		    str_eq_nocase(handle, str_of(channels[i].handle))))
			return &channels[i];
	return NULL;
}

static struct video *
video_by(struct str id)
{
	for (size_t i = 0; i < world.videos_n; i++)
		if (str_eq(id, str_of(world.videos[i].id)))
			return &world.videos[i];
	return NULL;
}

/* Whether everybody may see it. */
static bool
is_public(const struct video *v)
{
	return v != NULL && !v->private && !v->deleted &&
	    !channels[v->channel].gone;
}

static size_t
count_comments(size_t video, size_t parent, bool any)
{
	size_t n = 0;

	for (size_t i = 0; i < world.comments_n; i++)
		n += world.comments[i].video == video &&
		    (any || world.comments[i].parent == parent);
	return n;
}

/* ---- Answers ----------------------------------------------------------- */

static void
fail_with(struct request *r, int status, const char *reason,
    const char *message)
{
	r->status = status;
	buf_clear(&r->out);
	json_object(&r->out, NULL);
	json_object(&r->out, "error");
	json_u64(&r->out, "code", (uint64_t)status);
	json_str(&r->out, "message", str_of(message));
	json_array(&r->out, "errors");
	json_object(&r->out, NULL);
	json_str(&r->out, "message", str_of(message));
	json_str(&r->out, "domain", STR("youtube"));
	json_str(&r->out, "reason", str_of(reason));
	buf_put_text(&r->out, "}]}}");
}

static void
put_date(struct buf *b, const char *name, struct wall when)
{
	char iso[WALL_ISO_MAX];

	wall_to_iso(when, iso);
	snprintf(iso + 19, sizeof(iso) - 19, "Z");
	json_str(b, name, str_of(iso));
}

/* The head of a list, up to its "items". */
static void
begin_list(struct request *r, const char *kind, size_t all, size_t most,
    const struct slice *s)
{
	struct buf *b = &r->out;

	r->status = 200;
	json_object(b, NULL);
	json_format(b, "kind", "youtube#%s", kind);
	json_format(b, "etag", "e%llu", (unsigned long long)r->n);
	if (s != NULL && s->next < all)
		json_format(b, "nextPageToken", "C%zxQ", s->next);
	json_object(b, "pageInfo");
	json_u64(b, "totalResults", all);
	json_u64(b, "resultsPerPage", most);
	buf_put_char(b, '}');
}

/* The place that a page's token names. */
static bool
read_token(struct request *r, size_t *at)
{
	struct str token;
	char *end;

	*at = 0;
	if (!request_param(r, "pageToken", &token))
		return true;
	if (!str_starts(token, STR("C")) || !str_ends(token, STR("Q"))) {
		fail_with(r, 400, "invalidPageToken", "The page token is not "
		    "valid.");
		return false;
	}
	*at = strtoull(arena_copy(&r->arena, str_cut(token, 1,
	    token.n - 1)).p, &end, 16);
	return true;
}

static size_t
most_of(struct request *r, unsigned usual, unsigned most)
{
	return MIN(MAX(request_number(r, "maxResults", usual), 1), most);
}

/* ---- channels.list ----------------------------------------------------- */

static void
write_channel(struct buf *b, const struct channel *c)
{
	json_object(b, NULL);
	json_str(b, "kind", STR("youtube#channel"));
	json_str(b, "id", str_of(c->id));
	json_object(b, "snippet");
	json_str(b, "title", str_of(c->title));
	json_format(b, "customUrl", "@%s", c->handle);
	json_str(b, "publishedAt", STR("2015-03-02T10:11:12Z"));
	buf_put_char(b, '}');
	json_object(b, "contentDetails");
	json_object(b, "relatedPlaylists");
	json_str(b, "likes", STR(""));
	json_format(b, "uploads", "UU%s", c->id + 2);
	buf_put_text(b, "}}");
	json_object(b, "statistics");
	json_str(b, "viewCount", STR("18446744073709551615"));
	json_str(b, "subscriberCount", STR("1200"));
	json_bool(b, "hiddenSubscriberCount", false);
	buf_put_text(b, "}}");
}

static void
answer_channels(struct request *r)
{
	struct str id = STR_NONE, handle = STR_NONE;

	(void)request_param(r, "id", &id);
	(void)request_param(r, "forHandle", &handle);
	const struct channel *c = channel_by(id, handle);
	if (c == NULL || c->gone) {
		/* Without a match there is no list. */
		begin_list(r, "channelListResponse", 0, 5, NULL);
		buf_put_char(&r->out, '}');
		return;
	}
	begin_list(r, "channelListResponse", 1, 5, NULL);
	json_array(&r->out, "items");
	write_channel(&r->out, c);
	buf_put_text(&r->out, "]}");
}

/* ---- playlistItems.list ------------------------------------------------ */

static void
write_upload(struct buf *b, const struct video *v, uint64_t big)
{
	json_object(b, NULL);
	json_str(b, "kind", STR("youtube#playlistItem"));
	json_format(b, "id", "UU.%s", v->id);
	json_object(b, "snippet");
	put_date(b, "publishedAt", v->when);
	if (v->private)
		json_str(b, "title", STR("Private video"));
	else
		json_phrases(b, "title", v->look, big);
	json_object(b, "resourceId");
	json_str(b, "videoId", str_of(v->id));
	buf_put_text(b, "}}");
	json_object(b, "contentDetails");
	json_str(b, "videoId", str_of(v->id));
	if (!v->private)
		put_date(b, "videoPublishedAt", v->when);
	buf_put_char(b, '}');
	json_object(b, "status");
	json_str(b, "privacyStatus", v->private ? STR("private") :
	    STR("public"));
	buf_put_text(b, "}}");
}

static void
answer_uploads(struct request *r)
{
	struct str list = STR_NONE;
	size_t at, most = most_of(r, 5, 50), all = 0;
	const struct video **found;
	struct slice s;

	(void)request_param(r, "playlistId", &list);
	const struct channel *c = channel_by(arena_printf(&r->arena, "UC%.*s",
	    STR_FMT(str_from(list, 2))), STR_NONE);
	found = ARENA_ARRAY(&r->arena, const struct video *, world.videos_n);
	for (size_t i = world.videos_n; c != NULL && !c->gone && i-- > 0;)
		if (&channels[world.videos[i].channel] == c &&
		    !world.videos[i].deleted)
			found[all++] = &world.videos[i];
	if (all == 0) {
		fail_with(r, 404, "playlistNotFound", "The playlist identified"
		    " with the request's playlistId parameter cannot be "
		    "found.");
		return;
	}
	if (!read_token(r, &at))
		return;
	slice_cut(&r->fault, all, at, most, &s);
	begin_list(r, "playlistItemListResponse", all, most, &s);
	json_array(&r->out, "items");
	for (size_t i = 0; i < s.n; i++)
		write_upload(&r->out, found[slice_place(&s, i)],
		    i == 0 ? r->fault.big : 0);
	buf_put_text(&r->out, "]}");
}

/* ---- videos.list ------------------------------------------------------- */

static void
write_video(struct buf *b, const struct video *v, uint64_t big)
{
	const struct channel *c = &channels[v->channel];

	json_object(b, NULL);
	json_str(b, "kind", STR("youtube#video"));
	json_str(b, "id", str_of(v->id));
	json_object(b, "snippet");
	put_date(b, "publishedAt", v->when);
	json_str(b, "channelId", str_of(c->id));
	json_phrases(b, "title", v->look, 0);
	json_phrases(b, "description", v->look + 1, big);
	json_str(b, "channelTitle", str_of(c->title));
	json_array(b, "tags");
	json_item(b, STR("birds"));
	buf_put_char(b, ']');
	json_str(b, "categoryId", STR("15"));
	buf_put_char(b, '}');
	json_object(b, "contentDetails");
	json_format(b, "duration", "PT%uM%uS", (unsigned)(v->look % 60),
	    (unsigned)(v->look % 59));
	json_str(b, "definition", STR("hd"));
	json_str(b, "caption", STR("false"));
	buf_put_char(b, '}');
	json_object(b, "status");
	json_str(b, "privacyStatus", STR("public"));
	json_str(b, "license", STR("creativeCommon"));
	buf_put_char(b, '}');
	json_object(b, "statistics");
	json_format(b, "viewCount", "%llu", (unsigned long long)v->look);
	json_format(b, "likeCount", "%u", (unsigned)(v->look % 1000));
	if (!v->no_comments)
		json_format(b, "commentCount", "%zu", count_comments((size_t)
		    (v - world.videos), 0, true));
	buf_put_char(b, '}');
	json_object(b, "topicDetails");
	json_array(b, "topicCategories");
	json_item(b, STR("https://en.wikipedia.org/wiki/Bird"));
	buf_put_text(b, "]}}");
}

static void
answer_videos(struct request *r)
{
	struct str ids = STR_NONE, id;
	size_t n = 0;

	(void)request_param(r, "id", &ids);
	begin_list(r, "videoListResponse", 0, 50, NULL);
	json_array(&r->out, "items");
	while (n < 50 && str_split(&ids, ',', &id)) {
		const struct video *v = video_by(id);
		if (is_public(v))
			write_video(&r->out, v, n++ == 0 ? r->fault.big : 0);
	}
	buf_put_text(&r->out, "]}");
}

/* ---- commentThreads.list, comments.list -------------------------------- */

static void
write_comment(struct buf *b, const char *name, const struct comment *c,
    bool with_video, uint64_t big)
{
	json_object(b, name);
	json_str(b, "kind", STR("youtube#comment"));
	json_str(b, "id", str_of(c->id));
	json_object(b, "snippet");
	if (with_video)
		json_str(b, "videoId", str_of(world.videos[c->video].id));
	json_phrases(b, "textDisplay", c->look, big);
	json_phrases(b, "textOriginal", c->look, 0);
	json_format(b, "authorDisplayName", "@fan%u", (unsigned)(c->look %
	    90));
	json_object(b, "authorChannelId");
	json_format(b, "value", "UCfan%u", (unsigned)(c->look % 90));
	buf_put_char(b, '}');
	if (c->parent != SIZE_MAX)
		json_str(b, "parentId",
		    str_of(world.comments[c->parent].id));
	json_u64(b, "likeCount", c->look % 40);
	put_date(b, "publishedAt", c->when);
	put_date(b, "updatedAt", c->when);
	buf_put_text(b, "}}");
}

static void
write_thread(struct buf *b, size_t place, uint64_t big)
{
	const struct comment *c = &world.comments[place];
	size_t all = count_comments(c->video, place, false), shown = 0;

	json_object(b, NULL);
	json_str(b, "kind", STR("youtube#commentThread"));
	json_str(b, "id", str_of(c->id));
	json_object(b, "snippet");
	json_str(b, "videoId", str_of(world.videos[c->video].id));
	write_comment(b, "topLevelComment", c, true, big);
	json_bool(b, "canReply", false);
	json_u64(b, "totalReplyCount", all);
	json_bool(b, "isPublic", true);
	buf_put_char(b, '}');
	if (all > 0) {
		json_object(b, "replies");
		json_array(b, "comments");
		for (size_t i = place; shown < MIN(all, SHOWN_REPLIES); i++)
			if (world.comments[i].parent == place) {
				write_comment(b, NULL, &world.comments[i],
				    true, 0);
				shown++;
			}
		buf_put_text(b, "]}");
	}
	buf_put_char(b, '}');
}

/* Comments of a video below that one, the newest first; or its threads. */
static void
answer_comments(struct request *r, size_t video, size_t parent)
{
	size_t at, most = most_of(r, 20, 100), all = 0;
	bool threads = parent == SIZE_MAX;
	size_t *found = ARENA_ARRAY(&r->arena, size_t, world.comments_n);
	struct slice s;

	for (size_t i = world.comments_n; i-- > 0;)
		if (world.comments[i].video == video &&
		    world.comments[i].parent == parent)
			found[all++] = i;
	if (!read_token(r, &at))
		return;
	slice_cut(&r->fault, all, at, most, &s);
	begin_list(r, threads ? "commentThreadListResponse" :
	    "commentListResponse", all, most, &s);
	json_array(&r->out, "items");
	for (size_t i = 0; i < s.n; i++) {
		size_t place = found[slice_place(&s, i)];
		if (threads)
			write_thread(&r->out, place, i == 0 ? r->fault.big :
			    0);
		else
			write_comment(&r->out, NULL, &world.comments[place],
			    false, i == 0 ? r->fault.big : 0);
	}
	buf_put_text(&r->out, "]}");
}

static void
answer_threads(struct request *r)
{
	struct str id = STR_NONE;

	(void)request_param(r, "videoId", &id);
	const struct video *v = video_by(id);
	if (!is_public(v))
		fail_with(r, 404, "videoNotFound", "The video identified by "
		    "the videoId parameter could not be found.");
	else if (v->no_comments)
		fail_with(r, 403, "commentsDisabled", "The video identified by"
		    " the videoId parameter has disabled comments.");
	else
		answer_comments(r, (size_t)(v - world.videos), SIZE_MAX);
}

static void
answer_replies(struct request *r)
{
	struct str id = STR_NONE;

	(void)request_param(r, "parentId", &id);
	for (size_t i = 0; i < world.comments_n; i++)
		if (str_eq(id, str_of(world.comments[i].id))) {
			answer_comments(r, world.comments[i].video, i);
			return;
		}
	fail_with(r, 404, "commentNotFound", "One or more of the specified "
	    "comments cannot be found.");
}

/* ---- Calls, credentials, budgets, faults ------------------------------- */

static void
answer_call(struct request *r)
{
	static const struct {
		const char *name;
		void (*answer)(struct request *);
	} calls[] = {
		{ "channels", answer_channels },
		{ "playlistItems", answer_uploads },
		{ "videos", answer_videos },
		{ "commentThreads", answer_threads },
		{ "comments", answer_replies },
	};
	struct str path = r->head.path, api = STR("/youtube/v3/");

	if (!str_starts(path, api) ||
	    !str_eq(r->head.method, STR("GET")))
		return;
	path = str_from(path, api.n);
	size_t i = STR_ROW(path, calls);
	if (i < ARRAY_LEN(calls))
		calls[i].answer(r);
}

/* The next midnight of Los Angeles, by the system's idea of its zone. */
static int64_t
next_midnight(struct wall now)
{
	time_t t = (time_t)wall_s(now);
	struct tm tm;

	setenv("TZ", "PST8PDT,M3.2.0,M11.1.0", 1);
	tzset();
	localtime_r(&t, &tm);
	tm.tm_mday++;
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_isdst = -1;
	return (int64_t)mktime(&tm);
}

static void
change_by_plan(const struct fault *f)
{
	struct channel *renamed = channel_by(STR_NONE, f->rename);
	struct channel *gone = channel_by(STR_NONE, f->suspend);

	world.expired |= f->expire;
	if (renamed != NULL)
		snprintf(renamed->handle, sizeof(renamed->handle), "%.*s",
		    STR_FMT(f->rename_to));
	if (gone != NULL)
		gone->gone = true;
}

static const char *
reason_of(int status)
{
	return status == 429 ? "rateLimitExceeded" : status >= 500 ?
	    "backendError" : status == 404 ? "notFound" : status == 403 ?
	    "forbidden" : "badRequest";
}

static void
answer(struct request *r)
{
	struct str key = STR_NONE;
	struct budget budget;

	(void)request_param(r, "key", &key);
	r->who = key.p == NULL ? "nobody" : str_eq(key, str_of(world.key)) ?
	    "key" : "stranger";
	change_by_plan(&r->fault);
	budget_take_until(arena_printf(&r->arena, "youtube %.*s",
	    STR_FMT(key)), UNITS, next_midnight(r->now), &budget);
	if (r->fault.status != 0) {
		if (r->fault.retry_after.n > 0)
			buf_printf(&r->fields, "Retry-After: %.*s\r\n",
			    STR_FMT(r->fault.retry_after));
		fail_with(r, r->fault.status, reason_of(r->fault.status),
		    "so the plan says");
	} else if (key.p == NULL) {
		fail_with(r, 403, "forbidden", "Method doesn't allow "
		    "unregistered callers.");
	} else if (world.expired || !str_eq(key, str_of(world.key))) {
		fail_with(r, 400, "keyInvalid", "API key not valid. Please "
		    "pass a valid API key.");
	} else if (budget.exceeded) {
		fail_with(r, 403, "quotaExceeded", "The request cannot be "
		    "completed because you have exceeded your quota.");
	} else {
		answer_call(r);
	}
}

/* ---- For tests --------------------------------------------------------- */

static void
describe_videos(struct buf *out, const char *name, unsigned channel,
    bool private)
{
	json_array(out, name);
	for (size_t i = world.videos_n; i-- > 0;) {
		const struct video *v = &world.videos[i];
		if (v->channel == channel && !v->deleted &&
		    v->private == private)
			json_item(out, str_of(v->id));
	}
	buf_put_char(out, ']');
}

static void
describe_comments(struct buf *out, size_t video)
{
	json_array(out, world.videos[video].id);
	for (size_t i = 0; i < world.comments_n; i++)
		if (world.comments[i].video == video)
			json_item(out, str_of(world.comments[i].id));
	buf_put_char(out, ']');
}

static void
describe(struct str host, struct buf *out)
{
	(void)host;
	json_object(out, NULL);
	json_str(out, "key", str_of(world.key));
	json_array(out, "channels");
	for (unsigned i = 0; i < ARRAY_LEN(channels); i++) {
		json_object(out, NULL);
		json_str(out, "handle", str_of(channels[i].handle));
		json_str(out, "id", str_of(channels[i].id));
		json_bool(out, "gone", channels[i].gone);
		describe_videos(out, "videos", i, false);
		describe_videos(out, "private", i, true);
		buf_put_char(out, '}');
	}
	buf_put_char(out, ']');
	json_object(out, "comments");
	for (size_t i = 0; i < world.videos_n; i++)
		if (is_public(&world.videos[i]) &&
		    !world.videos[i].no_comments)
			describe_comments(out, i);
	buf_put_text(out, "}}\n");
}

static void
add_videos(unsigned channel, uint64_t n)
{
	for (; n > 0; n--) {
		put_video(channel, clock_wall());
		struct video *v = &world.videos[world.videos_n - 1];
		v->private = v->deleted = false;
	}
}

static bool
change(struct str host, yyjson_val *what, char sentence[static 200])
{
	yyjson_val *add = yyjson_obj_get(what, "add");
	yyjson_val *comment = yyjson_obj_get(what, "comment");
	yyjson_val *rename = yyjson_obj_get(what, "rename");
	struct channel *c = channel_by(STR_NONE, json_text(yyjson_obj_get(add,
	    "account")));
	struct video *v = video_by(json_text(yyjson_obj_get(comment,
	    "video")));
	struct video *gone = video_by(json_text(yyjson_obj_get(what,
	    "delete")));
	const struct fault f = { .suspend = json_text(yyjson_obj_get(what,
	    "suspend")), .rename = json_text(yyjson_obj_get(rename,
	    "account")), .rename_to = json_text(yyjson_obj_get(rename,
	    "to")) };

	(void)host;
	snprintf(sentence, 200, "there is no such channel or video");
	if (c != NULL)
		add_videos((unsigned)(c - channels),
		    yyjson_get_uint(yyjson_obj_get(add, "n")));
	for (uint64_t n = v == NULL ? 0 : yyjson_get_uint(yyjson_obj_get(
	    comment, "n")); n > 0; n--)
		put_comment((size_t)(v - world.videos), SIZE_MAX,
		    clock_wall());
	if (gone != NULL)
		gone->deleted = true;
	change_by_plan(&f);
	return c != NULL || v != NULL || gone != NULL || f.rename.n > 0 ||
	    f.suspend.n > 0;
}

static const char *const hosts[] = { "www.googleapis.com", NULL };

const struct platform youtube_platform = { .name = "youtube", .hosts = hosts,
	.make = make, .answer = answer, .describe = describe,
	.change = change };
