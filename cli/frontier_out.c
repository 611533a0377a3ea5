/* Where results of `argiope frontier` are written. */
#include <errno.h>
#include <time.h>

#include <zlib.h>

#include "cli/format.h"
#include "cli/frontier.h"
#include "os/system.h"

enum err
frontier_out_open(struct frontier_out *o, const char *path, struct why *w)
{
	*o = (struct frontier_out){ .path = path };
	if (path == NULL || strcmp(path, "-") == 0) {
		o->path = NULL;
		o->file = stdout;
		o->terminal = system_is_terminal(1);
		return OK;
	}
	errno = 0;
	if (str_ends(str_of(path), STR(".gz")))
		o->gz = gzopen(path, "wb");
	else
		o->file = fopen(path, "we");
	if (o->gz == NULL && o->file == NULL)
		return why_errno(w, err_from_errno(errno), "%s cannot be "
		    "written", path);
	return OK;
}

static enum err
failed(const struct frontier_out *o, struct why *w)
{
	if (o->path == NULL && errno == EPIPE) {
		/* No word about it at the program's end. */
		clearerr(stdout);
		return why(w, ERR_CLOSED, "nobody reads the output");
	}
	return why_errno(w, errno == 0 ? ERR_IO : err_from_errno(errno),
	    "%s cannot be written", o->path == NULL ? "standard output" :
	    o->path);
}

enum err
frontier_out_put(struct frontier_out *o, struct buf *b, struct why *w)
{
	bool fine = true;
	size_t n;

	errno = 0;
	for (size_t at = 0; fine && o->gz != NULL && at < b->n; at += n) {
		n = MIN(b->n - at, (size_t)1 << 20);
		fine = gzwrite(o->gz, b->p + at, (unsigned)n) == (int)n;
	}
	if (o->gz == NULL && b->n > 0)
		fine = fwrite(b->p, 1, b->n, o->file) == b->n;
	buf_clear(b);
	return fine ? OK : failed(o, w);
}

enum err
frontier_out_close(struct frontier_out *o, struct why *w)
{
	bool fine = true;

	errno = 0;
	if (o->gz != NULL)
		fine = gzclose(o->gz) == Z_OK;
	else if (o->file == stdout)
		fine = fflush(stdout) == 0;
	else if (o->file != NULL)
		fine = fclose(o->file) == 0;
	o->gz = NULL;
	o->file = NULL;
	return fine ? OK : failed(o, w);
}

void
frontier_out_text(const struct frontier_out *o, struct buf *b,
    const char *text)
{
	if (o->terminal)
		format_safe(b, str_of(text), SIZE_MAX);
	else
		buf_put_text(b, text);
}

void
frontier_out_date(struct buf *b, uint64_t date, bool local)
{
	time_t t = (time_t)date;
	char text[64];
	struct tm tm;

	if (local && date <= INT64_MAX && localtime_r(&t, &tm) != NULL &&
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm) > 0)
		buf_put_text(b, text);
	else
		buf_printf(b, "%llu", (unsigned long long)date);
}
