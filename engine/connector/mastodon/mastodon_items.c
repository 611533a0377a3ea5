#include "engine/connector/mastodon/mastodon_items.h"

#include "base/json.h"
#include "engine/connector/item_html.h"
#include "engine/connector/item_json.h"

/* --- addresses ---------------------------------------------------------- */

/* Split "https://host/path?query"; false: it is no such URI. */
static bool
split_uri(struct str uri, struct str *host, struct str *path)
{
	struct str scheme = STR("https://");

	if (!str_starts(uri, scheme))
		return false;
	uri = str_from(uri, scheme.n);
	size_t slash = str_find_char(uri, '/');
	*host = str_cut(uri, 0, slash);
	uri = str_from(uri, slash);
	*path = str_cut(uri, 0, str_find_char(uri, '?'));
	return host->n > 0;
}

static bool
recognises(struct str uri, struct str content_type)
{
	struct str host, path;

	(void)content_type;
	if (!split_uri(uri, &host, &path))
		return false;
	return str_starts(path, STR("/api/v1/timelines/")) ||
	    (str_starts(path, STR("/api/v1/accounts/")) &&
	    str_ends(path, STR("/statuses")));
}

static bool
recognises_stream(struct str uri, struct str content_type)
{
	struct str host, path;

	(void)content_type;
	return split_uri(uri, &host, &path) &&
	    str_starts(path, STR("/api/v1/streaming"));
}

/* --- items -------------------------------------------------------------- */

/* Deletions name a status by its number on the server that was asked. */
static struct str
local_id(const struct item_text *t, struct str id, struct arena *a)
{
	struct str host, path;

	return id.n > 0 && split_uri(t->uri, &host, &path) ?
	    arena_printf(a, "%.*s %.*s", STR_FMT(host), STR_FMT(id)) :
	    STR("");
}

static enum err
give_status(const struct connector_items *of, const struct item_text *t,
    yyjson_val *status, bool repaired, struct arena *a, item_fn *fn,
    void *arg, struct why *w)
{
	struct item i = { .of = of, .kind = ITEM_FOUND, .json = status,
		.repaired = repaired,
		.id = json_text(json_member(status, "uri")),
		.owner = json_id(json_at(status, "account.id"), a),
		.deletion = local_id(t, json_id(json_member(status, "id"), a),
		    a) };

	if (i.id.n == 0) {
		i.kind = ITEM_BROKEN;
		i.lacks = "uri";
	}
	(void)item_date_parse(json_text(json_member(status, "created_at")),
	    &i.date);
	return fn(arg, &i, w);
}

/* An error is an object. */
static enum err
each(const struct connector_items *of, const struct item_text *t,
    struct arena *a, item_fn *fn, void *arg, struct why *w)
{
	struct item_json j;
	yyjson_val *status;
	size_t i, n;
	enum err e = item_json_parse(t->text, a, &j, w);

	if (e != OK)
		return e;
	yyjson_arr_foreach(j.root, i, n, status) {
		e = give_status(of, t, status, j.repaired && i == 0, a, fn,
		    arg, w);
		if (e != OK)
			return e;
	}
	return OK;
}

/*
 * The fields of an event: several lines of data are joined by line ends, and
 * comments are left out.
 */
static void
read_event(struct str text, struct str *event, struct buf *data)
{
	struct str line;

	*event = STR("");
	while (str_split(&text, '\n', &line)) {
		size_t colon = str_find_char(line, ':');
		struct str name = str_cut(line, 0, colon), value =
		    str_trim(str_from(line, colon + 1));
		if (str_eq(name, STR("event"))) {
			*event = value;
		} else if (str_eq(name, STR("data"))) {
			if (data->n > 0)
				buf_put_char(data, '\n');
			buf_put_str(data, value);
		}
	}
}

static enum err
give_event(const struct connector_items *of, const struct item_text *t,
    struct str event, struct str data, struct arena *a, item_fn *fn,
    void *arg, struct why *w)
{
	struct item_json j;

	if (str_eq(event, STR("delete"))) {
		struct item i = { .of = of, .kind = ITEM_DELETED,
			.deletion = local_id(t, str_trim(data), a) };
		return i.deletion.n > 0 ? fn(arg, &i, w) : OK;
	}
	if (!str_eq(event, STR("update")) &&
	    !str_eq(event, STR("status.update")))
		return OK;
	enum err e = item_json_parse(data, a, &j, w);
	return e == OK ? give_status(of, t, j.root, j.repaired, a, fn, arg,
	    w) : e;
}

static enum err
each_event(const struct connector_items *of, const struct item_text *t,
    struct arena *a, item_fn *fn, void *arg, struct why *w)
{
	FREED(buf_free) struct buf data = BUF_INIT;
	struct str event;

	read_event(t->text, &event, &data);
	return give_event(of, t, event, buf_str(&data), a, fn, arg, w);
}

/* --- columns ------------------------------------------------------------ */

/* What is said: by the status, or by the one that it passes on. */
enum { STATUS, SAID, REBLOG };

static void
prepare_status(struct row *r)
{
	yyjson_val *reblog = json_member(r->item->json, "reblog");

	r->part[STATUS] = r->item->json;
	r->part[REBLOG] = yyjson_is_obj(reblog) ? reblog : NULL;
	r->part[SAID] = r->part[REBLOG] != NULL ? reblog : r->item->json;
}

static void
fill_status(struct row *r, const struct column *c, struct cell *cell)
{
	cell_value(cell, json_at(r->part[STATUS], c->at));
}

static void
fill_said(struct row *r, const struct column *c, struct cell *cell)
{
	cell_value(cell, json_member(r->part[SAID], c->at));
}

static void
fill_line(struct row *r, const struct column *c, struct cell *cell)
{
	cell_line(r, json_at(r->part[STATUS], c->at), true, cell);
}

