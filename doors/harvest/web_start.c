#include "doors/harvest/web_start.h"

#include "base/json.h"
#include "base/json_writer.h"
#include "os/clock.h"
#include "wire/digest.h"

/* "]}" */
#define END_BYTES 2u

static void
put_id(const char *name, struct buf *b)
{
	FREED(buf_free) struct buf id = BUF_INIT;
	uint8_t random[16];

	clock_random(random, sizeof(random));
	/* A UUID of version 4 (RFC 9562 §5.4). */
	random[6] = (uint8_t)((random[6] & 0x0f) | 0x40);
	random[8] = (uint8_t)((random[8] & 0x3f) | 0x80);
	digest_put_hex(&id, random, sizeof(random));
	json_str(b, name, buf_str(&id));
}

/* {name: {"id": ...}}, copied from the start message of the parent harvest. */
static void
put_owner(yyjson_val *message, const char *name, struct buf *b)
{
	struct str id = json_text(yyjson_obj_get(yyjson_obj_get(message,
	    name), "id"));

	json_object(b, name);
	if (id.n > 0)
		json_str(b, "id", id);
	buf_put_char(b, '}');
}

static void
put_head(const struct web_start *s, yyjson_val *message, struct buf *b)
{
	json_object(b, NULL);
	put_id("id", b);
	json_str(b, "parent_id", s->parent);
	json_str(b, "type", STR("web"));
	json_str(b, "path", s->path);
	put_owner(message, "collection_set", b);
	put_owner(message, "collection", b);
	json_array(b, "seeds");
}

static enum err
give(struct buf *b, enum err (*put)(void *arg, struct str body,
    struct why *), void *arg, struct why *w)
{
	buf_put_text(b, "]}");
	enum err e = put(arg, buf_str(b), w);
	buf_clear(b);
	return e;
}

static enum err
put_all(const struct web_start *s, yyjson_val *urls, yyjson_val *message,
    enum err (*put)(void *arg, struct str body, struct why *), void *arg,
    struct why *w)
{
	FREED(buf_free) struct buf body = BUF_INIT, seed = BUF_INIT;
	size_t i, n, seeds = 0;
	enum err e = OK;
	yyjson_val *url;

	yyjson_arr_foreach(urls, i, n, url) {
		buf_clear(&seed);
		json_object(&seed, NULL);
		put_id("id", &seed);
		json_str(&seed, "token", json_text(url));
		buf_put_char(&seed, '}');
		if (seeds == WEB_START_SEEDS_MAX || (seeds > 0 && body.n +
		    1 + seed.n + END_BYTES > WEB_START_BYTES_MAX)) {
			e = give(&body, put, arg, w);
			seeds = 0;
		}
		if (e != OK)
			return e;
		if (seeds++ == 0)
			put_head(s, message, &body);
		else
			buf_put_char(&body, ',');
		buf_put_str(&body, buf_str(&seed));
	}
	return seeds > 0 ? give(&body, put, arg, w) : OK;
}

enum err
web_start_each(const struct web_start *s, enum err (*put)(void *arg,
    struct str body, struct why *), void *arg, struct why *w)
{
	yyjson_doc *urls = yyjson_read(s->urls.p, s->urls.n, 0);
	yyjson_doc *message = yyjson_read(s->message.p, s->message.n,
	    YYJSON_READ_NUMBER_AS_RAW);
	yyjson_val *list = yyjson_doc_get_root(urls);

	enum err e = yyjson_is_arr(list) ? put_all(s, list,
	    yyjson_doc_get_root(message), put, arg, w) : why(w, ERR_CORRUPT,
	    "the URLs of a file of harvest %.*s are damaged",
	    STR_FMT(s->parent));
	yyjson_doc_free(urls);
	yyjson_doc_free(message);
	return e;
}
