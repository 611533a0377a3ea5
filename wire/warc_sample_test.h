/*
 * warc_sample_test -- what the tests of WARC reading and writing share: small
 * exchanges, and a file that is a buffer.
 */
#ifndef WIRE_WARC_SAMPLE_TEST_H
#define WIRE_WARC_SAMPLE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/suite.h"
#include "wire/unpack.h"
#include "wire/warc.h"

#define SAMPLE_INFO STR("01234567-89ab-4def-8123-456789abcdef")
#define SAMPLE_DATE ((struct wall){ INT64_C(1793176696123456) })

/* Not random: tests must repeat. */
static inline void
sample_random(void *p, size_t n)
{
	static unsigned char next = 7;
	unsigned char *b = p;

	while (n-- > 0)
		*b++ = next += 13;
}

static inline struct warc_writer *
sample_writer(int level, const struct redactor *r)
{
	struct warc_options o = { level, DIGEST_SHA1, r, sample_random };

	return warc_writer_new(&o);
}

/* Exchange `i` of crawl 7; `body` must outlive it. */
static inline struct warc_exchange
sample_exchange(const struct str *body, const struct warc_capture *capture)
{
	return (struct warc_exchange){
		.target_uri = STR("http://example.org/a?b=c"),
		.date = SAMPLE_DATE,
		.ip = STR("192.0.2.1"),
		.request = STR("GET /a?b=c HTTP/1.1\r\nHost: example.org\r\n"
		    "User-Agent: argiope\r\n\r\n"),
		.response_head = STR("HTTP/1.1 200 OK\r\n"
		    "Content-Type: text/html; charset=utf-8\r\n\r\n"),
		.body = body, .body_n = 1,
		.capture = capture, .warcinfo_id = SAMPLE_INFO,
	};
}

static inline struct warc_capture
sample_capture(uint32_t hop)
{
	return (struct warc_capture){ 7, hop, 2, SAMPLE_DATE, 4321,
		STR("http://example.org/a?b=c") };
}

static inline enum err
sample_read(void *arg, uint64_t at, void *p, size_t n, size_t *got)
{
	const struct str *s = arg;
	struct str part = at > s->n ? STR_NONE :
	    str_cut(*s, (size_t)at, n > s->n - at ? s->n : (size_t)at + n);

	if (part.n > 0)
		memcpy(p, part.p, part.n);
	*got = part.n;
	return OK;
}

static inline struct unpack_source
sample_source(struct str *bytes)
{
	return (struct unpack_source){ sample_read, bytes };
}

/* A suite's file in `out`; skips the test where it is not. */
static inline void
sample_suite(const char *name, struct buf *out)
{
	FILE *f = fopen(suite_path(name), "rb");
	char piece[4096];
	size_t n;

	if (f == NULL) {
		print_message("%s is not here\n", name);
		skip();
	}
	buf_clear(out);
	while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
		buf_put(out, piece, n);
	fclose(f);
}

#endif
