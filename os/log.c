#include "os/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <unistd.h>

#include "os/clock.h"

#define LINE_BYTES 2048

static atomic_int level_from = LOG_WARN;
static atomic_int out_fd = 2;
static atomic_bool as_json;

static const char *const level_names[] = { "debug", "info", "warn", "error" };

void
log_open(enum log_level level, int fd, bool json)
{
	atomic_store(&level_from, (int)level);
	atomic_store(&out_fd, fd);
	atomic_store(&as_json, json);
}

bool
log_wants(enum log_level level)
{
	return (int)level >=
	    atomic_load_explicit(&level_from, memory_order_relaxed);
}

/* The text as the inside of a JSON string, cut at `room`. */
static size_t
json_escape(const char *in, char *out, size_t room)
{
	size_t n = 0;

	for (; *in != '\0' && n + 7 < room; in++) {
		unsigned char c = (unsigned char)*in;
		if (c == '"' || c == '\\')
			n += (size_t)snprintf(out + n, room - n, "\\%c", c);
		else if (c < 0x20)
			n += (size_t)snprintf(out + n, room - n, "\\u%04x", c);
		else
			out[n++] = (char)c;
	}
	out[n] = '\0';
	return n;
}

void
log_line(enum log_level level, const char *event, const char *fmt, ...)
{
	char now[WALL_ISO_MAX], text[LINE_BYTES], quoted[LINE_BYTES];
	char line[2 * LINE_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	wall_to_iso(clock_wall(), now);
	int n;
	if (atomic_load(&as_json)) {
		json_escape(text, quoted, sizeof(quoted));
		n = snprintf(line, sizeof(line), "{\"time\":\"%s\",\"level\":"
		    "\"%s\",\"event\":\"%s\",\"text\":\"%s\"}\n", now,
		    level_names[level], event, quoted);
	} else {
		n = snprintf(line, sizeof(line), "%s %s %s%s%s\n", now,
		    level_names[level], event, text[0] == '\0' ? "" : " ",
		    text);
	}
	/* A log that cannot be written must not stop what it tells of. */
	if (write(atomic_load(&out_fd), line, (size_t)n) < 0)
		return;
}

const char *
log_quote(struct log_text *t, struct str s)
{
	size_t n = 0;

	t->text[n++] = '"';
	for (size_t i = 0; i < s.n && i < 300 && n + 6 < sizeof(t->text); i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c == '"' || c == '\\')
			t->text[n++] = '\\';
		if (c < 0x20 || c == 0x7f)
			n += (size_t)snprintf(t->text + n, 5, "\\x%02x", c);
		else
			t->text[n++] = (char)c;
	}
	t->text[n++] = '"';
	t->text[n] = '\0';
	return t->text;
}
