#include "doors/harvest/queue_table.h"

#include "engine/connector/connectors.h"

#define START "harvest.start."
#define STATUS "harvest.status."
#define EXPORT_START "export.start."
#define EXPORT_STATUS "export.status."
#define PRIORITY ".priority"
/* A key is a short string of AMQP. */
#define KEY_BYTES_MAX 255u

static const struct queue_row rows[QUEUE_TABLE_N] = {
	{ .name = "twitter_rest_harvester", .platforms = "twitter twitter2" },
	{ .name = "twitter_rest_harvester_priority",
	    .platforms = "twitter twitter2", .priority = true },
	{ .name = "twitter_harvester", .platforms = "twitter twitter2",
	    .streams = true },
	{ .name = "flickr_harvester", .platforms = "flickr", .all = true },
	{ .name = "tumblr_harvester", .platforms = "tumblr" },
	{ .name = "weibo_harvester", .platforms = "weibo" },
	{ .name = "mastodon_harvester", .platforms = "mastodon" },
	{ .name = "mastodon_stream_harvester", .platforms = "mastodon",
	    .streams = true },
	{ .name = "bluesky_harvester", .platforms = "bluesky" },
	{ .name = "bluesky_stream_harvester", .platforms = "bluesky",
	    .streams = true },
	{ .name = "feed_harvester", .platforms = "feed" },
	{ .name = "youtube_harvester", .platforms = "youtube" },
	{ .name = "json_harvester", .platforms = "json" },
	{ .name = "web_harvester", .platforms = "web" },
	/* Exports. */
	{ .name = "flickr_exporter", .export_keys = "flickr.flickr_user" },
	{ .name = "tumblr_exporter",
	    .export_keys = "tumblr.tumblr_blog_posts" },
	{ .name = "weibo_exporter",
	    .export_keys = "weibo.weibo_search weibo.weibo_timeline" },
	{ .name = "twitter_rest_exporter", .export_keys =
	    "twitter.twitter_search twitter.twitter_user_timeline" },
	{ .name = "twitter_rest_exporter2", .export_keys =
	    "twitter2.twitter_search_2 twitter2.twitter_user_timeline_2 "
	    "twitter2.twitter_academic_search" },
	{ .name = "twitter_stream_exporter", .export_keys =
	    "twitter.twitter_filter twitter.twitter_sample" },
	{ .name = "twitter_stream_exporter2",
	    .export_keys = "twitter2.twitter_filter_stream" },
	{ .name = "mastodon_exporter", .export_keys = "mastodon.*" },
	{ .name = "bluesky_exporter", .export_keys = "bluesky.*" },
	{ .name = "feed_exporter", .export_keys = "feed.*" },
	{ .name = "youtube_exporter", .export_keys = "youtube.*" },
	{ .name = "json_exporter", .export_keys = "json.*" },
};

const struct queue_row *
queue_table_at(size_t i)
{
	return i < ARRAY_LEN(rows) ? &rows[i] : NULL;
}

static bool
has_platform(const struct queue_row *row, const char *platform)
{
	struct str rest = str_of(row->platforms), word;

	while (str_split(&rest, ' ', &word))
		if (str_eq(word, str_of(platform)))
			return true;
	return false;
}

static bool
takes_connector(const struct queue_row *row, const struct connector *c)
{
	return row->export_keys == NULL &&
	    row->streams == (c->kind == CONNECTOR_STREAM) &&
	    has_platform(row, c->platform);
}

/* ---- Exports -------------------------------------------------------- */

static const struct str *
export_keys(const struct queue_row *row, struct arena *a, size_t *n)
{
	struct str rest = str_of(row->export_keys), word;
	struct str *keys = ARENA_ARRAY(a, struct str, rest.n);

	while (str_split(&rest, ' ', &word))
		keys[(*n)++] = arena_printf(a, EXPORT_START "%.*s",
		    STR_FMT(word));
	return keys;
}

