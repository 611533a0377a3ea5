/*
 * journal -- one capture as the ledger keeps it: crawl and sequence lead to the
 * WARC record and to what lists and statistics want to know without reading it;
 * so do the answers of URLs that failed, which have no number.
 *
 *     key    crawl4 seq8
 *     value  file4 offset6 clen4 ulen4 body-at4 hops2 status2 depth2 flags1
 *            start8 duration4 phases 5 x 4 body8 simhash8
 *            digest-kind1 digest (0, 20, 32: by its kind)
 *            type title url final-url via               (fields)
 *            decoded8                                   with SIZED
 *            file4 offset6 clen4 ulen4                  with SOURCED
 *
 * A value is written in two parts: the place is known at commit only.
 */
#ifndef ENGINE_FRONTIER_JOURNAL_H
#define ENGINE_FRONTIER_JOURNAL_H

#include "base/arena.h"
#include "base/time.h"
#include "wire/digest.h"

enum journal_flag {
	/* Stored as a revisit record; of an entry without a record: the payload
	 * is that of an earlier capture. */
	JOURNAL_REVISIT = 1,
	JOURNAL_TRUNCATED = 2,     /* the body was cut at a limit */
	JOURNAL_NEAR_DUPLICATE = 4,  /* its text is like an earlier one's */
	JOURNAL_EMBED = 8,         /* a page requisite */
	JOURNAL_SIZED = 16,        /* `decoded` is known */
	JOURNAL_SOURCED = 32,      /* `source` is known */
	JOURNAL_DAMAGED = 64,      /* the body could not be decoded whole */
};

/* The record that holds the body of a revisit. */
struct journal_source {
	uint32_t file;
	uint64_t offset;
	uint32_t clen, ulen;
};

struct journal_entry {
	uint32_t crawl;
	uint64_t seq;
	uint32_t file;             /* WARC id, 0: not archived */
	uint64_t offset;           /* of the final answer's member */
	uint32_t clen, ulen;       /* of that member, packed and unpacked */
	uint32_t body_at;          /* of the HTTP body, unpacked */
	uint16_t hops;             /* redirects before the final answer */
	uint16_t status;
	uint16_t depth;
	uint8_t flags;
	struct wall start;
	uint32_t duration_us;
	int32_t dns_us, connect_us, tls_us, first_byte_us, total_us;
	uint64_t body_bytes;       /* as received */
	uint64_t decoded;          /* bytes of the decoded body */
	struct journal_source source;
	uint64_t simhash;          /* 0: none */
	struct digest digest;      /* of the payload, or NONE */
	struct str type, title, url, final_url, via;
};

/* Set the buffer to the key. */
void journal_key(uint32_t crawl, uint64_t seq, struct buf *);
/*
 * A URL that failed is no capture and has no number.  What it answered has an
 * entry all the same, beyond all numbers, under the URL's hash; its record in
 * the index names that key.
 */
#define JOURNAL_FAILED (UINT64_C(1) << 63)
static inline uint64_t
journal_failed_seq(uint64_t url_hash)
{
	return JOURNAL_FAILED | url_hash >> 1;
}
/* Append all behind file and offset; */
void journal_put_rest(const struct journal_entry *, struct buf *);
/* Append the value: place first, then `rest` as journal_put_rest() made it. */
void journal_put(uint32_t file, uint64_t offset, struct str rest, struct buf *);
/* Set JOURNAL_NEAR_DUPLICATE in a value that journal_put() made. */
void journal_flag_near(char *value);
/* Borrows from `value`.  False when it is damaged. */
bool journal_parse(struct str key, struct str value, struct journal_entry *);
/* Whether a value states that digest, without parsing it. */
bool journal_has_digest(struct str value, const struct digest *);
/* Bytes of the decoded body; of entries that do not say: as received. */
uint64_t journal_body_length(const struct journal_entry *);

#endif
