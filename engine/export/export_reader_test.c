/* From records to items: bodies, lines, damage. */
#include <zlib.h>

#include "engine/export/export_reader.h"
#include "engine/export/export_testing.h"

struct seen {
	struct buf text;        /* ids, faults in brackets, a blank behind */
	struct export_reader *reader;
	enum err answer;        /* of the item event */
};

static const struct connector_items *
choose(void *arg, struct str uri, struct str content_type, bool resource)
{
	static const char *const types[] = { "twitter_search",
		"twitter_filter", "mastodon_stream", "bluesky_jetstream" };

	(void)arg;
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		const struct connector_items *items =
		    item_type_find(str_of(types[i]));
		if (items->recognises(uri, content_type) &&
		    (items->in_resources || !resource))
			return items;
	}
	return NULL;
}

static enum err
on_item(void *arg, const struct item *item, struct why *w)
{
	struct seen *s = arg;

	buf_put_str(&s->text, item->id);
	buf_put_char(&s->text, ' ');
	return s->answer == OK ? OK : why(w, s->answer, "enough");
}

static void
on_fault(void *arg, struct str what)
{
	struct seen *s = arg;

	buf_printf(&s->text, "[%.*s] ", STR_FMT(what));
}

static void
on_description(void *arg, struct str text)
{
	struct seen *s = arg;

	buf_printf(&s->text, "{%.*s} ", STR_FMT(text));
}

static const struct export_reader_events events = { choose, on_item,
	on_fault, on_description, NULL };

/* What is found in a file of these bytes. */
static const char *
read_bytes_of(struct testing_dir *d, struct str bytes)
{
	struct seen s = { .answer = OK };
	struct archive_file file = { .path = testing_path(d, "a.warc"),
		.name = STR("a.warc"), .size = bytes.n };

	testing_write(d, "a.warc", bytes);
	s.reader = export_reader_new(&events, &s);
	assert_int_equal(export_reader_read(s.reader, &file, NULL), OK);
	export_reader_free(&s.reader);
	const char *text = arena_copy(&d->arena, buf_str(&s.text)).p;
	buf_free(&s.text);
	return text;
}

static void
records_are_chosen(void **state)
{
	struct testing_dir d;
	struct buf b = BUF_INIT;

	(void)state;
	testing_dir_make(&d);
	testing_page(&b, 1, 3);
	testing_answer(&b, "https://api.twitter.com/1.1/users/show.json", 200,
	    "", STR("{\"id_str\":\"99\"}"));
	testing_answer(&b, TESTING_SEARCH, 503, "", STR("<html>over"));
	testing_answer(&b, TESTING_SEARCH, 200, "", STR(""));
	testing_answer(&b, TESTING_SEARCH, 200, "", STR("<html>what"));
	testing_record(&b, "request", TESTING_SEARCH, STR("GET / HTTP/1.1"));
	testing_record(&b, "response", TESTING_SEARCH, STR("no HTTP"));
	testing_page(&b, 4, 4);
	assert_string_equal(read_bytes_of(&d, buf_str(&b)),
	    "1 2 3 [a body that is no JSON] 4 ");
	buf_free(&b);
	testing_dir_remove(&d);
}

static void
pack(struct str body, struct buf *out)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)body.p,
		.avail_in = (uInt)body.n };
	size_t before = out->n;

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8,
	    Z_DEFAULT_STRATEGY), Z_OK);
	z.avail_out = (uInt)deflateBound(&z, body.n);
	z.next_out = buf_grow(out, z.avail_out);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	out->n = before + z.total_out;
	deflateEnd(&z);
}

/* gzip, in chunks of `step` bytes. */
static void
pack_chunks(struct str body, size_t step, struct buf *out)
{
	struct buf packed = BUF_INIT;

	pack(body, &packed);
	for (size_t at = 0; at < packed.n; at += step) {
		struct str piece = str_cut(buf_str(&packed), at, at + step);
		buf_printf(out, "%zx\r\n", piece.n);
		buf_put_str(out, piece);
		buf_put_text(out, "\r\n");
	}
	buf_put_text(out, "0\r\n\r\n");
	buf_free(&packed);
}

