#include "engine/policy/suffix.h"

#include <libpsl.h>
#include <stdatomic.h>

#include "engine/policy/address.h"

#define HOST_BYTES_MAX 253     /* RFC 1035 section 2.3.4, without final dot */

struct suffix_list {
	psl_ctx_t *psl;
};

/*
 * The list that all threads share.  Where two make it at once the second one's
 * is dropped; psl_free() leaves the built-in list alone.
 */
static psl_ctx_t *
common_list(void)
{
	static _Atomic(psl_ctx_t *) common;
	psl_ctx_t *list = atomic_load(&common), *none = NULL;

	if (list != NULL)
		return list;
	list = (psl_ctx_t *)(uintptr_t)psl_builtin();
	if (list == NULL)
		list = psl_latest(NULL);
	if (atomic_compare_exchange_strong(&common, &none, list))
		return list;
	psl_free(list);
	return none;
}

static struct str
domain_by(const psl_ctx_t *psl, struct str host)
{
	char text[HOST_BYTES_MAX + 1];
	uint8_t ip[16];

	if (host.n > 0 && host.p[host.n - 1] == '.')
		host.n--;
	if (psl == NULL || host.n == 0 || host.n > HOST_BYTES_MAX ||
	    host.p[0] == '.' || memchr(host.p, '\0', host.n) != NULL ||
	    address_parse(host, ip))
		return STR_NONE;
	for (size_t i = 0; i < host.n; i++)
		text[i] = ascii_lower(host.p[i]);
	text[host.n] = '\0';
	const char *domain = psl_registrable_domain(psl, text);
	if (domain == NULL)
		return STR_NONE;
	return str_from(host, (size_t)(domain - text));
}

struct str
suffix_domain(struct str host)
{
	return domain_by(common_list(), host);
}

enum err
suffix_list_open(const char *path, struct suffix_list **out, struct why *w)
{
	psl_ctx_t *psl = psl_load_file(path);

	if (psl == NULL)
		return why(w, ERR_ABSENT,
		    "%s: no public suffix list can be read there", path);
	*out = mem_new(sizeof(**out));
	(*out)->psl = psl;
	return OK;
}

void
suffix_list_close(struct suffix_list **list)
{
	if (*list != NULL)
		psl_free((*list)->psl);
	mem_free(list);
}

struct str
suffix_list_domain(const struct suffix_list *list, struct str host)
{
	return domain_by(list->psl, host);
}
