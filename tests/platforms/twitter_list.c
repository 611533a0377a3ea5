/* Which tweets a list has, its pages, and what faults do to them. */
#include "tests/platforms/twitter.h"

#define OVERLAP_N 3u

/* ---- Queries ----------------------------------------------------------- */

static bool
has_term(struct str term, const struct tweet *t)
{
	struct str from = STR("from:");
	size_t w;

	if (str_starts(term, from))
		return str_eq_nocase(str_from(term, from.n),
		    str_of(twitter_author(t)->name));
	if (str_starts(term, STR("point_radius:[")))
		return t->place;
	if (str_eq(term, STR("-is:retweet")))
		return t->retweet_of == 0;
	(void)str_take_char(&term, '#');
	w = STR_ROW_NOCASE(term, twitter_words);
	return w < WORDS_N && (t->words & 1u << w) != 0;
}

/* The next term; one in brackets may have blanks. */
static bool
take_term(struct str *rest, struct str *term)
{
	*rest = str_trim(*rest);
	if (rest->n == 0)
		return false;
	size_t n = str_find_char(*rest, ' ');
	size_t open = str_find_char(*rest, '[');
	if (open < n)
		n = MIN(str_find_char(*rest, ']') + 1, rest->n);
	*term = str_cut(*rest, 0, n);
	*rest = str_from(*rest, n);
	return true;
}

/* Terms beside each other are all wanted, and OR parts such groups. */
bool
twitter_is_match(struct str query, const struct tweet *t)
{
	struct str term;
	bool all = true, some = false;

	while (take_term(&query, &term)) {
		if (str_eq(term, STR("OR"))) {
			if (all && some)
				return true;
			all = true;
			some = false;
			continue;
		}
		some = true;
		all &= has_term(term, t);
	}
	return all && some;
}

bool
twitter_is_listed(const struct tweet_list *l, const struct tweet *t)
{
	if (t->id <= l->after || (l->before != 0 && t->id >= l->before) ||
	    twitter_is_hidden(t))
		return false;
	return l->account != NULL ? twitter_author(t) == l->account :
	    twitter_is_match(l->query, t);
}

/* ---- Pages ------------------------------------------------------------- */

static void
fill_page(const struct tweet_list *l, struct tweet_page *p)
{
	p->n = 0;
	p->next = 0;
	for (size_t i = twitter_world.tweets_n; i-- > 0;) {
		const struct tweet *t = &twitter_world.tweets[i];
		if (!twitter_is_listed(l, t))
			continue;
		if (p->n == MIN(l->limit, TWEETS_MAX)) {
			p->next = p->tweets[p->n - 1]->id;
			return;
		}
		p->tweets[p->n++] = t;
	}
}

static void
reverse(struct tweet_page *p)
{
	for (size_t i = 0; i < p->n / 2; i++) {
		const struct tweet *other = p->tweets[i];
		p->tweets[i] = p->tweets[p->n - 1 - i];
		p->tweets[p->n - 1 - i] = other;
	}
}

/* So many of a list's tweets before an id: where a page begins that overlaps
 * the one before. */
static uint64_t
overlap(const struct tweet_list *l)
{
	struct tweet_list newer = *l;
	uint64_t before = l->before;
	unsigned left = OVERLAP_N;

	newer.before = 0;
	for (size_t i = 0; i < twitter_world.tweets_n && left > 0; i++) {
		const struct tweet *t = &twitter_world.tweets[i];
		if (t->id < l->before || !twitter_is_listed(&newer, t))
			continue;
		before = t->id + 1;
		left--;
	}
	return before;
}

void
twitter_find_page(struct request *r, const struct tweet_list *list,
    bool by_cursor, struct tweet_page *p)
{
	/* Where the page before this one began. */
	static uint64_t last;
	struct tweet_list l = *list;
	uint64_t before_last = last;

	p->loops = r->fault.page == PAGE_LOOP;
	last = l.before;
	/* A list that is read by ids has no other way to lead back. */
	if (l.before != 0 &&
	    (r->fault.page == PAGE_DUPLICATE || (p->loops && !by_cursor)))
		l.before = before_last;
	if (r->fault.page == PAGE_OVERLAP && l.before != 0)
		l.before = overlap(&l);
	fill_page(&l, p);
	if (r->fault.page == PAGE_REORDERED)
		reverse(p);
	if (r->fault.page == PAGE_EMPTY) {
		p->n = 0;
		/* The same place, from where it goes on. */
		p->next = list->before != 0 ? list->before : UINT64_MAX >> 1;
	}
}
