#include "wire/seal.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#define VERSION 1
#define NONCE_BYTES 12
#define TAG_BYTES 16

static int
size_of(struct str s)
{
	CHECK(s.n <= INT32_MAX);
	return (int)s.n;
}

void
seal_put(const struct seal_key *key, struct str context, struct str text,
    struct buf *out)
{
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	uint8_t *p = buf_grow(out, SEAL_MORE_BYTES + text.n);
	uint8_t *body = p + 1 + NONCE_BYTES;
	int n, end;

	p[0] = VERSION;
	CHECK(c != NULL && RAND_bytes(p + 1, NONCE_BYTES) == 1);
	CHECK(EVP_EncryptInit_ex(c, EVP_aes_256_gcm(), NULL, key->bytes,
	    p + 1) == 1);
	CHECK(EVP_EncryptUpdate(c, NULL, &n, (const uint8_t *)context.p,
	    size_of(context)) == 1);
	CHECK(EVP_EncryptUpdate(c, body, &n, (const uint8_t *)text.p,
	    size_of(text)) == 1);
	CHECK(EVP_EncryptFinal_ex(c, body + n, &end) == 1);
	CHECK((size_t)n + (size_t)end == text.n);
	CHECK(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, TAG_BYTES,
	    body + text.n) == 1);
	EVP_CIPHER_CTX_free(c);
}

bool
seal_open(const struct seal_key *key, struct str context, struct str sealed,
    struct buf *out)
{
	const uint8_t *p = (const uint8_t *)sealed.p;
	size_t size = sealed.n - MIN(sealed.n, SEAL_MORE_BYTES);
	size_t before = out->n;
	int n = 0, end = 0;

	if (sealed.n < SEAL_MORE_BYTES || p[0] != VERSION)
		return false;
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	uint8_t *to = buf_grow(out, size);
	const uint8_t *body = p + 1 + NONCE_BYTES;
	CHECK(c != NULL && EVP_DecryptInit_ex(c, EVP_aes_256_gcm(), NULL,
	    key->bytes, p + 1) == 1);
	bool fine = EVP_DecryptUpdate(c, NULL, &n, (const uint8_t *)context.p,
	    size_of(context)) == 1 && EVP_DecryptUpdate(c, to, &n, body,
	    size_of((struct str){ sealed.p, size })) == 1 &&
	    EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, TAG_BYTES,
	    (void *)(body + size)) == 1 &&
	    EVP_DecryptFinal_ex(c, to + n, &end) == 1;
	EVP_CIPHER_CTX_free(c);
	if (!fine) {
		OPENSSL_cleanse(to, size);
		out->n = before;
	}
	return fine;
}
