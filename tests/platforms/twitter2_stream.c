/* The filtered stream of Twitter's API v2, and its rules. */
#include "tests/platforms/twitter.h"

#define PROBLEMS "https://api.twitter.com/2/problems/"

/* ---- Rules: lists ------------------------------------------------------ */

static void
put_sent(struct request *r)
{
	json_object(&r->out, "meta");
	twitter_put_iso(&r->out, "sent", r->now);
}

static void
write_rule(struct request *r, const struct twitter_rule *rule)
{
	json_object(&r->out, NULL);
	twitter_put_id(&r->out, "id", rule->id);
	json_str(&r->out, "value", str_of(rule->value));
	if (rule->tag[0] != '\0')
		json_str(&r->out, "tag", str_of(rule->tag));
	buf_put_text(&r->out, "}");
}

static void
list_rules(struct request *r)
{
	const struct twitter_world *x = &twitter_world;

	r->status = 200;
	json_object(&r->out, NULL);
	if (x->rules_n > 0) {
		json_array(&r->out, "data");
		for (size_t i = 0; i < x->rules_n; i++)
			write_rule(r, &x->rules[i]);
		buf_put_text(&r->out, "]");
	}
	put_sent(r);
	json_u64(&r->out, "result_count", x->rules_n);
	buf_put_text(&r->out, "}}");
}

/* ---- Rules: changes ---------------------------------------------------- */

static size_t
find_rule(struct str value)
{
	size_t i = 0;

	while (i < twitter_world.rules_n && !str_eq(value,
	    str_of(twitter_world.rules[i].value)))
		i++;
	return i;
}

/* One with half a pair of quotes is none. */
static bool
is_rule(struct str value)
{
	size_t quotes = 0;

	for (size_t i = 0; i < value.n; i++)
		quotes += value.p[i] == '"';
	return value.n > 0 && value.n <= 512 && quotes % 2 == 0;
}

static void
refuse_rule(struct request *r, int status, const char *title,
    const char *type, struct str value)
{
	struct buf *b = &r->out;

	r->status = status;
	json_object(b, NULL);
	json_array(b, "errors");
	json_object(b, NULL);
	json_str(b, "value", value);
	json_str(b, "title", str_of(title));
	twitter_put(b, "type", PROBLEMS "%s", type);
	buf_put_text(b, "}]");
	put_sent(r);
	buf_put_text(b, "}}");
}

static void
add_rule(struct request *r, struct str value, struct str tag)
{
	struct twitter_world *x = &twitter_world;

	if (!is_rule(value)) {
		refuse_rule(r, 400, "Invalid Rule", "invalid-rules", value);
	} else if (find_rule(value) < x->rules_n) {
		refuse_rule(r, 200, "DuplicateRule", "duplicate-rules",
		    value);
	} else if (x->rules_n >= x->rules_max) {
		twitter2_fail(r, 422, "RulesCapExceeded", "Rule limit "
		    "exceeded.");
	} else {
		struct twitter_rule *rule = &x->rules[x->rules_n++];
		rule->id = ++x->rule_id;
		snprintf(rule->value, sizeof(rule->value), "%.*s",
		    STR_FMT(value));
		snprintf(rule->tag, sizeof(rule->tag), "%.*s", STR_FMT(tag));
		r->status = 201;
		json_object(&r->out, NULL);
		json_array(&r->out, "data");
		write_rule(r, rule);
		buf_put_text(&r->out, "]");
		put_sent(r);
		buf_put_text(&r->out, "}}");
	}
}

static void
delete_rules(struct request *r, yyjson_val *ids)
{
	struct twitter_world *x = &twitter_world;
	size_t i, n, deleted = 0;
	yyjson_val *one;
	uint64_t id;

	yyjson_arr_foreach(ids, i, n, one) {
		if (!str_to_u64(json_text(one), &id))
			continue;
		for (size_t k = 0; k < x->rules_n; k++)
			if (x->rules[k].id == id) {
				memmove(&x->rules[k], &x->rules[k + 1],
				    (x->rules_n - k - 1) *
				    sizeof(x->rules[0]));
				x->rules_n--;
				deleted++;
				break;
			}
	}
	r->status = 200;
	json_object(&r->out, NULL);
	put_sent(r);
	json_object(&r->out, "summary");
	json_u64(&r->out, "deleted", deleted);
	json_u64(&r->out, "not_deleted", n - deleted);
	buf_put_text(&r->out, "}}}");
}

