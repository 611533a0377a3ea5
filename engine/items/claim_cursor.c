#include "engine/items/claim_cursor.h"

/* -- Ranges -- */

bool
claim_key_before(struct claim_key a, struct claim_key b)
{
	return a.due_ms < b.due_ms || (a.due_ms == b.due_ms && a.item < b.item);
}

static struct claim_key
later_key(struct claim_key a, struct claim_key b)
{
	return claim_key_before(a, b) ? b : a;
}

static bool
has_range(const struct claim_cursor *c)
{
	return claim_key_before(c->from, c->to);
}

static void
set_range(struct claim_cursor *c, struct claim_key from, struct claim_key to)
{
	c->from = from;
	c->to = to;
}

/* The second range has no gap before it: it is a part of the first. */
static void
join_ranges(struct claim_cursor *c)
{
	if (!has_range(c) || claim_key_before(c->low, c->from))
		return;
	c->low = later_key(c->low, c->to);
	set_range(c, CLAIM_KEY_FIRST, CLAIM_KEY_FIRST);
}

static bool
meets_range(const struct claim_cursor *c, struct claim_key after,
    struct claim_key last)
{
	return has_range(c) && !claim_key_before(c->to, after) &&
	    !claim_key_before(last, c->from);
}

void
claim_cursor_extend(struct claim_cursors *all, struct claim_cursor *c,
    struct claim_key after, struct claim_key last)
{
	if (!claim_key_before(after, last))
		return;
	all->extended = true;
	if (!claim_key_before(c->low, after))
		c->low = later_key(c->low, last);
	else if (meets_range(c, after, last))
		set_range(c, claim_key_before(after, c->from) ? after :
		    c->from, later_key(c->to, last));
	else
		set_range(c, after, last);
	join_ranges(c);
}

void
claim_cursor_extend_empty(struct claim_cursors *all, struct claim_cursor *c,
    struct claim_key after, struct claim_key last)
{
	if (!has_range(c) || !claim_key_before(c->low, after) ||
	    meets_range(c, after, last))
		claim_cursor_extend(all, c, after, last);
}

void
claim_cursor_cut(struct claim_cursor *c, struct claim_key key)
{
	if (!claim_key_before(c->low, key)) {
		if (!has_range(c))
			set_range(c, key, c->low);
		c->low = key;
		c->low.item--;
	} else if (has_range(c) && claim_key_before(c->from, key) &&
	    !claim_key_before(c->to, key)) {
		c->from = key;
	}
}

struct claim_key
claim_cursor_next(const struct claim_cursor *c, struct claim_key at)
{
	at = later_key(at, c->low);
	if (has_range(c) && !claim_key_before(at, c->from))
		at = later_key(at, c->to);
	return at;
}

struct claim_key
claim_cursor_until(const struct claim_cursor *c, struct claim_key at,
    struct claim_key last)
{
	return has_range(c) && claim_key_before(at, c->from) &&
	    claim_key_before(c->from, last) ? c->from : last;
}

/* -- Lanes -- */

/* Its place, or the one that it would have. */
static size_t
find_lane(const struct claim_lanes *l, uint32_t lane)
{
	size_t at = 0, end = l->n;

	while (at < end) {
		size_t middle = at + (end - at) / 2;

		if (l->list[middle]->lane < lane)
			at = middle + 1;
		else
			end = middle;
	}
	return at;
}

struct claim_cursor *
claim_lanes_cursor(struct claim_lanes *l, uint32_t lane)
{
	size_t at = find_lane(l, lane);

	if (at < l->n && l->list[at]->lane == lane)
		return l->list[at];
	l->list = mem_room(l->list, l->n, &l->cap, 4, sizeof(*l->list));
	memmove(&l->list[at + 1], &l->list[at],
	    (l->n - at) * sizeof(*l->list));
	l->n++;
	l->list[at] = mem_new(sizeof(**l->list));
	*l->list[at] = (struct claim_cursor){ .lane = lane,
	    .low = CLAIM_KEY_FIRST, .from = CLAIM_KEY_FIRST,
	    .to = CLAIM_KEY_FIRST };
	return l->list[at];
}

