/*
 * Entities of Twitter's API v2, with the fields and expansions that a request
 * names: https://docs.x.com/x-api/fundamentals/data-dictionary.
 */
#include "tests/platforms/twitter.h"

static const char *const list_names[] = { "expansions", "tweet.fields",
	"user.fields", "media.fields", "poll.fields", "place.fields" };

/* Of a request: the lists of names in its parameters. */
struct lists {
	struct str list[ARRAY_LEN(list_names)];
};

void
twitter2_read_lists(struct request *r)
{
	struct lists *l = ARENA_NEW(&r->arena, struct lists);

	for (size_t i = 0; i < ARRAY_LEN(list_names); i++)
		if (!request_param(r, list_names[i], &l->list[i]))
			l->list[i] = STR_NONE;
	r->stream_data = l;
}

/* Whether the list in a parameter has this name. */
static bool
wants(struct request *r, const char *parameter, const char *name)
{
	const struct lists *l = r->stream_data;
	struct str list = l->list[STR_ROW(str_of(parameter), list_names)], one;

	while (str_split(&list, ',', &one))
		if (str_eq(one, str_of(name)))
			return true;
	return false;
}

/* What is included once, however often it is referred to. */
struct included {
	const struct tweet *tweets[TWEETS_MAX];
	const struct tweet *media[TWEETS_MAX];       /* that have them */
	const struct tweet *polls[TWEETS_MAX];
	bool accounts[64];           /* by their place */
	size_t tweets_n, media_n, polls_n;
	bool place;
	uint64_t missing[TWEETS_MAX];        /* ids of tweets that are gone */
	size_t missing_n;
};

/* ---- Accounts ---------------------------------------------------------- */

static void
put_user_metrics(struct buf *b, const struct twitter_account *a)
{
	json_object(b, "public_metrics");
	json_u64(b, "followers_count", a->id % 1000);
	json_u64(b, "following_count", a->id % 77);
	json_u64(b, "tweet_count", a->tweets_n);
	json_u64(b, "listed_count", a->id % 7);
	buf_put_text(b, "}");
}

void
twitter2_write_user(struct request *r, const char *name,
    const struct twitter_account *a)
{
	struct buf *b = &r->out;
#define WANTS(field) wants(r, "user.fields", field)

	json_object(b, name);
	twitter_put_id(b, "id", a->id);
	twitter_put(b, "name", "%s", a->display);
	twitter_put(b, "username", "%s", a->name);
	if (WANTS("created_at"))
		twitter_put_iso(b, "created_at", (struct wall){
			INT64_C(1300000000) * US_PER_S });
	if (WANTS("description"))
		twitter_put(b, "description", "I am %s.\nReally.", a->name);
	if (WANTS("profile_image_url"))
		twitter_put(b, "profile_image_url",
		    "https://pbs.twimg.example/%s_normal.jpg", a->name);
	if (WANTS("protected"))
		json_bool(b, "protected", a->is_protected);
	if (WANTS("public_metrics"))
		put_user_metrics(b, a);
	if (WANTS("url"))
		twitter_put(b, "url", "%s", "");
	if (WANTS("verified"))
		json_bool(b, "verified", false);
	buf_put_text(b, "}");
#undef WANTS
}

/* ---- Tweets ------------------------------------------------------------ */

static void
put_reference(struct buf *b, const char *type, uint64_t id)
{
	if (id == 0)
		return;
	json_object(b, NULL);
	twitter_put(b, "type", "%s", type);
	twitter_put_id(b, "id", id);
	buf_put_text(b, "}");
}

static void
put_references(struct buf *b, const struct tweet *t)
{
	if (t->retweet_of == 0 && t->reply_to == 0 && t->quote_of == 0)
		return;
	json_array(b, "referenced_tweets");
	put_reference(b, "retweeted", t->retweet_of);
	put_reference(b, "replied_to", t->reply_to);
	put_reference(b, "quoted", t->quote_of);
	buf_put_text(b, "]");
}

