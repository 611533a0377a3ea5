/*
 * Jetstream, in both protocols: what happened in the world, as messages of a
 * WebSocket.  https://github.com/bluesky-social/jetstream,
 * network.bsky.jetstream.subscribeEvents.
 */
#include "tests/platforms/bluesky.h"

#define HISTORY 400u                 /* events before the world was made */
#define HISTORY_S (40 * 3600)
#define LOOKBACK_US (36 * 3600 * US_PER_S)
#define CURSOR_US_MIN UINT64_C(1000000000000000)
#define NEWS_MAX 2000u               /* messages at once */
#define FILTER_MAX 100u
#define DIDS_MAX 10000u
#define LIKES "app.bsky.feed.like"
#define V2 "network.bsky.jetstream.subscribeEvents"

struct event {
	int64_t us;
	enum bluesky_event what;
	unsigned account;
	size_t entry;                /* of a commit, or what is liked */
	char rev[14], rkey[14];
};
static struct event *events;
static size_t events_n, events_cap;

static const char *const kind_words[] = { [BLUESKY_CREATE] = "commit",
	[BLUESKY_UPDATE] = "commit", [BLUESKY_DELETE] = "commit",
	[BLUESKY_LIKE] = "commit", [BLUESKY_IDENTITY] = "identity",
	[BLUESKY_ACCOUNT] = "account", [BLUESKY_SYNC] = "sync" };

/* ---- Events ------------------------------------------------------------ */

void
bluesky_happen(enum bluesky_event what, unsigned account, size_t entry,
    struct wall when)
{
	struct event *e;

	events = mem_room(events, events_n, &events_cap, 1024,
	    sizeof(*events));
	e = &events[events_n++];
	*e = (struct event){ .us = when.us, .what = what, .account = account,
		.entry = entry };
	if (events_n > 1)
		e->us = MAX(e->us, events[events_n - 2].us + 1);
	bluesky_make_tid((struct wall){ e->us }, e->rev);
	memcpy(e->rkey, what == BLUESKY_LIKE || entry == BLUESKY_NONE ?
	    e->rev : bluesky_world()->entries[entry].rkey, sizeof(e->rkey));
}

/* Something of each kind, the last of it an hour ago. */
void
bluesky_make_events(struct wall now)
{
	struct bluesky_world *w = bluesky_world();

	events_n = 0;
	for (unsigned i = 0; i < HISTORY; i++) {
		size_t at = random_next(&w->random) % w->entries_n;
		unsigned chance = (unsigned)(random_next(&w->random) % 100);
		struct wall when = { now.us - 3600 * US_PER_S -
		    (int64_t)(HISTORY - i) * (HISTORY_S / HISTORY) *
		    US_PER_S };
		bluesky_happen(w->entries[at].deleted ? BLUESKY_DELETE :
		    chance < 70 ? BLUESKY_CREATE : chance < 75 ?
		    BLUESKY_UPDATE : chance < 85 ? BLUESKY_LIKE :
		    chance < 90 ? BLUESKY_IDENTITY : chance < 95 ?
		    BLUESKY_ACCOUNT : BLUESKY_SYNC, w->entries[at].account,
		    at, when);
	}
}

static const struct bluesky_account *
account_of(const struct event *e)
{
	return &bluesky_world()->accounts[e->account];
}

static bool
is_commit(const struct event *e)
{
	return e->what <= BLUESKY_LIKE;
}

static const char *
collection_of(const struct event *e)
{
	return !is_commit(e) ? "" : e->what == BLUESKY_LIKE ? LIKES :
	    bluesky_world()->entries[e->entry].repost_of == BLUESKY_NONE ?
	    BLUESKY_POSTS : BLUESKY_REPOSTS;
}

/* The oldest that can still be asked for. */
static size_t
oldest_event(void)
{
	int64_t from_us = clock_wall().us - LOOKBACK_US;
	size_t i = 0;

	while (i < events_n && events[i].us < from_us)
		i++;
	return i;
}

static size_t
first_event_at(uint64_t us)
{
	size_t i = events_n;

	while (i > 0 && (uint64_t)events[i - 1].us >= us)
		i--;
	return i;
}

/* ---- Messages ---------------------------------------------------------- */

