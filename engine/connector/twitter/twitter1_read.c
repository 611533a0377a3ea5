#include "engine/connector/twitter/twitter1.h"

#include "engine/connector/shown.h"
#include "engine/connector/twitter/twitter_read.h"

const char *const twitter1_hosts[] = { "api.twitter.com",
	"stream.twitter.com", NULL };

const struct connector_key twitter1_credential[] = {
	{ TWITTER_CONSUMER_KEY, true, true, "Key of the application" },
	{ TWITTER_CONSUMER_SECRET, true, true, "Secret of the application" },
	{ TWITTER_ACCESS_TOKEN, true, true, "Token of a user" },
	{ TWITTER_ACCESS_TOKEN_SECRET, true, true, "Secret of that token" },
	{ .name = NULL },
};

void
twitter1_authorise(struct connector_call *call)
{
	call->auth = CONNECTOR_OAUTH1;
	call->secret = TWITTER_CONSUMER_KEY;
	call->consumer_secret = TWITTER_CONSUMER_SECRET;
	call->token = TWITTER_ACCESS_TOKEN;
	call->token_secret = TWITTER_ACCESS_TOKEN_SECRET;
}

static yyjson_val *
first_error(const struct connector_answer *answer)
{
	return yyjson_arr_get_first(yyjson_obj_get(answer->json, "errors"));
}

uint64_t
twitter1_error(const struct connector_answer *answer)
{
	return yyjson_get_uint(yyjson_obj_get(first_error(answer), "code"));
}

bool
twitter1_refuses_credential(const struct connector_answer *answer)
{
	/* No or wrong authentication; a token that is invalid or was taken
	 * back; the user's own account suspended or locked; a date too far
	 * from Twitter's; no access to this API. */
	static const uint64_t codes[] = { 32, 64, 87, 89, 99, 135, 215, 220,
		326, 416, 453 };
	uint64_t code = twitter1_error(answer);

	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		if (code == codes[i])
			return true;
	return false;
}

void
twitter1_put_failure(struct buf *b, const struct connector_answer *answer)
{
	struct str message = json_text(yyjson_obj_get(first_error(answer),
	    "message"));

	if (message.n == 0)
		message = json_text(yyjson_obj_get(answer->json, "error"));
	buf_printf(b, ": %d", answer->status);
	if (message.n > 0) {
		buf_put_text(b, ", ");
		shown_put(b, message);
	}
}
