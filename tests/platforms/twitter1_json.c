/* Entities of Twitter's API v1.1. */
#include "tests/platforms/twitter.h"

static void
put_number_id(struct buf *b, const char *name, const char *name_str,
    uint64_t id)
{
	if (id == 0) {
		json_null(b, name);
		json_null(b, name_str);
		return;
	}
	json_u64(b, name, id);
	twitter_put_id(b, name_str, id);
}

/* ---- Accounts ---------------------------------------------------------- */

void
twitter1_write_user(struct buf *b, const char *name,
    const struct twitter_account *a)
{
	json_object(b, name);
	put_number_id(b, "id", "id_str", a->id);
	twitter_put(b, "name", "%s", a->display);
	twitter_put(b, "screen_name", "%s", a->name);
	twitter_put(b, "location", "%s", "");
	twitter_put(b, "description", "I am %s.\nReally.", a->name);
	json_null(b, "url");
	json_bool(b, "protected", a->is_protected);
	json_u64(b, "followers_count", a->id % 1000);
	json_u64(b, "friends_count", a->id % 77);
	json_u64(b, "listed_count", a->id % 7);
	json_u64(b, "favourites_count", a->id % 31);
	json_u64(b, "statuses_count", a->tweets_n);
	json_bool(b, "verified", false);
	twitter_put_date(b, "created_at", (struct wall){
		INT64_C(1300000000) * US_PER_S });
	twitter_put(b, "profile_image_url",
	    "http://pbs.twimg.example/%s_normal.jpg", a->name);
	twitter_put(b, "profile_image_url_https",
	    "https://pbs.twimg.example/%s_normal.jpg", a->name);
	twitter_put(b, "profile_banner_url",
	    "https://pbs.twimg.example/banners/%s", a->name);
	buf_put_text(b, "}");
}

/* ---- Tweets ------------------------------------------------------------ */

static void
put_medium(struct buf *b, const struct tweet *t, unsigned i)
{
	json_object(b, NULL);
	put_number_id(b, "id", "id_str", t->id + i);
	twitter_put(b, "media_url",
	    "http://pbs.twimg.example/media/%llu-%u.jpg",
	    (unsigned long long)t->id, i);
	twitter_put(b, "media_url_https",
	    "https://pbs.twimg.example/media/%llu-%u.jpg",
	    (unsigned long long)t->id, i);
	twitter_put(b, "url", "https://t.co/m%llu", (unsigned long long)t->id);
	twitter_put(b, "expanded_url",
	    "https://twitter.com/%s/status/%llu/photo/1",
	    twitter_author(t)->name, (unsigned long long)t->id);
	twitter_put(b, "type", t->video ? "video" : "photo");
	buf_put_text(b, "}");
}

static void
put_media(struct buf *b, const struct tweet *t, unsigned n)
{
	if (t->media == 0)
		return;
	json_array(b, "media");
	for (unsigned i = 0; i < MIN(n, t->media); i++)
		put_medium(b, t, i);
	buf_put_text(b, "]");
}

static void
put_link(struct buf *b, const struct tweet *t)
{
	json_object(b, NULL);
	twitter_put(b, "url", "https://t.co/%010llx",
	    (unsigned long long)(t->look & 0xffffffffff));
	twitter_put(b, "expanded_url", "https://news.example/%llu?a=1",
	    (unsigned long long)t->look);
	twitter_put(b, "display_url", "news.example/%llu",
	    (unsigned long long)t->look);
	buf_put_text(b, "}");
}

static void
put_entities(struct buf *b, const struct tweet *t)
{
	json_object(b, "entities");
	json_array(b, "hashtags");
	for (unsigned w = 0; w < WORDS_N; w++) {
		if ((t->words & 1u << w) == 0)
			continue;
		json_object(b, NULL);
		twitter_put(b, "text", "%s", twitter_words[w]);
		buf_put_text(b, "}");
	}
	buf_put_text(b, "]");
	json_array(b, "symbols");
	buf_put_text(b, "]");
	json_array(b, "user_mentions");
	buf_put_text(b, "]");
	json_array(b, "urls");
	if (t->link)
		put_link(b, t);
	buf_put_text(b, "]");
	put_media(b, t, 1);
	buf_put_text(b, "}");
	if (t->media == 0)
		return;
	json_object(b, "extended_entities");
	put_media(b, t, t->media);
	buf_put_text(b, "}");
}

