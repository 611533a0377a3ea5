/*
 * document_own -- what the files of document_run share.
 */
#ifndef ENGINE_HARVEST_DOCUMENT_OWN_H
#define ENGINE_HARVEST_DOCUMENT_OWN_H

#include "base/list.h"
#include "engine/connector/items.h"
#include "engine/control/control.h"
#include "engine/harvest/document_crawl.h"
#include "engine/harvest/document_cursor.h"
#include "engine/harvest/driver.h"
#include "engine/harvest/order_text.h"

/* ---- document_items.c: the documents of an answer --------------------- */

struct document_list {
	struct arena arena;
	struct document *list;
	size_t n, cap;
	struct str id_member;        /* as document_run_options has it */
	uint64_t broken;             /* since the beginning */
};
/*
 * Find the reader of the items in an order's answers.  One described by the
 * order is in *made, to be freed by document_items_free().  Errors: STATE, as
 * document_run_open(); INPUT: the description.
 */
MUST_USE enum err document_items_find(const struct connector_order *,
    const struct connector_items **out, struct connector_items **made,
    struct why *);
void document_items_free(struct connector_items **made);
/* Errors: INPUT: the answer is none that has such items. */
MUST_USE enum err document_items_take(const struct connector_items *,
    const struct driver_answered *, struct document_list *, struct why *);

/* ---- document_run.c --------------------------------------------------- */

struct documents {
	struct engine *engine;
	struct loop *home;
	struct budgets *budgets;
	struct list crawls;          /* struct document_crawl */
	/* Of all runs without an archive. */
	struct document_crawl *plain, *as_crawl;
};

enum document_state {
	DOCUMENT_RUN_BEGINS,         /* waits for its crawl */
	DOCUMENT_RUN_ASKS,           /* the driver makes calls */
	DOCUMENT_RUN_GIVES,          /* the caller has a batch */
	DOCUMENT_RUN_ENDS            /* ended() is called, or about to be */
};

/* A credential after order_text_hide(). */
struct document_credential {
	struct secret_memory memory; /* of all that follows */
	const struct connector_credential *credentials;
	size_t credentials_n;
	struct driver_secret *secrets;
	size_t secrets_n;
};

struct document_run {
	struct documents *all;
	struct document_run_options options;
	struct arena arena;
	enum document_state state;
	struct document_wait wait;
	struct document_crawl *archive;      /* NULL: it has none */
	const bool *is_ending;       /* document_archive's; or NULL */
	struct order_text text;
	struct secret_memory secrets;        /* of the text's credential */
	/* The credential that takes its place once no call is out. */
	struct document_credential next_credential;
	bool has_next_credential;
	struct buf digest;           /* of the order, hex */
	struct totals totals;
	size_t notes_told;
	struct driver *driver;
	const struct connector_items *items;
	struct connector_items *made;
	struct document_cursor began;        /* of the run */
	struct buf kept, next;       /* cursors: that was taken, behind it */
	struct document_list found;
	bool holds;                  /* the driver, for a batch */
	bool stopped;
	uint64_t answers, given;     /* answers: at the last look */
	struct document_end end;
	struct mail end_mail;
};

#endif
