#include "engine/frontier/journal.h"

/* All of an entry but its texts, and the lengths of these. */
#define NUMBERS_BYTES 192u

void
journal_key(uint32_t crawl, uint64_t seq, struct buf *out)
{
	buf_clear(out);
	buf_put_be32(out, crawl);
	buf_put_be64(out, seq);
}

void
journal_put_rest(const struct journal_entry *e, struct buf *out)
{
	buf_reserve(out, NUMBERS_BYTES + e->type.n + e->title.n + e->url.n +
	    e->final_url.n + e->via.n);
	buf_put_be32(out, e->clen);
	buf_put_be32(out, e->ulen);
	buf_put_be32(out, e->body_at);
	buf_put_be16(out, e->hops);
	buf_put_be16(out, e->status);
	buf_put_be16(out, e->depth);
	buf_put_char(out, (char)e->flags);
	buf_put_be64(out, (uint64_t)e->start.us);
	buf_put_be32(out, e->duration_us);
	buf_put_be32(out, (uint32_t)e->dns_us);
	buf_put_be32(out, (uint32_t)e->connect_us);
	buf_put_be32(out, (uint32_t)e->tls_us);
	buf_put_be32(out, (uint32_t)e->first_byte_us);
	buf_put_be32(out, (uint32_t)e->total_us);
	buf_put_be64(out, e->body_bytes);
	buf_put_be64(out, e->simhash);
	buf_put_char(out, (char)e->digest.kind);
	buf_put(out, e->digest.bytes, digest_size(e->digest.kind));
	buf_put_field(out, e->type);
	buf_put_field(out, e->title);
	buf_put_field(out, e->url);
	buf_put_field(out, e->final_url);
	buf_put_field(out, e->via);
	if (e->flags & JOURNAL_SIZED)
		buf_put_be64(out, e->decoded);
	if (!(e->flags & JOURNAL_SOURCED))
		return;
	buf_put_be32(out, e->source.file);
	buf_put_be48(out, e->source.offset);
	buf_put_be32(out, e->source.clen);
	buf_put_be32(out, e->source.ulen);
}

void
journal_put(uint32_t file, uint64_t offset, struct str rest, struct buf *out)
{
	buf_put_be32(out, file);
	buf_put_be48(out, offset);
	buf_put_str(out, rest);
}

void
journal_flag_near(char *value)
{
	/* file4 offset6 clen4 ulen4 body-at4 hops2 status2 depth2 flags1 */
	value[4 + 6 + 4 + 4 + 4 + 2 + 2 + 2] |= JOURNAL_NEAR_DUPLICATE;
}

bool
journal_parse(struct str key, struct str value, struct journal_entry *e)
{
	struct reader k = reader_of(key), in = reader_of(value);

	memset(e, 0, sizeof(*e));
	e->crawl = read_be32(&k);
	e->seq = read_be64(&k);
	e->file = read_be32(&in);
	e->offset = read_be48(&in);
	e->clen = read_be32(&in);
	e->ulen = read_be32(&in);
	e->body_at = read_be32(&in);
	e->hops = read_be16(&in);
	e->status = read_be16(&in);
	e->depth = read_be16(&in);
	e->flags = read_u8(&in);
	e->start.us = (int64_t)read_be64(&in);
	e->duration_us = read_be32(&in);
	e->dns_us = (int32_t)read_be32(&in);
	e->connect_us = (int32_t)read_be32(&in);
	e->tls_us = (int32_t)read_be32(&in);
	e->first_byte_us = (int32_t)read_be32(&in);
	e->total_us = (int32_t)read_be32(&in);
	e->body_bytes = read_be64(&in);
	e->simhash = read_be64(&in);
	uint8_t kind = read_u8(&in);
	if (kind > DIGEST_MD5)
		return false;
	e->digest.kind = (enum digest_kind)kind;
	struct str digest = read_bytes(&in, digest_size(e->digest.kind));
	if (digest.n != 0)
		memcpy(e->digest.bytes, digest.p, digest.n);
	e->type = read_field(&in);
	e->title = read_field(&in);
	e->url = read_field(&in);
	e->final_url = read_field(&in);
	e->via = read_field(&in);
	if (e->flags & JOURNAL_SIZED)
		e->decoded = read_be64(&in);
	if (e->flags & JOURNAL_SOURCED) {
		e->source.file = read_be32(&in);
		e->source.offset = read_be48(&in);
		e->source.clen = read_be32(&in);
		e->source.ulen = read_be32(&in);
	}
	return !k.bad && !in.bad && in.n == 0;
}

bool
journal_has_digest(struct str value, const struct digest *d)
{
	/* file4 offset6 clen4 ulen4 body-at4 hops2 status2 depth2 flags1
	 * start8 duration4 phases20 body8 simhash8 */
	size_t at = 4 + 6 + 4 + 4 + 4 + 2 + 2 + 2 + 1 + 8 + 4 + 20 + 8 + 8;
	size_t n = digest_size(d->kind);

	return value.n > at + n && (uint8_t)value.p[at] == d->kind &&
	    memcmp(value.p + at + 1, d->bytes, n) == 0;
}

uint64_t
journal_body_length(const struct journal_entry *e)
{
	return e->flags & JOURNAL_SIZED ? e->decoded : e->body_bytes;
}