static void
put_attachments(struct buf *b, const struct tweet *t)
{
	if (t->media == 0 && !t->poll)
		return;
	json_object(b, "attachments");
	if (t->media > 0) {
		json_array(b, "media_keys");
		for (unsigned i = 0; i < t->media; i++) {
			char key[40];
			snprintf(key, sizeof(key), "3_%llu",
			    (unsigned long long)(t->id + i));
			json_item(b, str_of(key));
		}
		buf_put_text(b, "]");
	}
	if (t->poll) {
		json_array(b, "poll_ids");
		char id[24];
		snprintf(id, sizeof(id), "%llu", (unsigned long long)t->id);
		json_item(b, str_of(id));
		buf_put_text(b, "]");
	}
	buf_put_text(b, "}");
}

static void
put_entities(struct buf *b, const struct tweet *t)
{
	if (!t->link && t->words == 0)
		return;
	json_object(b, "entities");
	if (t->link) {
		json_array(b, "urls");
		json_object(b, NULL);
		json_u64(b, "start", 0);
		json_u64(b, "end", 23);
		twitter_put(b, "url", "https://t.co/%010llx",
		    (unsigned long long)(t->look & 0xffffffffff));
		twitter_put(b, "expanded_url", "https://news.example/%llu?a=1",
		    (unsigned long long)t->look);
		twitter_put(b, "display_url", "news.example/%llu",
		    (unsigned long long)t->look);
		buf_put_text(b, "}]");
	}
	if (t->words != 0) {
		json_array(b, "hashtags");
		for (unsigned w = 0; w < WORDS_N; w++) {
			if ((t->words & 1u << w) == 0)
				continue;
			json_object(b, NULL);
			json_u64(b, "start", 0);
			json_u64(b, "end", 4);
			twitter_put(b, "tag", "%s", twitter_words[w]);
			buf_put_text(b, "}");
		}
		buf_put_text(b, "]");
	}
	buf_put_text(b, "}");
}

static void
put_metrics(struct buf *b, const struct tweet *t)
{
	json_object(b, "public_metrics");
	json_u64(b, "retweet_count", t->look % 11);
	json_u64(b, "reply_count", t->look % 5);
	json_u64(b, "like_count", t->look % 31);
	json_u64(b, "quote_count", t->look % 3);
	buf_put_text(b, "}");
}

static void
put_text(struct buf *b, const struct tweet *t, uint64_t big)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	const struct tweet *other = t->retweet_of == 0 ? NULL :
	    twitter_tweet(t->retweet_of);

	if (other != NULL)
		buf_printf(&text, "RT @%s: ", twitter_author(other)->name);
	twitter_put_text(&text, other != NULL ? other : t, big);
	json_str(b, "text", buf_str(&text));
}

static void
put_history(struct buf *b, const struct tweet *t)
{
	char id[24];

	snprintf(id, sizeof(id), "%llu", (unsigned long long)t->id);
	json_array(b, "edit_history_tweet_ids");
	json_item(b, str_of(id));
	buf_put_text(b, "]");
}

