/*
 * external_own -- what the files of this folder share: a connector as it was
 * loaded, and values in their normal form.
 *
 * Source: contracts/external.md §9, §11.
 */
#ifndef ENGINE_EXTERNAL_EXTERNAL_OWN_H
#define ENGINE_EXTERNAL_EXTERNAL_OWN_H

#include "base/arena.h"
#include "engine/external/external_connector.h"
#include "engine/external/oauth_flow.h"
#include "engine/schema/schema.h"

#define EXTERNAL_NO_PARAM SIZE_MAX

/* ---- Types of parameters ----------------------------------------------- */

/*      id            "x-ui"          JSON type  options bounds pattern place */
#define EXTERNAL_UI_TABLE(X)                                                 \
	X(STRING,       "string",       "string",  true,  false, true,  true)  \
	X(PASSWORD,     "password",     "string",  false, false, true,  false) \
	X(BOOL,         "bool",         "boolean", false, false, false, true)  \
	X(DATE,         "date",         "string",  false, true,  false, true)  \
	X(LOCATION,     "location",     NULL,      false, false, false, false) \
	X(MULTI_BOOL,   "multi_bool",   "array",   true,  false, false, true)  \
	X(LIST,         "list",         "string",  true,  false, false, true)  \
	X(MULTI_SEARCH, "multi_search", "array",   true,  false, false, true)  \
	X(INTEGER,      "integer",      "integer", false, true,  false, true)

enum external_ui {
#define EXTERNAL_UI_ENUM(id, ...) EXTERNAL_##id,
	EXTERNAL_UI_TABLE(EXTERNAL_UI_ENUM)
#undef EXTERNAL_UI_ENUM
	EXTERNAL_UI_COUNT
};

struct external_ui_row {
	const char *name;
	const char *json;            /* its type; NULL: any */
	bool options, bounds, pattern;       /* whether it may have them */
	bool place;                  /* whether it may stand in an address */
};
extern const struct external_ui_row external_ui_rows[EXTERNAL_UI_COUNT];

enum external_rule { EXTERNAL_GT, EXTERNAL_GTE, EXTERNAL_LT, EXTERNAL_LTE,
	EXTERNAL_EQ, EXTERNAL_RULE_COUNT };
extern const char *const external_rules[EXTERNAL_RULE_COUNT];

struct external_option {
	struct str value;
	struct str label;            /* STR_NONE: the value is the label */
};

struct external_restriction {
	enum external_rule rule;
	size_t target;               /* index of the other parameter */
	struct str message;          /* never empty */
};

/* "x-choices": options that the API has. */
struct external_choices {
	struct str url;              /* with {query} and parameters' names */
	struct str items, value, label;      /* JSON pointers */
};

struct external_param {
	struct str name;
	struct str title, description;       /* or STR_NONE */
	enum external_ui ui;
	bool required;
	bool is_seed;
	bool in_path;                /* a part of the address's path */
	bool beside_seed;            /* in the query's pair with the seed */
	yyjson_val *otherwise;       /* the default, or NULL */
	/* Bounds of an integer, or of a date in microseconds since 1970. */
	bool has_least, has_most;
	int64_t least, most;
	struct str pattern;          /* or STR_NONE */
	struct schema *matches;      /* the pattern; or NULL */
	struct external_option *options;
	size_t options_n;
	struct external_choices *choices;    /* or NULL */
	struct external_restriction *restrictions;
	size_t restrictions_n;
};

struct external_connector {
	struct arena arena;          /* of what follows, but for the rest */
	yyjson_doc *doc;             /* the file */
	struct schema *documents;
	struct buf schema_text;
	struct str name, version, title, description, image;
	struct str hash;
	const char *credential;
	bool has_oauth;
	struct oauth_declaration oauth;
	struct str doc_id_field;
	yyjson_val *schema, *api;    /* api: NULL if it is built in */
	/* Runs its orders; NULL: a crawl, which takes none. */
	const struct connector *runs;
	/* A harvest's seed that begins so is a uid, any other one a token;
	 * empty: all are what the harvest takes. */
	struct str uid_begins;
	yyjson_val *analysis;        /* a module's, or NULL */
	bool is_module;
	struct str *hosts;           /* a module's */
	size_t hosts_n;
	struct external_param *params;
	size_t params_n;
};

/* By its name; EXTERNAL_NO_PARAM: there is none. */
size_t external_param_find(const struct external_connector *, struct str name);

/* ---- Reading a file ---------------------------------------------------- */

