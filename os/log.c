#include "os/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/text.h"
#include "os/clock.h"

#define LINE_BYTES 2048

static atomic_int level_from = LOG_WARN;   /* the least of all */
static atomic_int level_all = LOG_WARN;    /* of modules without their own */
static atomic_int out_fd = 2;
static atomic_bool as_json;

static const char *const level_names[] = { "debug", "info", "warn", "error" };

static struct {
	const char *name;
	atomic_int level;                  /* plus 1; 0: as all */
} modules[] = {
#define LOG_MODULE(name) { name, 0 },
	LOG_MODULES(LOG_MODULE)
#undef LOG_MODULE
};

static void
find_least(void)
{
	int least = atomic_load(&level_all);

	for (size_t i = 0; i < ARRAY_LEN(modules); i++) {
		int own = atomic_load(&modules[i].level);
		if (own > 0)
			least = MIN(least, own - 1);
	}
	atomic_store(&level_from, least);
}

void
log_open(enum log_level level, int fd, bool json)
{
	atomic_store(&level_all, (int)level);
	for (size_t i = 0; i < ARRAY_LEN(modules); i++)
		atomic_store(&modules[i].level, 0);
	find_least();
	atomic_store(&out_fd, fd);
	atomic_store(&as_json, json);
}

enum err
log_open_file(enum log_level level, const char *path, bool json,
    struct why *w)
{
	static int file_fd = -1;
	int fd = 2;

	if (path != NULL && path[0] != '\0') {
		fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC,
		    0666);
		if (fd < 0)
			return why_errno(w, ERR_CONFIG, "log.file: %s cannot "
			    "be opened", path);
		/* A thread that is about to write keeps its number. */
		if (file_fd >= 0) {
			CHECK(dup3(fd, file_fd, O_CLOEXEC) == file_fd);
			close(fd);
		} else {
			file_fd = fd;
		}
		fd = file_fd;
	}
	log_open(level, fd, json);
	return OK;
}

bool
log_set_module(struct str module, enum log_level level)
{
	size_t i = STR_ROW(module, modules);

	if (i == ARRAY_LEN(modules))
		return false;
	atomic_store(&modules[i].level, (int)level + 1);
	find_least();
	return true;
}

/* The level from which on an event's module is heard. */
static int
level_of(struct str event)
{
	struct str module = str_cut(event, 0, str_find_char(event, '.'));
	size_t i = STR_ROW(module, modules);
	int own = i < ARRAY_LEN(modules) ? atomic_load(&modules[i].level) : 0;

	return own > 0 ? own - 1 : atomic_load(&level_all);
}

bool
log_wants(enum log_level level)
{
	return (int)level >=
	    atomic_load_explicit(&level_from, memory_order_relaxed);
}

/* --- the newest lines --------------------------------------------------- */

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static struct log_kept *kept;          /* a ring; NULL until log_keep() */
static uint64_t kept_n;                /* all that ever were */

void
log_keep(void)
{
	pthread_mutex_lock(&kept_lock);
	if (kept == NULL)
		kept = mem_new(LOG_KEPT_MAX * sizeof(*kept));
	pthread_mutex_unlock(&kept_lock);
}

static void
cut(char *out, size_t size, const char *text)
{
	size_t n = MIN(strlen(text), size - 1);

	memcpy(out, text, n);
	out[n] = '\0';
}

static void
keep(enum log_level level, struct wall at, const char *event, const char *text)
{
	pthread_mutex_lock(&kept_lock);
	if (kept != NULL) {
		struct log_kept *k = &kept[kept_n++ % LOG_KEPT_MAX];
		k->number = kept_n;
		k->at = at;
		k->level = level;
		cut(k->event, sizeof(k->event), event);
		cut(k->text, sizeof(k->text), text);
	}
	pthread_mutex_unlock(&kept_lock);
}

bool
log_after(uint64_t number, struct log_kept *out)
{
	pthread_mutex_lock(&kept_lock);
	if (kept_n > LOG_KEPT_MAX)
		number = MAX(number, kept_n - LOG_KEPT_MAX);
	bool there = number < kept_n;
	if (there)
		*out = kept[number % LOG_KEPT_MAX];
	pthread_mutex_unlock(&kept_lock);
	return there;
}

const char *
log_level_name(enum log_level level)
{
	return level_names[MIN(level, LOG_ERROR)];
}

/* One event is one line, whatever an outsider put into it. */
static void
put_plain(struct buf *b, const char *text)
{
	for (; *text != '\0'; text++)
		buf_put_char(b, (unsigned char)*text < 0x20 ? ' ' : *text);
}

void
log_line(enum log_level level, const char *event, const char *fmt, ...)
{
	char now[WALL_ISO_MAX], text[LINE_BYTES];
	FREED(buf_free) struct buf line = BUF_INIT;
	va_list ap;

	if ((int)level < level_of(str_of(event)))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	struct wall at = clock_wall();
	wall_to_iso(at, now);
	keep(level, at, event, text);
	if (atomic_load(&as_json)) {
		buf_printf(&line, "{\"time\":\"%s\",\"level\":\"%s\","
		    "\"event\":\"%s\",\"text\":", now, level_names[level],
		    event);
		text_json(&line, str_of(text));
		buf_put_text(&line, "}\n");
	} else {
		buf_printf(&line, "%s %s %s%s", now, level_names[level], event,
		    text[0] == '\0' ? "" : " ");
		put_plain(&line, text);
		buf_put_char(&line, '\n');
	}
	/* A log that cannot be written must not stop what it tells of. */
	if (write(atomic_load(&out_fd), line.p, line.n) < 0)
		line.n = 0;
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