/* Of several rules in one call the answer is that to the last. */
static void
change_rules(struct request *r)
{
	yyjson_doc *doc = yyjson_read(r->body.p, r->body.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc), *rule;
	yyjson_val *add = yyjson_obj_get(root, "add");
	yyjson_val *ids = yyjson_obj_get(yyjson_obj_get(root, "delete"),
	    "ids");
	size_t i, n;

	if (yyjson_is_arr(ids))
		delete_rules(r, ids);
	else if (yyjson_arr_size(add) == 0)
		twitter2_fail(r, 400, "Invalid Request", NULL);
	yyjson_arr_foreach(add, i, n, rule) {
		buf_clear(&r->out);
		add_rule(r, json_text(yyjson_obj_get(rule, "value")),
		    json_text(yyjson_obj_get(rule, "tag")));
	}
	yyjson_doc_free(doc);
}

void
twitter2_answer_rules(struct request *r, enum twitter_auth auth)
{
	if (!twitter_may_call(r, "rules", 450))
		return;
	if (auth != AUTH_APP)
		twitter2_fail(r, 403, "Unsupported Authentication", NULL);
	else if (str_eq(r->head.method, STR("POST")))
		change_rules(r);
	else
		list_rules(r);
}

/* ---- The stream -------------------------------------------------------- */

static void
put_matching(struct buf *b, const struct tweet *t)
{
	const struct twitter_world *x = &twitter_world;

	json_array(b, "matching_rules");
	for (size_t i = 0; i < x->rules_n; i++) {
		if (!twitter_is_match(str_of(x->rules[i].value), t))
			continue;
		json_object(b, NULL);
		twitter_put_id(b, "id", x->rules[i].id);
		json_str(b, "tag", str_of(x->rules[i].tag));
		buf_put_text(b, "}");
	}
	buf_put_text(b, "]");
}

static bool
is_wanted(const struct tweet *t)
{
	const struct twitter_world *x = &twitter_world;

	for (size_t i = 0; i < x->rules_n; i++)
		if (twitter_is_match(str_of(x->rules[i].value), t))
			return true;
	return false;
}

/* A line has memory of its own, since a stream has no end. */
static void
put_tweet(const struct request *stream, const struct tweet *t,
    struct buf *out)
{
	struct request r = *stream;

	r.arena = ARENA_INIT;
	r.out = BUF_INIT;
	json_object(&r.out, NULL);
	twitter2_write_line(&r, t);
	put_matching(&r.out, t);
	buf_put_str(out, buf_str(&r.out));
	buf_put_text(out, "}\r\n");
	buf_free(&r.out);
	arena_free(&r.arena);
}

static void
put_news(struct request *r, struct buf *out)
{
	const struct twitter_world *x = &twitter_world;

	if (r->fault.notice == NOTICE_DISCONNECT) {
		buf_put_text(out, "{\"errors\":[{\"title\":"
		    "\"operational-disconnect\",\"disconnect_type\":"
		    "\"OperationalDisconnect\",\"detail\":\"This stream has "
		    "been disconnected for operational reasons.\",\"type\":"
		    "\"" PROBLEMS "operational-disconnect\"}]}\r\n");
		r->stream_over = true;
	}
	for (; r->stream_at < x->changes_n; r->stream_at++) {
		const struct tweet_change *c = &x->changes[r->stream_at];
		const struct tweet *t = &x->tweets[c->tweet];
		if (!c->deleted && !twitter_is_hidden(t) && is_wanted(t))
			put_tweet(r, t, out);
	}
}

void
twitter2_answer_stream(struct request *r, enum twitter_auth auth)
{
	if (r->fault.status != 0 && !twitter_may_call(r, "stream", 50))
		return;
	if (auth != AUTH_APP) {
		twitter2_fail(r, 403, "Unsupported Authentication", NULL);
	} else if (!twitter_begin_stream(r)) {
		buf_put_text(&r->fields, "x-rate-limit-remaining: 49\r\n");
		twitter2_fail(r, 429, "ConnectionException", "This stream is "
		    "currently at the maximum allowed connection limit.");
	} else {
		r->status = 200;
		r->stream = put_news;
		r->stream_at = twitter_world.changes_n;
		r->stream_packs = true;
		r->heartbeat = "\r\n";
	}
}
