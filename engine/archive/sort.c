#include "engine/archive/sort.h"

#include "engine/archive/archive_port.h"

#define READ_BYTES ((size_t)128 << 10)
#define WRITE_BYTES ((size_t)1 << 20)

struct sorter {
	char *scratch;
	size_t bytes_max;
	struct buf text;          /* the lines in hand, one behind the other */
	struct str *lines;        /* offsets, pointers once sorted */
	size_t n, cap;
	unsigned runs_first, runs_end;   /* numbers of the runs that exist */
};

/* A run being read; `line` is its next line. */
struct run {
	int fd;
	uint64_t at;
	struct buf window;
	size_t from;
	struct str line;
};

enum err
line_file_open(struct line_file *o, const char *path, struct why *w)
{
	*o = (struct line_file){ .fd = -1 };
	return archive_port()->scratch(path, &o->fd, w);
}

static enum err
flush(struct line_file *o, size_t above, struct why *w)
{
	if (o->buf.n <= above)
		return OK;
	enum err err = archive_port()->append(o->fd, o->at, o->buf.p,
	    o->buf.n, w);
	o->at += o->buf.n;
	buf_clear(&o->buf);
	return err;
}

enum err
line_file_put(void *arg, struct str line, struct why *w)
{
	struct line_file *o = arg;

	buf_put_str(&o->buf, line);
	buf_put_char(&o->buf, '\n');
	return flush(o, WRITE_BYTES, w);
}

enum err
line_file_close(struct line_file *o, bool sync, struct why *w)
{
	enum err err = flush(o, 0, w);
	size_t failed;

	if (err == OK && sync)
		err = archive_port()->sync(&o->fd, 1, &failed, w);
	archive_port()->close(&o->fd);
	buf_free(&o->buf);
	return err;
}

struct sorter *
sorter_new(const char *scratch, size_t bytes_max)
{
	struct sorter *s = mem_new(sizeof(*s));

	s->scratch = mem_copy_text(scratch);
	s->bytes_max = bytes_max;
	return s;
}

static void
run_path(const struct sorter *s, unsigned number, struct buf *path)
{
	buf_clear(path);
	buf_printf(path, "%s.run-%u", s->scratch, number);
	buf_text(path);
}

static void
remove_runs(struct sorter *s, unsigned from, unsigned end)
{
	FREED(buf_free) struct buf path = BUF_INIT;

	for (unsigned i = from; i < end; i++) {
		run_path(s, i, &path);
		/* A run that cannot be removed is only clutter. */
		(void)!archive_port()->remove(path.p, NULL);
	}
}

void
sorter_free(struct sorter **sp)
{
	struct sorter *s = *sp;

	if (s == NULL)
		return;
	remove_runs(s, s->runs_first, s->runs_end);
	buf_free(&s->text);
	mem_free(&s->lines);
	mem_free(&s->scratch);
	mem_free(sp);
}

/* Offsets become pointers: the text does not move any more. */
static void
sort_lines(struct sorter *s)
{
	for (size_t i = 0; i < s->n; i++)
		s->lines[i].p = s->text.p + (uintptr_t)s->lines[i].p;
	if (s->n > 1)
		qsort(s->lines, s->n, sizeof(*s->lines), str_order);
}

/* The file of the next run. */
static enum err
open_output(struct sorter *s, struct line_file *o, struct why *w)
{
	FREED(buf_free) struct buf path = BUF_INIT;

	run_path(s, s->runs_end, &path);
	enum err err = line_file_open(o, path.p, w);
	s->runs_end += err == OK;
	return err;
}

static enum err
write_run(struct sorter *s, struct why *w)
{
	struct line_file o;
	enum err err = open_output(s, &o, w);

	if (err != OK)
		return err;
	sort_lines(s);
	for (size_t i = 0; i < s->n && err == OK; i++)
		err = line_file_put(&o, s->lines[i], w);
	enum err closed = line_file_close(&o, false, w);
	buf_clear(&s->text);
	s->n = 0;
	return err != OK ? err : closed;
}

enum err
sorter_put(void *arg, struct str line, struct why *w)
{
	struct sorter *s = arg;

	if (line.n > SORT_LINE_MAX)
		return why(w, ERR_INPUT, "a line of %zu bytes", line.n);
	if (s->n > 0 && s->text.n + line.n + (s->n + 1) * sizeof(*s->lines) >
	    s->bytes_max) {
		enum err err = write_run(s, w);
		if (err != OK)
			return err;
	}
	s->lines = mem_room(s->lines, s->n, &s->cap, 1024, sizeof(*s->lines));
	s->lines[s->n++] = (struct str){ (const char *)(uintptr_t)s->text.n,
		line.n };
	buf_put_str(&s->text, line);
	return OK;
}

