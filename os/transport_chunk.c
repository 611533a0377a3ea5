#include "os/transport_chunk.h"

#define DIGITS_MAX 16

/*
 * Only a blank, an extension or the line's end may follow the digits: "0x5" is
 * no empty chunk, "5 5" neither 5 nor 55.
 */
static enum transport_chunk_state
after_size_end(const struct transport_chunk *c, char byte)
{
	if (byte == '\n')
		return c->left > 0 ? TRANSPORT_CHUNK_DATA :
		    TRANSPORT_CHUNK_TRAILER;
	if (byte == ' ' || byte == '\t')
		return TRANSPORT_CHUNK_SIZE_BLANK;
	return byte == '\r' || byte == ';' ? TRANSPORT_CHUNK_EXTENSION :
	    TRANSPORT_CHUNK_BROKEN;
}

static enum transport_chunk_state
after_size_char(struct transport_chunk *c, char byte)
{
	int value = ascii_hex_value(byte);

	if (value >= 0) {
		if (c->digits == DIGITS_MAX || c->left > INT64_MAX >> 4)
			return TRANSPORT_CHUNK_BROKEN;
		c->digits++;
		c->left = c->left << 4 | (unsigned)value;
		return TRANSPORT_CHUNK_SIZE;
	}
	if (c->digits == 0)
		return TRANSPORT_CHUNK_BROKEN;
	return after_size_end(c, byte);
}

static enum transport_chunk_state
after_trailer_char(struct transport_chunk *c, char byte)
{
	bool first = c->state == TRANSPORT_CHUNK_TRAILER;
	bool last = c->state == TRANSPORT_CHUNK_LAST_LF;

	c->trailer_bytes++;
	if (last || c->state == TRANSPORT_CHUNK_TRAILER_LF)
		return byte != '\n' ? TRANSPORT_CHUNK_BROKEN : last ?
		    TRANSPORT_CHUNK_ENDED : TRANSPORT_CHUNK_TRAILER;
	if (byte == '\r')
		return first ? TRANSPORT_CHUNK_LAST_LF :
		    TRANSPORT_CHUNK_TRAILER_LF;
	if (byte == '\n')
		return first ? TRANSPORT_CHUNK_ENDED : TRANSPORT_CHUNK_TRAILER;
	return TRANSPORT_CHUNK_TRAILER_LINE;
}

static enum transport_chunk_state
after_char(struct transport_chunk *c, char byte)
{
	switch (c->state) {
	case TRANSPORT_CHUNK_SIZE:
		return after_size_char(c, byte);
	case TRANSPORT_CHUNK_SIZE_BLANK:
		return after_size_end(c, byte);
	case TRANSPORT_CHUNK_EXTENSION:
		return byte == '\n' ? after_size_end(c, byte) :
		    TRANSPORT_CHUNK_EXTENSION;
	case TRANSPORT_CHUNK_DATA_END:
		c->digits = 0;
		return byte == '\n' ? TRANSPORT_CHUNK_SIZE : byte == '\r' ?
		    TRANSPORT_CHUNK_DATA_END : TRANSPORT_CHUNK_BROKEN;
	case TRANSPORT_CHUNK_TRAILER:
	case TRANSPORT_CHUNK_TRAILER_LINE:
	case TRANSPORT_CHUNK_TRAILER_LF:
	case TRANSPORT_CHUNK_LAST_LF:
		return after_trailer_char(c, byte);
	case TRANSPORT_CHUNK_DATA:
	case TRANSPORT_CHUNK_ENDED:
	case TRANSPORT_CHUNK_BROKEN:
		break;
	}
	return TRANSPORT_CHUNK_BROKEN;
}

size_t
transport_chunk_follow(struct transport_chunk *c, struct str bytes)
{
	size_t at = 0;

	while (at < bytes.n && c->state != TRANSPORT_CHUNK_ENDED &&
	    c->state != TRANSPORT_CHUNK_BROKEN) {
		if (c->state == TRANSPORT_CHUNK_DATA) {
			size_t n = (size_t)MIN(c->left, bytes.n - at);
			at += n;
			c->left -= n;
			if (c->left == 0)
				c->state = TRANSPORT_CHUNK_DATA_END;
			continue;
		}
		c->state = after_char(c, bytes.p[at]);
		if (c->state != TRANSPORT_CHUNK_BROKEN)
			at++;
	}
	return at;
}
