#include "wire/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdatomic.h>

#include "wire/base64.h"
#include "wire/sha1_pair.h"

static const struct {
	const char *label;
	size_t size;
} kinds[] = {
	[DIGEST_NONE] = { "none", 0 },
	[DIGEST_SHA1] = { "sha1", 20 },
	[DIGEST_SHA256] = { "sha256", 32 },
	[DIGEST_MD5] = { "md5", 16 },
};

static const char base32_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
static const char hex_digits[] = "0123456789abcdef";

struct digest_hasher {
	EVP_MD_CTX *context;
	enum digest_kind kind;
	sha1_pair_fn *pair;        /* NULL: this processor has none */
};

size_t
digest_size(enum digest_kind k)
{
	return kinds[k].size;
}

bool
digest_eq(const struct digest *a, const struct digest *b)
{
	return a->kind == b->kind &&
	    memcmp(a->bytes, b->bytes, kinds[a->kind].size) == 0;
}

/* Fetched once per process; of two threads that meet here one gives way. */
static const EVP_MD *
shared_algorithm(enum digest_kind k)
{
	static EVP_MD *_Atomic fetched[ARRAY_LEN(kinds)];
	EVP_MD *had = atomic_load(&fetched[k]);

	if (had != NULL)
		return had;
	EVP_MD *mine = EVP_MD_fetch(NULL, kinds[k].label, NULL);
	CHECK(mine != NULL);
	if (atomic_compare_exchange_strong(&fetched[k], &had, mine))
		return mine;
	EVP_MD_free(mine);
	return had;
}

struct digest_hasher *
digest_hasher_new(void)
{
	struct digest_hasher *h = mem_new(sizeof(*h));

	h->context = EVP_MD_CTX_new();
	CHECK(h->context != NULL);
	h->pair = sha1_pair_find();
	return h;
}

void
digest_hasher_free(struct digest_hasher **hp)
{
	struct digest_hasher *h = *hp;

	if (h == NULL)
		return;
	EVP_MD_CTX_free(h->context);
	mem_free(hp);
}

void
digest_start(struct digest_hasher *h, enum digest_kind k)
{
	CHECK(k != DIGEST_NONE);
	h->kind = k;
	CHECK(EVP_DigestInit_ex2(h->context, shared_algorithm(k), NULL) == 1);
}

void
digest_add(struct digest_hasher *h, struct str s)
{
	if (s.n > 0)
		CHECK(EVP_DigestUpdate(h->context, s.p, s.n) == 1);
}

void
digest_end(struct digest_hasher *h, struct digest *out)
{
	unsigned n = 0;

	memset(out, 0, sizeof(*out));
	out->kind = h->kind;
	CHECK(EVP_DigestFinal_ex(h->context, out->bytes, &n) == 1);
	CHECK(n == kinds[h->kind].size);
}

bool
digest_pair(const struct digest_hasher *h, enum digest_kind k,
    struct str head, struct str body, struct digest *whole,
    struct digest *alone)
{
	if (k != DIGEST_SHA1 || h->pair == NULL)
		return false;
	*whole = *alone = (struct digest){ .kind = k };
	h->pair(head, body, whole->bytes, alone->bytes);
	return true;
}

void
digest_of(enum digest_kind k, struct str s, struct digest *out)
{
	unsigned n = 0;

	CHECK(k != DIGEST_NONE);
	memset(out, 0, sizeof(*out));
	out->kind = k;
	CHECK(EVP_Digest(s.n == 0 ? "" : s.p, s.n, out->bytes, &n,
	    shared_algorithm(k), NULL) == 1);
	CHECK(n == kinds[k].size);
}

void
digest_hmac(enum digest_kind k, struct str key, struct str text,
    struct digest *out)
{
	unsigned n = 0;

	CHECK(k == DIGEST_SHA1 || k == DIGEST_SHA256);
	memset(out, 0, sizeof(*out));
	out->kind = k;
	CHECK(key.n <= INT32_MAX && HMAC(shared_algorithm(k),
	    key.n == 0 ? "" : key.p, (int)key.n, (const uint8_t *)text.p,
	    text.n, out->bytes, &n) != NULL);
	CHECK(n == kinds[k].size);
}

