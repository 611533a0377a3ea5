#include "cli/simulator/document_set.h"
#include "cli/simulator/json_body.h"

/* Any bytes as an upload, twice: the second adds no document. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static size_t
put_all(struct document_set *s, struct str text)
{
	struct ndjson reader = { .rest = text };
	struct why w = WHY_INIT;
	struct str line;
	yyjson_doc *doc = NULL;
	bool duplicate;
	size_t lines = 0;

	while (ndjson_next(&reader, &doc, &line, &w) == OK && doc != NULL) {
		CHECK(line.p >= text.p && line.p + line.n <= text.p + text.n);
		CHECK(document_set_put(s, STR_NONE, yyjson_doc_get_root(doc),
		    &duplicate, NULL) == OK);
		lines++;
		yyjson_doc_free(doc);
	}
	CHECK(lines <= reader.line);
	return document_set_count(s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct document_limits limits = { SIZE_MAX, 1, SIZE_MAX,
	    n % 2 == 1 };
	size_t bytes = 0;
	struct document_set *s = document_set_new(limits, &bytes);
	struct str text = { (const char *)data, n };
	size_t count = put_all(s, text);

	CHECK(put_all(s, text) == count);
	document_set_free(&s);
	CHECK(bytes == 0);
	return 0;
}
