/*
 * redact -- takes credentials out of what is about to be archived
 * (docs/protocols/warc.md section 6).  "REDACTED" replaces them.
 *
 * Three rules, in this order:
 *   headers   the values of Authorization, Proxy-Authorization, Cookie and
 *             X-Api-Key of a request, and of names given by the caller
 *   values    every occurrence of a known credential of at least
 *             REDACT_VALUE_MIN bytes: raw, percent-encoded, base64
 *   fields    in API harvests only: Set-Cookie of a response, and query and
 *             form fields such as access_token
 *
 * Thread: a redactor is read-only after redact_new() and may be shared.
 * Nothing is altered where nothing is found; then no memory is taken either.
 */
#ifndef WIRE_REDACT_H
#define WIRE_REDACT_H

#include "base/bytes.h"

#define REDACT_RULES_VERSION "1"
#define REDACT_WORD "REDACTED"
#define REDACT_VALUE_MIN 8
#define REDACT_VALUES_MAX 256      /* more are refused by CHECK */
#define REDACT_VALUE_BYTES_MAX 8192

struct redact_rules {
	const struct str *values;    /* credentials; shorter ones are ignored */
	size_t values_n;
	const struct str *headers;   /* more request headers, any case */
	size_t headers_n;
	bool cookies;                /* Set-Cookie in responses, too */
	bool harvest;                /* that, and the rule `fields` */
	const struct str *fields;    /* more field names, exact */
	size_t fields_n;
	/* Memory for copies of the values; it outlives the redactor, and its
	 * owner overwrites it.  NULL: the heap's, overwritten when freed. */
	void *(*take)(void *arg, size_t n);
	void *arg;
};

struct redactor;
/* Copies all that it needs.  `rules` may be NULL: only the four headers. */
struct redactor *redact_new(const struct redact_rules *rules);
void redact_free(struct redactor **);

/*
 * Each returns true when something was replaced; then the new bytes were
 * appended to `out`, and what was found to `names` as "authorization, cookie",
 * "credential" for a value, the field's name for a field.  False: nothing was
 * appended and the original stands.
 */
/* Head and body; Content-Length follows a body whose size changed. */
bool redact_request(const struct redactor *, struct str request,
    struct buf *out, struct buf *names);
bool redact_response_head(const struct redactor *, struct str head,
    struct buf *out, struct buf *names);
/* A URI, or any other text, as fields of a metadata record. */
bool redact_text(const struct redactor *, struct str text, struct buf *out,
    struct buf *names);

/* Whether any credential is known at all. */
bool redact_has_values(const struct redactor *);
/*
 * Whether a credential stands in `body`, raw or base64.  Response bodies are
 * never altered; the finding raises `secret_in_response`.
 */
bool redact_finds(const struct redactor *, struct str body);

#endif
