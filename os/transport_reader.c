#include "os/transport_reader.h"

#define HEAD_KEPT_MAX 65536          /* memory of a head kept for the next */
#define KEEP_ALIVE_S_MAX 86400u

static void
begin_head(struct transport_reader *r)
{
	r->state = TRANSPORT_READER_HEAD;
	buf_clear(&r->head);
	r->status = 0;
	r->line_at = r->lines_n = 0;
	r->may_keep = true;
	r->keep_alive_s = -1;
	r->chunked = r->coded = r->in_framing = r->has_length = false;
	r->length = 0;
}

void
transport_reader_begin(struct transport_reader *r, size_t head_bytes_max,
    bool is_head, bool may_upgrade)
{
	if (r->head.cap > HEAD_KEPT_MAX)
		buf_free(&r->head);
	begin_head(r);
	r->version = 0;
	r->head_bytes_max = head_bytes_max != 0 ? head_bytes_max :
	    TRANSPORT_HEAD_BYTES_MAX;
	r->is_head = is_head;
	r->may_upgrade = may_upgrade;
	r->wrong = NULL;
	r->too_large = false;
	r->head_bytes = 0;
	r->left = 0;
	r->chunk = (struct transport_chunk){ .digits = 0 };
}

void
transport_reader_free(struct transport_reader *r)
{
	buf_free(&r->head);
}

static bool
refuse_answer(struct transport_reader *r, const char *text)
{
	if (r->wrong == NULL)
		r->wrong = text;
	r->state = TRANSPORT_READER_WRONG;
	return false;
}

static bool
count_head(struct transport_reader *r, size_t n)
{
	r->head_bytes += n;
	if (r->head_bytes <= r->head_bytes_max)
		return true;
	r->too_large = true;
	return refuse_answer(r, "the head is too large");
}

/* ---- The first line ----------------------------------------------------- */

/* The line may still become "HTTP/", in small letters too. */
static bool
may_be_http(struct str line)
{
	struct str prefix = STR("HTTP/");

	return str_starts_nocase(prefix, str_cut(line, 0, prefix.n));
}

/*
 * "1.1" is 11.  "2" and "2.0" come from servers that copy the answer of another
 * one; what follows is HTTP/1.1 all the same.
 */
static int
version_of(struct str s)
{
	static const struct {
		const char *text;
		int version;
	} versions[] = {
		{ "1.1", 11 }, { "1.0", 10 }, { "2", 20 }, { "2.0", 20 },
		{ "3", 20 }, { "3.0", 20 },
	};
	size_t i = STR_ROW(s, versions);

	return i < ARRAY_LEN(versions) ? versions[i].version : 0;
}

static int
status_of(struct str s)
{
	int status = 0;

	for (size_t i = 0; i < 3; i++) {
		if (i == s.n || !ascii_is_digit(s.p[i]))
			return 0;
		status = 10 * status + (s.p[i] - '0');
	}
	return s.n > 3 && ascii_is_digit(s.p[3]) ? 0 : status;
}

/* The archive's readers know HTTP/1: such a line is written in its words. */
static void
call_it_http11(struct transport_reader *r, struct str after_version)
{
	size_t n = after_version.n;
	FREED(buf_free) struct buf copy = BUF_INIT;

	buf_put_str(&copy, after_version);
	buf_clear(&r->head);
	buf_put_str(&r->head, STR("HTTP/1.1"));
	buf_put(&r->head, copy.p, n);
}

static bool
read_status_line(struct transport_reader *r, struct str line)
{
	size_t at = str_find_char(line, ' ');
	struct str rest = str_from(line, at);
	int version = version_of(str_cut(line, 5, at));

	if (version == 0)
		return refuse_answer(r,
		    "the answer's version of HTTP is unknown");
	while (rest.n > 0 && rest.p[0] == ' ')
		rest = str_from(rest, 1);
	r->status = status_of(rest);
	if (r->status < 100)
		return refuse_answer(r, "the answer has no status");
	r->version = MIN(version, 11);
	r->may_keep = version == 11;
	if (version > 11)
		call_it_http11(r, str_from(line, at));
	return true;
}

