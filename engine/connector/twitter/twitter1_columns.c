/*
 * The table of tweets of API v1.1, whose cells equal those of twarc's json2csv,
 * which SFM uses.
 */
#include "base/json.h"
#include "engine/connector/twitter/twitter_items.h"

enum { TWEET, USER, RETWEETED, QUOTED, ENTITIES };

static void
prepare_tweet(struct row *r)
{
	yyjson_val *t = r->item->json;

	r->part[TWEET] = t;
	r->part[USER] = json_member(t, "user");
	r->part[RETWEETED] = json_member(t, "retweeted_status");
	r->part[QUOTED] = json_member(t, "quoted_status");
	r->part[ENTITIES] = json_member(t, "entities");
}

static yyjson_val *
user_member(struct row *r, const char *name)
{
	if (!yyjson_is_obj(r->part[USER]))
		row_lacks(r, "user");
	return json_member(r->part[USER], name);
}

/* The tweet that was retweeted; NULL: this is no retweet, or it is null. */
static yyjson_val *
retweeted(const struct row *r)
{
	return json_is_true(r->part[RETWEETED]) ? r->part[RETWEETED] : NULL;
}

static yyjson_val *
retweeted_or_quoted(const struct row *r)
{
	yyjson_val *t = retweeted(r);

	return t != NULL ? t : json_is_true(r->part[QUOTED]) ?
	    r->part[QUOTED] : NULL;
}

/* --- members as they are ------------------------------------------------ */

static void
fill_member(struct row *r, const struct column *c, struct cell *cell)
{
	cell_value(cell, json_member(r->part[TWEET], c->at));
}

static void
fill_id(struct row *r, const struct column *c, struct cell *cell)
{
	(void)c;
	cell_text(cell, r->item->id);
}

static void
fill_user(struct row *r, const struct column *c, struct cell *cell)
{
	cell_value(cell, user_member(r, c->at));
}

static void
fill_user_line(struct row *r, const struct column *c, struct cell *cell)
{
	cell_line(r, user_member(r, c->at), true, cell);
}

static void
fill_source(struct row *r, const struct column *c, struct cell *cell)
{
	cell_value(cell, row_at(r, retweeted_or_quoted(r), c->at));
}

/* --- made of several ---------------------------------------------------- */

static void
fill_url(struct row *r, const struct column *c, struct cell *cell)
{
	struct str name = json_text(user_member(r, "screen_name"));

	(void)c;
	if (name.p == NULL)
		return;
	cell_text(cell, arena_printf(r->arena,
	    "https://twitter.com/%.*s/status/%.*s", STR_FMT(name),
	    STR_FMT(r->item->id)));
}

static void
fill_text(struct row *r, const struct column *c, struct cell *cell)
{
	yyjson_val *t = retweeted(r), *text;

	if (t == NULL)
		t = r->part[TWEET];
	yyjson_val *extended = json_member(t, "extended_tweet");
	if (extended != NULL)
		text = json_member(extended, "full_text");
	else if ((text = json_member(t, "full_text")) == NULL)
		text = json_member(t, "text");
	if (text == NULL)
		row_lacks(r, c->at);
	cell_line(r, text, true, cell);
}

/* The key alone makes a tweet a retweet or a quote, whatever its value. */
static void
fill_type(struct row *r, const struct column *c, struct cell *cell)
{
	yyjson_val *reply = json_member(r->part[TWEET],
	    "in_reply_to_status_id");

	(void)c;
	cell_text(cell, json_is_true(reply) ? STR("reply") :
	    r->part[RETWEETED] != NULL ? STR("retweet") :
	    r->part[QUOTED] != NULL ? STR("quote") : STR("original"));
}

static void
fill_coordinates(struct row *r, const struct column *c, struct cell *cell)
{
	yyjson_val *list = json_at(r->part[TWEET], "coordinates.coordinates");
	yyjson_val *x = yyjson_arr_get(list, 0), *y = yyjson_arr_get(list, 1);

	if (!json_is_true(json_member(r->part[TWEET], "coordinates")))
		return;
	if (!yyjson_is_num(x) || !yyjson_is_num(y)) {
		row_lacks(r, c->at);
		return;
	}
	cell_text(cell, arena_printf(r->arena, "%f %f", yyjson_get_num(x),
	    yyjson_get_num(y)));
}

/* The texts `name` of a list's objects, a blank between. */
static void
join_list(struct row *r, yyjson_val *list, const char *name,
    const struct column *c, struct cell *cell)
{
	yyjson_val *v;
	size_t i, n;

	if (!yyjson_is_arr(list)) {
		row_lacks(r, c->at);
		return;
	}
	buf_clear(r->scratch);
	yyjson_arr_foreach(list, i, n, v) {
		if (i > 0)
			buf_put_char(r->scratch, ' ');
		buf_put_str(r->scratch, json_text(json_member(v, name)));
	}
	cell_scratch(r, cell);
}

static void
fill_hashtags(struct row *r, const struct column *c, struct cell *cell)
{
	yyjson_val *t = retweeted(r);

	join_list(r, t != NULL ? json_at(t, c->at) :
	    json_member(r->part[ENTITIES], "hashtags"), "text", c, cell);
}

