/*
 * external_connector -- connectors that a user declares in one JSON file: what
 * they ask people for, which documents they give, and the API that they read;
 * and the built-in connectors, whose declarations have no API.
 *
 *  file, built in ─► load ─┬─► form, object         for the backend's pages
 *                          ├─► params ─► check ─► order ─► the driver of
 *                          │                               harvests
 *                          └─► document ─► check
 *
 *     {"name":"books", "version":1, "title":"Books", "description":"...",
 *      "parameters":{"type":"object", "required":["topic"], "properties":{
 *        "topic":{"title":"Topic","x-ui":"string"},
 *        "since":{"title":"From","x-ui":"date"}}},
 *      "credential":"none",
 *      "schema":{"type":"object","required":["id"]}, "docIdField":"id",
 *      "api":{"url":"https://a.example/{topic}.json?since={since}", ...}}
 *
 * `api` is a description of engine/connector/json.  In its `url` {NAME} is the
 * value of a parameter, percent-encoded.  A parameter can change the path and
 * the query only, never the host, because the credential is sent there.  {NAME}
 * may also be one of oauthParameters (oauth_flow.h), and that in the host, too,
 * where the user has signed in.
 *
 * Thread: any.  A connector is read-only after it was loaded.
 * Limits: EXTERNAL_..._MAX.
 * Source: contracts/external.md §2, §9, §11; contracts/platforms.md §14.
 * Story: engine/external/DESIGN.md
 */
#ifndef ENGINE_EXTERNAL_EXTERNAL_CONNECTOR_H
#define ENGINE_EXTERNAL_EXTERNAL_CONNECTOR_H

#include "base/err.h"
#include "base/json.h"

/* A file, bytes and nesting. */
#define EXTERNAL_FILE_BYTES_MAX ((size_t)1 << 20)
#define EXTERNAL_DEPTH_MAX 32u
/* A connector's or a parameter's name, and any other text of a file. */
#define EXTERNAL_NAME_BYTES_MAX 64u
#define EXTERNAL_TEXT_BYTES_MAX 4096u
#define EXTERNAL_PARAMS_MAX 100u
#define EXTERNAL_OPTIONS_MAX 1000u           /* of a parameter */
#define EXTERNAL_RESTRICTIONS_MAX 20u        /* of a parameter */
/* A value: bytes of a text, and of a location as JSON; texts of a list. */
#define EXTERNAL_VALUE_BYTES_MAX 4096u
#define EXTERNAL_VALUES_MAX 1000u
/* The text typed so far, when choices are asked for. */
#define EXTERNAL_QUERY_BYTES_MAX 1024u

struct connector;
struct external_connector;
struct oauth_declaration;

/* A connector's name: 1 to EXTERNAL_NAME_BYTES_MAX lower-case letters, digits,
 * "_" and "-".  It is part of the connector's address. */
bool external_name_is_valid(struct str);

/* ---- The connector ----------------------------------------------------- */

/*
 * Load the text of a file, which is copied.  `file_name` is for messages; NULL:
 * they have none.  external_connector_free() frees *out, which is NULL after an
 * error.  Members that are not known are refused.
 *
 * Errors: INPUT, with the place of what is wrong, such as
 * "books.json: parameters.properties.since.x-ui: ..."; FULL: the schema exceeds
 * a limit.
 */
MUST_USE enum err external_connector_load(struct str file_text,
    const char *file_name, struct external_connector **out, struct why *w);
/*
 * Load the built-in connector `i`; NULL: there are not so many.  The caller
 * frees it.  The first one is `web_crawl`, which engine/harvest/web_documents.h
 * runs; the others are types of harvests, which the driver of harvests runs.
 */
struct external_connector *external_connector_builtin(size_t i);
void external_connector_free(struct external_connector **);

/* ---- Modules ------------------------------------------------------------ */

#define EXTERNAL_HOSTS_MAX 64u               /* of a module */
/* The JSON text that stands for a function among a module's members. */
#define EXTERNAL_FUNCTION "$function"

/*
 * Load the members of a module (scripting.md §8), as JSON in which a function
 * is {"$function":true}: a declaration without `api`, with `run` and `hosts`,
 * perhaps `check` and `choices`.  Errors: as external_connector_load().
 */
MUST_USE enum err external_connector_load_module(struct str members,
    const char *file_name, struct external_connector **out, struct why *w);