/* ---- Headers ------------------------------------------------------------ */

/* Without the blanks that RFC 9110 §5.6.3 allows, and no others. */
static struct str
trim_blanks(struct str s)
{
	while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
		s = str_from(s, 1);
	while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

/* A header line's value, its line end cut off. */
static struct str
value_of(struct str line, size_t name_n)
{
	struct str value = str_from(line, name_n);

	if (value.n > 0 && value.p[value.n - 1] == '\n')
		value.n--;
	if (value.n > 0 && value.p[value.n - 1] == '\r')
		value.n--;
	return trim_blanks(value);
}

/*
 * A value that is not a number is an error, and so are two lengths that differ.
 * The same number several times is that number (RFC 9112 §6.3).
 */
static bool
read_length(struct transport_reader *r, struct str value)
{
	bool more = true;

	while (more) {
		size_t comma = str_find_char(value, ',');
		uint64_t length;
		more = comma < value.n;
		if (!str_to_u64(trim_blanks(str_cut(value, 0, comma)),
		    &length) || length > INT64_MAX)
			return refuse_answer(r, "a malformed Content-Length");
		if (r->has_length && length != r->length)
			return refuse_answer(r, "two different Content-Length");
		r->has_length = true;
		r->length = length;
		value = str_from(value, comma + 1);
	}
	return true;
}

static bool
has_chunked(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (str_starts_nocase(str_from(s, i), STR("chunked")))
			return true;
	return false;
}

/*
 * "chunked" is the last coding and occurs once (RFC 9112 §6.1).  A coding that
 * is almost "chunked" is an error, since other readers would take it for that.
 */
static bool
read_codings(struct transport_reader *r, struct str value)
{
	struct str coding;

	r->coded = true;
	while (str_split(&value, ',', &coding)) {
		coding = trim_blanks(coding);
		if (coding.n == 0)
			continue;
		if (r->chunked)
			return refuse_answer(r,
			    "chunked is not the last transfer coding");
		if (str_eq_nocase(coding, STR("chunked")))
			r->chunked = true;
		else if (has_chunked(coding))
			return refuse_answer(r, "a malformed transfer coding");
	}
	return true;
}

static void
read_connection(struct transport_reader *r, struct str value)
{
	struct str option;

	while (str_split(&value, ',', &option))
		if (str_eq_nocase(trim_blanks(option), STR("close")))
			r->may_keep = false;
}

/* "timeout=5, max=100" (RFC 2068 §19.7.1.1); the last one of several counts. */
static void
read_keep_alive(struct transport_reader *r, struct str value)
{
	static const struct str timeout = { "timeout=", 8 };
	struct str part;
	uint64_t s;

	while (str_split(&value, ',', &part)) {
		part = trim_blanks(part);
		if (str_starts_nocase(part, timeout) &&
		    str_to_u64(str_from(part, timeout.n), &s))
			r->keep_alive_s = (int64_t)MIN(s, KEEP_ALIVE_S_MAX);
	}
}

/* A CR before the line's end: a line end for some, not for others. */
static bool
has_bare_cr(struct str line)
{
	return line.n > 2 && memchr(line.p, '\r', line.n - 2) != NULL;
}

/* The headers that say where the answer ends; first letters tell most apart. */
static bool
read_known(struct transport_reader *r, struct str line)
{
	static const struct str length = { "content-length:", 15 };
	static const struct str coding = { "transfer-encoding:", 18 };
	static const struct str connection = { "connection:", 11 };
	static const struct str proxy = { "proxy-connection:", 17 };
	static const struct str keep_alive = { "keep-alive:", 11 };
	char first = ascii_lower(line.p[0]);

	if (first == 'c' && str_starts_nocase(line, connection))
		read_connection(r, value_of(line, connection.n));
	else if (first == 'p' && str_starts_nocase(line, proxy))
		read_connection(r, value_of(line, proxy.n));
	else if (first == 'k' && str_starts_nocase(line, keep_alive))
		read_keep_alive(r, value_of(line, keep_alive.n));
	if (first == 'c' && r->status >= 200 &&
	    str_starts_nocase(line, length)) {
		r->in_framing = true;
		return read_length(r, value_of(line, length.n));
	}
	if (first != 't' || !str_starts_nocase(line, coding))
		return true;
	r->in_framing = true;
	return read_codings(r, value_of(line, coding.n));
}

/* Before a CR, which ends the line for some. */
static bool
has_colon(struct str line)
{
	line = str_cut(line, 0, str_find_char(line, '\r'));
	return memchr(line.p, ':', line.n) != NULL;
}

static bool
read_header(struct transport_reader *r, struct str line)
{
	bool folded = line.p[0] == ' ' || line.p[0] == '\t';

	if (folded && r->in_framing)
		return refuse_answer(r, "a folded header tells the length");
	r->in_framing = false;
	if ((!folded || r->lines_n == 2) && !r->may_upgrade &&
	    !has_colon(line))
		return refuse_answer(r, "a header line without a colon");
	if (has_bare_cr(line))
		r->may_keep = false;
	return read_known(r, line);
}

/* ---- The head's end ----------------------------------------------------- */

/*
 * The head can be read in two ways, or announces a body where none may follow:
 * what comes next is not certain to be the next answer.
 */
static bool
is_framing_doubtful(const struct transport_reader *r)
{
	bool announced = r->coded || (r->has_length && r->length > 0);

	return (r->coded && r->has_length) || (announced &&
	    (r->status == 204 || r->status == 304));
}

/* RFC 9112 §6.3 */
static enum transport_reader_state
body_of(const struct transport_reader *r)
{
	if (r->status == 101)
		return TRANSPORT_READER_TUNNEL;
	if (r->is_head || r->status == 204 || r->status == 304)
		return TRANSPORT_READER_ENDED;
	if (r->chunked)
		return TRANSPORT_READER_CHUNKS;
	if (r->coded || !r->has_length)
		return TRANSPORT_READER_REST;
	return r->length == 0 ? TRANSPORT_READER_ENDED :
	    TRANSPORT_READER_LENGTH;
}

/* True: it is the final one. */
static bool
end_head(struct transport_reader *r, struct str line)
{
	if (line.n > 2 || line.p[line.n - 1] != '\n')
		r->may_keep = false;
	if (r->status == 101 && !r->may_upgrade)
		return refuse_answer(r, "an upgrade nobody asked for");
	if (r->status < 200 && r->status != 101) {
		begin_head(r);
		return false;
	}
	r->left = r->length;
	r->state = body_of(r);
	r->may_keep = r->may_keep && !is_framing_doubtful(r) &&
	    r->state != TRANSPORT_READER_REST &&
	    r->state != TRANSPORT_READER_TUNNEL;
	return true;
}

/* True: the final head is whole. */
static bool
take_line(struct transport_reader *r, struct str line)
{
	r->lines_n++;
	if (memchr(line.p, '\0', line.n) != NULL)
		return refuse_answer(r, "a NUL byte in the head");
	if (r->lines_n == 1) {
		(void)read_status_line(r, line);
		return false;
	}
	if (line.p[0] == '\r' || line.p[0] == '\n')
		return end_head(r, line);
	(void)read_header(r, line);
	return false;
}

static enum transport_read
next_of_head(struct transport_reader *r, struct str *bytes)
{
	while (r->state == TRANSPORT_READER_HEAD && bytes->n > 0) {
		size_t lf = str_find_char(*bytes, '\n');
		size_t n = lf < bytes->n ? lf + 1 : lf;
		buf_put(&r->head, bytes->p, n);
		bool whole = lf < bytes->n;
		*bytes = str_from(*bytes, n);
		struct str line = str_from(buf_str(&r->head), r->line_at);
		if (!count_head(r, n))
			break;
		if (r->lines_n == 0 && !may_be_http(line)) {
			(void)refuse_answer(r, "the answer is not HTTP");
			break;
		}
		if (whole && take_line(r, line))
			return TRANSPORT_READ_HEAD;
		if (whole)
			r->line_at = r->head.n;
	}
	return r->state == TRANSPORT_READER_WRONG ? TRANSPORT_READ_WRONG :
	    TRANSPORT_READ_MORE;
}

/* ---- The body ----------------------------------------------------------- */

static enum transport_read
next_by_length(struct transport_reader *r, struct str *bytes, struct str *part)
{
	size_t n = (size_t)MIN(r->left, bytes->n);

	*part = str_cut(*bytes, 0, n);
	*bytes = str_from(*bytes, n);
	r->left -= n;
	if (r->left == 0)
		r->state = TRANSPORT_READER_ENDED;
	return TRANSPORT_READ_BODY;
}

/* Once the framing is broken, all bytes that came are handed on. */
static enum transport_read
next_of_chunks(struct transport_reader *r, struct str *bytes, struct str *part)
{
	size_t trailer_before = r->chunk.trailer_bytes;
	size_t n = transport_chunk_follow(&r->chunk, *bytes);

	if (r->chunk.state == TRANSPORT_CHUNK_BROKEN) {
		n = bytes->n;
		(void)refuse_answer(r, "the chunked framing is broken");
	} else if (r->chunk.state == TRANSPORT_CHUNK_ENDED) {
		r->state = TRANSPORT_READER_ENDED;
	}
	(void)count_head(r, r->chunk.trailer_bytes - trailer_before);
	*part = str_cut(*bytes, 0, n);
	*bytes = str_from(*bytes, n);
	return TRANSPORT_READ_BODY;
}

enum transport_read
transport_reader_next(struct transport_reader *r, struct str *bytes,
    struct str *part)
{
	switch (r->state) {
	case TRANSPORT_READER_ENDED:
		return TRANSPORT_READ_END;
	case TRANSPORT_READER_WRONG:
		return TRANSPORT_READ_WRONG;
	case TRANSPORT_READER_HEAD:
		return next_of_head(r, bytes);
	case TRANSPORT_READER_LENGTH:
		return bytes->n == 0 ? TRANSPORT_READ_MORE :
		    next_by_length(r, bytes, part);
	case TRANSPORT_READER_CHUNKS:
		return bytes->n == 0 ? TRANSPORT_READ_MORE :
		    next_of_chunks(r, bytes, part);
	case TRANSPORT_READER_REST:
	case TRANSPORT_READER_TUNNEL:
		break;
	}
	*part = *bytes;
	*bytes = STR_NONE;
	return part->n == 0 ? TRANSPORT_READ_MORE : TRANSPORT_READ_BODY;
}

bool
transport_reader_ends_at_close(const struct transport_reader *r)
{
	return r->state == TRANSPORT_READER_REST ||
	    r->state == TRANSPORT_READER_TUNNEL;
}

const char *
transport_reader_cut_text(const struct transport_reader *r)
{
	switch (r->state) {
	case TRANSPORT_READER_HEAD:
		return r->head_bytes == 0 ? "closed without an answer" :
		    "cut before the end of the head";
	case TRANSPORT_READER_CHUNKS:
		return "cut before the last chunk";
	case TRANSPORT_READER_LENGTH:
		return "cut before the end of the body";
	case TRANSPORT_READER_REST:
	case TRANSPORT_READER_TUNNEL:
	case TRANSPORT_READER_ENDED:
	case TRANSPORT_READER_WRONG:
		break;
	}
	return "the connection was cut";
}

struct str
transport_reader_head_received(const struct transport_reader *r)
{
	return r->status < 200 ? STR_NONE :
	    str_cut(buf_str(&r->head), 0, r->line_at);
}
