/*
 * external_testing -- declarations for the tests of this folder.  In all of
 * their JSON ' stands for ".
 */
#ifndef ENGINE_EXTERNAL_EXTERNAL_TESTING_H
#define ENGINE_EXTERNAL_EXTERNAL_TESTING_H

#include "engine/external/external_connector.h"

/* A declaration with these properties of its parameters and these of them
 * required, and that address; `more` begins with a comma, or is empty. */
#define DECLARED(properties, required, url, more)                            \
	"{'name':'n','version':1,'title':'T','schema':{'type':'object'},"    \
	"'docIdField':'id','parameters':{'type':'object','properties':{"     \
	properties "},'required':[" required "]},'api':{'url':'" url "',"    \
	"'label':'l','items':'/list','id':'/id'}" more "}"
/* With one parameter "p", which the address's query has. */
#define DECLARED_P(property)                                                 \
	DECLARED("'p':{" property "}", "", "https://a.example/x?p={p}", "")

/* Load what must be right. */
struct external_connector *testing_load(const char *text);
/* The built-in connector of that name.  The caller frees it. */
struct external_connector *testing_built_in(const char *name);
/* Loading fails, with a message that begins with "f.json: " and this. */
void testing_refused(const char *text, const char *message);

/*
 * The parameters are right, and this is their normal form; or, if `expected`
 * does not begin with "{", those are the messages and unknown names ("?name"),
 * with a "|" between them.
 */
void testing_params(const char *declaration, const char *params,
    const char *expected);
/* The address of the order for these parameters. */
void testing_url(const char *declaration, const char *params,
    const char *expected);

/* The text with " in place of '.  The caller frees it with buf_free(). */
static inline struct buf
testing_quoted(const char *text)
{
	struct buf b = BUF_INIT;

	for (; *text != '\0'; text++)
		buf_put_char(&b, *text == '\'' ? '"' : *text);
	return b;
}

#endif
