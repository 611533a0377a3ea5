/*
 * backends -- the back ends that may start tasks, read from
 * external.backends_file, and which URLs each of them may name.
 *
 * The file is a JSON array of objects:
 *
 *     member           value
 *     name             letters, digits and "._-", at most 64; required, unique
 *     token            the name of the back end's token; required, unique
 *     prefix           the URL below which its endpoints lie; required
 *     headers          {"Name":"value"}, sent with each call to it
 *     ca               a PEM file of trusted certificates, instead of the
 *                      system's; relative to the folder of this file
 *     ticket_key       base64 of the key that signs launch tickets
 *     origins          origins of its front end
 *     subdomains       those of its users; unique over all back ends
 *     silence_s        seconds without a call after which it gives a task up
 *     batch_bytes, batch_documents
 *                      sizes of an upload
 *
 * A set is read-only and counts its users.  When the last one releases it, the
 * values of headers and the ticket keys are overwritten.
 *
 * Thread: any.
 * Limits: the constants below.
 * Source: contracts/external.md §1, §10.
 */
#ifndef ENGINE_BACKENDS_BACKENDS_H
#define ENGINE_BACKENDS_BACKENDS_H

#include "base/err.h"
#include "base/ip.h"
#include "engine/parser/url.h"

#define BACKENDS_FILE_BYTES_MAX ((size_t)1 << 20)
#define BACKENDS_MAX 100u
#define BACKEND_NAME_BYTES_MAX 64u
#define BACKEND_HEADERS_MAX 32u
#define BACKEND_HEADER_BYTES_MAX 8192u       /* of a value */
#define BACKEND_TICKET_KEY_BYTES_MIN 32u
#define BACKEND_TICKET_KEY_BYTES_MAX 1024u
#define BACKEND_ORIGINS_MAX 64u
#define BACKEND_SUBDOMAINS_MAX 1000u
#define BACKEND_SUBDOMAIN_BYTES_MAX 253u
#define BACKEND_CA_BYTES_MAX ((size_t)4 << 20)
#define BACKEND_SILENCE_S_MIN 3
#define BACKEND_SILENCE_S_MAX 604800
#define BACKEND_BATCH_BYTES_MIN ((size_t)1024)
#define BACKEND_BATCH_BYTES_MAX ((size_t)16 << 20)
#define BACKEND_BATCH_DOCUMENTS_MAX 10000u
/* Length of an endpoint as received, and of a prefix. */
#define BACKEND_URL_BYTES_MAX 8192u

struct backend_header {
	struct str name, value;
};

/* All texts belong to the set and end in a NUL. */
struct backend {
	struct str name;
	struct str token;            /* STR_NONE: no token is wanted */
	struct str prefix;           /* normalised; STR_NONE: all of loopback */
	struct url prefix_url;       /* the same, if there is one */
	const struct backend_header *headers;
	size_t headers_n;
	struct str ca;               /* the path of its file, or STR_NONE */
	uint64_t ca_hash;            /* of the file's bytes when it was read */
	struct str ticket_key;       /* decoded; STR_NONE: no tickets */
	const struct str *origins;   /* serialised: "https://a.org" */
	size_t origins_n;
	const struct str *subdomains;
	size_t subdomains_n;
	int64_t silence_s;           /* 0: the default, here and below */
	size_t batch_bytes;
	uint32_t batch_documents;
};

struct backends;

/*
 * Read the file at `path`.  The caller releases the set.
 * Errors: DENIED when others than its owner may use the file; FULL when it or a
 * list is too long; INPUT and EXISTS, naming entry and member ("backends[1].
 * prefix: ..."); ABSENT, IO, also of a `ca`.  No text contains a secret.
 */
MUST_USE enum err backends_read(const char *path, struct backends **out,
    struct why *);
/*
 * The same from text; files of certificates are not looked at, and relative
 * paths begin in `folder`.
 */
MUST_USE enum err backends_parse(struct str json, const char *folder,
    struct backends **out, struct why *);
/*
 * The set that serves without a file: one back end, "local", without a token,
 * whose endpoints are any URLs with http or https on loopback.
 */
struct backends *backends_local(void);
struct backends *backends_hold(struct backends *);
/* NULL is allowed; the caller's pointer is emptied. */
void backends_release(struct backends **);

size_t backends_n(const struct backends *);
const struct backend *backends_nth(const struct backends *, size_t i);
/* NULL: there is none. */
const struct backend *backends_find(const struct backends *, struct str name);
/* By the name of a token. */
const struct backend *backends_of_token(const struct backends *,
    struct str token_name);

/*
 * Whether `endpoint`, as it came, is a URL that the back end may be called at.
 * `out_url` is its normalised form, which is the one to be called, and belongs
 * to `a`.
 * Errors: INPUT when it is no URL with http or https, or has a user, a
 * fragment, a backslash, a blank or a control character; DENIED when scheme,
 * host, port or path are not below the prefix.  A path whose decoded form has
 * dot segments that the URL parser left is DENIED, too.
 */
MUST_USE enum err backend_admit(const struct backend *, struct str endpoint,
    struct str *out_url, struct arena *a, struct why *);
/*
 * Whether a call to `host`, which is that of an admitted URL, may use a
 * connection to this address.  A host that is written as an address allows this
 * address; "localhost" and names below it allow loopback; any other name allows
 * public addresses.
 */
bool backend_allows_address(const struct backend *, struct str host,
    const struct ip *);
/* A loopback address of this machine.  64:ff9b::7f00:1, which a NAT64 gateway
 * maps to 127.0.0.1, is not one. */
bool backend_address_is_loopback(const struct ip *);
/*
 * Append `endpoint_url`, a normalised URL, with `what` ("/upload") behind its
 * path; one "/" at the path's end is left out, and a query follows unchanged.
 * Errors: INPUT when `endpoint_url` is no URL with http or https or has a
 * fragment; nothing is appended then.
 */
MUST_USE enum err backend_append_path(struct str endpoint_url,
    const char *what, struct buf *out);

#endif
