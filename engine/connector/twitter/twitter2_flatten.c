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
	/*
	 * The tweet in hand, yyjson_val after yyjson_val: containers before
	 * what they contain, as yyjson has them, so that a value of the answer
	 * is copied as it stands.  Texts stay where they are.
	 */
	struct buf out;
	size_t text_bytes;        /* of its texts */
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
	buf_free(&p->out);
	mem_free(pp);
}

static size_t
tweet_bytes(const struct twitter2_page *p)
{
	return p->out.n + p->text_bytes;
}

/* NULL: it is not included, or the tweet or the page is long enough. */
static struct included *
find_included(struct twitter2_page *p, const struct map *map, yyjson_val *id)
{
	struct str s = json_text(id);
	size_t bytes = tweet_bytes(p);

	return s.p == NULL || bytes > TWITTER2_TWEET_BYTES_MAX ||
	    p->bytes + bytes > TWITTER2_PAGE_BYTES_MAX ? NULL :
	    map_get(map, s);
}

/* --- values ------------------------------------------------------------- */

static inline yyjson_val *
add_values(struct twitter2_page *p, size_t n)
{
	if (p->out.cap - p->out.n < n * sizeof(yyjson_val))
		buf_reserve(&p->out, n * sizeof(yyjson_val));
	yyjson_val *v = (void *)(p->out.p + p->out.n);
	p->out.n += n * sizeof(*v);
	return v;
}

/* A value of the answer with all that it contains. */
static void
copy_value(struct twitter2_page *p, yyjson_val *v)
{
	size_t n = (size_t)(unsafe_yyjson_get_next(v) - v);
	yyjson_val *to = add_values(p, n);

	for (size_t i = 0; i < n; i++) {
		to[i] = v[i];
		if (yyjson_is_str(&v[i]) || yyjson_is_raw(&v[i]))
			p->text_bytes += unsafe_yyjson_get_len(&v[i]);
	}
}

static void
add_null(struct twitter2_page *p)
{
	*add_values(p, 1) = (yyjson_val){ .tag = YYJSON_TYPE_NULL };
}

static void
add_text(struct twitter2_page *p, struct str s)
{
	yyjson_val *v = add_values(p, 1);

	unsafe_yyjson_set_tag(v, YYJSON_TYPE_STR, YYJSON_SUBTYPE_NONE, s.n);
	v->uni.str = s.p;
	p->text_bytes += s.n;
}

/* Where the container begins; end_container() says what it has become. */
static size_t
begin_container(struct twitter2_page *p)
{
	size_t at = p->out.n;

	(void)add_values(p, 1);
	return at;
}

static void
end_container(struct twitter2_page *p, size_t at, yyjson_type type,
    size_t members)
{
	yyjson_val *v = (void *)(p->out.p + at);

	unsafe_yyjson_set_tag(v, type, YYJSON_SUBTYPE_NONE, members);
	v->uni.ofs = p->out.n - at;
}

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

/* False for most names: neither of an addition nor of a reference. */
static bool
may_be_special(struct str name)
{
	size_t n = name.n;

	switch (n > 0 ? name.p[0] : '\0') {
	case 'a':                 /* author, author_id */
		return n == 6 || n == 9;
	case 'g':                 /* geo */
		return n == 3;
	case 'i':                 /* in_reply_to_user, in_reply_to_user_id */
		return n == 16 || n == 19;
	case 'm':                 /* media, mentions, media_keys */
		return n == 5 || n == 8 || n == 10;
	case 'p':                 /* poll, poll_ids */
		return n == 4 || n == 8;
	case 'r':                 /* referenced_tweets */
		return n == 17;
	default:
		return false;
	}
}

/* A container of few values, none of which can be such a name. */
#define SIMPLE_VALUES_MAX 64
static bool
is_simple(yyjson_val *v)
{
	yyjson_val *end = unsafe_yyjson_get_next(v);

	if (end - v > SIMPLE_VALUES_MAX)
		return false;
	while (++v < end)
		if (yyjson_is_str(v) && may_be_special(json_text(v)))
			return false;
	return true;
}

static void put_object(struct twitter2_page *, const struct view *, int depth);

