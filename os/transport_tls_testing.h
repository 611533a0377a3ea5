/*
 * transport_tls_testing -- for tests: a certificate that signs itself, and a
 * server's side of TLS with it.
 */
#ifndef OS_TRANSPORT_TLS_TESTING_H
#define OS_TRANSPORT_TLS_TESTING_H

/* OpenSSL has a type of the name that base/err.h gives an error. */
#define ERR_STATE openssl_err_state
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#undef ERR_STATE

/* For name.test and this key, for a day. */
X509 *test_certificate(EVP_PKEY *key);
/* With a certificate of its own, which is in the file `ca_path`; the caller
 * frees the one and unlinks the other. */
SSL_CTX *test_tls_server(char ca_path[static 64]);

#endif
