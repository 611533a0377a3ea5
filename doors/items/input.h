/*
 * input -- what a request says: segments of its path, parameters of its query,
 * members of its JSON body.
 *
 * Sticky: after the first fault every call gives nothing, and input_end()
 * answers it with 400, 413 or 415 and frees the exchange.  So a handler reads
 * all that it needs and checks once:
 *
 *     struct input in = input_of(exchange_new(r));
 *     input_json(&in);
 *     struct str to = input_need_str(&in, "to");
 *     if (!input_end(&in))
 *             return;
 *
 * What is returned lives as long as the exchange.  Thread: home's.
 */
#ifndef DOORS_ITEMS_INPUT_H
#define DOORS_ITEMS_INPUT_H

#include "doors/items/exchange.h"

struct input {
	struct exchange *x;
	yyjson_val *root;            /* an object; NULL: no body was read */
	struct str known[20];        /* members that were asked for */
	size_t known_n;
	enum err e;
	struct why why;
};
struct input input_of(struct exchange *);
/* True when all was fine, and every member of the body is known; else it is
 * answered. */
bool input_end(struct input *);
/* The same without an answer: the fault is in `e` and `why`. */
bool input_is_fine(struct input *);
/* Note a fault about a field. */
void input_fault(struct input *, enum err, const char *field, const char *text);

/* -- The path -- */

/* The i-th segment as an item's id; checked. */
struct str input_id(struct input *, size_t i, const char *field);
/* Any other name: 1 to 1,024 bytes without control characters. */
struct str input_name(struct input *, size_t i, const char *field);

/* -- The query -- */

struct str input_param(struct input *, const char *name);    /* or STR_NONE */
/* The same under either word, as "task" and "operation". */
struct str input_either(struct input *, const char *name, const char *other);
/* A list: the parameter may be repeated, have "[]" behind its name, and hold
 * commas; under either word. */
const struct str *input_words(struct input *, const char *name,
    const char *other, size_t *n);
uint64_t input_number(struct input *, const char *name, uint64_t otherwise,
    uint64_t least, uint64_t most);
/* 1 yes, 0 no, -1 not given. */
int input_choice(struct input *, const char *name);
/* after and limit of lists, into the exchange. */
void input_page(struct input *);
/* Whether Accept names that media type. */
bool input_accepts(struct exchange *, const char *media);

/* -- The body -- */

/* Whether Content-Type is one of these, up to NULL; "" stands for none. */
bool input_is_media(struct exchange *, const char *const *media);
/* application/json, or no body at all. */
void input_json(struct input *);
/* The same of other media types; `field` names the body. */
void input_body_of(struct input *, const char *const *media);
/* A text that is read as a body: a line of an import. */
void input_text(struct input *, struct str json);
struct str input_str(struct input *, const char *name);      /* or STR_NONE */
struct str input_need_str(struct input *, const char *name);
bool input_bool(struct input *, const char *name, bool otherwise);
int64_t input_int(struct input *, const char *name, int64_t otherwise,
    int64_t least, int64_t most);
yyjson_val *input_value(struct input *, const char *name);    /* or NULL */
/* An object, as compact JSON; STR_NONE when it is not there. */
struct str input_object(struct input *, const char *name);
const struct str *input_strs(struct input *, const char *name, size_t *n);
/* "name", "name=value" or {"name":...,"value":...}. */
const struct item_tag_text *input_tags(struct input *, const char *name,
    size_t *n);
/* "30d", ms, null = never: us, or RESULT_TTL_NEVER. */
int64_t input_ttl(struct input *, const char *name);
/* Elements of an array, which is there. */
yyjson_val *input_array(struct input *, const char *name, size_t n_max);

/* A value as compact JSON.  Memory: the exchange's. */
struct str input_raw(struct exchange *, yyjson_val *);

#endif