static void
free_lanes(struct claim_lanes *l)
{
	for (size_t i = 0; i < l->n; i++)
		mem_free(&l->list[i]);
	mem_free(&l->list);
	mem_free(&l);
}

/* -- All of them -- */

struct claim_cursors *
claim_cursors_new(void)
{
	struct claim_cursors *c = mem_new(sizeof(*c));

	c->lease_low = INT64_MIN;
	return c;
}

void
claim_cursors_free(struct claim_cursors **cp)
{
	struct claim_cursors *c = *cp;

	if (c == NULL)
		return;
	MAP_EACH(l, &c->tasks, struct claim_lanes)
		free_lanes(l);
	map_free(&c->tasks);
	mem_free(cp);
}

struct claim_lanes *
claim_cursors_lanes(struct claim_cursors *c, uint32_t task)
{
	struct claim_lanes *l = map_get_id(&c->tasks, task);

	if (l != NULL)
		return l;
	l = mem_new(sizeof(*l));
	l->task = task;
	map_put_id(&c->tasks, task, l);
	return l;
}

bool
claim_cursors_scan_is_due(const struct claim_cursors *c,
    const struct claim_lanes *l, int64_t age_ms, struct mono now)
{
	return !l->known || (!mono_before(now, c->rest_until) &&
	    !mono_before(now, mono_add_ms(l->scanned_at, age_ms)));
}

void
claim_cursors_scan(struct claim_cursors *c, struct claim_lanes *l,
    struct mono now)
{
	for (size_t i = 0; i < l->n; i++)
		*l->list[i] = (struct claim_cursor){
		    .lane = l->list[i]->lane, .low = CLAIM_KEY_FIRST,
		    .from = CLAIM_KEY_FIRST, .to = CLAIM_KEY_FIRST };
	l->known = true;
	l->scanned_at = now;
	l->scanned_by = c->claims;
	l->is_left = false;
	c->extended = true;
}

void
claim_cursors_scanned(struct claim_cursors *c, struct mono start,
    struct mono end)
{
	c->rest_until = mono_add_ns(end, CLAIM_SCAN_SHARE *
	    MAX(mono_ns_between(start, end), 0));
}

/* -- Leases -- */

int64_t
claim_cursors_leases_after(const struct claim_cursors *c, struct mono now)
{
	return c == NULL || !mono_before(now, c->lease_scan_at) ? INT64_MIN :
	    c->lease_low;
}

void
claim_cursors_read_leases(struct claim_cursors *c, int64_t after_us,
    int64_t until_us, struct mono start, struct mono end)
{
	int64_t took_ns = MAX(mono_ns_between(start, end), 0);

	if (c == NULL)
		return;
	c->lease_extended = true;
	if (after_us != INT64_MIN) {
		c->lease_low = MAX(c->lease_low, until_us);
		return;
	}
	c->lease_low = until_us;
	c->lease_scan_at = mono_add_ns(end, MAX(CLAIM_SCAN_MS * NS_PER_MS,
	    CLAIM_SCAN_SHARE * took_ns));
}

/* -- What is written, and taken back -- */

void
claim_cursors_wrote(struct claim_cursors *c, const struct pair_row *p)
{
	struct claim_lanes *l;
	struct claim_cursor *lane;

	if (c == NULL || !p->exists)
		return;
	if (p->lease != 0 && p->lease_until.us <= c->lease_low)
		c->lease_low = p->lease_until.us - 1;
	if (p->due_ms == PAIR_DUE_NONE)
		return;
	l = map_get_id(&c->tasks, p->task);
	if (l == NULL || !l->known)
		return;
	lane = claim_lanes_cursor(l, p->lane);
	lane->planned = true;
	claim_cursor_cut(lane, (struct claim_key){ p->due_ms, p->item });
}

void
claim_cursors_committed(struct claim_cursors *c)
{
	if (c != NULL)
		c->extended = c->lease_extended = false;
}

void
claim_cursors_undone(struct claim_cursors *c)
{
	if (c == NULL)
		return;
	if (c->lease_extended)
		c->lease_low = INT64_MIN;
	if (c->extended)
		MAP_EACH(l, &c->tasks, struct claim_lanes)
			l->known = false;
	c->extended = c->lease_extended = false;
}
