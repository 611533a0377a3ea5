/*
 * A host with feeds: RSS 1.0 and 2.0, Atom, JSON Feed, some of them in several
 * documents (RFC 5005), some moved, malformed or gone; and its robots.txt.
 */
#include <time.h>

#include "tests/platforms/platforms.h"

#define DAY_US (24 * 60 * 60 * US_PER_S)
#define PAGE 20u             /* entries of a document of several */
#define HOST "https://feeds.example"

enum format { RSS2, RSS1, ATOM, JSON };
enum older { WHOLE, PAGED, ARCHIVED };
enum spoiling { SOUND, LATIN1, BROKEN, UNTYPED };

static const struct {
	const char *path;
	enum format format;
	enum older older;
	enum spoiling spoiling;
	unsigned of_100, least;      /* its share of the longest list */
	bool podcast;
} feeds[] = {
	{ "/rss.xml", RSS2, WHOLE, SOUND, 100, 1, false },
	{ "/rss1.rdf", RSS1, WHOLE, SOUND, 5, 15, false },
	{ "/atom.xml", ATOM, WHOLE, SOUND, 10, 30, false },
	{ "/feed.json", JSON, PAGED, SOUND, 10, 50, false },
	{ "/podcast.xml", RSS2, WHOLE, SOUND, 2, 12, true },
	{ "/archive.xml", ATOM, ARCHIVED, SOUND, 20, 90, false },
	{ "/paged.xml", RSS2, PAGED, SOUND, 20, 70, false },
	{ "/latin1.xml", RSS2, WHOLE, LATIN1, 0, 8, false },
	{ "/broken.xml", RSS2, WHOLE, BROKEN, 0, 9, false },
	{ "/untyped", RSS2, WHOLE, UNTYPED, 0, 4, false },
	{ "/empty.xml", ATOM, WHOLE, SOUND, 0, 0, false },
	{ "/private/rss.xml", RSS2, WHOLE, SOUND, 0, 3, false },
};
#define FEEDS_N ARRAY_LEN(feeds)

static const char *const types[] = { "application/rss+xml",
	"application/rdf+xml", "application/atom+xml",
	"application/feed+json" };

/* Where redirects lead. */
static const struct {
	const char *path;
	int status;
	const char *to;
} moves[] = {
	{ "/moved.xml", 301, "/moved-on.xml" },
	{ "/moved-on.xml", 308, HOST "/atom.xml" },
	{ "/away.xml", 302, "rss.xml" },
	{ "/loop.xml", 302, "/loop.xml" },
	{ "/nowhere.xml", 302, "ftp://feeds.example/" },
};

static const char *const words[] = { "A cat sat on the mat.",
	"caf\xc3\xa9 & <b>cr\xc3\xa8me</b>", "=1+1", "\"quoted\"",
	"owls ]]> and cats", "nothing but words" };

/* The i-th entry of a feed, from its oldest, is made of both numbers; an edit
 * and a deletion of it are not simulated. */
static struct {
	unsigned n;                  /* entries */
	struct wall changed;         /* when the last one came */
} now[FEEDS_N];
static struct wall began;
static uint64_t world_seed;

static void
make(uint64_t seed, struct wall date, unsigned items)
{
	world_seed = seed;
	began.us = date.us - 100 * DAY_US;
	for (size_t i = 0; i < FEEDS_N; i++) {
		now[i].n = MAX(feeds[i].least, items / 100 * feeds[i].of_100 +
		    items % 100 * feeds[i].of_100 / 100);
		now[i].changed.us = date.us - DAY_US;
	}
}

/* ---- Entries ----------------------------------------------------------- */

static struct wall
date_of(unsigned i)
{
	return (struct wall){ began.us + (int64_t)i * 60 * US_PER_S };
}

static uint64_t
look_of(size_t feed, unsigned i)
{
	uint64_t state = world_seed + feed * 1000003 + i;

	return random_next(&state);
}

