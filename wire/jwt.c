/*
 * The steps of RFC 7519 §7.2: the form, the header, the issuer, by which the
 * key is found, the signature, and only then the other claims.
 */
#include "wire/jwt.h"

#include "base/json.h"
#include "base/text.h"
#include "wire/base64.h"
#include "wire/digest.h"

static const char *const act_names[] = {
#define ACT_NAME(name, text) text,
	JWT_ACTS(ACT_NAME)
#undef ACT_NAME
};

static enum err
deny(struct why *w, const char *field, const char *text)
{
	return why_field(w, ERR_DENIED, field, "%s", text);
}

/* ---- The form (RFC 7515 §3.1) ------------------------------------------ */

struct parts {
	struct str header, claims, mac;      /* as letters */
	struct str is_signed;                /* header "." claims */
};

static bool
split_ticket(struct str ticket, struct parts *p)
{
	struct str rest = ticket;

	if (!str_split(&rest, '.', &p->header) ||
	    !str_split(&rest, '.', &p->claims) ||
	    !str_split(&rest, '.', &p->mac) || rest.p != NULL)
		return false;
	p->is_signed = str_cut(ticket, 0, p->header.n + 1 + p->claims.n);
	return p->header.n > 0 && p->claims.n > 0 && p->mac.n > 0;
}

/* RFC 7519 §4: names are unique. */
static bool
is_plain_object(yyjson_val *object)
{
	size_t i, n;
	yyjson_val *key, *v;

	if (!yyjson_is_obj(object))
		return false;
	yyjson_obj_foreach(object, i, n, key, v)
		if (yyjson_obj_getn(object, yyjson_get_str(key),
		    yyjson_get_len(key)) != v)
			return false;
	return true;
}

/* The object that the letters stand for, or NULL. */
static yyjson_doc *
read_object(struct str letters)
{
	FREED(buf_free) struct buf json = BUF_INIT;

	if (!base64url_read(&json, letters))
		return NULL;
	yyjson_doc *doc = yyjson_read(json.p, json.n, 0);
	if (doc != NULL && !is_plain_object(yyjson_doc_get_root(doc))) {
		yyjson_doc_free(doc);
		doc = NULL;
	}
	return doc;
}

static void
free_doc(yyjson_doc **doc)
{
	yyjson_doc_free(*doc);
}

/* ---- The header (RFC 7515 §4.1) ---------------------------------------- */

static enum err
check_header(struct str letters, struct why *w)
{
	FREED(free_doc) yyjson_doc *doc = read_object(letters);
	yyjson_val *header = yyjson_doc_get_root(doc);
	yyjson_val *type = yyjson_obj_get(header, "typ");

	if (doc == NULL)
		return deny(w, "ticket", "its header is not an object in "
		    "base64url whose members are unique");
	if (!str_eq(json_text(yyjson_obj_get(header, "alg")), STR("HS256")))
		return deny(w, "alg", "it is not HS256");
	if (yyjson_obj_get(header, "crit") != NULL)
		return deny(w, "crit", "no extension is known");
	if (type != NULL && !str_eq_nocase(json_text(type), STR("JWT")))
		return deny(w, "typ", "it is not JWT");
	return OK;
}

/* ---- The signature ----------------------------------------------------- */

static enum err
check_mac(struct str secret, const struct parts *p, struct why *w)
{
	FREED(buf_free) struct buf given = BUF_INIT;
	struct digest mac;

	CHECK(secret.n >= JWT_KEY_BYTES_MIN);
	digest_hmac(DIGEST_SHA256, secret, p->is_signed, &mac);
	return base64url_read(&given, p->mac) && digest_is_mac(&mac,
	    buf_str(&given)) ? OK : deny(w, "signature", "it is not the "
	    "issuer's");
}

/* ---- Claims (RFC 7519 §4.1) -------------------------------------------- */

/* A text that is not empty.  `out` is the document's. */
static enum err
read_claim(yyjson_val *claims, const char *name, size_t bytes_max,
    struct str *out, struct why *w)
{
	yyjson_val *v = yyjson_obj_get(claims, name);

	*out = json_text(v);
	if (v == NULL)
		return deny(w, name, "it is missing");
	if (out->n == 0 || text_has_control(*out))
		return deny(w, name, "it is not a text of one line");
	if (out->n > bytes_max)
		return why_field(w, ERR_DENIED, name, "it is longer than %zu "
		    "bytes", bytes_max);
	return OK;
}

static enum err
expect_claim(yyjson_val *claims, const char *name, struct str expected,
    struct str *out, struct why *w)
{
	enum err e = read_claim(claims, name, JWT_CLAIM_BYTES_MAX, out, w);

	return e == OK && !str_eq(*out, expected) ? deny(w, name, "it is for "
	    "another one") : e;
}

/* A text, or a list of texts that has it (§4.1.3). */
static enum err
check_audience(yyjson_val *claims, struct str expected, struct why *w)
{
	yyjson_val *v = yyjson_obj_get(claims, "aud"), *one;
	bool found = yyjson_is_str(v) && str_eq(json_text(v), expected);
	size_t i, n;

	if (v == NULL)
		return deny(w, "aud", "it is missing");
	if (yyjson_is_arr(v))
		yyjson_arr_foreach(v, i, n, one)
			found |= yyjson_is_str(one) &&
			    str_eq(json_text(one), expected);
	return found ? OK : deny(w, "aud", "it is for another one");
}

