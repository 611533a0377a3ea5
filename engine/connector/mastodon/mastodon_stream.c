/*
 * New posts as they come, from the instance's stream of events.
 *
 *     access ─► stream ─► stream ...   after 90 s of silence, or when it ends
 *                  └► page ─► page ... the gap before the stream
 *
 * While there is no stream, posts are missed: from the greatest id that was
 * seen, the timeline is read forward until it gives nothing more, and once more
 * when the new stream has given its first event, since only then it is certain
 * to have begun.  What comes by both ways counts once.
 */
#include "base/hash.h"
#include "engine/connector/event.h"
#include "engine/connector/instance.h"
#include "engine/connector/mastodon/mastodon.h"
#include "engine/connector/mastodon/mastodon_read.h"
#include "engine/connector/order.h"
#include "engine/connector/shown.h"
#include "engine/connector/url_text.h"

#define SAVED_VERSION 1
#define SILENCE_S 90u
#define PAUSE_MAX_S 60u
/* Posts and changes that are remembered, so that they count once. */
#define KNOWN_MAX 1000u

enum mark { MARK_ACCESS, MARK_STREAM, MARK_PAGE };
enum step { STEP_ACCESS, STEP_STREAM, STEP_ENDED };

static const struct kind {
	const char *name;            /* the path, too */
	const char *feeds;           /* in the instance's words */
	const char *timeline, *side; /* the same posts as pages */
} kinds[] = {
	{ "public", "live_feeds", "public", NULL },
	{ "public/local", "live_feeds", "public", "local" },
	{ "public/remote", "live_feeds", "public", "remote" },
	{ "hashtag", "hashtag_feeds", "tag/", NULL },
	{ "hashtag/local", "hashtag_feeds", "tag/", "local" },
};
#define KIND_WORDS "public public/local public/remote hashtag hashtag/local"

struct stream {
	struct connector_run run;
	struct arena arena;
	struct str base;             /* of the instance */
	const struct kind *kind;
	struct str tag;              /* empty: of a public stream */
	struct buf stream_url, page_url;     /* of the calls that are out */
	bool stream_out, page_out;   /* the first: access, too */
	bool heard;                  /* an event of this stream */
	bool heard_before_page;      /* that is out */
	bool page_due;               /* the gap is to be read on */

	/* Part of the checkpoint. */
	enum step step;
	struct buf host;             /* of the stream: "https://s.a.example" */
	struct buf newest;           /* the greatest id of a post */
	struct buf gap;              /* read behind this id; empty: no gap */
	struct wall ended;           /* when the last stream has */
	unsigned pause_s;            /* from then on */
	unsigned tries;
	uint64_t known[KNOWN_MAX];   /* hashes of ids, in a ring */
	size_t known_n, known_at;
};

/* ---- Calls ------------------------------------------------------------- */

static void
put_stream(struct stream *s, struct buf *url)
{
	buf_put_str(url, buf_str(&s->host));
	buf_put_text(url, "/api/v1/streaming/");
	buf_put_text(url, s->kind->name);
	if (s->tag.n > 0)
		url_text_param(url, "tag", s->tag);
}

static void
put_page(struct stream *s, struct buf *url)
{
	buf_put_str(url, s->base);
	buf_put_text(url, "/api/v1/timelines/");
	buf_put_text(url, s->kind->timeline);
	url_text_encode(url, s->tag);
	url_text_param(url, "limit", STR("40"));
	url_text_param(url, "min_id", buf_str(&s->gap));
	if (s->kind->side != NULL)
		url_text_param(url, s->kind->side, STR("true"));
}

static void
call_stream(struct stream *s, struct connector_call *call)
{
	buf_clear(&s->stream_url);
	if (s->step == STEP_ACCESS) {
		buf_put_str(&s->stream_url, s->base);
		buf_put_text(&s->stream_url, "/api/v2/instance");
		call->mark = MARK_ACCESS;
		call->budget = "rest";
	} else {
		put_stream(s, &s->stream_url);
		call->mark = MARK_STREAM;
		call->expect = CONNECTOR_EVENTS;
		call->silence_s = SILENCE_S;
		call->overlaps = true;
		if (s->pause_s > 0)
			call->not_before.us = s->ended.us +
			    (int64_t)s->pause_s * US_PER_S;
	}
	call->url = buf_str(&s->stream_url);
	s->stream_out = true;
}

