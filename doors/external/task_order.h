/*
 * task_order -- what POST /task says: the task, its parameters and its
 * credential.
 *
 * Thread: any; pure.
 * Source: contracts/external.md §2.
 */
#ifndef DOORS_EXTERNAL_TASK_ORDER_H
#define DOORS_EXTERNAL_TASK_ORDER_H

#include "base/arena.h"
#include "base/json.h"
#include "engine/external/external_connector.h"
#include "engine/external/oauth_flow.h"

#define TASK_BODY_BYTES_MAX ((size_t)1 << 20)
#define TASK_DEPTH_MAX 32u           /* of the body */
#define TASK_CRAWLER_BYTES_MAX 128u
/* Faults of parameters that are told. */
#define TASK_FAULTS_MAX EXTERNAL_PARAMS_MAX

struct task_order {
	yyjson_doc *doc;             /* what follows borrows from it */
	struct str fid, endpoint;
	struct str crawler;          /* or empty */
	bool reset;
	yyjson_val *params;          /* an object, or NULL */
	yyjson_val *credential;      /* an object, or NULL */
	uint64_t version;            /* 0: none is named */
};

/*
 * Read a body, and the parameter `version` of the query, STR_NONE: there is
 * none.  Unknown members are ignored.  task_order_free() frees it, also after
 * an error; its memory is overwritten.  Errors: INPUT, with the field.
 */
MUST_USE enum err task_order_read(struct str body, struct str version,
    struct task_order *, struct why *);
/* The body of POST /check: parameters and credential alone. */
MUST_USE enum err task_order_read_check(struct str body, struct task_order *,
    struct why *);
void task_order_free(struct task_order *);

/* "t1f": 1 to 128 letters, digits, "_", ".", ":" and "-". */
bool task_fid_is_valid(struct str);

/* Error messages about parameters, and the names of unknown ones. */
struct task_faults {
	struct arena *arena;
	struct str messages[TASK_FAULTS_MAX];
	size_t n;
	struct str unknown[TASK_FAULTS_MAX];
	size_t unknown_n;
};
/*
 * Check the parameters; `out` gets their normal form.  Errors: INPUT, with the
 * messages in `f`.
 */
MUST_USE enum err task_params_check(const struct external_connector *,
    yyjson_val *params, struct task_faults *f, struct buf *out);

/*
 * Append the credential as the connector's run wants it, as a JSON object;
 * nothing for a connector without one, or with `oauth`.  A back end's `user`
 * and `password` stand for a name and its secret; a connector whose API wants a
 * token or a key finds it under that name, or in `password`.  Errors: INPUT,
 * naming what is missing; no message has a value.
 */
MUST_USE enum err task_credential_make(const struct external_connector *,
    yyjson_val *credential, struct buf *out, struct why *);

/*
 * Which grant the credential of POST /task names: by its handle, or by user and
 * time of issue (external.md §2).  It stands in the member `oauth` of the
 * credential, or flat in it.  Dates are ISO 8601, or seconds or milliseconds
 * since 1970.
 */
struct task_grant_name {
	struct str handle;           /* "argt_..."; or empty */
	struct str user;             /* without a handle: the user's uuid */
	struct wall issued;
};
/* Texts are the credential's.  Errors: INPUT, naming the member. */
MUST_USE enum err task_grant_name_read(yyjson_val *credential,
    struct task_grant_name *, struct why *);
/*
 * Append the credential that the connector's run wants, as
 * task_credential_make() does, from what a user has granted.
 */
void task_credential_of_grant(const struct external_connector *,
    const struct oauth_granted *, struct buf *out);

/*
 * Append the order of a run: external_order_make_granted()'s with the
 * credential, which may be empty.  The buffer is then to be zeroed by the
 * caller.
 */
MUST_USE enum err task_order_make(const struct external_connector *,
    struct str params, const struct str *granted, struct str credential,
    struct buf *out, struct why *);

/* Append an order with the keys and the credential, both of which may be empty.
 * The buffer is then to be zeroed by the caller. */
void task_order_join(struct str order, struct str keys, struct str credential,
    struct buf *out);

/* Whether two endpoints are equal but for their queries. */
bool task_endpoints_agree(struct str, struct str);

#endif
