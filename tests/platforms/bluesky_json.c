/* Views and records of Bluesky: https://docs.bsky.app/docs/advanced-guides. */
#include <stdarg.h>

#include "tests/platforms/bluesky.h"

static const char *const phrases[] = {
	"A cat sat on the mat.", "\xe7\x8c\xab\xe3\x81\xaf\xe5\xaf\x9d\xe3\x82"
	"\x8b\xe3\x80\x82", "\xd7\x97\xd7\xaa\xd7\x95\xd7\x9c \xd7\xa2\xd7\x9c "
	"\xd7\x92\xd7\x92", "\xf0\x9f\x90\x88\xe2\x80\x8d\xe2\xac\x9b \xf0\x9f"
	"\xa6\x89", "e\xcc\x81 and \xc3\xa9", "<b> & \"x\"",
	"a tab\tand a \\ and a\nline", "line\xe2\x80\xa8separator", "=1+1",
	"nothing but words",
};

static void
put_date(struct buf *b, const char *name, struct wall when)
{
	char iso[WALL_ISO_MAX];

	/* To the millisecond. */
	wall_to_iso((struct wall){ when.us / 1000 * 1000 }, iso);
	iso[23] = 'Z';
	iso[24] = '\0';
	json_str(b, name, str_of(iso));
}

PRINTF_LIKE(3, 4) static void
put_text(struct buf *b, const char *name, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	/* Most of them are. */
	if (strcmp(fmt, "%s") == 0) {
		json_str(b, name, str_of(va_arg(ap, const char *)));
		va_end(ap);
		return;
	}
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_str(b, name, str_of(text));
}

static const struct bluesky_entry *
entry_at(size_t i)
{
	return &bluesky_world()->entries[i];
}

static const struct bluesky_account *
author_of(const struct bluesky_entry *e)
{
	return &bluesky_world()->accounts[e->account];
}

static void
put_uri(struct buf *b, const char *name, const struct bluesky_entry *e)
{
	FREED(buf_free) struct buf uri = BUF_INIT;

	bluesky_put_uri(&uri, e);
	json_str(b, name, buf_str(&uri));
}

/* ---- Accounts ---------------------------------------------------------- */

/* "{" and what all views of an account have. */
static void
begin_account(struct buf *b, const char *name, const struct bluesky_account *a)
{
	json_object(b, name);
	put_text(b, "did", "%s", a->did);
	put_text(b, "handle", "%s", a->handle);
	put_text(b, "displayName", "%s", a->display);
	put_text(b, "avatar", "https://cdn.bsky.app/img/avatar/plain/%s",
	    a->did);
	json_array(b, "labels");
	buf_put_text(b, "]");
	put_date(b, "createdAt", (struct wall){ INT64_C(1690000000) *
		US_PER_S });
}

void
bluesky_write_profile(struct buf *b, const struct bluesky_account *a)
{
	begin_account(b, NULL, a);
	put_text(b, "description", "I am %s.", a->handle);
	put_date(b, "indexedAt", (struct wall){ INT64_C(1700000000) *
		US_PER_S });
	json_u64(b, "followersCount", strlen(a->did) * 7);
	json_u64(b, "followsCount", strlen(a->handle));
	json_u64(b, "postsCount", a->posts_n);
	buf_put_text(b, "}");
}

/* ---- Records: what an author wrote ------------------------------------- */

/* Where a post stands, and its content. */
static void
put_reference(struct buf *b, const char *name, const struct bluesky_entry *e)
{
	json_object(b, name);
	put_text(b, "cid", "%s", e->cid);
	put_uri(b, "uri", e);
	buf_put_text(b, "}");
}

static void
put_blob(struct buf *b, const char *name, const struct bluesky_entry *e,
    const char *type)
{
	json_object(b, name);
	put_text(b, "$type", "blob");
	json_object(b, "ref");
	put_text(b, "$link", "bafkrei%s", e->cid + 7);
	buf_put_text(b, "}");
	put_text(b, "mimeType", "%s", type);
	json_u64(b, "size", e->look % 900000);
	buf_put_text(b, "}");
}

