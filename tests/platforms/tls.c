/* TLS of the simulator: an authority of its own, and blocking connections. */
/* OpenSSL has a type of the name that base/err.h gives an error. */
#define ERR_STATE openssl_err_state
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#undef ERR_STATE
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/platforms/platforms.h"

#define DAY_S (24L * 60 * 60)
#define READ_S 60

struct tls {
	SSL *ssl;
	int fd;
};

static SSL_CTX *context;

static void
add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX with;
	X509_EXTENSION *extension;

	X509V3_set_ctx(&with, issuer, cert, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &with, nid, value);
	CHECK(extension != NULL);
	X509_add_ext(cert, extension, -1);
	X509_EXTENSION_free(extension);
}

static X509 *
make_certificate(const char *name, long serial, EVP_PKEY *key)
{
	X509 *cert = X509_new();
	X509_NAME *subject = X509_get_subject_name(cert);

	X509_set_version(cert, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), serial);
	X509_gmtime_adj(X509_getm_notBefore(cert), -DAY_S);
	X509_gmtime_adj(X509_getm_notAfter(cert), 2 * DAY_S);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
	    (const unsigned char *)name, -1, -1, 0);
	X509_set_pubkey(cert, key);
	return cert;
}

static bool
write_certificate(const char *file, X509 *cert)
{
	FILE *f = fopen(file, "w");

	if (f == NULL)
		return false;
	bool fine = PEM_write_X509(f, cert) == 1;
	return fclose(f) == 0 && fine;
}

bool
tls_make(const char *ca_file, const char *names)
{
	EVP_PKEY *ca_key = EVP_EC_gen("P-256"), *key = EVP_EC_gen("P-256");
	X509 *ca = make_certificate("simulated authority", 1, ca_key);
	X509 *cert = make_certificate("simulated platforms", 2, key);

	X509_set_issuer_name(ca, X509_get_subject_name(ca));
	add_extension(ca, ca, NID_basic_constraints, "critical,CA:TRUE");
	add_extension(ca, ca, NID_key_usage, "critical,keyCertSign,cRLSign");
	add_extension(ca, ca, NID_subject_key_identifier, "hash");
	CHECK(X509_sign(ca, ca_key, EVP_sha256()) != 0);
	X509_set_issuer_name(cert, X509_get_subject_name(ca));
	add_extension(cert, ca, NID_basic_constraints, "critical,CA:FALSE");
	add_extension(cert, ca, NID_subject_alt_name, names);
	add_extension(cert, ca, NID_authority_key_identifier, "keyid");
	CHECK(X509_sign(cert, ca_key, EVP_sha256()) != 0);

	context = SSL_CTX_new(TLS_server_method());
	CHECK(SSL_CTX_use_certificate(context, cert) == 1);
	CHECK(SSL_CTX_use_PrivateKey(context, key) == 1);
	bool fine = write_certificate(ca_file, ca);
	X509_free(ca);
	X509_free(cert);
	EVP_PKEY_free(ca_key);
	EVP_PKEY_free(key);
	return fine;
}

struct tls *
tls_accept(int fd)
{
	struct timeval wait = { .tv_sec = READ_S };
	SSL *ssl = SSL_new(context);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	SSL_set_fd(ssl, fd);
	if (SSL_accept(ssl) != 1) {
		SSL_free(ssl);
		close(fd);
		return NULL;
	}
	struct tls *t = mem_new(sizeof(*t));
	*t = (struct tls){ ssl, fd };
	return t;
}

size_t
tls_read(struct tls *t, char *p, size_t n)
{
	int got = SSL_read(t->ssl, p, (int)MIN(n, INT32_MAX));

	return got > 0 ? (size_t)got : 0;
}

size_t
tls_poll(struct tls *t, char *p, size_t n, int ms, bool *ended)
{
	struct pollfd fd = { .fd = t->fd, .events = POLLIN };

	if (SSL_pending(t->ssl) == 0 && poll(&fd, 1, ms) <= 0)
		return 0;
	size_t got = tls_read(t, p, n);
	*ended |= got == 0;
	return got;
}

bool
tls_write(struct tls *t, struct str s)
{
	while (s.n > 0) {
		int n = SSL_write(t->ssl, s.p, (int)MIN(s.n, 1u << 20));
		if (n <= 0)
			return false;
		s = str_from(s, (size_t)n);
	}
	return true;
}

bool
tls_has_input(struct tls *t)
{
	struct pollfd p = { .fd = t->fd, .events = POLLIN };

	return SSL_pending(t->ssl) > 0 || poll(&p, 1, 0) > 0;
}

void
tls_close(struct tls *t, bool in_order)
{
	if (in_order)
		SSL_shutdown(t->ssl);
	SSL_free(t->ssl);
	close(t->fd);
	free(t);
}
