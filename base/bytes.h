/*
 * bytes -- borrowed slices and a growable buffer.
 *
 * `struct str` borrows: it owns nothing and need not end in NUL.  `struct buf`
 * owns its bytes.  Neither is shared between threads.
 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include "base/base.h"

struct str {
	const char *p;
	size_t n;
};

#define STR(literal) ((struct str){ "" literal, sizeof(literal) - 1 })
#define STR_NONE ((struct str){ NULL, 0 })
/* For printf: printf("%.*s", STR_FMT(s)). */
#define STR_FMT(s) (int)(s).n, (s).p

struct str str_of(const char *text);  /* up to its NUL; NULL gives STR_NONE */
bool str_eq(struct str, struct str);
bool str_eq_nocase(struct str, struct str);       /* ASCII letters only */
bool str_starts(struct str, struct str prefix);
bool str_starts_nocase(struct str, struct str prefix);
bool str_ends(struct str, struct str suffix);
int str_cmp(struct str, struct str);              /* by bytes, then length */
/* The same for qsort(): elements are, or begin with, a struct str. */
int str_order(const void *, const void *);
struct str str_cut(struct str, size_t from, size_t to);  /* clamped */
struct str str_from(struct str, size_t from);            /* clamped */
struct str str_trim(struct str);                  /* spaces, tabs, CR, LF */
/* Where `c` or `needle` stands first; `s.n` when it does not. */
size_t str_find_char(struct str s, char c);
size_t str_find(struct str s, struct str needle);
/* Whether `s` contains the byte `c`, which may be 0. */
bool str_has_char(struct str s, char c);
/*
 * The first row that has this text, `n` when none has.  Rows are, or begin
 * with, a const char *; one that is NULL has no text.
 */
size_t str_find_row(struct str, const void *rows, size_t n, size_t row_bytes,
    bool (*equal)(struct str, struct str));
#define STR_ROW(s, rows)                                                     \
	str_find_row(s, rows, ARRAY_LEN(rows), sizeof((rows)[0]), str_eq)
#define STR_ROW_NOCASE(s, rows)                                              \
	str_find_row(s, rows, ARRAY_LEN(rows), sizeof((rows)[0]), str_eq_nocase)
/*
 * Take the part of `*rest` before the first `sep` and leave what follows it.
 * False when `*rest` was used up: "a,b" gives "a" and "b", "a," gives "a" and
 * "", "" gives "", STR_NONE gives nothing.
 */
bool str_split(struct str *rest, char sep, struct str *part);
/* Take this character, or so many decimal digits (9 at most), off `*s`. */
bool str_take_char(struct str *, char);
bool str_take_digits(struct str *, size_t digits, int *out);
/* Decimal, whole input, no sign.  False on anything else or overflow. */
bool str_to_u64(struct str, uint64_t *out);
bool str_to_i64(struct str, int64_t *out);        /* one '-' allowed */
bool str_to_double(struct str, double *out);      /* finite, whole input */
char ascii_lower(char);
/* Write in decimal, 20 digits at most and no NUL; the place after them. */
char *ascii_put_decimal(char *to, uint64_t);
bool ascii_is_digit(char);
bool ascii_is_alpha(char);
bool ascii_is_space(char);                        /* HTML's: TAB LF FF CR SP */
int ascii_hex_value(char);                        /* -1 when it is none */
/* The byte that "%XX" at the start of a text stands for; -1: no such thing. */
int str_percent_byte(struct str);

struct buf {
	char *p;
	size_t n, cap;
};
#define BUF_INIT ((struct buf){ NULL, 0, 0 })

void buf_free(struct buf *);
void buf_clear(struct buf *);                     /* keeps the memory */
void buf_reserve(struct buf *, size_t more);      /* room behind n */
void buf_put_decimal(struct buf *, uint64_t, unsigned digits_min);
void buf_printf(struct buf *, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Append room for n bytes and return it; the caller fills it at once. */
void *buf_grow(struct buf *, size_t n);

/* Here, not in bytes.c: JSON is written by millions of short ones, and a
 * compiler that sees them makes a few instructions of each. */
static inline void
buf_put(struct buf *b, const void *p, size_t n)
{
	if (n == 0)
		return;
	if (b->cap - b->n < n)
		buf_reserve(b, n);
	memcpy(b->p + b->n, p, n);
	b->n += n;
}

static inline void
buf_put_str(struct buf *b, struct str s)
{
	buf_put(b, s.p, s.n);
}

static inline void
buf_put_text(struct buf *b, const char *text)
{
	buf_put(b, text, strlen(text));
}

static inline void
buf_put_char(struct buf *b, char c)
{
	if (b->cap == b->n)
		buf_reserve(b, 1);
	b->p[b->n++] = c;
}

/* End in a NUL that does not count in n; the text stays the buffer's. */
const char *buf_text(struct buf *);
struct str buf_str(const struct buf *);
/* Integers in network order: as keys they sort by their value. */
void buf_put_be16(struct buf *, uint16_t);
void buf_put_be32(struct buf *, uint32_t);
void buf_put_be48(struct buf *, uint64_t);
void buf_put_be64(struct buf *, uint64_t);
/* LEB128, at most 10 bytes. */
void buf_put_varint(struct buf *, uint64_t);
/* A varint length, then the bytes. */
void buf_put_field(struct buf *, struct str);

/*
 * Reads what the buf_put functions wrote.  Sticky: after the first read past
 * the end every read gives 0 or STR_NONE and `bad` stays true; check it once.
 */
struct reader {
	const char *p;
	size_t n;
	bool bad;
};
struct reader reader_of(struct str);
uint8_t read_u8(struct reader *);
uint16_t read_be16(struct reader *);
uint32_t read_be32(struct reader *);
uint64_t read_be48(struct reader *);
uint64_t read_be64(struct reader *);
uint64_t read_varint(struct reader *);
struct str read_bytes(struct reader *, size_t n);  /* borrows from the input */
struct str read_field(struct reader *);

#endif