/* It is a module's, and a script runs it. */
bool external_connector_is_module(const struct external_connector *);
/*
 * Where its credential may go: a name, for TLS at port 443, or NAME:PORT.
 * `n`: how many.  The texts are the connector's.
 */
const struct str *external_connector_hosts(const struct external_connector *,
    size_t *n);
/* The module has that function: "check", or a choice of that name, which the
 * form has as "x-choices":true. */
bool external_connector_has_check(const struct external_connector *);
bool external_connector_has_choices(const struct external_connector *,
    struct str name);
/*
 * Append the input of a module's function for parameters that
 * external_params_check() has written: "params":{...},"seeds":[...], members of
 * an object that has begun.  A value of type `password` is replaced by the
 * placeholder {{credential.NAME}}, and added to `secrets`, members of another
 * object.
 */
void external_module_input(const struct external_connector *,
    struct str params, struct buf *input, struct buf *secrets);

/* Texts that the connector owns; STR_NONE: the file has none. */
struct str external_connector_name(const struct external_connector *);
struct str external_connector_version(const struct external_connector *);
struct str external_connector_title(const struct external_connector *);
struct str external_connector_description(const struct external_connector *);
struct str external_connector_image(const struct external_connector *);
/* The SHA-256 of the file's text, in hex: it tells one from another. */
struct str external_connector_hash(const struct external_connector *);
/* "none", "basic" or "oauth". */
const char *external_connector_credential(const struct external_connector *);
/* The declared `oauth` (oauth_flow.h); NULL: the credential is another. */
const struct oauth_declaration *external_connector_oauth(
    const struct external_connector *);
/* The member of a document that has its id; never empty. */
struct str external_connector_doc_id_field(const struct external_connector *);
/* The documents' schema, as JSON and as its text. */
yyjson_val *external_connector_schema(const struct external_connector *);
struct str external_connector_schema_text(const struct external_connector *);
size_t external_connector_params_n(const struct external_connector *);
/* The member `api`, an object; NULL: it is built in. */
yyjson_val *external_connector_api(const struct external_connector *);
/* The connector that runs its orders: `json_api`, or the type of a harvest;
 * NULL: it is `web_crawl`, which takes no orders. */
const struct connector *external_connector_runs(
    const struct external_connector *);

/* ---- Parameters -------------------------------------------------------- */

/* Texts are borrowed for the time of the call. */
struct external_params_faults {
	void *arg;
	/* `message` is a sentence that begins with the parameter's name:
	 * "since: it is not a date". */
	void (*wrong)(void *arg, struct str name, struct str message);
	/* A parameter that the connector does not name: a note for the log, no
	 * fault.  Its value is not handed on.  NULL: not reported. */
	void (*unknown)(void *arg, struct str name);
};

/*
 * Check the parameters of a task, and append them to `out` as one JSON object
 * in their normal form: in the file's order, absent ones with their default or
 * left out, dates in ISO 8601, whole numbers and booleans as such, choices of
 * several as a list of names.  Equal parameters give equal texts.
 *
 * `params` is an object; NULL and null are {}.  It may have been read with or
 * without raw numbers.  null and "" as a value are the same as absent.
 *
 * `wrong` is called for every fault: of each parameter, in the file's order,
 * then of restrictions between two, which are checked when both are given, or
 * have a default, and are well-formed.  No message contains a value.
 * Errors: INPUT, after every fault was reported; `w` has the first, and `out`
 * is unchanged.
 */
MUST_USE enum err external_params_check(const struct external_connector *,
    yyjson_val *params, const struct external_params_faults *,
    struct buf *out, struct why *w);

/* The same of those that are right by themselves: of a form that is not filled
 * in yet. */
void external_params_put_good(const struct external_connector *,
    yyjson_val *params, struct buf *out);

/*
 * Append parameters that external_params_check() has written, for a store or a
 * log: the values of type `password` are null.  Returns whether there were any.
 */
bool external_params_conceal(const struct external_connector *,
    struct str params, struct buf *out);

/* ---- For the driver of harvests ---------------------------------------- */

