#include "engine/ledger/claims.h"

#include "engine/archive/archive_port.h"
#include "base/map.h"
#include "engine/ledger/warc_set.h"
#include "os/clock.h"
#include "os/log.h"

#define META_IDENTITY STR("identity")
#define META_ORIGIN STR("origin")
#define META_MARK STR("mark/")

/* The entries of the index for one root. */
struct claim {
	struct str root;
	struct position now;
};

struct claims {
	struct arena arena;
	struct stored_paths paths;
	enum ledger_claims mode;
	struct index *index;
	struct map roots;            /* struct claim by root */
	struct identity identity;
	bool new_id, new_origin;     /* to be put by claims_start() */
	uint64_t start;              /* random: this process */
};

/* --- reading the index ------------------------------------------ */

static enum err
get_text(struct claims *c, struct str key, const char **out, struct why *w)
{
	struct str value;
	enum err e = index_get(c->index, INDEX_META, key, &c->arena, &value,
	    NULL);

	*out = e == OK ? arena_copy(&c->arena, value).p : "";
	return e == OK || e == ERR_ABSENT ? OK : why(w, e, "cannot read the "
	    "index: %s", err_text(e));
}

enum err
claims_new(const char *home, enum ledger_claims mode, struct index *x,
    struct claims **out, struct why *w)
{
	struct claims *c = mem_new(sizeof(*c));

	c->paths.home = arena_copy(&c->arena, str_of(home)).p;
	c->paths.origin = "";
	c->mode = mode;
	c->index = x;
	clock_random(&c->start, sizeof(c->start));
	c->start |= 1;
	enum err e = get_text(c, META_ORIGIN, &c->paths.origin, w);
	index_set_context(x, &c->paths);
	*out = c;
	return e;
}

void
claims_free(struct claims **cp)
{
	if (*cp == NULL)
		return;
	map_free(&(*cp)->roots);
	arena_free(&(*cp)->arena);
	mem_free(cp);
}

const struct stored_paths *
claims_paths(const struct claims *c)
{
	return &c->paths;
}

static struct claim *
claim_of(struct claims *c, struct str root)
{
	struct claim *x = map_get(&c->roots, root);

	if (x != NULL)
		return x;
	x = ARENA_NEW(&c->arena, struct claim);
	x->root = arena_copy(&c->arena, root);
	map_put(&c->roots, x->root, x);
	return x;
}

static enum err
load_marks(struct claims *c, struct why *w)
{
	FREED(index_iter_free) struct index_iter *i =
	    index_iter_new(c->index, INDEX_META);
	struct str key, value;

	for (index_iter_seek(i, META_MARK); index_iter_valid(i, &key,
	    &value) && str_starts(key, META_MARK); index_iter_next(i)) {
		struct reader in = reader_of(value);
		struct claim *x = claim_of(c, paths_resolve(&c->paths,
		    str_from(key, META_MARK.n), &c->arena));
		x->now.group = read_be64(&in);
		x->now.start = read_be64(&in);
	}
	return index_iter_error(i, w);
}

/* --- comparing ---------------------------------------------------- */

static bool
same_position(struct position a, struct position b)
{
	return a.group == b.group && a.start == b.start;
}

/*
 * The group that it names was lost: it names the one before again, since later
 * groups may take that number without beginning a file.
 */
static enum err
take_back(const char *root, struct owner *o, struct why *w)
{
	o->now = o->before;
	return owner_write(root, o, w);
}

/*
 *     owner file        the index's mark      verdict
 *     none              any                   works; the files themselves tell
 *     another id        any                   foreign
 *     P                 P                     works
 *     G + 1, before P   P                     works: that group was lost
 *     above G           any                   data directory older than archive
 *     below P           P                     archive older than data directory
 *     else              any                   a copy's
 */
