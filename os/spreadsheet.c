#include "os/spreadsheet.h"

#include <errno.h>
#include <xlsxwriter.h>

#include "base/text.h"
#include "os/file.h"

struct spreadsheet {
	lxw_workbook *book;
	lxw_worksheet *sheet;
	const char *path;
	char *dir;              /* the library keeps the pointer */
};

/* A fixed date of making: the same cells are to give the same bytes. */
#define CREATED_S 946684800     /* 2000-01-01 */

enum err
spreadsheet_open(const char *path, const char *dir, struct spreadsheet **out,
    struct why *w)
{
	lxw_workbook_options options = { .constant_memory = LXW_TRUE,
		.use_zip64 = LXW_TRUE };
	lxw_doc_properties properties = { .created = CREATED_S };
	int fd = -1;

	/* The library would find out at the end, and lose a file then. */
	*out = NULL;
	enum err e = file_open(path, FILE_CREATE, &fd, w);
	if (e != OK)
		return e;
	file_close(&fd);
	struct spreadsheet *b = mem_new(sizeof(*b));
	b->dir = mem_copy_text(dir);
	b->path = mem_copy_text(path);
	options.tmpdir = b->dir;
	b->book = workbook_new_opt(path, &options);
	if (b->book != NULL) {
		b->sheet = workbook_add_worksheet(b->book, NULL);
		workbook_set_properties(b->book, &properties);
	}
	/* The sheet's temporary file is made with it. */
	if (b->sheet == NULL || b->sheet->optimize_tmpfile == NULL) {
		spreadsheet_abandon(&b);
		return why(w, ERR_IO, "cannot make a temporary file in %s",
		    dir);
	}
	*out = b;
	return OK;
}

static void
check_cell(uint32_t row, uint32_t column)
{
	CHECK(row < SPREADSHEET_ROWS_MAX &&
	    column < SPREADSHEET_COLUMNS_MAX);
}

void
spreadsheet_text(struct spreadsheet *b, uint32_t row, uint32_t column,
    const char *text)
{
	check_cell(row, column);
	CHECK(worksheet_write_string(b->sheet, row, (lxw_col_t)column, text,
	    NULL) == LXW_NO_ERROR);
}

void
spreadsheet_number(struct spreadsheet *b, uint32_t row, uint32_t column,
    double v)
{
	check_cell(row, column);
	CHECK(worksheet_write_number(b->sheet, row, (lxw_col_t)column, v,
	    NULL) == LXW_NO_ERROR);
}

void
spreadsheet_bool(struct spreadsheet *b, uint32_t row, uint32_t column, bool v)
{
	check_cell(row, column);
	CHECK(worksheet_write_boolean(b->sheet, row, (lxw_col_t)column, v,
	    NULL) == LXW_NO_ERROR);
}

/* --- the end ------------------------------------------------------------ */

static void
free_rest(struct spreadsheet **bp)
{
	free((*bp)->dir);
	free((char *)(uintptr_t)(*bp)->path);
	mem_free(bp);
}

/*
 * The library does not look whether its temporary files could be written: it
 * copies the rows into the sheet, and packs that.
 */
static enum err
check_room(struct spreadsheet *b, struct why *w)
{
	FILE *rows = b->sheet->optimize_tmpfile;
	uint64_t free_bytes = 0;
	long bytes;

	if (fflush(rows) != 0 || ferror(rows) || (bytes = ftell(rows)) < 0)
		return why_errno(w, err_from_errno(errno),
		    "cannot write the rows of %s", b->path);
	enum err e = file_free_bytes(b->dir, &free_bytes, w);
	if (e == OK && free_bytes < 2 * (uint64_t)bytes)
		e = why(w, ERR_DISK_FULL, "%s needs %llu bytes for a moment, "
		    "and %llu are free", b->path,
		    2 * (unsigned long long)bytes,
		    (unsigned long long)free_bytes);
	return e;
}

enum err
spreadsheet_close(struct spreadsheet **bp, struct why *w)
{
	struct spreadsheet *b = *bp;
	enum err e = check_room(b, w);

	if (e != OK) {
		spreadsheet_abandon(bp);
		return e;
	}
	lxw_error fault = workbook_close(b->book);
	if (fault != LXW_NO_ERROR)
		e = why(w, ERR_IO, "cannot write %s: %s", b->path,
		    lxw_strerror(fault));
	free_rest(bp);
	return e;
}

void
spreadsheet_abandon(struct spreadsheet **bp)
{
	struct spreadsheet *b = *bp;

	if (b == NULL)
		return;
	/* The library closes it only where it has written the file. */
	if (b->sheet != NULL && b->sheet->optimize_tmpfile != NULL)
		fclose(b->sheet->optimize_tmpfile);
	if (b->book != NULL)
		lxw_workbook_free(b->book);
	free_rest(bp);
}

/* --- texts -------------------------------------------------------------- */

/* "_x0041_" would be read as "A". */
static bool
is_escape(struct str s)
{
	if (s.n < 7 || s.p[0] != '_' || s.p[1] != 'x' || s.p[6] != '_')
		return false;
	for (int i = 2; i < 6; i++)
		if (ascii_hex_value(s.p[i]) < 0)
			return false;
	return true;
}

/* How many characters at the start of `s` are ASCII and stay what they are. */
static size_t
plain_characters(struct str s)
{
	size_t n = 0;

	while (n < s.n && (unsigned char)s.p[n] - 1u < 0x7f && s.p[n] != '_')
		n++;
	return n;
}

/* The character at the start of `s`; its length. */
static size_t
put_character(struct buf *b, struct str s)
{
	struct str noncharacter = STR("\xef\xbf");
	size_t n = MAX(text_utf8_length(s), (size_t)1);

	if (s.p[0] == '\0')
		buf_put_text(b, "_x0000_");
	else if (is_escape(s))
		buf_put_text(b, "_x005F_");
	else if (n == 3 && str_starts(s, noncharacter) &&
	    (unsigned char)s.p[2] >= 0xbe)
		buf_put_text(b, (unsigned char)s.p[2] == 0xbe ? "_xFFFE_" :
		    "_xFFFF_");
	else
		buf_put(b, s.p, n);
	return n;
}

bool
spreadsheet_put_text(struct buf *b, struct str s)
{
	size_t left = SPREADSHEET_TEXT_MAX;

	while (s.n > 0 && left > 0) {
		size_t n = MIN(plain_characters(s), left);
		buf_put(b, s.p, n);
		left -= n;
		s = str_from(s, n);
		if (s.n == 0 || left == 0)
			break;
		s = str_from(s, put_character(b, s));
		left--;
	}
	return s.n > 0;
}
