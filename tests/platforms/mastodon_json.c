/* Entities of Mastodon's API: https://docs.joinmastodon.org/entities/. */
#include "tests/platforms/mastodon.h"

static const char *const phrases[] = {
	"A cat sat on the mat.", "\xe7\x8c\xab\xe3\x81\xaf\xe5\xaf\x9d\xe3\x82"
	"\x8b\xe3\x80\x82", "\xd7\x97\xd7\xaa\xd7\x95\xd7\x9c \xd7\xa2\xd7\x9c "
	"\xd7\x92\xd7\x92", "\xf0\x9f\x90\x88\xe2\x80\x8d\xe2\xac\x9b \xf0\x9f"
	"\xa6\x89", "e\xcc\x81 and \xc3\xa9", "&lt;b&gt; &amp; &quot;x&quot;",
	"a tab\tand a \\ and a \"quote\"", "line\xe2\x80\xa8separator",
	"=1+1", "nothing but <em>words</em>",
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

static void
put_id(struct buf *b, const char *name, uint64_t id)
{
	if (id == 0)
		json_null(b, name);
	else
		json_format(b, name, "%llu", (unsigned long long)id);
}

static const char *
home_of(const struct instance *x, const struct account *a)
{
	return a->remote ? REMOTE_HOST : x->host;
}

/* ---- Accounts ---------------------------------------------------------- */

void
write_account(struct buf *b, const char *name, const struct instance *x,
    const struct account *a)
{
	const char *home = home_of(x, a);

	json_object(b, name);
	put_id(b, "id", a->id);
	json_format(b, "username", "%s", a->name);
	json_format(b, "acct", "%s%s%s", a->name, a->remote ? "@" : "",
	    a->remote ? home : "");
	json_format(b, "display_name", "%s", a->suspended ? "" : a->display);
	json_bool(b, "locked", false);
	json_bool(b, "bot", false);
	json_bool(b, "discoverable", true);
	json_bool(b, "indexable", false);
	json_bool(b, "group", false);
	put_date(b, "created_at", (struct wall){ INT64_C(1600000000) *
		US_PER_S });
	json_format(b, "note", "%s%s%s", a->suspended ? "" : "<p>I am ",
	    a->suspended ? "" : a->name, a->suspended ? "" : "</p>");
	json_format(b, "url", "https://%s/@%s", home, a->name);
	json_format(b, "uri", "https://%s/users/%s", home, a->name);
	for (size_t i = 0; i < 4; i++) {
		static const char *const images[] = { "avatar",
			"avatar_static", "header", "header_static" };
		json_format(b, images[i], "https://%s/media/%s-%s.png", x->host,
		    a->name, images[i]);
	}
	json_u64(b, "followers_count", a->id % 1000);
	json_u64(b, "following_count", a->id % 77);
	json_u64(b, "statuses_count", a->posts_n);
	json_null(b, "last_status_at");
	if (a->suspended)
		json_bool(b, "suspended", true);
	json_array(b, "emojis");
	buf_put_text(b, "]");
	json_array(b, "fields");
	buf_put_text(b, "]}");
}

/* ---- Posts ------------------------------------------------------------- */

static void
put_content(struct buf *b, const struct instance *x, const struct post *p,
    uint64_t big)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	uint64_t look = p->look;

	buf_put_text(&text, "<p>");
	for (unsigned n = 1 + look % 4; n > 0; n--)
		buf_printf(&text, "%s<br />", phrases[random_next(&look) %
		    ARRAY_LEN(phrases)]);
	for (unsigned t = 0; t < TAGS_N; t++)
		if (p->tags & 1u << t)
			buf_printf(&text, " <a href=\"https://%s/tags/%s\" "
			    "class=\"mention hashtag\" rel=\"tag\">#<span>%s"
			    "</span></a>", x->host, tag_names[t],
			    tag_names[t]);
	if (big > 0)
		memset(buf_grow(&text, big), 'x', big);
	buf_put_text(&text, "</p>");
	json_str(b, "content", buf_str(&text));
}

static void
put_media(struct buf *b, const struct instance *x, const struct post *p)
{
	json_array(b, "media_attachments");
	for (unsigned i = 0; i < p->media; i++) {
		json_object(b, NULL);
		put_id(b, "id", p->id + i);
		json_format(b, "type", "image");
		json_format(b, "url", "https://%s/media/%llu-%u.jpeg", x->host,
		    (unsigned long long)p->id, i);
		json_format(b, "preview_url", "https://%s/small/%llu-%u.jpeg",
		    x->host, (unsigned long long)p->id, i);
		json_null(b, "remote_url");
		json_object(b, "meta");
		buf_put_text(b, "}");
		json_null(b, "description");
		json_null(b, "blurhash");
		buf_put_text(b, "}");
	}
	buf_put_text(b, "]");
}

