#include "doors/urlfrontier/item.h"

#include "base/text.h"
#include "wire/grpc/pb.h"

/* Field numbers. */
enum { ITEM_DISCOVERED = 1, ITEM_KNOWN = 2, ITEM_ID = 3, ITEM_CREATED = 4 };
enum { KIND_INFO = 1, KIND_DATE = 2 };
enum { INFO_URL = 1, INFO_KEY = 2, INFO_METADATA = 3, INFO_CRAWL = 4 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2, LIST_VALUES = 1 };
enum { BATCH_ID = 1, BATCH_ITEMS = 2 };
enum { ACK_ID = 1, ACK_STATUS = 2 };

/* ---- Reading ------------------------------------------------------------- */

/* Mostly it is ASCII, looked at eight bytes at a time. */
bool
item_is_text(struct str s)
{
	size_t at = 0;
	uint64_t eight, high = 0;

	for (; at + sizeof(eight) <= s.n; at += sizeof(eight)) {
		memcpy(&eight, s.p + at, sizeof(eight));
		high |= eight;
	}
	for (; at < s.n; at++)
		high |= (unsigned char)s.p[at];
	return (high & UINT64_C(0x8080808080808080)) == 0 || text_is_utf8(s);
}

/* What is kept as it came must be what everybody reads in the same way. */
static bool
is_text_field(const struct pb_field *f)
{
	return f->type == PB_BYTES && item_is_text(f->bytes);
}

/* StringList */
static bool
is_list(struct str message)
{
	struct reader r = reader_of(message);
	struct pb_field f;

	while (pb_next(&r, &f))
		if (f.number == LIST_VALUES && !is_text_field(&f))
			return false;
	return !r.bad;
}

/* map<string, StringList> */
static bool
is_entry(struct str message)
{
	struct reader r = reader_of(message);
	struct pb_field f;

	while (pb_next(&r, &f)) {
		if (f.number == ENTRY_KEY && !is_text_field(&f))
			return false;
		if (f.number == ENTRY_VALUE && (f.type != PB_BYTES ||
		    !is_list(f.bytes)))
			return false;
	}
	return !r.bad;
}

/* Entries stand together, but need not. */
static void
add_metadata(struct lease_item *out, struct str entry, struct arena *a)
{
	struct str *all = &out->metadata;

	if (all->n == 0) {
		*all = entry;
	} else if (all->p + all->n == entry.p) {
		all->n += entry.n;
	} else if (a != NULL) {
		char *p = arena_bytes(a, all->n + entry.n);
		memcpy(p, all->p, all->n);
		memcpy(p + all->n, entry.p, entry.n);
		*all = (struct str){ p, all->n + entry.n };
	}
}

/* Fields replace those that `out` has already, as protobuf merges messages. */
static bool
read_info(struct str message, struct arena *a, struct lease_item *out)
{
	struct reader r = reader_of(message);
	struct pb_field f;
	bool fine = true;

	for (;;) {
		const char *begin = r.p;
		if (!fine || !pb_next(&r, &f))
			return fine && !r.bad;
		if (f.type != PB_BYTES)
			continue;
		switch (f.number) {
		case INFO_URL:
			out->url = f.bytes;
			fine = item_is_text(f.bytes);
			break;
		case INFO_KEY:
			out->key = f.bytes;
			fine = item_is_text(f.bytes);
			break;
		case INFO_METADATA:
			fine = is_entry(f.bytes);
			add_metadata(out, (struct str){ begin,
			    (size_t)(r.p - begin) }, a);
			break;
		case INFO_CRAWL:
			out->crawl = f.bytes;
			fine = item_is_text(f.bytes);
			break;
		}
	}
}

bool
item_read_info(struct str info, struct arena *a, struct lease_item *out)
{
	*out = (struct lease_item){ .known = false };
	return read_info(info, a, out);
}

/* KnownURLItem, DiscoveredURLItem */
static bool
read_kind(struct str message, struct arena *a, struct lease_item *out)
{
	struct reader r = reader_of(message);
	struct pb_field f;

	while (pb_next(&r, &f)) {
		if (f.number == KIND_INFO && f.type == PB_BYTES) {
			if (!read_info(f.bytes, a, out))
				return false;
		} else if (f.number == KIND_DATE && f.type == PB_VARINT &&
		    out->known) {
			out->date_s = f.value;
		}
	}
	return !r.bad;
}

bool
item_read(struct str message, struct arena *a, struct lease_item *out,
    struct str *id)
{
	struct reader r = reader_of(message);
	struct pb_field f;
	uint64_t created = 0;
	bool fine = true;

	/* An item of neither kind is a known one without a URL. */
	*out = (struct lease_item){ .known = true };
	*id = STR("");
	while (fine && pb_next(&r, &f)) {
		if (f.number == ITEM_CREATED && f.type == PB_VARINT)
			created = f.value;
		if (f.type != PB_BYTES)
			continue;
		if (f.number == ITEM_DISCOVERED || f.number == ITEM_KNOWN) {
			bool known = f.number == ITEM_KNOWN;
			/* Of two kinds the last one counts. */
			if (out->known != known)
				*out = (struct lease_item){ .known = known };
			fine = read_kind(f.bytes, a, out);
		} else if (f.number == ITEM_ID) {
			*id = f.bytes;
			fine = item_is_text(f.bytes);
		}
	}
	out->created_s = created;
	return fine && !r.bad;
}

bool
item_check_batch(struct str message, struct str *id)
{
	struct reader r = reader_of(message);
	struct lease_item item;
	struct pb_field f;

	*id = STR("");
	while (pb_next(&r, &f)) {
		if (f.type != PB_BYTES)
			continue;
		if (f.number == BATCH_ID) {
			*id = f.bytes;
			if (!item_is_text(f.bytes))
				return false;
		} else if (f.number == BATCH_ITEMS &&
		    !item_read_info(f.bytes, NULL, &item)) {
			return false;
		}
	}
	return !r.bad;
}

