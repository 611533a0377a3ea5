#include "base/hash.h"
#include "engine/frontier/core.h"
#include "engine/frontier/submission.h"

uint64_t
frontier_hash(uint32_t crawl, struct str url)
{
	return hash_bytes(url, hash_u64(UINT64_C(0x41726769) << 32 | crawl));
}

void
url_key(uint32_t crawl, uint32_t queue, uint32_t date, struct str url,
    struct buf *out)
{
	buf_clear(out);
	buf_put_be32(out, crawl);
	buf_put_be32(out, queue);
	buf_put_be32(out, date);
	buf_put_str(out, url);
}

void
queue_key(uint32_t crawl, struct str key, struct buf *out)
{
	buf_clear(out);
	buf_put_be32(out, crawl);
	buf_put_str(out, key);
}

void
crawl_key(uint32_t crawl, char part, struct buf *out)
{
	buf_clear(out);
	buf_put_be32(out, crawl);
	buf_put_char(out, part);
}

void
key_range(uint64_t id, size_t bytes, struct buf *from, struct buf *to)
{
	buf_clear(from);
	buf_clear(to);
	if (bytes == 4) {
		buf_put_be32(from, (uint32_t)id);
		buf_put_be32(to, (uint32_t)id + 1);
	} else {
		buf_put_be64(from, id);
		buf_put_be64(to, id + 1);
	}
}

void
url_value_put(const struct url_value *v, struct buf *out)
{
	uint64_t cost;

	memcpy(&cost, &v->cost, sizeof(cost));
	buf_clear(out);
	buf_put_be32(out, v->created_s);
	buf_put_char(out, (char)v->flags);
	buf_put_be16(out, v->depth);
	buf_put_be64(out, cost);
	buf_put_char(out, (char)v->why);
	buf_put_varint(out, v->seq);
}

bool
url_value_parse(struct str s, struct url_value *v)
{
	struct reader in = reader_of(s);

	v->created_s = read_be32(&in);
	v->flags = read_u8(&in);
	v->depth = read_be16(&in);
	uint64_t cost = read_be64(&in);
	memcpy(&v->cost, &cost, sizeof(cost));
	v->why = read_u8(&in);
	v->seq = read_varint(&in);
	return !in.bad;
}

/*
 * Ten bits of cost: the exponent and the upper five bits of the mantissa of a
 * double, which sort like the number.  Whole costs up to 64 are told apart.
 */
static uint32_t
cost_class(double cost)
{
	uint64_t bits;
	const uint32_t lowest = (1023 - 8) << 5;   /* 2^-8 */

	if (!(cost > 0))
		return 0;
	memcpy(&bits, &cost, sizeof(bits));
	uint32_t class = (uint32_t)(bits >> 47);
	return class <= lowest ? 0 : MIN(class - lowest, 1023u);
}

uint32_t
rank_of(double cost, uint32_t age)
{
	/* After a queue's millionth URL, all have the same age. */
	uint32_t rank = cost_class(cost) << 20 | MIN(age, (1u << 20) - 1);

	return MAX(rank, 1u);
}
