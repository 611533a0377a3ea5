#include "doors/external/caller_testing.h"

#include <pthread.h>
#include <unistd.h>

/* OpenSSL has a type of the name that base/err.h gives an error. */
#define ERR_STATE openssl_err_state
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#undef ERR_STATE

#include "os/file.h"
#include "os/system.h"

/* ---- A back end ------------------------------------------------------ */

static struct loop *server_loop;
struct web *server;
atomic_int requests, held, held_most;
struct seen_request seen;            /* under the lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void
note_field(struct web_request *r, const char *name, char out[static 64])
{
	struct str value = STR("");

	(void)!web_field(r, name, &value);
	snprintf(out, 64, "%.*s", STR_FMT(value));
}

static void
note_request(struct web_request *r)
{
	struct str rest = web_rest(r);

	atomic_fetch_add(&requests, 1);
	pthread_mutex_lock(&lock);
	note_field(r, "idempotency-key", seen.key);
	note_field(r, "content-type", seen.type);
	note_field(r, "content-encoding", seen.coding);
	note_field(r, "accept-encoding", seen.accept);
	note_field(r, "authorization", seen.token);
	note_field(r, "user-agent", seen.agent);
	buf_clear(&seen.body);
	buf_put_str(&seen.body, web_body(r));
	if (rest.n > 0 && seen.order_n < sizeof(seen.order))
		seen.order[seen.order_n++] = rest.p[rest.n - 1];
	pthread_mutex_unlock(&lock);
}

static void
answer_ok(struct web_request *r)
{
	note_request(r);
	web_answer(r, 200, "application/json",
	    STR("{\"success\":true,\"payload\":{\"count\":2}}"));
}

struct wait {
	struct timer timer;
	struct web_request *request;
};

static void
answer_late(struct timer *t)
{
	struct wait *wait = CONTAINER(t, struct wait, timer);

	atomic_fetch_sub(&held, 1);
	web_answer(wait->request, 200, "text/plain", STR("late"));
	mem_free(&wait);
}

/* /slow/MS/X */
static void
answer_slowly(struct web_request *r)
{
	struct wait *wait = mem_new(sizeof(*wait));
	struct str rest = web_rest(r);
	uint64_t ms = 0;

	note_request(r);
	(void)!str_to_u64(str_cut(rest, 0, str_find_char(rest, '/')), &ms);
	wait->request = r;
	wait->timer.fire = answer_late;
	int now = atomic_fetch_add(&held, 1) + 1;
	if (now > atomic_load(&held_most))
		atomic_store(&held_most, now);
	loop_timer_set(server_loop, &wait->timer, mono_add_ms(clock_mono(),
	    (int64_t)ms));
}

static void
answer_nothing(struct web_request *r)
{
	note_request(r);
	web_abort(r);
}

static void
answer_elsewhere(struct web_request *r)
{
	note_request(r);
	web_add_field(r, "Location", "/ok");
	web_answer(r, 307, "text/plain", STR("over there"));
}

static void
answer_busy(struct web_request *r)
{
	note_request(r);
	web_add_field(r, "Retry-After", "120");
	web_answer(r, 503, "text/plain", STR("busy"));
}

/* /big/BYTES */
static void
answer_much(struct web_request *r)
{
	uint64_t n = 0;

	(void)!str_to_u64(web_rest(r), &n);
	char *p = arena_bytes(web_arena(r), n + 1);
	memset(p, 'x', n);
	web_answer(r, 200, "text/plain", (struct str){ p, n });
}

/* /chunks/BYTES: of unknown length. */
struct chunks {
	struct web_pull pull;
	uint64_t left;
};

static bool
pull_chunk(struct web_pull *p, struct buf *out, size_t room)
{
	struct chunks *c = CONTAINER(p, struct chunks, pull);
	size_t n = (size_t)MIN(MIN(room, c->left), 1000);

	memset(buf_grow(out, n), 'x', n);
	c->left -= n;
	return c->left > 0;
}

static void
end_chunks(struct web_pull *p)
{
	struct chunks *c = CONTAINER(p, struct chunks, pull);

	mem_free(&c);
}

