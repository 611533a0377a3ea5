#include "os/file_fake_own.h"

#define IMAGE_PAGE_BYTES 4096

static char *
page_of(struct image *m, uint64_t at)
{
	size_t i = (size_t)(at / IMAGE_PAGE_BYTES);

	if (i >= m->pages_n) {
		size_t n = MAX(i + 1, m->pages_n * 2);
		m->pages = mem_resize(m->pages, n, sizeof(*m->pages));
		memset(m->pages + m->pages_n, 0,
		    (n - m->pages_n) * sizeof(*m->pages));
		m->pages_n = n;
	}
	if (m->pages[i] == NULL)
		m->pages[i] = mem_new(IMAGE_PAGE_BYTES);
	return m->pages[i] + at % IMAGE_PAGE_BYTES;
}

static bool
all_zero(const char *p, size_t n)
{
	return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

static bool
is_hole(const struct image *m, uint64_t at)
{
	size_t i = (size_t)(at / IMAGE_PAGE_BYTES);

	return i >= m->pages_n || m->pages[i] == NULL;
}

static size_t
part_in_page(uint64_t at, size_t n)
{
	return (size_t)MIN(n, IMAGE_PAGE_BYTES - at % IMAGE_PAGE_BYTES);
}

void
image_write(struct image *m, uint64_t at, const char *p, size_t n)
{
	m->size = MAX(m->size, at + n);
	for (size_t part; n > 0; n -= part, p += part, at += part) {
		part = part_in_page(at, n);
		if (!is_hole(m, at) || !all_zero(p, part))
			memcpy(page_of(m, at), p, part);
	}
}

size_t
image_read(const struct image *m, uint64_t at, char *p, size_t n)
{
	if (at >= m->size)
		return 0;
	n = (size_t)MIN(n, m->size - at);
	for (size_t left = n, part; left > 0; left -= part, p += part,
	    at += part) {
		part = part_in_page(at, left);
		if (is_hole(m, at))
			memset(p, 0, part);
		else
			memcpy(p, m->pages[at / IMAGE_PAGE_BYTES] +
			    at % IMAGE_PAGE_BYTES, part);
	}
	return n;
}

void
image_cut(struct image *m, uint64_t size)
{
	size_t rest = (size_t)(size % IMAGE_PAGE_BYTES);

	if (rest != 0 && !is_hole(m, size))
		memset(page_of(m, size), 0, IMAGE_PAGE_BYTES - rest);
	for (size_t i = (size_t)((size + IMAGE_PAGE_BYTES - 1) /
	    IMAGE_PAGE_BYTES); i < m->pages_n; i++)
		mem_free(&m->pages[i]);
	m->size = size;
}

void
image_free(struct image *m)
{
	for (size_t i = 0; i < m->pages_n; i++)
		free(m->pages[i]);
	mem_free(&m->pages);
	*m = (struct image){ 0 };
}

void
image_copy(struct image *to, const struct image *from)
{
	image_free(to);
	for (size_t i = 0; i < from->pages_n; i++)
		if (from->pages[i] != NULL)
			image_write(to, (uint64_t)i * IMAGE_PAGE_BYTES,
			    from->pages[i], IMAGE_PAGE_BYTES);
	to->size = from->size;
}
