/*
 * own -- private to doors/console/: what its files share.
 *
 *     console.c   life, and the table of routes
 *     files.c     the page and its files
 *     facts.c     configuration, doors, log, fields of a policy
 *     tokens.c    tokens: list, add, revoke
 *     capture.c   one capture's WARC record and body
 */
#ifndef DOORS_CONSOLE_OWN_H
#define DOORS_CONSOLE_OWN_H

#include "doors/console/console.h"

#define CONSOLE_JSON "application/json"

struct console_file;

struct console {
	const struct door_host *host;
	struct engine *engine;       /* NULL before console_ready() */
	struct console_file *files;
	struct drain_gate asked;     /* questions that the engine has */
};

/* Count a question to the engine, or its return. */
void console_out(struct console *);
void console_back(struct console *);

/* Make the texts, once. */
void console_files_open(struct console *);
void console_files_close(struct console *);

/* Handlers of routes; their argument is the console. */
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
