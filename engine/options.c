#include "engine/options.h"

#include <yyjson.h>

#include "base/text.h"

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
	if (o->validators)
		buf_put_text(b, ",\"validators\":true");
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
		o->validators = yyjson_get_bool(yyjson_obj_get(root,
		    "validators"));
		read_delays(yyjson_obj_get(root, "delays"), a, o);
	}
	yyjson_doc_free(doc);
	return fine;
}
