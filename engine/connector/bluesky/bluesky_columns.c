/*
 * The table of Bluesky's posts.  A feed's entry has the post as a server shows
 * it; a frame of Jetstream only what its author wrote, and the cells of the
 * rest are empty.
 */
#include "base/json.h"
#include "engine/connector/bluesky/bluesky_items.h"

enum { POST, RECORD, REASON, COMMIT, FRAME };

static void
prepare_post(struct row *r)
{
	yyjson_val *json = r->item->json, *post = json_member(json, "post");
	yyjson_val *reason = json_member(json, "reason");

	r->part[POST] = post;
	r->part[RECORD] = json_member(post, "record");
	/* A post that its author has pinned is no repost. */
	if (json_member(reason, "by") != NULL)
		r->part[REASON] = reason;
	if (post != NULL)
		return;
	r->part[FRAME] = bluesky_frame(json);
	r->part[COMMIT] = bluesky_commit(r->part[FRAME]);
	r->part[RECORD] = json_member(r->part[COMMIT], "record");
}

/* --- cells -------------------------------------------------------------- */

static void
fill_uri(struct row *r, const struct column *c, struct cell *cell)
{
	(void)c;
	cell_text(cell, r->item->id);
}

static void
fill_cid(struct row *r, const struct column *c, struct cell *cell)
{
	cell_value(cell, json_member(r->part[POST] != NULL ? r->part[POST] :
	    r->part[COMMIT], c->at));
}

static void
fill_post(struct row *r, const struct column *c, struct cell *cell)
{
	cell_value(cell, json_at(r->part[POST], c->at));
}

static void
fill_post_line(struct row *r, const struct column *c, struct cell *cell)
{
	cell_line(r, json_at(r->part[POST], c->at), true, cell);
}

static void
fill_record(struct row *r, const struct column *c, struct cell *cell)
{
	cell_value(cell, json_at(r->part[RECORD], c->at));
}

static void
fill_text(struct row *r, const struct column *c, struct cell *cell)
{
	yyjson_val *text = json_member(r->part[RECORD], c->at);

	if (text == NULL)
		row_lacks(r, c->at);
	cell_line(r, text, true, cell);
}

static void
fill_date(yyjson_val *v, struct cell *cell)
{
	if (item_date_parse(json_text(v), &cell->date))
		cell->type = CELL_DATE;
}

/* Its author's clock, or program, may write what is no date. */
static void
fill_created(struct row *r, const struct column *c, struct cell *cell)
{
	fill_date(json_member(r->part[RECORD], c->at), cell);
	if (cell->type != CELL_DATE)
		row_lacks(r, c->at);
}

static void
fill_indexed(struct row *r, const struct column *c, struct cell *cell)
{
	fill_date(json_member(r->part[POST], c->at), cell);
}

static void
fill_reason(struct row *r, const struct column *c, struct cell *cell)
{
	cell_value(cell, json_at(r->part[REASON], c->at));
}

static void
fill_reposted(struct row *r, const struct column *c, struct cell *cell)
{
	fill_date(json_member(r->part[REASON], c->at), cell);
}

static void
fill_did(struct row *r, const struct column *c, struct cell *cell)
{
	(void)c;
	if (r->item->owner.n > 0)
		cell_text(cell, r->item->owner);
}

/*
 * The last part of the post's address, below its author's page.  A server that
 * cannot confirm a handle sends one that leads nowhere.
 */
static void
fill_url(struct row *r, const struct column *c, struct cell *cell)
{
	struct str handle = json_text(json_at(r->part[POST], c->at));
	bool leads = handle.n > 0 && !str_eq(handle, STR("handle.invalid"));
	struct str who = leads ? handle : r->item->owner;
	struct str key = r->item->id;

	for (size_t slash; (slash = str_find_char(key, '/')) < key.n;)
		key = str_from(key, slash + 1);
	if (who.n > 0 && key.n > 0)
		cell_text(cell, arena_printf(r->arena,
		    "https://bsky.app/profile/%.*s/post/%.*s", STR_FMT(who),
		    STR_FMT(key)));
}

/* Whether "at://DID/COLLECTION/KEY" is a post's address. */
static bool
is_post(struct str uri)
{
	struct str scheme = STR("at://"), rest = str_from(uri, scheme.n);

	return str_starts(uri, scheme) && str_starts(str_from(rest,
	    str_find_char(rest, '/') + 1), STR("app.bsky.feed.post/"));
}

/*
 * The post that is quoted, alone or beside media.  Feeds, lists and the like
 * are embedded in the same way.
 */
static void
fill_quoted(struct row *r, const struct column *c, struct cell *cell)
{
	yyjson_val *record = json_at(r->part[RECORD], c->at);
	yyjson_val *inner = json_member(record, "record");
	yyjson_val *uri = json_member(yyjson_is_obj(inner) ? inner : record,
	    "uri");

	if (is_post(json_text(uri)))
		cell_value(cell, uri);
}

/* --- lists -------------------------------------------------------------- */

static void
join(struct row *r, struct str s)
{
	if (s.n > 0 && r->scratch->n > 0)
		buf_put_char(r->scratch, ' ');
	buf_put_str(r->scratch, s);
}

