#include "engine/connector/twitter/twitter2.h"

#include "base/text.h"
#include "engine/connector/order.h"
#include "engine/connector/shown.h"
#include "engine/connector/twitter/twitter_read.h"
#include "engine/connector/url_text.h"

#define TITLE_BYTES_MAX 64u

const int twitter2_statuses[] = { 400, 401, 403, 404, 429, 0 };
const char *const twitter2_hosts[] = { "api.twitter.com", "api.x.com", NULL };

const struct connector_key twitter2_credential[] = {
	{ TWITTER_BEARER_TOKEN, false, true,
	    "Bearer token of an application; without it, its key and secret" },
	{ TWITTER_CONSUMER_KEY, true, true, "Key of the application" },
	{ TWITTER_CONSUMER_SECRET, true, true, "Secret of the application" },
	{ TWITTER_ACCESS_TOKEN, false, true,
	    "Token of a user, where the application has none" },
	{ TWITTER_ACCESS_TOKEN_SECRET, false, true, "Secret of that token" },
	{ .name = NULL },
};

/* ---- Calls ------------------------------------------------------------- */

static bool
is_newer_name(const struct connector_order *o)
{
	return str_eq(connector_param_text(o->options, "host"),
	    STR("api.x.com"));
}

const char *
twitter2_base(const struct connector_order *o)
{
	return is_newer_name(o) ? "https://api.x.com" :
	    "https://api.twitter.com";
}

void
twitter2_authorise(const struct connector_order *o, bool is_signed,
    struct connector_call *call)
{
	if (connector_has_key(o, TWITTER_BEARER_TOKEN)) {
		call->auth = CONNECTOR_BEARER;
		call->secret = TWITTER_BEARER_TOKEN;
		return;
	}
	call->secret = TWITTER_CONSUMER_KEY;
	call->consumer_secret = TWITTER_CONSUMER_SECRET;
	if (is_signed) {
		call->auth = CONNECTOR_OAUTH1;
		call->token = TWITTER_ACCESS_TOKEN;
		call->token_secret = TWITTER_ACCESS_TOKEN_SECRET;
	} else {
		call->auth = CONNECTOR_APP_BEARER;
		call->token_url = is_newer_name(o) ?
		    "https://api.x.com/oauth2/token" :
		    "https://api.twitter.com/oauth2/token";
	}
}

bool
twitter2_may_sign(const struct connector_order *o, bool is_signed,
    const struct connector_answer *answer)
{
	return (answer->status == 401 || answer->status == 403) &&
	    !is_signed && !connector_has_key(o, TWITTER_BEARER_TOKEN) &&
	    connector_has_key(o, TWITTER_ACCESS_TOKEN) &&
	    connector_has_key(o, TWITTER_ACCESS_TOKEN_SECRET);
}

void
twitter2_put_fields(struct buf *url)
{
	static const struct {
		const char *name, *values;
	} fields[] = {
		{ "expansions", "author_id,in_reply_to_user_id,"
		    "referenced_tweets.id,referenced_tweets.id.author_id,"
		    "entities.mentions.username,attachments.poll_ids,"
		    "attachments.media_keys,geo.place_id,"
		    "edit_history_tweet_ids" },
		{ "tweet.fields", "attachments,author_id,context_annotations,"
		    "conversation_id,created_at,entities,geo,id,"
		    "in_reply_to_user_id,lang,public_metrics,text,"
		    "possibly_sensitive,referenced_tweets,reply_settings,"
		    "source,withheld,edit_controls,edit_history_tweet_ids" },
		{ "user.fields", "created_at,description,entities,id,location,"
		    "name,pinned_tweet_id,profile_image_url,protected,"
		    "public_metrics,url,username,verified,verified_type,"
		    "withheld" },
		{ "media.fields", "alt_text,duration_ms,height,media_key,"
		    "preview_image_url,type,url,width,variants,"
		    "public_metrics" },
		{ "poll.fields", "duration_minutes,end_datetime,id,options,"
		    "voting_status" },
		{ "place.fields", "contained_within,country,country_code,"
		    "full_name,geo,id,name,place_type" },
	};

	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		url_text_param(url, fields[i].name, str_of(fields[i].values));
}

/* ---- Errors ------------------------------------------------------------ */

/* {"title":...} of the answer, or of the first of its errors. */
static struct str
member_of(const struct connector_answer *answer, const char *name)
{
	struct str text = json_text(yyjson_obj_get(answer->json, name));
	yyjson_val *error = yyjson_arr_get_first(yyjson_obj_get(answer->json,
	    "errors"));

	return text.n > 0 ? text : json_text(yyjson_obj_get(error, name));
}

void
twitter2_failure_code(const struct connector_answer *answer, char *out)
{
	struct str title = member_of(answer, "title");
	struct buf code = BUF_INIT;

	buf_put_text(&code, "harvest_");
	for (size_t i = 0; i < MIN(title.n, TITLE_BYTES_MAX); i++)
		buf_put_char(&code, title.p[i] == ' ' ? '_' : title.p[i]);
	if (title.n == 0 || !text_is_token(buf_str(&code))) {
		buf_clear(&code);
		buf_put_text(&code, answer->status == 401 ||
		    answer->status == 403 ? "harvest_Unauthorized" :
		    "unknown_error");
	}
	snprintf(out, 96, "%s", buf_text(&code));
	buf_free(&code);
}

void
twitter2_put_failure(struct buf *b, const struct connector_answer *answer)
{
	static const char *const members[] = { "title", "detail", "message" };

	buf_printf(b, ": %d", answer->status);
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		struct str text = member_of(answer, members[i]);
		if (text.n > 0) {
			buf_put_text(b, ", ");
			shown_put(b, text);
		}
	}
}

bool
twitter2_must_wait(const struct connector_answer *answer)
{
	return answer->status == 429 && !str_eq(member_of(answer, "title"),
	    STR("UsageCapExceeded"));
}

bool
twitter2_blames(const struct connector_answer *answer, const char *parameter)
{
	size_t i, n;
	yyjson_val *error;

	yyjson_arr_foreach(yyjson_obj_get(answer->json, "errors"), i, n, error)
		if (yyjson_obj_get(yyjson_obj_get(error, "parameters"),
		    parameter) != NULL)
			return true;
	return false;
}
