/* The form and the external object of a declaration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "engine/external/external_testing.h"

#define EACH                                                                 \
	"'s':{'title':'S','description':'D','pattern':'^a','default':'ab'}," \
	"'w':{'x-ui':'password'},"                                           \
	"'n':{'type':'integer','minimum':-1,'maximum':5,'default':'2'},"     \
	"'l':{'oneOf':[{'const':'x','title':'X'}]},"                         \
	"'m':{'x-ui':'multi_bool','enum':['x','y'],'default':{'y':true}},"   \
	"'d':{'x-ui':'date','minimum':'2026-01-01','x-restrictions':[{'rule'" \
	":'lt','target':'e','message':'No'}]},"                              \
	"'e':{'x-ui':'date'},"                                               \
	"'o':{'x-ui':'location'}"

#define DECLARATION                                                          \
	DECLARED(EACH, "'s','l'", "https://a.example/x",                     \
	    ",'description':'About','image':'https://a.example/i.png'")

static void
expect_text(struct buf *out, const char *expected)
{
	FREED(buf_free) struct buf want = testing_quoted(expected);

	assert_string_equal(buf_text(out), buf_text(&want));
	buf_free(out);
}

static void
a_form_is_a_json_schema(void **state)
{
	struct external_connector *c = testing_load(DECLARATION);
	struct buf out = BUF_INIT;

	(void)state;
	external_form_write(c, &out);
	expect_text(&out, "{'parameters':{'$schema':"
	    "'https://json-schema.org/draft/2020-12/schema','title':'T',"
	    "'description':'About','type':'object','required':['s','l'],"
	    "'properties':{"
	    "'s':{'type':'string','title':'S','description':'D','x-ui':"
	    "'string','default':'ab','pattern':'^a'},"
	    "'w':{'type':'string','title':'w','x-ui':'password','writeOnly':"
	    "true},"
	    "'n':{'type':'integer','title':'n','x-ui':'integer','default':2,"
	    "'minimum':-1,'maximum':5},"
	    "'l':{'type':'string','title':'l','x-ui':'list','oneOf':"
	    "[{'const':'x','title':'X'}]},"
	    "'m':{'type':'array','title':'m','x-ui':'multi_bool','default':"
	    "['y'],'items':{'type':'string','enum':['x','y']},'uniqueItems':"
	    "true},"
	    "'d':{'type':'string','title':'d','x-ui':'date','minimum':"
	    "1767225600000,'x-restrictions':[{'rule':'lt','target':'e',"
	    "'message':'No'}]},"
	    "'e':{'type':'string','title':'e','x-ui':'date'},"
	    "'o':{'title':'o','x-ui':'location'}}},"
	    "'credential':'none','schema':{'type':'object'},'docIdField':'id',"
	    "'version':'1'}");
	external_connector_free(&c);
}

#define PARAM(name, title, about, req, type, min, max, regex, options, rules) \
	"{'name':'" name "','display_name':'" title "','description':'" about \
	"','req':" req ",'type':'" type "','min':" min ",'max':" max         \
	",'regex':" regex ",'options':[" options "],'restrictions':[" rules  \
	"]}"

static void
an_external_object_has_a_row_for_each_parameter(void **state)
{
	struct external_connector *c = testing_load(DECLARATION);
	struct external_object_options options = { .endpoint =
	    STR("https://h.example/external/n"), .authorization =
	    STR("Bearer t") };
	struct buf out = BUF_INIT;

	(void)state;
	external_object_write(c, &options, &out);
	expect_text(&out, "{'meta':{'name':'T','image':"
	    "'https://a.example/i.png','description':'About'},'endpoint':"
	    "'https://h.example/external/n','schema':{'type':'object'},"
	    "'docIdField':'id','headers':{'Authorization':'Bearer t'},"
	    "'parameters':["
	    PARAM("s", "S", "D", "true", "string", "null", "null", "'^a'", "",
	    "") ","
	    PARAM("w", "w", "", "false", "password", "null", "null", "null",
	    "", "") ","
	    PARAM("n", "n", "", "false", "integer", "-1", "5", "null", "", "")
	    ","
	    PARAM("l", "l", "", "true", "list", "null", "null", "null",
	    "{'value':'x','label':'X'}", "") ","
	    PARAM("m", "m", "", "false", "multi_bool", "null", "null", "null",
	    "'x','y'", "") ","
	    PARAM("d", "d", "", "false", "date",
	    "'2026-01-01T00:00:00.000000Z'", "null", "null", "",
	    "{'rule':'lt','target':'e','message':'No'}") ","
	    PARAM("e", "e", "", "false", "date", "null", "null", "null", "",
	    "") ","
	    PARAM("o", "o", "", "false", "location", "null", "null", "null",
	    "", "") "],'analysis':{}}");
	external_connector_free(&c);
}

static void
an_external_object_names_the_credential(void **state)
{
	struct external_connector *none = testing_load(DECLARED("", "",
	    "https://a.example/x", ""));
	struct external_connector *oauth = testing_load("{'name':'n','version'"
	    ":1,'title':'T','schema':{},'docIdField':'id','credential':'oauth'"
	    ",'oauth':{'kind':'oauth2','authorize':'https://a.example/a',"
	    "'token':'https://a.example/{y}?q={x}','parameters':{'x':'b','y':"
	    "null}},'api':{'url':'https://a.example/','label':'l','items':'',"
	    "'id':'/id','auth':{'kind':'bearer'}}}");
	struct external_object_options options = { .endpoint =
	    STR("https://h.example/n"), .none_is_ignore = true };
	struct buf out = BUF_INIT;

	(void)state;
	external_object_write(none, &options, &out);
	expect_text(&out, "{'meta':{'name':'T'},'endpoint':"
	    "'https://h.example/n','credential':'ignore','schema':{'type':"
	    "'object'},'docIdField':'id','headers':{},'parameters':[],"
	    "'analysis':{}}");
	external_object_write(oauth, &options, &out);
	expect_text(&out, "{'meta':{'name':'T'},'endpoint':"
	    "'https://h.example/n','credential':'oauth','oauth':"
	    "'https://h.example/n/oauth','oauthParameters':{'x':'b'},"
	    "'schema':{},"
	    "'docIdField':'id','headers':{},'parameters':[],'analysis':{}}");
	external_connector_free(&none);
	external_connector_free(&oauth);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_form_is_a_json_schema),
		cmocka_unit_test(
		    an_external_object_has_a_row_for_each_parameter),
		cmocka_unit_test(an_external_object_names_the_credential),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
