/*
 * flickr_own -- a run over people or photos, and its steps.
 *
 *     user:    find ─► person ─► list ─► photo ─► sizes ─► photo ... list ...
 *     photo:   photo ─► sizes ─► photo of the next seed
 *
 * Lists are read from the newest photo on, by the numbers of their pages.
 *
 * Thread: one at a time.
 */
#ifndef ENGINE_CONNECTOR_FLICKR_FLICKR_OWN_H
#define ENGINE_CONNECTOR_FLICKR_FLICKR_OWN_H

#include "engine/connector/seed_run.h"

#define FLICKR_PAGE_MAX 500u         /* photos of a page */
#define FLICKR_ID_BYTES_MAX 64u      /* of a person's id */
#define FLICKR_SECRET_BYTES_MAX 24u

enum flickr_step {
	FLICKR_FIND,                 /* the id of a person by the name */
	FLICKR_PERSON,               /* the name of a person by the id */
	FLICKR_LIST,                 /* a page of the person's photos */
	FLICKR_PHOTO,                /* one of them */
	FLICKR_SIZES,                /* the addresses of its files */
	FLICKR_STEPS_N
};

struct flickr_entry {
	uint64_t id;
	char secret[FLICKR_SECRET_BYTES_MAX + 1];    /* or "" */
	bool wanted;
};

struct flickr_run {
	struct seed_run seed;

	/* Part of the checkpoint. */
	struct buf person;           /* the id; empty: not found yet */
	uint64_t since, newest;      /* ids of photos; 0: none */
	uint64_t page;               /* number of the one at hand, from 1 */
	uint64_t total;              /* photos in the list, by its last page */
	uint64_t least;              /* the same, by the page with fewest */
	uint64_t seen;               /* photos that were shown */
	bool has_more;               /* there is a page after that one */
	bool gone_back;              /* it is read again, or was just now */
	/* All of the page at hand, and which of them is. */
	struct flickr_entry photos[FLICKR_PAGE_MAX];
	size_t photos_n, photo;
};

/* Whether the run is about people. */
bool flickr_is_user(const struct flickr_run *);
/* Whether it can be the id of a person. */
bool flickr_is_person(struct str);
/* The labels of sizes whose addresses are wanted; NULL: the usual ones. */
yyjson_val *flickr_sizes(const struct flickr_run *);
/* The list of the person begins, where the last run ended if this one is
 * incremental. */
void flickr_begin_list(struct flickr_run *);
/* The name of the list's state. */
void flickr_state_key(const struct flickr_run *, struct buf *key);

/* What an answer says; see struct seed_run_kind. */
void flickr_answer(struct seed_run *, const struct connector_answer *,
    const struct connector_findings *);

#endif
