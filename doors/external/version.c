#include "doors/external/version.h"

/* ---- The choice --------------------------------------------------------- */

enum version_choice
version_choose(const struct version_facts *f)
{
	if (f->has_task && (f->named == 0 || f->named == f->task_version))
		return VERSION_KEPT;
	if (f->newest == 0)
		return VERSION_LISTED;
	if (f->named == 0)
		return f->published != 0 ? VERSION_PUBLISHED : VERSION_NEWEST;
	if (f->is_registered)
		return VERSION_NAMED;
	return f->named > f->newest && !f->is_strict ? VERSION_AHEAD :
	    VERSION_UNKNOWN;
}

/* ABSENT is no error: `found` says whether it is there. */
static enum err
is_found(enum err e, const struct why *first, bool *found, struct why *w)
{
	*found = e == OK;
	return e == OK || e == ERR_ABSENT ? OK : why(w, e, "%s", first->text);
}

static enum err
find_version(struct store *st, const struct version_look *x,
    uint64_t version, struct arena *a, struct store_registration *r,
    bool *found, struct why *w)
{
	struct why first = WHY_INIT;

	*found = false;
	return version == 0 ? OK : is_found(store_registration_get(st,
	    x->backend, x->connector, version, a, r, &first), &first, found,
	    w);
}

enum err
version_look(struct store *st, struct version_look *x, struct arena *a,
    struct why *w)
{
	struct store_registration newest = { .version = 0 };
	struct store_registration named, published;
	struct version_facts *f = &x->facts;
	struct why first = WHY_INIT;
	uint64_t version = 0;
	bool found;

	enum err e = is_found(store_registration_newest(st, x->backend,
	    x->connector, a, &newest, &first), &first, &found, w);
	if (e == OK)
		e = find_version(st, x, f->named, a, &named,
		    &f->is_registered, w);
	first = WHY_INIT;
	if (e == OK)
		e = is_found(store_published_get(st, x->connector, &version,
		    &first), &first, &found, w);
	if (e == OK)
		e = find_version(st, x, version, a, &published, &found, w);
	if (e != OK)
		return e;
	f->newest = newest.version;
	f->published = found ? version : 0;
	x->choice = version_choose(f);
	x->version = x->choice == VERSION_KEPT ? f->task_version :
	    x->choice == VERSION_NAMED ? f->named :
	    x->choice == VERSION_PUBLISHED ? version :
	    x->choice == VERSION_UNKNOWN ? 0 : f->newest;
	x->hash = x->choice == VERSION_KEPT ? x->task_hash :
	    x->choice == VERSION_NAMED ? named.hash :
	    x->choice == VERSION_PUBLISHED ? published.hash :
	    x->choice == VERSION_NEWEST || x->choice == VERSION_AHEAD ?
	    newest.hash : STR("");
	return OK;
}

void
version_put_warning(const struct version_look *x, struct buf *out)
{
	buf_printf(out, "version %llu is newer than %llu, the newest that is "
	    "registered, and runs as that one; argiope external register %.*s "
	    "--backend %.*s makes it known",
	    (unsigned long long)x->facts.named,
	    (unsigned long long)x->facts.newest, STR_FMT(x->connector),
	    STR_FMT(x->backend));
}

/* ---- Connectors of versions ---------------------------------------------- */

void
versions_free(struct versions *v)
{
	for (size_t i = 0; i < v->n; i++)
		connector_release(&v->list[i]);
	mem_free(&v->list);
	v->n = v->cap = 0;
}

struct held_connector *
versions_find(const struct versions *v, struct held_connector *listed,
    struct str hash)
{
	if (listed != NULL && (hash.n == 0 || external_connector_api(
	    listed->connector) == NULL || str_eq(external_connector_hash(
	    listed->connector), hash)))
		return listed;
	for (size_t i = 0; hash.n > 0 && i < v->n; i++)
		if (str_eq(external_connector_hash(v->list[i]->connector),
		    hash))
			return v->list[i];
	return NULL;
}

/* Release connectors that no task holds, the oldest first. */
static void
forget_idle(struct versions *v)
{
	size_t idle = 0, kept = 0;

	for (size_t i = 0; i < v->n; i++)
		idle += v->list[i]->held == 1;
	for (size_t i = 0; i < v->n; i++) {
		if (v->list[i]->held == 1 && idle >= VERSIONS_IDLE_MAX) {
			connector_release(&v->list[i]);
			idle--;
			continue;
		}
		v->list[kept++] = v->list[i];
	}
	v->n = kept;
}

enum err
versions_add(struct versions *v, struct str hash, struct str declaration,
    struct held_connector **out, struct why *w)
{
	struct external_connector *c;
	struct why first = WHY_INIT;

	if (external_connector_load(declaration, NULL, &c, &first) != OK)
		return why(w, ERR_CORRUPT, "the stored connector %.*s: %s",
		    STR_FMT(hash), first.text);
	if (!str_eq(external_connector_hash(c), hash)) {
		external_connector_free(&c);
		return why(w, ERR_CORRUPT, "the stored connector %.*s has "
		    "another hash", STR_FMT(hash));
	}
	forget_idle(v);
	v->list = mem_room(v->list, v->n, &v->cap, 8, sizeof(*v->list));
	*out = v->list[v->n++] = connector_new(c, NULL);
	return OK;
}
