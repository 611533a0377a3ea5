/*
 * login_request -- one call of a front end about signing in, while store and
 * provider are asked.
 *
 *     handler ─► login_request_new() ─► login_request_admit()
 *     ─► login_request_ask(work, then) ─► then(): an answer, or ask again
 *
 * The calls of the popup, /login and /callback, are answered with pages; /token
 * is called by scripts, which read the envelope.  Each answer is logged without
 * secrets; of the user the log has the beginning of a hash, since with the
 * compatibility switch whoever knows a uuid may act for its user.
 *
 * Thread: the main loop's, but for work().
 * Source: contracts/external.md §8, §10.
 */
#ifndef DOORS_EXTERNAL_LOGIN_REQUEST_H
#define DOORS_EXTERNAL_LOGIN_REQUEST_H

#include "doors/external/external_door.h"
#include "doors/external/login_ticket.h"
#include "doors/external/provider.h"

/* Random bytes of a cookie. */
#define LOGIN_SECRET_BYTES 32u
/* "__Host-confirm_", 12 hex digits. */
#define LOGIN_COOKIE_NAME_BYTES 48u

enum login_cookie { LOGIN_OF_STATE, LOGIN_OF_QUESTION };

struct login_request {
	struct store_job job;
	struct external_door *door;
	struct web_request *request;
	struct arena arena;
	struct why why;
	enum err result;
	enum err (*work)(struct login_request *, struct store *,
	    struct why *);
	void (*then)(struct login_request *);

	const char *call;            /* "login", "callback", "token", "clear" */
	bool is_page;
	struct held_connector *connector;
	const struct oauth_declaration *declared;
	struct backends *set;
	const struct backend *backend;       /* NULL until it is known */
	struct store_user user;
	struct str ticket_text;      /* empty: none came */
	struct jwt_claims ticket;

	/* The user's grant, if one stands. */
	bool stands;
	struct store_grant grant;
	struct str reported_name, email;

	/* /login */
	struct str values[OAUTH_PARAMS_MAX];
	bool is_reset, is_confirmed, is_asked;
	struct provider_start start;
	struct store_login login;
	/* /callback */
	struct provider_finish finish;
	struct str code, fault;      /* one of both */
	/* `reset=1`, DELETE: a grant that ended. */
	bool ended;
	struct store_grant was;
};

/*
 * Begin; NULL: it was answered.  Refused are connectors that are not there or
 * need no login, and calls while the server starts or ends.
 */
struct login_request *login_request_new(struct web_request *,
    const char *call, bool is_page);
/*
 * Read uuid and subdomain, find the back end, and judge the ticket for `act`,
 * or count the call where the connector needs none.  False: refused, answered
 * and freed.
 */
bool login_request_admit(struct login_request **, enum jwt_act act);
/* After its answer. */
void login_request_free(struct login_request **);
void login_request_ask(struct login_request *, enum err (*work)(
    struct login_request *, struct store *, struct why *),
    void (*then)(struct login_request *));

/* work(): read the user's grant; `stands` says whether there is one that is
 * good, by a declaration that still admits it. */
enum err login_request_find_grant(struct login_request *, struct store *,
    struct why *);

/*
 * The query's parameter; STR_NONE: it is not there.  False: it is there twice;
 * refused, answered and freed.
 */
bool login_request_param(struct login_request **, const char *name,
    struct str *value);

/* "{oauth}/callback", one for each connector.  Memory: the request's. */
struct str login_redirect_uri(struct login_request *);
/* 256 random bits in base64url.  Memory: the request's. */
struct str login_make_secret(struct login_request *);
/* The name of the cookie that belongs to a state, or to a question's id. */
void login_cookie_name(const struct login_request *, enum login_cookie,
    struct str of, char name[static LOGIN_COOKIE_NAME_BYTES]);
/* Set that cookie; an empty value deletes it. */
void login_set_cookie(struct login_request *, enum login_cookie,
    struct str of, struct str value);

/* ---- Answers: each is logged, and frees the request --------------------- */

/* `status` with a sentence, as a page or in the envelope. */
void login_refuse(struct login_request *, int status, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* From a fault of the provider. */
void login_refuse_fault(struct login_request *, const struct oauth_fault *);
/* From x->result and x->why, which the store has set. */
void login_refuse_result(struct login_request *);
/* 200, with a page. */
void login_answer_page(struct login_request *, struct str html,
    const char *outcome);
/* The closing page. */
void login_answer_end(struct login_request *, const char *outcome);
/* Note the outcome in log and metrics; the caller answers, and frees. */
void login_note(const struct login_request *, const char *outcome);

/* As web_route.refuse, for the popup. */
void login_refuse_page(struct web_request *, int status, const char *code,
    struct str text);

#endif
