#include "engine/connector/twitter/twitter_read.h"

#include "engine/connector/order.h"
#include "engine/connector/url_text.h"

#define URL_BYTES_MAX 8192u
#define ACCOUNT_ID_BYTES_MAX 20u
/* Seconds to wait where too many calls were made. */
#define WAIT_LEAST_S 10
#define WAIT_MOST_S 901
#define WAIT_UNKNOWN_S 60u           /* doubled from time to time */
#define WAIT_UNKNOWN_MOST_S 900u

/* ---- Ids and seeds ----------------------------------------------------- */

uint64_t
twitter_id(yyjson_val *v)
{
	uint64_t id;

	if (yyjson_is_uint(v))
		return yyjson_get_uint(v);
	return str_to_u64(json_text(v), &id) ? id : 0;
}

bool
twitter_is_account_id(struct str id)
{
	for (size_t i = 0; i < id.n; i++)
		if (!ascii_is_digit(id.p[i]))
			return false;
	return id.n > 0 && id.n <= ACCOUNT_ID_BYTES_MAX;
}

struct str
twitter_seed_name(const struct connector_seed *s)
{
	struct str name = s->token;

	(void)str_take_char(&name, '@');
	return name;
}

struct str
twitter_seed_field(const struct connector_seed *s, const char *name,
    struct str otherwise)
{
	return s->fields == NULL ? otherwise :
	    connector_param_text(s->fields, name);
}

struct str
twitter_seed_query(const struct connector_seed *s)
{
	return twitter_seed_field(s, "query", s->token);
}

struct str
twitter_seed_geocode(const struct connector_seed *s)
{
	return twitter_seed_field(s, "geocode", STR_NONE);
}

void
twitter_put_search_key(struct buf *key, const struct connector_seed *s)
{
	struct str query = twitter_seed_query(s);
	struct str geocode = twitter_seed_geocode(s);

	buf_put_str(key, query);
	if (query.n > 0 && geocode.n > 0)
		buf_put_char(key, ':');
	buf_put_str(key, geocode);
	buf_put_text(key, ".since_id");
}

/* ---- Too many calls ---------------------------------------------------- */

static bool
read_rate(const struct connector_answer *answer, const char *name,
    uint64_t *out)
{
	return str_to_u64(http_find(answer->head, str_of(name)), out);
}

/* Seconds from the answer on; Retry-After in both of its forms. */
static bool
read_reset(const struct connector_answer *answer, int64_t *in_s)
{
	uint64_t s;
	struct wall at;

	if (read_rate(answer, "x-rate-limit-reset", &s))
		*in_s = (int64_t)MIN(s, INT32_MAX) - wall_s(answer->when);
	else if (read_rate(answer, "Retry-After", &s))
		*in_s = (int64_t)MIN(s, INT32_MAX);
	else if (wall_from_http(http_find(answer->head, STR("Retry-After")),
	    &at))
		*in_s = wall_s(at) - wall_s(answer->when);
	else
		return false;
	return true;
}

unsigned
twitter_wait_s(const struct connector_answer *answer, unsigned waits)
{
	uint64_t left;
	int64_t in_s;

	if (read_rate(answer, "x-rate-limit-remaining", &left) && left > 0)
		return WAIT_LEAST_S; /* one call a second, or the like */
	if (!read_reset(answer, &in_s))
		return MIN(WAIT_UNKNOWN_S << MIN(waits, 4),
		    WAIT_UNKNOWN_MOST_S);
	return (unsigned)MIN(MAX(in_s + WAIT_LEAST_S, WAIT_LEAST_S),
	    WAIT_MOST_S);
}

/* ---- URLs -------------------------------------------------------------- */

unsigned
twitter_wanted_urls(const struct connector_order *o)
{
	unsigned wanted = 0;

	if (connector_param_bool(o->options, "web_resources"))
		wanted |= TWITTER_WEB;
	if (connector_param_bool(o->options, "media"))
		wanted |= TWITTER_MEDIA;
	if (connector_param_bool(o->options, "user_images"))
		wanted |= TWITTER_USER_IMAGES;
	return wanted;
}

