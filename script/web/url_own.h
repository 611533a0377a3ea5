/*
 * url_own -- what url_class.c and params.c share.
 *
 * A URL is kept as its serialised form in the script's heap and parsed by ada
 * for each question: so its memory counts, and ada's is gone after the call.
 */
#ifndef SCRIPT_WEB_URL_OWN_H
#define SCRIPT_WEB_URL_OWN_H

#include "script/web/bind.h"

struct params;
/* Shared by a URL object and its URLSearchParams; neither owns the other. */
struct url_box {
	unsigned refs;
	struct str href;             /* js_malloc()ed */
	struct params *params;       /* the object's, while it lives */
};

/* A list of names and values, kept as its query string. */
struct params {
	struct str query;            /* js_malloc()ed, without "?" */
	struct url_box *url;         /* whose query it is, or NULL */
};

void url_box_drop(JSRuntime *, struct url_box **);
/* Set the query of the URL and keep its new form; false: an exception. */
MUST_USE bool url_set_query(JSContext *, struct url_box *, struct str);
/* Replace `*at` by a copy; false: an exception, and it stays. */
MUST_USE bool url_keep(JSContext *, struct str *at, struct str);
/* A URLSearchParams of this box; an exception in the value. */
JSValue params_of_url(JSContext *, struct url_box *, struct str query);

#endif