static void
call_page(struct stream *s, struct connector_call *call)
{
	buf_clear(&s->page_url);
	put_page(s, &s->page_url);
	call->mark = MARK_PAGE;
	call->budget = "rest";
	call->url = buf_str(&s->page_url);
	s->page_out = true;
	s->heard_before_page = s->heard;
}

static enum connector_next
stream_next(struct connector_run *run, struct connector_call *call)
{
	struct stream *s = (struct stream *)run;

	*call = (struct connector_call){ .auth = CONNECTOR_BEARER,
		.secret = "access_token", .statuses = mastodon_statuses };
	if (s->step == STEP_ENDED)
		return CONNECTOR_END;
	if (!s->stream_out)
		call_stream(s, call);
	else if (s->page_due && !s->page_out)
		call_page(s, call);
	else
		return CONNECTOR_WAIT;
	return CONNECTOR_CALL;
}

/* ---- Posts ------------------------------------------------------------- */

static void
set_text(struct buf *b, struct str text)
{
	buf_clear(b);
	buf_put_str(b, text);
}

/* False: it has come before. */
static bool
note_text(struct stream *s, struct str text)
{
	uint64_t hash = hash_bytes(text, 0);

	for (size_t i = 0; i < s->known_n; i++)
		if (s->known[i] == hash)
			return false;
	s->known[s->known_at] = hash;
	s->known_at = (s->known_at + 1) % KNOWN_MAX;
	s->known_n = MIN(s->known_n + 1, KNOWN_MAX);
	return true;
}

static bool
note_id(struct stream *s, struct str id)
{
	if (s->newest.n == 0 ||
	    mastodon_id_order(buf_str(&s->newest), id) < 0)
		set_text(&s->newest, id);
	return note_text(s, id);
}

static void
fail_run(struct stream *s, const struct connector_findings *f,
    const char *code, const struct buf *text)
{
	s->step = STEP_ENDED;
	s->tries = 0;
	f->fail(f->arg, code, buf_str(text));
}

/* ---- Events ------------------------------------------------------------ */

/* By two streams that overlap it comes twice. */
static bool
note_change(struct stream *s, struct str id, yyjson_val *post,
    struct arena *a)
{
	struct str edited = json_text(yyjson_obj_get(post, "edited_at"));

	return edited.n == 0 || note_text(s, arena_printf(a, "%.*s %.*s",
	    STR_FMT(id), STR_FMT(edited)));
}

/* A new post, or one that was changed: then it counts again. */
static void
read_post(struct stream *s, struct str json, bool is_new,
    const struct connector_findings *f)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	yyjson_doc *doc = yyjson_read(json.p, json.n,
	    YYJSON_READ_BIGNUM_AS_RAW);
	yyjson_val *post = yyjson_doc_get_root(doc);
	struct str id = mastodon_id_of(post, &a);

	if (id.n == 0) {
		f->note(f->arg, CONNECTOR_WARNING, "unknown_error", STR(
		    "an event of the stream has no post, and is not counted"),
		    NULL);
	} else if (is_new ? note_id(s, id) :
	    note_change(s, id, post, &a)) {
		f->count(f->arg, MASTODON_LABEL, 1);
		mastodon_find_urls(post, f);
	}
	yyjson_doc_free(doc);
}

static void
stream_line(struct connector_run *run, const struct connector_call *call,
    struct str lines, const struct connector_findings *f)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct stream *s = (struct stream *)run;
	struct str name, data;

	(void)call;
	if (s->step != STEP_STREAM || !event_read(lines, &a, &name, &data))
		return;
	if (!s->heard) {
		s->heard = true;
		s->page_due = s->gap.n > 0;
	}
	if (str_eq(name, STR("update")))
		read_post(s, data, true, f);
	else if (str_eq(name, STR("status.update")))
		read_post(s, data, false, f);
	else if (str_eq(name, STR("delete")) &&
	    mastodon_id_is_valid(str_trim(data)))
		f->deleted(f->arg, str_trim(data));
}

