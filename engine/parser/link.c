#include "engine/parser/link.h"

#include "base/hash.h"

#define LINKS_FIRST 32u
/* Places for links as they were written: a power of two. */
#define WRITTEN_MAX 128u

struct link_slot {
	uint32_t at;    /* index + 1; 0 is free */
	uint32_t hash;
};

/* A link as it was written, without its fragment. */
struct link_written {
	struct str raw;
	uint32_t at;    /* index + 1; 0 is free */
};

void
link_set_init(struct link_set *s, const struct url *page, size_t max,
    struct arena *a)
{
	*s = (struct link_set){ .a = a, .page = page, .max = max };
	/* Nobody outside knows where we stand in memory. */
	s->seed = hash_u64((uintptr_t)s ^ (uintptr_t)&link_set_init >> 4);
	if (page != NULL)
		s->base = *page;
}

/*
 * Length of a scheme with its colon, or 0.  Browsers drop TAB and line breaks
 * inside: "java\nscript:" is found after parsing.
 */
static size_t
scheme_length(struct str s)
{
	size_t i = 1, colon;

	if (s.n == 0 || !ascii_is_alpha(s.p[0]))
		return 0;
	/* Most links have none, and then their letters need no look. */
	colon = str_find_char(s, ':');
	if (colon == s.n)
		return 0;
	while (i < colon && (ascii_is_alpha(s.p[i]) ||
	    ascii_is_digit(s.p[i]) || s.p[i] == '+' || s.p[i] == '-' ||
	    s.p[i] == '.'))
		i++;
	return i == colon ? i + 1 : 0;
}

static bool
is_web_scheme(struct str s)
{
	return str_eq_nocase(s, STR("http:")) ||
	    str_eq_nocase(s, STR("https:"));
}

static bool
is_web(const struct url *u)
{
	return u->scheme == URL_HTTP || u->scheme == URL_HTTPS;
}

void
link_set_base(struct link_set *s, struct str href)
{
	struct url u;

	if (s->has_base)
		return;
	if (url_parse(str_trim(href), s->page, s->a, &u, NULL) != OK ||
	    !is_web(&u))
		return;
	s->base = u;
	s->has_base = true;
	/* Links as written so far resolve to other URLs from here on. */
	s->written = NULL;
}

static struct str
without_fragment(const struct url *u)
{
	return (struct str){ u->href.p, u->href.n - u->fragment.n };
}

static void
grow_slots(struct link_set *s)
{
	size_t cap = MAX(s->slots_cap * 2, LINKS_FIRST * 2);
	struct link_slot *slots = ARENA_ARRAY(s->a, struct link_slot, cap);

	for (size_t i = 0; i < s->slots_cap; i++) {
		struct link_slot old = s->slots[i];
		size_t at = old.hash & (cap - 1);
		if (old.at == 0)
			continue;
		while (slots[at].at != 0)
			at = (at + 1) & (cap - 1);
		slots[at] = old;
	}
	s->slots = slots;
	s->slots_cap = cap;
}

/* The slot of that link, or the free one where it would stand. */
static struct link_slot *
find_slot(struct link_set *s, struct str text, enum link_kind kind,
    uint32_t hash)
{
	for (size_t at = hash;; at++) {
		struct link_slot *slot = &s->slots[at & (s->slots_cap - 1)];
		if (slot->at == 0)
			return slot;
		const struct link *l = &s->at[slot->at - 1];
		if (slot->hash == hash && l->kind == kind &&
		    str_eq(without_fragment(&l->url), text))
			return slot;
	}
}

static void
repeat_link(struct link_set *s, uint32_t at, bool nofollow)
{
	struct link *l = &s->at[at - 1];

	l->nofollow = l->nofollow && nofollow;
}

/* Its index + 1, or 0 when the set is full and this one is new. */
static uint32_t
put_link(struct link_set *s, const struct url *u, enum link_kind kind,
    bool nofollow)
{
	struct str text = without_fragment(u);
	uint32_t hash = (uint32_t)hash_bytes(text, s->seed + kind);

	if (s->n * 2 >= s->slots_cap)
		grow_slots(s);
	struct link_slot *slot = find_slot(s, text, kind, hash);
	if (slot->at != 0) {
		repeat_link(s, slot->at, nofollow);
		return slot->at;
	}
	if (s->n >= s->max) {
		s->full = true;
		return 0;
	}
	s->at = arena_grow(s->a, s->at, s->n, &s->cap, LINKS_FIRST,
	    sizeof(*s->at));
	*slot = (struct link_slot){ (uint32_t)s->n + 1, hash };
	s->at[s->n++] = (struct link){ *u, kind, nofollow };
	return (uint32_t)s->n;
}

/*
 * The place of a link that is written like this.  Pages repeat many of their
 * links, in menus and with fragments, and parsing is the expensive part.  A
 * place that is taken stays so: a long sitemap would copy all of its URLs.
 */
static struct link_written *
written_place(struct link_set *s, struct str text, enum link_kind kind)
{
	if (s->written == NULL)
		s->written = ARENA_ARRAY(s->a, struct link_written,
		    WRITTEN_MAX);
	return &s->written[hash_bytes(text, s->seed + kind) &
	    (WRITTEN_MAX - 1)];
}

bool
link_add(struct link_set *s, struct str raw, enum link_kind kind,
    bool nofollow)
{
	struct url u;

	raw = str_trim(raw);
	/* A jump within the page is no link. */
	if ((raw.n == 0 || raw.p[0] == '#') && !s->has_base)
		return true;
	struct str text = str_cut(raw, 0, str_find_char(raw, '#'));
	struct link_written *place = written_place(s, text, kind);
	if (place->at != 0 && s->at[place->at - 1].kind == kind &&
	    raw.n <= URL_BYTES_MAX && str_eq(place->raw, text)) {
		repeat_link(s, place->at, nofollow);
		return true;
	}
	size_t scheme_n = scheme_length(raw);
	if (scheme_n != 0 && !is_web_scheme(str_cut(raw, 0, scheme_n))) {
		s->schemes_dropped++;
		return true;
	}
	if (raw.n > URL_BYTES_MAX || url_parse(raw,
	    s->base.href.p == NULL ? NULL : &s->base, s->a, &u, NULL) != OK) {
		s->bad++;
		return true;
	}
	if (!is_web(&u)) {
		s->schemes_dropped++;
		return true;
	}
	uint32_t at = put_link(s, &u, kind, nofollow);
	if (at != 0 && place->at == 0)
		*place = (struct link_written){ arena_copy(s->a, text), at };
	return at != 0;
}
