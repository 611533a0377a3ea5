#include "script/web/sums.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

struct sums {
	const char *name, *bare;
	const EVP_MD *(*md)(void);
};

static const struct sums rows[] = {
	{ "SHA-1", "SHA1", EVP_sha1 },
	{ "SHA-256", "SHA256", EVP_sha256 },
	{ "SHA-384", "SHA384", EVP_sha384 },
	{ "SHA-512", "SHA512", EVP_sha512 },
};

const struct sums *
sums_by_name(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (str_eq_nocase(name, str_of(rows[i].name)) ||
		    str_eq_nocase(name, str_of(rows[i].bare)))
			return &rows[i];
	return NULL;
}

size_t
sums_digest(const struct sums *s, struct str data, unsigned char *to)
{
	unsigned n = 0;

	CHECK(EVP_Digest(data.n == 0 ? "" : data.p, data.n, to, &n, s->md(),
	    NULL) == 1);
	return n;
}

size_t
sums_hmac(const struct sums *s, struct str key, struct str data,
    unsigned char *to)
{
	unsigned n = 0;

	CHECK(key.n <= INT32_MAX && HMAC(s->md(), key.n == 0 ? "" : key.p,
	    (int)key.n, (const unsigned char *)(data.n == 0 ? "" : data.p),
	    data.n, to, &n) != NULL);
	return n;
}

void
sums_wipe(void *p, size_t n)
{
	OPENSSL_cleanse(p, n);
}

void
sums_prepare(void)
{
	unsigned char to[SUMS_BYTES_MAX];

	CHECK(OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) == 1);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		(void)sums_hmac(&rows[i], STR(""), STR(""), to);
}