/* ---- The instance ------------------------------------------------------ */

/* "wss://HOST" as a base; the token goes there, so it must be the instance's
 * host or below it. */
static bool
read_host(struct stream *s, struct str url, struct str *host)
{
	struct str own = str_from(s->base, str_find(s->base, STR("//")) + 2);

	if (str_starts_nocase(url, STR("wss:")))
		url = arena_printf(&s->arena, "https:%.*s",
		    STR_FMT(str_from(url, 4)));
	if (!instance_base(url, &s->arena, host) ||
	    !str_starts(*host, STR("https://")))
		return false;
	struct str name = str_from(*host, 8);
	own = str_cut(own, 0, str_find_char(own, ':'));
	name = str_cut(name, 0, str_find_char(name, ':'));
	return str_eq(name, own) || (name.n > own.n &&
	    str_ends(name, own) && name.p[name.n - own.n - 1] == '.');
}

static void
check_access(struct stream *s, yyjson_val *instance,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	bool local, remote;
	const char *side = s->kind->side;

	mastodon_read_access(instance, s->kind->feeds, true, &local, &remote);
	buf_put_str(&text, s->base);
	if (side == NULL ? local && remote : side[0] == 'l' ? local : remote) {
		buf_put_text(&text, " shows these posts to no application");
		fail_run(s, f, "harvest_Unauthorized", &text);
	} else if (side == NULL && (local || remote)) {
		buf_printf(&text, " shows only the posts of %s",
		    local ? "other instances" : "its own accounts");
		f->note(f->arg, CONNECTOR_WARNING, "partial_posts",
		    buf_str(&text), NULL);
	}
}

static void
answer_access(struct stream *s, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct str url = json_text(yyjson_obj_get(yyjson_obj_get(
	    yyjson_obj_get(answer->json, "configuration"), "urls"),
	    "streaming")), host = s->base;

	if (!mastodon_is_missing(answer) && !yyjson_is_obj(answer->json)) {
		if (++s->tries <= MASTODON_TRIES_MAX) {
			s->stream_out = true;
			f->again(f->arg, s->tries * s->tries);
			return;
		}
		buf_put_str(&text, s->base);
		buf_printf(&text, " sent no description of itself %u times",
		    s->tries);
		fail_run(s, f, "unknown_error", &text);
		return;
	}
	if (url.n > 0 && !read_host(s, url, &host)) {
		buf_put_str(&text, s->base);
		buf_put_text(&text, " streams from another host, to which its "
		    "token is not sent: ");
		shown_put(&text, url);
		fail_run(s, f, "unknown_error", &text);
		return;
	}
	s->tries = 0;
	s->step = STEP_STREAM;
	buf_put_str(&s->host, host);
	check_access(s, answer->json, f);
}

/* ---- The stream's end -------------------------------------------------- */

static void
answer_stream(struct stream *s, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;

	if (mastodon_is_missing(answer)) {
		buf_put_str(&text, buf_str(&s->host));
		buf_printf(&text, " has no such stream: %d", answer->status);
		fail_run(s, f, "unknown_error", &text);
		return;
	}
	s->pause_s = s->heard ? 1 : MIN(MAX(1, 2 * s->pause_s), PAUSE_MAX_S);
	s->ended = answer->when;
	s->heard = false;
	if (s->gap.n == 0)
		buf_put_str(&s->gap, buf_str(&s->newest));
	s->page_due = s->gap.n > 0;
}

/* ---- Pages of the gap -------------------------------------------------- */

static void
give_up_gap(struct stream *s, const struct connector_findings *f)
{
	f->note(f->arg, CONNECTOR_WARNING, "stream_gap", STR("posts may be "
	    "missing, as the timeline could not be read while there was no "
	    "stream"), NULL);
	s->tries = 0;
	s->page_due = false;
	buf_clear(&s->gap);
}

