/*
 * The metaschemas: which schemas are well-formed, as schemas themselves.  They
 * are for values that are schemas, by "$ref"; schema_compile() does not use
 * them.  The names of their definitions are those of the published ones, as a
 * "$ref" may lead to them.
 */
#include "engine/schema/schema_own.h"

#define SELF "{\"$ref\":\"#\"}"
#define SCHEMAS "{\"type\":\"object\",\"additionalProperties\":" SELF "}"
#define LIST "{\"$ref\":\"#/definitions/schemaArray\"}"
#define COUNT "{\"$ref\":\"#/definitions/nonNegativeInteger\"}"
#define NAMES "{\"$ref\":\"#/definitions/stringArray\"}"
#define TYPE "{\"$ref\":\"#/definitions/simpleTypes\"}"
#define TEXT "{\"type\":\"string\"}"
#define NUMBER "{\"type\":\"number\"}"
#define URI "{\"type\":\"string\",\"format\":\"uri-reference\"}"
#define REGEX "{\"type\":\"string\",\"format\":\"regex\"}"

#define DEFINITIONS                                                          \
	"\"schemaArray\":{\"type\":\"array\",\"minItems\":1,"                  \
	"\"items\":" SELF "},"                                                 \
	"\"nonNegativeInteger\":{\"type\":\"integer\",\"minimum\":0},"         \
	"\"nonNegativeIntegerDefault0\":{\"allOf\":[" COUNT "]},"              \
	"\"simpleTypes\":{\"enum\":[\"array\",\"boolean\",\"integer\","        \
	"\"null\",\"number\",\"object\",\"string\"]},"                         \
	"\"stringArray\":{\"type\":\"array\",\"uniqueItems\":true,"            \
	"\"items\":" TEXT "}"

#define PROPERTIES                                                           \
	"\"$id\":" URI ",\"$ref\":" URI ","                                    \
	"\"$schema\":{\"type\":\"string\",\"format\":\"uri\"},"                \
	"\"title\":" TEXT ",\"description\":" TEXT ","                         \
	"\"examples\":{\"type\":\"array\"},"                                   \
	"\"multipleOf\":{\"type\":\"number\",\"exclusiveMinimum\":0},"         \
	"\"maximum\":" NUMBER ",\"exclusiveMaximum\":" NUMBER ","              \
	"\"minimum\":" NUMBER ",\"exclusiveMinimum\":" NUMBER ","              \
	"\"maxLength\":" COUNT ",\"minLength\":" COUNT ","                     \
	"\"pattern\":" REGEX ",\"format\":" TEXT ","                           \
	"\"items\":{\"anyOf\":[" SELF "," LIST "]},"                           \
	"\"additionalItems\":" SELF ",\"contains\":" SELF ","                  \
	"\"maxItems\":" COUNT ",\"minItems\":" COUNT ","                       \
	"\"uniqueItems\":{\"type\":\"boolean\"},"                              \
	"\"maxProperties\":" COUNT ",\"minProperties\":" COUNT ","             \
	"\"required\":" NAMES ",\"properties\":" SCHEMAS ","                   \
	"\"patternProperties\":" SCHEMAS ","                                   \
	"\"additionalProperties\":" SELF ",\"propertyNames\":" SELF ","        \
	"\"dependencies\":{\"type\":\"object\","                               \
	"\"additionalProperties\":{\"anyOf\":[" SELF "," NAMES "]}},"          \
	"\"definitions\":" SCHEMAS ",\"enum\":{\"type\":\"array\"},"           \
	"\"type\":{\"anyOf\":[" TYPE ",{\"type\":\"array\",\"minItems\":1,"    \
	"\"uniqueItems\":true,\"items\":" TYPE "}]},"                          \
	"\"allOf\":" LIST ",\"anyOf\":" LIST ",\"oneOf\":" LIST ","            \
	"\"not\":" SELF

#define METASCHEMA(draft, more)                                              \
	"{\"$schema\":\"http://json-schema.org/draft-" draft "/schema#\","     \
	"\"$id\":\"http://json-schema.org/draft-" draft "/schema#\","          \
	"\"definitions\":{" DEFINITIONS "},\"type\":[\"object\",\"boolean\"]," \
	"\"properties\":{" PROPERTIES more "}}"

#define DRAFT_7 ",\"$comment\":" TEXT ",\"readOnly\":{\"type\":\"boolean\"},"  \
	"\"contentMediaType\":" TEXT ",\"contentEncoding\":" TEXT ","          \
	"\"if\":" SELF ",\"then\":" SELF ",\"else\":" SELF

#define TEXT_AND_LENGTH(s) { s, sizeof(s) - 1 }

static const struct {
	struct str uri;
	unsigned draft;
	struct str json;
} metaschemas[] = {
	{ TEXT_AND_LENGTH("http://json-schema.org/draft-06/schema"), 6,
	    TEXT_AND_LENGTH(METASCHEMA("06", "")) },
	{ TEXT_AND_LENGTH("http://json-schema.org/draft-07/schema"), 7,
	    TEXT_AND_LENGTH(METASCHEMA("07", DRAFT_7)) },
};

unsigned
schema_meta_draft(struct str uri)
{
	/* With an empty fragment or without one. */
	if (str_ends(uri, STR("#")))
		uri = str_cut(uri, 0, uri.n - 1);
	for (size_t i = 0; i < ARRAY_LEN(metaschemas); i++)
		if (str_eq(uri, metaschemas[i].uri))
			return metaschemas[i].draft;
	return 0;
}

struct str
schema_meta_find(struct str uri)
{
	for (size_t i = 0; i < ARRAY_LEN(metaschemas); i++)
		if (str_eq(uri, metaschemas[i].uri))
			return metaschemas[i].json;
	return STR_NONE;
}
