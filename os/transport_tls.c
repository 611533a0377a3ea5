#include "os/transport_tls.h"

#include "os/clock.h"
#include "os/transport_sessions.h"

#define CTX_NS_MAX (24 * 3600 * NS_PER_S)
#define HOST_BYTES_MAX 256

struct transport_tls {
	SSL_CTX *ctx;                /* made by the first connection */
	struct mono made;
	bool no_certificates;        /* the file cannot be read */
	const char *ca_file;
	bool tls_1_2;
	struct transport_sessions *sessions;
};

static struct transport_tls *
tls_of(SSL *ssl)
{
	return SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
}

/* ---- Sessions ----------------------------------------------------------- */

/* For SSL_CTX_sess_set_new_cb(); 0: the session stays OpenSSL's. */
static int
keep_session(SSL *ssl, SSL_SESSION *session)
{
	const struct transport_tls *t = tls_of(ssl);
	const struct str *key = SSL_get_app_data(ssl);

	/* One that was made with certificates of the day before is not. */
	if (SSL_get_SSL_CTX(ssl) == t->ctx)
		transport_sessions_put(t->sessions, *key, session);
	return 0;
}

static void
resume_session(const struct transport_tls *t, SSL *ssl, struct str key)
{
	SSL_SESSION *session = transport_sessions_take(t->sessions, key);

	if (session != NULL)
		(void)SSL_set_session(ssl, session);
	SSL_SESSION_free(session);
}

void
transport_tls_forget(SSL *ssl)
{
	const struct str *key = SSL_get_app_data(ssl);

	transport_sessions_forget(tls_of(ssl)->sessions, *key);
}

/* ---- The context -------------------------------------------------------- */

static bool
load_certificates(SSL_CTX *ctx, const char *ca_file)
{
	if (ca_file == NULL)
		return SSL_CTX_set_default_verify_paths(ctx) == 1;
	return SSL_CTX_load_verify_locations(ctx, ca_file, NULL) == 1;
}

static void
make_context(struct transport_tls *t)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

	CHECK(ctx != NULL);
	if (t->tls_1_2)
		SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	SSL_CTX_set_options(ctx, SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
	    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
	/* A record's head and its body by one read(2). */
	SSL_CTX_set_read_ahead(ctx, 1);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT |
	    SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(ctx, keep_session);
	SSL_CTX_set_app_data(ctx, t);
	/* A certificate in the file is trusted, whoever has signed it. */
	X509_STORE_set_flags(SSL_CTX_get_cert_store(ctx),
	    X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST);
	t->no_certificates = !load_certificates(ctx, t->ca_file);
	ERR_clear_error();
	SSL_CTX_free(t->ctx);
	/* The new certificates may no longer trust those servers. */
	transport_sessions_clear(t->sessions);
	t->ctx = ctx;
	t->made = clock_mono();
}

struct transport_tls *
transport_tls_new(const char *ca_file, bool tls_1_2)
{
	struct transport_tls *t = mem_new(sizeof(*t));

	t->ca_file = ca_file;
	t->tls_1_2 = tls_1_2;
	t->sessions = transport_sessions_new();
	return t;
}

void
transport_tls_free(struct transport_tls **tp)
{
	struct transport_tls *t = *tp;

	if (t == NULL)
		return;
	transport_sessions_free(&t->sessions);
	SSL_CTX_free(t->ctx);
	mem_free(tp);
}

/* ---- Connections -------------------------------------------------------- */

/* A name with a dot at its end is in certificates without it. */
static bool
set_name(SSL *ssl, struct str host)
{
	X509_VERIFY_PARAM *p = SSL_get0_param(ssl);
	char name[HOST_BYTES_MAX];

	if (host.n > 1 && str_ends(host, STR(".")))
		host.n--;
	if (host.n == 0 || host.n >= sizeof(name))
		return false;
	memcpy(name, host.p, host.n);
	name[host.n] = '\0';
	if (X509_VERIFY_PARAM_set1_ip_asc(p, name) == 1)
		return true;
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	return SSL_set1_host(ssl, name) == 1 &&
	    SSL_set_tlsext_host_name(ssl, name) == 1;
}

static bool
set_protocols(SSL *ssl, bool http2)
{
	static const unsigned char both[] = "\x02h2\x08http/1.1";

	/* It returns 0 when all is well. */
	return (http2 ? SSL_set_alpn_protos(ssl, both, 12) :
	    SSL_set_alpn_protos(ssl, both + 3, 9)) == 0;
}

