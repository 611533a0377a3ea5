#include "server/web_own.h"

#include <libdeflate.h>

#include "wire/digest.h"

/* Level 12 would take six times as long at each start, for 2 % fewer bytes. */
#define LEVEL 9
#define TAG_BYTES 48u

struct web_text {
	char *type;
	struct str bytes, packed;    /* packed.n == 0: it does not pay */
	char tag[TAG_BYTES], packed_tag[TAG_BYTES];
};

/* RFC 9110 §8.8.3: strong, so each coding has one of its own. */
static void
make_tags(struct web_text *t)
{
	struct digest d;
	struct buf hex = BUF_INIT;

	digest_of(DIGEST_SHA256, t->bytes, &d);
	digest_put_hex(&hex, d.bytes, 16);
	snprintf(t->tag, sizeof(t->tag), "\"%s\"", buf_text(&hex));
	snprintf(t->packed_tag, sizeof(t->packed_tag), "\"%s-gz\"",
	    buf_text(&hex));
	buf_free(&hex);
}

static void
pack(struct web_text *t)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(LEVEL);
	size_t room = t->bytes.n - t->bytes.n / 10;
	char *p = mem_new(room + 1);

	CHECK(c != NULL);
	t->packed.p = p;
	t->packed.n = libdeflate_gzip_compress(c, t->bytes.p, t->bytes.n, p,
	    room);
	libdeflate_free_compressor(c);
}

struct web_text *
web_text_new(const char *content_type, struct str bytes)
{
	struct web_text *t = mem_new(sizeof(*t));

	t->type = mem_copy_text(content_type);
	t->bytes = bytes;
	make_tags(t);
	pack(t);
	return t;
}

void
web_text_free(struct web_text **tp)
{
	struct web_text *t = *tp;

	if (t == NULL)
		return;
	free((void *)(uintptr_t)t->packed.p);
	mem_free(&t->type);
	mem_free(tp);
}

/* ";q=0", ";q=0.0" and their like, among the parameters. */
static bool
is_refused(struct str parameters)
{
	struct str part;
	double q;

	while (str_split(&parameters, ';', &part)) {
		part = str_trim(part);
		if (str_starts_nocase(part, STR("q=")) &&
		    str_to_double(str_from(part, 2), &q))
			return q <= 0;
	}
	return false;
}

/* RFC 9110 §12.5.3: what is named counts before what "*" says. */
static bool
takes_gzip(struct web_request *r)
{
	struct str all, part;
	bool any = false;

	if (!web_field(r, "accept-encoding", &all))
		return false;
	while (str_split(&all, ',', &part)) {
		size_t end = str_find_char(part, ';');
		struct str name = str_trim(str_cut(part, 0, end));
		bool wanted = !is_refused(str_from(part, end + 1));
		if (str_eq_nocase(name, STR("gzip")))
			return wanted;
		if (str_eq(name, STR("*")))
			any = wanted;
	}
	return any;
}

/* Whether If-None-Match names it. */
static bool
tag_matches(struct web_request *r, const char *tag)
{
	struct str all, part;

	if (!web_field(r, "if-none-match", &all))
		return false;
	while (str_split(&all, ',', &part)) {
		part = str_trim(part);
		/* Weak comparison, RFC 9110 §13.1.2. */
		if (str_starts(part, STR("W/")))
			part = str_from(part, 2);
		if (str_eq(part, STR("*")) || str_eq(part, str_of(tag)))
			return true;
	}
	return false;
}

void
web_answer_text(struct web_request *r, const struct web_text *t)
{
	bool packed = t->packed.n > 0 && takes_gzip(r);
	const char *tag = packed ? t->packed_tag : t->tag;

	web_add_default(r, "cache-control", "no-cache");
	web_add_field(r, "etag", tag);
	if (t->packed.n > 0)
		web_add_field(r, "vary", "accept-encoding");
	if (tag_matches(r, tag)) {
		web_answer(r, 304, NULL, STR(""));
		return;
	}
	if (packed)
		web_add_field(r, "content-encoding", "gzip");
	r->lasting = true;
	web_answer(r, 200, t->type, packed ? t->packed : t->bytes);
}