static enum err
judge(struct claims *c, const struct claim *x, uint64_t last, bool strict,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct why own = WHY_INIT;
	const char *root = arena_copy(&a, x->root).p;
	struct owner o;
	struct position p = x->now;

	enum err e = owner_read(root, &a, &o, &own);
	if (e == ERR_CORRUPT)
		log_warn("ledger.owner", "why=\"%s\"", own.text);
	if (e == ERR_CORRUPT || e == ERR_ABSENT)
		return OK;
	if (e != OK)
		return why(w, e, "%s", own.text);
	/* The reasons; identity_advise() says what to do. */
	if (strcmp(o.id, c->identity.id) != 0)
		return why(w, ERR_CORRUPT, "%s belongs to another data "
		    "directory, %.*s", root, STR_FMT(o.place));
	if (same_position(o.now, p))
		return OK;
	if (!strict && o.now.group == last + 1 && same_position(o.before, p))
		return take_back(root, &o, w);
	if (o.now.group > last)
		return why(w, ERR_CORRUPT, "it ends with commit group %llu and "
		    "is older than its archive %s, which has a file of group "
		    "%llu", (unsigned long long)last, root,
		    (unsigned long long)o.now.group);
	return o.now.group < p.group ? why(w, ERR_CORRUPT, "the archive %s is "
	    "older than the data directory, which began newer files there; "
	    "restore it first if there is a newer one", root) :
	    why(w, ERR_CORRUPT, "a copy of the data directory has written to "
	    "its archive %s", root);
}

/* --- the data directory's own file --------------------------------- */

/* The index's id, else the file's, else a new one. */
static enum err
find_id(struct claims *c, uint64_t last, bool *has_place, struct why *w)
{
	struct why own = WHY_INIT;
	const char *id;

	*has_place = false;
	enum err e = get_text(c, META_IDENTITY, &id, w);
	if (e != OK)
		return e;
	e = identity_read(c->paths.home, &c->arena, &c->identity, &own);
	if (e == ERR_NEWER)
		return why(w, e, "%s", own.text);
	if (e != OK && e != ERR_ABSENT)
		log_warn("ledger.identity", "why=\"%s\"", own.text);
	*has_place = e == OK && (id[0] == '\0' ||
	    strcmp(id, c->identity.id) == 0);
	c->new_id = id[0] == '\0';
	if (c->mode == LEDGER_CLAIMS_TAKE || (c->new_id && e != OK)) {
		identity_make_id(c->identity.id);
		c->new_id = true;
	} else if (!c->new_id) {
		snprintf(c->identity.id, sizeof(c->identity.id), "%s", id);
	}
	if (c->new_id && last > 0 && c->mode == LEDGER_CLAIMS_CHECK &&
	    c->paths.origin[0] == '\0') {
		c->paths.origin = c->paths.home;
		c->new_origin = true;
	}
	return OK;
}

/* Where the archive saw the directory, when its own file is gone. */
static struct str
place_by_archive(struct claims *c)
{
	struct owner o;

	MAP_EACH(x, &c->roots, struct claim)
		if (owner_read(x->root.p, &c->arena, &o, NULL) == OK &&
		    strcmp(o.id, c->identity.id) == 0)
			return o.place;
	return STR_NONE;
}

static enum err
check_place(struct claims *c, bool has_place, struct why *w)
{
	struct str home = str_of(c->paths.home);
	struct str place = has_place ? c->identity.place :
	    place_by_archive(c);

	if (identity_is_at(place, c->identity.id, c->paths.home))
		return why(w, ERR_CORRUPT, "it is a copy of %.*s, which is "
		    "still there; the command makes it a data directory of its "
		    "own", STR_FMT(place));
	if (has_place && str_eq(place, home))
		return OK;
	if (place.n > 0 && !str_eq(place, home))
		log_info("ledger.moved", "from=%.*s to=%s", STR_FMT(place),
		    c->paths.home);
	c->identity.place = home;
	return identity_write(c->paths.home, &c->identity, w);
}

enum err
claims_check(struct claims *c, const struct claims_facts *facts,
    struct why *w)
{
	struct arena *a = &c->arena;
	bool has_place;
	size_t at = 0;
	void *v;

	if (c->mode == LEDGER_CLAIMS_NONE)
		return OK;
	enum err e = find_id(c, facts->last, &has_place, w);
	if (e == OK)
		e = load_marks(c, w);
	if (e != OK)
		return e;
	claim_of(c, arena_printf(a, "%s/archive", c->paths.home));
	for (size_t i = 0; i < c->identity.archives_n; i++)
		claim_of(c, c->identity.archives[i]);
	if (c->mode == LEDGER_CLAIMS_TAKE) {
		c->identity.place = str_of(c->paths.home);
		return identity_write(c->paths.home, &c->identity, w);
	}
	while (e == OK && (v = map_next(&c->roots, &at)) != NULL)
		e = judge(c, v, facts->last, facts->log_lost, w);
	if (e == OK && facts->log_lost)
		e = why(w, ERR_CORRUPT, "the commit log is missing");
	return e == OK ? check_place(c, has_place, w) : e;
}

