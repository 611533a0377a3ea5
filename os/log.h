/*
 * log -- one line per event: "time level module.event key=value ...".
 *
 *     log_info("ledger.recovered", "groups=%llu cut=%llu", ...);
 *
 * Values with blanks are written by the caller as key="..." through log_quote.
 * Secrets never come here.  Thread: any; a line is one write(2).
 */
#ifndef OS_LOG_H
#define OS_LOG_H

#include "base/bytes.h"
#include "base/err.h"
#include "base/time.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_OFF };

/* Lines at `level` and above go to `fd` (2 at first, from LOG_WARN on). */
void log_open(enum log_level level, int fd, bool json);
/*
 * The same with a file that is appended to, made where it is missing; NULL or
 * "" is standard error.  It may be called again, also while other threads log:
 * the path is then opened anew (after a rotation), or another one is.  Levels
 * of modules are as log_open() leaves them.  Errors: CONFIG when the file
 * cannot be opened; then nothing has changed.  Thread: one at a time.
 */
MUST_USE enum err log_open_file(enum log_level level, const char *path,
    bool json, struct why *);
bool log_wants(enum log_level);
/*
 * Lines of one module, those of events "module.*", from another level on than
 * log_open() said.  False when there is no such module.
 */
#define LOG_MODULES(X) X("crawl") X("doors") X("frontier") X("ledger")       \
	X("rebuild") X("script") X("serve") X("urlfrontier") X("web")
bool log_set_module(struct str module, enum log_level);
/* One line, if its level is wanted. */
void log_line(enum log_level, const char *event, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
#define log_debug(...) \
	(log_wants(LOG_DEBUG) ? log_line(LOG_DEBUG, __VA_ARGS__) : (void)0)
#define log_info(...) \
	(log_wants(LOG_INFO) ? log_line(LOG_INFO, __VA_ARGS__) : (void)0)
#define log_warn(...) \
	(log_wants(LOG_WARN) ? log_line(LOG_WARN, __VA_ARGS__) : (void)0)
#define log_error(...) \
	(log_wants(LOG_ERROR) ? log_line(LOG_ERROR, __VA_ARGS__) : (void)0)
/*
 * The newest lines that were written, for who asks: kept from log_keep() on, at
 * most LOG_KEPT_MAX of them, each cut to LOG_KEPT_BYTES_MAX.
 */
#define LOG_KEPT_MAX 500u
#define LOG_KEPT_BYTES_MAX 500u
struct log_kept {
	uint64_t number;             /* from 1 */
	struct wall at;
	enum log_level level;
	char event[48], text[LOG_KEPT_BYTES_MAX];
};
void log_keep(void);
/* The first line behind `number` that is there; false when there is none. */
bool log_after(uint64_t number, struct log_kept *);
const char *log_level_name(enum log_level);
/* Text as a value: quoted, control bytes as \xHH, at most 300 bytes of it. */
struct log_text {
	char text[640];
};
const char *log_quote(struct log_text *, struct str);
/* The same, of a text or a reason; it lives until its block ends. */
#define log_quoted(s) log_quote(&(struct log_text){ "" }, s)
#define log_why(w) log_quoted(str_of((w)->text))

#endif
