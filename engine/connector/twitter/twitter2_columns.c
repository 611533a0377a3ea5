/*
 * The table of tweets of API v2, whose cells equal those of twarc-csv, which
 * SFM uses.  Names of columns are places in the flattened tweet; lists become
 * JSON, and the lists of entities are made shorter first.
 */
#include "base/json.h"
#include "engine/connector/item_json.h"
#include "engine/connector/twitter/twitter_items.h"

enum { TWEET, RETWEETED, REPLIED, QUOTED, AUTHOR };

/* The last reference of a kind. */
static yyjson_val *
find_reference(yyjson_val *tweet, const char *type)
{
	yyjson_val *list = json_member(tweet, "referenced_tweets"), *v,
	    *found = NULL;
	size_t i, n;

	yyjson_arr_foreach(list, i, n, v)
		if (yyjson_equals_str(json_member(v, "type"), type))
			found = v;
	return found;
}

static void
prepare_tweet(struct row *r)
{
	yyjson_val *t = r->item->json;

	r->part[TWEET] = t;
	r->part[RETWEETED] = find_reference(t, "retweeted");
	r->part[REPLIED] = find_reference(t, "replied_to");
	r->part[QUOTED] = find_reference(t, "quoted");
	r->part[AUTHOR] = json_member(t, "author");
}

/* --- cells -------------------------------------------------------------- */

/* LF becomes the two characters \n, CR is dropped. */
static void
fill_escaped(struct row *r, yyjson_val *v, struct cell *cell)
{
	struct str s = json_text(v);

	cell_value(cell, v);
	if (memchr(s.p, '\n', s.n) == NULL && memchr(s.p, '\r', s.n) == NULL)
		return;
	buf_clear(r->scratch);
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '\n')
			buf_put_text(r->scratch, "\\n");
		else if (s.p[i] != '\r')
			buf_put_char(r->scratch, s.p[i]);
	cell_scratch(r, cell);
}

/* A value of any kind; an object has columns of its own, if any. */
static void
fill_any(struct row *r, yyjson_val *v, struct cell *cell)
{
	if (yyjson_is_str(v)) {
		fill_escaped(r, v, cell);
	} else if (yyjson_is_arr(v)) {
		buf_clear(r->scratch);
		item_json_put(r->scratch, v);
		cell_scratch(r, cell);
	} else if (!yyjson_is_obj(v)) {
		cell_value(cell, v);
	}
}

static void
fill_place(struct row *r, const struct column *c, struct cell *cell)
{
	fill_any(r, row_at(r, r->part[TWEET], c->at), cell);
}

static void
fill_date(struct row *r, const struct column *c, struct cell *cell)
{
	if (!r->item->date.known)
		row_lacks(r, c->at);
	fill_place(r, c, cell);
}

/*
 * The first part of "public_metrics.like_count" is what a retweet takes from
 * the original, if that has it.
 */
static yyjson_val *
merged_value(struct row *r, const char *at)
{
	yyjson_val *t = r->part[RETWEETED];

	if (yyjson_obj_getn(t, at, strcspn(at, ".")) == NULL)
		t = r->part[TWEET];
	return row_at(r, t, at);
}

static void
fill_merged(struct row *r, const struct column *c, struct cell *cell)
{
	fill_any(r, merged_value(r, c->at), cell);
}

/* --- entities ----------------------------------------------------------- */

/* "pic.twitter.com/m" of media, the whole address of others. */
static yyjson_val *
link_of(yyjson_val *url)
{
	yyjson_val *v = NULL;

	if (json_member(url, "media_key") != NULL)
		return json_member(url, "display_url");
	v = json_member(url, "expanded_url");
	return v != NULL ? v : json_member(url, "url");
}

static void
put_entity(struct buf *b, yyjson_val *v, char kind)
{
	if (kind == 'u') {
		item_json_put(b, link_of(v));
		return;
	}
	/* Its sign takes the place of a second quotation mark. */
	buf_put_char(b, '"');
	size_t at = b->n;
	item_json_put_text(b, json_text(json_member(v, kind == '@' ?
	    "username" : "tag")));
	b->p[at] = kind;
}

/* ["#a", "#b"] of a list of objects; `kind` is #, $, @, or u for addresses. */
static void
fill_entities(struct row *r, yyjson_val *list, char kind, struct cell *cell)
{
	yyjson_val *v;
	size_t i, n;

	if (!yyjson_is_arr(list))
		return;
	buf_clear(r->scratch);
	buf_put_char(r->scratch, '[');
	yyjson_arr_foreach(list, i, n, v) {
		if (i > 0)
			buf_put_text(r->scratch, ", ");
		put_entity(r->scratch, v, kind);
	}
	buf_put_char(r->scratch, ']');
	cell_scratch(r, cell);
}