static const char *
title_of(size_t feed, unsigned i)
{
	/* Each feed has some that are beyond ASCII. */
	return words[i == 1 ? 1 : look_of(feed, i) % ARRAY_LEN(words)];
}

/* Every third RSS entry has no id but its address. */
static bool
has_id(size_t feed, unsigned i)
{
	return feeds[feed].format == ATOM || feeds[feed].format == JSON ||
	    (feeds[feed].format == RSS2 && i % 3 > 0);
}

static void
put_link(struct buf *b, size_t feed, unsigned i)
{
	buf_printf(b, HOST "/posts%s/%u", feeds[feed].path, i);
}

static void
put_id(struct buf *b, size_t feed, unsigned i)
{
	if (has_id(feed, i))
		buf_printf(b, "tag:feeds.example,2026:%s/%u", feeds[feed].path,
		    i);
	else
		put_link(b, feed, i);
}

static void
put_text(struct buf *b, const char *text)
{
	for (; *text != '\0'; text++)
		if (*text == '<')
			buf_put_text(b, "&lt;");
		else if (*text == '>')
			buf_put_text(b, "&gt;");
		else if (*text == '&')
			buf_put_text(b, "&amp;");
		else
			buf_put_char(b, *text);
}

static void
put_element(struct buf *b, const char *name, const char *text)
{
	buf_printf(b, "<%s>", name);
	put_text(b, text);
	buf_printf(b, "</%s>", name);
}

static void
put_big(struct buf *b, uint64_t big)
{
	if (big > 0)
		memset(buf_grow(b, big), 'x', big);
}

/* "Fri, 20 Nov 2026 09:00:00 GMT" */
static void
put_http_date(struct buf *b, struct wall when)
{
	time_t s = (time_t)wall_s(when);
	struct tm tm;
	char text[40];

	gmtime_r(&s, &tm);
	strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	buf_put_text(b, text);
}

static void
put_iso(struct buf *b, struct wall when)
{
	char iso[WALL_ISO_MAX];

	wall_to_iso(when, iso);
	buf_put_text(b, iso);
}

static void
put_rss_entry(struct buf *b, size_t feed, unsigned i, uint64_t big)
{
	bool rss1 = feeds[feed].format == RSS1;

	if (rss1) {
		buf_put_text(b, "<item rdf:about=\"");
		put_link(b, feed, i);
		buf_put_text(b, "\">");
	} else {
		buf_put_text(b, "<item>");
	}
	put_element(b, "title", title_of(feed, i));
	buf_put_text(b, "<link>");
	put_link(b, feed, i);
	buf_put_text(b, rss1 ? "</link><dc:date>" : "</link><pubDate>");
	if (rss1)
		put_iso(b, date_of(i));
	else
		put_http_date(b, date_of(i));
	buf_put_text(b, rss1 ? "</dc:date>" : "</pubDate>");
	if (has_id(feed, i)) {
		buf_put_text(b, "<guid isPermaLink=\"false\">");
		put_id(b, feed, i);
		buf_put_text(b, "</guid>");
	}
	put_element(b, "dc:creator", i % 2 == 0 ? "Ada" : "Bob");
	buf_put_text(b, "<description>");
	put_text(b, title_of(feed, i + 1));
	put_big(b, big);
	buf_put_text(b, "</description>");
	if (feeds[feed].podcast)
		buf_printf(b, "<enclosure url=\"" HOST "/sounds/%u.mp3\" "
		    "length=\"%u\" type=\"audio/mpeg\"/>", i, i * 1000);
	buf_put_text(b, "</item>\n");
}

static void
put_atom_entry(struct buf *b, size_t feed, unsigned i, uint64_t big)
{
	buf_put_text(b, "<entry><id>");
	put_id(b, feed, i);
	buf_put_text(b, "</id>");
	put_element(b, "title", title_of(feed, i));
	buf_put_text(b, "<link href=\"");
	put_link(b, feed, i);
	buf_put_text(b, "\"/><updated>");
	put_iso(b, date_of(i));
	buf_printf(b, "</updated><author><name>%s</name></author>"
	    "<category term=\"cats\"/><content type=\"html\">",
	    i % 2 == 0 ? "Ada" : "Bob");
	put_text(b, title_of(feed, i + 1));
	put_big(b, big);
	buf_put_text(b, "</content></entry>\n");
}