static void
fill_said_line(struct row *r, const struct column *c, struct cell *cell)
{
	cell_line(r, json_member(r->part[SAID], c->at), true, cell);
}

static void
fill_reblog(struct row *r, const struct column *c, struct cell *cell)
{
	cell_value(cell, json_at(r->part[REBLOG], c->at));
}

static void
fill_date(struct row *r, const struct column *c, struct cell *cell)
{
	yyjson_val *v = json_member(r->part[STATUS], c->at);

	if (item_date_parse(json_text(v), &cell->date))
		cell->type = CELL_DATE;
	else if (!yyjson_is_null(v))
		row_lacks(r, c->at);
}

/* Only of a status that was edited. */
static void
fill_edited(struct row *r, const struct column *c, struct cell *cell)
{
	if (item_date_parse(json_text(json_member(r->part[STATUS], c->at)),
	    &cell->date))
		cell->type = CELL_DATE;
}

static void
fill_text(struct row *r, const struct column *c, struct cell *cell)
{
	struct str html = json_text(json_member(r->part[SAID], c->at));

	if (html.p == NULL) {
		row_lacks(r, c->at);
		return;
	}
	buf_clear(r->scratch);
	item_html_put_text(html, r->scratch);
	cell_scratch(r, cell);
}

/* `at`: a list of the status, and the member of each that is joined. */
static void
fill_list(struct row *r, const struct column *c, struct cell *cell)
{
	struct str list, member = str_of(c->at);
	yyjson_val *v;
	size_t i, n;

	(void)str_split(&member, '.', &list);
	buf_clear(r->scratch);
	yyjson_arr_foreach(yyjson_obj_getn(r->part[SAID], list.p, list.n), i,
	    n, v) {
		struct str s = json_text(yyjson_obj_getn(v, member.p,
		    member.n));
		if (s.n > 0 && r->scratch->n > 0)
			buf_put_char(r->scratch, ' ');
		buf_put_str(r->scratch, s);
	}
	cell_scratch(r, cell);
}

/* Links in the text that are no mentions and no hashtags. */
static void
fill_urls(struct row *r, const struct column *c, struct cell *cell)
{
	FREED(buf_free) struct buf href = BUF_INIT;
	struct str html = json_text(json_member(r->part[SAID], c->at)),
	    classes;

	buf_clear(r->scratch);
	while (item_html_take_link(&html, &href, &classes)) {
		if (str_find(classes, STR("mention")) == classes.n &&
		    str_find(classes, STR("hashtag")) == classes.n) {
			if (r->scratch->n > 0)
				buf_put_char(r->scratch, ' ');
			buf_put_str(r->scratch, buf_str(&href));
		}
		buf_clear(&href);
	}
	cell_scratch(r, cell);
}

static const struct column columns[] = {
	{ "uri", "the post's address in the fediverse: the same on every "
	    "server", fill_status, "uri" },
	{ "created_at", "when it was posted, in UTC", fill_date,
	    "created_at" },
	{ "edited_at", "when it was last edited", fill_edited, "edited_at" },
	{ "url", "the address of its page", fill_status, "url" },
	{ "account_id", "its author's number on the server that was asked",
	    fill_status, "account.id" },
	{ "account_acct", "its author's name, with a server where that is "
	    "another", fill_status, "account.acct" },
	{ "account_display_name", "the name that its author shows",
	    fill_line, "account.display_name" },
	{ "account_followers_count", "how many accounts follow its author",
	    fill_status, "account.followers_count" },
	{ "text", "its text without markup, in one line; of a reblog this "
	    "and what follows are the original's, but for visibility and "
	    "replies", fill_text, "content" },
	{ "content", "its text as HTML", fill_said_line, "content" },
	{ "spoiler_text", "the warning before its text", fill_said_line,
	    "spoiler_text" },
	{ "language", "its language, as its author said", fill_said,
	    "language" },
	{ "visibility", "public, unlisted, private or direct", fill_status,
	    "visibility" },
	{ "sensitive", "whether its media are hidden at first", fill_said,
	    "sensitive" },
	{ "in_reply_to_id", "the post that it answers, on the server that "
	    "was asked", fill_status, "in_reply_to_id" },
	{ "in_reply_to_account_id", "the account that it answers",
	    fill_status, "in_reply_to_account_id" },
	{ "reblog_uri", "the post that it passes on", fill_reblog, "uri" },
	{ "reblog_acct", "whose post that is", fill_reblog,
	    "account.acct" },
	{ "hashtags", "its hashtags", fill_list, "tags.name" },
	{ "mentions", "whom it mentions", fill_list, "mentions.acct" },
	{ "urls", "addresses that it links to", fill_urls, "content" },
	{ "media_urls", "addresses of its images, videos and sounds",
	    fill_list, "media_attachments.url" },
	{ "replies_count", "how many replies the server knows", fill_said,
	    "replies_count" },
	{ "reblogs_count", "how often it was passed on", fill_said,
	    "reblogs_count" },
	{ "favourites_count", "how many like it", fill_said,
	    "favourites_count" },
};
static const struct item_table table = {
	.dialect = TABLE_PETL,
	.columns = columns,
	.columns_n = ARRAY_LEN(columns),
	.prepare = prepare_status,
};

const struct connector_items mastodon_items = {
	.label = "mastodon posts",
	.framing = ITEM_FRAMING_DOCUMENT,
	.recognises = recognises,
	.each = each,
	.table = &table,
};
const struct connector_items mastodon_stream_items = {
	.label = "mastodon posts",
	.framing = ITEM_FRAMING_EVENTS,
	.honours_deletes = true,
	.recognises = recognises_stream,
	.each = each_event,
	.table = &table,
};