/* Make `r->line` the next line; `*more` false at the run's end. */
static enum err
run_next(struct run *r, bool *more, struct why *w)
{
	for (;;) {
		struct str rest = str_from(buf_str(&r->window), r->from);
		size_t lf = str_find_char(rest, '\n');
		if (lf < rest.n) {
			r->line = str_cut(rest, 0, lf);
			r->from += lf + 1;
			*more = true;
			return OK;
		}
		if (rest.n > 0)
			memmove(r->window.p, rest.p, rest.n);
		r->window.n = rest.n;
		r->from = 0;
		size_t got;
		void *to = buf_grow(&r->window, READ_BYTES);
		enum err err = archive_port()->read_at(r->fd, r->at, to,
		    READ_BYTES, &got, w);
		if (err != OK)
			return err;
		r->window.n -= READ_BYTES - got;
		r->at += got;
		if (got == 0) {
			*more = false;
			return r->window.n == 0 ? OK : why(w, ERR_CORRUPT,
			    "a sorted run is cut");
		}
	}
}

/* A binary heap of runs by their line. */
static void
sift(struct run **heap, size_t n, size_t at)
{
	for (;;) {
		size_t least = at;
		for (size_t c = 2 * at + 1; c <= 2 * at + 2 && c < n; c++)
			if (str_cmp(heap[c]->line, heap[least]->line) < 0)
				least = c;
		if (least == at)
			return;
		struct run *swap = heap[at];
		heap[at] = heap[least];
		heap[least] = swap;
		at = least;
	}
}

static enum err
open_runs(struct sorter *s, unsigned from, size_t n, struct run *runs,
    struct run **heap, size_t *live, struct why *w)
{
	FREED(buf_free) struct buf path = BUF_INIT;
	enum err err = OK;

	for (size_t i = 0; i < n; i++)
		runs[i].fd = -1;
	for (size_t i = 0; i < n && err == OK; i++) {
		bool more = false;
		run_path(s, from + (unsigned)i, &path);
		err = archive_port()->open(path.p, &runs[i].fd, w);
		if (err == OK)
			err = run_next(&runs[i], &more, w);
		if (more)
			heap[(*live)++] = &runs[i];
	}
	for (size_t i = *live; i-- > 0;)
		sift(heap, *live, i);
	return err;
}

/* Merge n runs; equal lines once. */
static enum err
merge(struct sorter *s, unsigned from, size_t n,
    enum err (*line)(void *, struct str, struct why *), void *arg,
    struct why *w)
{
	struct run *runs = mem_array(n, sizeof(*runs));
	struct run **heap = mem_array(n, sizeof(struct run *));
	FREED(buf_free) struct buf last = BUF_INIT;
	size_t live = 0;
	bool any = false;

	enum err err = open_runs(s, from, n, runs, heap, &live, w);
	while (err == OK && live > 0) {
		bool more;
		struct str next = heap[0]->line;
		if (!any || !str_eq(next, buf_str(&last))) {
			err = line(arg, next, w);
			buf_clear(&last);
			buf_put_str(&last, next);
			any = true;
		}
		if (err == OK)
			err = run_next(heap[0], &more, w);
		if (err == OK && !more)
			heap[0] = heap[--live];
		sift(heap, live, 0);
	}
	for (size_t i = 0; i < n; i++) {
		archive_port()->close(&runs[i].fd);
		buf_free(&runs[i].window);
	}
	mem_free(&heap);
	mem_free(&runs);
	return err;
}

/* While there are too many runs, merge the oldest ones into a new one. */
static enum err
reduce_runs(struct sorter *s, struct why *w)
{
	enum err err = OK;

	while (err == OK && s->runs_end - s->runs_first > SORT_RUNS_MAX) {
		struct line_file o;
		err = open_output(s, &o, w);
		if (err != OK)
			break;
		unsigned first = s->runs_first;
		err = merge(s, first, SORT_RUNS_MAX, line_file_put, &o, w);
		enum err closed = line_file_close(&o, false, w);
		if (err == OK)
			err = closed;
		if (err == OK) {
			remove_runs(s, first, first + SORT_RUNS_MAX);
			s->runs_first += SORT_RUNS_MAX;
		}
	}
	return err;
}

enum err
sorter_finish(struct sorter *s,
    enum err (*line)(void *arg, struct str, struct why *), void *arg,
    struct why *w)
{
	enum err err = OK;

	if (s->runs_end == s->runs_first) {
		sort_lines(s);
		for (size_t i = 0; i < s->n && err == OK; i++)
			if (i == 0 || !str_eq(s->lines[i], s->lines[i - 1]))
				err = line(arg, s->lines[i], w);
		s->n = 0;
		return err;
	}
	if (s->n > 0)
		err = write_run(s, w);
	if (err == OK)
		err = reduce_runs(s, w);
	if (err == OK)
		err = merge(s, s->runs_first, s->runs_end - s->runs_first,
		    line, arg, w);
	return err;
}
