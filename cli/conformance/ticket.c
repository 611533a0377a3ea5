#include "cli/conformance/ticket.h"

#include "base/json_writer.h"
#include "wire/base64.h"

#define BLOCK_BYTES 64u          /* of SHA-256 */

void
ticket_hmac(struct str key, struct str text, struct digest *out)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	uint8_t inner[BLOCK_BYTES] = { 0 }, outer[BLOCK_BYTES];
	struct digest d;

	if (key.n > BLOCK_BYTES) {
		digest_of(DIGEST_SHA256, key, &d);
		key = (struct str){ (const char *)d.bytes,
		    digest_size(DIGEST_SHA256) };
	}
	if (key.n > 0)
		memcpy(inner, key.p, key.n);
	for (size_t i = 0; i < BLOCK_BYTES; i++) {
		outer[i] = inner[i] ^ 0x5c;
		inner[i] ^= 0x36;
	}
	buf_put(&b, inner, sizeof(inner));
	buf_put_str(&b, text);
	digest_of(DIGEST_SHA256, buf_str(&b), &d);
	buf_clear(&b);
	buf_put(&b, outer, sizeof(outer));
	buf_put(&b, d.bytes, digest_size(DIGEST_SHA256));
	digest_of(DIGEST_SHA256, buf_str(&b), out);
}

/* base64url without padding, RFC 7515 §2. */
static void
put_base64url(struct buf *b, struct str bytes)
{
	size_t start = b->n;

	base64_put(b, bytes);
	while (b->n > start && b->p[b->n - 1] == '=')
		b->n--;
	for (size_t i = start; i < b->n; i++)
		b->p[i] = b->p[i] == '+' ? '-' : b->p[i] == '/' ? '_' :
		    b->p[i];
}

struct str
ticket_make(const struct ticket *t, struct str key, struct arena *a)
{
	FREED(buf_free) struct buf claims = BUF_INIT;
	FREED(buf_free) struct buf b = BUF_INIT;
	struct digest mac;

	json_object(&claims, NULL);
	json_str(&claims, "iss", t->issuer);
	json_str(&claims, "aud", t->audience);
	json_str(&claims, "sub", t->uuid);
	json_str(&claims, "subdomain", t->subdomain);
	json_str(&claims, "act", str_of(t->act));
	json_u64(&claims, "exp", (uint64_t)t->exp_s);
	json_str(&claims, "jti", t->jti);
	buf_put_char(&claims, '}');
	put_base64url(&b, STR("{\"alg\":\"HS256\",\"typ\":\"JWT\"}"));
	buf_put_char(&b, '.');
	put_base64url(&b, buf_str(&claims));
	ticket_hmac(key, buf_str(&b), &mac);
	buf_put_char(&b, '.');
	put_base64url(&b, (struct str){ (const char *)mac.bytes,
	    digest_size(DIGEST_SHA256) });
	return arena_copy(a, buf_str(&b));
}