static void
put_media_record(struct buf *b, const char *name,
    const struct bluesky_entry *e)
{
	json_object(b, name);
	if (e->card) {
		put_text(b, "$type", "app.bsky.embed.external");
		json_object(b, "external");
		put_text(b, "uri", "https://news.example/%llu?a=1&b=2",
		    (unsigned long long)e->look);
		put_text(b, "title", "News of the day");
		put_text(b, "description", "%s", "");
		buf_put_text(b, "}");
	} else if (e->video) {
		put_text(b, "$type", "app.bsky.embed.video");
		put_blob(b, "video", e, "video/mp4");
	} else {
		put_text(b, "$type", "app.bsky.embed.images");
		json_array(b, "images");
		for (unsigned i = 0; i < e->images; i++) {
			json_object(b, NULL);
			put_text(b, "alt", "%s", i == 0 ? "a cat" : "");
			put_blob(b, "image", e, "image/jpeg");
			buf_put_text(b, "}");
		}
		buf_put_text(b, "]");
	}
	buf_put_text(b, "}");
}

static bool
has_media(const struct bluesky_entry *e)
{
	return e->images > 0 || e->card || e->video;
}

static void
put_quote_record(struct buf *b, const char *name,
    const struct bluesky_entry *e)
{
	json_object(b, name);
	put_text(b, "$type", "app.bsky.embed.record");
	put_reference(b, "record", entry_at(e->quote));
	buf_put_text(b, "}");
}

static void
put_embed_record(struct buf *b, const struct bluesky_entry *e)
{
	if (e->quote == BLUESKY_NONE && has_media(e)) {
		put_media_record(b, "embed", e);
	} else if (e->quote != BLUESKY_NONE && !has_media(e)) {
		put_quote_record(b, "embed", e);
	} else if (e->quote != BLUESKY_NONE) {
		json_object(b, "embed");
		put_text(b, "$type", "app.bsky.embed.recordWithMedia");
		put_quote_record(b, "record", e);
		put_media_record(b, "media", e);
		buf_put_text(b, "}");
	}
}

static void
put_post_text(struct buf *b, const struct bluesky_entry *e, uint64_t big)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	uint64_t look = e->look;

	for (unsigned n = 1 + look % 4; n > 0; n--)
		buf_printf(&text, "%s ", phrases[random_next(&look) %
		    ARRAY_LEN(phrases)]);
	if (big > 0)
		memset(buf_grow(&text, big), 'x', big);
	json_str(b, "text", buf_str(&text));
}

void
bluesky_write_record(struct buf *b, const char *name,
    const struct bluesky_entry *e, uint64_t big)
{
	bool repost = e->repost_of != BLUESKY_NONE;

	json_object(b, name);
	put_text(b, "$type", "%s", repost ? BLUESKY_REPOSTS : BLUESKY_POSTS);
	put_date(b, "createdAt", e->created);
	if (repost) {
		put_reference(b, "subject", entry_at(e->repost_of));
		buf_put_text(b, "}");
		return;
	}
	put_post_text(b, e, big);
	if (e->look % 3 > 0) {
		json_array(b, "langs");
		json_item(b, e->look % 3 == 1 ? STR("en") : STR("de"));
		buf_put_text(b, "]");
	}
	if (e->reply_to != BLUESKY_NONE) {
		json_object(b, "reply");
		put_reference(b, "parent", entry_at(e->reply_to));
		put_reference(b, "root", entry_at(e->root));
		buf_put_text(b, "}");
	}
	put_embed_record(b, e);
	buf_put_text(b, "}");
}

/* ---- Views: how the server shows it ------------------------------------ */

static void
put_media_view(struct buf *b, const char *name, const struct bluesky_entry *e)
{
	const char *did = author_of(e)->did;

	json_object(b, name);
	if (e->card) {
		put_text(b, "$type", "app.bsky.embed.external#view");
		json_object(b, "external");
		put_text(b, "uri", "https://news.example/%llu?a=1&b=2",
		    (unsigned long long)e->look);
		put_text(b, "title", "News of the day");
		put_text(b, "description", "%s", "");
		buf_put_text(b, "}");
	} else if (e->video) {
		put_text(b, "$type", "app.bsky.embed.video#view");
		put_text(b, "cid", "bafkrei%s", e->cid + 7);
		put_text(b, "playlist", "https://video.bsky.app/watch/%s/%s/"
		    "playlist.m3u8", did, e->rkey);
	} else {
		put_text(b, "$type", "app.bsky.embed.images#view");
		json_array(b, "images");
		for (unsigned i = 0; i < e->images; i++) {
			json_object(b, NULL);
			put_text(b, "thumb", "https://cdn.bsky.app/img/"
			    "feed_thumbnail/plain/%s/%s-%u", did, e->rkey, i);
			put_text(b, "fullsize", "https://cdn.bsky.app/img/"
			    "feed_fullsize/plain/%s/%s-%u", did, e->rkey, i);
			put_text(b, "alt", "%s", i == 0 ? "a cat" : "");
			buf_put_text(b, "}");
		}
		buf_put_text(b, "]");
	}
	buf_put_text(b, "}");
}