static void
put_value(struct twitter2_page *p, yyjson_val *v, size_t order, int depth)
{
	struct view view = { NULL, v, WHOLE, order };
	yyjson_val *member;
	size_t i, n;

	if (!yyjson_is_ctn(v) || is_simple(v)) {
		copy_value(p, v);
	} else if (yyjson_is_obj(v) && depth <= ITEM_JSON_DEPTH_MAX) {
		put_object(p, &view, depth + 1);
	} else if (yyjson_is_arr(v) && depth <= ITEM_JSON_DEPTH_MAX) {
		size_t at = begin_container(p);
		yyjson_arr_foreach(v, i, n, member)
			put_value(p, member, order, depth + 1);
		end_container(p, at, YYJSON_TYPE_ARR, n);
	} else {
		add_null(p);
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
		copy_value(p, x->value);
	else
		end_container(p, begin_container(p), YYJSON_TYPE_OBJ, 0);
}

/* --- what is put in ----------------------------------------------------- */

static void
put_media(struct twitter2_page *p, yyjson_val *keys)
{
	size_t i, n, at = begin_container(p);
	yyjson_val *key;

	yyjson_arr_foreach(keys, i, n, key)
		put_included(p, &p->media, key);
	end_container(p, at, YYJSON_TYPE_ARR, yyjson_arr_size(keys));
}

static void
put_mentions(struct twitter2_page *p, yyjson_val *mentions, int depth)
{
	size_t i, n, at = begin_container(p);
	yyjson_val *mention;

	yyjson_arr_foreach(mentions, i, n, mention)
		put_merged(p, mention, find_included(p, &p->users,
		    yyjson_obj_get(mention, "username")), depth);
	end_container(p, at, YYJSON_TYPE_ARR, n);
}

static void
put_references(struct twitter2_page *p, yyjson_val *references, size_t order,
    int depth)
{
	size_t i, n, at = begin_container(p);
	yyjson_val *reference;

	yyjson_arr_foreach(references, i, n, reference) {
		struct included *x = find_included(p, &p->tweets,
		    yyjson_obj_get(reference, "id"));
		struct view view = { reference, NULL, INNER, 0 };
		if (x != NULL) {
			view.value = x->value;
			view.depth = x->order < order ? WHOLE : INNER;
			view.order = x->order;
		}
		if (yyjson_is_obj(reference))
			put_object(p, &view, depth + 1);
		else
			put_value(p, reference, 0, depth);
	}
	end_container(p, at, YYJSON_TYPE_ARR, n);
}

/*
 * Members that are put in behind the others, by the member that asks for them;
 * in twarc's order.
 */
enum addition { AUTHOR, REPLIED_USER, MEDIA, POLL, ADDITIONS_N };
static const struct {
	struct str by, name;
} additions[ADDITIONS_N] = {
	[AUTHOR] = { STR("author_id"), STR("author") },
	[REPLIED_USER] = { STR("in_reply_to_user_id"),
	    STR("in_reply_to_user") },
	[MEDIA] = { STR("media_keys"), STR("media") },
	[POLL] = { STR("poll_ids"), STR("poll") },
};

static yyjson_val *
find_member(yyjson_val *object, struct str name)
{
	return yyjson_obj_getn(object, name.p, name.n);
}

/* An empty list of polls asks for none. */
static bool
asks_for(enum addition a, yyjson_val *by)
{
	return by != NULL && (a != POLL || yyjson_arr_size(by) > 0);
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

/* An object in the making. */
struct made {
	size_t members;
	/* Of a WHOLE one: what its value asks for, and has by itself. */
	yyjson_val *by[ADDITIONS_N];
	bool has[ADDITIONS_N];
};

static inline bool
is_name(struct str name, struct str want)
{
	return name.n == want.n && memcmp(name.p, want.p, want.n) == 0;
}

/* Of a WHOLE object: false if the member has no part in additions. */
static bool
put_asked(struct twitter2_page *p, const struct view *view, struct str name,
    yyjson_val *v, struct made *m)
{
	for (enum addition a = 0; a < ADDITIONS_N; a++) {
		if (is_name(name, additions[a].by) && m->by[a] == NULL)
			m->by[a] = v;
		if (!is_name(name, additions[a].name))
			continue;
		m->has[a] = true;
		yyjson_val *by = find_member(view->value, additions[a].by);
		if (!asks_for(a, by))
			return false;
		put_addition(p, a, by);
		return true;
	}
	return false;
}

/* A member of the view's value, or what takes its place. */
static void
put_member(struct twitter2_page *p, const struct view *view, struct str name,
    yyjson_val *v, struct made *m, int depth)
{
	if (view->depth == RAW)
		copy_value(p, v);
	else if (view->depth == INNER || !may_be_special(name))
		put_value(p, v, view->order, depth);
	else if (put_asked(p, view, name, v, m))
		return;
	else if (is_name(name, STR("mentions")) && yyjson_is_arr(v))
		put_mentions(p, v, depth);
	else if (is_name(name, STR("referenced_tweets")) && yyjson_is_arr(v))
		put_references(p, v, view->order, depth);
	else if (is_name(name, STR("geo")) &&
	    yyjson_obj_get(v, "place_id") != NULL)
		put_merged(p, v, find_included(p, &p->places,
		    yyjson_obj_get(v, "place_id")), depth);
	else
		put_value(p, v, view->order, depth);
}

/* The members of the base, each the value's own if it has one. */
static void
put_base(struct twitter2_page *p, const struct view *view, struct made *m,
    int depth)
{
	yyjson_obj_iter it = yyjson_obj_iter_with(view->base);

	for (yyjson_val *key; (key = yyjson_obj_iter_next(&it)) != NULL;
	    m->members++) {
		struct str name = json_text(key);
		yyjson_val *own = find_member(view->value, name);
		add_text(p, name);
		if (own != NULL)
			put_member(p, view, name, own, m, depth);
		else
			put_value(p, yyjson_obj_iter_get_val(key),
			    view->order, depth);
	}
}

/* The members of the value that the base has not. */
static void
put_own(struct twitter2_page *p, const struct view *view, struct made *m,
    int depth)
{
	yyjson_obj_iter it = yyjson_obj_iter_with(view->value);

	for (yyjson_val *key; (key = yyjson_obj_iter_next(&it)) != NULL;) {
		struct str name = json_text(key);
		if (view->base != NULL && find_member(view->base, name) != NULL)
			continue;
		m->members++;
		add_text(p, name);
		put_member(p, view, name, yyjson_obj_iter_get_val(key), m,
		    depth);
	}
}

static void
put_object(struct twitter2_page *p, const struct view *given, int depth)
{
	struct view view = *given;
	struct made m = { .members = 0 };
	size_t at = begin_container(p);

	if (view.base != NULL && yyjson_obj_size(view.base) *
	    yyjson_obj_size(view.value) > MERGE_STEPS_MAX)
		view.value = NULL;
	put_base(p, &view, &m, depth);
	put_own(p, &view, &m, depth);
	for (enum addition a = 0; a < ADDITIONS_N; a++) {
		if (m.has[a] || !asks_for(a, m.by[a]))
			continue;
		m.members++;
		add_text(p, additions[a].name);
		put_addition(p, a, m.by[a]);
	}
	end_container(p, at, YYJSON_TYPE_OBJ, m.members);
}

/* Of a stream: the rules that chose the tweet. */
static void
add_rules(struct twitter2_page *p, yyjson_val *tweet)
{
	yyjson_val *rules = yyjson_obj_get(p->response, "matching_rules");
	yyjson_val *made = (void *)p->out.p;

	if (rules == NULL || !yyjson_is_obj(tweet) ||
	    yyjson_obj_get(tweet, "matching_rules") != NULL)
		return;
	size_t members = yyjson_obj_size(made);
	add_text(p, STR("matching_rules"));
	copy_value(p, rules);
	end_container(p, 0, YYJSON_TYPE_OBJ, members + 1);
}

yyjson_val *
twitter2_flatten(struct twitter2_page *p, yyjson_val *tweet)
{
	buf_clear(&p->out);
	p->text_bytes = 0;
	put_value(p, tweet, LAST, 0);
	add_rules(p, tweet);
	p->bytes += tweet_bytes(p);
	return (void *)p->out.p;
}
