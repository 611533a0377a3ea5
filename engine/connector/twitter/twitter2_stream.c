/*
 * The filtered stream of API v2.
 *
 *     rules ─► unwanted ones deleted ─► rules ... ─► missing ones added, one
 *     by one ─► stream ─► stream ...
 *
 * Rules belong to the credential and outlive a stream: those of other harvests
 * are deleted.
 */
#include "base/json_writer.h"
#include "engine/connector/order.h"
#include "engine/connector/shown.h"
#include "engine/connector/twitter/twitter.h"
#include "engine/connector/twitter/twitter2.h"
#include "engine/connector/twitter/twitter_read.h"
#include "engine/connector/twitter/twitter_stream.h"

#define SAVED_VERSION 1
#define RULES_MAX 1000u              /* of an order */
#define DELETED_MAX 500u             /* at once */
#define TRIES_MAX 5u
#define NAMED_MAX 10u                /* rules in a warning */

enum step { STEP_RULES, STEP_DELETE, STEP_ADD, STEP_STREAM, STEP_ENDED };

struct run {
	struct connector_run run;
	struct buf url, body;
	bool is_out;                 /* a call for rules */
	struct twitter_stream stream;

	/* Part of the checkpoint. */
	enum step step;
	unsigned tries, waits;       /* in a row */
	size_t adding;               /* the seed whose rule is next */
	bool missing[RULES_MAX];     /* of a seed: its rule is to be added */
	bool refused[RULES_MAX];
	struct buf ids;              /* to be deleted, parted by commas */
};

static const int statuses[] = { 400, 401, 403, 404, 409, 422, 429, 0 };

/* ---- Rules ------------------------------------------------------------- */

/* A token that is a text is a rule. */
static struct str
rule_of(const struct connector_seed *s)
{
	return twitter_seed_field(s, "rule", s->token);
}

static struct str
tag_of(const struct connector_seed *s)
{
	struct str tag = twitter_seed_field(s, "tag", STR_NONE);

	return tag.n > 0 ? tag : rule_of(s);
}

/* The first seed with that rule and tag; their number: none. */
static size_t
find_seed(const struct connector_order *o, struct str rule, struct str tag)
{
	size_t i = 0;

	while (i < o->seeds_n && (!str_eq(rule, rule_of(&o->seeds[i])) ||
	    !str_eq(tag, tag_of(&o->seeds[i]))))
		i++;
	return i;
}

/* The first rule to be added from there on. */
static void
find_missing(struct run *r)
{
	while (r->adding < r->run.order->seeds_n && !r->missing[r->adding])
		r->adding++;
}

/* ---- Calls ------------------------------------------------------------- */

static void
put_rules_url(struct run *r)
{
	buf_put_text(&r->url, twitter2_base(r->run.order));
	buf_put_text(&r->url, "/2/tweets/search/stream");
	if (r->step == STEP_STREAM)
		twitter2_put_fields(&r->url);
	else
		buf_put_text(&r->url, "/rules");
}

static void
put_body(struct run *r)
{
	const struct connector_seed *s = &r->run.order->seeds[r->adding];
	struct str rest = buf_str(&r->ids), id;
	struct buf *b = &r->body;

	json_object(b, NULL);
	if (r->step == STEP_ADD) {
		json_array(b, "add");
		json_object(b, NULL);
		json_str(b, "value", rule_of(s));
		json_str(b, "tag", tag_of(s));
		buf_put_text(b, "}]}");
		return;
	}
	json_object(b, "delete");
	json_array(b, "ids");
	while (str_split(&rest, ',', &id))
		json_item(b, id);
	buf_put_text(b, "]}}");
}

static enum connector_next
stream_next(struct connector_run *run, struct connector_call *call)
{
	struct run *r = (struct run *)run;

	if (r->step == STEP_ENDED)
		return CONNECTOR_END;
	if (r->is_out || r->stream.is_out)
		return CONNECTOR_WAIT;
	buf_clear(&r->url);
	buf_clear(&r->body);
	put_rules_url(r);
	*call = (struct connector_call){ .url = buf_str(&r->url),
		.mark = r->step, .statuses = statuses,
		.budget = r->step == STEP_STREAM ? "stream" : "rules" };
	twitter2_authorise(r->run.order, false, call);
	if (r->step == STEP_DELETE || r->step == STEP_ADD) {
		put_body(r);
		call->method = CONNECTOR_POST_JSON;
		call->body = buf_str(&r->body);
	}
	if (r->step == STEP_STREAM)
		twitter_stream_call(&r->stream, call);
	else
		r->is_out = true;
	return CONNECTOR_CALL;
}