static void
put_quote_view(struct buf *b, const char *name, const struct bluesky_entry *e)
{
	const struct bluesky_entry *other = entry_at(e->quote);

	json_object(b, name);
	put_text(b, "$type", "app.bsky.embed.record#view");
	json_object(b, "record");
	put_uri(b, "uri", other);
	if (other->deleted) {
		put_text(b, "$type", "app.bsky.embed.record#viewNotFound");
		json_bool(b, "notFound", true);
	} else {
		put_text(b, "$type", "app.bsky.embed.record#viewRecord");
		put_text(b, "cid", "%s", other->cid);
		begin_account(b, "author", author_of(other));
		buf_put_text(b, "}");
		bluesky_write_record(b, "value", other, 0);
		put_date(b, "indexedAt", other->indexed);
	}
	buf_put_text(b, "}}");
}

static void
put_embed_view(struct buf *b, const struct bluesky_entry *e)
{
	if (e->quote == BLUESKY_NONE && has_media(e)) {
		put_media_view(b, "embed", e);
	} else if (e->quote != BLUESKY_NONE && !has_media(e)) {
		put_quote_view(b, "embed", e);
	} else if (e->quote != BLUESKY_NONE) {
		json_object(b, "embed");
		put_text(b, "$type", "app.bsky.embed.recordWithMedia#view");
		put_quote_view(b, "record", e);
		put_media_view(b, "media", e);
		buf_put_text(b, "}");
	}
}

static void
put_post(struct buf *b, const char *name, const struct bluesky_entry *e,
    uint64_t big)
{
	json_object(b, name);
	put_uri(b, "uri", e);
	put_text(b, "cid", "%s", e->cid);
	begin_account(b, "author", author_of(e));
	buf_put_text(b, "}");
	bluesky_write_record(b, "record", e, big);
	put_embed_view(b, e);
	json_u64(b, "replyCount", e->look % 5);
	json_u64(b, "repostCount", e->look % 11);
	json_u64(b, "likeCount", e->look % 31);
	json_u64(b, "quoteCount", e->look % 3);
	put_date(b, "indexedAt", e->indexed);
	json_array(b, "labels");
	buf_put_text(b, "]}");
}

/* A post of a thread, unless it is gone. */
static void
put_thread_post(struct buf *b, const char *name, const struct bluesky_entry *e)
{
	if (!e->deleted) {
		put_post(b, name, e, 0);
		/* A union says what it is. */
		b->n--;
		put_text(b, "$type", "app.bsky.feed.defs#postView");
	} else {
		json_object(b, name);
		put_text(b, "$type", "app.bsky.feed.defs#notFoundPost");
		put_uri(b, "uri", e);
		json_bool(b, "notFound", true);
	}
	buf_put_text(b, "}");
}

static void
put_reason(struct buf *b, const struct bluesky_entry *e, bool pinned)
{
	if (pinned) {
		json_object(b, "reason");
		put_text(b, "$type", "app.bsky.feed.defs#reasonPin");
		buf_put_text(b, "}");
	} else if (e->repost_of != BLUESKY_NONE) {
		json_object(b, "reason");
		put_text(b, "$type", "app.bsky.feed.defs#reasonRepost");
		begin_account(b, "by", author_of(e));
		buf_put_text(b, "}");
		put_uri(b, "uri", e);
		put_date(b, "indexedAt", e->indexed);
		buf_put_text(b, "}");
	}
}

void
bluesky_write_entry(struct buf *b, const struct bluesky_entry *e, bool pinned,
    uint64_t big)
{
	const struct bluesky_entry *post = e->repost_of != BLUESKY_NONE ?
	    entry_at(e->repost_of) : e;

	json_object(b, NULL);
	put_post(b, "post", post, big);
	if (post->reply_to != BLUESKY_NONE) {
		json_object(b, "reply");
		put_thread_post(b, "root", entry_at(post->root));
		put_thread_post(b, "parent", entry_at(post->reply_to));
		buf_put_text(b, "}");
	}
	put_reason(b, e, pinned);
	buf_put_text(b, "}");
}
