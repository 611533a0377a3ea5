#include "engine/connector/twitter/twitter2_flatten.h"

#include "base/json.h"
#include "base/map.h"
#include "engine/connector/item_json.h"

/*
 * twarc changes the included tweets in place, one after the other, and copies
 * of their top-level keys go into what refers to them.  So an included tweet
 * that refers to a later one gets it as the answer has it; one that refers to
 * an earlier one, and any tweet of `data`, gets it with its own references.
 */
struct included {
	yyjson_val *value;
	size_t order;             /* among those of its kind, from 0 */
};

struct twitter2_page {
	yyjson_val *response;
	struct map users, media, polls, places, tweets;   /* struct included */
	struct buf *out;
	size_t begin;             /* of the tweet in hand, in `out` */
	size_t bytes;             /* of all tweets before it */
};
/* A tweet of `data`: later than all that is included. */
#define LAST SIZE_MAX

/* --- what is included --------------------------------------------------- */

static void
add_included(struct map *map, yyjson_val *includes, const char *list,
    const char *key, struct arena *a)
{
	yyjson_val *v;
	size_t i, n;

	yyjson_arr_foreach(yyjson_obj_get(includes, list), i, n, v) {
		struct str id = json_text(yyjson_obj_get(v, key));
		if (id.p == NULL)
			continue;
		struct included *x = map_get(map, id);
		/* Of two with one id the last counts, in the first's place. */
		if (x == NULL) {
			x = ARENA_NEW(a, struct included);
			x->order = i;
			map_put(map, id, x);
		}
		x->value = v;
	}
}

struct twitter2_page *
twitter2_page_new(yyjson_val *response, struct arena *a)
{
	struct twitter2_page *p = mem_new(sizeof(*p));
	yyjson_val *includes = yyjson_obj_get(response, "includes");

	p->response = response;
	/* By name, too, for those who are mentioned. */
	add_included(&p->users, includes, "users", "id", a);
	add_included(&p->users, includes, "users", "username", a);
	add_included(&p->media, includes, "media", "media_key", a);
	add_included(&p->polls, includes, "polls", "id", a);
	add_included(&p->places, includes, "places", "id", a);
	add_included(&p->tweets, includes, "tweets", "id", a);
	return p;
}

void
twitter2_page_free(struct twitter2_page **pp)
{
	struct twitter2_page *p = *pp;

	if (p == NULL)
		return;
	map_free(&p->users);
	map_free(&p->media);
	map_free(&p->polls);
	map_free(&p->places);
	map_free(&p->tweets);
	mem_free(pp);
}

/* NULL: it is not included, or the tweet or the page is long enough. */
static struct included *
find_included(struct twitter2_page *p, const struct map *map, yyjson_val *id)
{
	struct str s = json_text(id);
	size_t bytes = p->out->n - p->begin;

	return s.p == NULL || bytes > TWITTER2_TWEET_BYTES_MAX ||
	    p->bytes + bytes > TWITTER2_PAGE_BYTES_MAX ? NULL :
	    map_get(map, s);
}

/* --- values ------------------------------------------------------------- */

/*
 * An object as it is written: the members of `base`, if any, with those of
 * `value` over them.  Into a WHOLE one all is put that it refers to; into an
 * INNER one only what its own objects refer to.  `order` says which included
 * tweets are whole by then: those before.
 */
struct view {
	yyjson_val *base, *value;
	enum { RAW, INNER, WHOLE } depth;
	size_t order;
};
/* Merging looks each name up in the other object. */
#define MERGE_STEPS_MAX ((size_t)1 << 20)

static void put_object(struct twitter2_page *, const struct view *, int depth);

static void
put_value(struct twitter2_page *p, yyjson_val *v, size_t order, int depth)
{
	struct view view = { NULL, v, WHOLE, order };
	yyjson_val *member;
	size_t i, n;

	if (yyjson_is_obj(v) && depth <= ITEM_JSON_DEPTH_MAX) {
		put_object(p, &view, depth + 1);
	} else if (yyjson_is_arr(v) && depth <= ITEM_JSON_DEPTH_MAX) {
		buf_put_char(p->out, '[');
		yyjson_arr_foreach(v, i, n, member) {
			if (i > 0)
				buf_put_char(p->out, ',');
			put_value(p, member, order, depth + 1);
		}
		buf_put_char(p->out, ']');
	} else if (yyjson_is_ctn(v)) {
		buf_put_text(p->out, "null");
	} else {
		item_json_put(p->out, v);
	}
}