SSL *
transport_tls_open(struct transport_tls *t, int fd,
    const struct transport_tls_peer *peer,
    char detail[static TRANSPORT_TLS_DETAIL_MAX])
{
	const char *wrong = "the host's name cannot be used for TLS";

	if (t->ctx == NULL ||
	    mono_ns_between(t->made, clock_mono()) > CTX_NS_MAX)
		make_context(t);
	SSL *ssl = SSL_new(t->ctx);
	CHECK(ssl != NULL);
	if (peer->verify && t->no_certificates)
		wrong = "the file of trusted certificates cannot be read";
	else if (SSL_set_fd(ssl, fd) == 1 && set_name(ssl, peer->host) &&
	    set_protocols(ssl, peer->http2))
		wrong = NULL;
	ERR_clear_error();
	if (wrong != NULL) {
		snprintf(detail, TRANSPORT_TLS_DETAIL_MAX, "%s", wrong);
		SSL_free(ssl);
		return NULL;
	}
	SSL_set_connect_state(ssl);
	SSL_set_verify(ssl, peer->verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE,
	    NULL);
	SSL_set_app_data(ssl, (void *)(uintptr_t)peer->key);
	resume_session(t, ssl, *peer->key);
	return ssl;
}

/* ---- Why a handshake failed --------------------------------------------- */

static const char *
certificate_cause(long verify)
{
	switch (verify) {
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		return "the certificate is for another name";
	case X509_V_ERR_CERT_HAS_EXPIRED:
		return "the certificate has expired";
	case X509_V_ERR_CERT_NOT_YET_VALID:
		return "the certificate is not valid yet";
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
		return "the certificate is self-signed";
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
		return "the certificate's root is not trusted";
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
		return "the certificate's issuer is unknown";
	case X509_V_ERR_CERT_REVOKED:
		return "the certificate is revoked";
	case X509_V_ERR_EE_KEY_TOO_SMALL:
	case X509_V_ERR_CA_KEY_TOO_SMALL:
	case X509_V_ERR_CA_MD_TOO_WEAK:
		return "the certificate is too weak";
	default:
		return X509_verify_cert_error_string(verify);
	}
}

/* NULL: OpenSSL's own words are as good. */
static const char *
handshake_cause(int reason)
{
	switch (reason) {
	case SSL_R_UNSUPPORTED_PROTOCOL:
	case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
	case SSL_R_NO_PROTOCOLS_AVAILABLE:
	case SSL_R_LEGACY_SIGALG_DISALLOWED_OR_UNSUPPORTED:
		return "no common version of TLS";
	case SSL_R_WRONG_VERSION_NUMBER:
	case SSL_R_PACKET_LENGTH_TOO_LONG:
	case SSL_R_HTTP_REQUEST:
		return "the server does not speak TLS";
	case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
		return "the server refused the handshake";
	case SSL_R_UNEXPECTED_EOF_WHILE_READING:
		return "cut during the TLS handshake";
	case SSL_R_DH_KEY_TOO_SMALL:
	case SSL_R_EE_KEY_TOO_SMALL:
		return "the server's key is too weak";
	default:
		return NULL;
	}
}

static const char *
cause_of(SSL *ssl, int error)
{
	unsigned long code = ERR_peek_error();
	const char *cause;

	if (error == SSL_ERROR_SYSCALL || error == SSL_ERROR_ZERO_RETURN ||
	    code == 0)
		return "cut during the TLS handshake";
	if (ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED)
		return certificate_cause(SSL_get_verify_result(ssl));
	cause = handshake_cause(ERR_GET_REASON(code));
	if (cause == NULL)
		cause = ERR_reason_error_string(code);
	return cause == NULL ? "the TLS handshake failed" : cause;
}

enum net_io
transport_tls_handshake(SSL *ssl, unsigned *wants,
    char detail[static TRANSPORT_TLS_DETAIL_MAX])
{
	ERR_clear_error();
	int got = SSL_do_handshake(ssl);
	if (got == 1)
		return NET_DONE;
	int error = SSL_get_error(ssl, got);
	if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
		*wants = error == SSL_ERROR_WANT_READ ? LOOP_READ : LOOP_WRITE;
		return NET_AGAIN;
	}
	transport_tls_forget(ssl);
	snprintf(detail, TRANSPORT_TLS_DETAIL_MAX, "%s", cause_of(ssl, error));
	ERR_clear_error();
	return NET_FAILED;
}
