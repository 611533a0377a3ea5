/*
 * mime -- what a document is: by its Content-Type, and by its first bytes.
 *
 * Source: https://mimesniff.spec.whatwg.org/
 */
#ifndef ENGINE_PARSER_MIME_H
#define ENGINE_PARSER_MIME_H

#include "base/arena.h"

/* A header may carry more parameters; no type that we know needs them. */
#define MIME_PARAMS_MAX 32u
#define MIME_SNIFF_BYTES 1445u

struct mime_param {
	struct str name;      /* lower case */
	struct str value;     /* unquoted */
};

struct mime {
	struct str type;      /* lower case: "text" */
	struct str subtype;   /* lower case: "html" */
	struct mime_param params[MIME_PARAMS_MAX];
	size_t params_n;
};

/* Section 4.4.  False when `s` is no MIME type.  Memory: `a`. */
bool mime_parse(struct str s, struct arena *a, struct mime *out);
/* The value of a parameter; STR_NONE when it is not there. */
struct str mime_param(const struct mime *, struct str name);

#define MIME_KINDS(X)                                                     \
	X(NONE,    "none")      /* nothing that carries links */          \
	X(HTML,    "html")                                                \
	X(CSS,     "css")                                                 \
	X(FEED,    "feed")      /* RSS or Atom */                         \
	X(SITEMAP, "sitemap")                                             \
	X(XML,     "xml")       /* any other XML */                       \
	X(TEXT,    "text")                                                \
	X(PDF,     "pdf")                                                 \
	X(PNG,     "png")                                                 \
	X(GIF,     "gif")                                                 \
	X(JPEG,    "jpeg")                                                \
	X(WEBP,    "webp")                                                \
	X(GZIP,    "gzip")                                                \
	X(ZIP,     "zip")

enum mime_kind {
#define MIME_ENUM(name, text) MIME_##name,
	MIME_KINDS(MIME_ENUM)
#undef MIME_ENUM
	MIME_KIND_COUNT
};

/*
 * What the body is.  A type that is given and known decides; one that is
 * missing, unknown ("application/octet-stream", "unknown/unknown") or a bare
 * "text/plain" is settled by the bytes, unless `nosniff`.  XML is always looked
 * into, since feeds and sitemaps come as "text/xml" or "text/html".
 * `declared` may be NULL.
 */
enum mime_kind mime_sniff(const struct mime *declared, bool nosniff,
    struct str body);

#endif
