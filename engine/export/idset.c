#include "engine/export/idset.h"

#include "base/hash.h"
#include "os/clock.h"
#include "os/file.h"

#define SLOTS_MIN ((size_t)1 << 12)
#define PAGE_IDS 256u
#define PAGE_BYTES (PAGE_IDS * sizeof(struct id_hash))
/* Pages are filled to three quarters in the mean, memory likewise. */
#define FILLED(room) ((room) - (room) / 4)
#define PAGES_WRITTEN 64u        /* at once, when a file is made */

struct idset {
	const char *path;
	size_t bytes_max;
	uint64_t n;
	/* In memory: open addressing; the file has taken over when NULL. */
	struct id_hash *slots;
	size_t slots_n;
	int fd;
	unsigned bits;           /* the file has 1 << bits pages */
};

struct id_hash
id_hash_seed(void)
{
	struct id_hash seed;

	clock_random(&seed, sizeof(seed));
	return seed;
}

/* No hash is all zeros: that is an empty slot. */
struct id_hash
id_hash_of(struct str id, struct id_hash seed)
{
	struct id_hash h = { hash_bytes(id, seed.first),
		hash_bytes(id, seed.second) };

	h.second += h.first == 0 && h.second == 0;
	return h;
}

static bool
is_empty(struct id_hash h)
{
	return h.first == 0 && h.second == 0;
}

static bool
is_same(struct id_hash a, struct id_hash b)
{
	return a.first == b.first && a.second == b.second;
}

struct idset *
idset_new(const char *path, size_t bytes_max)
{
	struct idset *s = mem_new(sizeof(*s));

	s->path = path;
	s->bytes_max = MAX(bytes_max, SLOTS_MIN * sizeof(*s->slots));
	s->fd = -1;
	s->slots_n = SLOTS_MIN;
	s->slots = mem_array(s->slots_n, sizeof(*s->slots));
	return s;
}

void
idset_free(struct idset **sp)
{
	struct idset *s = *sp;

	if (s == NULL)
		return;
	file_close(&s->fd);
	mem_free(&s->slots);
	mem_free(sp);
}

uint64_t
idset_count(const struct idset *s)
{
	return s->n;
}

/* --- in memory ---------------------------------------------------------- */

/* Its slot, or the empty one where it would stand. */
static struct id_hash *
find_slot(struct id_hash *slots, size_t n, struct id_hash h)
{
	size_t at = (size_t)h.second & (n - 1);

	while (!is_empty(slots[at]) && !is_same(slots[at], h))
		at = (at + 1) & (n - 1);
	return &slots[at];
}

static void
grow_memory(struct idset *s)
{
	size_t n = 2 * s->slots_n;
	struct id_hash *slots = mem_array(n, sizeof(*slots));

	for (size_t i = 0; i < s->slots_n; i++)
		if (!is_empty(s->slots[i]))
			*find_slot(slots, n, s->slots[i]) = s->slots[i];
	mem_free(&s->slots);
	s->slots = slots;
	s->slots_n = n;
}

/* --- in the file -------------------------------------------------------- */

static uint64_t
page_of(struct id_hash h, unsigned bits)
{
	return bits == 0 ? 0 : h.first >> (64 - bits);
}

/* Where `h` stands in the page, or would; PAGE_IDS: the page is full. */
static size_t
find_in_page(const struct id_hash *page, struct id_hash h)
{
	size_t i = 0;

	while (i < PAGE_IDS && !is_empty(page[i]) && !is_same(page[i], h))
		i++;
	return i;
}

static enum err
make_file(struct idset *s, int *fd, struct why *w)
{
	enum err e = file_open(s->path, FILE_NEW, fd, w);

	return e == OK ? file_remove(s->path, w) : e;
}