static void
put_like(struct buf *b, const struct event *e)
{
	FREED(buf_free) struct buf uri = BUF_INIT;
	const struct bluesky_entry *liked =
	    &bluesky_world()->entries[e->entry];

	json_object(b, "record");
	json_str(b, "$type", STR(LIKES));
	json_object(b, "subject");
	json_str(b, "cid", str_of(liked->cid));
	bluesky_put_uri(&uri, liked);
	json_str(b, "uri", buf_str(&uri));
	buf_put_text(b, "}}");
}

/* Members of a commit. */
static void
put_commit(struct buf *b, const struct event *e)
{
	static const char *const operations[] = { "create", "update",
		"delete", "create" };
	const struct bluesky_entry *entry =
	    &bluesky_world()->entries[e->entry];

	json_str(b, "rev", str_of(e->rev));
	json_str(b, "operation", str_of(operations[e->what]));
	json_str(b, "collection", str_of(collection_of(e)));
	json_str(b, "rkey", str_of(e->rkey));
	if (e->what == BLUESKY_DELETE)
		return;
	if (e->what == BLUESKY_LIKE)
		put_like(b, e);
	else
		bluesky_write_record(b, "record", entry, 0);
	json_str(b, "cid", str_of(entry->cid));
}

/* What a relay said, in either protocol: the member `identity` and the like. */
static void
put_relayed(struct buf *b, const struct event *e, const char *iso)
{
	enum bluesky_status status = account_of(e)->status;

	json_object(b, kind_words[e->what]);
	json_str(b, "did", str_of(account_of(e)->did));
	json_u64(b, "seq", (uint64_t)(e - events) + 5000000);
	json_str(b, "time", str_of(iso));
	if (e->what == BLUESKY_IDENTITY) {
		json_str(b, "handle", str_of(account_of(e)->handle));
	} else if (e->what == BLUESKY_ACCOUNT) {
		bool active = status == BLUESKY_FINE ||
		    status == BLUESKY_BLOCKED;
		json_bool(b, "active", active);
		if (!active)
			json_str(b, "status", str_of(
			    bluesky_status_word(status)));
	} else {
		json_str(b, "rev", str_of(e->rev));
		json_object(b, "blocks");
		json_str(b, "$bytes", STR("AAAA"));
		buf_put_char(b, '}');
	}
	buf_put_char(b, '}');
}

static void
put_v1(struct buf *b, const struct event *e)
{
	char iso[WALL_ISO_MAX];

	wall_to_iso((struct wall){ e->us }, iso);
	json_object(b, NULL);
	json_str(b, "did", str_of(account_of(e)->did));
	json_u64(b, "time_us", (uint64_t)e->us);
	json_str(b, "kind", str_of(kind_words[e->what]));
	if (is_commit(e)) {
		json_object(b, "commit");
		put_commit(b, e);
		buf_put_char(b, '}');
	} else {
		put_relayed(b, e, iso);
	}
	buf_put_text(b, "}\n");
}

static void
put_v2(struct buf *b, const struct event *e)
{
	char iso[WALL_ISO_MAX], type[80];

	wall_to_iso((struct wall){ e->us }, iso);
	snprintf(type, sizeof(type), V2 "#%s", kind_words[e->what]);
	json_object(b, NULL);
	json_str(b, "$type", STR("message"));
	json_object(b, "payload");
	json_str(b, "$type", str_of(type));
	json_u64(b, "seq", (uint64_t)(e - events) + 1);
	json_str(b, "did", str_of(account_of(e)->did));
	json_str(b, "time", str_of(iso));
	json_str(b, "witnessedAt", str_of(iso));
	if (is_commit(e))
		put_commit(b, e);
	else
		put_relayed(b, e, iso);
	buf_put_text(b, "}}\n");
}

static void
put_info(struct buf *b, const char *name)
{
	json_object(b, NULL);
	json_str(b, "$type", STR("message"));
	json_object(b, "payload");
	json_str(b, "$type", STR(V2 "#info"));
	json_str(b, "name", str_of(name));
	buf_put_text(b, "}}\n");
}

/* ---- What a client wants ----------------------------------------------- */

struct wanted {
	bool v2;
	bool waits;                  /* for a message with options */
	const char *info;            /* to be sent first; or NULL */
	struct str *collections, *dids, *kinds;  /* of the request's arena */
	size_t collections_n, dids_n, kinds_n;
};

