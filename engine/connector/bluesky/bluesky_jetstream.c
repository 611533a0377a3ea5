/* The row of the table, a run's beginning and end, and its calls. */
#include "engine/connector/bluesky/bluesky_jetstream.h"

#include "base/json_writer.h"
#include "engine/connector/bluesky/bluesky.h"
#include "engine/connector/bluesky/bluesky_own.h"
#include "engine/connector/order.h"
#include "engine/connector/url_text.h"

#define SAVED_VERSION 1
#define SILENCE_S 60u
#define COLLECTION_USUAL "app.bsky.feed.post"
#define COLLECTIONS_MAX 100u
#define DIDS_MAX 10000u
/* More than that are sent in a message of their own. */
#define URL_DIDS_MAX 500u
#define URL_BYTES_MAX 60000u
#define HOST_BYTES_MAX 253u

static const int statuses[] = { 400, 401, 403, 404, 0 };

static const struct jetstream_protocol protocols[] = {
	{ "v1", "jetstream2.us-east.bsky.network", "/subscribe", NULL,
	    "wantedCollections", "wantedDids" },
	{ "v2", "jetstream.us-east.bsky.network",
	    "/xrpc/network.bsky.jetstream.subscribeEvents", "xrpc.v1.json",
	    "collections", "dids" },
};
#define PROTOCOL_WORDS "v1 v2"

/* ---- Calls ------------------------------------------------------------- */

uint64_t
jetstream_cursor(const struct jetstream *j)
{
	if (j->is_v2)
		return j->seq > 0 ? j->seq : j->us;
	return j->us > JETSTREAM_REPEAT_US ? j->us - JETSTREAM_REPEAT_US : 0;
}

static void
put_params(struct buf *url, const char *name, yyjson_val *list)
{
	size_t i, n;
	yyjson_val *v;

	yyjson_arr_foreach(list, i, n, v)
		url_text_param(url, name, json_text(v));
}

static void
put_list(struct buf *b, const char *name, yyjson_val *list)
{
	size_t i, n;
	yyjson_val *v;

	json_array(b, name);
	yyjson_arr_foreach(list, i, n, v)
		json_item(b, json_text(v));
	buf_put_char(b, ']');
}

static bool
needs_hello(const struct jetstream *j)
{
	return !j->is_v2 && yyjson_arr_size(j->dids) > URL_DIDS_MAX;
}

static void
put_collections(struct jetstream *j)
{
	if (j->collections == NULL)
		url_text_param(&j->url, j->protocol->collections,
		    STR(COLLECTION_USUAL));
	else
		put_params(&j->url, j->protocol->collections, j->collections);
}

/* The message replaces all that the address says. */
static void
put_hello(struct jetstream *j)
{
	buf_clear(&j->hello);
	json_object(&j->hello, NULL);
	json_str(&j->hello, "type", STR("options_update"));
	json_object(&j->hello, "payload");
	if (j->collections == NULL) {
		json_array(&j->hello, "wantedCollections");
		json_item(&j->hello, STR(COLLECTION_USUAL));
		buf_put_char(&j->hello, ']');
	} else {
		put_list(&j->hello, "wantedCollections", j->collections);
	}
	put_list(&j->hello, "wantedDids", j->dids);
	buf_put_text(&j->hello, "}}");
}

static void
put_url(struct jetstream *j)
{
	uint64_t cursor = jetstream_cursor(j);
	char number[24];

	buf_clear(&j->url);
	buf_printf(&j->url, "https://%.*s%s", STR_FMT(j->endpoint),
	    j->protocol->path);
	put_collections(j);
	if (needs_hello(j))
		url_text_param(&j->url, "requireHello", STR("true"));
	else
		put_params(&j->url, j->protocol->dids, j->dids);
	if (cursor == 0)
		return;
	snprintf(number, sizeof(number), "%llu", (unsigned long long)cursor);
	url_text_param(&j->url, "cursor", str_of(number));
}

static enum connector_next
jetstream_next(struct connector_run *run, struct connector_call *call)
{
	struct jetstream *j = (struct jetstream *)run;

	if (j->ended)
		return CONNECTOR_END;
	if (j->is_out)
		return CONNECTOR_WAIT;
	put_url(j);
	*call = (struct connector_call){ .url = buf_str(&j->url),
		.expect = CONNECTOR_FRAMES, .silence_s = SILENCE_S,
		.protocol = j->protocol->subprotocol, .statuses = statuses };
	if (needs_hello(j)) {
		put_hello(j);
		call->hello = buf_str(&j->hello);
	}
	if (j->pause_s > 0)
		call->not_before.us = j->stopped.us + (int64_t)j->pause_s *
		    US_PER_S;
	j->repeats_until_us = j->us;
	j->asked = jetstream_cursor(j);
	j->behind_us = 0;
	j->heard = false;
	j->is_out = true;
	return CONNECTOR_CALL;
}