bool
digest_is_mac(const struct digest *d, struct str bytes)
{
	return bytes.n == kinds[d->kind].size && bytes.n > 0 &&
	    CRYPTO_memcmp(d->bytes, bytes.p, bytes.n) == 0;
}

/* Letters for `width` bits each, the last one filled up with zeros. */
static size_t
put_letters(const uint8_t *p, size_t n, unsigned width, const char *letters,
    char *out)
{
	uint32_t mask = (1u << width) - 1;
	uint32_t bits = 0;
	unsigned have = 0;
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		bits = bits << 8 | p[i];
		for (have += 8; have >= width; have -= width)
			out[at++] = letters[bits >> (have - width) & mask];
	}
	if (have > 0)
		out[at++] = letters[bits << (width - have) & mask];
	return at;
}

size_t
digest_to_text(const struct digest *d, char out[static DIGEST_TEXT_MAX])
{
	size_t n = strlen(kinds[d->kind].label);

	memcpy(out, kinds[d->kind].label, n);
	out[n++] = ':';
	bool base32 = d->kind == DIGEST_SHA1;
	n += put_letters(d->bytes, kinds[d->kind].size, base32 ? 5 : 4,
	    base32 ? base32_letters : hex_digits, out + n);
	out[n] = '\0';
	return n;
}

static int
base32_value(char c)
{
	c = ascii_lower(c);
	if (c >= 'a' && c <= 'z')
		return c - 'a';
	return c >= '2' && c <= '7' ? c - '2' + 26 : -1;
}

/* Both alphabets of RFC 4648. */
static int
either_base64_value(char c)
{
	return base64_value(c == '-' ? '+' : c == '_' ? '/' : c);
}

/* Letters of `width` bits each; what is left over in the last must be zero. */
static bool
from_letters(struct str s, unsigned width, int (*value)(char), uint8_t *out)
{
	uint32_t bits = 0;
	unsigned have = 0;
	size_t at = 0;

	for (size_t i = 0; i < s.n; i++) {
		int v = value(s.p[i]);
		if (v < 0)
			return false;
		bits = bits << width | (uint32_t)v;
		have += width;
		if (have >= 8) {
			have -= 8;
			out[at++] = (uint8_t)(bits >> have);
		}
	}
	return (bits & ((1u << have) - 1)) == 0;
}

static enum digest_kind
kind_of(struct str label)
{
	for (size_t k = 1; k < ARRAY_LEN(kinds); k++)
		if (str_eq_nocase(label, str_of(kinds[k].label)))
			return (enum digest_kind)k;
	if (str_eq_nocase(label, STR("sha-1")))
		return DIGEST_SHA1;
	return str_eq_nocase(label, STR("sha-256")) ? DIGEST_SHA256 :
	    DIGEST_NONE;
}

bool
digest_from_text(struct str s, struct digest *out)
{
	size_t colon = str_find_char(s, ':');
	struct str value = str_trim(str_from(s, colon + 1));

	memset(out, 0, sizeof(*out));
	out->kind = kind_of(str_trim(str_cut(s, 0, colon)));
	size_t size = kinds[out->kind].size;
	if (colon == s.n || size == 0)
		return false;
	while (value.n > 0 && value.p[value.n - 1] == '=')
		value.n--;
	if (value.n == 2 * size)
		return from_letters(value, 4, ascii_hex_value, out->bytes);
	if (value.n == (8 * size + 4) / 5)
		return from_letters(value, 5, base32_value, out->bytes);
	return value.n == (8 * size + 5) / 6 &&
	    from_letters(value, 6, either_base64_value, out->bytes);
}

void
digest_put_hex(struct buf *b, const uint8_t *p, size_t n)
{
	put_letters(p, n, 4, hex_digits, buf_grow(b, 2 * n));
}
