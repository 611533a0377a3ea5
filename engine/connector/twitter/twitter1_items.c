/* Tweets in answers of Twitter's API v1.1. */
#include "base/json.h"
#include "engine/connector/item_json.h"
#include "engine/connector/twitter/twitter_items.h"

bool
twitter_take_host(struct str *uri, const char *host)
{
	struct str scheme = STR("https://");
	struct str twitter = STR(".twitter.com/"), x = STR(".x.com/");
	struct str rest = str_from(*uri, scheme.n);

	if (!str_starts(*uri, scheme) || !str_starts(rest, str_of(host)))
		return false;
	rest = str_from(rest, strlen(host));
	if (str_starts(rest, twitter))
		*uri = str_from(rest, twitter.n);
	else if (str_starts(rest, x))
		*uri = str_from(rest, x.n);
	else
		return false;
	return true;
}

#define SEARCH "1.1/search/tweets.json"
#define TIMELINE "1.1/statuses/user_timeline.json"

static bool
is_rest(struct str uri, struct str content_type)
{
	(void)content_type;
	return twitter_take_host(&uri, "api") &&
	    (str_starts(uri, STR(SEARCH)) || str_starts(uri, STR(TIMELINE)));
}

static bool
is_stream(struct str uri, struct str content_type)
{
	(void)content_type;
	return twitter_take_host(&uri, "stream") && str_starts(uri, STR("1.1"));
}

static enum err
give_tweet(const struct connector_items *of, yyjson_val *tweet, bool repaired,
    struct arena *a, item_fn *fn, void *arg, struct why *w)
{
	struct item i = { .of = of, .kind = ITEM_FOUND, .json = tweet,
		.repaired = repaired,
		.id = json_text(json_member(tweet, "id_str")),
		.owner = json_text(json_at(tweet, "user.id_str")) };

	if (i.id.n == 0)
		i.id = json_id(json_member(tweet, "id"), a);
	if (i.id.n == 0) {
		i.kind = ITEM_BROKEN;
		i.lacks = "id_str";
	}
	(void)item_date_parse(json_text(json_member(tweet, "created_at")),
	    &i.date);
	return fn(arg, &i, w);
}

static enum err
give_list(const struct connector_items *of, const struct item_text *t,
    const struct item_json *j, struct arena *a, item_fn *fn, void *arg,
    struct why *w)
{
	struct str uri = t->uri;
	yyjson_val *list = j->root, *tweet;
	size_t i, n;

	if (yyjson_is_obj(list)) {
		if (json_member(list, "error") != NULL ||
		    json_member(list, "errors") != NULL ||
		    !twitter_take_host(&uri, "api") ||
		    !str_starts(uri, STR(SEARCH)))
			return OK;
		list = json_member(list, "statuses");
	}
	yyjson_arr_foreach(list, i, n, tweet) {
		enum err e = give_tweet(of, tweet, j->repaired && i == 0, a, fn,
		    arg, w);
		if (e != OK)
			return e;
	}
	return OK;
}

static enum err
each_rest(const struct connector_items *of, const struct item_text *t,
    struct arena *a, item_fn *fn, void *arg, struct why *w)
{
	FREED(item_json_values_free) struct item_json_values v =
	    item_json_values_of(t->text, a);
	struct item_json j;
	enum err e = OK;

	while (e == OK && v.rest.n > 0) {
		e = item_json_next(&v, &j, w);
		if (e == OK)
			e = give_list(of, t, &j, a, fn, arg, w);
	}
	return e;
}

/* {"delete":{"status":{"id_str":"1","user_id_str":"3"}}} */
static enum err
give_notice(const struct connector_items *of, yyjson_val *notice,
    struct arena *a, item_fn *fn, void *arg, struct why *w)
{
	yyjson_val *status = json_at(notice, "delete.status");
	struct item i = { .of = of, .kind = ITEM_DELETED, .json = notice,
		.deletion = json_id(json_member(status, "id_str"), a),
		.owner = json_id(json_member(status, "user_id_str"), a) };

	return i.deletion.n > 0 ? fn(arg, &i, w) : OK;
}

static enum err
each_stream(const struct connector_items *of, const struct item_text *t,
    struct arena *a, item_fn *fn, void *arg, struct why *w)
{
	struct item_json j;
	enum err e = item_json_parse(t->text, a, &j, w);

	if (e != OK)
		return e;
	return json_member(j.root, "id_str") != NULL ?
	    give_tweet(of, j.root, j.repaired, a, fn, arg, w) :
	    give_notice(of, j.root, a, fn, arg, w);
}

const struct connector_items twitter_rest_items = {
	.label = "tweets",
	.framing = ITEM_FRAMING_DOCUMENT,
	.recognises = is_rest,
	.each = each_rest,
	.table = &twitter1_table,
};
const struct connector_items twitter_stream_items = {
	.label = "tweets",
	.framing = ITEM_FRAMING_LINES,
	.recognises = is_stream,
	.each = each_stream,
	.table = &twitter1_table,
};