static bool
matches(struct str pattern, struct str collection)
{
	return str_ends(pattern, STR(".*")) ? str_starts(collection,
	    str_cut(pattern, 0, pattern.n - 1)) : str_eq(pattern, collection);
}

static bool
is_among(struct str s, const struct str *list, size_t n,
    bool (*is_it)(struct str, struct str))
{
	for (size_t i = 0; i < n; i++)
		if (is_it(list[i], s))
			return true;
	return n == 0;
}

/* Those that are no commits come whatever the collections are. */
static bool
is_wanted(const struct wanted *w, const struct event *e)
{
	return is_among(str_of(account_of(e)->did), w->dids, w->dids_n,
	    str_eq) && is_among(str_of(kind_words[e->what]), w->kinds,
	    w->kinds_n, str_eq) && (!is_commit(e) || is_among(
	    str_of(collection_of(e)), w->collections, w->collections_n,
	    matches)) && (w->v2 || e->what != BLUESKY_SYNC);
}

static void
stream_events(struct request *r, struct buf *out)
{
	struct wanted *w = r->stream_data;
	unsigned n = 0;

	if (w->info != NULL)
		put_info(out, w->info);
	w->info = NULL;
	for (; !w->waits && r->stream_at < events_n && n < NEWS_MAX;
	    r->stream_at++) {
		const struct event *e = &events[r->stream_at];
		if (!is_wanted(w, e))
			continue;
		if (w->v2)
			put_v2(out, e);
		else
			put_v1(out, e);
		n++;
	}
}

/* ---- Requests ---------------------------------------------------------- */

static void
read_list(struct request *r, const char *name, size_t most, struct str **out,
    size_t *n)
{
	struct str value;

	*n = 0;
	*out = ARENA_ARRAY(&r->arena, struct str, most);
	for (size_t at = 0; *n < most && head_param(r->head.query, &at,
	    str_of(name), &r->arena, &value);)
		(*out)[(*n)++] = value;
}

static void
read_json_list(struct request *r, yyjson_val *list, size_t most,
    struct str **out, size_t *n)
{
	yyjson_val *v;
	size_t i, all;

	*n = 0;
	*out = ARENA_ARRAY(&r->arena, struct str, most);
	yyjson_arr_foreach(list, i, all, v)
		if (*n < most)
			(*out)[(*n)++] = arena_copy(&r->arena, json_text(v));
}

