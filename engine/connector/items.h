/*
 * items -- what a platform's answers contain: its items (posts, photos), and
 * the columns of a table of them.
 *
 * A harvest counts items as answers arrive, and an export reads them from WARC
 * files later.  Both call these functions, so that their numbers agree.
 *
 *     recognises(uri)                    is it an answer with such items?
 *         body, cut by `framing` ─► text ─► each() ─► item, item ...
 *             item ─► row_begin(), then row_cell() for each column
 *
 * Nothing here reads files, clocks or secrets.  A text is bytes from outside:
 * whatever it contains ends no process; a wrong type or a missing field is told
 * and costs one item or one cell.
 *
 * Memory: what an item shows borrows from its text's arena.
 * Thread: any; pure.
 * Source: contracts/connector.md section 4, export.md sections 4 and 5.
 */
#ifndef ENGINE_CONNECTOR_ITEMS_H
#define ENGINE_CONNECTOR_ITEMS_H

#include <yyjson.h>

#include "base/arena.h"
#include "base/err.h"
#include "engine/connector/item_date.h"

struct connector_items;

/* How an answer's decoded body is cut into texts. */
enum item_framing {
	ITEM_FRAMING_DOCUMENT,  /* the whole body is one text */
	ITEM_FRAMING_LINES,     /* each line is one; empty ones are left out */
	ITEM_FRAMING_EVENTS     /* what stands between two empty lines is one */
};

/* One text of an answer, and where it came from. */
struct item_text {
	struct str uri;           /* that was asked for */
	struct str text;
	struct wall received;     /* 0: not known */
};

enum item_kind {
	ITEM_FOUND,
	/* The platform says that the item `deletion` was deleted. */
	ITEM_DELETED,
	/* It says the same of all items of `owner`. */
	ITEM_OWNER_DELETED,
	/* What should be an item lacks the field `lacks`. */
	ITEM_BROKEN
};
struct item {
	const struct connector_items *of;
	enum item_kind kind;
	struct str id;            /* equal ones are the same item */
	struct str owner;         /* id of its account; empty: not known */
	struct str deletion;      /* how a deletion names it; empty: by `id` */
	struct item_date date;    /* `known` false: it has none */
	yyjson_val *json;
	yyjson_val *within;       /* the item that it came with; or NULL */
	const char *lacks;
	/* Bytes of its text were no UTF-8; told with the text's first item. */
	bool repaired;
};

/* Called for each item, in order.  Its error ends each(), which returns it. */
typedef enum err item_fn(void *arg, const struct item *, struct why *);

/* --- tables ------------------------------------------------------------- */

enum cell_type {
	CELL_NULL,
	CELL_VALUE,    /* of the item's JSON; lists and objects as JSON text */
	CELL_TEXT,
	CELL_DATE,
	CELL_END       /* the row ends before this column */
};
struct cell {
	enum cell_type type;
	union {
		yyjson_val *value;
		struct str text;
		struct item_date date;
	};
};

/* What row_at() found last: neighbours of a column are often there, too. */
struct row_parent {
	yyjson_val *root;
	struct str path;
	yyjson_val *found;
};

#define ROW_PARTS_MAX 8
#define ROW_LACKS_MAX 8
struct row {
	const struct item *item;
	struct arena *arena;      /* for the texts that are made for cells */
	struct buf *scratch;
	yyjson_val *part[ROW_PARTS_MAX];   /* what its prepare() found */
	struct row_parent parent;
	/* Fields that every such item should have, and that this one lacks. */
	const char *lacks[ROW_LACKS_MAX];
	size_t lacks_n;
};

struct column {
	const char *name;
	const char *meaning;      /* for people: a half sentence */
	void (*fill)(struct row *, const struct column *, struct cell *);
	const char *at;           /* what fill() reads: its own to interpret */
};

/* Which of SFM's two writers of tables a table must equal. */
enum table_dialect { TABLE_PETL, TABLE_PANDAS };

struct item_table {
	enum table_dialect dialect;
	const struct column *columns;
	size_t columns_n;
	void (*prepare)(struct row *);     /* NULL: nothing to prepare */
};

