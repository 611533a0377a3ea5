/* Any parameters against a form that has each type. */
#include "engine/external/external_fuzzing.h"
#include "engine/external/external_testing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char declaration[] = DECLARED(
    "'s':{'pattern':'^[a-f.]+$'},'w':{'x-ui':'password'},"
    "'b':{'type':'boolean','default':true},"
    "'n':{'type':'integer','minimum':-9,'maximum':9},"
    "'l':{'oneOf':[{'const':'x','title':'X'},{'const':'y','title':'Y'}]},"
    "'m':{'x-ui':'multi_bool','enum':['x','y']},"
    "'t':{'x-ui':'multi_search','x-seed':'token','default':['c']},"
    "'d':{'x-ui':'date','minimum':'1970-01-01','x-restrictions':[{'rule':"
    "'lt','target':'e'}]},'e':{'x-ui':'date'},'o':{'x-ui':'location'}",
    "'s'", "https://a.example/{s}/{t}?b={b}&n={n}&l={l}.{m}&d={d}&e={e}", "");

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct external_connector *c;

	if (c == NULL) {
		struct buf text = testing_quoted(declaration);
		CHECK(external_connector_load(buf_str(&text), NULL, &c,
		    NULL) == OK);
		buf_free(&text);
	}
	for (int raw = 0; raw < 2; raw++) {
		yyjson_doc *doc = yyjson_read((const char *)data, n, raw ?
		    YYJSON_READ_BIGNUM_AS_RAW : 0);
		if (doc != NULL)
			fuzzing_params(c, yyjson_doc_get_root(doc));
		yyjson_doc_free(doc);
	}
	return 0;
}
