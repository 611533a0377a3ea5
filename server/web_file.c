/*
 * Files of the archive: opened and read by threads of the port's own, a piece
 * ahead of what the client takes.
 */
#include "server/web_own.h"

#include "engine/archive/archive_port.h"
#include "os/log.h"

#define PIECE_BYTES ((size_t)256 << 10)
#define THREADS 2u

struct web_file {
	struct web_pull pull;        /* first: web_answer_pull() borrows it */
	struct list node;            /* of web.files */
	struct job job;
	struct web *web;
	struct web_request *request; /* until it is answered */
	char *path, *type, *name;
	int fd;                      /* -1 until it is open */
	uint64_t size, at, end;      /* of the file; what is left to read */
	struct buf piece;            /* read, and not yet taken from */
	size_t piece_at;
	struct why why;
	bool reading;                /* the job is away */
	bool ended;                  /* end() was called */
};

static void
file_free(struct web_file *f)
{
	list_take(&f->node);
	archive_port()->close(&f->fd);
	buf_free(&f->piece);
	mem_free(&f->path);
	mem_free(&f->type);
	mem_free(&f->name);
	mem_free(&f);
}

void
web_files_free(struct web *w)
{
	pool_free(&w->pool);
	while (!list_empty(&w->files))
		file_free(LIST_ITEM(w->files.next, struct web_file, node));
}

/* -- On a thread of the pool -- */

static void
open_run(struct job *j)
{
	struct web_file *f = CONTAINER(j, struct web_file, job);

	if (archive_port()->open(f->path, &f->fd, &f->why) == OK)
		(void)!archive_port()->size(f->fd, &f->size, &f->why);
}

static void
read_run(struct job *j)
{
	struct web_file *f = CONTAINER(j, struct web_file, job);
	size_t want = (size_t)MIN(f->end - f->at, PIECE_BYTES), got = 0;

	buf_clear(&f->piece);
	buf_reserve(&f->piece, want);
	if (archive_port()->read_at(f->fd, f->at, f->piece.p, want, &got,
	    &f->why) != OK)
		return;
	if (got < want)
		(void)why(&f->why, ERR_IO, "it became shorter");
	f->piece.n = got;
}

/* -- On the loop -- */

static void
submit(struct web_file *f, void (*run)(struct job *),
    void (*done)(struct mail *))
{
	f->reading = true;
	f->job.home = f->web->loop;
	f->job.run = run;
	f->job.mail.deliver = done;
	pool_submit(f->web->pool, &f->job);
}

static void
read_done(struct mail *m)
{
	struct web_file *f = CONTAINER(m, struct web_file, job.mail);
	struct log_text quoted;

	f->reading = false;
	f->at += f->piece.n;
	f->piece_at = 0;
	if (f->ended) {
		file_free(f);
		return;
	}
	if (f->why.err != OK)
		log_warn("web.file", "path=%s why=%s", f->path,
		    log_quote(&quoted, str_of(f->why.text)));
	web_pull_wake(&f->pull);
}

static bool
pull(struct web_pull *p, struct buf *out, size_t room)
{
	struct web_file *f = CONTAINER(p, struct web_file, pull);

	if (f->reading)
		return true;
	size_t n = MIN(room, f->piece.n - f->piece_at);
	buf_put(out, f->piece.p + f->piece_at, n);
	f->piece_at += n;
	if (f->piece_at < f->piece.n)
		return true;
	if (f->at == f->end || f->why.err != OK)
		return false;
	submit(f, read_run, read_done);
	return true;
}

static void
end(struct web_pull *p)
{
	struct web_file *f = CONTAINER(p, struct web_file, pull);

	f->ended = true;
	if (!f->reading)
		file_free(f);
}

