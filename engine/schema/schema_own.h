/*
 * schema_own -- a compiled schema, as the files of this folder share it.
 *
 * Each subschema of the JSON text is a node.  A node has a part for each kind
 * of value that it says something about; a part that is NULL says nothing.
 * All of it is in the schema's arena, and does not change once it is compiled.
 *
 * Private to engine/schema.
 */
#ifndef ENGINE_SCHEMA_SCHEMA_OWN_H
#define ENGINE_SCHEMA_SCHEMA_OWN_H

#include "base/arena.h"
#include "base/map.h"
#include "engine/schema/schema.h"
#include "engine/schema/schema_format.h"
#include "engine/schema/schema_number.h"
#include "engine/schema/schema_pattern.h"

/* Bits of schema_node.types.  An integer is a number, too. */
#define SCHEMA_TYPES(X)                                                      \
	X(NULL, "null")                                                      \
	X(BOOLEAN, "boolean")                                                \
	X(OBJECT, "object")                                                  \
	X(ARRAY, "array")                                                    \
	X(NUMBER, "number")                                                  \
	X(STRING, "string")                                                  \
	X(INTEGER, "integer")
enum schema_type_place {
#define SCHEMA_TYPE_PLACE(name, text) SCHEMA_TYPE_PLACE_##name,
	SCHEMA_TYPES(SCHEMA_TYPE_PLACE)
#undef SCHEMA_TYPE_PLACE
	SCHEMA_TYPES_N
};
enum schema_type {
#define SCHEMA_TYPE_BIT(name, text)                                          \
	SCHEMA_TYPE_##name = 1 << SCHEMA_TYPE_PLACE_##name,
	SCHEMA_TYPES(SCHEMA_TYPE_BIT)
#undef SCHEMA_TYPE_BIT
};
extern const char *const schema_type_names[SCHEMA_TYPES_N];

/*
 * Where something is, in a schema or in a value: a step of a JSON pointer, and
 * what is above it.  NULL is the whole.
 */
struct schema_place {
	const struct schema_place *above;
	struct str key;              /* p is NULL: an element */
	size_t index;
};
/* Append it as a JSON pointer (RFC 6901). */
void schema_place_put(struct buf *, const struct schema_place *);

/* A text in a message: as JSON, cut behind so many bytes. */
#define SCHEMA_QUOTED_BYTES 60u
struct schema_quoted {
	char text[6 * SCHEMA_QUOTED_BYTES + 8];
};
struct schema_quoted schema_quote(struct str);

struct schema_node;

struct schema_nodes {
	const struct schema_node **list;
	size_t n;
};

/* A limit of a count, if it is set. */
struct schema_count {
	uint64_t n;
	bool has;
};

/* A number of the schema, as it is written in it. */
struct schema_bound {
	struct schema_number number;
	struct str text;             /* p is NULL: there is none */
};

struct schema_numbers {
	struct schema_bound multiple_of, minimum, maximum, above, below;
};

struct schema_texts {
	struct schema_count least, most;     /* characters */
	const struct schema_pattern *pattern;
	const struct schema_format *format;
};

struct schema_arrays {
	struct schema_count least, most;
	/* By place, then the rest; NULL: any. */
	struct schema_nodes items;
	const struct schema_node *every, *additional;
	const struct schema_node *contains;
	bool unique;
};

/*
 * One name in "properties", "required" and "dependencies".  If a member has it,
 * the object also needs the members `needs` (an array of names, each in the
 * table), and `then` applies to the object.
 */
struct schema_member {
	struct str name;
	bool required;
	const struct schema_node *value, *then;
	yyjson_val *needs;
};

struct schema_pattern_member {
	const struct schema_pattern *pattern;
	const struct schema_node *value;
};

struct schema_objects {
	struct schema_count least, most;
	struct schema_member *members;       /* sorted by name */
	size_t members_n;
	struct schema_pattern_member *patterns;
	size_t patterns_n;
	const struct schema_node *additional, *names;
	/* As written; `members` is made of them. */
	yyjson_val *properties, *required, *dependencies;
};

/* Subschemas for the same value. */
struct schema_logic {
	struct schema_nodes all, any, one;
	const struct schema_node *never;     /* "not" */
	const struct schema_node *condition, *then, *otherwise;
};

struct schema_node {
	/* `false`: nothing is valid. */
	bool refuses_all;
	/* "$ref": all that holds. */
	const struct schema_node *target;
	unsigned types;                      /* 0: any */
	yyjson_val *choices;                 /* "enum", an array */
	yyjson_val *constant;                /* "const" */
	struct schema_numbers *numbers;
	struct schema_texts *texts;
	struct schema_arrays *arrays;
	struct schema_objects *objects;
	struct schema_logic *logic;
	size_t number;                       /* from 0, in this schema */
	const struct schema_place *place;
};