/* ---- What an order says ------------------------------------------------ */

static bool
is_host(struct str host)
{
	for (size_t i = 0; i < host.n; i++)
		if (!ascii_is_alpha(host.p[i]) && !ascii_is_digit(host.p[i]) &&
		    host.p[i] != '-' && host.p[i] != '.')
			return false;
	return host.n > 0 && host.n <= HOST_BYTES_MAX && host.p[0] != '.' &&
	    host.p[0] != '-';
}

/* "HOST" or "HOST:PORT", in small letters. */
static enum err
read_endpoint(struct jetstream *j, struct why *w)
{
	struct str given = connector_param_text(j->run.order->options,
	    "endpoint");
	uint64_t port;

	j->endpoint = str_of(j->protocol->host);
	if (given.n == 0)
		return OK;
	size_t colon = str_find_char(given, ':');
	struct str host = str_cut(given, 0, colon);
	if (!is_host(host) || (colon < given.n &&
	    (!str_to_u64(str_from(given, colon + 1), &port) || port == 0 ||
	    port > UINT16_MAX)))
		return why_field(w, ERR_INPUT, "options.endpoint",
		    "it is no host, such as %s", j->protocol->host);
	char *lower = arena_bytes(&j->arena, given.n + 1);
	for (size_t i = 0; i < given.n; i++)
		lower[i] = ascii_lower(given.p[i]);
	j->endpoint = (struct str){ lower, given.n };
	return OK;
}

/* "app.bsky.feed.post", or "app.bsky.*" for all that begin so. */
static bool
is_collection(struct str s)
{
	if (str_ends(s, STR(".*")))
		s.n -= 2;
	return is_host(s) && str_find_char(s, '.') < s.n;
}

static enum err
check_list(yyjson_val *list, const char *field, size_t most,
    bool (*is_fine)(struct str), const char *what, struct why *w)
{
	size_t i, n;
	yyjson_val *v;
	char place[64];

	if (yyjson_arr_size(list) > most)
		return why_field(w, ERR_INPUT, field, "it has more than %zu",
		    most);
	yyjson_arr_foreach(list, i, n, v) {
		snprintf(place, sizeof(place), "%s[%zu]", field, i);
		if (!is_fine(json_text(v)))
			return why_field(w, ERR_INPUT, place, "it is no %s",
			    what);
	}
	return OK;
}

static enum err
read_seed(struct jetstream *j, struct why *w)
{
	const struct connector_order *o = j->run.order;
	enum err e;

	if (o->seeds_n == 0)
		return OK;
	yyjson_val *fields = o->seeds[0].fields;
	if (fields == NULL)
		return why_field(w, ERR_INPUT, "seeds[0].token",
		    "it is no object");
	j->collections = connector_param_texts(fields, "collections");
	if (yyjson_arr_size(j->collections) == 0)
		j->collections = NULL;
	j->dids = connector_param_texts(fields, "dids");
	if ((e = check_list(j->collections, "seeds[0].token.collections",
	    COLLECTIONS_MAX, is_collection, "collection, such as "
	    COLLECTION_USUAL, w)) != OK)
		return e;
	return check_list(j->dids, "seeds[0].token.dids", DIDS_MAX,
	    bluesky_is_did, "DID, such as did:plc:z72i7hdynmk6r22z27h6tvur",
	    w);
}

static void
put_state_key(const struct jetstream *j, struct buf *key)
{
	buf_printf(key, "jetstream.%.*s.cursor", STR_FMT(j->endpoint));
}

void
jetstream_set_state(struct jetstream *j, const struct connector_findings *f)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	char number[24];
	uint64_t at = j->is_v2 && j->seq > 0 ? j->seq : j->us;

	if (at == 0)
		return;
	put_state_key(j, &key);
	snprintf(number, sizeof(number), "%llu", (unsigned long long)at);
	f->state(f->arg, buf_str(&key), str_of(number));
}

/* Servers may speak both protocols, whose cursors differ in their size. */
static void
read_state(struct jetstream *j)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	const struct connector_order *o = j->run.order;
	uint64_t cursor;

	if (!connector_param_bool(o->options, "incremental"))
		return;
	put_state_key(j, &key);
	if (!str_to_u64(connector_state_find(o, buf_str(&key)), &cursor))
		return;
	if (cursor >= JETSTREAM_US_MIN && cursor <= JETSTREAM_US_MAX)
		j->us = cursor;
	else if (j->is_v2 && cursor < JETSTREAM_US_MIN)
		j->seq = cursor;
}

