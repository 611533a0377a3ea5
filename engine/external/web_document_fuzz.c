/* Any page gives a document that the connector's schema accepts, or none. */
#include "engine/external/external_connector.h"
#include "engine/external/web_document.h"
#include "engine/parser/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
refuse_fault(void *arg, struct str pointer, struct str message)
{
	(void)arg;
	fprintf(stderr, "%.*s %.*s\n", STR_FMT(pointer), STR_FMT(message));
}

/* The first byte chooses the type; the next line is Content-Language. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char *const types[] = { "text/html", "",
		"text/html; charset=utf-8", "text/plain" };
	static struct parser *parser;
	static struct external_connector *connector;
	FREED(buf_free) struct buf out = BUF_INIT;
	struct str rest = { (const char *)data + 1, n - 1 }, language;

	if (parser == NULL) {
		parser = parser_new();
		connector = external_connector_builtin(0);
	}
	if (n == 0)
		return 0;
	language = str_cut(rest, 0, str_find_char(rest, '\n'));
	const struct web_document_page page = { .status = 200,
	    .id = STR("http://h.example/d/p"), .fetched = { 1 },
	    .content_type = str_of(types[data[0] % ARRAY_LEN(types)]),
	    .content_language = language,
	    .body = str_from(rest, language.n + 1) };
	if (web_document_put(parser, &page, &out, NULL) != OK) {
		CHECK(out.n == 0);
		return 0;
	}
	CHECK(str_find_char(buf_str(&out), '\n') == out.n);
	yyjson_doc *doc = yyjson_read(out.p, out.n, 0);
	CHECK(doc != NULL);
	CHECK(external_document_check(connector, yyjson_doc_get_root(doc), 1,
	    refuse_fault, NULL));
	yyjson_doc_free(doc);
	return 0;
}