static void
put_json_entry(struct buf *b, size_t feed, unsigned i, uint64_t big)
{
	FREED(buf_free) struct buf text = BUF_INIT;

	json_object(b, NULL);
	put_id(&text, feed, i);
	json_str(b, "id", buf_str(&text));
	buf_clear(&text);
	put_link(&text, feed, i);
	json_str(b, "url", buf_str(&text));
	json_str(b, "title", str_of(title_of(feed, i)));
	buf_clear(&text);
	buf_put_text(&text, title_of(feed, i + 1));
	put_big(&text, big);
	json_str(b, "content_html", buf_str(&text));
	buf_clear(&text);
	put_iso(&text, date_of(i));
	json_str(b, "date_published", buf_str(&text));
	buf_put_text(b, "}");
}

/* ---- Documents --------------------------------------------------------- */

/* Entries of a document, the newest first, and where older ones are. */
struct document {
	size_t feed;
	unsigned first, end;         /* of the feed's entries */
	char older[80];              /* its address; "": none */
	bool current;
};

static void
put_entries(struct request *r, const struct document *d)
{
	unsigned n = r->fault.page == PAGE_EMPTY ? 0 : d->end - d->first;

	for (unsigned k = 0; k < n; k++) {
		unsigned i = r->fault.page == PAGE_REORDERED ? d->first + k :
		    d->end - 1 - k;
		uint64_t big = k == 0 ? r->fault.big : 0;
		if (feeds[d->feed].format == ATOM)
			put_atom_entry(&r->out, d->feed, i, big);
		else if (feeds[d->feed].format == JSON)
			put_json_entry(&r->out, d->feed, i, big);
		else
			put_rss_entry(&r->out, d->feed, i, big);
	}
}

static void
put_rss(struct request *r, const struct document *d)
{
	struct buf *b = &r->out;
	bool latin1 = feeds[d->feed].spoiling == LATIN1;

	buf_printf(b, "<?xml version=\"1.0\" encoding=\"%s\"?>\n<rss version="
	    "\"2.0\" xmlns:atom=\"http://www.w3.org/2005/Atom\" xmlns:dc="
	    "\"http://purl.org/dc/elements/1.1/\"><channel><title>%s</title>"
	    "<link>" HOST "/</link><description>Words</description>"
	    "<language>en</language>\n", latin1 ? "ISO-8859-1" : "UTF-8",
	    feeds[d->feed].path);
	if (d->older[0] != '\0')
		buf_printf(b, "<atom:link rel=\"next\" href=\"%s\"/>\n",
		    d->older);
	put_entries(r, d);
	buf_put_text(b, "</channel></rss>\n");
}

static void
put_rdf(struct request *r, const struct document *d)
{
	buf_printf(&r->out, "<?xml version=\"1.0\"?>\n<rdf:RDF xmlns:rdf="
	    "\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns="
	    "\"http://purl.org/rss/1.0/\" xmlns:dc="
	    "\"http://purl.org/dc/elements/1.1/\"><channel rdf:about=\"" HOST
	    "\"><title>%s</title></channel>\n", feeds[d->feed].path);
	put_entries(r, d);
	buf_put_text(&r->out, "</rdf:RDF>\n");
}

static void
put_atom(struct request *r, const struct document *d)
{
	struct buf *b = &r->out;

	buf_printf(b, "<?xml version=\"1.0\"?>\n<feed xmlns="
	    "\"http://www.w3.org/2005/Atom\" xml:lang=\"en\"><id>" HOST
	    "%s</id><title>%s</title><updated>", feeds[d->feed].path,
	    feeds[d->feed].path);
	put_iso(b, now[d->feed].changed);
	buf_printf(b, "</updated><link rel=\"self\" href=\"" HOST "%s\"/>\n",
	    feeds[d->feed].path);
	if (d->older[0] != '\0')
		buf_printf(b, "<link rel=\"prev-archive\" href=\"%s\"/>\n",
		    d->older);
	put_entries(r, d);
	buf_put_text(b, "</feed>\n");
}

