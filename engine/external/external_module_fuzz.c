/* Any members of a module.  If they load, form and object are JSON, each host
 * is one, and the defaults make an input without a password. */
#include "base/arena.h"
#include "engine/external/external_connector.h"
#include "engine/parser/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
check_json(struct buf *b)
{
	yyjson_doc *doc = yyjson_read(b->p, b->n, 0);

	CHECK(doc != NULL);
	yyjson_doc_free(doc);
	buf_free(b);
}

/* Hosts that may receive a secret are in the form in which URLs have them. */
static void
check_hosts(const struct external_connector *c)
{
	size_t n;
	const struct str *hosts = external_connector_hosts(c, &n);

	CHECK(n <= EXTERNAL_HOSTS_MAX);
	for (size_t i = 0; i < n; i++) {
		CHECK(hosts[i].n > 0);
		CHECK(str_find_char(hosts[i], '@') == hosts[i].n);
		CHECK(str_find_char(hosts[i], '/') == hosts[i].n);
		CHECK(str_find_char(hosts[i], '{') == hosts[i].n);
	}
}

static void
check_input(const struct external_connector *c)
{
	struct buf params = BUF_INIT, input = BUF_INIT, secrets = BUF_INIT;

	external_params_put_good(c, NULL, &params);
	if (params.n > 0) {
		buf_put_char(&input, '{');
		buf_put_char(&secrets, '{');
		external_module_input(c, buf_str(&params), &input, &secrets);
		buf_put_char(&input, '}');
		buf_put_char(&secrets, '}');
		check_json(&input);
		check_json(&secrets);
	}
	buf_free(&params);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct external_object_options options = { .endpoint =
	    STR("https://a.example/n") };
	struct str text = { (const char *)data, n };
	struct buf out = BUF_INIT;
	struct external_connector *c;
	struct why w = WHY_INIT;

	if (external_connector_load_module(text, "f.js", &c, &w) != OK) {
		CHECK(c == NULL && w.text[0] != '\0');
		return 0;
	}
	CHECK(external_connector_is_module(c));
	CHECK(external_connector_api(c) == NULL);
	external_form_write(c, &out);
	check_json(&out);
	external_object_write(c, &options, &out);
	check_json(&out);
	check_hosts(c);
	check_input(c);
	external_connector_free(&c);
	return 0;
}
