/*
 * ask -- how another process finds the one that holds a data directory: `serve`
 * writes DATA/serve.json, others read it and ask there.
 */
#ifndef CLI_ASK_H
#define CLI_ASK_H

#include "base/arena.h"
#include "base/err.h"

/* {"pid":...,"address":"127.0.0.1","port":8001,"tls":false}; replaced whole. */
MUST_USE enum err ask_write(const char *data_dir, const char *address,
    uint16_t port, bool tls, struct why *);
void ask_remove(const char *data_dir);

/*
 * GET `path` from the process that serves `data_dir`; the body of a 200.
 * Memory: `a`.  Errors: ABSENT when no process serves it; UNREACHED.
 */
#define ASK_BYTES_MAX ((size_t)64 << 20)
MUST_USE enum err ask_get(const char *data_dir, const char *path,
    struct arena *a, struct str *body, struct why *);

#endif
