/* Streams of API v1.1: a filter, or a sample of all tweets. */
#include "engine/connector/order.h"
#include "engine/connector/twitter/twitter.h"
#include "engine/connector/twitter/twitter1.h"
#include "engine/connector/twitter/twitter_read.h"
#include "engine/connector/twitter/twitter_stream.h"
#include "engine/connector/url_text.h"

#define BASE "https://stream.twitter.com/1.1/statuses/"
#define SAVED_VERSION 1

struct run {
	struct connector_run run;
	struct buf form;             /* of a filter */
	struct twitter_stream stream;
	bool has_ended;
};

/* The parameters of a filter; each has the values of all seeds, joined. */
static const char *const filters[] = { "track", "follow", "locations",
	"language" };

/* ---- Calls ------------------------------------------------------------- */

static bool
is_filter(const struct run *r)
{
	return r->run.order->connector == &twitter_filter;
}

/* A token that is a text is what is tracked. */
static struct str
filter_of(const struct connector_seed *s, const char *name)
{
	return twitter_seed_field(s, name,
	    strcmp(name, "track") == 0 ? s->token : STR_NONE);
}

static void
put_filter(const struct connector_order *o, const char *name, struct buf *form)
{
	FREED(buf_free) struct buf joined = BUF_INIT;

	for (size_t i = 0; i < o->seeds_n; i++) {
		struct str one = filter_of(&o->seeds[i], name);
		if (one.n > 0 && joined.n > 0)
			buf_put_char(&joined, ',');
		buf_put_str(&joined, one);
	}
	if (joined.n == 0)
		return;
	if (form->n > 0)
		buf_put_char(form, '&');
	buf_printf(form, "%s=", name);
	url_text_encode(form, buf_str(&joined));
}

static enum connector_next
stream_next(struct connector_run *run, struct connector_call *call)
{
	struct run *r = (struct run *)run;

	if (r->has_ended)
		return CONNECTOR_END;
	if (r->stream.is_out)
		return CONNECTOR_WAIT;
	*call = (struct connector_call){ .budget = "stream",
		.url = is_filter(r) ? STR(BASE "filter.json") :
		    STR(BASE "sample.json") };
	if (is_filter(r)) {
		call->method = CONNECTOR_POST_FORM;
		call->body = buf_str(&r->form);
	}
	twitter1_authorise(call);
	twitter_stream_call(&r->stream, call);
	return CONNECTOR_CALL;
}

/* ---- Lines ------------------------------------------------------------- */

static void
find_deleted(yyjson_val *notice, const struct connector_findings *f)
{
	struct str id = json_text(yyjson_obj_get(yyjson_obj_get(yyjson_obj_get(
	    notice, "delete"), "status"), "id_str"));

	if (twitter_is_account_id(id))
		f->deleted(f->arg, id);
}

/* A line without an id is a notice: a tweet was deleted, tweets were withheld,
 * or we read too slowly. */
static void
stream_line(struct connector_run *run, const struct connector_call *call,
    struct str line, const struct connector_findings *f)
{
	struct run *r = (struct run *)run;
	yyjson_doc *doc = yyjson_read(line.p, line.n,
	    YYJSON_READ_BIGNUM_AS_RAW);
	yyjson_val *root = yyjson_doc_get_root(doc);

	(void)call;
	if (r->has_ended) {
		yyjson_doc_free(doc);
		return;
	}
	twitter_stream_hear(&r->stream);
	if (!yyjson_is_obj(root)) {
		f->note(f->arg, CONNECTOR_WARNING, "unknown_error", STR("a "
		    "line of the stream is no tweet, and is not counted"),
		    NULL);
	} else if (twitter_id(yyjson_obj_get(root, "id_str")) != 0) {
		f->count(f->arg, TWITTER_LABEL, 1);
		twitter1_find_urls(root, twitter_wanted_urls(r->run.order), f);
	} else {
		find_deleted(root, f);
	}
	yyjson_doc_free(doc);
}

static void
fail_run(struct run *r, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	bool credential = answer->status == 401 || answer->status == 403 ||
	    twitter1_refuses_credential(answer);

	if (answer->status == 0)
		buf_put_text(&text, "Twitter's stream was lost 5 times in a "
		    "row");
	else if (answer->status < 300)
		buf_put_text(&text, "Twitter's stream ended 5 times in a row "
		    "without a line");
	else {
		buf_put_text(&text, "Twitter refuses the stream");
		twitter1_put_failure(&text, answer);
	}
	r->has_ended = true;
	f->fail(f->arg, credential ? "harvest_Unauthorized" : "unknown_error",
	    buf_str(&text));
}

