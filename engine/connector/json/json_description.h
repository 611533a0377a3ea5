/*
 * json_description -- a platform that is declared: where its lists are, how
 * they go on, and where their items have what.
 *
 *     {"url":"https://forum.example/c/{seed}.json?per_page=100",
 *      "label":"topics", "auth":{"kind":"header","name":"Api-Key"},
 *      "items":"/topic_list/topics", "id":"/id", "date":"/created_at",
 *      "owner":"/poster/id",
 *      "next":{"cursor":"/meta/next","parameter":"after"},
 *      "since":{"parameter":"since","from":"date"},
 *      "rate":{"calls":60,"seconds":60},
 *      "columns":[{"name":"title","at":"/title"}]}
 *
 * Places are JSON Pointers (RFC 6901); those of an item begin at the item.
 *
 * Thread: any; pure.  Source: contracts/platforms.md §14.
 */
#ifndef ENGINE_CONNECTOR_JSON_JSON_DESCRIPTION_H
#define ENGINE_CONNECTOR_JSON_JSON_DESCRIPTION_H

#include "engine/connector/connector.h"
#include "engine/connector/item_date.h"

#define JSON_SEED "{seed}"
/* A text of a description, bytes. */
#define JSON_TEXT_BYTES_MAX 2048u

/* How a list goes on. */
enum json_next {
	JSON_NEXT_NONE,              /* it is one page */
	JSON_NEXT_CURSOR,            /* a place has the parameter's value */
	JSON_NEXT_URL,               /* a place has the whole address */
	JSON_NEXT_LINK,              /* so has a Link field of the head */
	JSON_NEXT_PAGE,              /* pages are counted by the parameter */
	JSON_NEXT_OFFSET             /* items are */
};

struct json_column {
	const char *name, *at, *meaning;     /* `meaning`: for people */
};

struct json_description {
	struct str url;              /* with JSON_SEED, or without */
	struct str base;             /* "https://HOST[:PORT]" of it */
	bool has_seed;
	const char *label;           /* of its items */
	enum connector_auth auth;
	const char *auth_name;       /* of QUERY and HEADER */
	const char *token_url;       /* of APP_BEARER */
	const char *items, *id;      /* places; of an item's, the first two are
	                              * always there */
	const char *date, *owner;    /* places, or NULL */
	enum json_next next;
	const char *next_at;         /* a place, or the relation of a link */
	const char *next_parameter;  /* of CURSOR, PAGE, OFFSET */
	int64_t first, by;           /* of PAGE and OFFSET */
	const char *since_parameter; /* NULL: the platform knows none */
	bool since_is_date;          /* else it is an id */
	struct connector_rate rates[2];      /* the first has 0 units: none */
	const struct json_column *columns;
	size_t columns_n;
};

/*
 * Read a description; its numbers may be raw.  Texts are copied into `a`.
 * Errors: INPUT, with the field as "options.api...." .
 */
MUST_USE enum err json_description_read(yyjson_val *api, struct arena *a,
    struct json_description *out, struct why *w);

/* The value at a place; NULL: there is none. */
yyjson_val *json_description_at(yyjson_val *, const char *place);
/* A date as platforms write them, or seconds since 1970; false: it is none. */
bool json_description_date(struct str, struct item_date *);

#endif
