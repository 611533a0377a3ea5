#include "os/transport_tls_testing.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"

static void
add_extension(X509 *cert, int nid, const char *value)
{
	X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, nid, value);

	CHECK(e != NULL);
	CHECK(X509_add_ext(cert, e, -1) == 1);
	X509_EXTENSION_free(e);
}

X509 *
test_certificate(EVP_PKEY *key)
{
	X509 *cert = X509_new();
	X509_NAME *name = X509_get_subject_name(cert);

	X509_set_version(cert, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
	X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
	X509_gmtime_adj(X509_getm_notAfter(cert), 86400);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
	    (const unsigned char *)"name.test", -1, -1, 0);
	X509_set_issuer_name(cert, name);
	X509_set_pubkey(cert, key);
	add_extension(cert, NID_basic_constraints, "critical,CA:TRUE");
	add_extension(cert, NID_subject_alt_name, "DNS:name.test");
	CHECK(X509_sign(cert, key, EVP_sha256()) > 0);
	return cert;
}

SSL_CTX *
test_tls_server(char ca_path[static 64])
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = test_certificate(key);
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

	snprintf(ca_path, 64, "/tmp/transport-test-XXXXXX");
	int fd = mkstemp(ca_path);
	CHECK(fd >= 0);
	FILE *f = fdopen(fd, "w");
	CHECK(PEM_write_X509(f, cert) == 1);
	fclose(f);
	CHECK(SSL_CTX_use_certificate(ctx, cert) == 1);
	CHECK(SSL_CTX_use_PrivateKey(ctx, key) == 1);
	SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"t", 1);
	X509_free(cert);
	EVP_PKEY_free(key);
	return ctx;
}
