/* The record of what a crawl was told when it began. */
#include "engine/frontier/crawl_spec.h"

#include "base/json.h"
#include "base/text.h"
#include "engine/policy/policy.h"
#include "engine/policy/seed_list.h"

static void
put_list(struct buf *out, const struct str *list, size_t n)
{
	buf_put_varint(out, n);
	for (size_t i = 0; i < n; i++)
		buf_put_field(out, list[i]);
}

static const struct str *
read_list(struct reader *in, struct arena *a, size_t *n)
{
	uint64_t count = read_varint(in);

	*n = 0;
	if (count > in->n) {
		in->bad = true;
		return NULL;
	}
	struct str *list = ARENA_ARRAY(a, struct str, (size_t)count);
	for (; *n < count; (*n)++)
		list[*n] = read_field(in);
	return list;
}

static void
put_options(const struct crawl_spec *o, struct buf *b)
{
	buf_printf(b, "{\"operator\":%s", o->operator_seeds ? "true" :
	    "false");
	if (o->unarchived)
		buf_put_text(b, ",\"archive\":false");
	if (o->secret_proxy)
		buf_put_text(b, ",\"proxy\":true");
	if (o->policy_name.n != 0) {
		buf_put_text(b, ",\"policy\":");
		text_json(b, o->policy_name);
	}
	if (o->key.n != 0) {
		buf_put_text(b, ",\"key\":");
		text_json(b, o->key);
	}
	if (o->schedule != 0)
		buf_printf(b, ",\"schedule\":%llu",
		    (unsigned long long)o->schedule);
	if (o->collection.n != 0) {
		buf_put_text(b, ",\"collection\":");
		text_json(b, o->collection);
	}
	if (o->about.n != 0) {
		buf_put_text(b, ",\"about\":");
		text_json(b, o->about);
		buf_put_text(b, ",\"about_uri\":");
		text_json(b, o->about_uri);
	}
	if (o->delays_n != 0)
		buf_put_text(b, ",\"delays\":{");
	for (size_t i = 0; i < o->delays_n; i++) {
		if (i > 0)
			buf_put_char(b, ',');
		text_json(b, o->delays[i].host);
		buf_printf(b, ":%.17g", o->delays[i].s);
	}
	buf_put_text(b, o->delays_n != 0 ? "}}" : "}");
}

void
crawl_spec_put(const struct crawl_spec *s, struct buf *out)
{
	FREED(buf_free) struct buf options = BUF_INIT;

	put_options(s, &options);
	buf_put_char(out, (char)s->kind);
	buf_put_field(out, s->name);
	put_list(out, s->tags, s->tags_n);
	put_list(out, s->seeds, s->seeds_n);
	buf_put_field(out, s->policy);
	buf_put_field(out, buf_str(&options));
	buf_put_field(out, s->warc_dir);
	buf_put_varint(out, s->max_items);
	buf_put_varint(out, s->host_urls_max);
	buf_put_varint(out, (uint64_t)s->duration_ms_max);
	buf_put_varint(out, s->warc_bytes_max);
}

static struct str
text_of(yyjson_val *object, const char *name, struct arena *a)
{
	yyjson_val *v = yyjson_obj_get(object, name);

	return !yyjson_is_str(v) ? STR_NONE : arena_copy(a,
	    json_text(v));
}

static void
read_delays(yyjson_val *object, struct arena *a, struct crawl_spec *o)
{
	yyjson_obj_iter i = yyjson_obj_iter_with(object);
	yyjson_val *key;

	o->delays = ARENA_ARRAY(a, struct seed_delay,
	    yyjson_obj_size(object));
	while ((key = yyjson_obj_iter_next(&i)) != NULL) {
		struct seed_delay *d = &o->delays[o->delays_n++];
		d->host = arena_copy(a, json_text(key));
		d->s = yyjson_get_num(yyjson_obj_iter_get_val(key));
	}
	if (o->delays_n > 1)
		qsort(o->delays, o->delays_n, sizeof(*o->delays), str_order);
}

static bool
parse_options(struct str text, struct arena *a, struct crawl_spec *o)
{
	o->operator_seeds = text.n == 0;
	if (text.n == 0)
		return true;
	yyjson_doc *doc = yyjson_read(text.p, text.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	bool fine = yyjson_is_obj(root);
	if (fine) {
		o->operator_seeds = yyjson_get_bool(yyjson_obj_get(root,
		    "operator"));
		o->unarchived = yyjson_is_false(yyjson_obj_get(root,
		    "archive"));
		o->secret_proxy = yyjson_get_bool(yyjson_obj_get(root,
		    "proxy"));
		o->policy_name = text_of(root, "policy", a);
		o->key = text_of(root, "key", a);
		o->collection = text_of(root, "collection", a);
		o->about = text_of(root, "about", a);
		o->about_uri = text_of(root, "about_uri", a);
		o->schedule = yyjson_get_uint(yyjson_obj_get(root,
		    "schedule"));
		read_delays(yyjson_obj_get(root, "delays"), a, o);
	}
	yyjson_doc_free(doc);
	return fine;
}

bool
crawl_spec_parse(struct str value, struct arena *a, struct crawl_spec *s)
{
	struct reader in = reader_of(value);

	memset(s, 0, sizeof(*s));
	s->kind = read_u8(&in);
	s->name = read_field(&in);
	s->tags = read_list(&in, a, &s->tags_n);
	s->seeds = read_list(&in, a, &s->seeds_n);
	s->policy = read_field(&in);
	struct str options = read_field(&in);
	s->warc_dir = read_field(&in);
	s->max_items = read_varint(&in);
	s->host_urls_max = read_varint(&in);
	/* Records of earlier versions end here. */
	s->duration_ms_max = in.n == 0 ? 0 : (int64_t)read_varint(&in);
	s->warc_bytes_max = in.n == 0 ? 0 : read_varint(&in);
	return !in.bad && parse_options(options, a, s);
}

void
crawl_spec_limit(struct crawl_spec *s, const struct policy *p)
{
	s->max_items = p->limits.max_items == POLICY_NONE ? 0 :
	    (uint64_t)p->limits.max_items;
	s->host_urls_max = p->traps.host_urls_max == TRAP_NONE ? 0 :
	    (uint64_t)p->traps.host_urls_max;
	s->warc_bytes_max = p->limits.max_bytes == POLICY_NONE ? 0 :
	    (uint64_t)p->limits.max_bytes;
}

const double *
crawl_spec_delays(const struct crawl_spec *s, const struct str *urls,
    size_t n, struct arena *a)
{
	double *out = ARENA_ARRAY(a, double, n + 1);
	struct arena scratch = ARENA_INIT;
	struct url u;

	for (size_t i = 0; i < n; i++) {
		const struct seed_delay *d = NULL;
		if (s->delays_n > 0 && seed_parse(urls[i], &scratch, &u,
		    NULL) == OK)
			d = bsearch(&(struct seed_delay){ .host = u.host },
			    s->delays, s->delays_n, sizeof(*d), str_order);
		out[i] = d == NULL ? -1 : d->s;
		if (i % 64 == 0)
			arena_reset(&scratch);
	}
	arena_free(&scratch);
	return out;
}
