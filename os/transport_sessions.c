#include "os/transport_sessions.h"

#include "base/list.h"
#include "base/map.h"
#include "os/clock.h"

#define PEER_TAG 0xa3u               /* [3], constructed */

struct session_host;
struct session {
	struct list node;            /* of all, the first that came first */
	struct list of_host;         /* the newest first */
	struct session_host *host;
	struct buf bytes;
	struct mono expires;
	bool once;                   /* a ticket of TLS 1.3 */
};

/* Sessions with one key; freed with the last of them. */
struct session_host {
	struct buf key;
	struct list sessions;
	size_t sessions_n;
};

struct transport_sessions {
	struct map hosts;
	struct list by_age;
	size_t n;
	struct buf written;          /* the one that is being put */
};

/* ---- Keeping ------------------------------------------------------------ */

static void
wipe_and_free(struct buf *b)
{
	if (b->cap > 0)
		explicit_bzero(b->p, b->cap);
	buf_free(b);
}

static void
drop_session(struct transport_sessions *t, struct session *s)
{
	struct session_host *h = s->host;

	list_take(&s->node);
	list_take(&s->of_host);
	t->n--;
	wipe_and_free(&s->bytes);
	mem_free(&s);
	if (--h->sessions_n > 0)
		return;
	(void)map_take(&t->hosts, buf_str(&h->key));
	wipe_and_free(&h->key);
	mem_free(&h);
}

static struct session_host *
host_of(struct transport_sessions *t, struct str key)
{
	struct session_host *h = map_get(&t->hosts, key);

	if (h != NULL)
		return h;
	h = mem_new(sizeof(*h));
	list_init(&h->sessions);
	buf_put_str(&h->key, key);
	map_put(&t->hosts, buf_str(&h->key), h);
	return h;
}

/*
 * Take the next element of DER out of `rest`: its tag, and how long its head
 * and its contents are.  False: this is none.
 */
static bool
next_element(struct str *rest, struct str *element, size_t *head_n)
{
	const unsigned char *p = (const unsigned char *)rest->p;
	size_t n = 0, size_n = 0;

	if (rest->n < 2)
		return false;
	if (p[1] < 0x80)
		n = p[1];
	else
		size_n = p[1] & 0x7f;
	if (size_n > 4 || rest->n < 2 + size_n)
		return false;
	for (size_t i = 0; i < size_n; i++)
		n = n << 8 | p[2 + i];
	*head_n = 2 + size_n;
	if (rest->n - *head_n < n)
		return false;
	*element = str_cut(*rest, 0, *head_n + n);
	*rest = str_from(*rest, *head_n + n);
	return true;
}

/*
 * The session without the server's certificate (OpenSSL's ssl/ssl_asn1.c),
 * which nobody looks at once it was verified: to read it again would take
 * longer than all of a resumed handshake, and it is most of the bytes.
 */
static bool
put_without_certificate(struct buf *out, struct str der)
{
	struct str rest, part;
	size_t head_n;

	buf_clear(out);
	if (!next_element(&der, &part, &head_n) || part.p[0] != 0x30)
		return false;
	rest = str_from(part, head_n);
	buf_put(out, "\x30\x82\0\0", 4);
	while (rest.n > 0) {
		if (!next_element(&rest, &part, &head_n))
			return false;
		if ((unsigned char)part.p[0] != PEER_TAG)
			buf_put_str(out, part);
	}
	if (out->n - 4 > UINT16_MAX)
		return false;
	out->p[2] = (char)((out->n - 4) >> 8);
	out->p[3] = (char)(out->n - 4);
	return true;
}

static bool
write_session(struct buf *out, SSL_SESSION *session)
{
	unsigned char *der = NULL;
	int n = i2d_SSL_SESSION(session, &der);

	if (n <= 0)
		return false;
	/* A buffer that grows would leave a copy behind. */
	if (out->cap < (size_t)n + 4)
		wipe_and_free(out);
	buf_reserve(out, (size_t)n + 4);
	bool fine = put_without_certificate(out, (struct str){ (char *)der,
	    (size_t)n });
	OPENSSL_clear_free(der, (size_t)n);
	return fine;
}