/* `from` with what is included of it over it. */
static void
put_merged(struct twitter2_page *p, yyjson_val *from, struct included *x,
    int depth)
{
	struct view view = { from, x == NULL ? NULL : x->value, RAW, 0 };

	if (!yyjson_is_obj(from))
		put_value(p, from, 0, depth);
	else
		put_object(p, &view, depth + 1);
}

static void
put_included(struct twitter2_page *p, const struct map *map, yyjson_val *id)
{
	struct included *x = find_included(p, map, id);

	if (x != NULL)
		item_json_put(p->out, x->value);
	else
		buf_put_text(p->out, "{}");
}

/* --- what is put in ----------------------------------------------------- */

static void
put_media(struct twitter2_page *p, yyjson_val *keys)
{
	yyjson_val *key;
	size_t i, n;

	buf_put_char(p->out, '[');
	yyjson_arr_foreach(keys, i, n, key) {
		if (i > 0)
			buf_put_char(p->out, ',');
		put_included(p, &p->media, key);
	}
	buf_put_char(p->out, ']');
}

static void
put_mentions(struct twitter2_page *p, yyjson_val *mentions, int depth)
{
	yyjson_val *mention;
	size_t i, n;

	buf_put_char(p->out, '[');
	yyjson_arr_foreach(mentions, i, n, mention) {
		if (i > 0)
			buf_put_char(p->out, ',');
		put_merged(p, mention, find_included(p, &p->users,
		    yyjson_obj_get(mention, "username")), depth);
	}
	buf_put_char(p->out, ']');
}

static void
put_references(struct twitter2_page *p, yyjson_val *references, size_t order,
    int depth)
{
	yyjson_val *reference;
	size_t i, n;

	buf_put_char(p->out, '[');
	yyjson_arr_foreach(references, i, n, reference) {
		struct included *x = find_included(p, &p->tweets,
		    yyjson_obj_get(reference, "id"));
		struct view view = { reference, NULL, INNER, 0 };
		if (x != NULL) {
			view.value = x->value;
			view.depth = x->order < order ? WHOLE : INNER;
			view.order = x->order;
		}
		if (i > 0)
			buf_put_char(p->out, ',');
		if (yyjson_is_obj(reference))
			put_object(p, &view, depth + 1);
		else
			put_value(p, reference, 0, depth);
	}
	buf_put_char(p->out, ']');
}

/*
 * Members that are put in behind the others, by the member that asks for them;
 * in twarc's order.
 */
enum addition { AUTHOR, REPLIED_USER, MEDIA, POLL, ADDITIONS_N };
static const struct {
	const char *by, *name;
} additions[ADDITIONS_N] = {
	[AUTHOR] = { "author_id", "author" },
	[REPLIED_USER] = { "in_reply_to_user_id", "in_reply_to_user" },
	[MEDIA] = { "media_keys", "media" },
	[POLL] = { "poll_ids", "poll" },
};

/* The value that asks for an addition; NULL: none does. */
static yyjson_val *
asks_for(yyjson_val *object, enum addition a)
{
	yyjson_val *by = yyjson_obj_get(object, additions[a].by);

	return a == POLL && yyjson_arr_size(by) == 0 ? NULL : by;
}

static void
put_addition(struct twitter2_page *p, enum addition a, yyjson_val *by)
{
	if (a == MEDIA)
		put_media(p, by);
	else if (a == POLL)
		/* A tweet has one at most. */
		put_included(p, &p->polls, yyjson_arr_get_last(by));
	else
		put_included(p, &p->users, by);
}

/* --- objects ------------------------------------------------------------ */

