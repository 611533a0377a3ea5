/*
 * conf -- the settled configuration: one value per row of base/settings.def and
 * per row that conf_add() took in, each with the place that it came from.
 *
 *     default  <  file  <  environment  <  --set
 *
 * The stronger place wins, whatever the order of the calls.  Files are read by
 * the caller; this module sees text only.
 *
 * A file holds lines "name = value".  "#" at the start of a line or behind a
 * blank begins a comment.  A value may stand in double quotes, with \" \\ \n
 * and \t inside.  The environment's name of fetch.tries_max is
 * ARGIOPE_FETCH_TRIES_MAX.
 *
 * Owns:    the texts of its values.
 * Thread:  written by one at start; then read by any.
 * Limits:  CONF_FILE_BYTES_MAX, and the row's own least and most.
 */
#ifndef BASE_CONF_H
#define BASE_CONF_H

#include "base/bytes.h"
#include "base/err.h"

#ifndef ARGIOPE_VERSION
#define ARGIOPE_VERSION "0"
#endif

/* Whether this build has a door: 1 or 0, by meson's option `doors`. */
#ifndef DOOR_URLFRONTIER
#define DOOR_URLFRONTIER 1
#endif
#ifndef DOOR_REALTIME
#define DOOR_REALTIME 1
#endif

#define CONF_FILE_BYTES_MAX ((size_t)1 << 20)

enum conf_id {
#define SETTING(id, ...) CONF_##id,
#include "base/settings.def"
	CONF_COUNT,                /* the first of those that were added */
	CONF_ROWS_MAX = CONF_COUNT + 64,
};

enum conf_type {
	CONF_BOOL, CONF_INT, CONF_DOUBLE, CONF_SIZE, CONF_DURATION,
	CONF_STRING, CONF_LIST, CONF_ADDRESS, CONF_CHOICE
};

enum conf_flag { CONF_RESTART = 1, CONF_SECRET = 2 };

/* A row of settings.def, or a door's. */
struct setting {
	const char *name;
	enum conf_type type;
	const char *text;      /* the default */
	double least, most;
	const char *unit;      /* the choices of a CHOICE, "this|that" */
	unsigned flags;
	const char *help;
};

/* From weak to strong. */
enum conf_origin { CONF_FROM_DEFAULT, CONF_FROM_FILE, CONF_FROM_ENV,
	CONF_FROM_FLAG };

struct conf_value {
	char *text;            /* as it was written, without quotes */
	int64_t number;        /* of BOOL, INT, SIZE, DURATION, CHOICE */
	double real;           /* of DOUBLE */
	enum conf_origin origin;
	char *place;           /* "argiope.conf:12", a variable, or NULL */
};

struct conf {
	struct conf_value values[CONF_ROWS_MAX];
};

/*
 * Take in rows of others, under a heading of their own: from then on each
 * configuration, and each text about it, has them.  Call it before conf_init()
 * and before any thread starts; texts and rows are static.  A name that is
 * there already, or more than CONF_ROWS_MAX rows, is a mistake of ours (CHECK).
 */
void conf_add(const char *heading, const struct setting *, size_t n);
/* How many rows there are: ids run from 0 up to it. */
size_t conf_rows(void);
/* The id of a row that was added, to ask for its value. */
enum conf_id conf_id_of(const struct setting *);

/* All values at their defaults. */
void conf_init(struct conf *);
void conf_free(struct conf *);

/*
 * Take in a file's text; `file` is its name in messages.  Errors: CONFIG, with
 * file, line, setting, and what would be accepted; the values before that line
 * are then set.
 */
MUST_USE enum err conf_file(struct conf *, struct str text, const char *file,
    struct why *);

/*
 * Take in all variables "ARGIOPE_<SETTING>=value" of a list as environ(7) has
 * it.  Other variables are left alone, but one that begins like a group of
 * settings and is none of them is taken for a slip.  Errors: CONFIG.
 */
