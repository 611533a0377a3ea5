/* OpenSSL has a type of the name that base/err.h gives an error. */
#define ERR_STATE openssl_err_state
#include <openssl/x509_vfy.h>
#undef ERR_STATE

#include "os/transport_curl_transfer.h"

static enum transport_end
end_of_cut(const struct transfer *tr)
{
	if (!transfer_is_direct(tr) && tr->phase < PHASE_ANSWER)
		return TRANSPORT_PROXY;
	return TRANSPORT_RESET;
}

/* Where libcurl did not see the chunks: "gzip, chunked" from 8 on. */
static bool
is_chunked_cut(const struct transfer *tr)
{
	return tr->chunked && tr->chunk.state != TRANSPORT_CHUNK_ENDED &&
	    !tr->is_head && tr->status != 204 && tr->status != 304;
}

bool
transport_end_is_too_large(const struct transfer *tr, CURLcode code)
{
	/* 7.88 says OUT_OF_MEMORY of a header line over 100 KB. */
	return code == CURLE_OUT_OF_MEMORY ||
	    strstr(tr->error, "oo large response headers") != NULL;
}

enum transport_end
transport_end_of(const struct transfer *tr, CURLcode code)
{
	bool in_head = tr->phase == PHASE_ANSWER;

	switch (code) {
	case CURLE_OK:
		return tr->phase == PHASE_BODY && !is_chunked_cut(tr) ?
		    TRANSPORT_DONE : TRANSPORT_RESET;
	case CURLE_COULDNT_RESOLVE_HOST:
		return TRANSPORT_DNS;
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_PROXY:
		return TRANSPORT_PROXY;
	case CURLE_COULDNT_CONNECT:
		return transfer_is_direct(tr) ? TRANSPORT_CONNECT :
		    TRANSPORT_PROXY;
	case CURLE_OPERATION_TIMEDOUT:
		return tr->phase < PHASE_ANSWER ? TRANSPORT_CONNECT :
		    TRANSPORT_TIMEOUT;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_INVALIDCERTSTATUS:
	case CURLE_SSL_ENGINE_INITFAILED:
	case CURLE_USE_SSL_FAILED:
		return TRANSPORT_TLS;
	case CURLE_RECV_ERROR:
		/* libcurl has no code of its own for a chunk it cannot read. */
		if (strstr(tr->error, "chunked-encoding") != NULL ||
		    transport_end_is_too_large(tr, code))
			return TRANSPORT_PROTOCOL;
		return end_of_cut(tr);
	case CURLE_SEND_ERROR:
	case CURLE_SEND_FAIL_REWIND:
	case CURLE_GOT_NOTHING:
	case CURLE_PARTIAL_FILE:
	case CURLE_HTTP2_STREAM:
		return end_of_cut(tr);
	case CURLE_OUT_OF_MEMORY:
		return in_head ? TRANSPORT_PROTOCOL : end_of_cut(tr);
	default:
		return !transfer_is_direct(tr) && tr->phase < PHASE_ANSWER ?
		    TRANSPORT_PROXY : TRANSPORT_PROTOCOL;
	}
}

/* libcurl would name the address that stands in for the real one. */
static const char *
connect_detail(struct transfer *tr)
{
	char ip[IP_TEXT_MAX];
	long os_error = 0;

	ip_to_text(&tr->asked, ip);
	curl_easy_getinfo(tr->easy, CURLINFO_OS_ERRNO, &os_error);
	snprintf(tr->reason, sizeof(tr->reason), "%s port %u: %s", ip,
	    tr->x->port, os_error == 0 ? "no connection" :
	    strerror((int)os_error));
	return tr->reason;
}

/* Why the certificate was refused, in few words; NULL: it was not. */
static const char *
certificate_cause(const struct transfer *tr, CURLcode code)
{
	long verify = X509_V_OK;

	if (code != CURLE_PEER_FAILED_VERIFICATION)
		return NULL;
	curl_easy_getinfo(tr->easy, CURLINFO_SSL_VERIFYRESULT, &verify);
	switch (verify) {
	case X509_V_OK:
	case X509_V_ERR_UNSPECIFIED:
		/* OpenSSL had nothing against it; libcurl compares the name. */
		return strstr(tr->error, "subject name") == NULL ? NULL :
		    "the certificate is for another name";
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

/* Why the handshake failed; libcurl passes on OpenSSL's words only. */
static const char *
handshake_cause(const struct transfer *tr)
{
	static const struct {
		const char *words, *cause;
	} causes[] = {
		{ "unsupported protocol", "no common version of TLS" },
		{ "protocol version", "no common version of TLS" },
		{ "no protocols available", "no common version of TLS" },
		{ "legacy sigalg", "no common version of TLS" },
		{ "wrong version number", "the server does not speak TLS" },
		{ "packet length too long", "the server does not speak TLS" },
		{ "http request", "the server does not speak TLS" },
		{ "handshake failure", "the server refused the handshake" },
		{ "unexpected eof", "cut during the TLS handshake" },
		{ "SSL_ERROR_SYSCALL", "cut during the TLS handshake" },
		{ "Connection reset", "cut during the TLS handshake" },
		{ "dh key too small", "the server's key is too weak" },
		{ "ee key too small", "the server's key is too weak" },
	};

	for (size_t i = 0; i < ARRAY_LEN(causes); i++)
		if (strstr(tr->error, causes[i].words) != NULL)
			return causes[i].cause;
	return NULL;
}

/* The cause, or libcurl's words where it is none of those. */
static const char *
tls_detail(struct transfer *tr, CURLcode code)
{
	const char *cause = certificate_cause(tr, code);

	if (code == CURLE_SSL_CACERT_BADFILE)
		return "the file of trusted certificates cannot be read";
	if (cause == NULL)
		cause = handshake_cause(tr);
	if (cause != NULL)
		return cause;
	return tr->error[0] != '\0' ? tr->error : curl_easy_strerror(code);
}

const char *
transport_end_detail(struct transfer *tr, enum transport_end end,
    CURLcode code)
{
	if (end == TRANSPORT_DONE)
		return "";
	if (code == CURLE_COULDNT_CONNECT && transfer_is_direct(tr))
		return connect_detail(tr);
	if (code == CURLE_OUT_OF_MEMORY && end == TRANSPORT_PROTOCOL)
		return "a header line is too long";
	if (end == TRANSPORT_TLS)
		return tls_detail(tr, code);
	if (code == CURLE_OK)
		return tr->phase == PHASE_BODY ? "cut before the last chunk" :
		    "cut before the end of the head";
	return tr->error[0] != '\0' ? tr->error : curl_easy_strerror(code);
}
