/* Any declaration.  If it loads, its form and object are JSON, and its defaults
 * make an order that the driver takes, to the host of the file. */
#include "engine/external/external_fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
check_json(struct buf *b)
{
	yyjson_doc *doc = yyjson_read(b->p, b->n, 0);

	CHECK(doc != NULL);
	yyjson_doc_free(doc);
	buf_free(b);
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
	fuzzing_params(c, NULL);
	external_connector_free(&c);
	return 0;
}