/*
 * Append the order for parameters that external_params_check() has written: a
 * start message, JSON on one line,
 *
 *     {"type":"json_api","seeds":[],"options":{"api":{...}}}
 *
 * without a credential, which the caller adds as "credentials", and without
 * "incremental".  connector_order_read() (engine/connector/order.h) and the
 * opening of the connector accept it if the credential is complete.
 *
 * A pair of the query ("since={since}") is left out when a parameter in it is
 * absent, or nothing is chosen.  The values of the parameter with "x-seed"
 * become the seeds.
 * The order of a built-in connector has the type of its harvest, and the other
 * parameters as its options.
 * Errors: INPUT: the address would be too long; STATE: the connector takes no
 * orders.
 */
MUST_USE enum err external_order_make(const struct external_connector *,
    struct str params, struct buf *out, struct why *w);
/*
 * Append the parameters that a harvest takes as keys of its credential, such as
 * `instance`, as a JSON object; nothing where there are none.
 */
void external_keys_put(const struct external_connector *, struct str params,
    struct buf *out);
/*
 * Append the credential of an order: the members of both objects, each of
 * which may be empty; nothing where both are.  The caller overwrites the
 * buffer, which does not grow after the credential is in it.
 */
void external_credential_join(struct str keys, struct str credential,
    struct buf *out);

/*
 * The same for a user who has signed in with those values of oauthParameters,
 * one for each that `oauth` declares; NULL, or one that is empty: the default.
 * They fill {NAME} in `api.url`.  Errors, too: INPUT, naming the parameter:
 * there is no default, or the declaration does not admit the value any more.
 */
MUST_USE enum err external_order_make_granted(
    const struct external_connector *, struct str params,
    const struct str *granted, struct buf *out, struct why *w);

/* ---- Documents --------------------------------------------------------- */

/* As schema_fault_fn of engine/schema/schema.h. */
typedef void external_document_fault_fn(void *arg, struct str pointer,
    struct str message);

/*
 * Whether a document is an object that is valid by the schema, and has a text
 * that is not empty, or a number, as its id.  Calls `fault` for each fault, at
 * most `most` times.  `pointer` is a JSON pointer into the document, `message`
 * says which rule is broken; both are borrowed.  Numbers may be raw.
 */
bool external_document_check(const struct external_connector *,
    yyjson_val *document, size_t most, external_document_fault_fn *fault,
    void *arg);

/* ---- Choices ----------------------------------------------------------- */

/*
 * A parameter may have options that the API knows, found by one call:
 *
 *     "x-choices":{"url":"https://a.example/boards?like={query}&kind={kind}",
 *       "items":"/boards", "value":"/id", "label":"/name"}
 *
 * `url` is at the scheme, host and port of api.url, and the call is made with
 * the authentication of `api`.  {query} is what the user has typed so far;
 * other names are parameters.  A pair of the query without a value is left out;
 * in the path a value is needed.  `items` is the place of the list in the
 * answer, `value` and `label` are places in an item; without `label` the value
 * is shown.  The form says "x-choices":true.
 */
bool external_choices_are_declared(const struct external_connector *,
    struct str name);
/*
 * Append the order of that call, as external_order_make(): the parameter `name`
 * has choices.  `params` is an object, or NULL; its values may be incomplete
 * and are read only where the address has them.
 * Errors: INPUT, with the field: `query`, `params`, or a parameter's name; no
 * message contains a value.
 */
MUST_USE enum err external_choices_order(const struct external_connector *,
    struct str name, yyjson_val *params, struct str query, struct buf *out,
    struct why *w);
/*
 * Append {"value":"1","label":"..."} for an item of the answer.  False: it has
 * no value, and nothing was appended.
 */
bool external_choices_put_option(const struct external_connector *,
    struct str name, struct str item, struct buf *out);

/* ---- For backends ------------------------------------------------------ */

/*
 * Append the answer to `GET /form`:
 * {"parameters":{...},"credential":"none","schema":{...},"docIdField":"id",
 * "version":"1"}, with the parameters as JSON Schema 2020-12 (external.md §2).
 */
void external_form_write(const struct external_connector *, struct buf *out);

struct external_object_options {
	struct str endpoint;         /* "https://HOST/external/NAME" */
	/* The value of the header Authorization; STR_NONE: `headers` is {}. */
	struct str authorization;
	bool none_is_ignore;         /* credential "none" as "ignore", instead
	                              * of being left out */
};
/* Append the external object (external.md §9). */
void external_object_write(const struct external_connector *,
    const struct external_object_options *, struct buf *out);

#endif
