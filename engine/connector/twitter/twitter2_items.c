/* Tweets in answers of Twitter's API v2. */
#include "base/json.h"
#include "engine/connector/item_json.h"
#include "engine/connector/twitter/twitter2_flatten.h"
#include "engine/connector/twitter/twitter_items.h"

/* --- addresses ---------------------------------------------------------- */

#define SAMPLE "2/tweets/sample/stream"
#define STREAM "2/tweets/search/stream"

/* "2/users/<id>/tweets" or "/mentions". */
static bool
is_timeline(struct str path)
{
	struct str users = STR("2/users/");

	if (!str_starts(path, users))
		return false;
	path = str_from(path, users.n);
	size_t id = str_find_char(path, '/');
	path = str_from(path, id);
	return id > 0 && (str_starts(path, STR("/tweets")) ||
	    str_starts(path, STR("/mentions")));
}

static bool
is_rest(struct str uri, struct str content_type)
{
	(void)content_type;
	return twitter_take_host(&uri, "api") && (is_timeline(uri) ||
	    str_starts(uri, STR("2/tweets/search/recent")) ||
	    str_starts(uri, STR("2/tweets/search/all")));
}

/* SFM's exporter takes samples for searches. */
static bool
is_rest_named(struct str uri, struct str content_type)
{
	struct str path = uri;

	return is_rest(uri, content_type) || (twitter_take_host(&path,
	    "api") && str_starts(path, STR(SAMPLE)));
}

static bool
is_stream(struct str uri, struct str content_type)
{
	(void)content_type;
	return twitter_take_host(&uri, "api") && (str_starts(uri,
	    STR(SAMPLE)) || (str_starts(uri, STR(STREAM)) &&
	    !str_starts(uri, STR(STREAM "/rules"))));
}

/* SFM's exporter of streams reads whatever API v2 answers. */
static bool
is_stream_named(struct str uri, struct str content_type)
{
	(void)content_type;
	return twitter_take_host(&uri, "api") && str_starts(uri, STR("2"));
}

/* --- items -------------------------------------------------------------- */

static enum err
give_tweet(const struct connector_items *of, yyjson_val *tweet, bool repaired,
    struct arena *a, item_fn *fn, void *arg, struct why *w)
{
	struct item i = { .of = of, .kind = ITEM_FOUND, .json = tweet,
		.repaired = repaired,
		.id = json_id(json_member(tweet, "id"), a),
		.owner = json_text(json_member(tweet, "author_id")) };

	if (i.id.n == 0) {
		i.kind = ITEM_BROKEN;
		i.lacks = "id";
	}
	(void)item_date_parse(json_text(json_member(tweet, "created_at")),
	    &i.date);
	return fn(arg, &i, w);
}

static bool
is_tweet(const struct connector_items *of, yyjson_val *v)
{
	/* Of a stream's answers some are about accounts and rules. */
	return of == &twitter2_rest_items || json_member(v, "text") != NULL;
}

static enum err
give_page(const struct connector_items *of, const struct item_json *j,
    struct arena *a, item_fn *fn, void *arg, struct why *w)
{
	yyjson_val *data = json_member(j->root, "data"), *tweet;
	struct twitter2_page *p = twitter2_page_new(j->root, a);
	size_t i, n;
	enum err e = OK;

	if (yyjson_is_obj(data) && is_tweet(of, data))
		e = give_tweet(of, twitter2_flatten(p, data), j->repaired, a,
		    fn, arg, w);
	yyjson_arr_foreach(data, i, n, tweet) {
		if (e == OK && is_tweet(of, tweet))
			e = give_tweet(of, twitter2_flatten(p, tweet),
			    j->repaired && i == 0, a, fn, arg, w);
	}
	twitter2_page_free(&p);
	return e;
}

/* What has no `data` is an error, a notice, or a tweet by itself. */
static enum err
give_answer(const struct connector_items *of, const struct item_json *j,
    struct arena *a, item_fn *fn, void *arg, struct why *w)
{
	if (json_member(j->root, "data") != NULL)
		return give_page(of, j, a, fn, arg, w);
	if (of == &twitter2_rest_items || !is_tweet(of, j->root) ||
	    json_member(j->root, "errors") != NULL ||
	    json_member(j->root, "includes") != NULL)
		return OK;
	return give_tweet(of, j->root, j->repaired, a, fn, arg, w);
}

static enum err
each(const struct connector_items *of, const struct item_text *t,
    struct arena *a, item_fn *fn, void *arg, struct why *w)
{
	FREED(item_json_values_free) struct item_json_values v =
	    item_json_values_of(t->text, a);
	struct item_json j;
	enum err e = OK;

	while (e == OK && v.rest.n > 0) {
		e = item_json_next(&v, &j, w);
		if (e == OK)
			e = give_answer(of, &j, a, fn, arg, w);
	}
	return e;
}

const struct connector_items twitter2_rest_items = {
	.label = "tweets",
	.framing = ITEM_FRAMING_DOCUMENT,
	.recognises = is_rest,
	.recognises_named = is_rest_named,
	.each = each,
	.table = &twitter2_table,
};
const struct connector_items twitter2_stream_items = {
	.label = "tweets",
	.framing = ITEM_FRAMING_LINES,
	.recognises = is_stream,
	.recognises_named = is_stream_named,
	.each = each,
	.table = &twitter2_table,
};
