/*
 * case_file -- a recorded run as a folder, which `argiope task test` runs again
 * without a store and without the site:
 *
 *     NAME/case.json       {"task":"scrape","item":"shop:p1","run":"R17",
 *                          "config":"shop.js","replay":{...}}
 *     NAME/expected.json   {"success":true,"error":null,"mutations":[...]}
 *     NAME/pages.warc.gz   the answers that the run got
 *     NAME/blobs/SHA256    the blobs that it read
 *
 * `replay` is script/items/replay_record.h's.  `config` is the main file of the
 * configuration, looked for in the folders above the case, the nearest first.
 *
 * Thread: the main one.
 * Source: contracts/scripting.md §7.
 */
#ifndef CLI_CASE_FILE_H
#define CLI_CASE_FILE_H

#include "script/items/replay_record.h"

#define CASE_NAME "case.json"
#define CASE_EXPECTED "expected.json"
#define CASE_PAGES "pages.warc.gz"
#define CASE_BLOBS "blobs"
#define CASE_BYTES_MAX ((size_t)64 << 20)

struct case_file {
	const char *dir;
	struct str config;           /* a name, without a folder */
	/* With the expected outcome and mutations. */
	struct replay_record *record;
	yyjson_doc *doc, *expected;
	struct arena arena;
};
/* Errors: ABSENT, CORRUPT, naming the file; case_file_free() in any case. */
MUST_USE enum err case_file_read(const char *dir, struct case_file *,
    struct why *);
void case_file_free(struct case_file *);
/* The path of its configuration.  Memory: the case's.  ABSENT. */
MUST_USE enum err case_file_config(struct case_file *, const char **path,
    struct why *);
/* NAME in the folder.  Memory: the case's. */
const char *case_file_path(struct case_file *, const char *name);

/* A JSON file of the case in lines, as people and diffs read it. */
MUST_USE enum err case_file_store(const char *dir, const char *name,
    struct str json, struct why *);
/* {"success":...,"error":...,"mutations":[...]}; without a class no error. */
void case_file_put_expected(struct buf *, struct str class, struct str code,
    struct str message, struct str mutations);

#endif