#define PACKED "Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n"

static void
lines_are_found_in_pieces(void **state)
{
	struct testing_dir d;
	struct buf b = BUF_INIT, body = BUF_INIT, packed = BUF_INIT, want =
	    BUF_INIT;

	(void)state;
	testing_dir_make(&d);
	for (int i = 1; i <= 2000; i++) {
		testing_tweet(&body, i, 1, 2);
		buf_put_text(&body, i % 3 == 0 ? "\n" : "\r\n\r\n");
		buf_printf(&want, "%d ", i);
	}
	pack_chunks(buf_str(&body), 97, &packed);
	testing_answer(&b, TESTING_FILTER, 200, PACKED, buf_str(&packed));
	assert_string_equal(read_bytes_of(&d, buf_str(&b)), buf_text(&want));
	/* The same as a document. */
	buf_clear(&packed);
	buf_clear(&body);
	buf_put_text(&body, "{\"statuses\":[");
	testing_tweet(&body, 7, 1, 2);
	buf_put_text(&body, "]}");
	pack_chunks(buf_str(&body), 11, &packed);
	buf_clear(&b);
	testing_answer(&b, TESTING_SEARCH, 200, PACKED, buf_str(&packed));
	assert_string_equal(read_bytes_of(&d, buf_str(&b)), "7 ");
	buf_free(&b);
	buf_free(&body);
	buf_free(&packed);
	buf_free(&want);
	testing_dir_remove(&d);
}

static void
damage_costs_a_line_or_a_record(void **state)
{
	struct testing_dir d;
	struct buf b = BUF_INIT, body = BUF_INIT, packed = BUF_INIT;

	(void)state;
	testing_dir_make(&d);
	for (int i = 1; i <= 3; i++) {
		testing_tweet(&body, i, 1, 2);
		buf_put_text(&body, i == 2 ? "\n{\"broken\": \n" : "\r\n");
	}
	testing_answer(&b, TESTING_FILTER, 200, "", buf_str(&body));
	assert_string_equal(read_bytes_of(&d, buf_str(&b)),
	    "1 2 [a line that is no JSON] 3 ");
	/* The last line is cut with the record: one fault. */
	pack(str_cut(buf_str(&b), 0, b.n - 20), &packed);
	assert_string_equal(read_bytes_of(&d, buf_str(&packed)),
	    "1 2 [a line that is no JSON] [the record ends before its end] ");
	/* The record is whole, the body is not. */
	buf_clear(&packed);
	buf_clear(&b);
	pack_chunks(buf_str(&body), 16, &packed);
	testing_answer(&b, TESTING_FILTER, 200, PACKED,
	    str_cut(buf_str(&packed), 0, packed.n - 30));
	testing_page(&b, 8, 9);
	assert_non_null(strstr(read_bytes_of(&d, buf_str(&b)),
	    "[a body that ends before its end] 8 9 "));
	/* A stream says that it ended with its connection. */
	struct str rest = str_from(buf_str(&b), strlen("WARC/1.0\r\n"));
	buf_clear(&body);
	buf_put_text(&body, "WARC/1.0\r\nWARC-Truncated: disconnect\r\n");
	buf_put_str(&body, rest);
	const char *read = read_bytes_of(&d, buf_str(&body));
	assert_null(strstr(read, "ends before its end"));
	assert_non_null(strstr(read, " 8 9 "));
	buf_free(&b);
	buf_free(&body);
	buf_free(&packed);
	testing_dir_remove(&d);
}

#define STREAM "https://m.example/api/v1/streaming/public"
#define JETSTREAM "https://j.example/subscribe?cursor=1"

