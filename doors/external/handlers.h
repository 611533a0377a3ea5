/*
 * handlers -- what the routes of this door call.
 *
 * Source: contracts/external.md §2, §8; doors/external/DESIGN.md, Operators.
 */
#ifndef DOORS_EXTERNAL_HANDLERS_H
#define DOORS_EXTERNAL_HANDLERS_H

#include "base/bytes.h"

struct web_request;

/* accept.c */
void external_post_task(struct web_request *);
/* An operator starts a new attempt with the parameters of the last one. */
void external_post_retry(struct web_request *);
/* tasks.c */
void external_patch_status(struct web_request *);
void external_get_task(struct web_request *);
void external_get_log(struct web_request *);
void external_get_rejected(struct web_request *);
void external_get_object(struct web_request *);
void external_get_form(struct web_request *);
void external_not_found(struct web_request *);
/* check.c */
void external_post_check(struct web_request *);
/* choices.c */
void external_post_choices(struct web_request *);
/* login.c, login_callback.c, login_token.c */
void external_get_login(struct web_request *);
void external_get_callback(struct web_request *);
void external_get_token(struct web_request *);
void external_delete_token(struct web_request *);
void external_options_token(struct web_request *);
/* The front end's origins, as web_route.origins. */
struct str external_token_origins(struct web_request *);
/* operate.c: lists, and what an operator does with a task. */
void external_get_connectors(struct web_request *);
void external_get_tasks(struct web_request *);
void external_post_cancel(struct web_request *);
void external_post_redeliver(struct web_request *);
void external_post_reset_cursor(struct web_request *);
/* hand_run.c */
void external_post_run(struct web_request *);

#endif