struct external_reading {
	struct external_connector *connector;
	const char *file;            /* or NULL */
	bool is_builtin, is_module;  /* it has no `api` */
	struct why *w;
};

/* Note "FILE: PLACE: TEXT" and return the error; PLACE may be empty. */
enum err external_read_fail(struct external_reading *, enum err,
    const char *place, const char *text);
/* The same with INPUT. */
enum err external_read_refuse(struct external_reading *, const char *place,
    const char *fmt, ...) PRINTF_LIKE(3, 4);
/* "PLACE.NAME".  Memory: the connector's. */
const char *external_read_join(struct external_reading *, const char *place,
    const char *name);
/* The value is an object that has no members but those, up to NULL. */
MUST_USE enum err external_read_members(struct external_reading *,
    yyjson_val *object, const char *place, const char *const *names);
/* A text of one line, at most EXTERNAL_TEXT_BYTES_MAX.  Absent: STR_NONE,
 * unless it is needed. */
MUST_USE enum err external_read_text(struct external_reading *,
    yyjson_val *object, const char *place, const char *name, bool needed,
    struct str *out);
/* Which of the words a text is. */
MUST_USE enum err external_read_word(struct external_reading *,
    yyjson_val *object, const char *place, const char *name,
    const char *const *words, size_t n, size_t *out);

/* Read the member `parameters` into the connector. */
MUST_USE enum err external_param_read_all(struct external_reading *,
    yyjson_val *parameters);
/*
 * external_connector_load(), of a file, of a module's members, or of the text
 * of a built-in connector, which has the member `harvest` in place of `api`.
 */
MUST_USE enum err external_load_text(struct external_reading, struct str text,
    struct external_connector **out);
/* Read the member `harvest` of a built-in connector; NULL: it is a crawl. */
MUST_USE enum err external_harvest_read(struct external_reading *,
    yyjson_val *harvest);
/* Read the member "x-choices" of a property. */
MUST_USE enum err external_choices_read(struct external_reading *,
    yyjson_val *property, const char *place, struct external_param *);
/* Check those of all parameters, when `api` has been checked. */
MUST_USE enum err external_choices_check(struct external_reading *);
/* The members that modules alone have. */
MUST_USE enum err external_module_read(struct external_reading *,
    yyjson_val *root);
/* Check the placeholders of `api`, and mark the parameters in the path. */
MUST_USE enum err external_order_check(struct external_reading *);

/* ---- Values ------------------------------------------------------------ */

struct external_value;
/* The values of the parameter with x-seed: "seeds":[{"token":...}]. */
void external_order_put_seeds(const struct external_connector *,
    const struct external_value *, struct buf *);

struct external_value {
	bool given;
	bool truth;                  /* of BOOL */
	int64_t number;              /* of INTEGER; of DATE, microseconds */
	struct str text;             /* of STRING, PASSWORD, LIST, DATE */
	struct str *list;            /* of MULTI_BOOL, MULTI_SEARCH */
	size_t list_n;
	yyjson_val *any;             /* of LOCATION */
};

/*
 * Bring a value that is not absent (json_is_absent()) into its normal form.
 * Returns NULL, or what is wrong with it, as half a sentence.  Memory: `a`, and
 * the value's document.
 */
const char *external_value_read(const struct external_param *, yyjson_val *,
    struct arena *a, struct external_value *out);
/* Nothing was given, or a choice of several with nothing chosen. */
bool external_value_is_empty(const struct external_param *,
    const struct external_value *);
/* A date as people may write it, and the moment in microseconds since 1970; the
 * normal form is in `a`.  False: it is none. */
bool external_value_read_date(yyjson_val *, struct arena *a, struct str *out,
    int64_t *us);
/* A whole number, or its digits. */
bool external_value_read_int(yyjson_val *, int64_t *out);
/* Append it as JSON; it was given. */
void external_value_put_json(const struct external_param *,
    const struct external_value *, struct buf *);
/* Append it percent-encoded; those of a list with "," between them. */
void external_value_put_encoded(const struct external_param *,
    const struct external_value *, struct buf *);

/*
 * Read all parameters: `out` has one value for each.  Errors: INPUT; as
 * external_params_check().
 */
MUST_USE enum err external_params_read(const struct external_connector *,
    yyjson_val *params, const struct external_params_faults *,
    struct arena *a, struct external_value **out, struct why *);

/* Append the order of a harvest; the values are external_params_read()'s. */
void external_harvest_order(const struct external_connector *,
    const struct external_value *values, struct buf *out);

#endif
