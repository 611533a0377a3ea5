/*
 * warc -- builds WARC 1.1 records as gzip members (docs/protocols/warc.md).
 * Bytes only: files are engine/archive's and the ledger's.
 *
 * One writer per event loop; it holds the hashing context, the compressor and
 * the buffers, so that a page costs no allocation.  Each record is one member
 * of wire/gzip.h; number and group are patched into it at commit by
 * gzip_patch(), without compressing again.
 *
 *     exchange  =  response | revisit     WARC-Concurrent-To nothing
 *                  request                WARC-Concurrent-To the former
 *
 * Thread: one.  Errors: FULL when a record is beyond GZIP_ULEN_MAX.
 */
#ifndef WIRE_WARC_H
#define WIRE_WARC_H

#include "base/err.h"
#include "base/time.h"
#include "wire/digest.h"
#include "wire/gzip.h"
#include "wire/redact.h"

#define WARC_COMPRESSION_LEVEL_DEFAULT 1  /* warc.compression_level */
#define WARC_ID_TEXT 36                   /* "8-4-4-4-12", without urn */
#define WARC_ID_MAX (WARC_ID_TEXT + 1)

#define WARC_TYPES(X)                                                         \
	X(UNKNOWN, "")                                                        \
	X(WARCINFO, "warcinfo")                                               \
	X(RESPONSE, "response")                                               \
	X(REQUEST, "request")                                                 \
	X(REVISIT, "revisit")                                                 \
	X(METADATA, "metadata")                                               \
	X(RESOURCE, "resource")                                               \
	X(CONVERSION, "conversion")                                           \
	X(CONTINUATION, "continuation")

enum warc_type {
#define WARC_TYPE_ENUM(name, text) WARC_##name,
	WARC_TYPES(WARC_TYPE_ENUM)
#undef WARC_TYPE_ENUM
};
const char *warc_type_name(enum warc_type);       /* "response" */
enum warc_type warc_type_of(struct str);          /* any case */

/* Profiles of revisit records (WARC 1.1 §6.7). */
#define WARC_PROFILE_SAME \
	"http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
#define WARC_PROFILE_NOT_MODIFIED \
	"http://netpreserve.org/warc/1.1/revisit/server-not-modified"

struct warc_options {
	int level;                     /* gzip_writer_new() */
	enum digest_kind digest;       /* DIGEST_SHA1 or DIGEST_SHA256 */
	const struct redactor *redactor;  /* borrowed; NULL: nothing is cut */
	void (*random)(void *, size_t);   /* seeds the record ids */
};

struct warc_writer;
struct warc_writer *warc_writer_new(const struct warc_options *);
void warc_writer_free(struct warc_writer **);
/* The redactor of a crawl or harvest with credentials of its own; or NULL. */
void warc_writer_redact(struct warc_writer *, const struct redactor *);
/* A fresh record id: 36 characters and a NUL. */
void warc_new_id(struct warc_writer *, char out[static WARC_ID_MAX]);

/* The field `Argiope-Capture`, from which reindex rebuilds a journal. */
struct warc_capture {
	uint32_t crawl;
	uint32_t hop;                  /* 0: the requested URL itself */
	uint32_t depth;
	struct wall start;
	int64_t duration_us;
	struct str requested_url;
};
void warc_capture_put(const struct warc_capture *, struct buf *);
/* Parse the field's value; `requested_url` borrows from it. */
bool warc_capture_parse(struct str, struct warc_capture *);

struct warc_revisit {
	struct str profile;            /* WARC_PROFILE_... */
	struct str refers_to;          /* record id; may be empty */
	struct str refers_to_uri;
	struct wall refers_to_date;
	const struct digest *payload;  /* the original's */
};

struct warc_exchange {
	struct str target_uri;
	struct wall date;
	struct str ip;                 /* "192.0.2.1"; empty: field left out */
	struct str request;            /* head and body; empty: no record */
	struct str response_head;      /* with its empty line, as received */
	const struct str *body;        /* as received, in pieces */
	size_t body_n;
	struct str truncated;          /* "length" ...; empty: complete */
	/*
	 * Why the answer is no capture, for the field Argiope-Outcome:
	 * "exception redirects", "skipped scope"; empty: it is one.
	 */
	struct str outcome;
	const struct warc_capture *capture;   /* NULL: none */
	struct str via;                /* Argiope-Via; empty: field left out */
	struct str warcinfo_id;        /* 36 characters */
	/*
	 * By warc_digest_payload() and its like; NULL or NONE: computed here.
	 * Where redaction changes the head, the block's is.
	 */
	const struct digest *payload, *block;
	const struct warc_revisit *revisit;   /* NULL: a response */
};

struct warc_member {
	size_t at;                     /* in the output buffer */
	uint32_t clen, ulen;
	enum warc_type type;
	char id[WARC_ID_MAX];
	struct digest block, payload;  /* payload: NONE on request */
	uint32_t head_n;               /* where the block begins, unpacked */
	uint32_t body_at;              /* where the HTTP body begins */
	struct str uri;                /* as written; until the next record */
	bool redacted;
	bool head_redacted;            /* of that the answer's head */
	bool secret_in_response;       /* a credential stands in the body */
};

/* The payload digest of a body in pieces, with this writer's algorithm. */
void warc_digest_payload(struct warc_writer *, const struct str *pieces,
    size_t n, struct digest *out);
/*
 * The same of a body in one piece; and the digest of the block that the head
 * and the body make, where that costs little more, else NONE.
 */
void warc_digest_response(struct warc_writer *, struct str head,
    struct str body, struct digest *block, struct digest *payload);

/*
 * Append the members of one exchange to `out`: response or revisit first, then
 * the request.  `members[1].type` is UNKNOWN when there is no request.
 * Errors: FULL; `out` is then as it was.
 */
MUST_USE enum err warc_put_exchange(struct warc_writer *,
    const struct warc_exchange *, struct buf *out,
    struct warc_member members[2], struct why *);

/* A record of any other type: warcinfo, metadata, resource, conversion. */
struct warc_document {
	enum warc_type type;
	struct str id;                 /* 36 characters; empty: a new one */
	struct str target_uri;         /* empty: left out */
	struct wall date;
	struct str ip;
	struct str content_type;
	struct str concurrent_to;      /* 36 characters; empty: left out */
	struct str warcinfo_id;
	struct str filename;           /* warcinfo only */
	struct str truncated;
	struct str checkpoint;         /* Argiope-Checkpoint; empty: left out */
	const struct warc_capture *capture;
	const struct str *block;
	size_t block_n;
};
MUST_USE enum err warc_put_document(struct warc_writer *,
    const struct warc_document *, struct buf *out, struct warc_member *,
    struct why *);

/* The warcinfo record's fields; empty values are left out. */
struct warc_info {
	struct str id;                 /* as in struct warc_document */
	struct str filename;           /* the final one, for ever */
	struct wall date;
	struct str software, hostname, operator_name, is_part_of, robots,
	    user_agent;
	struct str harvest_id, harvest_type;
	uint32_t crawl;
	struct str crawl_name, crawl_kind;   /* no kind: no crawl */
	const struct str *seeds;
	size_t seeds_n;
	struct str policy;             /* JSON */
	struct str redaction;          /* "none"; empty: version and names */
};
MUST_USE enum err warc_put_info(struct warc_writer *,
    const struct warc_info *, struct buf *out, struct warc_member *,
    struct why *);

#endif