static bool
is_tls_1_3(const SSL_SESSION *session)
{
	return SSL_SESSION_get_protocol_version(session) >= TLS1_3_VERSION;
}

/* How long the server says that it may be resumed, in seconds; of TLS 1.2 it
 * may say nothing. */
static int64_t
lifetime_of(const SSL_SESSION *session)
{
	int64_t s = (int64_t)SSL_SESSION_get_ticket_lifetime_hint(session);

	if (s == 0 && !is_tls_1_3(session))
		s = SSL_SESSION_get_timeout(session);
	return MIN(s, TRANSPORT_SESSION_S_MAX);
}

/* Room for one more with this key, of that kind. */
static void
make_room(struct transport_sessions *t, struct session_host *h, bool once)
{
	while (h->sessions_n > 1) {
		struct session *last = LIST_ITEM(h->sessions.prev,
		    struct session, of_host);
		if (h->sessions_n <= TRANSPORT_SESSIONS_HOST_MAX && once &&
		    last->once)
			break;
		drop_session(t, last);
	}
	if (t->n > TRANSPORT_SESSIONS_MAX)
		drop_session(t, LIST_ITEM(t->by_age.next, struct session,
		    node));
}

void
transport_sessions_put(struct transport_sessions *t, struct str key,
    SSL_SESSION *session)
{
	struct session *s;
	int64_t seconds = lifetime_of(session);

	if (!SSL_SESSION_is_resumable(session) || seconds <= 0)
		return;
	if (!write_session(&t->written, session))
		return;
	s = mem_new(sizeof(*s));
	buf_put_str(&s->bytes, buf_str(&t->written));
	s->once = is_tls_1_3(session);
	s->expires = mono_add_ns(clock_mono(), seconds * NS_PER_S);
	s->host = host_of(t, key);
	s->host->sessions_n++;
	list_put(s->host->sessions.next, &s->of_host);
	list_put(&t->by_age, &s->node);
	t->n++;
	make_room(t, s->host, s->once);
}

/* ---- Resuming ----------------------------------------------------------- */

static SSL_SESSION *
read_session(const struct session *s)
{
	const unsigned char *at = (const unsigned char *)s->bytes.p;

	return d2i_SSL_SESSION(NULL, &at, (long)s->bytes.n);
}

SSL_SESSION *
transport_sessions_take(struct transport_sessions *t, struct str key)
{
	const struct session_host *h;

	while ((h = map_get(&t->hosts, key)) != NULL) {
		struct session *s = LIST_ITEM(h->sessions.next, struct session,
		    of_host);
		SSL_SESSION *found = mono_before(clock_mono(), s->expires) ?
		    read_session(s) : NULL;
		if (found == NULL || s->once)
			drop_session(t, s);
		if (found != NULL)
			return found;
	}
	return NULL;
}

void
transport_sessions_forget(struct transport_sessions *t, struct str key)
{
	const struct session_host *h;

	while ((h = map_get(&t->hosts, key)) != NULL)
		drop_session(t, LIST_ITEM(h->sessions.next, struct session,
		    of_host));
}

/* ---- Life --------------------------------------------------------------- */

struct transport_sessions *
transport_sessions_new(void)
{
	struct transport_sessions *t = mem_new(sizeof(*t));

	list_init(&t->by_age);
	return t;
}

void
transport_sessions_clear(struct transport_sessions *t)
{
	while (!list_empty(&t->by_age))
		drop_session(t, LIST_ITEM(t->by_age.next, struct session,
		    node));
}

void
transport_sessions_free(struct transport_sessions **tp)
{
	struct transport_sessions *t = *tp;

	if (t == NULL)
		return;
	transport_sessions_clear(t);
	wipe_and_free(&t->written);
	map_free(&t->hosts);
	mem_free(tp);
}

size_t
transport_sessions_count(const struct transport_sessions *t)
{
	return t->n;
}