static char
entity_kind(const char *at)
{
	struct str s = str_of(at);

	return str_ends(s, STR("cashtags")) ? '$' :
	    str_ends(s, STR("hashtags")) ? '#' :
	    str_ends(s, STR("mentions")) ? '@' : 'u';
}

static void
fill_tweet_entities(struct row *r, const struct column *c, struct cell *cell)
{
	fill_entities(r, merged_value(r, c->at), entity_kind(c->at), cell);
}

static void
fill_author_entities(struct row *r, const struct column *c, struct cell *cell)
{
	fill_entities(r, row_at(r, r->part[AUTHOR], c->at), entity_kind(c->at),
	    cell);
}

/* --- accounts ----------------------------------------------------------- */

static void
fill_author(struct row *r, const struct column *c, struct cell *cell)
{
	fill_any(r, row_at(r, r->part[AUTHOR], c->at), cell);
}

/* Expanded addresses; no medium is among them. */
static void
fill_profile_urls(struct row *r, const struct column *c, struct cell *cell)
{
	fill_entities(r, row_at(r, r->part[AUTHOR], c->at), 'u', cell);
}

/* The last of them takes the place of the short one. */
static void
fill_profile_url(struct row *r, const struct column *c, struct cell *cell)
{
	yyjson_val *last = yyjson_arr_get_last(row_at(r, r->part[AUTHOR],
	    c->at));

	fill_any(r, last != NULL ? link_of(last) : json_member(
	    r->part[AUTHOR], "url"), cell);
}

/* --- other tweets ------------------------------------------------------- */

/* Its id: the first reference of the kind. */
static void
fill_reference(struct row *r, const struct column *c, struct cell *cell)
{
	yyjson_val *list = json_member(r->part[TWEET], "referenced_tweets"),
	    *v;
	size_t i, n;

	yyjson_arr_foreach(list, i, n, v)
		if (yyjson_equals_str(json_member(v, "type"), c->at)) {
			fill_any(r, json_member(v, "id"), cell);
			return;
		}
}

static void
fill_replied(struct row *r, const struct column *c, struct cell *cell)
{
	fill_any(r, row_at(r, r->part[REPLIED], c->at), cell);
}

static void
fill_retweeted(struct row *r, const struct column *c, struct cell *cell)
{
	fill_any(r, row_at(r, r->part[RETWEETED], c->at), cell);
}

static void
fill_quoted(struct row *r, const struct column *c, struct cell *cell)
{
	fill_any(r, row_at(r, r->part[QUOTED], c->at), cell);
}

/* What no answer has: twarc notes there how it got a tweet. */
static void
fill_nothing(struct row *r, const struct column *c, struct cell *cell)
{
	(void)r, (void)c, (void)cell;
}

#define PLACE(at, meaning) { at, meaning, fill_place, at }
#define MERGED(at, meaning) { at, meaning, fill_merged, at }
#define ENTITIES(at, meaning) { at, meaning, fill_tweet_entities, at }
#define OF_AUTHOR(at, meaning) { "author." at, meaning, fill_author, at }
#define OF_AUTHOR_ENTITIES(at, meaning) \
	{ "author." at, meaning, fill_author_entities, at }