static int
by_first(const void *a, const void *b)
{
	const struct id_hash *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

/*
 * Pages that are written in order.  `at` is the page in hand; a page that would
 * overflow is told, and the file is made again with more of them.
 */
struct page_writer {
	int fd;
	unsigned bits;
	uint64_t at;
	size_t n;
	bool overflow;
	struct id_hash pages[PAGES_WRITTEN][PAGE_IDS];
};

static enum err
write_pages(struct page_writer *p, struct why *w)
{
	uint64_t first = p->at - p->at % PAGES_WRITTEN;
	enum err e = file_write(p->fd, first * PAGE_BYTES, p->pages,
	    sizeof(p->pages), w);

	memset(p->pages, 0, sizeof(p->pages));
	return e;
}

static enum err
put_in_order(struct page_writer *p, struct id_hash h, struct why *w)
{
	uint64_t page = page_of(h, p->bits);
	enum err e = OK;

	if (page != p->at) {
		if (page / PAGES_WRITTEN != p->at / PAGES_WRITTEN)
			e = write_pages(p, w);
		p->at = page;
		p->n = 0;
	}
	if (p->n < PAGE_IDS)
		p->pages[page % PAGES_WRITTEN][p->n++] = h;
	else
		p->overflow = true;
	return e;
}

/* The hashes of the set, in the order of their first bits. */
static enum err
put_all(struct idset *s, struct page_writer *p, struct why *w)
{
	struct id_hash page[PAGE_IDS];
	size_t got, n = 0;
	enum err e = OK;

	if (s->slots != NULL) {
		for (size_t i = 0; i < s->slots_n; i++)
			if (!is_empty(s->slots[i]))
				s->slots[n++] = s->slots[i];
		memset(s->slots + n, 0, (s->slots_n - n) * sizeof(*s->slots));
		qsort(s->slots, n, sizeof(*s->slots), by_first);
		for (size_t i = 0; i < n && e == OK; i++)
			e = put_in_order(p, s->slots[i], w);
		return e;
	}
	for (uint64_t i = 0; i < (uint64_t)1 << s->bits && e == OK; i++) {
		e = file_read(s->fd, i * PAGE_BYTES, page, sizeof(page), &got,
		    w);
		for (n = 0; n < got / sizeof(*page) && !is_empty(page[n]);)
			n++;
		qsort(page, n, sizeof(*page), by_first);
		for (size_t k = 0; k < n && e == OK; k++)
			e = put_in_order(p, page[k], w);
	}
	return e;
}

/* Put all into a new file of 1 << bits pages; a page may be too small. */
static enum err
move_to_file(struct idset *s, unsigned bits, bool *overflow, struct why *w)
{
	struct page_writer *p = mem_new(sizeof(*p));

	p->bits = bits;
	p->fd = -1;
	enum err e = make_file(s, &p->fd, w);
	if (e == OK)
		e = file_cut(p->fd, ((uint64_t)1 << bits) * PAGE_BYTES, w);
	if (e == OK)
		e = put_all(s, p, w);
	if (e == OK)
		e = write_pages(p, w);
	*overflow = p->overflow;
	if (e == OK && !p->overflow) {
		file_close(&s->fd);
		s->fd = p->fd;
		s->bits = bits;
		mem_free(&s->slots);
	} else {
		file_close(&p->fd);
	}
	mem_free(&p);
	return e;
}

static enum err
grow_file(struct idset *s, struct why *w)
{
	unsigned bits = s->bits + 1;
	bool overflow = true;
	enum err e = OK;

	/* The first file has room for twice what there was in memory. */
	if (s->slots != NULL)
		for (bits = 6; (uint64_t)PAGE_IDS << bits < 2 * s->n;)
			bits++;
	for (; e == OK && overflow; bits++)
		e = move_to_file(s, bits, &overflow, w);
	return e;
}

/* --- both --------------------------------------------------------------- */

static enum err
make_room(struct idset *s, struct why *w)
{
	if (s->slots == NULL)
		return s->n < FILLED((uint64_t)PAGE_IDS << s->bits) ? OK :
		    grow_file(s, w);
	if (s->n < FILLED(s->slots_n))
		return OK;
	if (2 * s->slots_n * sizeof(*s->slots) > s->bytes_max)
		return grow_file(s, w);
	grow_memory(s);
	return OK;
}

static enum err
add_to_file(struct idset *s, struct id_hash h, bool *added, struct why *w)
{
	struct id_hash page[PAGE_IDS];
	uint64_t at = page_of(h, s->bits) * PAGE_BYTES;
	size_t got;

	enum err e = file_read(s->fd, at, page, sizeof(page), &got, w);
	if (e != OK)
		return e;
	size_t i = find_in_page(page, h);
	if (i == PAGE_IDS) {
		e = grow_file(s, w);
		return e == OK ? add_to_file(s, h, added, w) : e;
	}
	*added = is_empty(page[i]);
	return *added ? file_write(s->fd, at + i * sizeof(h), &h, sizeof(h),
	    w) : OK;
}

enum err
idset_add(struct idset *s, struct id_hash h, bool *added, struct why *w)
{
	enum err e = make_room(s, w);

	*added = false;
	if (e == OK && s->slots != NULL) {
		struct id_hash *slot = find_slot(s->slots, s->slots_n, h);
		*added = is_empty(*slot);
		*slot = h;
	} else if (e == OK) {
		e = add_to_file(s, h, added, w);
	}
	s->n += *added;
	return e;
}

enum err
idset_has(struct idset *s, struct id_hash h, bool *has, struct why *w)
{
	struct id_hash page[PAGE_IDS];
	size_t got;

	*has = false;
	if (s->slots != NULL) {
		*has = !is_empty(*find_slot(s->slots, s->slots_n, h));
		return OK;
	}
	enum err e = file_read(s->fd, page_of(h, s->bits) * PAGE_BYTES, page,
	    sizeof(page), &got, w);
	if (e != OK)
		return e;
	size_t i = find_in_page(page, h);
	*has = i < PAGE_IDS && !is_empty(page[i]);
	return OK;
}