/* Seconds since 1970, perhaps with a fraction (§2, NumericDate).  False: not a
 * number, or not a moment before the year 10000. */
static bool
read_moment(yyjson_val *v, struct wall *out)
{
	double seconds = yyjson_get_num(v);

	if (!yyjson_is_num(v) || seconds < 0 || seconds > 253402300799.0)
		return false;
	out->us = (int64_t)(seconds * (double)US_PER_S);
	return true;
}

static enum err
check_times(yyjson_val *claims, struct wall now, struct wall *expires,
    struct why *w)
{
	yyjson_val *exp = yyjson_obj_get(claims, "exp");
	yyjson_val *nbf = yyjson_obj_get(claims, "nbf");
	struct wall begins;

	if (exp == NULL)
		return deny(w, "exp", "it is missing");
	if (!read_moment(exp, expires))
		return deny(w, "exp", "it is not a number of seconds since "
		    "1970");
	if (now.us >= expires->us)
		return deny(w, "exp", "the ticket has expired");
	if (expires->us > now.us + JWT_AHEAD_S_MAX * US_PER_S)
		return why_field(w, ERR_DENIED, "exp", "it is more than %d "
		    "seconds ahead", JWT_AHEAD_S_MAX);
	if (nbf == NULL)
		return OK;
	if (!read_moment(nbf, &begins) || now.us < begins.us)
		return deny(w, "nbf", "the ticket is not good yet");
	return OK;
}

static enum err
read_name(yyjson_val *claims, struct str *name, struct why *w)
{
	*name = STR_NONE;
	if (json_is_absent(yyjson_obj_get(claims, "name")))
		return OK;
	return read_claim(claims, "name", JWT_CLAIM_BYTES_MAX, name, w);
}

/* The claims but for the issuer; texts are the document's. */
static enum err
check_claims(yyjson_val *claims, const struct jwt_request *r,
    struct jwt_claims *c, struct why *w)
{
	struct str act;
	enum err e;

	CHECK((size_t)r->act < ARRAY_LEN(act_names));
	if ((e = check_audience(claims, r->audience, w)) != OK ||
	    (e = expect_claim(claims, "sub", r->subject, &c->subject,
	    w)) != OK || (e = expect_claim(claims, "subdomain", r->subdomain,
	    &c->subdomain, w)) != OK || (e = expect_claim(claims, "act",
	    str_of(act_names[r->act]), &act, w)) != OK ||
	    (e = check_times(claims, r->now, &c->expires, w)) != OK ||
	    (e = read_claim(claims, "jti", JWT_ID_BYTES_MAX, &c->id,
	    w)) != OK)
		return e;
	return read_name(claims, &c->name, w);
}

/* ---- All of it --------------------------------------------------------- */

static const struct jwt_key *
find_key(const struct jwt_request *r, struct str issuer)
{
	for (size_t i = 0; i < r->keys_n; i++)
		if (str_eq(r->keys[i].issuer, issuer))
			return &r->keys[i];
	return NULL;
}

static enum err
verify_claims(yyjson_val *claims, const struct parts *p,
    const struct jwt_request *r, struct jwt_claims *c, struct why *w)
{
	enum err e = read_claim(claims, "iss", JWT_CLAIM_BYTES_MAX,
	    &c->issuer, w);

	if (e != OK)
		return e;
	const struct jwt_key *key = find_key(r, c->issuer);
	if (key == NULL)
		return deny(w, "iss", "it is not a back end with a key");
	e = check_mac(key->secret, p, w);
	return e == OK ? check_claims(claims, r, c, w) : e;
}

enum err
jwt_verify(struct str ticket, const struct jwt_request *r, struct arena *a,
    struct jwt_claims *out, struct why *w)
{
	struct parts p;
	struct jwt_claims c = { .name = STR_NONE };

	if (ticket.n > JWT_BYTES_MAX)
		return why_field(w, ERR_DENIED, "ticket", "it is longer than "
		    "%u bytes", JWT_BYTES_MAX);
	if (!split_ticket(ticket, &p))
		return deny(w, "ticket", "it is not three parts with a \".\" "
		    "between them");
	enum err e = check_header(p.header, w);
	if (e != OK)
		return e;
	FREED(free_doc) yyjson_doc *doc = read_object(p.claims);
	if (doc == NULL)
		return deny(w, "ticket", "its claims are not an object in "
		    "base64url whose members are unique");
	e = verify_claims(yyjson_doc_get_root(doc), &p, r, &c, w);
	if (e != OK)
		return e;
	*out = (struct jwt_claims){
		.issuer = arena_copy(a, c.issuer),
		.subject = arena_copy(a, c.subject),
		.subdomain = arena_copy(a, c.subdomain),
		.id = arena_copy(a, c.id),
		.name = c.name.n > 0 ? arena_copy(a, c.name) : STR_NONE,
		.expires = c.expires,
	};
	return OK;
}

void
jwt_put(struct str header, struct str claims, struct str secret,
    struct buf *out)
{
	size_t start = out->n;
	struct digest mac;

	base64url_put(out, header);
	buf_put_char(out, '.');
	base64url_put(out, claims);
	digest_hmac(DIGEST_SHA256, secret, str_from(buf_str(out), start),
	    &mac);
	buf_put_char(out, '.');
	base64url_put(out, (struct str){ (const char *)mac.bytes,
	    digest_size(mac.kind) });
}