static void
fill_media(struct row *r, const struct column *c, struct cell *cell)
{
	yyjson_val *list = json_at(r->part[TWEET], "extended_entities.media");

	if (list == NULL)
		list = json_member(r->part[ENTITIES], "media");
	if (list != NULL)
		join_list(r, list, "media_url_https", c, cell);
}

static void
fill_urls(struct row *r, const struct column *c, struct cell *cell)
{
	join_list(r, json_member(r->part[ENTITIES], "urls"), "expanded_url",
	    c, cell);
}

static void
fill_favorites(struct row *r, const struct column *c, struct cell *cell)
{
	yyjson_val *t = retweeted(r), *count =
	    json_member(t != NULL ? t : r->part[TWEET], c->at);

	if (count == NULL)
		row_lacks(r, c->at);
	cell_value(cell, count);
}

static void
fill_place(struct row *r, const struct column *c, struct cell *cell)
{
	yyjson_val *place = json_member(r->part[TWEET], "place");

	if (!json_is_true(place))
		return;
	yyjson_val *name = json_member(place, "full_name");
	if (name == NULL)
		row_lacks(r, c->at);
	cell_value(cell, name);
}

/* Of an account's own links those that lead somewhere. */
static void
fill_user_urls(struct row *r, const struct column *c, struct cell *cell)
{
	yyjson_val *list = json_at(r->part[USER], c->at), *v;
	size_t i, n;

	if (!json_is_true(r->part[USER]))
		return;
	buf_clear(r->scratch);
	yyjson_arr_foreach(list, i, n, v) {
		struct str url = json_text(json_member(v, "expanded_url"));
		if (url.n > 0 && r->scratch->n > 0)
			buf_put_char(r->scratch, ' ');
		buf_put_str(r->scratch, url);
	}
	cell_scratch(r, cell);
}

static const struct column columns[] = {
	{ "id", "the tweet's number", fill_id, NULL },
	{ "tweet_url", "its address", fill_url, NULL },
	{ "created_at", "its date as Twitter writes it", fill_member,
	    "created_at" },
	{ "parsed_created_at", "the same date as ISO 8601", fill_item_date,
	    "created_at" },
	{ "user_screen_name", "its author's name for mentions", fill_user,
	    "screen_name" },
	{ "text", "its whole text, of a retweet the original's; line ends are "
	    "blanks", fill_text, "text" },
	{ "tweet_type", "reply, retweet, quote or original, the first that "
	    "holds", fill_type, NULL },
	{ "coordinates", "longitude and latitude", fill_coordinates,
	    "coordinates" },
	{ "hashtags", "its hashtags, of a retweet the original's",
	    fill_hashtags, "entities.hashtags" },
	{ "media", "addresses of its images and of stills of its videos",
	    fill_media, "media" },
	{ "urls", "addresses that it links to", fill_urls, "entities.urls" },
	{ "favorite_count", "its likes, of a retweet the original's",
	    fill_favorites, "favorite_count" },
	{ "in_reply_to_screen_name", "whose tweet it answers", fill_member,
	    "in_reply_to_screen_name" },
	{ "in_reply_to_status_id", "the tweet that it answers", fill_member,
	    "in_reply_to_status_id" },
	{ "in_reply_to_user_id", "the account that it answers", fill_member,
	    "in_reply_to_user_id" },
	{ "lang", "its language, as Twitter guessed it", fill_member, "lang" },
	{ "place", "the place that its author named", fill_place,
	    "place.full_name" },
	{ "possibly_sensitive", "whether its links may offend", fill_member,
	    "possibly_sensitive" },
	{ "retweet_count", "how often it was retweeted", fill_member,
	    "retweet_count" },
	{ "retweet_or_quote_id", "the tweet that it retweets or quotes",
	    fill_source, "id_str" },
	{ "retweet_or_quote_screen_name", "whose tweet that is", fill_source,
	    "user.screen_name" },
	{ "retweet_or_quote_user_id", "the number of that account",
	    fill_source, "user.id_str" },
	{ "source", "the program that sent it, as HTML", fill_member,
	    "source" },
	{ "user_id", "its author's number", fill_user, "id_str" },
	{ "user_created_at", "when the account was made", fill_user,
	    "created_at" },
	{ "user_default_profile_image", "whether the account has no image of "
	    "its own", fill_user, "default_profile_image" },
	{ "user_description", "what the account says of itself",
	    fill_user_line, "description" },
	{ "user_favourites_count", "how many tweets the account likes",
	    fill_user, "favourites_count" },
	{ "user_followers_count", "how many accounts follow it", fill_user,
	    "followers_count" },
	{ "user_friends_count", "how many accounts it follows", fill_user,
	    "friends_count" },
	{ "user_listed_count", "on how many lists it is", fill_user,
	    "listed_count" },
	{ "user_location", "where it says that it is", fill_user_line,
	    "location" },
	{ "user_name", "its author's name", fill_user_line, "name" },
	{ "user_statuses_count", "how many tweets the account has sent",
	    fill_user, "statuses_count" },
	{ "user_time_zone", "the account's time zone", fill_user,
	    "time_zone" },
	{ "user_urls", "the account's own addresses", fill_user_urls,
	    "entities.url.urls" },
	{ "user_verified", "whether Twitter has verified the account",
	    fill_user, "verified" },
};

const struct item_table twitter1_table = {
	.dialect = TABLE_PETL,
	.columns = columns,
	.columns_n = ARRAY_LEN(columns),
	.prepare = prepare_tweet,
};