static void
count_page(struct stream *s, const struct mastodon_page *p,
    const struct connector_findings *f)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	uint64_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		struct str id = mastodon_id_of(p->posts[i], &a);
		if (id.n == 0 || !note_id(s, id))
			continue;
		n++;
		mastodon_find_urls(p->posts[i], f);
	}
	if (n > 0)
		f->count(f->arg, MASTODON_LABEL, n);
}

/* The timeline has given all that it had when it was asked. */
static void
end_gap(struct stream *s)
{
	s->tries = 0;
	if (s->heard_before_page)
		buf_clear(&s->gap);
	s->page_due = s->heard && s->gap.n > 0;
}

static void
answer_page(struct stream *s, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct mastodon_page p = { .n = 0 };

	if (mastodon_is_missing(answer)) {
		give_up_gap(s, f);
		return;
	}
	if (yyjson_is_arr(answer->json)) {
		mastodon_read_page(answer->json, &a, &p);
		count_page(s, &p, f);
		struct str next = mastodon_next_min_id(answer, &p, &a);
		if (next.n > 0 &&
		    mastodon_id_order(buf_str(&s->gap), next) < 0) {
			s->tries = 0;
			set_text(&s->gap, next);
			return;
		}
		if (p.n == 0) {
			end_gap(s);
			return;
		}
	}
	if (++s->tries > MASTODON_TRIES_MAX) {
		give_up_gap(s, f);
		return;
	}
	s->page_out = true;
	f->again(f->arg, s->tries * s->tries);
}

static void
stream_answer(struct connector_run *run, const struct connector_call *call,
    const struct connector_answer *answer, const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct stream *s = (struct stream *)run;

	if (call->mark == MARK_PAGE)
		s->page_out = false;
	else
		s->stream_out = false;
	if (s->step == STEP_ENDED)
		return;
	if (mastodon_is_refusal(answer)) {
		mastodon_put_refusal(&text, s->base, true, answer);
		fail_run(s, f, "harvest_Unauthorized", &text);
	} else if (call->mark == MARK_ACCESS) {
		answer_access(s, answer, f);
	} else if (call->mark == MARK_STREAM) {
		answer_stream(s, answer, f);
	} else {
		answer_page(s, answer, f);
	}
}

/* ---- Opening, closing, saving ------------------------------------------ */

static void
stream_close(struct connector_run **run)
{
	struct stream *s = (struct stream *)*run;

	if (s == NULL)
		return;
	buf_free(&s->stream_url);
	buf_free(&s->page_url);
	buf_free(&s->host);
	buf_free(&s->newest);
	buf_free(&s->gap);
	arena_free(&s->arena);
	free(s);
	*run = NULL;
}

/* Without a seed it is the stream of all public posts. */
static enum err
read_seed(struct stream *s, struct why *w)
{
	const struct connector_order *o = s->run.order;
	struct str name = STR("public"), tag = STR_NONE;

	if (o->seeds_n > 0) {
		const struct connector_seed *seed = &o->seeds[0];
		name = seed->fields == NULL ? seed->token :
		    connector_param_text(seed->fields, "stream");
		tag = mastodon_seed_name(seed);
	}
	size_t i = STR_ROW(name, kinds);
	if (i == ARRAY_LEN(kinds))
		return why_field(w, ERR_INPUT, "seeds[0].token",
		    "it is none of: %s", KIND_WORDS);
	s->kind = &kinds[i];
	if (str_eq(str_of(s->kind->timeline), STR("public")))
		return OK;
	s->tag = o->seeds[0].fields == NULL ? STR_NONE : tag;
	return s->tag.n > 0 ? OK : why_field(w, ERR_INPUT,
	    "seeds[0].token.tag", "it is missing");
}

static enum err
stream_open(const struct connector_order *o, struct connector_run **out,
    struct why *w)
{
	struct stream *s = mem_new(sizeof(*s));
	enum err e;

