#include "doors/realtime/sync.h"

#include "wire/base64.h"

#define LOG_SUFFIX STR(".log")
#define PLAIN_TOKEN_MAX 96

void
sync_put(struct buf *out, enum sync_kind kind, uint64_t number,
    uint32_t crawl, const char *mark)
{
	char plain[PLAIN_TOKEN_MAX];
	size_t at = out->n;

	/* The plain text is built in `out` first. */
	buf_put_decimal(out, number, 1);
	buf_put_char(out, '.');
	buf_put_decimal(out, crawl, 1);
	buf_put_char(out, '.');
	buf_put_text(out, mark);
	if (kind == SYNC_LOG)
		buf_put_str(out, LOG_SUFFIX);
	size_t n = out->n - at;
	CHECK(n <= sizeof(plain));
	memcpy(plain, out->p + at, n);
	out->n = at;
	base64_put(out, (struct str){ plain, n });
}

/* Checks what follows the number: crawl, mark, kind. */
static enum sync_fault
read_rest(struct str rest, enum sync_kind kind, uint32_t crawl,
    struct str mark)
{
	bool log = str_ends(rest, LOG_SUFFIX);
	uint64_t number;
	struct str part;

	if (log)
		rest.n -= LOG_SUFFIX.n;
	if (!str_split(&rest, '.', &part) || !str_to_u64(part, &number) ||
	    rest.p == NULL || rest.n == 0)
		return SYNC_MALFORMED;
	if (!str_eq(rest, mark))
		return SYNC_OTHER_STORE;
	if (log != (kind == SYNC_LOG))
		return SYNC_OTHER_KIND;
	return number == crawl ? SYNC_FINE : SYNC_OTHER_CRAWL;
}

static enum sync_fault
read_text(struct str text, enum sync_kind kind, uint32_t crawl,
    struct str mark, uint64_t *number)
{
	bool dotted = str_find_char(text, '.') < text.n;
	struct str part;

	if (!str_split(&text, '.', &part) || !str_to_u64(part, number))
		return SYNC_MALFORMED;
	if (dotted)
		return read_rest(text, kind, crawl, mark);
	/* The bare form is for items only. */
	return kind == SYNC_ITEM ? SYNC_FINE : SYNC_OTHER_KIND;
}

enum sync_fault
sync_read(struct str token, enum sync_kind kind, uint32_t crawl,
    const char *mark, uint64_t last, uint64_t *number)
{
	enum sync_fault fault = SYNC_MALFORMED;
	FREED(buf_free) struct buf text = BUF_INIT;

	*number = 0;
	if (token.n == 0)
		return SYNC_FINE;
	if (token.n <= SYNC_TOKEN_BYTES_MAX && base64_read(&text, token))
		fault = read_text(buf_str(&text), kind, crawl, str_of(mark),
		    number);
	if (fault == SYNC_FINE && *number > last)
		fault = SYNC_PAST_END;
	return fault;
}

const char *
sync_fault_text(enum sync_fault fault)
{
	switch (fault) {
	case SYNC_FINE:
		return "The sync token is fine.";
	case SYNC_OTHER_KIND:
		return "The sync token is of another kind of subscription: "
		    "those of items and of logs do not mix.";
	case SYNC_OTHER_CRAWL:
		return "The sync token belongs to another crawl.";
	case SYNC_OTHER_STORE:
		return "The sync token belongs to another store.";
	case SYNC_PAST_END:
		return "The sync token lies past the end: the crawl has not "
		    "come so far.";
	case SYNC_MALFORMED:
		break;
	}
	return "The sync token is malformed.";
}