/* ---- How a run ends ---------------------------------------------------- */

static void
fail_with(struct run *r, const struct connector_findings *f, const char *code,
    const char *text)
{
	r->step = STEP_ENDED;
	r->tries = 0;
	f->fail(f->arg, code, str_of(text));
}

static void
fail_run(struct run *r, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	char code[96];

	twitter2_failure_code(answer, code);
	buf_put_text(&text, "Twitter refuses");
	twitter2_put_failure(&text, answer);
	fail_with(r, f, code, buf_text(&text));
}

static void
ask_again(struct run *r, const struct connector_findings *f)
{
	if (++r->tries > TRIES_MAX) {
		fail_with(r, f, "unknown_error", "Twitter sent no list of "
		    "rules 6 times");
		return;
	}
	r->is_out = true;
	f->again(f->arg, r->tries * r->tries);
}

/* ---- Rules: the list --------------------------------------------------- */

/* Note what of the list is wanted. */
static void
read_rules(struct run *r, yyjson_val *list)
{
	const struct connector_order *o = r->run.order;
	size_t i, n, deleted = 0;
	yyjson_val *rule;

	buf_clear(&r->ids);
	for (size_t k = 0; k < o->seeds_n; k++)
		r->missing[k] = true;
	yyjson_arr_foreach(list, i, n, rule) {
		struct str id = json_text(yyjson_obj_get(rule, "id"));
		size_t seed = find_seed(o, json_text(yyjson_obj_get(rule,
		    "value")), json_text(yyjson_obj_get(rule, "tag")));
		if (seed < o->seeds_n) {
			r->missing[seed] = false;
		} else if (twitter_is_account_id(id) &&
		    deleted++ < DELETED_MAX) {
			buf_put_text(&r->ids, r->ids.n > 0 ? "," : "");
			buf_put_str(&r->ids, id);
		}
	}
}

/* Two seeds with the same rule are one. */
static void
drop_repeated(struct run *r)
{
	const struct connector_order *o = r->run.order;

	for (size_t i = 0; i < o->seeds_n; i++)
		if (find_seed(o, rule_of(&o->seeds[i]),
		    tag_of(&o->seeds[i])) < i)
			r->missing[i] = false;
}

static void
begin_stream(struct run *r, const struct connector_findings *f)
{
	size_t refused = 0;

	for (size_t i = 0; i < r->run.order->seeds_n; i++)
		refused += r->refused[i];
	if (refused == r->run.order->seeds_n)
		fail_with(r, f, "unknown_error", "Twitter takes none of the "
		    "rules");
	else
		r->step = STEP_STREAM;
}

static void
begin_adding(struct run *r, const struct connector_findings *f)
{
	drop_repeated(r);
	r->adding = 0;
	find_missing(r);
	r->step = STEP_ADD;
	if (r->adding == r->run.order->seeds_n)
		begin_stream(r, f);
}

/* Without rules there is no `data`. */
static void
answer_rules(struct run *r, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	yyjson_val *list = yyjson_obj_get(answer->json, "data");

	if (list == NULL ? !yyjson_is_obj(yyjson_obj_get(answer->json,
	    "meta")) : !yyjson_is_arr(list)) {
		ask_again(r, f);
		return;
	}
	r->tries = 0;
	read_rules(r, list);
	if (r->ids.n > 0)
		r->step = STEP_DELETE;
	else
		begin_adding(r, f);
}

/* ---- Rules: one that is added ------------------------------------------ */

static struct str
title_of(const struct connector_answer *answer)
{
	struct str title = json_text(yyjson_obj_get(answer->json, "title"));
	yyjson_val *errors = yyjson_obj_get(answer->json, "errors");

	return yyjson_arr_size(errors) == 0 ? title : json_text(yyjson_obj_get(
	    yyjson_arr_get_first(errors), "title"));
}