static void
put_card(struct buf *b, const struct post *p)
{
	if (!p->card) {
		json_null(b, "card");
		return;
	}
	json_object(b, "card");
	json_format(b, "url", "https://news.example/%llu?a=1&b=2",
	    (unsigned long long)p->look);
	json_format(b, "title", "News of the day");
	json_format(b, "description", "%s", "");
	json_format(b, "type", "link");
	json_format(b, "author_name", "%s", "");
	json_format(b, "author_url", "%s", "");
	json_format(b, "provider_name", "News");
	json_format(b, "provider_url", "%s", "");
	json_format(b, "html", "%s", "");
	json_u64(b, "width", 0);
	json_u64(b, "height", 0);
	json_null(b, "image");
	json_format(b, "embed_url", "%s", "");
	json_null(b, "blurhash");
	buf_put_text(b, "}");
}

static void
put_tags(struct buf *b, const struct instance *x, const struct post *p)
{
	json_array(b, "tags");
	for (unsigned t = 0; t < TAGS_N; t++) {
		if (!(p->tags & 1u << t))
			continue;
		json_object(b, NULL);
		json_format(b, "name", "%s", tag_names[t]);
		json_format(b, "url", "https://%s/tags/%s", x->host,
		    tag_names[t]);
		buf_put_text(b, "}");
	}
	buf_put_text(b, "]");
}

static void
put_facts(struct buf *b, const struct instance *x, const struct post *p)
{
	const struct account *a = &x->accounts[p->account];
	const struct post *other = p->reply_to == 0 ? NULL :
	    world_post((struct instance *)x, p->reply_to);

	put_id(b, "id", p->id);
	put_date(b, "created_at", p->when);
	put_id(b, "in_reply_to_id", p->reply_to);
	put_id(b, "in_reply_to_account_id", other == NULL ? 0 :
	    x->accounts[other->account].id);
	json_bool(b, "sensitive", p->look % 20 == 0);
	json_format(b, "spoiler_text", "%s", p->look % 20 == 0 ? "cats" : "");
	json_format(b, "visibility", p->unlisted ? "unlisted" : "public");
	if (p->look % 3 == 0)
		json_null(b, "language");
	else
		json_format(b, "language", p->look % 3 == 1 ? "en" : "de");
	json_format(b, "uri", "https://%s/users/%s/statuses/%llu",
	    home_of(x, a), a->name, (unsigned long long)p->id);
	json_format(b, "url", "https://%s/@%s/%llu", home_of(x, a), a->name,
	    (unsigned long long)p->id);
	json_u64(b, "replies_count", p->look % 5);
	json_u64(b, "reblogs_count", p->look % 11);
	json_u64(b, "favourites_count", p->look % 31);
	if (p->edited.us != 0)
		put_date(b, "edited_at", p->edited);
	else
		json_null(b, "edited_at");
}

static void write_plain_post(struct buf *, const char *name,
    const struct instance *, const struct post *, uint64_t big);

static void
put_boosted(struct buf *b, const struct instance *x, const struct post *p)
{
	const struct post *other = p->boost_of == 0 ? NULL :
	    world_post((struct instance *)x, p->boost_of);

	if (other == NULL)
		json_null(b, "reblog");
	else
		write_plain_post(b, "reblog", x, other, 0);
}

static void
write_plain_post(struct buf *b, const char *name, const struct instance *x,
    const struct post *p, uint64_t big)
{
	json_object(b, name);
	put_facts(b, x, p);
	put_content(b, x, p, big);
	put_boosted(b, x, p);
	write_account(b, "account", x, &x->accounts[p->account]);
	put_media(b, x, p);
	json_array(b, "mentions");
	buf_put_text(b, "]");
	put_tags(b, x, p);
	json_array(b, "emojis");
	buf_put_text(b, "]");
	put_card(b, p);
	json_null(b, "poll");
	buf_put_text(b, "}");
}

void
write_post(struct buf *b, const struct instance *x, const struct post *p,
    uint64_t big)
{
	write_plain_post(b, NULL, x, p, big);
}

/* ---- The instance ------------------------------------------------------ */

static void
put_access(struct buf *b, const char *name, enum access local,
    enum access remote)
{
	static const char *const words[] = { "public", "authenticated",
		"disabled" };

	json_object(b, name);
	json_format(b, "local", "%s", words[local]);
	json_format(b, "remote", "%s", words[remote]);
	buf_put_text(b, "}");
}

void
write_instance(struct buf *b, const struct instance *x, int version)
{
	json_object(b, NULL);
	json_format(b, version == 1 ? "uri" : "domain", "%s", x->host);
	json_format(b, "title", "A simulated instance");
	json_format(b, "version", x->is_old ? "3.5.3" : "4.5.0");
	json_format(b, "description", "%s", "");
	json_array(b, "languages");
	buf_put_text(b, "\"en\"]");
	json_array(b, "rules");
	buf_put_text(b, "]");
	if (version == 2) {
		json_object(b, "api_versions");
		json_u64(b, "mastodon", 7);
		buf_put_text(b, "}");
		json_object(b, "configuration");
		json_object(b, "urls");
		json_format(b, "streaming", "wss://%s", x->host);
		buf_put_text(b, "}");
		json_object(b, "timelines_access");
		put_access(b, "live_feeds", x->local, x->remote);
		put_access(b, "hashtag_feeds", x->local, x->remote);
		put_access(b, "trending_link_feeds", x->local, x->remote);
		buf_put_text(b, "}");
		json_bool(b, "limited_federation", x->is_private);
		buf_put_text(b, "}");
	}
	buf_put_text(b, "}");
}