	*out = &s->run;
	s->run.order = o;
	if ((e = instance_read(o, MASTODON_EXAMPLE, &s->arena,
	    &s->base, w)) != OK ||
	    (e = read_seed(s, w)) != OK)
		stream_close(out);
	return e;
}

/* The stream that is open now will have ended: the gap begins here. */
static void
stream_save(const struct connector_run *run, struct buf *out)
{
	const struct stream *s = (const struct stream *)run;

	buf_put_char(out, SAVED_VERSION);
	buf_put_char(out, (char)s->step);
	buf_put_field(out, buf_str(&s->host));
	buf_put_field(out, buf_str(&s->newest));
	buf_put_field(out, buf_str(s->gap.n > 0 ? &s->gap : &s->newest));
	buf_put_be64(out, (uint64_t)s->ended.us);
	buf_put_varint(out, s->pause_s);
	buf_put_varint(out, s->tries);
	buf_put_varint(out, s->known_at);
	buf_put_varint(out, s->known_n);
	for (size_t i = 0; i < s->known_n; i++)
		buf_put_be64(out, s->known[i]);
}

static bool
is_id_or_none(struct str id)
{
	return id.n == 0 || mastodon_id_is_valid(id);
}

static enum err
stream_load(struct connector_run *run, struct str saved, struct why *w)
{
	struct stream *s = (struct stream *)run;
	struct reader r = reader_of(saved);
	uint8_t version = read_u8(&r), step = read_u8(&r);
	struct str host = read_field(&r), newest = read_field(&r);
	struct str gap = read_field(&r), own;
	int64_t ended_us = (int64_t)read_be64(&r);
	uint64_t pause_s = read_varint(&r), tries = read_varint(&r);
	uint64_t known_at = read_varint(&r), known_n = read_varint(&r);

	if (r.bad || version != SAVED_VERSION || step > STEP_ENDED ||
	    pause_s > PAUSE_MAX_S || tries > MASTODON_TRIES_MAX ||
	    known_n > KNOWN_MAX || r.n != known_n * 8 ||
	    known_at >= KNOWN_MAX || !is_id_or_none(newest) ||
	    !is_id_or_none(gap) || (step == STEP_STREAM &&
	    !str_eq(host, s->base) && !read_host(s, host, &own)))
		return why(w, ERR_CORRUPT, "the checkpoint is damaged, or not "
		    "of this harvest");
	s->step = (enum step)step;
	s->stream_out = s->page_out = s->heard = false;
	s->page_due = gap.n > 0;
	set_text(&s->host, host);
	set_text(&s->newest, newest);
	set_text(&s->gap, gap);
	s->ended.us = ended_us;
	s->pause_s = (unsigned)pause_s;
	s->tries = (unsigned)tries;
	s->known_at = (size_t)known_at;
	s->known_n = (size_t)known_n;
	for (size_t i = 0; i < s->known_n; i++)
		s->known[i] = read_be64(&r);
	return OK;
}

/* ---- The row ----------------------------------------------------------- */

static const struct connector_param params[] = { { .name = NULL } };

static const struct connector_param fields[] = {
	{ "stream", CONNECTOR_CHOICE, true, 0, 0, KIND_WORDS, "The stream" },
	{ "tag", CONNECTOR_TEXT, false, 0, 0, NULL,
	    "The hashtag, of a stream of a hashtag" },
	{ .name = NULL },
};

static const char *const hosts[] = { "{instance}", "*.{instance}", NULL };

const struct connector mastodon_stream = {
	.type = "mastodon_stream", .platform = "mastodon",
	.label = MASTODON_LABEL, .title = "Mastodon streams",
	.help = "Public posts as they come, all or those with a hashtag.",
	.kind = CONNECTOR_STREAM, .params = params,
	.seeds = { 0, 1, "the stream, or an object with the stream and the"
	    " hashtag", NULL, fields },
	.credential = mastodon_stream_credential, .hosts = hosts,
	.open = stream_open, .next = stream_next, .answer = stream_answer,
	.line = stream_line, .save = stream_save, .load = stream_load,
	.close = stream_close
};