enum err
claims_may_use(struct claims *c, uint64_t last, struct str warc_dir,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct claim x = { .root = paths_root(&c->paths, warc_dir, &a) };

	return c->mode == LEDGER_CLAIMS_NONE || warc_dir.n == 0 ||
	    map_get(&c->roots, x.root) != NULL ? OK : judge(c, &x, last, true,
	    w);
}

/* --- writing ------------------------------------------------------- */

static void
put_meta(struct group *g, struct str key, struct str value)
{
	group_put_op(&g->body, OP_PUT, INDEX_META, key);
	buf_put_field(&g->body, value);
}

/* DATA/identity names the roots outside, so that a rebuild finds them. */
static void
list_root(struct claims *c, struct mark *m, struct arena *a)
{
	struct identity *x = &c->identity;
	struct str rest = str_from(m->root, MIN(m->root.n,
	    strlen(c->paths.home)));

	if (str_starts(m->root, str_of(c->paths.home)) &&
	    str_starts(rest, STR("/")))
		return;
	for (size_t i = 0; i < x->archives_n; i++)
		if (str_eq(x->archives[i], m->root))
			return;
	struct str *all = ARENA_ARRAY(&c->arena, struct str,
	    x->archives_n + 1);
	for (size_t i = 0; i < x->archives_n; i++)
		all[i] = x->archives[i];
	all[x->archives_n++] = arena_copy(&c->arena, m->root);
	x->archives = all;
	m->lists = true;
	m->identity = *x;
	m->identity.archives = arena_copy_list(a, all, x->archives_n);
}

static void
add_mark(struct claims *c, struct group *g, struct claim *x)
{
	struct arena *a = &g->arena;
	struct mark *m = ARENA_NEW(a, struct mark);
	struct position now = { g->number, c->start };
	FREED(buf_free) struct buf key = BUF_INIT, value = BUF_INIT;

	m->root = arena_copy(a, x->root);
	memcpy(m->owner.id, c->identity.id, sizeof(m->owner.id));
	m->owner.place = str_of(c->paths.home);
	m->owner.before = x->now;
	m->owner.now = x->now = now;
	list_root(c, m, a);
	m->next = g->marks;
	g->marks = m;
	buf_put_str(&key, META_MARK);
	buf_put_str(&key, paths_store(&c->paths, x->root, a));
	buf_put_be64(&value, now.group);
	buf_put_be64(&value, now.start);
	put_meta(g, buf_str(&key), buf_str(&value));
}

void
claims_mark(struct claims *c, struct group *g, struct str warc_dir)
{
	FREED(arena_free) struct arena a = ARENA_INIT;

	if (c->mode == LEDGER_CLAIMS_NONE)
		return;
	struct claim *x = claim_of(c, paths_root(&c->paths, warc_dir, &a));
	for (const struct mark *m = g->marks; m != NULL; m = m->next)
		if (str_eq(m->root, x->root))
			return;
	/* A moved file's group may be older than one that has a mark. */
	if (x->now.start == c->start && x->now.group > g->number)
		return;
	add_mark(c, g, x);
}

/* The roots that WARC records name; their owner files become this one's. */
static void
take_roots(struct claims *c, struct group *g)
{
	FREED(index_iter_free) struct index_iter *i =
	    index_iter_new(c->index, INDEX_WARC);
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str key, value;
	struct warc_record r;

	for (index_iter_seek(i, STR("")); index_iter_valid(i, &key, &value);
	    index_iter_next(i)) {
		arena_reset(&a);
		if (warc_record_parse(value, &c->paths, &a, &r))
			claim_of(c, paths_root(&c->paths, r.dir, &a));
	}
	MAP_EACH(x, &c->roots, struct claim) {
		struct str *names;
		size_t n;
		x->now = (struct position){ 0, 0 };
		if (archive_port()->list(x->root.p, &a, &names, &n, NULL) == OK)
			add_mark(c, g, x);
	}
}

void
claims_start(struct claims *c, struct ledger *l)
{
	struct group *g = ledger_gathering(l);

	if (c->mode == LEDGER_CLAIMS_NONE)
		return;
	if (c->new_id)
		put_meta(g, META_IDENTITY, str_of(c->identity.id));
	if (c->new_origin)
		put_meta(g, META_ORIGIN, str_of(c->paths.origin));
	if (c->mode == LEDGER_CLAIMS_TAKE)
		take_roots(c, g);
}