/* The rest of the rules is left out. */
static void
stop_adding(struct run *r, const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	const struct connector_order *o = r->run.order;
	size_t named = 0;

	buf_put_text(&text, "the credential takes no more rules; these were "
	    "not added:");
	for (size_t i = r->adding; i < o->seeds_n; i++) {
		if (!r->missing[i])
			continue;
		r->refused[i] = true;
		if (named++ >= NAMED_MAX)
			continue;
		buf_put_text(&text, named > 1 ? "; " : " ");
		shown_put(&text, rule_of(&o->seeds[i]));
	}
	if (named > NAMED_MAX)
		buf_printf(&text, "; and %zu more", named - NAMED_MAX);
	f->note(f->arg, CONNECTOR_WARNING, "token_RulesCapExceeded",
	    buf_str(&text), NULL);
	r->adding = o->seeds_n;
}

static void
refuse_rule(struct run *r, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	const struct connector_seed *s = &r->run.order->seeds[r->adding];

	buf_put_text(&text, "rule ");
	shown_put(&text, rule_of(s));
	buf_put_text(&text, " is refused");
	twitter2_put_failure(&text, answer);
	f->note(f->arg, CONNECTOR_WARNING, "token_unknown_error",
	    buf_str(&text), s);
	f->skip_seed(f->arg, s);
	r->refused[r->adding] = true;
}

/* A rule of the same value may have come in the meantime. */
static void
answer_added(struct run *r, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	struct str title = title_of(answer);
	bool errors = answer->status >= 400 ||
	    yyjson_arr_size(yyjson_obj_get(answer->json, "errors")) > 0;

	r->tries = 0;
	if (str_eq(title, STR("RulesCapExceeded")))
		stop_adding(r, f);
	else if (errors && !str_eq(title, STR("DuplicateRule")))
		refuse_rule(r, answer, f);
	if (r->adding < r->run.order->seeds_n)
		r->missing[r->adding++] = false;
	find_missing(r);
	if (r->adding == r->run.order->seeds_n)
		begin_stream(r, f);
}

/* ---- The stream -------------------------------------------------------- */

static void
stream_line(struct connector_run *run, const struct connector_call *call,
    struct str line, const struct connector_findings *f)
{
	struct run *r = (struct run *)run;
	yyjson_doc *doc = yyjson_read(line.p, line.n,
	    YYJSON_READ_BIGNUM_AS_RAW);
	yyjson_val *root = yyjson_doc_get_root(doc);

	(void)call;
	if (r->step != STEP_STREAM) {
		yyjson_doc_free(doc);
		return;
	}
	twitter_stream_hear(&r->stream);
	if (!yyjson_is_obj(root)) {
		f->note(f->arg, CONNECTOR_WARNING, "unknown_error", STR("a "
		    "line of the stream is no tweet, and is not counted"),
		    NULL);
	} else if (twitter_id(yyjson_obj_get(yyjson_obj_get(root, "data"),
	    "id")) != 0) {
		f->count(f->arg, TWITTER_LABEL, 1);
		twitter2_find_urls(root, twitter_wanted_urls(r->run.order), f);
	}
	/* Else it is a notice: why the stream will end. */
	yyjson_doc_free(doc);
}

static void
answer_stream(struct run *r, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	bool goes_on = twitter_stream_end(&r->stream, answer, f);

	if (twitter_stream_is_refused(answer) || (answer->status == 429 &&
	    !twitter2_must_wait(answer)))
		fail_run(r, answer, f);
	else if (!goes_on && answer->status >= 400)
		fail_run(r, answer, f);
	else if (!goes_on)
		fail_with(r, f, "unknown_error", "Twitter's stream was lost, "
		    "or ended without a line, 5 times in a row");
}

static void
answer_about_rules(struct run *r, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	if (twitter2_must_wait(answer)) {
		r->is_out = true;
		f->again(f->arg, twitter_wait_s(answer, r->waits++));
		return;
	}
	r->waits = 0;
	if (answer->status == 401 || answer->status == 403 ||
	    answer->status == 429 ||
	    (answer->status >= 400 && r->step != STEP_ADD))
		fail_run(r, answer, f);
	else if (r->step == STEP_RULES)
		answer_rules(r, answer, f);
	else if (r->step == STEP_ADD)
		answer_added(r, answer, f);
	else
		r->step = STEP_RULES;
}

static void
stream_answer(struct connector_run *run, const struct connector_call *call,
    const struct connector_answer *answer, const struct connector_findings *f)
{
	struct run *r = (struct run *)run;

	r->is_out = false;
	if (r->step == STEP_ENDED)
		return;
	if (call->mark == STEP_STREAM)
		answer_stream(r, answer, f);
	else
		answer_about_rules(r, answer, f);
}

