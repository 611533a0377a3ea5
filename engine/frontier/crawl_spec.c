/* The record of what a crawl was told when it began. */
#include "engine/frontier/crawl_spec.h"

static void
put_list(struct buf *out, const struct str *list, size_t n)
{
	buf_put_varint(out, n);
	for (size_t i = 0; i < n; i++)
		buf_put_field(out, list[i]);
}

static const struct str *
read_list(struct reader *in, struct arena *a, size_t *n)
{
	uint64_t count = read_varint(in);

	*n = 0;
	if (count > in->n) {
		in->bad = true;
		return NULL;
	}
	struct str *list = ARENA_ARRAY(a, struct str, (size_t)count);
	for (; *n < count; (*n)++)
		list[*n] = read_field(in);
	return list;
}

void
crawl_spec_put(const struct crawl_spec *s, struct buf *out)
{
	buf_put_char(out, (char)s->kind);
	buf_put_field(out, s->name);
	put_list(out, s->tags, s->tags_n);
	put_list(out, s->seeds, s->seeds_n);
	buf_put_field(out, s->policy);
	buf_put_field(out, s->options);
	buf_put_field(out, s->warc_dir);
	buf_put_varint(out, s->max_items);
	buf_put_varint(out, s->host_urls_max);
	buf_put_varint(out, (uint64_t)s->duration_ms_max);
	buf_put_varint(out, s->warc_bytes_max);
}

bool
crawl_spec_parse(struct str value, struct arena *a, struct crawl_spec *s)
{
	struct reader in = reader_of(value);

	s->kind = read_u8(&in);
	s->name = read_field(&in);
	s->tags = read_list(&in, a, &s->tags_n);
	s->seeds = read_list(&in, a, &s->seeds_n);
	s->policy = read_field(&in);
	s->options = read_field(&in);
	s->warc_dir = read_field(&in);
	s->max_items = read_varint(&in);
	s->host_urls_max = read_varint(&in);
	/* Records of earlier versions end here. */
	s->duration_ms_max = in.n == 0 ? 0 : (int64_t)read_varint(&in);
	s->warc_bytes_max = in.n == 0 ? 0 : read_varint(&in);
	return !in.bad;
}