struct connector_items {
	const char *label;        /* "tweets" */
	enum item_framing framing;
	/* They are in `resource` records, too, not only in responses. */
	bool in_resources;
	/* Exports leave out what was deleted later, unless told otherwise. */
	bool honours_deletes;
	/* `content_type`: of the answer, lower case without parameters. */
	bool (*recognises)(struct str uri, struct str content_type);
	/* The same where a user named the type; NULL: no difference. */
	bool (*recognises_named)(struct str uri, struct str content_type);
	/*
	 * Find the items of one text.  Errors: INPUT when the text is not what
	 * such an answer consists of; those of `fn`.
	 */
	enum err (*each)(const struct connector_items *,
	    const struct item_text *, struct arena *, item_fn *fn, void *arg,
	    struct why *);
	const struct item_table *table;    /* may be shared */
	/* What a text is that each() cannot read; NULL: no JSON. */
	const char *malformed;
	/* Of a type whose platforms are declared; NULL: of all others. */
	const struct item_declared *declared;
	/* Of a platform that is declared: those of its type, which are in the
	 * list of types; NULL: these are. */
	const struct connector_items *row;
};

/*
 * A platform that is declared: the WARC file begins with a description of it
 * (contracts/platforms.md section 14), from which items are made that recognise
 * and find those of its answers.  Without one the type recognises nothing.
 */
struct item_declared {
	/*
	 * The items of that description; whoever makes them frees them.  They
	 * have its columns; where it names none, those of `first`, an item or
	 * NULL.  Errors: INPUT.
	 */
	enum err (*make)(struct str description, yyjson_val *first,
	    struct connector_items **out, struct why *);
	void (*free)(struct connector_items **);
	/* Whether the description names no columns. */
	bool (*wants_first)(const struct connector_items *);
	/* Whether an answer is of the described platform. */
	bool (*recognises)(const struct connector_items *, struct str uri);
};

/* Begin a row; `arena` and `scratch` serve all its cells. */
void row_begin(struct row *, const struct item *, struct arena *arena,
    struct buf *scratch);
/* Fill one cell. */
void row_cell(struct row *, const struct column *, struct cell *);

/* --- for those who write columns ---------------------------------------- */

/* Note that the item lacks a field that it should have. */
void row_lacks(struct row *, const char *field);
/* The value itself; NULL and null make an empty cell. */
void cell_value(struct cell *, yyjson_val *);
/* A text; one without bytes' address is an empty cell. */
void cell_text(struct cell *, struct str);
/* What was gathered in `scratch`, kept by the row's arena. */
void cell_scratch(struct row *, struct cell *);
/*
 * A text on one line: each LF becomes a blank; CRs are dropped if `drop_cr`.
 * Anything but a text makes an empty cell.
 */
void cell_line(struct row *, yyjson_val *, bool drop_cr, struct cell *);
/*
 * Functions for columns of most tables: the value at `at`, and the item's date.
 * Where there is none the row lacks `at`.
 */
void fill_value_at(struct row *, const struct column *, struct cell *);
void fill_item_date(struct row *, const struct column *, struct cell *);
/*
 * The member `name` of an object; NULL when `object` is none.  Inline, so that
 * the length of a name that is written out is known.
 */
static inline yyjson_val *
json_member(yyjson_val *object, const char *name)
{
	return yyjson_obj_getn(object, name, strlen(name));
}
/* The value at "a.b.c"; NULL when it is not there. */
yyjson_val *json_at(yyjson_val *, const char *path);
/* The same in an object of the row. */
yyjson_val *row_at(struct row *, yyjson_val *root, const char *path);
/* Python's truth: not null, false, 0, "", [] or {}. */
bool json_is_true(yyjson_val *);
/* A text as it is, a number as its digits; empty for anything else. */
struct str json_id(yyjson_val *, struct arena *);

/* --- the table of types -------------------------------------------------- */

/* A type of harvest (contracts/platforms.md section 2) and its items. */
struct item_type {
	const char *type;
	const struct connector_items *items;
};
const struct item_type *item_types(size_t *n);
/* NULL: there is none of that name. */
const struct connector_items *item_type_find(struct str type);
/* The first type with these items. */
const char *item_type_name(const struct connector_items *);
/* Those of the type whose platforms are declared. */
const struct connector_items *item_type_declared(void);

#endif