/* A member of the view's value, or what takes its place. */
static void
put_member(struct twitter2_page *p, const struct view *view, struct str name,
    yyjson_val *v, int depth)
{
	if (view->depth == RAW)
		item_json_put(p->out, v);
	else if (view->depth == INNER)
		put_value(p, v, view->order, depth);
	if (view->depth != WHOLE)
		return;
	for (enum addition a = 0; a < ADDITIONS_N; a++) {
		yyjson_val *by = str_eq(name, str_of(additions[a].name)) ?
		    asks_for(view->value, a) : NULL;
		if (by != NULL) {
			put_addition(p, a, by);
			return;
		}
	}
	if (str_eq(name, STR("mentions")) && yyjson_is_arr(v))
		put_mentions(p, v, depth);
	else if (str_eq(name, STR("referenced_tweets")) && yyjson_is_arr(v))
		put_references(p, v, view->order, depth);
	else if (str_eq(name, STR("geo")) &&
	    yyjson_obj_get(v, "place_id") != NULL)
		put_merged(p, v, find_included(p, &p->places,
		    yyjson_obj_get(v, "place_id")), depth);
	else
		put_value(p, v, view->order, depth);
}

static void
put_name(struct twitter2_page *p, struct str name, bool *first)
{
	if (!*first)
		buf_put_char(p->out, ',');
	*first = false;
	item_json_put_text(p->out, name);
	buf_put_char(p->out, ':');
}

static yyjson_val *
find_member(yyjson_val *object, struct str name)
{
	return yyjson_obj_getn(object, name.p, name.n);
}

/* The members of the base, each the value's own if it has one. */
static void
put_base(struct twitter2_page *p, const struct view *view, bool *first,
    int depth)
{
	yyjson_obj_iter it = yyjson_obj_iter_with(view->base);

	for (yyjson_val *key; (key = yyjson_obj_iter_next(&it)) != NULL;) {
		struct str name = json_text(key);
		yyjson_val *own = find_member(view->value, name);
		put_name(p, name, first);
		if (own != NULL)
			put_member(p, view, name, own, depth);
		else
			put_value(p, yyjson_obj_iter_get_val(key),
			    view->order, depth);
	}
}

/* The members of the value that the base has not. */
static void
put_own(struct twitter2_page *p, const struct view *view, bool *first,
    int depth)
{
	yyjson_obj_iter it = yyjson_obj_iter_with(view->value);

	for (yyjson_val *key; (key = yyjson_obj_iter_next(&it)) != NULL;) {
		struct str name = json_text(key);
		if (find_member(view->base, name) != NULL)
			continue;
		put_name(p, name, first);
		put_member(p, view, name, yyjson_obj_iter_get_val(key),
		    depth);
	}
}

static void
put_object(struct twitter2_page *p, const struct view *given, int depth)
{
	struct view view = *given;
	bool first = true;

	if (view.base != NULL && yyjson_obj_size(view.base) *
	    yyjson_obj_size(view.value) > MERGE_STEPS_MAX)
		view.value = NULL;
	buf_put_char(p->out, '{');
	put_base(p, &view, &first, depth);
	put_own(p, &view, &first, depth);
	for (enum addition a = 0; a < ADDITIONS_N && view.depth == WHOLE;
	    a++) {
		yyjson_val *by = asks_for(view.value, a);
		if (by == NULL || yyjson_obj_get(view.value,
		    additions[a].name) != NULL)
			continue;
		put_name(p, str_of(additions[a].name), &first);
		put_addition(p, a, by);
	}
	buf_put_char(p->out, '}');
}

void
twitter2_flatten(struct twitter2_page *p, yyjson_val *tweet, struct buf *out)
{
	yyjson_val *rules = yyjson_obj_get(p->response, "matching_rules");

	p->out = out;
	p->begin = out->n;
	put_value(p, tweet, LAST, 0);
	/* Of a stream: the rules that chose it. */
	if (rules != NULL && yyjson_is_obj(tweet) &&
	    yyjson_obj_get(tweet, "matching_rules") == NULL) {
		out->n--;
		buf_put_text(out, yyjson_obj_size(tweet) > 0 ?
		    ",\"matching_rules\":" : "\"matching_rules\":");
		item_json_put(out, rules);
		buf_put_char(out, '}');
	}
	p->bytes += out->n - p->begin;
}
