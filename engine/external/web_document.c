#include "engine/external/web_document.h"

#include "base/json_writer.h"
#include "engine/parser/parse.h"

static void
put_text(struct buf *out, const char *name, struct str s)
{
	if (s.n > 0)
		json_str(out, name, s);
	else
		json_null(out, name);
}

/* To the second; null where the time is not known. */
static void
put_time(struct buf *out, const char *name, struct wall t)
{
	char iso[WALL_ISO_MAX], text[WALL_ISO_MAX];

	wall_to_iso(t, iso);
	snprintf(text, sizeof(text), "%.19sZ", iso);
	if (t.us == 0)
		json_null(out, name);
	else
		json_str(out, name, str_of(text));
}

/* That of the page, else the first one of the header. */
static struct str
find_language(const struct web_document_page *page,
    const struct parse_output *found)
{
	struct str first = str_trim(str_cut(page->content_language, 0,
	    str_find_char(page->content_language, ',')));

	if (found->lang.n > 0)
		return found->lang;
	return first.n <= PARSE_LANG_BYTES_MAX ? first : STR_NONE;
}

/* To other pages; a link's fragment is a place in its page. */
static void
put_links(const struct parse_output *found, struct buf *out)
{
	size_t n = 0, bytes = 0;

	json_array(out, "links");
	for (size_t i = 0; i < found->links_n &&
	    n < WEB_DOCUMENT_LINKS_MAX; i++) {
		const struct url *u = &found->links[i].url;
		struct str link = str_cut(u->href, 0,
		    u->href.n - u->fragment.n);
		if (found->links[i].kind != LINK_PAGE)
			continue;
		bytes += link.n;
		if (bytes > WEB_DOCUMENT_LINKS_BYTES_MAX)
			break;
		json_item(out, link);
		n++;
	}
	buf_put_char(out, ']');
}

static void
put_document(const struct web_document_page *page, const struct url *url,
    const struct parse_output *found, struct buf *out)
{
	json_object(out, NULL);
	json_str(out, "id", page->id);
	json_str(out, "url", url->href);
	put_text(out, "title", found->title);
	json_str(out, "text", found->text);
	put_text(out, "language", find_language(page, found));
	put_links(found, out);
	put_time(out, "published", found->published);
	put_time(out, "modified", found->modified);
	put_time(out, "fetched", page->fetched);
	json_u64(out, "status", page->status);
	buf_put_char(out, '}');
}

enum err
web_document_put(struct parser *parser, const struct web_document_page *page,
    struct buf *out, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct parse_output found;
	struct url url;

	enum err e = url_parse(page->url.n > 0 ? page->url : page->id, NULL,
	    &a, &url, w);
	if (e != OK)
		return e;
	const struct parse_input in = { .body = page->body, .url = &url,
	    .content_type = page->content_type, .nosniff = page->nosniff,
	    .readable = true, .cpu_ns = page->cpu_ns };
	e = parse_document(parser, &in, &a, &found, w);
	if (e == OK && found.kind != MIME_HTML && found.kind != MIME_TEXT)
		e = why(w, ERR_ABSENT, "it is neither HTML nor plain text");
	if (e == OK)
		put_document(page, &url, &found, out);
	return e;
}
