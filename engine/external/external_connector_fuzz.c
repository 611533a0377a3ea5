/* Any declaration.  If it loads, its form and object are JSON, and its defaults
 * make an order that the driver takes, to the host of the file. */
#include "engine/external/external_fuzzing.h"
#include "engine/external/oauth_flow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
check_json(struct buf *b)
{
	yyjson_doc *doc = yyjson_read(b->p, b->n, 0);

	CHECK(doc != NULL);
	yyjson_doc_free(doc);
	buf_free(b);
}

/* Whatever the values are, the addresses of a login begin with https and have
 * neither a user's name nor a fragment. */
static void
check_oauth(const struct external_connector *c)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	const struct oauth_declaration *d = external_connector_oauth(c);
	struct str values[OAUTH_PARAMS_MAX];
	struct oauth_flow flow = { .declared = d, .values = values };

	for (size_t i = 0; d != NULL && i < d->params_n; i++) {
		const struct oauth_param *p = &d->params[i];
		struct str value = p->otherwise.n > 0 ? STR_NONE :
		    p->is_label ? STR("a") : p->is_host && d->hosts_n > 0 ?
		    d->hosts[0] : p->is_host ? STR("a.example") :
		    STR("/../@b.example#?{x}");
		if (oauth_param_read(d, i, value, &a, &values[i], NULL) != OK)
			return;
	}
	for (int u = 0; d != NULL && u < OAUTH_URL_COUNT; u++) {
		struct str url = oauth_url_fill(&flow, (enum oauth_url)u, &a);
		struct str host = str_from(url, strlen("https://"));
		host = str_cut(host, 0, MIN(str_find_char(host, '/'),
		    str_find_char(host, '?')));
		CHECK(url.n == 0 || (str_starts_nocase(url,
		    STR("https://")) && host.n > 0));
		CHECK(str_find_char(host, '@') == host.n);
		CHECK(str_find_char(url, '#') == url.n);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct external_object_options options = { .endpoint =
	    STR("https://a.example/n"), .none_is_ignore = true };
	struct str text = { (const char *)data, n };
	struct buf out = BUF_INIT;
	struct external_connector *c;
	struct why w = WHY_INIT;

	if (external_connector_load(text, "f.json", &c, &w) != OK) {
		CHECK(c == NULL && w.text[0] != '\0');
		return 0;
	}
	external_form_write(c, &out);
	check_json(&out);
	external_object_write(c, &options, &out);
	check_json(&out);
	check_oauth(c);
	fuzzing_params(c, NULL);
	external_connector_free(&c);
	return 0;
}
