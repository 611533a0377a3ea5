/* Streams of Twitter's API v1.1: filter and sample. */
#include "tests/platforms/twitter.h"

/* What a form wants, as it came. */
struct filter {
	struct str track, follow, locations, language;
};

static void
read_filter(struct request *r, struct filter *f)
{
	static const char *const names[] = { "track", "follow", "locations",
		"language" };
	struct str *const values[] = { &f->track, &f->follow, &f->locations,
		&f->language };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		size_t at = 0;
		*values[i] = STR_NONE;
		(void)head_param(r->body, &at, str_of(names[i]), &r->arena,
		    values[i]);
	}
}

static bool
has_phrase(struct str list, const struct tweet *t)
{
	struct str phrase;

	while (str_split(&list, ',', &phrase))
		if (twitter_is_match(phrase, t))
			return true;
	return false;
}

static bool
is_followed(struct str list, const struct tweet *t)
{
	struct str one;
	uint64_t id;

	while (str_split(&list, ',', &one))
		if (str_to_u64(str_trim(one), &id) &&
		    twitter_author(t)->id == id)
			return true;
	return false;
}

/* Without a form it is the sample, which is all of them here. */
static bool
is_wanted(struct request *r, const struct tweet *t)
{
	struct filter f;
	const char *language = t->look % 2 == 0 ? "en" : "und";

	if (r->stream_arg == 0)
		return true;
	read_filter(r, &f);
	if (f.language.n > 0 && str_find(f.language, str_of(language)) ==
	    f.language.n)
		return false;
	return (f.track.n > 0 && has_phrase(f.track, t)) ||
	    (f.follow.n > 0 && is_followed(f.follow, t)) ||
	    (f.locations.n > 0 && t->place);
}

static void
put_deletion(struct buf *out, const struct tweet *t)
{
	json_object(out, NULL);
	json_object(out, "delete");
	json_object(out, "status");
	json_u64(out, "id", t->id);
	twitter_put_id(out, "id_str", t->id);
	json_u64(out, "user_id", twitter_author(t)->id);
	twitter_put_id(out, "user_id_str", twitter_author(t)->id);
	buf_put_text(out, "}");
	twitter_put(out, "timestamp_ms", "%lld",
	    (long long)(t->when.us / 1000));
	buf_put_text(out, "}}\r\n");
}

static void
put_notice(struct request *r, struct buf *out)
{
	if (r->fault.notice == NOTICE_LIMIT)
		buf_put_text(out, "{\"limit\":{\"track\":1234,"
		    "\"timestamp_ms\":\"1\"}}\r\n");
	if (r->fault.notice == NOTICE_DELETE)
		put_deletion(out, &twitter_world.tweets[0]);
	if (r->fault.notice == NOTICE_DISCONNECT) {
		buf_put_text(out, "{\"disconnect\":{\"code\":12,"
		    "\"stream_name\":\"x\",\"reason\":\"admin\"}}\r\n");
		r->stream_over = true;
	}
	r->fault.notice = NOTICE_NONE;
}

static void
put_news(struct request *r, struct buf *out)
{
	const struct twitter_world *x = &twitter_world;

	put_notice(r, out);
	for (; r->stream_at < x->changes_n; r->stream_at++) {
		const struct tweet_change *c = &x->changes[r->stream_at];
		const struct tweet *t = &x->tweets[c->tweet];
		if (!is_wanted(r, t))
			continue;
		if (c->deleted) {
			put_deletion(out, t);
		} else if (!twitter_is_hidden(t)) {
			twitter1_write_tweet(out, t, false, r->fault.big);
			buf_put_text(out, "\r\n");
		}
	}
}

void
twitter1_answer_stream(struct request *r, bool is_filter)
{
	struct filter f;

	read_filter(r, &f);
	if (is_filter && f.track.n + f.follow.n + f.locations.n == 0) {
		r->status = 406;
		r->type = "text/html";
		buf_put_text(&r->out, "No filter parameters found. Expect at "
		    "least one parameter: follow track locations\r\n");
		return;
	}
	if (!twitter_begin_stream(r)) {
		r->status = 420;
		r->type = "text/plain";
		buf_put_text(&r->out, "Exceeded connection limit for user\r\n");
		return;
	}
	r->status = 200;
	r->stream = put_news;
	r->stream_at = twitter_world.changes_n;
	r->stream_arg = is_filter;
	r->stream_packs = true;
	r->heartbeat = "\r\n";
}