static void
put_json(struct request *r, const struct document *d)
{
	json_object(&r->out, NULL);
	json_str(&r->out, "version",
	    STR("https://jsonfeed.org/version/1.1"));
	json_str(&r->out, "title", str_of(feeds[d->feed].path));
	if (d->older[0] != '\0')
		json_str(&r->out, "next_url", str_of(d->older));
	json_array(&r->out, "items");
	put_entries(r, d);
	buf_put_text(&r->out, "]}\n");
}

/* Characters beyond ASCII in one byte; or without its end. */
static void
spoil_document(struct buf *b, enum spoiling how)
{
	size_t n = 0;

	if (how == BROKEN)
		b->n -= b->n / 3;
	if (how != LATIN1)
		return;
	for (size_t i = 0; i < b->n; i++)
		if (b->p[i] == '\xc3' && i + 1 < b->n)
			b->p[n++] = (char)(b->p[++i] + 0x40);
		else
			b->p[n++] = b->p[i];
	b->n = n;
}

static void
put_document(struct request *r, struct document *d)
{
	static void (*const put[])(struct request *,
	    const struct document *) = { put_rss, put_rdf, put_atom, put_json };

	if (r->fault.page == PAGE_LOOP && !d->current)
		snprintf(d->older, sizeof(d->older), "%.*s?%.*s",
		    STR_FMT(r->head.path), STR_FMT(r->head.query));
	put[feeds[d->feed].format](r, d);
	spoil_document(&r->out, feeds[d->feed].spoiling);
	r->status = 200;
	r->type = feeds[d->feed].spoiling == UNTYPED ? "text/html" :
	    feeds[d->feed].spoiling == LATIN1 ?
	    "text/xml; charset=ISO-8859-1" : types[feeds[d->feed].format];
}

/* ---- Which document ---------------------------------------------------- */

/* Pages count from the newest entry: they change with each new one. */
static bool
find_paged(struct request *r, struct document *d)
{
	uint64_t page = request_number(r, "page", 1);
	unsigned n = now[d->feed].n;

	if (page == 0 || page > UINT16_MAX ||
	    (page > 1 && (page - 1) * PAGE >= n))
		return false;
	unsigned left = n - (unsigned)(page - 1) * PAGE;
	if (r->fault.page == PAGE_OVERLAP && page > 1)
		left += 3;
	d->end = r->fault.page == PAGE_DUPLICATE && page > 1 ? left + PAGE :
	    left;
	d->first = d->end > PAGE ? d->end - PAGE : 0;
	d->current = page == 1;
	if (d->first > 0)
		snprintf(d->older, sizeof(d->older), "%s?page=%llu",
		    feeds[d->feed].path, (unsigned long long)page + 1);
	return true;
}

/* Archives count from the oldest and never change; the current document has the
 * entries that are in none. */
static bool
find_archived(struct request *r, struct document *d)
{
	struct str rest = r->head.path;
	uint64_t archive = 0;
	unsigned n = now[d->feed].n, archives = n / PAGE;

	d->current = str_eq(rest, str_of(feeds[d->feed].path));
	if (!d->current && (!str_to_u64(str_from(rest, 9), &archive) ||
	    archive == 0 || archive > archives))
		return false;
	unsigned before = d->current ? archives : (unsigned)archive - 1;
	d->first = before * PAGE;
	d->end = d->current ? n : d->first + PAGE;
	if (before > 0)
		snprintf(d->older, sizeof(d->older), "/archive/%u", before);
	return true;
}