static void
write_tweet(struct request *r, const char *name, const struct tweet *t,
    uint64_t big)
{
	struct buf *b = &r->out;
	const struct tweet *parent = t->reply_to == 0 ? NULL :
	    twitter_tweet(t->reply_to);
#define WANTS(field) wants(r, "tweet.fields", field)

	json_object(b, name);
	twitter_put_id(b, "id", t->id);
	put_text(b, t, big);
	put_history(b, t);
	if (WANTS("author_id") || wants(r, "expansions", "author_id"))
		twitter_put_id(b, "author_id", twitter_author(t)->id);
	if (WANTS("created_at"))
		twitter_put_iso(b, "created_at", t->when);
	if (WANTS("conversation_id"))
		twitter_put_id(b, "conversation_id",
		    parent != NULL ? parent->id : t->id);
	if (WANTS("in_reply_to_user_id") && parent != NULL)
		twitter_put_id(b, "in_reply_to_user_id",
		    twitter_author(parent)->id);
	if (WANTS("referenced_tweets"))
		put_references(b, t);
	if (WANTS("attachments"))
		put_attachments(b, t);
	if (WANTS("entities"))
		put_entities(b, t);
	if (WANTS("geo") && t->place) {
		json_object(b, "geo");
		twitter_put(b, "place_id", "5a110d312052166f");
		buf_put_text(b, "}");
	}
	if (WANTS("public_metrics"))
		put_metrics(b, t);
	if (WANTS("lang"))
		twitter_put(b, "lang", t->look % 2 == 0 ? "en" : "und");
	if (WANTS("possibly_sensitive"))
		json_bool(b, "possibly_sensitive", t->look % 20 == 0);
	if (WANTS("reply_settings"))
		twitter_put(b, "reply_settings", "everyone");
	if (WANTS("source"))
		twitter_put(b, "source", "Twitter Web App");
	buf_put_text(b, "}");
#undef WANTS
}

/* ---- What is included -------------------------------------------------- */

static void
add_once(const struct tweet **list, size_t *n, const struct tweet *t)
{
	for (size_t i = 0; i < *n; i++)
		if (list[i] == t)
			return;
	if (*n < TWEETS_MAX)
		list[(*n)++] = t;
}

static void
include_tweet(struct request *r, struct included *in, const struct tweet *t)
{
	if (wants(r, "expansions", "author_id"))
		in->accounts[t->account] = true;
	if (t->media > 0 && wants(r, "expansions", "attachments.media_keys"))
		add_once(in->media, &in->media_n, t);
	if (t->poll && wants(r, "expansions", "attachments.poll_ids"))
		add_once(in->polls, &in->polls_n, t);
	in->place |= t->place && wants(r, "expansions", "geo.place_id");
}

static void
include_reference(struct request *r, struct included *in, uint64_t id)
{
	const struct tweet *t = id == 0 ? NULL : twitter_tweet(id);

	if (t == NULL || !wants(r, "expansions", "referenced_tweets.id"))
		return;
	if (twitter_is_hidden(t)) {
		if (in->missing_n < TWEETS_MAX)
			in->missing[in->missing_n++] = id;
		return;
	}
	add_once(in->tweets, &in->tweets_n, t);
	if (wants(r, "expansions", "referenced_tweets.id.author_id"))
		in->accounts[t->account] = true;
}

static void
include_all(struct request *r, struct included *in, const struct tweet *t)
{
	include_tweet(r, in, t);
	include_reference(r, in, t->retweet_of);
	include_reference(r, in, t->reply_to);
	include_reference(r, in, t->quote_of);
}

static void
write_media(struct request *r, const struct tweet *t)
{
	struct buf *b = &r->out;

	for (unsigned i = 0; i < t->media; i++) {
		json_object(b, NULL);
		twitter_put(b, "media_key", "3_%llu",
		    (unsigned long long)(t->id + i));
		twitter_put(b, "type", t->video ? "video" : "photo");
		if (t->video && wants(r, "media.fields", "preview_image_url"))
			twitter_put(b, "preview_image_url",
			    "https://pbs.twimg.example/preview/%llu.jpg",
			    (unsigned long long)t->id);
		if (!t->video && wants(r, "media.fields", "url"))
			twitter_put(b, "url",
			    "https://pbs.twimg.example/media/%llu-%u.jpg",
			    (unsigned long long)t->id, i);
		buf_put_text(b, "}");
	}
}

static void
write_poll(struct request *r, const struct tweet *t)
{
	struct buf *b = &r->out;

	json_object(b, NULL);
	twitter_put_id(b, "id", t->id);
	json_array(b, "options");
	json_object(b, NULL);
	json_u64(b, "position", 1);
	twitter_put(b, "label", "cats");
	json_u64(b, "votes", t->look % 9);
	buf_put_text(b, "}]}");
}