/* False: there is none. */
static bool
find_url(yyjson_val *object, const char *name,
    const struct connector_findings *f)
{
	struct str url = json_text(yyjson_obj_get(object, name));

	if (url.n == 0 || url.n > URL_BYTES_MAX || !url_text_is_web(url))
		return false;
	f->url(f->arg, url);
	return true;
}

/* "https://twitter.com/NAME/status/1", also with a photo behind it. */
static bool
is_tweet_url(struct str url)
{
	struct str status = STR("/status/");
	size_t n = 0;

	if (!str_starts(url, STR("https://twitter.com/")) &&
	    !str_starts(url, STR("https://x.com/")))
		return false;
	url = str_from(url, str_find(url, status) + status.n);
	while (n < url.n && ascii_is_digit(url.p[n]))
		n++;
	url = str_from(url, n);
	return n > 0 && (url.n == 0 || str_starts(url, STR("/photo/")) ||
	    str_starts(url, STR("/video/")));
}

static void
find_links(yyjson_val *tweet, const struct connector_findings *f)
{
	size_t i, n;
	yyjson_val *link;

	yyjson_arr_foreach(yyjson_obj_get(yyjson_obj_get(tweet, "entities"),
	    "urls"), i, n, link)
		if (!is_tweet_url(json_text(yyjson_obj_get(link,
		    "expanded_url"))))
			(void)find_url(link, "expanded_url", f);
}

static void
find_media(yyjson_val *entities, const struct connector_findings *f)
{
	size_t i, n;
	yyjson_val *medium;

	yyjson_arr_foreach(yyjson_obj_get(entities, "media"), i, n, medium)
		(void)find_url(medium, "media_url", f);
}

static void
find_own_urls(yyjson_val *tweet, unsigned wanted,
    const struct connector_findings *f)
{
	yyjson_val *user = yyjson_obj_get(tweet, "user");

	if ((wanted & TWITTER_WEB) != 0)
		find_links(tweet, f);
	if ((wanted & TWITTER_MEDIA) != 0) {
		find_media(yyjson_obj_get(tweet, "entities"), f);
		find_media(yyjson_obj_get(tweet, "extended_entities"), f);
	}
	if ((wanted & TWITTER_USER_IMAGES) != 0) {
		(void)find_url(user, "profile_image_url", f);
		(void)find_url(user, "profile_background_image_url", f);
		(void)find_url(user, "profile_banner_url", f);
	}
}

void
twitter1_find_urls(yyjson_val *tweet, unsigned wanted,
    const struct connector_findings *f)
{
	yyjson_val *other = yyjson_obj_get(tweet, "retweeted_status");

	if (!yyjson_is_obj(other))
		other = yyjson_obj_get(tweet, "quoted_status");
	find_own_urls(tweet, wanted, f);
	find_own_urls(yyjson_obj_get(tweet, "extended_tweet"), wanted, f);
	find_own_urls(other, wanted, f);
	find_own_urls(yyjson_obj_get(other, "extended_tweet"), wanted, f);
}

static void
find_links_of_list(yyjson_val *tweets, const struct connector_findings *f)
{
	size_t i, n;
	yyjson_val *tweet;

	yyjson_arr_foreach(tweets, i, n, tweet)
		find_links(tweet, f);
}

void
twitter2_find_urls(yyjson_val *answer, unsigned wanted,
    const struct connector_findings *f)
{
	yyjson_val *data = yyjson_obj_get(answer, "data"), *one;
	yyjson_val *includes = yyjson_obj_get(answer, "includes");
	size_t i, n;

	if ((wanted & TWITTER_WEB) != 0) {
		find_links(data, f);
		find_links_of_list(data, f);
		find_links_of_list(yyjson_obj_get(includes, "tweets"), f);
	}
	/* Videos have an image in place of a URL. */
	if ((wanted & TWITTER_MEDIA) != 0)
		yyjson_arr_foreach(yyjson_obj_get(includes, "media"), i, n,
		    one)
			if (!find_url(one, "url", f))
				(void)find_url(one, "preview_image_url", f);
	if ((wanted & TWITTER_USER_IMAGES) != 0)
		yyjson_arr_foreach(yyjson_obj_get(includes, "users"), i, n,
		    one)
			(void)find_url(one, "profile_image_url", f);
}