/* "flickr.flickr_user" exports that type, "feed.*" all of "feed_...". */
static bool
exports_type(struct str key, struct str type)
{
	size_t dot = str_find_char(key, '.');
	struct str platform = str_cut(key, 0, dot);

	if (!str_ends(key, STR("*")))
		return str_eq(str_from(key, dot + 1), type);
	return str_starts(type, platform) && type.n > platform.n &&
	    type.p[platform.n] == '_';
}

/* The key that exports the type; empty: none does. */
static struct str
find_export_key(struct str type, const struct queue_row **row)
{
	struct str word;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].export_keys == NULL)
			continue;
		struct str rest = str_of(rows[i].export_keys);
		while (str_split(&rest, ' ', &word))
			if (exports_type(word, type)) {
				*row = &rows[i];
				return word;
			}
	}
	return STR("");
}

const struct queue_row *
queue_table_find_exporter(struct str type)
{
	const struct queue_row *row = NULL;

	(void)find_export_key(type, &row);
	return row;
}

struct str
queue_table_export_key(struct str start_key, struct str type, struct arena *a)
{
	const struct queue_row *row = NULL;
	struct str key = find_export_key(type, &row);

	if (str_starts(start_key, STR(EXPORT_START)) &&
	    start_key.n < KEY_BYTES_MAX)
		return arena_printf(a, EXPORT_STATUS "%.*s", STR_FMT(str_from(
		    start_key, strlen(EXPORT_START))));
	if (row != NULL)
		return arena_printf(a, EXPORT_STATUS "%.*s.%.*s", STR_FMT(
		    str_cut(key, 0, str_find_char(key, '.'))), STR_FMT(type));
	return arena_printf(a, EXPORT_STATUS "%.*s", STR_FMT(queue_table_safe(
	    str_cut(type.n > 0 ? type : STR("unknown"), 0, 100), a)));
}

/* ---- Harvests ------------------------------------------------------- */

const struct str *
queue_table_keys(const struct queue_row *row, struct arena *a, size_t *n)
{
	const struct connector *c;
	size_t cap = 0;

	*n = 0;
	if (row->export_keys != NULL)
		return export_keys(row, a, n);
	while (connector_at(cap) != NULL)
		cap++;
	struct str *keys = ARENA_ARRAY(a, struct str, cap);
	for (size_t i = 0; (c = connector_at(i)) != NULL; i++) {
		if (!takes_connector(row, c) || (row->all && *n > 0))
			continue;
		/* Crawls of the web have no platform. */
		keys[(*n)++] = c->is_crawl ?
		    arena_printf(a, START "%s", c->type) :
		    arena_printf(a, START "%s.%s%s", c->platform, row->all ?
		    "*" : c->type, row->priority ? PRIORITY : "");
	}
	return keys;
}

const struct queue_row *
queue_table_find(struct str type)
{
	const struct connector *c = connector_find(type);

	for (size_t i = 0; c != NULL && i < ARRAY_LEN(rows); i++)
		if (!rows[i].priority && takes_connector(&rows[i], c))
			return &rows[i];
	return NULL;
}

struct str
queue_table_status_key(struct str start_key, struct str type, struct arena *a)
{
	const struct connector *c = connector_find(type);

	if (str_starts(start_key, STR(START)) &&
	    start_key.n < KEY_BYTES_MAX)
		return arena_printf(a, STATUS "%.*s", STR_FMT(str_from(
		    start_key, strlen(START))));
	if (c != NULL && !c->is_crawl)
		return arena_printf(a, STATUS "%s.%s", c->platform, c->type);
	return arena_printf(a, STATUS "%.*s", STR_FMT(queue_table_safe(
	    str_cut(type.n > 0 ? type : STR("unknown"), 0, 100), a)));
}

struct str
queue_table_safe(struct str id, struct arena *a)
{
	char *p = arena_bytes(a, id.n + 1);

	for (size_t i = 0; i < id.n; i++)
		p[i] = ascii_is_digit(id.p[i]) || ascii_is_alpha(id.p[i]) ?
		    id.p[i] : '_';
	p[id.n] = '\0';
	return (struct str){ p, id.n };
}