struct schema {
	struct arena arena;
	const struct schema_node *root;
};

/* --- compiling ---------------------------------------------------------- */

/* The member that has this name; NULL: none. */
struct schema_member *schema_member_find(const struct schema_objects *,
    struct str name);

/* Longer URIs, resolved, are refused. */
#define SCHEMA_URI_BYTES_MAX 1024u

/* A "$ref" that may not be resolved yet. */
struct schema_ref {
	struct schema_node *node;
	struct str uri, fragment;    /* absolute; decoded */
	struct str text;             /* as it is written */
	const struct schema_place *place;
	struct schema_ref *next;
};

/* A text with a URI of its own: the whole schema, or a subschema with "$id". */
struct schema_resource {
	yyjson_val *root;
	const struct schema_place *place;
};

/* The node of a subschema, and the URI that its "$ref"s start from. */
struct schema_origin {
	struct schema_node *node;
	struct str base;
};

struct schema_compiler {
	struct arena *a;             /* the schema's */
	unsigned draft;              /* 6 or 7 */
	struct str base;             /* of the subschema that is read */
	const struct schema_place *place;    /* of what is read */
	size_t depth, pattern_memory;
	const struct schema_node **nodes;    /* all, by their numbers */
	size_t nodes_n, nodes_cap;
	struct map origins;          /* struct schema_origin, by yyjson_val */
	struct map resources;        /* struct schema_resource, by URI */
	struct map names;            /* the same, by URI#NAME */
	struct schema_ref *refs, **refs_end;
	struct why *why;
};

/* Read JSON into the arena; numbers stay as they are written.  NULL: it is no
 * JSON. */
yyjson_val *schema_compile_read(struct schema_compiler *, struct str json);
/* The place goes one step down; restore c->place to leave. */
void schema_compile_enter(struct schema_compiler *, struct str key);
void schema_compile_enter_at(struct schema_compiler *, size_t index);
/* Note a fault of what is at the place. */
enum err schema_compile_fault(struct schema_compiler *, enum err,
    const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Compile a subschema, once: the same value gives the same node. */
MUST_USE enum err schema_compile_node(struct schema_compiler *, yyjson_val *,
    const struct schema_node **out);
/* Read all keywords of an object into its node: schema_keyword.c. */
MUST_USE enum err schema_compile_keywords(struct schema_compiler *,
    yyjson_val *, struct schema_node *);

/* -- schema_ref.c: "$id", "$ref" and their loops. -- */

/* The subschema's "$id" becomes the base, and leads to it. */
MUST_USE enum err schema_compile_id(struct schema_compiler *, yyjson_val *id,
    yyjson_val *subschema);
/* Note that the node is what this "$ref" leads to. */
MUST_USE enum err schema_compile_ref(struct schema_compiler *, yyjson_val *ref,
    struct schema_node *);
/* Find the targets of all "$ref"s, and compile those that are not yet. */
MUST_USE enum err schema_compile_resolve(struct schema_compiler *);
/* No subschema may apply itself to the same value. */
MUST_USE enum err schema_compile_check_loops(struct schema_compiler *);

/* -- schema_meta.c: the schemas of schemas. -- */

/* The draft, 6 or 7, that this value of "$schema" means; 0: another. */
unsigned schema_meta_draft(struct str uri);
/* The metaschema that has this URI, without "#", as JSON; STR_NONE: none. */
struct str schema_meta_find(struct str uri);

/* --- checking ----------------------------------------------------------- */

/* The rest of what a check may use. */
struct schema_budget {
	size_t steps, depth;
	bool too_long, too_deep;     /* one of both did not suffice */
};
/* Take steps.  False, and none is left, when there are not enough. */
bool schema_budget_take(struct schema_budget *, size_t n);
/* The same for what a text or a number costs that is read once. */
bool schema_budget_take_value(struct schema_budget *, yyjson_val *);
/* Go one level down; if that succeeds, come back by schema_budget_leave(). */
bool schema_budget_enter(struct schema_budget *);
void schema_budget_leave(struct schema_budget *);

/*
 * Equal as JSON Schema has it: 1 and 1.0 are equal, and members have no order.
 * False also when the budget does not suffice.
 */
bool schema_value_equal(yyjson_val *, yyjson_val *, struct schema_budget *);
/* The indexes of two equal elements.  False when there are none, or when the
 * budget does not suffice. */
bool schema_value_find_twin(yyjson_val *array, struct schema_budget *,
    size_t *first, size_t *second);
/* The bits of schema_type that a value has. */
unsigned schema_type_of(yyjson_val *);

#endif