bool
item_next(struct str *rest, struct str *info)
{
	struct reader r = reader_of(*rest);
	struct pb_field f;

	while (pb_next(&r, &f))
		if (f.number == BATCH_ITEMS && f.type == PB_BYTES) {
			*info = f.bytes;
			*rest = (struct str){ r.p, r.n };
			return true;
		}
	*rest = STR_NONE;
	return false;
}

bool
item_read_ack(struct str message, struct str *id, enum lease_status *out)
{
	struct reader r = reader_of(message);
	struct pb_field f;

	*id = STR("");
	*out = LEASE_OK;
	while (pb_next(&r, &f)) {
		if (f.number == ACK_ID && f.type == PB_BYTES)
			*id = f.bytes;
		else if (f.number == ACK_STATUS && f.type == PB_VARINT)
			*out = f.value < LEASE_FAIL ?
			    (enum lease_status)f.value : LEASE_FAIL;
	}
	return !r.bad;
}

/* ---- Writing ------------------------------------------------------------- */

static size_t
varint_size(uint64_t v)
{
	size_t n = 1;

	for (; v >= 0x80; v >>= 7)
		n++;
	return n;
}

static char *
write_varint(char *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*p++ = (char)(v | 0x80);
	*p++ = (char)v;
	return p;
}

static char *
write_tag(char *p, uint32_t number, enum pb_type type)
{
	/* All of ours are below 16. */
	*p++ = (char)(number << 3 | type);
	return p;
}

/* A field of n bytes; one that is empty is not written. */
static size_t
bytes_size(size_t n)
{
	return n == 0 ? 0 : 1 + varint_size(n) + n;
}

static char *
write_bytes(char *p, uint32_t number, struct str s)
{
	if (s.n == 0)
		return p;
	p = write_varint(write_tag(p, number, PB_BYTES), s.n);
	memcpy(p, s.p, s.n);
	return p + s.n;
}

static size_t
number_size(uint64_t v)
{
	return v == 0 ? 0 : 1 + varint_size(v);
}

static char *
write_number(char *p, uint32_t number, uint64_t v)
{
	return v == 0 ? p : write_varint(write_tag(p, number, PB_VARINT), v);
}

/* The head of a message in a message, which may be empty. */
static char *
write_head(char *p, uint32_t number, size_t n)
{
	return write_varint(write_tag(p, number, PB_BYTES), n);
}

size_t
item_info_size(const struct item_info *i)
{
	return bytes_size(i->url.n) + bytes_size(i->key.n) + i->metadata.n +
	    bytes_size(i->crawl.n);
}

char *
item_info_write(char *p, const struct item_info *i)
{
	p = write_bytes(p, INFO_URL, i->url);
	p = write_bytes(p, INFO_KEY, i->key);
	if (i->metadata.n > 0)
		memcpy(p, i->metadata.p, i->metadata.n);
	return write_bytes(p + i->metadata.n, INFO_CRAWL, i->crawl);
}

static size_t
kind_size(const struct item_info *i, uint64_t date_s)
{
	size_t info = item_info_size(i);

	return 1 + varint_size(info) + info + number_size(date_s);
}

static char *
write_kind(char *p, uint32_t number, const struct item_info *i,
    uint64_t date_s)
{
	p = write_head(p, number, kind_size(i, date_s));
	p = write_head(p, KIND_INFO, item_info_size(i));
	p = item_info_write(p, i);
	return write_number(p, KIND_DATE, date_s);
}

size_t
item_known_size(const struct item_info *i, uint64_t date_s,
    uint64_t created_s)
{
	size_t kind = kind_size(i, date_s);

	return 1 + varint_size(kind) + kind + number_size(created_s);
}

char *
item_known_write(char *p, const struct item_info *i, uint64_t date_s,
    uint64_t created_s)
{
	p = write_kind(p, ITEM_KNOWN, i, date_s);
	return write_number(p, ITEM_CREATED, created_s);
}

static struct item_info
info_of(const struct lease_item *i)
{
	return (struct item_info){ .url = i->url, .key = i->key,
	    .metadata = i->metadata, .crawl = i->crawl };
}

/* Who does not keep it would not look at it. */
static uint64_t
created_of(const struct lease_item *i)
{
	return i->keep_created ? i->created_s : 0;
}

size_t
item_put_size(const struct lease_item *i, struct str id)
{
	struct item_info info = info_of(i);

	return item_known_size(&info, i->date_s, created_of(i)) +
	    bytes_size(id.n);
}

char *
item_put_write(char *p, const struct lease_item *i, struct str id)
{
	struct item_info info = info_of(i);

	p = write_kind(p, i->known ? ITEM_KNOWN : ITEM_DISCOVERED, &info,
	    i->date_s);
	return write_number(write_bytes(p, ITEM_ID, id), ITEM_CREATED,
	    created_of(i));
}

size_t
item_ack_size(struct str id, enum lease_status s)
{
	return bytes_size(id.n) + number_size(s);
}

char *
item_ack_write(char *p, struct str id, enum lease_status s)
{
	return write_number(write_bytes(p, ACK_ID, id), ACK_STATUS, s);
}

size_t
item_batch_ack_size(struct str id, struct str statuses)
{
	return bytes_size(id.n) + bytes_size(statuses.n);
}

char *
item_batch_ack_write(char *p, struct str id, struct str statuses)
{
	return write_bytes(write_bytes(p, ACK_ID, id), ACK_STATUS, statuses);
}