static void
stream_answer(struct connector_run *run, const struct connector_call *call,
    const struct connector_answer *answer, const struct connector_findings *f)
{
	struct run *r = (struct run *)run;

	(void)call;
	if (r->has_ended)
		return;
	if (!twitter_stream_end(&r->stream, answer, f) ||
	    twitter_stream_is_refused(answer))
		fail_run(r, answer, f);
}

/* ---- Opening, closing, saving ------------------------------------------ */

static void
stream_close(struct connector_run **run)
{
	struct run *r = (struct run *)*run;

	if (r == NULL)
		return;
	buf_free(&r->form);
	free(r);
	*run = NULL;
}

static enum err
check_seeds(const struct connector_order *o, struct why *w)
{
	char field[48];

	for (size_t i = 0; i < o->seeds_n; i++) {
		const struct connector_seed *s = &o->seeds[i];
		snprintf(field, sizeof(field), "seeds[%zu].token", i);
		if (filter_of(s, "track").n == 0 &&
		    filter_of(s, "follow").n == 0 &&
		    filter_of(s, "locations").n == 0)
			return why_field(w, ERR_INPUT, field,
			    "it has no track, no follow and no locations");
	}
	return OK;
}

static enum err
stream_open(const struct connector_order *o, struct connector_run **out,
    struct why *w)
{
	struct run *r = mem_new(sizeof(*r));
	enum err e;

	*out = &r->run;
	r->run.order = o;
	if ((e = check_seeds(o, w)) != OK) {
		stream_close(out);
		return e;
	}
	if (!is_filter(r))
		return OK;
	for (size_t i = 0; i < ARRAY_LEN(filters); i++)
		put_filter(o, filters[i], &r->form);
	buf_put_text(&r->form, "&stall_warnings=true");
	return OK;
}

static void
stream_save(const struct connector_run *run, struct buf *out)
{
	const struct run *r = (const struct run *)run;

	buf_put_char(out, SAVED_VERSION);
	buf_put_char(out, r->has_ended);
	twitter_stream_save(&r->stream, out);
}

static enum err
stream_load(struct connector_run *run, struct str saved, struct why *w)
{
	struct run *r = (struct run *)run;
	struct reader in = reader_of(saved);
	uint8_t version = read_u8(&in), ended = read_u8(&in);

	if (version != SAVED_VERSION || ended > 1 ||
	    !twitter_stream_load(&r->stream, &in) || in.n > 0)
		return why(w, ERR_CORRUPT, "the checkpoint is damaged, or not "
		    "of this harvest");
	r->has_ended = ended == 1;
	return OK;
}

/* ---- The rows ---------------------------------------------------------- */

static const struct connector_param params[] = {
	TWITTER_URL_PARAMS,
	{ .name = NULL },
};

static const struct connector_param fields[] = {
	{ "track", CONNECTOR_TEXT, false, 0, 0, NULL,
	    "Words, parted by commas; one of them is enough" },
	{ "follow", CONNECTOR_TEXT, false, 0, 0, NULL,
	    "Ids of accounts, parted by commas" },
	{ "locations", CONNECTOR_TEXT, false, 0, 0, NULL,
	    "Corners of boxes: longitude, latitude, longitude, latitude" },
	{ "language", CONNECTOR_TEXT, false, 0, 0, NULL,
	    "Only tweets in these languages, parted by commas" },
	{ .name = NULL },
};

#define ROW                                                                  \
	.platform = "twitter", .label = TWITTER_LABEL,                       \
	.kind = CONNECTOR_STREAM, .params = params,                          \
	.credential = twitter1_credential, .hosts = twitter1_hosts,          \
	.open = stream_open, .next = stream_next, .answer = stream_answer,   \
	.line = stream_line, .save = stream_save, .load = stream_load,       \
	.close = stream_close

const struct connector twitter_filter = {
	.type = "twitter_filter", .title = "Twitter filters (API v1.1)",
	.help = "Tweets as they come that a filter lets through.",
	.seeds = { 1, SIZE_MAX, "what is tracked, or an object with what is "
	    "tracked and followed, places and languages", NULL, fields },
	ROW
};

const struct connector twitter_sample = {
	.type = "twitter_sample", .title = "Twitter's sample (API v1.1)",
	.help = "A small part of all tweets as they come.",
	.seeds = { 0, 0, NULL, NULL, NULL },
	ROW
};
