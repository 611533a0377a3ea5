#include "engine/connector/mastodon/mastodon_read.h"

#include "engine/connector/order.h"
#include "engine/connector/shown.h"
#include "engine/connector/url_text.h"

#define URL_BYTES_MAX 8192u

const int mastodon_statuses[] = { 401, 403, 404, 410, 422, 0 };

#define INSTANCE                                                             \
	{ "instance", true, false,                                           \
	    "Address of the instance, https://mastodon.example" }

const struct connector_key mastodon_credential[] = {
	INSTANCE,
	{ "access_token", false, true,
	    "Token of an application, for instances that want one" },
	{ .name = NULL },
};

const struct connector_key mastodon_stream_credential[] = {
	INSTANCE,
	{ "access_token", true, true, "Token of a user" },
	{ .name = NULL },
};

/* ---- Ids, addresses and names ------------------------------------------ */

bool
mastodon_id_is_valid(struct str id)
{
	for (size_t i = 0; i < id.n; i++)
		if (!ascii_is_alpha(id.p[i]) && !ascii_is_digit(id.p[i]) &&
		    id.p[i] != '-' && id.p[i] != '_')
			return false;
	return id.n > 0 && id.n <= MASTODON_ID_BYTES_MAX;
}

int
mastodon_id_order(struct str a, struct str b)
{
	if (a.n != b.n)
		return a.n < b.n ? -1 : 1;
	int order = memcmp(a.p, b.p, a.n);
	return (order > 0) - (order < 0);
}

struct str
mastodon_seed_name(const struct connector_seed *s)
{
	struct str name = s->fields == NULL ? s->token :
	    connector_param_text(s->fields, "tag");

	if (!str_take_char(&name, '@'))
		(void)str_take_char(&name, '#');
	return name;
}

/* ---- What answers contain ---------------------------------------------- */

bool
mastodon_is_missing(const struct connector_answer *answer)
{
	return answer->status == 404 || answer->status == 410;
}

bool
mastodon_is_refusal(const struct connector_answer *answer)
{
	return answer->status == 401 || answer->status == 403 ||
	    answer->status == 422;
}

void
mastodon_put_refusal(struct buf *b, struct str base, bool has_token,
    const struct connector_answer *answer)
{
	struct str error = json_text(yyjson_obj_get(answer->json, "error"));

	buf_put_str(b, base);
	buf_printf(b, has_token ? " refuses the access token: %d" :
	    " wants an access token: %d", answer->status);
	if (error.n > 0) {
		buf_put_text(b, ", ");
		shown_put(b, error);
	}
}

static bool
is_closed(yyjson_val *feeds, const char *side, bool has_token)
{
	struct str access = json_text(yyjson_obj_get(feeds, side));

	return str_eq(access, STR("disabled")) ||
	    (str_eq(access, STR("authenticated")) && !has_token);
}

void
mastodon_read_access(yyjson_val *instance, const char *feeds, bool has_token,
    bool *local_closed, bool *remote_closed)
{
	yyjson_val *access = yyjson_obj_get(yyjson_obj_get(yyjson_obj_get(
	    instance, "configuration"), "timelines_access"), feeds);

	*local_closed = is_closed(access, "local", has_token);
	*remote_closed = is_closed(access, "remote", has_token);
}

struct str
mastodon_id_of(yyjson_val *object, struct arena *a)
{
	yyjson_val *v = yyjson_obj_get(object, "id");
	struct str id = yyjson_is_uint(v) ? arena_printf(a, "%llu",
	    (unsigned long long)yyjson_get_uint(v)) : yyjson_is_raw(v) ?
	    (struct str){ yyjson_get_raw(v), yyjson_get_len(v) } : json_text(v);

	return mastodon_id_is_valid(id) ? id : STR_NONE;
}

void
mastodon_read_page(yyjson_val *list, struct arena *a,
    struct mastodon_page *p)
{
	size_t i, n;
	yyjson_val *post;

	*p = (struct mastodon_page){ .n = yyjson_arr_size(list) };
	p->posts = ARENA_ARRAY(a, yyjson_val *, p->n);
	yyjson_arr_foreach(list, i, n, post) {
		struct str id = mastodon_id_of(post, a);
		p->posts[p->n - 1 - i] = post;
		if (id.n == 0)
			continue;
		p->with_id++;
		if (p->newest.n == 0 || mastodon_id_order(p->newest, id) < 0)
			p->newest = id;
	}
}

struct str
mastodon_next_min_id(const struct connector_answer *answer,
    const struct mastodon_page *p, struct arena *a)
{
	struct str link = url_text_link(answer->head, "prev"), id;

	return link.p != NULL && url_text_find(link, "min_id", a, &id) &&
	    mastodon_id_is_valid(id) ? id : p->newest;
}

static void
find_url(yyjson_val *object, const struct connector_findings *f)
{
	struct str url = json_text(yyjson_obj_get(object, "url"));

	if (url.n <= URL_BYTES_MAX && url_text_is_web(url))
		f->url(f->arg, url);
}

static void
find_own_urls(yyjson_val *post, const struct connector_findings *f)
{
	size_t i, n;
	yyjson_val *medium;

	yyjson_arr_foreach(yyjson_obj_get(post, "media_attachments"), i, n,
	    medium)
		find_url(medium, f);
	find_url(yyjson_obj_get(post, "card"), f);
}

void
mastodon_find_urls(yyjson_val *post, const struct connector_findings *f)
{
	find_own_urls(post, f);
	find_own_urls(yyjson_obj_get(post, "reblog"), f);
}
