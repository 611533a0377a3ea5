#include "doors/harvest/queue_table.h"

#include "engine/connector/connectors.h"

#define START "harvest.start."
#define STATUS "harvest.status."
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
	{ .name = "feed_harvester", .platforms = "feed" },
	{ .name = "youtube_harvester", .platforms = "youtube" },
	{ .name = "json_harvester", .platforms = "json" },
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
	return row->streams == (c->kind == CONNECTOR_STREAM) &&
	    has_platform(row, c->platform);
}

const struct str *
queue_table_keys(const struct queue_row *row, struct arena *a, size_t *n)
{
	const struct connector *c;
	size_t cap = 0;

	*n = 0;
	while (connector_at(cap) != NULL)
		cap++;
	struct str *keys = ARENA_ARRAY(a, struct str, cap);
	for (size_t i = 0; (c = connector_at(i)) != NULL; i++) {
		if (!takes_connector(row, c) || (row->all && *n > 0))
			continue;
		keys[(*n)++] = arena_printf(a, START "%s.%s%s", c->platform,
		    row->all ? "*" : c->type, row->priority ? PRIORITY : "");
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
	if (c != NULL)
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