static bool
find_document(struct request *r, struct document *d)
{
	struct str path = r->head.path;

	memset(d, 0, sizeof(*d));
	if (str_starts(path, STR("/archive/")))
		path = STR("/archive.xml");
	d->feed = STR_ROW(path, feeds);
	if (d->feed == FEEDS_N)
		return false;
	if (feeds[d->feed].older == PAGED)
		return find_paged(r, d);
	if (feeds[d->feed].older == ARCHIVED)
		return find_archived(r, d);
	d->end = now[d->feed].n;
	d->current = true;
	return true;
}

/* ---- Requests ---------------------------------------------------------- */

static struct str
field_of(struct request *r, struct str name)
{
	struct str value = STR_NONE;

	(void)head_find(&r->head, name, &r->arena, &value);
	return value;
}

/* It is as it was (RFC 9110 §13.2.2); the fields say so for the next time. */
static bool
is_unchanged(struct request *r, size_t feed)
{
	char etag[40];
	struct str asked = field_of(r, STR("If-None-Match"));
	struct str since = field_of(r, STR("If-Modified-Since"));
	struct wall date;

	snprintf(etag, sizeof(etag), "\"%zu-%u\"", feed, now[feed].n);
	buf_printf(&r->fields, "ETag: %s\r\nLast-Modified: ", etag);
	put_http_date(&r->fields, now[feed].changed);
	buf_put_text(&r->fields, "\r\n");
	if (asked.n > 0)
		return str_eq(asked, str_of(etag));
	return since.n > 0 && wall_from_http(since, &date) &&
	    wall_s(now[feed].changed) <= wall_s(date);
}

static void
answer_path(struct request *r)
{
	struct document d;
	size_t move = STR_ROW(r->head.path, moves);

	if (str_eq(r->head.path, STR("/robots.txt"))) {
		r->status = 200;
		r->type = "text/plain";
		buf_put_text(&r->out,
		    "User-agent: *\nDisallow: /private/\n");
	} else if (move < ARRAY_LEN(moves)) {
		r->status = moves[move].status;
		buf_printf(&r->fields, "Location: %s\r\n", moves[move].to);
	} else if (str_eq(r->head.path, STR("/gone.xml")) ||
	    str_eq(r->head.path, STR("/none.xml"))) {
		r->status = r->head.path.p[1] == 'g' ? 410 : 404;
	} else if (!find_document(r, &d)) {
		return;
	} else if (is_unchanged(r, d.feed) && d.current) {
		r->status = 304;
	} else {
		put_document(r, &d);
	}
}

static void
answer(struct request *r)
{
	r->who = "nobody";
	if (r->fault.status == 0) {
		answer_path(r);
		return;
	}
	r->status = r->fault.status;
	if (r->fault.retry_after.n > 0)
		buf_printf(&r->fields, "Retry-After: %.*s\r\n",
		    STR_FMT(r->fault.retry_after));
}

/* ---- For tests --------------------------------------------------------- */

static void
describe(struct str host, struct buf *out)
{
	FREED(buf_free) struct buf id = BUF_INIT;

	(void)host;
	json_object(out, NULL);
	for (size_t f = 0; f < FEEDS_N; f++) {
		json_array(out, feeds[f].path);
		for (unsigned i = 0; i < now[f].n; i++) {
			buf_clear(&id);
			put_id(&id, f, i);
			json_item(out, buf_str(&id));
		}
		buf_put_text(out, "]");
	}
	buf_put_text(out, "}\n");
}

/* {"add":{"account":"/rss.xml","n":3}} */
static bool
change(struct str host, yyjson_val *what, char sentence[static 200])
{
	yyjson_val *add = yyjson_obj_get(what, "add");
	struct str path = json_text(yyjson_obj_get(add, "account"));
	size_t f = STR_ROW(path, feeds);

	(void)host;
	snprintf(sentence, 200, "there is no such feed");
	if (f == FEEDS_N)
		return false;
	now[f].n += (unsigned)yyjson_get_uint(yyjson_obj_get(add, "n"));
	now[f].changed = clock_wall();
	return true;
}

static const char *const hosts[] = { "feeds.example", NULL };

const struct platform feed_platform = { .name = "feed", .hosts = hosts,
	.make = make, .answer = answer, .describe = describe,
	.change = change };
