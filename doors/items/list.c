#include "doors/items/list.h"

#include "doors/items/input.h"

#define LINES_TYPE "application/x-ndjson"

/* A list that is sent whole. */
struct stream {
	struct web_pull pull;
	struct exchange *x;
	enum err (*page)(struct exchange *, struct item_store *, struct why *);
	struct buf waiting;          /* lines, from `at` on */
	size_t at;
	struct buf key;              /* where the page goes on */
	bool reading, last;
	bool gone;                   /* the client takes no more */
};

/* Append the elements; false: it is not of that form. */
static bool
put_lines(yyjson_val *root, struct buf *lines, struct buf *next)
{
	yyjson_obj_iter iter = yyjson_obj_iter_with(root);
	yyjson_val *key, *one;
	size_t i, max, n;

	while ((key = yyjson_obj_iter_next(&iter)) != NULL) {
		yyjson_val *v = yyjson_obj_iter_get_val(key);
		if (yyjson_equals_str(key, "next")) {
			if (yyjson_is_str(v))
				buf_put_str(next, json_text(v));
			continue;
		}
		yyjson_arr_foreach(v, i, max, one) {
			char *p = yyjson_val_write(one, 0, &n);
			CHECK(p != NULL);
			buf_put(lines, p, n);
			buf_put_char(lines, '\n');
			mem_free(&p);
		}
	}
	return yyjson_is_obj(root);
}

enum err
list_to_lines(struct str page, struct buf *lines, struct buf *next,
    struct why *w)
{
	yyjson_doc *doc = yyjson_read(page.p, page.n,
	    YYJSON_READ_BIGNUM_AS_RAW);

	buf_clear(next);
	bool fine = put_lines(yyjson_doc_get_root(doc), lines, next);
	yyjson_doc_free(doc);
	return fine ? OK : why(w, ERR_CORRUPT, "a page of a list is no JSON");
}

/* On the reader's thread: a page, as lines. */
static enum err
look_lines(struct exchange *x, struct item_store *st, struct why *w)
{
	const struct stream *s = x->more;
	FREED(buf_free) struct buf lines = BUF_INIT;

	buf_clear(&x->out);
	enum err e = s->page(x, st, w);
	if (e == OK)
		e = list_to_lines(buf_str(&x->out), &lines, &x->next, w);
	buf_clear(&x->out);
	buf_put_str(&x->out, buf_str(&lines));
	return e;
}

static void
free_stream(struct stream *s)
{
	struct exchange *x = s->x;

	buf_free(&s->waiting);
	buf_free(&s->key);
	exchange_free(&x);
}

/* A page has come: keep its lines, and where the next one begins. */
static void
take_page(struct stream *s)
{
	struct exchange *x = s->x;

	s->reading = false;
	buf_clear(&s->waiting);
	s->at = 0;
	buf_put_str(&s->waiting, buf_str(&x->out));
	s->last = x->next.n == 0;
	buf_clear(&s->key);
	buf_put_str(&s->key, buf_str(&x->next));
	x->after = buf_str(&s->key);
}

static void
page_done(struct items_read *r)
{
	struct stream *s = CONTAINER(r, struct exchange, read)->more;

	if (s->gone) {
		free_stream(s);
		return;
	}
	if (r->result == OK)
		take_page(s);
	else
		s->reading = false;
	if (r->result != OK || s->x->door->stopping)
		s->pull.broken = s->last = true;
	web_pull_wake(&s->pull);
}

static bool
pull_lines(struct web_pull *p, struct buf *out, size_t room)
{
	struct stream *s = CONTAINER(p, struct stream, pull);
	size_t n = MIN(room, s->waiting.n - s->at);

	buf_put(out, s->waiting.p + s->at, n);
	s->at += n;
	if (s->at < s->waiting.n)
		return true;
	if (!s->last && !s->reading) {
		s->reading = true;
		exchange_read_to(s->x, look_lines, page_done);
	}
	return !s->last;
}

static void
end_lines(struct web_pull *p)
{
	struct stream *s = CONTAINER(p, struct stream, pull);

	s->gone = true;
	if (!s->reading)
		free_stream(s);
}

/* The first page is there: what may be refused was refused. */
static void
send_lines(struct exchange *x)
{
	struct stream *s = x->more;

	s->x = x;
	take_page(s);
	s->pull.pull = pull_lines;
	s->pull.end = end_lines;
	web_answer_pull(x->request, 200, LINES_TYPE, UINT64_MAX, &s->pull);
}

void
list_answer(struct exchange *x, enum err (*page)(struct exchange *,
    struct item_store *, struct why *))
{
	if (!input_accepts(x, LINES_TYPE)) {
		exchange_read(x, page);
		return;
	}
	struct stream *s = mem_new(sizeof(*s));
	s->page = page;
	x->limit = ITEM_LIST_MAX;
	x->more = s;
	x->then = send_lines;
	exchange_read(x, look_lines);
}
