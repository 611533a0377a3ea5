/*
 * web_documents -- a run of the connector `web_crawl`: a crawl of the engine
 * whose pages go to the caller as documents.
 *
 *     open ─► crawl ─► captures, by number ─► documents ─► batch() ─► taken
 *                          │                                            │
 *                          ▼                                            ▼
 *               earlier crawl: the same payload?             crawl over: DONE
 *
 * Batches, cursors and the end are those of document_run.h: whoever keeps the
 * documents of a batch and its cursor in one commit, and gives the last cursor
 * that was kept to the next run, loses no document in a crash and has none
 * twice.  The crawl goes on while the caller has a batch.
 *
 *     cursor                            the run
 *     empty                             begins a crawl
 *     in the middle, same parameters    goes on with its crawl, if that was
 *                                       neither cancelled nor deleted
 *     in the middle, otherwise          begins a crawl, and compares it with
 *                                       what the one before was compared with
 *     at the end                        begins a crawl, and gives what is new
 *                                       or changed
 *
 * A page is new or changed unless the earlier crawl has a capture of its URL
 * with the same payload digest.  Pages that are gone are not reported.
 *
 * Owns:    nothing of the crawl, unless `is_check`: it stays when a run is
 *          freed, and its caller deletes it by crawl_delete()
 *          (web_documents_list_crawls()).  A run that goes on from a cursor
 *          uses the crawls that the cursor names (web_documents_crawls()); when
 *          they are gone, it gives all pages.
 * Thread:  home's; documents are made on the pool.
 * Limits:  WEB_DOCUMENTS_*_MAX.
 * Story:   engine/harvest/DESIGN.md
 * Source:  contracts/external.md §6, §11.
 */
#ifndef ENGINE_HARVEST_WEB_DOCUMENTS_H
#define ENGINE_HARVEST_WEB_DOCUMENTS_H

#include "engine/harvest/document_run.h"

/* Captures that are looked at for a batch. */
#define WEB_DOCUMENTS_PIECE_MAX 50u
/* Bytes of documents behind which a batch ends. */
#define WEB_DOCUMENTS_BATCH_BYTES_MAX ((size_t)1 << 20)
/* Decoded bytes of a page; the rest of a longer one is not read. */
#define WEB_DOCUMENTS_BODY_BYTES_MAX ((uint64_t)4 << 20)
/* Crawls that one call of web_documents_list_crawls() looks at. */
#define WEB_DOCUMENTS_LOOKS_MAX 10000u
/* Crawls that a cursor names. */
#define WEB_DOCUMENTS_CURSOR_CRAWLS_MAX 2u

struct web_documents;
struct web_run;

/* State that all runs share.  The engine is one with `doors` that has been
 * opened. */
struct web_documents *web_documents_new(struct engine *, struct loop *home);
/* When the engine was freed, and no run is left.  NULL is allowed. */
void web_documents_free(struct web_documents **);

struct web_documents_options {
	/* As external_params_check() has written them. */
	struct str params;
	/* Of the crawl, if one begins: a run that is opened with a key that
	 * was used takes that crawl.  So it names task and attempt. */
	struct str key;
	struct str name;             /* of the crawl, for people; or empty */
	/* As the last batch that was kept had it; empty: at the beginning. */
	struct str cursor;
	/* The cursor was kept with a batch of this run, by an earlier process;
	 * if it says that the run has ended, it has. */
	bool resumes;
	/* The run's crawl is deleted before ended() is called, unless the
	 * engine closes. */
	bool is_check;
	/* As those of struct document_run_options. */
	void (*batch)(void *arg, const struct document_batch *);
	void (*note)(void *arg, const struct document_note *);   /* or NULL */
	void (*ended)(void *arg, const struct document_end *);
	void *arg;
};

/*
 * Begin.  The options' texts are copied; callbacks come later.  Errors: INPUT
 * and FULL: the parameters or the cursor, with the field "params...." or
 * "cursor....".
 */
MUST_USE enum err web_documents_open(struct web_documents *,
    const struct web_documents_options *, struct web_run **, struct why *);
/* The caller has the batch; the next one, or the end, may come. */
void web_documents_taken(struct web_run *);
/* Cancel the crawl and give no further batch; ended() follows soon. */
void web_documents_stop(struct web_run *);
/* `answers`: captures that were looked at; `broken`: those that could not be
 * read, and have no document. */
struct document_look web_documents_look(const struct web_run *);
/* After ended(), also from there; or when the engine was freed.  NULL is
 * allowed. */
void web_documents_close(struct web_run **);

/*
 * The crawls that a run which goes on from this cursor reads or compares with,
 * the cursor's own first.  0: it names none, or is no cursor.
 */
size_t web_documents_crawls(struct str cursor,
    uint32_t crawls[static WEB_DOCUMENTS_CURSOR_CRAWLS_MAX]);

/* A crawl that has ended and was not deleted. */
struct web_crawl {
	uint32_t id;
	struct str key;              /* borrowed until the home loop's turn
	                              * ends */
	struct wall ended;
};
/*
 * List crawls whose key begins with `prefix`, at most `most`: from number
 * *below down, the newest first, UINT32_MAX for all.  It looks at no more than
 * WEB_DOCUMENTS_LOOKS_MAX crawls.  *below is then where the next call goes on,
 * and UINT32_MAX again after the oldest.
 */
size_t web_documents_list_crawls(const struct web_documents *,
    struct str prefix, uint32_t *below, struct web_crawl *, size_t most);

#endif
