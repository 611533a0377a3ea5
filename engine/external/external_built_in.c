/*
 * The connectors that are always there: `web_crawl`, and types of harvests with
 * a form for people.  Their declarations are built_in/NAME.json; the member
 * `harvest` says which type it is, and how its seeds begin that are uids:
 *
 *     "harvest":{"type":"bluesky_author_feed","uidBegins":"did:"}
 *
 * The parameter with "x-seed" gives the seeds, one that is a key of the
 * harvest's credential and no secret goes there, and all others are options.
 */
#include "base/json_wiping.h"
#include "base/json_writer.h"
#include "engine/connector/connectors.h"
#include "engine/external/external_own.h"

#include "engine/external/built_in.inc"

#define FILE_TEXT(name) { (const char *)file_##name, sizeof(file_##name) }
static const struct str files[] = {
	FILE_TEXT(web_crawl), FILE_TEXT(bluesky_author_feed),
	FILE_TEXT(feed_entries), FILE_TEXT(flickr_user),
	FILE_TEXT(mastodon_account), FILE_TEXT(mastodon_hashtag),
	FILE_TEXT(tumblr_blog_posts), FILE_TEXT(youtube_channel),
	FILE_TEXT(youtube_comments),
};

struct external_connector *
external_connector_builtin(size_t i)
{
	struct external_connector *c = NULL;

	if (i < ARRAY_LEN(files))
		CHECK(external_load_text((struct external_reading){
		    .is_builtin = true }, files[i], &c) == OK);
	return c;
}

enum err
external_harvest_read(struct external_reading *r, yyjson_val *harvest)
{
	struct external_connector *c = r->connector;

	if (harvest == NULL)
		return OK;
	c->runs = connector_find(json_text(yyjson_obj_get(harvest, "type")));
	c->uid_begins = json_text(yyjson_obj_get(harvest, "uidBegins"));
	return c->runs != NULL ? OK : external_read_refuse(r, "harvest.type",
	    "there is no such type of harvest");
}

/* A key of the credential that people give as a parameter. */
static bool
is_key(const struct external_connector *c, const struct external_param *p)
{
	const struct connector_key *k = c->runs->credential;

	for (; k != NULL && k->name != NULL; k++)
		if (!k->secret && str_eq(p->name, str_of(k->name)))
			return true;
	return false;
}

/* ---- The order ---------------------------------------------------------- */

static void
put_seeds(const struct external_connector *c, const struct external_value *v,
    struct buf *out)
{
	for (size_t i = 0; i < v->list_n; i++) {
		bool is_uid = c->runs->seeds.token == NULL ||
		    (c->uid_begins.n > 0 && str_starts(v->list[i],
		    c->uid_begins));
		json_object(out, NULL);
		json_str(out, is_uid ? "uid" : "token", v->list[i]);
		buf_put_char(out, '}');
	}
}

void
external_harvest_order(const struct external_connector *c,
    const struct external_value *values, struct buf *out)
{
	FREED(buf_free) struct buf one = BUF_INIT;

	json_object(out, NULL);
	json_str(out, "type", str_of(c->runs->type));
	json_array(out, "seeds");
	for (size_t i = 0; i < c->params_n; i++)
		if (c->params[i].is_seed)
			put_seeds(c, &values[i], out);
	buf_put_char(out, ']');
	json_object(out, "options");
	for (size_t i = 0; i < c->params_n; i++) {
		const struct external_param *p = &c->params[i];
		if (p->is_seed || is_key(c, p) ||
		    external_value_is_empty(p, &values[i]))
			continue;
		buf_clear(&one);
		external_value_put_json(p, &values[i], &one);
		json_raw(out, p->name.p, buf_str(&one));
	}
	buf_put_text(out, "}}");
}

/* ---- The credential ----------------------------------------------------- */

/* The texts of a JSON object as members behind those of another. */
static void
put_members(struct str object, struct buf *out)
{
	if (object.n <= 2)
		return;
	if (out->p[out->n - 1] != '{')
		buf_put_char(out, ',');
	buf_put_str(out, str_cut(object, 1, object.n - 1));
}

void
external_keys_put(const struct external_connector *c, struct str params,
    struct buf *out)
{
	yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)params.p,
	    params.n, YYJSON_READ_BIGNUM_AS_RAW, &json_wiping, NULL);
	yyjson_val *root = yyjson_doc_get_root(doc);
	size_t before = out->n;

	json_object(out, NULL);
	size_t empty = out->n;
	for (size_t i = 0; c->runs != NULL && i < c->params_n; i++) {
		const struct external_param *p = &c->params[i];
		struct str value = json_text(yyjson_obj_getn(root, p->name.p,
		    p->name.n));
		if (value.n > 0 && is_key(c, p))
			json_str(out, p->name.p, value);
	}
	yyjson_doc_free(doc);
	if (out->n == empty)
		out->n = before;
	else
		buf_put_char(out, '}');
}

void
external_credential_join(struct str keys, struct str credential,
    struct buf *out)
{
	if (keys.n == 0 && credential.n == 0)
		return;
	buf_reserve(out, keys.n + credential.n + 2);
	json_object(out, NULL);
	put_members(keys, out);
	put_members(credential, out);
	buf_put_char(out, '}');
}