/* "attachment", with the name for those that read ASCII alone and for all. */
static void
add_disposition(struct web_request *r, struct str name)
{
	struct buf b = BUF_INIT;

	buf_put_text(&b, "attachment; filename=\"");
	for (size_t i = 0; i < name.n; i++) {
		unsigned char c = (unsigned char)name.p[i];
		bool plain = c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
		buf_put_char(&b, plain ? (char)c : '_');
	}
	buf_put_text(&b, "\"; filename*=UTF-8''");
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];
		if (ascii_is_alpha(c) || ascii_is_digit(c) || c == '.' ||
		    c == '-' || c == '_')
			buf_put_char(&b, c);
		else
			buf_printf(&b, "%%%02X", (unsigned char)c);
	}
	web_add_field(r, "content-disposition", buf_text(&b));
	buf_free(&b);
}

int
web_range(struct str value, uint64_t size, uint64_t *from, uint64_t *to)
{
	if (!str_starts_nocase(value, STR("bytes=")))
		return 0;
	value = str_trim(str_from(value, 6));
	size_t dash = str_find_char(value, '-');
	struct str first = str_cut(value, 0, dash);
	struct str last = str_from(value, dash + 1);
	uint64_t a = 0, b = UINT64_MAX;
	if (dash == value.n || (first.n == 0 && last.n == 0) ||
	    (first.n > 0 && !str_to_u64(first, &a)) ||
	    (last.n > 0 && !str_to_u64(last, &b)))
		return 0;
	if (first.n == 0) {
		a = b < size ? size - b : 0;
		b = b == 0 ? 0 : UINT64_MAX;
		if (b == 0)
			return 416;
	}
	if (last.n > 0 && first.n > 0 && b < a)
		return 0;
	if (a >= size)
		return 416;
	*from = a;
	*to = b >= size ? size : b + 1;
	return 206;
}

static int
take_range(struct web_file *f)
{
	struct web_request *r = f->request;
	struct str value;
	int status = 0;

	f->at = 0;
	f->end = f->size;
	web_add_field(r, "accept-ranges", "bytes");
	if (str_eq(r->head.method, STR("GET")) &&
	    !web_field(r, "if-range", &value) && web_field(r, "range", &value))
		status = web_range(value, f->size, &f->at, &f->end);
	if (status == 206)
		web_add_field(r, "content-range", arena_printf(&r->arena,
		    "bytes %llu-%llu/%llu", (unsigned long long)f->at,
		    (unsigned long long)(f->end - 1),
		    (unsigned long long)f->size).p);
	else if (status == 416)
		web_add_field(r, "content-range", arena_printf(&r->arena,
		    "bytes */%llu", (unsigned long long)f->size).p);
	return status;
}

static void
answer(struct web_file *f)
{
	struct web_request *r = f->request;

	if (f->why.err != OK) {
		web_fail(r, f->why.err == ERR_ABSENT ? 404 : 500,
		    f->why.err == ERR_ABSENT ? "not_found" : "storage",
		    f->why.err == ERR_ABSENT ? "there is no such file" :
		    "the file cannot be read");
		end(&f->pull);
		return;
	}
	int status = take_range(f);
	if (status == 416) {
		web_fail(r, 416, "bad_range", "the file has no such bytes");
		end(&f->pull);
		return;
	}
	add_disposition(r, str_of(f->name));
	web_answer_pull(r, status == 0 ? 200 : status, f->type, f->end - f->at,
	    &f->pull);
}

static void
open_done(struct mail *m)
{
	struct web_file *f = CONTAINER(m, struct web_file, job.mail);

	f->reading = false;
	answer(f);
}

void
web_answer_file(struct web_request *r, const char *path,
    const char *content_type, struct str name)
{
	struct web *w = r->web;
	struct web_file *f = mem_new(sizeof(*f));

	if (w->pool == NULL)
		w->pool = pool_new(THREADS);
	f->pull.pull = pull;
	f->pull.end = end;
	f->web = w;
	f->request = r;
	f->path = mem_copy_text(path);
	f->type = mem_copy_text(content_type);
	f->name = mem_copy_text(arena_copy(&r->arena, name).p);
	f->fd = -1;
	f->why = WHY_INIT;
	list_put(&w->files, &f->node);
	submit(f, open_run, open_done);
}
