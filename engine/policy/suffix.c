#include "engine/policy/suffix.h"

#include <libpsl.h>
#include <stdatomic.h>

#include "engine/policy/address.h"

#define HOST_BYTES_MAX 253     /* RFC 1035 section 2.3.4, without final dot */

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

struct str
suffix_domain_by(const struct psl_ctx_st *psl, struct str host)
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
	return suffix_domain_by(common_list(), host);
}