static void
events_end_at_empty_lines(void **state)
{
	struct testing_dir d;
	struct buf b = BUF_INIT, body = BUF_INIT, want = BUF_INIT;

	(void)state;
	testing_dir_make(&d);
	buf_put_text(&body, ":thump\n\n\nevent: update\r\ndata: {\"uri\":"
	    "\"1\"}\r\n\r\nevent: update\ndata: {\"uri\":\ndata: \"2\"}"
	    "\n\nevent: update\ndata: no\n\nevent: update\ndata: {\"uri\":"
	    "\"3\"}");
	testing_answer(&b, STREAM, 200, "", buf_str(&body));
	assert_string_equal(read_bytes_of(&d, buf_str(&b)),
	    "1 2 [a line that is no JSON] 3 ");
	/* Pieces of the body end wherever they may within an event. */
	buf_clear(&b);
	buf_clear(&body);
	for (int i = 1; i <= 20000; i++) {
		const char *end = i % 3 == 0 ? "\n" : "\r\n";
		buf_printf(&body, "event: update%sdata: {\"uri\":\"%d\"}%s%s",
		    end, i, end, end);
		buf_printf(&want, "%d ", i);
	}
	testing_answer(&b, STREAM, 200, "", buf_str(&body));
	assert_string_equal(read_bytes_of(&d, buf_str(&b)), buf_text(&want));
	buf_free(&b);
	buf_free(&body);
	buf_free(&want);
	testing_dir_remove(&d);
}

static void
frames_stand_in_resources(void **state)
{
	struct testing_dir d;
	struct buf b = BUF_INIT;
	struct str frames = STR("{\"did\":\"d\",\"kind\":\"commit\","
	    "\"commit\":{\"operation\":\"create\",\"collection\":"
	    "\"app.bsky.feed.post\",\"rkey\":\"1\"}}\n{\"kind\":"
	    "\"identity\"}\n");

	(void)state;
	testing_dir_make(&d);
	testing_record(&b, "resource", JETSTREAM, frames);
	testing_record(&b, "resource", TESTING_FILTER, frames);
	testing_record(&b, "metadata", JETSTREAM, frames);
	assert_string_equal(read_bytes_of(&d, buf_str(&b)),
	    "at://d/app.bsky.feed.post/1 ");
	buf_free(&b);
	testing_dir_remove(&d);
}

static void
long_texts_are_passed_over(void **state)
{
	struct testing_dir d;
	struct buf b = BUF_INIT, body = BUF_INIT;

	(void)state;
	testing_dir_make(&d);
	testing_tweet(&body, 1, 1, 2);
	buf_put_char(&body, '\n');
	memset(buf_grow(&body, EXPORT_TEXT_BYTES_MAX + 100000), 'x',
	    EXPORT_TEXT_BYTES_MAX + 100000);
	buf_put_char(&body, '\n');
	testing_tweet(&body, 2, 1, 2);
	testing_answer(&b, TESTING_FILTER, 200, "", buf_str(&body));
	testing_answer(&b, TESTING_SEARCH, 200, "", buf_str(&body));
	assert_string_equal(read_bytes_of(&d, buf_str(&b)),
	    "1 [a line that is longer than 16 MiB] 2 [a body that is longer "
	    "than 16 MiB] ");
	buf_free(&b);
	buf_free(&body);
	testing_dir_remove(&d);
}

static void
an_event_may_end_it(void **state)
{
	struct testing_dir d;
	struct buf b = BUF_INIT;
	struct seen s = { .answer = ERR_CLOSED };
	struct why w = WHY_INIT;

	(void)state;
	testing_dir_make(&d);
	testing_page(&b, 1, 3);
	struct archive_file file = { .path = testing_path(&d, "a.warc"),
		.name = STR("a.warc"), .size = b.n };
	testing_write(&d, "a.warc", buf_str(&b));
	s.reader = export_reader_new(&events, &s);
	assert_int_equal(export_reader_read(s.reader, &file, &w), ERR_CLOSED);
	assert_string_equal(w.text, "enough");
	assert_string_equal(buf_text(&s.text), "1 ");
	assert_int_equal(export_reader_records(s.reader), 1);
	export_reader_free(&s.reader);
	buf_free(&s.text);
	buf_free(&b);
	testing_dir_remove(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_chosen),
		cmocka_unit_test(lines_are_found_in_pieces),
		cmocka_unit_test(damage_costs_a_line_or_a_record),
		cmocka_unit_test(events_end_at_empty_lines),
		cmocka_unit_test(frames_stand_in_resources),
		cmocka_unit_test(long_texts_are_passed_over),
		cmocka_unit_test(an_event_may_end_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
