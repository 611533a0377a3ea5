/*
 * handlers -- what the routes of this door call.
 *
 * Source: contracts/external.md §2.
 */
#ifndef DOORS_EXTERNAL_HANDLERS_H
#define DOORS_EXTERNAL_HANDLERS_H

struct web_request;

/* accept.c */
void external_post_task(struct web_request *);
/* tasks.c */
void external_patch_status(struct web_request *);
void external_get_task(struct web_request *);
void external_get_log(struct web_request *);
void external_get_object(struct web_request *);
void external_get_form(struct web_request *);
void external_not_found(struct web_request *);
/* check.c */
void external_post_check(struct web_request *);

#endif
