#include "engine/connector/bluesky/bluesky_items.h"

#include "base/json.h"
#include "engine/connector/item_json.h"

#define POST "app.bsky.feed.post"

/* --- addresses ---------------------------------------------------------- */

/* "/path" of an https URI, without its query; STR_NONE: it is none. */
static struct str
path_of(struct str uri)
{
	struct str scheme = STR("https://");

	if (!str_starts(uri, scheme))
		return STR_NONE;
	uri = str_from(uri, scheme.n);
	uri = str_from(uri, str_find_char(uri, '/'));
	return str_cut(uri, 0, str_find_char(uri, '?'));
}

static bool
recognises_feed(struct str uri, struct str content_type)
{
	(void)content_type;
	return str_eq(path_of(uri),
	    STR("/xrpc/app.bsky.feed.getAuthorFeed"));
}

/* Frames that were received stand in records of their own. */
static bool
recognises_jetstream(struct str uri, struct str content_type)
{
	struct str path = path_of(uri);

	return str_eq(content_type, STR("application/x-ndjson")) &&
	    (str_eq(path, STR("/subscribe")) || str_eq(path,
	    STR("/xrpc/network.bsky.jetstream.subscribeEvents")));
}

/* --- feeds -------------------------------------------------------------- */

static enum err
give_post(const struct connector_items *of, yyjson_val *entry, bool repaired,
    item_fn *fn, void *arg, struct why *w)
{
	yyjson_val *post = json_member(entry, "post");
	struct item i = { .of = of, .kind = ITEM_FOUND, .json = entry,
		.repaired = repaired,
		.id = json_text(json_member(post, "uri")),
		.owner = json_text(json_at(post, "author.did")) };

	if (i.id.n == 0) {
		i.kind = ITEM_BROKEN;
		i.lacks = "post.uri";
	}
	/* The first is what a client wrote, and may be anything. */
	if (!item_date_parse(json_text(json_at(post, "record.createdAt")),
	    &i.date))
		(void)item_date_parse(json_text(json_member(post,
		    "indexedAt")), &i.date);
	return fn(arg, &i, w);
}

static enum err
each_feed(const struct connector_items *of, const struct item_text *t,
    struct arena *a, item_fn *fn, void *arg, struct why *w)
{
	struct item_json j;
	yyjson_val *entry;
	size_t i, n;
	enum err e = item_json_parse(t->text, a, &j, w);

	if (e != OK)
		return e;
	yyjson_arr_foreach(json_member(j.root, "feed"), i, n, entry) {
		e = give_post(of, entry, j.repaired && i == 0, fn, arg, w);
		if (e != OK)
			return e;
	}
	return OK;
}

/* --- Jetstream ---------------------------------------------------------- */

yyjson_val *
bluesky_frame(yyjson_val *message)
{
	yyjson_val *payload = json_member(message, "payload");

	return yyjson_is_obj(payload) ? payload : message;
}

yyjson_val *
bluesky_commit(yyjson_val *frame)
{
	yyjson_val *commit = json_member(frame, "commit");

	return yyjson_is_obj(commit) ? commit : frame;
}

/* "commit" of `kind` in the first protocol, of `$type` in the second. */
bool
bluesky_is_kind(yyjson_val *frame, struct str kind)
{
	struct str type = json_text(json_member(frame, "$type"));
	size_t hash = str_find_char(type, '#');

	return str_eq(json_text(json_member(frame, "kind")), kind) ||
	    (type.n > 0 && str_eq(str_from(type, hash + 1), kind));
}

static enum err
give_commit(const struct connector_items *of, const struct item_json *j,
    yyjson_val *frame, struct arena *a, item_fn *fn, void *arg,
    struct why *w)
{
	yyjson_val *commit = bluesky_commit(frame);
	struct str operation = json_text(json_member(commit, "operation"));
	struct str did = json_text(json_member(frame, "did")), key =
	    json_text(json_member(commit, "rkey"));
	struct item i = { .of = of, .kind = ITEM_FOUND, .json = j->root,
		.repaired = j->repaired, .owner = did };

	if (!str_eq(json_text(json_member(commit, "collection")), STR(POST)))
		return OK;
	i.id = i.deletion = arena_printf(a, "at://%.*s/" POST "/%.*s",
	    STR_FMT(did), STR_FMT(key));
	if (did.n == 0 || key.n == 0) {
		i.kind = ITEM_BROKEN;
		i.lacks = "did";
	} else if (str_eq(operation, STR("delete"))) {
		i.kind = ITEM_DELETED;
	}
	yyjson_val *micros = json_member(frame, "time_us");
	if (!item_date_parse(json_text(json_at(commit, "record.createdAt")),
	    &i.date) && yyjson_is_int(micros))
		i.date = item_date_of_epoch(yyjson_get_sint(micros) /
		    US_PER_S);
	return fn(arg, &i, w);
}

static enum err
give_account(const struct connector_items *of, yyjson_val *frame,
    item_fn *fn, void *arg, struct why *w)
{
	yyjson_val *account = json_member(frame, "account");
	struct item i = { .of = of, .kind = ITEM_OWNER_DELETED, .json = frame,
		.owner = json_text(json_member(frame, "did")) };

	if (!yyjson_is_obj(account))
		account = frame;
	if (i.owner.n == 0 || !str_eq(json_text(json_member(account,
	    "status")), STR("deleted")))
		return OK;
	return fn(arg, &i, w);
}

static enum err
each_frame(const struct connector_items *of, const struct item_text *t,
    struct arena *a, item_fn *fn, void *arg, struct why *w)
{
	struct item_json j;
	enum err e = item_json_parse(t->text, a, &j, w);

	if (e != OK)
		return e;
	yyjson_val *frame = bluesky_frame(j.root);
	if (bluesky_is_kind(frame, STR("commit")))
		return give_commit(of, &j, frame, a, fn, arg, w);
	return bluesky_is_kind(frame, STR("account")) ?
	    give_account(of, frame, fn, arg, w) : OK;
}

const struct connector_items bluesky_feed_items = {
	.label = "bluesky posts",
	.framing = ITEM_FRAMING_DOCUMENT,
	.honours_deletes = true,
	.recognises = recognises_feed,
	.each = each_feed,
	.table = &bluesky_table,
};
const struct connector_items bluesky_jetstream_items = {
	.label = "bluesky posts",
	.framing = ITEM_FRAMING_LINES,
	.in_resources = true,
	.honours_deletes = true,
	.recognises = recognises_jetstream,
	.each = each_frame,
	.table = &bluesky_table,
};
