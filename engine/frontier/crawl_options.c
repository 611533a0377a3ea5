#include "engine/frontier/crawl_options.h"

#include <yyjson.h>

#include "base/text.h"
#include "engine/policy/seed_list.h"

void
crawl_options_put(const struct crawl_options *o, struct buf *b)
{
	buf_printf(b, "{\"operator\":%s", o->operator_seeds ? "true" :
	    "false");
	if (o->secret_proxy)
		buf_put_text(b, ",\"proxy\":true");
	if (o->policy.n != 0) {
		buf_put_text(b, ",\"policy\":");
		text_json(b, o->policy);
	}
	if (o->key.n != 0) {
		buf_put_text(b, ",\"key\":");
		text_json(b, o->key);
	}
	if (o->schedule != 0)
		buf_printf(b, ",\"schedule\":%llu",
		    (unsigned long long)o->schedule);
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

static struct str
text_of(yyjson_val *object, const char *name, struct arena *a)
{
	yyjson_val *v = yyjson_obj_get(object, name);

	return !yyjson_is_str(v) ? STR_NONE : arena_copy(a, (struct str){
	    yyjson_get_str(v), yyjson_get_len(v) });
}

static int
by_host(const void *a, const void *b)
{
	return str_cmp(((const struct seed_delay *)a)->host,
	    ((const struct seed_delay *)b)->host);
}

static void
read_delays(yyjson_val *object, struct arena *a, struct crawl_options *o)
{
	yyjson_obj_iter i = yyjson_obj_iter_with(object);
	yyjson_val *key;

	o->delays = ARENA_ARRAY(a, struct seed_delay,
	    yyjson_obj_size(object));
	while ((key = yyjson_obj_iter_next(&i)) != NULL) {
		struct seed_delay *d = &o->delays[o->delays_n++];
		d->host = arena_copy(a, (struct str){ yyjson_get_str(key),
		    yyjson_get_len(key) });
		d->s = yyjson_get_num(yyjson_obj_iter_get_val(key));
	}
	if (o->delays_n > 1)
		qsort(o->delays, o->delays_n, sizeof(*o->delays), by_host);
}

bool
crawl_options_parse(struct str text, struct arena *a, struct crawl_options *o)
{
	memset(o, 0, sizeof(*o));
	o->operator_seeds = text.n == 0;
	if (text.n == 0)
		return true;
	yyjson_doc *doc = yyjson_read(text.p, text.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	bool fine = yyjson_is_obj(root);
	if (fine) {
		o->operator_seeds = yyjson_get_bool(yyjson_obj_get(root,
		    "operator"));
		o->secret_proxy = yyjson_get_bool(yyjson_obj_get(root,
		    "proxy"));
		o->policy = text_of(root, "policy", a);
		o->key = text_of(root, "key", a);
		o->schedule = yyjson_get_uint(yyjson_obj_get(root,
		    "schedule"));
		read_delays(yyjson_obj_get(root, "delays"), a, o);
	}
	yyjson_doc_free(doc);
	return fine;
}

const double *
crawl_options_delays(const struct crawl_options *o, const struct str *seeds,
    size_t n, struct arena *a)
{
	double *out = ARENA_ARRAY(a, double, n + 1);
	struct arena scratch = ARENA_INIT;
	struct url u;

	for (size_t i = 0; i < n; i++) {
		const struct seed_delay *d = NULL;
		if (o->delays_n > 0 && seed_parse(seeds[i], &scratch, &u,
		    NULL) == OK)
			d = bsearch(&(struct seed_delay){ .host = u.host },
			    o->delays, o->delays_n, sizeof(*d), by_host);
		out[i] = d == NULL ? -1 : d->s;
		if (i % 64 == 0)
			arena_reset(&scratch);
	}
	arena_free(&scratch);
	return out;
}
