#include "engine/parser/parse.h"

#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* The first byte chooses the type; one parser serves all inputs. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char *const types[] = { "text/html", "",
		"text/html; charset=utf-8", "text/html; charset=shift_jis",
		"text/plain" };
	static struct parser *parser;
	struct arena a = ARENA_INIT;
	struct url page;
	struct parse_output out;

	if (parser == NULL)
		parser = parser_new();
	if (n == 0 || url_parse(STR("http://h.example/d/p"), NULL, &a, &page,
	    NULL) != OK)
		return 0;
	struct parse_input in = { .url = &page, .forms = true,
		.readable = true, .text_bytes_max = 4096,
		.body = { (const char *)data + 1, n - 1 },
		.content_type = str_of(types[data[0] % ARRAY_LEN(types)]) };
	CHECK(parse_document(parser, &in, &a, &out, NULL) == OK);
	for (size_t i = 0; i < out.links_n; i++)
		CHECK(out.links[i].url.host.n != 0);
	CHECK(out.title.n <= PARSE_TITLE_BYTES_MAX);
	CHECK(out.text.n <= in.text_bytes_max && text_is_utf8(out.text));
	arena_free(&a);
	return 0;
}