static void
write_place(struct request *r)
{
	struct buf *b = &r->out;

	json_object(b, NULL);
	twitter_put(b, "id", "5a110d312052166f");
	twitter_put(b, "full_name", "San Francisco, CA");
	if (wants(r, "place.fields", "country_code"))
		twitter_put(b, "country_code", "US");
	buf_put_text(b, "}");
}

static void
write_included(struct request *r, const struct included *in)
{
	struct buf *b = &r->out;

	json_object(b, "includes");
	json_array(b, "users");
	for (size_t i = 0; i < twitter_world.accounts_n; i++)
		if (in->accounts[i])
			twitter2_write_user(r, NULL,
			    &twitter_world.accounts[i]);
	buf_put_text(b, "]");
	if (in->tweets_n > 0) {
		json_array(b, "tweets");
		for (size_t i = 0; i < in->tweets_n; i++)
			write_tweet(r, NULL, in->tweets[i], 0);
		buf_put_text(b, "]");
	}
	if (in->media_n > 0) {
		json_array(b, "media");
		for (size_t i = 0; i < in->media_n; i++)
			write_media(r, in->media[i]);
		buf_put_text(b, "]");
	}
	if (in->polls_n > 0) {
		json_array(b, "polls");
		for (size_t i = 0; i < in->polls_n; i++)
			write_poll(r, in->polls[i]);
		buf_put_text(b, "]");
	}
	if (in->place) {
		json_array(b, "places");
		write_place(r);
		buf_put_text(b, "]");
	}
	buf_put_text(b, "}");
}

/* Tweets that are referred to and gone. */
static void
write_errors(struct request *r, const struct included *in)
{
	struct buf *b = &r->out;

	if (in->missing_n == 0)
		return;
	json_array(b, "errors");
	for (size_t i = 0; i < in->missing_n; i++) {
		json_object(b, NULL);
		twitter_put_id(b, "value", in->missing[i]);
		twitter_put(b, "detail", "Could not find tweet with "
		    "referenced_tweets.id: [%llu].",
		    (unsigned long long)in->missing[i]);
		twitter_put(b, "title", "Not Found Error");
		twitter_put(b, "resource_type", "tweet");
		twitter_put(b, "parameter", "referenced_tweets.id");
		buf_put_text(b, "}");
	}
	buf_put_text(b, "]");
}

/* ---- Pages ------------------------------------------------------------- */

static void
write_meta(struct request *r, const struct tweet_page *p,
    struct str next_token)
{
	struct buf *b = &r->out;

	json_object(b, "meta");
	if (p->n > 0) {
		twitter_put_id(b, "newest_id", p->tweets[0]->id);
		twitter_put_id(b, "oldest_id", p->tweets[p->n - 1]->id);
	}
	json_u64(b, "result_count", p->n);
	if (next_token.n > 0)
		json_str(b, "next_token", next_token);
	buf_put_text(b, "}");
}

void
twitter2_write_page(struct request *r, const struct tweet_page *p,
    struct str next_token)
{
	struct included *in = ARENA_NEW(&r->arena, struct included);
	struct buf *b = &r->out;

	CHECK(twitter_world.accounts_n <= ARRAY_LEN(in->accounts));
	json_object(b, NULL);
	if (p->n > 0) {
		json_array(b, "data");
		for (size_t i = 0; i < p->n; i++) {
			write_tweet(r, NULL, p->tweets[i],
			    i == 0 ? r->fault.big : 0);
			include_all(r, in, p->tweets[i]);
		}
		buf_put_text(b, "]");
		write_included(r, in);
		write_errors(r, in);
	}
	write_meta(r, p, next_token);
	buf_put_text(b, "}");
}

void
twitter2_write_line(struct request *r, const struct tweet *t)
{
	struct included *in = ARENA_NEW(&r->arena, struct included);

	write_tweet(r, "data", t, r->fault.big);
	include_all(r, in, t);
	write_included(r, in);
}