/* {"type":"options_update","payload":{...}}: in place of all that was said. */
static void
take_options(struct request *r, struct str message)
{
	struct wanted *w = r->stream_data;
	yyjson_doc *doc = yyjson_read(message.p, message.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	yyjson_val *options = yyjson_obj_get(root, "payload");

	if (str_eq(json_text(yyjson_obj_get(root, "type")),
	    STR("options_update"))) {
		read_json_list(r, yyjson_obj_get(options,
		    "wantedCollections"), FILTER_MAX, &w->collections,
		    &w->collections_n);
		read_json_list(r, yyjson_obj_get(options, "wantedDids"),
		    DIDS_MAX, &w->dids, &w->dids_n);
		w->waits = false;
	}
	yyjson_doc_free(doc);
}

static void
begin_stream(struct request *r, struct wanted *w, size_t at)
{
	r->status = 101;
	r->socket = true;
	r->stream = stream_events;
	r->stream_at = at;
	r->stream_data = w;
}

static void
refuse_v1(struct request *r, const char *why)
{
	r->status = 400;
	r->type = "text/plain";
	buf_put_text(&r->out, why);
}

static void
answer_v1(struct request *r, struct wanted *w)
{
	uint64_t cursor = request_number(r, "cursor", 0);
	struct str flag = STR_NONE;
	size_t at = events_n;

	read_list(r, "wantedCollections", FILTER_MAX + 1, &w->collections,
	    &w->collections_n);
	read_list(r, "wantedDids", DIDS_MAX, &w->dids, &w->dids_n);
	if (w->collections_n > FILTER_MAX) {
		refuse_v1(r, "too many wanted collections\n");
		return;
	}
	/* What is too old is moved silently. */
	if (cursor > 0)
		at = MAX(first_event_at(cursor), oldest_event());
	w->waits = request_param(r, "requireHello", &flag) &&
	    str_eq(flag, STR("true"));
	r->message = take_options;
	begin_stream(r, w, at);
}

static void
refuse_v2(struct request *r, const char *error, const char *message)
{
	r->status = 400;
	json_object(&r->out, NULL);
	json_str(&r->out, "error", str_of(error));
	json_str(&r->out, "message", str_of(message));
	buf_put_char(&r->out, '}');
}

static bool
are_kinds(const struct wanted *w)
{
	static const char *const kinds[] = { "commit", "identity", "account",
		"sync" };

	for (size_t i = 0; i < w->kinds_n; i++)
		if (STR_ROW(w->kinds[i], kinds) == ARRAY_LEN(kinds))
			return false;
	return true;
}

/* Where a stream begins; false: the request has been refused. */
static bool
find_start(struct request *r, struct wanted *w, size_t *at)
{
	uint64_t cursor = request_number(r, "cursor", 0);
	size_t oldest = oldest_event();

	*at = events_n;
	if (cursor >= CURSOR_US_MIN) {
		*at = first_event_at(cursor);
		if (*at < oldest) {
			*at = oldest;
			w->info = "OutdatedCursor";
		}
	} else if (cursor > 0 && cursor - 1 < oldest) {
		refuse_v2(r, "CursorTooOld", "the cursor is below the "
		    "retention floor");
		return false;
	} else if (cursor > 0) {
		/* A number that is not given yet: what comes next. */
		*at = MIN(cursor - 1, events_n);
	}
	return true;
}

static void
answer_v2(struct request *r, struct wanted *w)
{
	struct str ignored;
	size_t at;

	w->v2 = true;
	read_list(r, "collections", FILTER_MAX + 1, &w->collections,
	    &w->collections_n);
	read_list(r, "dids", DIDS_MAX, &w->dids, &w->dids_n);
	read_list(r, "kinds", 4, &w->kinds, &w->kinds_n);
	if (request_param(r, "zstdDictionary", &ignored))
		refuse_v2(r, "UnknownZstdDictionary", "there is none");
	else if (!are_kinds(w) || w->collections_n > FILTER_MAX ||
	    (w->collections_n > 0 && !is_among(STR("commit"), w->kinds,
	    w->kinds_n, str_eq)))
		refuse_v2(r, "InvalidRequest", "the filters make no sense");
	else if (r->fault.ws == WS_TOO_OLD)
		refuse_v2(r, "CursorTooOld", "so the plan says");
	else if (find_start(r, w, &at))
		begin_stream(r, w, at);
	if (head_lists(&r->head, STR("Sec-WebSocket-Protocol"),
	    STR("xrpc.v1.json")))
		r->protocol = "xrpc.v1.json";
}

bool
bluesky_answer_stream(struct request *r)
{
	struct wanted *w = ARENA_NEW(&r->arena, struct wanted);
	bool v1 = str_eq(r->head.path, STR("/subscribe"));

	if (!v1 && !str_eq(r->head.path, STR("/xrpc/" V2)))
		return false;
	if (r->fault.status != 0) {
		r->status = r->fault.status;
		json_object(&r->out, NULL);
		json_str(&r->out, "error", STR("SaidByPlan"));
		buf_put_char(&r->out, '}');
	} else if (!socket_is_wanted(r)) {
		refuse_v1(r, "a WebSocket is expected\n");
	} else if (v1) {
		answer_v1(r, w);
	} else {
		answer_v2(r, w);
	}
	return true;
}

/* ---- For tests --------------------------------------------------------- */

void
bluesky_describe_events(struct buf *out)
{
	json_array(out, "events");
	for (size_t i = 0; i < events_n; i++) {
		const struct event *e = &events[i];
		json_object(out, NULL);
		json_u64(out, "seq", i + 1);
		json_u64(out, "us", (uint64_t)e->us);
		json_str(out, "kind", str_of(kind_words[e->what]));
		json_str(out, "did", str_of(account_of(e)->did));
		json_str(out, "collection", str_of(collection_of(e)));
		json_str(out, "rkey", str_of(is_commit(e) ? e->rkey : ""));
		json_bool(out, "deleted", e->what == BLUESKY_DELETE);
		buf_put_char(out, '}');
	}
	buf_put_char(out, ']');
	json_u64(out, "oldest", oldest_event() + 1);
}
