/*
 * Changes of a row, merged field by field, always equal the whole row: with
 * random changes, and readers that look at random times.
 */
#include "doors/realtime/own.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define STEPS 20000
#define READERS 5

static const struct str tags[] = { { "a", 1 }, { "b\"c", 3 } };
static struct crawl_row row;
static uint64_t version, seed;

static uint64_t
next_random(uint64_t below)
{
	seed = seed * UINT64_C(6364136223846793005) +
	    UINT64_C(1442695040888963407);
	return (seed >> 33) % below;
}

static void
note(unsigned part)
{
	row.part[part] = row.changed = ++version;
}

static void
born(void)
{
	memset(&row, 0, sizeof(row));
	row.seed = STR("http://a.org/?\"");
	row.name = STR("n\xff");
	row.tags = tags;
	row.tags_n = ARRAY_LEN(tags);
	row.view.state = CRAWL_RUNNING;
	row.view.created.us = 1;
	for (unsigned i = 0; i < REGISTRY_PARTS; i++)
		note(i);
	row.born = version;
}

/* As the registry does it: a part is noted when its value differs. */
static void
change(void)
{
	struct crawl_counts *n = &row.view.counts;
	unsigned i = (unsigned)next_random(6);

	switch (next_random(7)) {
	case 0:
		n->status[i]++;
		note(REGISTRY_STATUS + i);
		if (i == 4) {
			n->not_found++;
			note(REGISTRY_NOT_FOUND);
		}
		break;
	case 1:
		n->exceptions[next_random(EXCEPTION_COUNT)]++;
		note(REGISTRY_EXCEPTIONS);
		break;
	case 2:
		n->skips[1 + next_random(SKIP_COUNT - 1)]++;
		note(REGISTRY_SKIPS);
		break;
	case 3:
		n->items++;
		note(REGISTRY_ITEMS);
		break;
	case 4:
		n->queued = next_random(1000);
		note(REGISTRY_QUEUED);
		break;
	case 5:
		n->body_bytes += 1 + next_random(1000);
		note(REGISTRY_BYTES);
		break;
	default:
		row.view.state = next_random(2) ? CRAWL_PAUSED :
		    CRAWL_RUNNING;
		snprintf(row.view.reason, sizeof(row.view.reason), "%u", i);
		note(REGISTRY_STATE);
		break;
	}
}

/* The objects of one reader, merged. */
struct reader_of_rows {
	yyjson_mut_doc *doc;
	uint64_t version;
};

static yyjson_doc *
parsed(struct buf *b)
{
	buf_put_char(b, '}');
	yyjson_doc *doc = yyjson_read(b->p, b->n, 0);
	if (doc == NULL)
		fail_msg("no JSON: %s", buf_text(b));
	return doc;
}

static void
merge(struct reader_of_rows *r)
{
	struct buf b = BUF_INIT;
	yyjson_val *key, *v;
	size_t i, n;

	buf_put_char(&b, '{');
	if (r->doc == NULL)
		row_put_all(&b, &row);
	else
		row_put_since(&b, &row, r->version);
	yyjson_doc *doc = parsed(&b);
	if (r->doc == NULL) {
		r->doc = yyjson_mut_doc_new(NULL);
		yyjson_mut_doc_set_root(r->doc, yyjson_mut_obj(r->doc));
	}
	yyjson_mut_val *root = yyjson_mut_doc_get_root(r->doc);
	yyjson_obj_foreach(yyjson_doc_get_root(doc), i, n, key, v)
		yyjson_mut_obj_put(root, yyjson_val_mut_copy(r->doc, key),
		    yyjson_val_mut_copy(r->doc, v));
	r->version = version;
	yyjson_doc_free(doc);
	buf_free(&b);
}

static void
check_merged(const struct reader_of_rows *r)
{
	struct buf b = BUF_INIT;

	buf_put_char(&b, '{');
	row_put_all(&b, &row);
	yyjson_doc *doc = parsed(&b);
	yyjson_mut_doc *whole = yyjson_doc_mut_copy(doc, NULL);
	if (!yyjson_mut_equals(yyjson_mut_doc_get_root(whole),
	    yyjson_mut_doc_get_root(r->doc)))
		fail_msg("%s is not %s", yyjson_mut_write(r->doc, 0, NULL),
		    buf_text(&b));
	yyjson_mut_doc_free(whole);
	yyjson_doc_free(doc);
	buf_free(&b);
}

static void
test_merged(void **state)
{
	struct reader_of_rows readers[READERS] = { { 0 } };

	(void)state;
	seed = 7;
	born();
	for (int i = 0; i < STEPS; i++) {
		if (next_random(3) != 0) {
			change();
			continue;
		}
		struct reader_of_rows *r = &readers[next_random(READERS)];
		merge(r);
		check_merged(r);
	}
	row.view.state = CRAWL_COMPLETE;
	row.view.ended.us = 99;
	note(REGISTRY_STATE);
	for (unsigned i = 0; i < READERS; i++) {
		merge(&readers[i]);
		check_merged(&readers[i]);
		yyjson_mut_doc_free(readers[i].doc);
	}
}

/* What did not change is not told. */
static void
test_silent(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	born();
	row_put_since(&b, &row, version);
	assert_int_equal(b.n, 0);
	row.view.counts.status[2] = 3;
	note(REGISTRY_STATUS + 2);
	row_put_since(&b, &row, version - 1);
	assert_string_equal(buf_text(&b), "\"success\":3");
	buf_free(&b);
}

static void
test_ends(void **state)
{
	(void)state;
	born();
	assert_null(row_end(&row));
	row.view.state = CRAWL_PAUSED;
	assert_null(row_end(&row));
	row.view.state = CRAWL_CANCELLED;
	assert_string_equal(row_end(&row), "cancelled");
	row.deleted = true;
	assert_string_equal(row_end(&row), "deleted");
}

static void
test_lags(void **state)
{
	struct lag kept[4];
	size_t n = 0;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		n = lag_keep(kept, n, ARRAY_LEN(kept), (struct lag){
		    .sub = i, .lag = i * 7 % 1000 });
	assert_int_equal(n, ARRAY_LEN(kept));
	for (uint64_t i = 0; i < n; i++)
		assert_int_equal(kept[i].lag, 999 - i);
	n = lag_keep(kept, 0, ARRAY_LEN(kept), (struct lag){ .lag = 1 });
	n = lag_keep(kept, n, ARRAY_LEN(kept), (struct lag){ .lag = 2 });
	assert_int_equal(n, 2);
	assert_int_equal(kept[0].lag, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merged),
		cmocka_unit_test(test_silent),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_lags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
