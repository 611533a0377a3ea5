/*
 * document_run -- a run of a connector whose items go to the caller as
 * documents, by the driver of harvests.
 *
 *     open ─► call ─► answer ─► batch() ─► document_run_taken() ─► call ...
 *                                  │ documents and cursor          │
 *                                  ▼                               ▼
 *                         kept by one commit              ended(): DONE
 *
 * A batch has the documents of an answer, or of the few that were out at the
 * same time, and the cursor behind them.  Whoever keeps both in one commit, and
 * gives the last cursor that was kept to the next run, loses no document in a
 * crash and has none twice.  No call is made while a batch is with the caller.
 *
 * Answers are archived for a run that has a struct document_archive.  A batch
 * then comes after the commit of the records of its answers, so that what a
 * cursor covers is in the WARC files.
 *
 * Owns:    the crawls that the calls are made in: "external", which have no
 *          captures, and those of archives.
 * Thread:  home's.
 * Story:   engine/harvest/DESIGN.md
 * Source:  contracts/external.md §1, §3, contracts/connector.md §3.
 */
#ifndef ENGINE_HARVEST_DOCUMENT_RUN_H
#define ENGINE_HARVEST_DOCUMENT_RUN_H

#include "base/bytes.h"
#include "base/err.h"
#include "engine/connector/item_date.h"

#define DOCUMENT_TRIES_MAX 3u        /* of a run: calls that fail for good */

struct documents;
struct document_run;
struct engine;
struct loop;

/*
 * What all runs share: crawls, and rate limits by credential.  The engine is
 * one with `doors` that has been opened.
 */
struct documents *documents_new(struct engine *, struct loop *home);
/* When the engine was freed, and no run is left.  NULL is allowed. */
void documents_free(struct documents **);

struct document {
	struct str id;               /* the platform's */
	struct item_date date;
	struct str json;             /* on one line */
};
struct document_batch {
	const struct document *list;
	size_t n;                    /* 0: the cursor alone has moved */
	struct str cursor;           /* of document_run_options.cursor */
};

enum document_end_kind {
	DOCUMENTS_DONE,
	DOCUMENTS_FAILED,
	DOCUMENTS_STOPPED,           /* by document_run_stop() */
	DOCUMENTS_INTERRUPTED        /* the engine closes, or an operator has
	                              * ended the crawl */
};
/* Who has to act on a failure. */
enum document_fault { DOCUMENT_SYSTEM, DOCUMENT_CONFIG, DOCUMENT_TRANSIENT };
/* "system", "config", "transient" */
const char *document_fault_name(enum document_fault);

struct document_end {
	enum document_end_kind kind;
	enum document_fault fault;   /* the rest: of FAILED */
	struct str code, text;
};

/* A note of the connector, for people. */
struct document_note {
	const char *level;           /* "info", "warning" */
	struct str code, text;
};

/* A call that was made.  Its URL has no secrets. */
struct document_call {
	struct str method, url;
	int status;                  /* 0: no answer came */
	const char *failure;         /* of status 0: "timeout" */
};

/* The names of archives begin with it. */
#define DOCUMENT_ARCHIVE_PREFIX "external task "

/* Where the answers of a run are archived: in a crawl, with all secrets cut
 * out, whatever warc.redact says. */
struct document_archive {
	/* The crawl begins under the key, or is the one that a run of an
	 * earlier process began and did not end. */
	struct str key, name;
	const struct str *tags;
	size_t tags_n;
	/* Read at the run's end: whether the program ends, so that the crawl
	 * is not complete and the next process goes on with it. */
	const bool *is_ending;
};

struct document_run_options {
	/*
	 * A start message of harvests: JSON with "type", "seeds", "options",
	 * "credentials".  The option `incremental` is true unless it is there.
	 */
	struct str order;
	/*
	 * As the last batch that was kept had it; empty: at the beginning.
	 * After a run that has ended well the next one asks for what is new,
	 * where the connector can.  A place in the middle counts if the order,
	 * but for the credentials, is still the same; else the run starts over.
	 */
	struct str cursor;
	/* Values of earlier credentials, with which the cursor may have been
	 * made: they are cut out of records, too. */
	const struct str *former;
	size_t former_n;
	/* The cursor was kept with a batch of this run, by an earlier process;
	 * if it says that the run has ended, it has. */
	bool resumes;
	/* The member of a document that has its id: put in front where the
	 * platform's item has no such member.  STR_NONE: none is put. */
	struct str id_member;
	/* HOST:PORT, whose addresses may be private: of a connector that an
	 * operator has declared, its own. */
	const struct str *private_hosts;
	size_t private_n;
	const struct document_archive *archive;      /* copied; NULL: none */
	/* Tries of a call, and calls that may fail for good; 0: as harvests
	 * do, which may take hours, and DOCUMENT_TRIES_MAX. */
	unsigned call_tries_max, tries_max;
	/* It is valid, and no call is made, until document_run_taken(), which
	 * may be called from here. */
	void (*batch)(void *arg, const struct document_batch *);
	void (*note)(void *arg, const struct document_note *);   /* or NULL */
	void (*called)(void *arg, const struct document_call *); /* or NULL */
	/* Once, never before document_run_open() returns.  Batches that were
	 * not taken are not valid any more. */
	void (*ended)(void *arg, const struct document_end *);
	void *arg;
};

/*
 * Begin.  The options' texts are copied; callbacks come later.  Errors:
 * INPUT: the order, or the cursor, with the field, and in *code the word of
 * contracts/harvest.md §7; STATE: the connector's documents cannot be given so:
 * a stream, or a crawl of the web.
 */
MUST_USE enum err document_run_open(struct documents *,
    const struct document_run_options *, struct document_run **,
    const char **code, struct why *);
/*
 * Go on with another credential: the value of "credentials" in an order, JSON,
 * copied.  A call that is out ends with the former one.  Errors: INPUT: the
 * connector does not take it, with the field; then nothing has changed.
 */
MUST_USE enum err document_run_set_credential(struct document_run *,
    struct str credentials, struct why *);
/* The caller has the batch; the next one, or the end, may come. */
void document_run_taken(struct document_run *);
/* Make no further call and cut those that are out; ended() follows soon. */
void document_run_stop(struct document_run *);

struct document_look {
	uint64_t answers;
	uint64_t documents;          /* given */
	uint64_t broken;             /* items without an id, which are left
	                              * out */
	const char *waits_for;       /* "the rate limit"; NULL: for nothing */
	int64_t waits_ms;
};
struct document_look document_run_look(const struct document_run *);

/* After ended(), also from there; or when the engine was freed.  NULL is
 * allowed. */
void document_run_free(struct document_run **);

#endif
