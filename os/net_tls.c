#include "os/net_own.h"

#include "os/file_stamp.h"

struct net_tls {
	SSL_CTX *ctx;
	struct file_stamp chain, key;    /* when they were read */
	char *chain_file, *key_file;     /* a server's */
	bool http1;                      /* spoken beside h2 */
};

static const unsigned char alpn_h2[] = { 2, 'h', '2' };

static enum err
why_tls(struct why *w, enum err e, const char *what)
{
	unsigned long code = ERR_get_error();
	const char *text = ERR_SYSTEM_ERROR(code) ?
	    strerror(ERR_GET_REASON(code)) : ERR_reason_error_string(code);

	ERR_clear_error();
	return why(w, e, "%s cannot be used for TLS: %s", what,
	    text == NULL ? "no reason given" : text);
}

static bool
offers(const char *name, const unsigned char *in, unsigned in_n,
    const unsigned char **out, unsigned char *out_n)
{
	size_t n = strlen(name);

	for (unsigned at = 0; at < in_n; at += 1u + in[at]) {
		if (in[at] != n || in_n - at < n + 1 ||
		    memcmp(in + at + 1, name, n) != 0)
			continue;
		*out = in + at + 1;
		*out_n = in[at];
		return true;
	}
	return false;
}

static int
choose(SSL *ssl, const unsigned char **out, unsigned char *out_n,
    const unsigned char *in, unsigned in_n, void *arg)
{
	(void)ssl;
	if (offers("h2", in, in_n, out, out_n) ||
	    (arg != NULL && offers("http/1.1", in, in_n, out, out_n)))
		return SSL_TLSEXT_ERR_OK;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* `arg` of choose() is a mark: connections may outlive the struct net_tls. */
static void
set_choice(SSL_CTX *ctx, bool http1)
{
	void *mark = http1 ? ctx : NULL;

	SSL_CTX_set_alpn_select_cb(ctx, choose, mark);
	SSL_CTX_set_app_data(ctx, mark);
}

static SSL_CTX *
ctx_new(const SSL_METHOD *method)
{
	SSL_CTX *ctx = SSL_CTX_new(method);

	CHECK(ctx != NULL);
	SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	SSL_CTX_set_options(ctx, SSL_OP_NO_COMPRESSION |
	    SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
	    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
	/* RFC 9113 §9.2.2: of TLS 1.2 only what is not forbidden. */
	SSL_CTX_set_cipher_list(ctx, "ECDHE+AESGCM:ECDHE+CHACHA20");
	return ctx;
}

static enum err
server_ctx(const struct net_tls *t, SSL_CTX **out, struct why *w)
{
	SSL_CTX *ctx = ctx_new(TLS_server_method());

	set_choice(ctx, t->http1);
	if (SSL_CTX_use_certificate_chain_file(ctx, t->chain_file) != 1) {
		SSL_CTX_free(ctx);
		return why_tls(w, ERR_CONFIG, t->chain_file);
	}
	if (SSL_CTX_use_PrivateKey_file(ctx, t->key_file,
	    SSL_FILETYPE_PEM) != 1 || SSL_CTX_check_private_key(ctx) != 1) {
		SSL_CTX_free(ctx);
		return why_tls(w, ERR_CONFIG, t->key_file);
	}
	*out = ctx;
	return OK;
}

/* Before the files are read, so that a later change is one. */
static void
note_stamps(struct net_tls *t)
{
	t->chain = file_stamp_of(t->chain_file);
	t->key = file_stamp_of(t->key_file);
}

bool
net_tls_changed(const struct net_tls *t)
{
	struct file_stamp chain = file_stamp_of(t->chain_file);
	struct file_stamp key = file_stamp_of(t->key_file);

	return !file_stamp_eq(&chain, &t->chain) ||
	    !file_stamp_eq(&key, &t->key);
}

enum err
net_tls_server(const char *chain_file, const char *key_file,
    struct net_tls **out, struct why *w)
{
	struct net_tls *t = mem_new(sizeof(*t));

	t->chain_file = mem_copy_text(chain_file);
	t->key_file = mem_copy_text(key_file);
	note_stamps(t);
	enum err e = server_ctx(t, &t->ctx, w);
	if (e != OK)
		net_tls_free(&t);
	*out = t;
	return e;
}

void
net_tls_speak_http1(struct net_tls *t)
{
	t->http1 = true;
	set_choice(t->ctx, true);
}

enum err
net_tls_reload(struct net_tls *t, struct why *w)
{
	SSL_CTX *fresh;

	note_stamps(t);
	enum err e = server_ctx(t, &fresh, w);

	if (e != OK)
		return e;
	SSL_CTX_free(t->ctx);
	t->ctx = fresh;
	return OK;
}

enum err
net_tls_client(const char *ca_file, struct net_tls **out, struct why *w)
{
	struct net_tls *t = mem_new(sizeof(*t));
	int fine;

	*out = NULL;
	t->ctx = ctx_new(TLS_client_method());
	SSL_CTX_set_verify(t->ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_alpn_protos(t->ctx, alpn_h2, sizeof(alpn_h2));
	if (ca_file == NULL)
		fine = SSL_CTX_set_default_verify_paths(t->ctx);
	else
		fine = SSL_CTX_load_verify_locations(t->ctx, ca_file, NULL);
	if (fine != 1) {
		net_tls_free(&t);
		return why_tls(w, ERR_CONFIG, ca_file == NULL ?
		    "the system's certificates" : ca_file);
	}
	*out = t;
	return OK;
}

void
net_tls_free(struct net_tls **tp)
{
	struct net_tls *t = *tp;

	if (t == NULL)
		return;
	SSL_CTX_free(t->ctx);
	mem_free(&t->chain_file);
	mem_free(&t->key_file);
	mem_free(tp);
}

SSL *
net_tls_open(struct net_tls *t, int fd, const char *name, struct why *w)
{
	SSL *ssl = SSL_new(t->ctx);

	if (ssl == NULL || SSL_set_fd(ssl, fd) != 1)
		goto failed;
	if (t->chain_file != NULL) {
		SSL_set_accept_state(ssl);
		return ssl;
	}
	SSL_set_connect_state(ssl);
	X509_VERIFY_PARAM *p = SSL_get0_param(ssl);
	if (X509_VERIFY_PARAM_set1_ip_asc(p, name) != 1 &&
	    (SSL_set1_host(ssl, name) != 1 ||
	    SSL_set_tlsext_host_name(ssl, name) != 1))
		goto failed;
	ERR_clear_error();
	return ssl;
failed:
	(void)why_tls(w, ERR_IO, name);
	SSL_free(ssl);
	return NULL;
}

static enum net_io
outcome(SSL *ssl, int got, unsigned *wants, struct why *w)
{
	switch (SSL_get_error(ssl, got)) {
	case SSL_ERROR_WANT_READ:
		*wants = LOOP_READ;
		return NET_AGAIN;
	case SSL_ERROR_WANT_WRITE:
		*wants = LOOP_WRITE;
		return NET_AGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return NET_END;
	case SSL_ERROR_SYSCALL:
		ERR_clear_error();
		(void)why(w, ERR_CLOSED, "the other side broke off");
		return NET_FAILED;
	default:
		(void)why_tls(w, ERR_GET_REASON(ERR_peek_error()) ==
		    SSL_R_UNEXPECTED_EOF_WHILE_READING ? ERR_CLOSED
		    : ERR_IO, "TLS");
		return NET_FAILED;
	}
}

bool
net_tls_h2(SSL *ssl)
{
	const unsigned char *alpn;
	unsigned alpn_n;

	SSL_get0_alpn_selected(ssl, &alpn, &alpn_n);
	return alpn_n == 2 && memcmp(alpn, "h2", 2) == 0;
}

enum net_io
net_tls_handshake(SSL *ssl, unsigned *wants, struct why *w)
{
	ERR_clear_error();
	int got = SSL_do_handshake(ssl);
	if (got != 1)
		return outcome(ssl, got, wants, w);
	if (SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)) != NULL ||
	    net_tls_h2(ssl))
		return NET_DONE;
	(void)why(w, ERR_IO, "TLS: the other side does not speak h2");
	return NET_FAILED;
}

enum net_io
net_tls_read(SSL *ssl, void *p, size_t room, size_t *n, unsigned *wants,
    struct why *w)
{
	ERR_clear_error();
	int got = SSL_read_ex(ssl, p, room, n);
	return got == 1 ? NET_DONE : outcome(ssl, got, wants, w);
}

enum net_io
net_tls_write(SSL *ssl, const void *p, size_t n, size_t *done,
    unsigned *wants, struct why *w)
{
	ERR_clear_error();
	int got = SSL_write_ex(ssl, p, n, done);
	return got == 1 ? NET_DONE : outcome(ssl, got, wants, w);
}
