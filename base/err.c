#include "base/err.h"

#include <errno.h>
#include <stdarg.h>

static const struct {
	const char *name, *text;
	int http, grpc, exit;
} table[] = {
#define ERR_ROW(name, text, http, grpc, exit) { #name, text, http, grpc, exit },
	ERR_TABLE(ERR_ROW)
#undef ERR_ROW
};

const char *
err_name(enum err e)
{
	CHECK(e < ERR_COUNT);
	return table[e].name;
}

const char *
err_text(enum err e)
{
	CHECK(e < ERR_COUNT);
	return table[e].text;
}

int
err_http(enum err e)
{
	CHECK(e < ERR_COUNT);
	return table[e].http;
}

int
err_grpc(enum err e)
{
	CHECK(e < ERR_COUNT);
	return table[e].grpc;
}

int
err_exit(enum err e)
{
	CHECK(e < ERR_COUNT);
	return table[e].exit;
}

bool
err_is_internal(enum err e)
{
	switch (e) {
	case ERR_CONFIG:
	case ERR_BUSY:
	case ERR_TIMEOUT:
	case ERR_UNREACHED:
	case ERR_DISK_FULL:
	case ERR_IO:
	case ERR_CORRUPT:
	case ERR_NEWER:
	case ERR_BROKEN:
		return true;
	default:
		return false;
	}
}

static enum err
note(struct why *w, enum err e, const char *fmt, va_list ap, const char *tail)
{
	if (w == NULL || w->err != OK)
		return e;
	w->err = e;
	w->field[0] = w->text[0] = '\0';
	w->sentence = 0;
	int n = vsnprintf(w->text, sizeof(w->text), fmt, ap);
	if (tail != NULL && n >= 0 && (size_t)n < sizeof(w->text))
		snprintf(w->text + n, sizeof(w->text) - (size_t)n, ": %s",
		    tail);
	return e;
}

enum err
why(struct why *w, enum err e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	note(w, e, fmt, ap, NULL);
	va_end(ap);
	return e;
}

enum err
why_field(struct why *w, enum err e, const char *field, const char *fmt, ...)
{
	va_list ap;

	if (w == NULL || w->err != OK)
		return e;
	w->err = e;
	snprintf(w->field, sizeof(w->field), "%s", field);
	w->sentence = (unsigned)snprintf(w->text, sizeof(w->text), "%s: ",
	    w->field);
	va_start(ap, fmt);
	vsnprintf(w->text + w->sentence, sizeof(w->text) - w->sentence, fmt,
	    ap);
	va_end(ap);
	return e;
}

enum err
why_errno(struct why *w, enum err e, const char *fmt, ...)
{
	va_list ap;
	const char *tail = strerror(errno);

	va_start(ap, fmt);
	note(w, e, fmt, ap, tail);
	va_end(ap);
	return e;
}

enum err
err_from_errno(int no)
{
	switch (no) {
	case 0:
		return OK;
	case ENOSPC:
	case EDQUOT:
		return ERR_DISK_FULL;
	case ENOENT:
	case ENOTDIR:
		return ERR_ABSENT;
	case EEXIST:
		return ERR_EXISTS;
	case EACCES:
	case EPERM:
	case EROFS:
		return ERR_DENIED;
	case EMFILE:
	case ENFILE:
		return ERR_FULL;
	case EAGAIN:
	case EBUSY:
		return ERR_BUSY;
	default:
		return ERR_IO;
	}
}