static void
answer_in_chunks(struct web_request *r)
{
	struct chunks *c = mem_new(sizeof(*c));

	(void)!str_to_u64(web_rest(r), &c->left);
	c->pull.pull = pull_chunk;
	c->pull.end = end_chunks;
	web_answer_pull(r, 200, "text/plain", UINT64_MAX, &c->pull);
}

#define ROW(path, match, handle) { "POST", path, match, handle, NULL,        \
	"for tests", WEB_TO_ALL, TOKEN_DOOR_CONSOLE, TOKEN_READ,             \
	.early = false }
static const struct web_route routes[] = {
	ROW("/ok", WEB_EXACT, answer_ok),
	ROW("/slow/", WEB_PREFIX, answer_slowly),
	ROW("/abort", WEB_EXACT, answer_nothing),
	ROW("/redirect", WEB_EXACT, answer_elsewhere),
	ROW("/busy", WEB_EXACT, answer_busy),
	ROW("/big/", WEB_PREFIX, answer_much),
	ROW("/chunks/", WEB_PREFIX, answer_in_chunks),
};

char folder[64], chain_path[128], other_path[128];
static char key_path[128];

void
open_server(bool tls)
{
	struct web_options o = { .loop = NULL };
	struct why w = WHY_INIT;

	system_ignore_sigpipe();
	o.loop = server_loop = loop_new("backend");
	if (tls) {
		o.tls_chain = chain_path;
		o.tls_key = key_path;
	}
	if (web_open(&o, routes, ARRAY_LEN(routes), &server, &w) != OK)
		fail_msg("%s", w.text);
	atomic_store(&requests, 0);
	atomic_store(&held_most, 0);
	seen.order_n = 0;
	loop_start(server_loop);
}

static void
port_drained(void *arg)
{
	(void)arg;
	loop_stop(server_loop);
}

static void
drain_port(struct mail *m)
{
	(void)m;
	web_drain(server, port_drained, NULL);
}

void
close_server(void)
{
	struct mail mail = { 0 };

	/* A request whose call was cancelled may come to its handler yet. */
	loop_send(server_loop, &mail, drain_port);
	loop_join(server_loop);
	web_close(&server);
	loop_free(&server_loop);
	buf_free(&seen.body);
}

/* ---- Certificates ---------------------------------------------------- */

static void
add_extension(X509 *cert, int nid, const char *value)
{
	X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, nid, value);

	assert_non_null(e);
	assert_int_equal(X509_add_ext(cert, e, -1), 1);
	X509_EXTENSION_free(e);
}

/* A certificate for 127.0.0.1 that signs itself. */
static X509 *
make_certificate(EVP_PKEY *key)
{
	X509 *cert = X509_new();
	X509_NAME *name = X509_get_subject_name(cert);

	X509_set_version(cert, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
	X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
	X509_gmtime_adj(X509_getm_notAfter(cert), 86400);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
	    (const unsigned char *)"be", -1, -1, 0);
	X509_set_issuer_name(cert, name);
	X509_set_pubkey(cert, key);
	add_extension(cert, NID_basic_constraints, "critical,CA:TRUE");
	add_extension(cert, NID_subject_alt_name, "IP:127.0.0.1");
	assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
	return cert;
}

static void
write_pair(const char *certificate_path, const char *private_path)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = make_certificate(key);
	FILE *f = fopen(certificate_path, "w");

	assert_non_null(f);
	assert_int_equal(PEM_write_X509(f, cert), 1);
	fclose(f);
	if (private_path != NULL) {
		f = fopen(private_path, "w");
		assert_non_null(f);
		assert_int_equal(PEM_write_PrivateKey(f, key, NULL, NULL, 0,
		    NULL, NULL), 1);
		fclose(f);
	}
	X509_free(cert);
	EVP_PKEY_free(key);
}

int
make_files(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/caller-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(chain_path, sizeof(chain_path), "%s/be.pem", folder);
	snprintf(key_path, sizeof(key_path), "%s/key.pem", folder);
	snprintf(other_path, sizeof(other_path), "%s/other.pem", folder);
	write_pair(chain_path, key_path);
	write_pair(other_path, NULL);
	return 0;
}