static const struct column columns[] = {
	PLACE("id", "the tweet's number"),
	PLACE("conversation_id", "the tweet that began the conversation"),
	{ "referenced_tweets.replied_to.id", "the tweet that it answers",
	    fill_reference, "replied_to" },
	{ "referenced_tweets.retweeted.id", "the tweet that it retweets",
	    fill_reference, "retweeted" },
	{ "referenced_tweets.quoted.id", "the tweet that it quotes",
	    fill_reference, "quoted" },
	PLACE("author_id", "its author's number"),
	PLACE("in_reply_to_user_id", "the number of the account that it "
	    "answers"),
	{ "in_reply_to_username", "that account's name", fill_replied,
	    "author.username" },
	{ "retweeted_user_id", "whose tweet it retweets", fill_retweeted,
	    "author_id" },
	{ "retweeted_username", "that account's name", fill_retweeted,
	    "author.username" },
	{ "quoted_user_id", "whose tweet it quotes", fill_quoted,
	    "author_id" },
	{ "quoted_username", "that account's name", fill_quoted,
	    "author.username" },
	{ "created_at", "when it was sent, in UTC", fill_date,
	    "created_at" },
	MERGED("text", "its text, of a retweet the original's; \\n for a "
	    "line end"),
	PLACE("lang", "its language, as Twitter guessed it"),
	PLACE("source", "the program that sent it"),
	MERGED("public_metrics.impression_count", "how often it was seen; "
	    "counts of a retweet are the original's"),
	MERGED("public_metrics.reply_count", "how many replies it has"),
	MERGED("public_metrics.retweet_count", "how often it was retweeted"),
	MERGED("public_metrics.quote_count", "how often it was quoted"),
	MERGED("public_metrics.like_count", "how many like it"),
	PLACE("reply_settings", "who may answer it"),
	PLACE("edit_history_tweet_ids", "its versions"),
	PLACE("edit_controls.edits_remaining", "how often it may still be "
	    "edited"),
	PLACE("edit_controls.editable_until", "until when"),
	PLACE("edit_controls.is_edit_eligible", "whether at all"),
	PLACE("possibly_sensitive", "whether its links may offend"),
	PLACE("withheld.scope", "what is withheld: tweet or user"),
	PLACE("withheld.copyright", "whether for a copyright"),
	PLACE("withheld.country_codes", "in which countries"),
	MERGED("entities.annotations", "persons, places and things in the "
	    "text, as Twitter found them"),
	ENTITIES("entities.cashtags", "its cashtags"),
	ENTITIES("entities.hashtags", "its hashtags"),
	ENTITIES("entities.mentions", "whom it mentions"),
	ENTITIES("entities.urls", "addresses that it links to; short ones "
	    "of media"),
	MERGED("context_annotations", "what it is about, as Twitter found "
	    "it"),
	MERGED("attachments.media", "its images and videos"),
	MERGED("attachments.media_keys", "their keys"),
	MERGED("attachments.poll.duration_minutes", "how long its poll ran"),
	MERGED("attachments.poll.end_datetime", "when it ended"),
	MERGED("attachments.poll.id", "the poll's number"),
	MERGED("attachments.poll.options", "its options with votes"),
	MERGED("attachments.poll.voting_status", "open or closed"),
	MERGED("attachments.poll_ids", "numbers of its polls"),
	OF_AUTHOR("id", "its author's number"),
	OF_AUTHOR("created_at", "when the account was made"),
	OF_AUTHOR("username", "its author's name for mentions"),
	OF_AUTHOR("name", "its author's name"),
	OF_AUTHOR("description", "what the account says of itself"),
	OF_AUTHOR_ENTITIES("entities.description.cashtags", "cashtags in "
	    "that"),
	OF_AUTHOR_ENTITIES("entities.description.hashtags", "hashtags in "
	    "that"),
	OF_AUTHOR_ENTITIES("entities.description.mentions", "whom that "
	    "mentions"),
	OF_AUTHOR_ENTITIES("entities.description.urls", "addresses in that"),
	{ "author.entities.url.urls", "the account's own addresses",
	    fill_profile_urls, "entities.url.urls" },
	{ "author.url", "the last of these", fill_profile_url,
	    "entities.url.urls" },
	OF_AUTHOR("location", "where the account says that it is"),
	OF_AUTHOR("pinned_tweet_id", "the tweet at the top of its page"),
	OF_AUTHOR("profile_image_url", "its image"),
	OF_AUTHOR("protected", "whether it is hidden from the public"),
	OF_AUTHOR("public_metrics.followers_count", "how many accounts "
	    "follow it"),
	OF_AUTHOR("public_metrics.following_count", "how many accounts it "
	    "follows"),
	OF_AUTHOR("public_metrics.listed_count", "on how many lists it is"),
	OF_AUTHOR("public_metrics.tweet_count", "how many tweets it has "
	    "sent"),
	OF_AUTHOR("verified", "whether it is verified"),
	OF_AUTHOR("verified_type", "as what"),
	OF_AUTHOR("withheld.scope", "what of it is withheld"),
	OF_AUTHOR("withheld.copyright", "whether for a copyright"),
	OF_AUTHOR("withheld.country_codes", "in which countries"),
	PLACE("geo.coordinates.coordinates", "longitude and latitude"),
	PLACE("geo.coordinates.type", "Point"),
	PLACE("geo.country", "the country of the place that its author "
	    "named"),
	PLACE("geo.country_code", "its code"),
	PLACE("geo.full_name", "the place's whole name"),
	PLACE("geo.geo.bbox", "its bounds"),
	PLACE("geo.geo.type", "Feature"),
	PLACE("geo.id", "its id"),
	PLACE("geo.name", "its short name"),
	PLACE("geo.place_id", "its id, as the tweet has it"),
	PLACE("geo.place_type", "such as city"),
	PLACE("matching_rules", "the rules of a stream that chose it"),
	{ "__twarc.retrieved_at", "empty", fill_nothing, NULL },
	{ "__twarc.url", "empty", fill_nothing, NULL },
	{ "__twarc.version", "empty", fill_nothing, NULL },
};

const struct item_table twitter2_table = {
	.dialect = TABLE_PANDAS,
	.columns = columns,
	.columns_n = ARRAY_LEN(columns),
	.prepare = prepare_tweet,
};