static void
join_list(struct row *r, yyjson_val *list, const char *member)
{
	yyjson_val *v;
	size_t i, n;

	yyjson_arr_foreach(list, i, n, v)
		join(r, json_text(member == NULL ? v : json_member(v,
		    member)));
}

#define FEATURE "app.bsky.richtext.facet#"

/*
 * The member (tag, did or uri) of all facets of that type.  Other programs
 * write facets of their own types, which may have members of the same names.
 */
static void
join_facets(struct row *r, struct str type, const char *member)
{
	yyjson_val *facet, *feature;
	size_t i, n, k, count;

	yyjson_arr_foreach(json_member(r->part[RECORD], "facets"), i, n,
	    facet)
		yyjson_arr_foreach(json_member(facet, "features"), k, count,
		    feature)
			if (str_eq(json_text(json_member(feature, "$type")),
			    type))
				join(r, json_text(json_member(feature,
				    member)));
}

static void
fill_langs(struct row *r, const struct column *c, struct cell *cell)
{
	buf_clear(r->scratch);
	join_list(r, json_member(r->part[RECORD], c->at), NULL);
	cell_scratch(r, cell);
}

static void
fill_hashtags(struct row *r, const struct column *c, struct cell *cell)
{
	buf_clear(r->scratch);
	join_facets(r, STR(FEATURE "tag"), c->at);
	/* Some are not in the text. */
	join_list(r, json_member(r->part[RECORD], "tags"), NULL);
	cell_scratch(r, cell);
}

static void
fill_mentions(struct row *r, const struct column *c, struct cell *cell)
{
	buf_clear(r->scratch);
	join_facets(r, STR(FEATURE "mention"), c->at);
	cell_scratch(r, cell);
}

/* The media or the card of a post, which may quote another post as well. */
static yyjson_val *
embedded(yyjson_val *embed)
{
	yyjson_val *beside = json_member(embed, "media");

	return yyjson_is_obj(beside) ? beside : embed;
}

/* Whether the word is in a list that is separated by blanks. */
static bool
has_word(struct str list, struct str word)
{
	while (list.n > 0) {
		size_t n = str_find_char(list, ' ');
		if (str_eq(str_cut(list, 0, n), word))
			return true;
		list = str_from(list, n + 1);
	}
	return false;
}

static void
fill_urls(struct row *r, const struct column *c, struct cell *cell)
{
	struct str card = json_text(json_at(embedded(json_member(
	    r->part[RECORD], "embed")), "external.uri"));

	buf_clear(r->scratch);
	join_facets(r, STR(FEATURE "link"), c->at);
	/* The card below the text is often of a link in it. */
	if (!has_word(buf_str(r->scratch), card))
		join(r, card);
	cell_scratch(r, cell);
}

/* Images, in either of two forms, or a video, as the server shows them. */
static void
fill_media(struct row *r, const struct column *c, struct cell *cell)
{
	yyjson_val *embed = embedded(json_member(r->part[POST], c->at));

	if (r->part[POST] == NULL)
		return;
	buf_clear(r->scratch);
	join_list(r, json_member(embed, "images"), "fullsize");
	join_list(r, json_member(embed, "items"), "fullsize");
	join(r, json_text(json_member(embed, "playlist")));
	cell_scratch(r, cell);
}

static const struct column columns[] = {
	{ "uri", "the post's address in the network", fill_uri, NULL },
	{ "cid", "the hash of its content", fill_cid, "cid" },
	{ "created_at", "when it was written, as its author's program says",
	    fill_created, "createdAt" },
	{ "indexed_at", "when the server saw it first", fill_indexed,
	    "indexedAt" },
	{ "post_url", "the address of its page", fill_url,
	    "author.handle" },
	{ "author_did", "its author's lasting id", fill_did, NULL },
	{ "author_handle", "its author's name", fill_post,
	    "author.handle" },
	{ "author_display_name", "the name that its author shows",
	    fill_post_line, "author.displayName" },
	{ "text", "its text; line ends are blanks", fill_text, "text" },
	{ "langs", "its languages, as its author said", fill_langs,
	    "langs" },
	{ "reply_parent_uri", "the post that it answers", fill_record,
	    "reply.parent.uri" },
	{ "reply_root_uri", "the post that began the thread", fill_record,
	    "reply.root.uri" },
	{ "quoted_uri", "the post that it quotes", fill_quoted,
	    "embed.record" },
	{ "reposted_by_did", "who passed it on, where the feed has it for "
	    "that", fill_reason, "by.did" },
	{ "reposted_at", "when", fill_reposted, "indexedAt" },
	{ "hashtags", "its hashtags", fill_hashtags, "tag" },
	{ "mentions", "ids of those whom it mentions", fill_mentions,
	    "did" },
	{ "urls", "addresses that it links to", fill_urls, "uri" },
	{ "media_urls", "addresses of its images and its video", fill_media,
	    "embed" },
	{ "reply_count", "how many replies it has", fill_post,
	    "replyCount" },
	{ "repost_count", "how often it was passed on", fill_post,
	    "repostCount" },
	{ "like_count", "how many like it", fill_post, "likeCount" },
	{ "quote_count", "how often it was quoted", fill_post,
	    "quoteCount" },
};

const struct item_table bluesky_table = {
	.dialect = TABLE_PETL,
	.columns = columns,
	.columns_n = ARRAY_LEN(columns),
	.prepare = prepare_post,
};
