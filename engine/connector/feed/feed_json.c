/* JSON Feed, and what both readers share. */
#include "base/json.h"
#include "engine/connector/feed/feed_read.h"
#include "engine/connector/item_json.h"
#include "engine/connector/items.h"

const char *
feed_field_name(enum feed_field field)
{
	static const char *const names[] = {
#define FEED_FIELD_NAME(name, text) text,
		FEED_FIELDS(FEED_FIELD_NAME)
#undef FEED_FIELD_NAME
	};

	return names[field];
}

void
feed_entry_clear(struct feed_entry *e)
{
	for (size_t i = 0; i < FEED_FIELDS_N; i++)
		buf_clear(&e->fields[i]);
	buf_clear(&e->categories);
	buf_clear(&e->enclosures);
}

void
feed_entry_free(struct feed_entry *e)
{
	for (size_t i = 0; i < FEED_FIELDS_N; i++)
		buf_free(&e->fields[i]);
	buf_free(&e->categories);
	buf_free(&e->enclosures);
}

/* --- JSON Feed ---------------------------------------------------------- */

static const struct {
	const char *name;
	enum feed_field field;
} members[] = {
	{ "id", FEED_ID }, { "url", FEED_URL }, { "title", FEED_TITLE },
	{ "date_published", FEED_PUBLISHED },
	{ "date_modified", FEED_UPDATED }, { "summary", FEED_SUMMARY },
	{ "content_html", FEED_CONTENT }, { "content_text", FEED_CONTENT },
	{ "language", FEED_LANGUAGE },
};

static void
put_list(yyjson_val *list, const char *member, struct buf *out)
{
	yyjson_val *v;
	size_t i, n;

	yyjson_arr_foreach(list, i, n, v) {
		struct str s = json_text(member == NULL ? v : json_member(v,
		    member));
		if (s.n == 0)
			continue;
		buf_put_str(out, s);
		buf_put_char(out, '\0');
	}
}

static struct str
author_of(yyjson_val *v)
{
	yyjson_val *first = yyjson_arr_get_first(json_member(v, "authors"));

	return json_text(first != NULL ? json_member(first, "name") :
	    json_at(v, "author.name"));
}

static void
read_item(yyjson_val *feed, yyjson_val *v, struct arena *a,
    struct feed_entry *entry)
{
	struct buf *author = &entry->fields[FEED_AUTHOR], *language =
	    &entry->fields[FEED_LANGUAGE];

	feed_entry_clear(entry);
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		struct buf *b = &entry->fields[members[i].field];
		if (b->n == 0)
			buf_put_str(b, str_trim(json_id(json_member(v,
			    members[i].name), a)));
	}
	if (entry->fields[FEED_ID].n == 0)
		buf_put_str(&entry->fields[FEED_ID],
		    buf_str(&entry->fields[FEED_URL]));
	buf_put_str(author, str_trim(author_of(v)));
	if (author->n == 0)
		buf_put_str(author, str_trim(author_of(feed)));
	if (language->n == 0)
		buf_put_str(language, str_trim(json_text(json_member(feed,
		    "language"))));
	put_list(json_member(v, "tags"), NULL, &entry->categories);
	put_list(json_member(v, "attachments"), "url", &entry->enclosures);
}

enum err
feed_read(struct str text, struct feed_about *about, feed_entry_fn *entry,
    void *arg, struct why *w)
{
	struct str json = text;

	if (str_starts(json, STR("\xef\xbb\xbf")))
		json = str_from(json, 3);
	json = str_trim(json);
	return json.n > 0 && json.p[0] == '{' ?
	    feed_read_json(json, about, entry, arg, w) :
	    feed_read_xml(text, about, entry, arg, w);
}

enum err
feed_read_json(struct str text, struct feed_about *about,
    feed_entry_fn *entry, void *arg, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct feed_entry now = { .categories = BUF_INIT };
	struct item_json j;
	yyjson_val *v;
	size_t i, n;

	enum err e = item_json_parse(text, &a, &j, w);
	if (e == OK && !str_starts(json_text(json_member(j.root, "version")),
	    STR("https://jsonfeed.org/version/")))
		e = why(w, ERR_INPUT, "no feed");
	if (e != OK)
		return e;
	if (about != NULL)
		buf_put_str(&about->older, json_text(json_member(j.root,
		    "next_url")));
	yyjson_arr_foreach(json_member(j.root, "items"), i, n, v) {
		if (e != OK)
			break;
		read_item(j.root, v, &a, &now);
		e = entry(arg, &now, w);
	}
	feed_entry_free(&now);
	return e;
}
