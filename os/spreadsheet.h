/*
 * spreadsheet -- one sheet of an xlsx file, written row by row on
 * libxlsxwriter: rows go to a temporary file, so that memory stays the same for
 * any number.
 *
 * Rows come in order, and the cells of a row in order.  The same cells give the
 * same bytes.
 *
 * Thread: one.  Limits: SPREADSHEET_ROWS_MAX, SPREADSHEET_COLUMNS_MAX; more are
 * our own mistake.
 */
#ifndef OS_SPREADSHEET_H
#define OS_SPREADSHEET_H

#include "base/bytes.h"
#include "base/err.h"

#define SPREADSHEET_ROWS_MAX 1048576u
#define SPREADSHEET_COLUMNS_MAX 16384u
/* Characters of a cell's text; Excel reads no longer ones. */
#define SPREADSHEET_TEXT_MAX 32767u

struct spreadsheet;
/*
 * Begin the file at `path`; temporary files are made in `dir`.
 * Errors: those of making a file.
 */
MUST_USE enum err spreadsheet_open(const char *path, const char *dir,
    struct spreadsheet **, struct why *);
/*
 * Write a cell.  A text stays one: no formula, number or link is made of it.
 * It is UTF-8 without NUL, which spreadsheet_put_text() makes.
 */
void spreadsheet_text(struct spreadsheet *, uint32_t row, uint32_t column,
    const char *);
void spreadsheet_number(struct spreadsheet *, uint32_t row, uint32_t column,
    double);
void spreadsheet_bool(struct spreadsheet *, uint32_t row, uint32_t column,
    bool);
/* Finish the file; closed in any case.  Errors: DISK_FULL, IO. */
MUST_USE enum err spreadsheet_close(struct spreadsheet **, struct why *);
/* Close it, and leave what was written. */
void spreadsheet_abandon(struct spreadsheet **);

/*
 * Append a text as a cell takes it, without NUL behind: at most
 * SPREADSHEET_TEXT_MAX characters; what XML cannot contain is escaped as Excel
 * does it, NUL as "_x0000_", and so is a text that looks like such an escape.
 * True: it was cut.
 */
bool spreadsheet_put_text(struct buf *, struct str utf8);

#endif
