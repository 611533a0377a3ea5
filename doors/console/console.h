/*
 * console -- the web page for people: static files, and as JSON what the
 * realtime door's WebSocket does not provide.
 *
 *     /, /new, /crawls/N, /crawls/N/pages/M, /system, /settings
 *                        the one page; its views are doors/console/web
 *     /console/...       its files
 *     /config /doors /log /policy-fields /tokens
 *     /crawls/N/pages/M/record, .../body       to download
 *
 *     console.c   life, and the table of routes
 *     files.c     the page and its files
 *     facts.c     configuration, doors, log, fields of a policy
 *     tokens.c    tokens: list, add, revoke
 *     capture.c   one capture's WARC record and body
 *
 * The page holds no data and asks for no token; all else does.
 *
 * Owns:    the texts of its files.
 * Thread:  home's.
 * Limits:  CONSOLE_BODY_BYTES_MAX; CATALOG_RECORD_BYTES_MAX.
 * Story:   doors/console/DESIGN.md
 */
#ifndef DOORS_CONSOLE_CONSOLE_H
#define DOORS_CONSOLE_CONSOLE_H

#include "server/door.h"

#define CONSOLE_BODY_BYTES_MAX ((size_t)8 << 20)   /* shown; more is cut */

struct console {
	const struct door_host *host;
	struct engine *engine;       /* NULL: only `early` routes are used */
	struct web_text **files;     /* by their rows in files.c */
	struct drain_gate asked;     /* questions that the engine has */
};

/* Make the texts, once. */
void console_files_open(struct console *);
void console_files_close(struct console *);

/* Answer with the JSON text, which is wiped and freed: it may have a token. */
void console_answer(struct web_request *, int status, struct buf *json);

/* Handlers of routes; web_arg() is the console. */
void console_get_page(struct web_request *);
void console_get_file(struct web_request *);
void console_get_config(struct web_request *);
void console_get_doors(struct web_request *);
void console_get_log(struct web_request *);
void console_get_fields(struct web_request *);
void console_get_tokens(struct web_request *);
void console_post_token(struct web_request *);
void console_delete_token(struct web_request *);
void console_get_record(struct web_request *);
void console_get_body(struct web_request *);

#endif