int
remove_files(void **state)
{
	(void)state;
	unlink(chain_path);
	unlink(key_path);
	unlink(other_path);
	return rmdir(folder);
}

/* ---- Calls ----------------------------------------------------------- */

struct loop *home;
struct caller *caller;
struct backends *set;
bool was_stopped;
size_t calls_left;
static bool all_done;

static void
end_call(struct caller_call *call)
{
	struct made_call *m = call->arg;

	if (strstr(call->detail, "hush") != NULL)
		fail_msg("a secret is in \"%s\"", call->detail);
	assert_null(call->own);
	m->reply_n = call->reply.n;
	snprintf(m->reply, sizeof(m->reply), "%.*s", STR_FMT(call->reply));
	snprintf(m->retry_after, sizeof(m->retry_after), "%.*s",
	    STR_FMT(call->retry_after));
	m->done_n++;
	all_done = --calls_left == 0;
}

void
begin_caller(const struct caller_options *wanted)
{
	struct caller_options o = { .call_ms = 10000 };

	if (wanted != NULL)
		o = *wanted;
	o.home = home = loop_new("home");
	assert_int_equal(caller_new(&o, &caller, NULL), OK);
}

void
know_backends(const char *prefix, const char *more)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	char path[128];
	struct why w = WHY_INIT;

	backends_release(&set);
	buf_printf(&b, "[{\"name\":\"acme\",\"token\":\"acme\",\"prefix\":"
	    "\"%s\",\"headers\":{\"Authorization\":\"Bearer " SECRET "\"}%s},"
	    "{\"name\":\"other\",\"token\":\"other\",\"prefix\":"
	    "\"http://127.0.0.1:%u/\",\"headers\":{\"User-Agent\":\"mine\"}}]",
	    prefix, more, server == NULL ? 1u : web_port(server));
	snprintf(path, sizeof(path), "%s/backends.json", folder);
	assert_int_equal(file_store(path, buf_str(&b), NULL), OK);
	if (backends_read(path, &set, &w) != OK)
		fail_msg("%s", w.text);
	unlink(path);
}

void
know_server(const char *scheme, const char *host, const char *more)
{
	char prefix[128];

	snprintf(prefix, sizeof(prefix), "%s://%s:%u/", scheme, host,
	    web_port(server));
	know_backends(prefix, more);
}

void
note_stopped(void *arg)
{
	assert_ptr_equal(arg, &was_stopped);
	was_stopped = true;
}

void
end_caller(void)
{
	was_stopped = false;
	caller_stop(caller, note_stopped, &was_stopped);
	assert_false(was_stopped);
	loop_run_until(home, &was_stopped);
	caller_free(&caller);
	assert_null(caller);
	loop_free(&home);
	backends_release(&set);
}

void
prepare_call(struct made_call *m, const char *backend, const char *path)
{
	const struct backend *b = backends_find(set, str_of(backend));

	memset(m, 0, sizeof(*m));
	snprintf(m->url, sizeof(m->url), "%.*s%s", STR_FMT(b->prefix), path);
	m->call = (struct caller_call){ .set = set, .backend = b,
	    .method = STR("POST"), .url = str_of(m->url),
	    .content_type = STR("application/x-ndjson; charset=utf-8"),
	    .body = STR(BODY), .reply_max = sizeof(m->reply), .done = end_call,
	    .arg = m };
}

void
start_call(struct made_call *m)
{
	calls_left++;
	all_done = false;
	caller_start(caller, &m->call);
	assert_int_equal(m->done_n, 0);
}

void
wait_for_calls(void)
{
	loop_run_until(home, &all_done);
	assert_int_equal(calls_left, 0);
	assert_int_equal(caller_calls(caller), 0);
	/* From here on the test sees the handlers' notes. */
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

void
make_call(struct made_call *m, const char *path)
{
	prepare_call(m, "acme", path);
	start_call(m);
	wait_for_calls();
	assert_int_equal(m->done_n, 1);
}

void
turn_home_for(int ms)
{
	struct mono until = mono_add_ms(clock_mono(), ms);

	while (mono_before(clock_mono(), until)) {
		(void)loop_step(home);
		usleep(500);
	}
}

