#include "doors/urlfrontier/merge.h"

void
merge_add(struct merge *m, struct merge_source *s)
{
	m->sources = mem_resize(m->sources, m->n + 1, sizeof(*m->sources));
	m->sources[m->n++] = s;
	s->state = MERGE_WAITS;
}

void
merge_free(struct merge *m)
{
	mem_free(&m->sources);
	buf_free(&m->last);
	m->n = 0;
}

static bool
before(const struct merge_source *a, const struct merge_source *b)
{
	int c = str_cmp(a->key, b->key);

	if (c != 0)
		return c < 0;
	return a->date != b->date ? a->date < b->date :
	    str_cmp(a->url, b->url) < 0;
}

/* Ask those that waited; false: one waits still. */
static bool
all_are_there(struct merge *m)
{
	bool there = true;

	for (size_t i = 0; i < m->n; i++) {
		struct merge_source *s = m->sources[i];
		if (s->state == MERGE_WAITS)
			s->state = s->next(s);
		there &= s->state != MERGE_WAITS;
	}
	return there;
}

struct merge_source *
merge_first(struct merge *m)
{
	m->over |= m->size == 0;
	if (m->over || m->first != NULL)
		return m->over ? NULL : m->first;
	if (!all_are_there(m))
		return NULL;
	m->second = NULL;
	for (size_t i = 0; i < m->n; i++) {
		struct merge_source *s = m->sources[i];
		if (s->state != MERGE_HERE)
			continue;
		if (m->first == NULL || before(s, m->first)) {
			m->second = m->first;
			m->first = s;
		} else if (m->second == NULL || before(s, m->second)) {
			m->second = s;
		}
	}
	m->over = m->first == NULL;
	return m->first;
}

bool
merge_wants(struct merge *m, const struct merge_source *s)
{
	if (m->once) {
		if (m->any && str_eq(buf_str(&m->last), s->key))
			return false;
		buf_clear(&m->last);
		buf_put_str(&m->last, s->key);
		m->any = true;
	}
	if (m->skip > 0) {
		m->skip--;
		return false;
	}
	m->size--;
	return true;
}

/* Mostly the next one is of the same source: keys live at one of them. */
void
merge_take(struct merge *m)
{
	struct merge_source *s = m->first;

	/* The page is full: nobody is asked for more. */
	if (m->size == 0)
		return;
	s->state = s->next(s);
	if (s->state != MERGE_HERE ||
	    (m->second != NULL && before(m->second, s)))
		m->first = NULL;
}
