/*
 * head -- the head of a request, strictly: what is not as RFC 9112 wants it is
 * refused with a status and a word, for a server that guesses and a proxy
 * before it that guesses otherwise let strangers' requests through.
 *
 *     scan   where the head ends, while its bytes come
 *     parse  the whole head: method, target, fields, framing
 *
 * Slices borrow from the bytes given; decoded texts lie in the arena.
 * Thread: any.  Source: RFC 9110, RFC 9112, RFC 3986.
 */
#ifndef WIRE_WEB_HEAD_H
#define WIRE_WEB_HEAD_H

#include "base/arena.h"

struct head_field {
	struct str name, value;      /* the value without blanks around it */
};

struct head {
	struct str method;
	struct str target;           /* as it came */
	struct str path;             /* decoded; begins with '/' */
	struct str raw_path;         /* the same as it came */
	bool dots;                   /* a segment of `path` is "." or "..", with
	                              * dots or slashes that were encoded */
	struct str query;            /* behind the '?', as it came */
	struct str host;             /* of the target or the field; or none */
	int minor;                   /* HTTP/1.`minor`; 2: HTTP/2 */
	struct head_field *fields;
	size_t fields_n;
	uint64_t length;             /* of the body; 0 without one */
	bool chunked;                /* then the length is not known */
	bool close;                  /* the client wants no further request */
	bool awaits_continue;
};

/* Why a request is refused; `status` 0: it is not. */
struct head_refusal {
	int status;
	const char *code, *text;
};

struct head_limits {
	size_t bytes_max, fields_max;
};

/* Where the scan stands.  Zeroed at first. */
struct head_scan {
	size_t at, line;             /* looked at; where this line begins */
	bool started;                /* a first line was there */
};

/*
 * Look for the end of the head at the start of `in`, of which more may have
 * come since the last call.  The head's length; 0 while it has no end yet, or
 * when it is refused: 400, 414, 431.
 */
size_t head_scan(struct head_scan *, struct str in, const struct head_limits *,
    struct head_refusal *);

/* Parse what head_scan() has found.  False: refused. */
bool head_parse(struct str bytes, const struct head_limits *, struct arena *,
    struct head *, struct head_refusal *);

/*
 * Take a target apart into path, query and host: origin-form, absolute-form.
 * False: refused.
 */
bool head_target(struct str target, struct arena *, struct head *,
    struct head_refusal *);

/* All values of that name (any case), joined by ", "; false: none. */
bool head_find(const struct head *, struct str name, struct arena *,
    struct str *value);
/* Whether a list in that field has the member, in any case. */
bool head_lists(const struct head *, struct str name, struct str member);
/*
 * The first parameter of that name in a query, decoded, from `*at` on, which
 * begins at 0 and is moved behind it; false: none.
 */
bool head_param(struct str query, size_t *at, struct str name,
    struct arena *, struct str *value);
/*
 * Decode a piece of a path, or of a query, where a '+' is a blank.  False: a
 * '%' is not followed by two hex digits.
 */
bool head_decode(struct str raw, bool query, struct arena *, struct str *out);

#endif
