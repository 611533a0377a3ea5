/*
 * Chunked bodies, RFC 9112 §7.1: leniently as servers send them, strictly as a
 * server takes them.
 */
#include "wire/http.h"

enum { SIZE, BLANK, EXTENSION, DATA, DATA_END, TRAILER };

/* One byte of a line with the chunk's size; false: malformed. */
static bool
size_byte(struct http_chunks *c, char b)
{
	int digit = ascii_hex_value(b);

	if (++c->line_n > (c->strict ? HTTP_CHUNK_LINE_STRICT_MAX :
	    HTTP_CHUNK_LINE_MAX))
		return false;
	if (b == '\n') {
		if (c->digits == 0)
			return false;
		c->chunks++;
		c->state = c->left == 0 ? TRAILER : DATA;
		c->line_n = 0;
		return true;
	}
	if (c->state == EXTENSION)
		return true;
	if (digit >= 0 && c->state == SIZE) {
		if (c->left >> 60 != 0 || (c->strict && c->digits == 15))
			return false;
		c->left = c->left << 4 | (uint64_t)digit;
		c->digits++;
		return true;
	}
	if (c->digits == 0 || (b != ';' && b != ' ' && b != '\t' && b != '\r'))
		return false;
	/* A proxy that takes "5 5" for 55 reads other requests than we do. */
	c->state = c->strict && (b == ' ' || b == '\t') ? BLANK : EXTENSION;
	return true;
}

/* The line end behind a chunk's data. */
static bool
data_end_byte(struct http_chunks *c, char b)
{
	if (b == '\r' && c->line_n == 0) {
		c->line_n = 1;
		return true;
	}
	c->state = SIZE;
	c->line_n = c->digits = 0;
	c->left = 0;
	return b == '\n';
}

/* Trailer fields are dropped; true with `*end` at the empty line. */
static bool
trailer_byte(struct http_chunks *c, char b, bool *end)
{
	if (++c->trailer_n > (c->strict ? HTTP_TRAILER_STRICT_MAX :
	    HTTP_TRAILER_MAX))
		return false;
	if (b == '\n') {
		*end = c->line_n == 0;
		c->line_n = 0;
	} else if (b != '\r') {
		c->line_n++;
	}
	return true;
}

/* One byte that is not data. */
static enum http_chunks_found
step_chunks(struct http_chunks *c, char b)
{
	bool good, end = false;

	/* Strictly, LF follows CR and nothing else does. */
	if (c->strict && (b == '\n') != c->cr)
		return HTTP_CHUNKS_BAD;
	c->cr = b == '\r';
	if (c->state == TRAILER)
		good = trailer_byte(c, b, &end);
	else if (c->state == DATA_END)
		good = data_end_byte(c, b);
	else
		good = size_byte(c, b);
	return !good ? HTTP_CHUNKS_BAD : end ? HTTP_CHUNKS_END :
	    HTTP_CHUNKS_MORE;
}

enum http_chunks_found
http_chunks_feed(struct http_chunks *c, struct str *raw, struct buf *out,
    uint64_t out_max)
{
	while (raw->n > 0) {
		uint64_t room = out_max - MIN(out_max, out->n);
		if (c->state == DATA) {
			size_t n = (size_t)MIN(MIN(c->left, raw->n), room);
			if (n == 0)
				return HTTP_CHUNKS_MORE;
			buf_put(out, raw->p, n);
			*raw = str_from(*raw, n);
			c->left -= n;
			if (c->left == 0) {
				c->state = DATA_END;
				c->line_n = 0;
			}
			continue;
		}
		enum http_chunks_found f = step_chunks(c, raw->p[0]);
		*raw = str_from(*raw, 1);
		if (f != HTTP_CHUNKS_MORE)
			return f;
		if (c->strict && c->state == DATA && c->left > room)
			return HTTP_CHUNKS_TOO_LONG;
	}
	return HTTP_CHUNKS_MORE;
}