/* ---- Opening and closing ----------------------------------------------- */

static void
jetstream_close(struct connector_run **run)
{
	struct jetstream *j = (struct jetstream *)*run;

	if (j == NULL)
		return;
	buf_free(&j->url);
	buf_free(&j->hello);
	arena_free(&j->arena);
	free(j);
	*run = NULL;
}

static enum err
jetstream_open(const struct connector_order *o, struct connector_run **out,
    struct why *w)
{
	struct jetstream *j = mem_new(sizeof(*j));
	struct str name = connector_param_text(o->options, "protocol");
	enum err e;

	*out = &j->run;
	j->run.order = o;
	j->is_v2 = str_eq(name, STR("v2"));
	j->protocol = &protocols[j->is_v2];
	if ((e = read_endpoint(j, w)) == OK && (e = read_seed(j, w)) == OK) {
		read_state(j);
		put_url(j);
		if (j->url.n > URL_BYTES_MAX)
			e = why_field(w, ERR_INPUT, "seeds[0].token.dids",
			    "they do not fit into the address of a stream");
	}
	if (e != OK)
		jetstream_close(out);
	return e;
}

/* ---- What is saved ----------------------------------------------------- */

static void
jetstream_save(const struct connector_run *run, struct buf *out)
{
	const struct jetstream *j = (const struct jetstream *)run;

	buf_put_char(out, SAVED_VERSION);
	buf_put_char(out, (char)(j->ended | j->broken_told << 1));
	buf_put_varint(out, j->us);
	buf_put_varint(out, j->seq);
	buf_put_varint(out, j->state_s);
	buf_put_be64(out, (uint64_t)j->stopped.us);
	buf_put_varint(out, j->pause_s);
	bluesky_known_save(&j->known, out);
}

static enum err
jetstream_load(struct connector_run *run, struct str saved, struct why *w)
{
	struct jetstream *j = (struct jetstream *)run;
	struct reader r = reader_of(saved);
	uint8_t version = read_u8(&r), flags = read_u8(&r);
	uint64_t us = read_varint(&r), seq = read_varint(&r);
	uint64_t state_s = read_varint(&r);
	int64_t stopped_us = (int64_t)read_be64(&r);
	uint64_t pause_s = read_varint(&r);

	if (r.bad || version != SAVED_VERSION || flags > 3 ||
	    us > JETSTREAM_US_MAX || stopped_us < 0 ||
	    stopped_us > (int64_t)JETSTREAM_US_MAX ||
	    pause_s > JETSTREAM_PAUSE_MAX_S ||
	    !bluesky_known_load(&j->known, &r))
		return why(w, ERR_CORRUPT, "the checkpoint is damaged, or not "
		    "of this harvest");
	j->ended = (flags & 1) != 0;
	j->broken_told = (flags & 2) != 0;
	j->is_out = j->heard = false;
	j->us = us;
	j->seq = seq;
	j->state_s = state_s;
	j->stopped.us = stopped_us;
	j->pause_s = (unsigned)pause_s;
	return OK;
}

/* ---- The row ----------------------------------------------------------- */

static const struct connector_param params[] = {
	{ "incremental", CONNECTOR_BOOL, false, 0, 0, NULL,
	    "Begin where the last run has ended" },
	{ "endpoint", CONNECTOR_TEXT, false, 0, 0, NULL,
	    "Host of the Jetstream server; default one of Bluesky's" },
	{ "protocol", CONNECTOR_CHOICE, false, 0, 0, PROTOCOL_WORDS,
	    "Version of the protocol; default v1" },
	{ .name = NULL },
};

static const struct connector_param fields[] = {
	{ "collections", CONNECTOR_TEXTS, false, 0, 0, NULL,
	    "Kinds of records, such as app.bsky.feed.post or app.bsky.*" },
	{ "dids", CONNECTOR_TEXTS, false, 0, 0, NULL,
	    "DIDs of the accounts; default all" },
	{ .name = NULL },
};

static const struct connector_key credential[] = { { .name = NULL } };
static const char *const hosts[] = { NULL };

const struct connector bluesky_jetstream = {
	.type = "bluesky_jetstream", .platform = "bluesky",
	.label = "bluesky posts", .title = "Bluesky's stream",
	.help = "Posts as they come, of all accounts or of some.",
	.kind = CONNECTOR_STREAM, .params = params,
	.seeds = { 0, 1, "an object with the collections and the DIDs", NULL,
	    fields },
	.credential = credential, .hosts = hosts,
	.open = jetstream_open, .next = jetstream_next,
	.answer = jetstream_answer, .line = jetstream_line,
	.save = jetstream_save, .load = jetstream_load,
	.close = jetstream_close
};