static void
put_text(struct buf *b, const struct tweet *t, bool extended, uint64_t big)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	const struct tweet *other = t->retweet_of == 0 ? NULL :
	    twitter_tweet(t->retweet_of);

	if (other != NULL)
		buf_printf(&text, "RT @%s: ", twitter_author(other)->name);
	twitter_put_text(&text, other != NULL ? other : t, big);
	json_str(b, extended ? "full_text" : "text", buf_str(&text));
	json_bool(b, "truncated", false);
}

static void
put_counts(struct buf *b, const struct tweet *t)
{
	json_u64(b, "retweet_count", t->look % 11);
	json_u64(b, "favorite_count", t->look % 31);
	json_bool(b, "favorited", false);
	json_bool(b, "retweeted", false);
	json_bool(b, "possibly_sensitive", t->look % 20 == 0);
	twitter_put(b, "lang", t->look % 2 == 0 ? "en" : "und");
}

static void
put_place(struct buf *b, const struct tweet *t)
{
	json_null(b, "geo");
	json_null(b, "coordinates");
	if (!t->place) {
		json_null(b, "place");
		return;
	}
	json_object(b, "place");
	twitter_put(b, "id", "5a110d312052166f");
	twitter_put(b, "full_name", "San Francisco, CA");
	buf_put_text(b, "}");
}

static void
put_facts(struct buf *b, const struct tweet *t)
{
	const struct tweet *parent = t->reply_to == 0 ? NULL :
	    twitter_tweet(t->reply_to);
	const struct twitter_account *to = parent == NULL ? NULL :
	    twitter_author(parent);

	twitter_put_date(b, "created_at", t->when);
	put_number_id(b, "id", "id_str", t->id);
	twitter_put(b, "source", "<a href=\"https://twitter.com\">Web</a>");
	put_number_id(b, "in_reply_to_status_id",
	    "in_reply_to_status_id_str", t->reply_to);
	put_number_id(b, "in_reply_to_user_id", "in_reply_to_user_id_str",
	    to == NULL ? 0 : to->id);
	if (to == NULL)
		json_null(b, "in_reply_to_screen_name");
	else
		twitter_put(b, "in_reply_to_screen_name", "%s", to->name);
	put_place(b, t);
	put_counts(b, t);
}

static void
write_plain(struct buf *b, const char *name, const struct tweet *t,
    bool extended, uint64_t big)
{
	json_object(b, name);
	put_facts(b, t);
	put_text(b, t, extended, big);
	put_entities(b, t);
	twitter1_write_user(b, "user", twitter_author(t));
}

void
twitter1_write_tweet(struct buf *b, const struct tweet *t, bool extended,
    uint64_t big)
{
	const struct tweet *retweeted = t->retweet_of == 0 ? NULL :
	    twitter_tweet(t->retweet_of);
	const struct tweet *quoted = t->quote_of == 0 ? NULL :
	    twitter_tweet(t->quote_of);

	write_plain(b, NULL, t, extended, big);
	json_bool(b, "is_quote_status", t->quote_of != 0);
	if (retweeted != NULL) {
		write_plain(b, "retweeted_status", retweeted, extended, 0);
		buf_put_text(b, "}");
	}
	if (quoted != NULL && !twitter_is_hidden(quoted)) {
		put_number_id(b, "quoted_status_id", "quoted_status_id_str",
		    quoted->id);
		write_plain(b, "quoted_status", quoted, extended, 0);
		buf_put_text(b, "}");
	}
	buf_put_text(b, "}");
}
