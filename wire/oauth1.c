#include "wire/oauth1.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/arena.h"
#include "wire/base64.h"

#define SHA1_BYTES 20u
/* Parameters that OAuth itself adds: callback, consumer key, nonce, signature
 * method, timestamp, token, verifier, version. */
#define OWN_MAX 8u

/* A parameter, both parts encoded. */
struct parameter {
	struct str name, value;
};

/* All that is sorted, in an arena. */
struct parameters {
	struct arena *a;
	struct parameter *list;
	size_t n, cap;
};

/* ---- Encoding (§3.6) --------------------------------------------------- */

static bool
is_unreserved(char c)
{
	return ascii_is_alpha(c) || ascii_is_digit(c) || c == '-' ||
	    c == '.' || c == '_' || c == '~';
}

static void
put_encoded(struct buf *b, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (is_unreserved(s.p[i]))
			buf_put_char(b, s.p[i]);
		else
			buf_printf(b, "%%%02X", (unsigned char)s.p[i]);
	}
}

static struct str
encode(struct arena *a, struct str s)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	put_encoded(&b, s);
	return arena_copy(a, buf_str(&b));
}

/* A name or value of a query or form, as it is encoded there, encoded anew. */
static struct str
encode_anew(struct arena *a, struct str s)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	for (size_t i = 0; i < s.n; i++) {
		int byte = str_percent_byte(str_from(s, i));
		if (byte >= 0)
			i += 2;
		buf_put_char(&b, byte >= 0 ? (char)byte :
		    s.p[i] == '+' ? ' ' : s.p[i]);
	}
	return encode(a, buf_str(&b));
}

/* ---- Parameters (§3.4.1.3) --------------------------------------------- */

static void
add_parameter(struct parameters *p, struct str name, struct str value)
{
	p->list = arena_grow(p->a, p->list, p->n, &p->cap, 16,
	    sizeof(*p->list));
	p->list[p->n++] = (struct parameter){ name, value };
}

static void
add_pairs(struct parameters *p, struct str pairs)
{
	struct str pair;

	while (str_split(&pairs, '&', &pair)) {
		size_t at = str_find_char(pair, '=');
		if (pair.n > 0)
			add_parameter(p,
			    encode_anew(p->a, str_cut(pair, 0, at)),
			    encode_anew(p->a, str_from(pair, at + 1)));
	}
}

/* The parameters that go into the header, sorted by name. */
static size_t
own_parameters(const struct oauth1_keys *k, const struct oauth1_request *r,
    struct arena *a, struct parameter out[static OWN_MAX])
{
	size_t n = 0;

	if (r->callback.n > 0)
		out[n++] = (struct parameter){ STR("oauth_callback"),
			encode(a, r->callback) };
	out[n++] = (struct parameter){ STR("oauth_consumer_key"),
		encode(a, k->consumer) };
	out[n++] = (struct parameter){ STR("oauth_nonce"),
		encode(a, r->nonce) };
	out[n++] = (struct parameter){ STR("oauth_signature_method"),
		STR("HMAC-SHA1") };
	out[n++] = (struct parameter){ STR("oauth_timestamp"),
		arena_printf(a, "%lld", (long long)r->timestamp_s) };
	if (k->token.n > 0)
		out[n++] = (struct parameter){ STR("oauth_token"),
			encode(a, k->token) };
	if (r->verifier.n > 0)
		out[n++] = (struct parameter){ STR("oauth_verifier"),
			encode(a, r->verifier) };
	if (r->has_version)
		out[n++] = (struct parameter){ STR("oauth_version"),
			STR("1.0") };
	return n;
}

static int
order_of_parameters(const void *a, const void *b)
{
	const struct parameter *x = a, *y = b;
	int order = str_cmp(x->name, y->name);

	return order != 0 ? order : str_cmp(x->value, y->value);
}

/* ---- The base string (§3.4.1) ------------------------------------------ */

/* Scheme and host in small letters, without the scheme's own port, and the path
 * (§3.4.1.2). */
static struct str
base_uri(struct str url, struct arena *a)
{
	size_t scheme = str_find(url, STR("://"));
	size_t host = MIN(scheme + 3, url.n);
	size_t path = host + str_find_char(str_from(url, host), '/');
	char *p = arena_bytes(a, url.n + 1);
	size_t n = 0;

	for (; n < path; n++)
		p[n] = ascii_lower(url.p[n]);
	struct str start = { p, n };
	if (str_starts(start, STR("https://")) && str_ends(start, STR(":443")))
		n -= 4;
	else if (str_starts(start, STR("http://")) &&
	    str_ends(start, STR(":80")))
		n -= 3;
	if (path == url.n)
		p[n++] = '/';
	memcpy(p + n, url.p + path, url.n - path);
	return (struct str){ p, n + url.n - path };
}

void
oauth1_put_base_string(const struct oauth1_keys *k,
    const struct oauth1_request *r, struct buf *out)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf sorted = BUF_INIT;
	struct parameters all = { .a = &a };
	struct parameter own[OWN_MAX];
	struct str url = str_cut(r->url, 0, str_find_char(r->url, '#'));
	size_t query = str_find_char(url, '?');
	size_t own_n = own_parameters(k, r, &a, own);

	for (size_t i = 0; i < own_n; i++)
		add_parameter(&all, own[i].name, own[i].value);
	add_pairs(&all, str_from(url, query + 1));
	add_pairs(&all, r->form);
	qsort(all.list, all.n, sizeof(*all.list), order_of_parameters);
	for (size_t i = 0; i < all.n; i++)
		buf_printf(&sorted, "%s%.*s=%.*s", i == 0 ? "" : "&",
		    STR_FMT(all.list[i].name), STR_FMT(all.list[i].value));
	buf_put_str(out, r->method);
	buf_put_char(out, '&');
	put_encoded(out, base_uri(str_cut(url, 0, query), &a));
	buf_put_char(out, '&');
	put_encoded(out, buf_str(&sorted));
}

/* ---- Signing (§3.4.2) -------------------------------------------------- */

void
oauth1_put_signature(const struct oauth1_keys *k,
    const struct oauth1_request *r, struct buf *out)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct buf key = BUF_INIT;
	uint8_t mac[SHA1_BYTES];
	unsigned n = 0;

	oauth1_put_base_string(k, r, &text);
	/* Reserved at once, so that no copy of the secrets stays behind. */
	buf_reserve(&key, 3 * (k->consumer_secret.n + k->token_secret.n) + 1);
	put_encoded(&key, k->consumer_secret);
	buf_put_char(&key, '&');
	put_encoded(&key, k->token_secret);
	CHECK(key.n <= INT32_MAX && HMAC(EVP_sha1(), key.p, (int)key.n,
	    (const uint8_t *)text.p, text.n, mac, &n) != NULL);
	CHECK(n == SHA1_BYTES);
	OPENSSL_cleanse(key.p, key.n);
	buf_free(&key);
	base64_put(out, (struct str){ (const char *)mac, n });
}

void
oauth1_put_header(const struct oauth1_keys *k, const struct oauth1_request *r,
    struct buf *out)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf signature = BUF_INIT;
	struct parameter own[OWN_MAX];
	size_t n = own_parameters(k, r, &a, own);

	buf_put_text(out, "OAuth ");
	for (size_t i = 0; i < n; i++)
		buf_printf(out, "%.*s=\"%.*s\", ", STR_FMT(own[i].name),
		    STR_FMT(own[i].value));
	oauth1_put_signature(k, r, &signature);
	buf_put_text(out, "oauth_signature=\"");
	put_encoded(out, buf_str(&signature));
	buf_put_char(out, '"');
}