MUST_USE enum err conf_env(struct conf *, const char *const *environment,
    struct why *);

/* Take in one "name=value" of the command line.  Errors: CONFIG. */
MUST_USE enum err conf_flag(struct conf *, struct str assignment,
    struct why *);

/*
 * Set one value, as if it came from `origin`; `place` may be NULL.  A weaker
 * origin than the present one is checked and then left.  A LIST of the same
 * origin gets longer unless the value is empty, which clears it; any other
 * value is replaced.  Errors: CONFIG.
 */
MUST_USE enum err conf_put(struct conf *, enum conf_id, struct str value,
    enum conf_origin, const char *place, struct why *);

/*
 * What no single row can tell: whether values fit each other.  Call it once
 * after all places were read.  Errors: CONFIG.
 */
MUST_USE enum err conf_check(const struct conf *, struct why *);

/* The values.  Asking for another type than the row's is our own mistake. */
bool conf_bool(const struct conf *, enum conf_id);
int64_t conf_int(const struct conf *, enum conf_id);
double conf_double(const struct conf *, enum conf_id);
uint64_t conf_size(const struct conf *, enum conf_id);    /* bytes */
int64_t conf_ms(const struct conf *, enum conf_id);       /* of a DURATION */
/* STRING, and any other as it was written; a NUL stands behind it. */
struct str conf_str(const struct conf *, enum conf_id);
/* The number of the word in the row's unit, from 0. */
int conf_choice(const struct conf *, enum conf_id);
/*
 * Walk a LIST: start with `*at` = 0; false at the end.  Empty words and blanks
 * around words were left out when it was set; conf_str() has them with commas.
 */
bool conf_list(const struct conf *, enum conf_id, size_t *at,
    struct str *word);

/* An ADDRESS; `host` without brackets borrows from the configuration. */
struct conf_address {
	struct str host;       /* empty: off */
	uint16_t port;
};
struct conf_address conf_address(const struct conf *, enum conf_id);

/*
 * The heading that stands above this row, or NULL when the row is not the first
 * below it.
 */
const char *conf_heading(enum conf_id);
/* The row itself, and its id by name; false when there is none. */
const struct setting *conf_setting(enum conf_id);
bool conf_find(struct str name, enum conf_id *);
/* The name most like this one, or NULL when none is near. */
const char *conf_nearest(struct str name);
/* "64KiB", "2GiB", or plain bytes; false when it is none of these. */
bool conf_read_size(struct str, int64_t *bytes);
/* "default", "argiope.conf:12", "ARGIOPE_LOOPS" or "--set". */
const char *conf_place(const struct conf *, enum conf_id);

/* Whether two configurations differ in this value. */
bool conf_differs(const struct conf *, const struct conf *, enum conf_id);
/* Exchange one value, with its origin and place; the texts stay where they
 * are in memory. */
void conf_swap(struct conf *, struct conf *, enum conf_id);

/*
 * The name of the door that a setting belongs to, when this build lacks that
 * door; else NULL.  Such a setting keeps its default: conf_put() refuses any
 * other origin with CONFIG, and the texts below leave it out.
 */
const char *conf_absent_door(enum conf_id);

/* Texts made from the table; all are appended to the buffer. */
/* "name = value    # where from", one per line; secrets are not shown. */
void conf_print(const struct conf *, struct buf *);
/* The same as a JSON array of {"name", "value", "origin", "default"}. */
void conf_print_json(const struct conf *, struct buf *);
/* A configuration file in which every default stands as a comment. */
void conf_example(struct buf *);
/* The section SETTINGS of the manual page, in man(7)'s macros. */
void conf_man(struct buf *);
/* Describes the values that the row accepts: "a whole number from 1 to 20". */
void conf_accepts(const struct setting *, struct buf *);
/* "ARGIOPE_FETCH_TRIES_MAX" for "fetch.tries_max". */
void conf_env_name(const char *name, struct buf *);

#endif