/* ---- Opening, closing, saving ------------------------------------------ */

static void
stream_close(struct connector_run **run)
{
	struct run *r = (struct run *)*run;

	if (r == NULL)
		return;
	buf_free(&r->url);
	buf_free(&r->body);
	buf_free(&r->ids);
	free(r);
	*run = NULL;
}

static enum err
stream_open(const struct connector_order *o, struct connector_run **out,
    struct why *w)
{
	struct run *r = mem_new(sizeof(*r));

	(void)w;
	r->run.order = o;
	*out = &r->run;
	return OK;
}

static void
stream_save(const struct connector_run *run, struct buf *out)
{
	const struct run *r = (const struct run *)run;

	buf_put_char(out, SAVED_VERSION);
	buf_put_char(out, (char)r->step);
	buf_put_varint(out, r->tries);
	buf_put_varint(out, r->waits);
	buf_put_varint(out, r->adding);
	for (size_t i = 0; i < r->run.order->seeds_n; i++)
		buf_put_char(out, (char)(r->missing[i] | r->refused[i] << 1));
	buf_put_field(out, buf_str(&r->ids));
	twitter_stream_save(&r->stream, out);
}

static bool
are_ids(struct str ids)
{
	struct str id;

	while (ids.n > 0 && str_split(&ids, ',', &id))
		if (!twitter_is_account_id(id))
			return false;
	return true;
}

static bool
is_possible(const struct run *r)
{
	return (r->step != STEP_DELETE || r->ids.n > 0) &&
	    (r->step != STEP_ADD || r->adding < r->run.order->seeds_n) &&
	    are_ids(buf_str(&r->ids));
}

static enum err
stream_load(struct connector_run *run, struct str saved, struct why *w)
{
	struct run *r = (struct run *)run;
	struct reader in = reader_of(saved);
	uint8_t version = read_u8(&in), step = read_u8(&in);
	uint64_t tries = read_varint(&in), waits = read_varint(&in);
	uint64_t adding = read_varint(&in);

	for (size_t i = 0; i < r->run.order->seeds_n; i++) {
		uint8_t flags = read_u8(&in);
		r->missing[i] = (flags & 1) != 0;
		r->refused[i] = (flags & 2) != 0;
	}
	buf_clear(&r->ids);
	buf_put_str(&r->ids, read_field(&in));
	r->step = (enum step)MIN(step, STEP_ENDED);
	r->tries = (unsigned)tries;
	r->waits = (unsigned)waits;
	r->adding = (size_t)adding;
	r->is_out = false;
	if (version != SAVED_VERSION || step > STEP_ENDED ||
	    tries > TRIES_MAX || waits > UINT32_MAX ||
	    adding > r->run.order->seeds_n ||
	    !twitter_stream_load(&r->stream, &in) || in.n > 0 ||
	    !is_possible(r))
		return why(w, ERR_CORRUPT, "the checkpoint is damaged, or not "
		    "of this harvest");
	return OK;
}

/* ---- The row ----------------------------------------------------------- */

static const struct connector_param params[] = {
	TWITTER_URL_PARAMS,
	TWITTER2_HOST_PARAM,
	{ .name = NULL },
};

static const struct connector_param fields[] = {
	{ "rule", CONNECTOR_TEXT, true, 0, 0, NULL,
	    "Which tweets, in Twitter's words" },
	{ "tag", CONNECTOR_TEXT, false, 0, 0, NULL,
	    "A name that tweets carry which it lets through" },
	{ .name = NULL },
};

const struct connector twitter_filter_stream = {
	.type = "twitter_filter_stream", .platform = "twitter2",
	.label = TWITTER_LABEL, .title = "Twitter filters (API v2)",
	.help = "Tweets as they come that rules let through.",
	.kind = CONNECTOR_STREAM, .params = params,
	.seeds = { 1, RULES_MAX, "rule, or an object with a rule and its tag",
	    NULL, fields },
	.credential = twitter2_credential,
	.key_instead = TWITTER_BEARER_TOKEN, .hosts = twitter2_hosts,
	.open = stream_open, .next = stream_next, .answer = stream_answer,
	.line = stream_line, .save = stream_save, .load = stream_load,
	.close = stream_close
};
