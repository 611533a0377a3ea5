#include "os/transport_curl_upgrade.h"

#include "os/clock.h"

/* Before others have their turn. */
#define READS_MAX 16u
#define READ_BYTES 16384u

static void come_again(struct timer *);

/* ---- Both directions --------------------------------------------------- */

static void
fail(struct transfer *tr, enum transport_end end, const char *text)
{
	transfer_decide(tr, end, text);
	transfer_finish(tr, tr->end, tr->reason);
}

/* False: the exchange is over. */
static bool
put_out(struct transport_upgrade *u)
{
	CURLcode code = CURLE_OK;

	while (u->sent < u->out.n && code == CURLE_OK) {
		size_t n = 0;
		code = curl_easy_send(u->tr->easy, u->out.p + u->sent,
		    u->out.n - u->sent, &n);
		u->sent += n;
		u->tr->moved += (int64_t)n;
	}
	if (u->sent == u->out.n) {
		buf_clear(&u->out);
		u->sent = 0;
	}
	if (code == CURLE_OK || code == CURLE_AGAIN)
		return true;
	fail(u->tr, TRANSPORT_RESET, "the connection was cut");
	return false;
}

static void
watch(struct transport_upgrade *u)
{
	transport_socket_watch(&u->sockets, u->tr->fd,
	    (u->paused ? 0 : LOOP_READ) |
	    (u->out.n > 0 ? LOOP_WRITE : 0));
}

/* ---- The answer -------------------------------------------------------- */

static size_t
head_bytes_max(const struct transfer *tr)
{
	return tr->x->head_bytes_max != 0 ? tr->x->head_bytes_max :
	    TRANSPORT_HEAD_BYTES_MAX;
}

/* libcurl looks at the first line where it reads answers. */
static bool
take_line(struct transport_upgrade *u, struct str line)
{
	if (!u->status_line && !str_starts(line, STR("HTTP/1."))) {
		transfer_decide(u->tr, TRANSPORT_PROTOCOL,
		    "the answer is not HTTP");
		return false;
	}
	/* A head of 1xx is followed by another one. */
	u->status_line = line.p[0] != '\r' && line.p[0] != '\n';
	return transport_answer_line(u->tr, line);
}

/* Returns what is left behind the lines; STR_NONE: none, or it is over. */
static struct str
take_head(struct transport_upgrade *u, struct str bytes)
{
	struct transfer *tr = u->tr;

	while (tr->phase == PHASE_ANSWER && bytes.n > 0) {
		size_t lf = str_find_char(bytes, '\n');
		buf_put_str(&u->line, str_cut(bytes, 0, lf + 1));
		bytes = str_from(bytes, lf + 1);
		if (u->line.n > head_bytes_max(tr)) {
			tr->x->too_large = true;
			transfer_decide(tr, TRANSPORT_PROTOCOL,
			    "the head is too large");
			return STR_NONE;
		}
		if (u->line.p[u->line.n - 1] != '\n')
			continue;
		if (!take_line(u, buf_str(&u->line)))
			return STR_NONE;
		buf_clear(&u->line);
	}
	return bytes;
}

static bool
is_open(const struct transfer *tr)
{
	return tr->status == 101;
}

/* The answer is whole; else its end is the connection's. */
static bool
is_whole(const struct transport_upgrade *u)
{
	const struct transfer *tr = u->tr;

	if (tr->phase != PHASE_BODY || is_open(tr))
		return false;
	return tr->status == 204 || tr->status == 304 || (tr->chunked ?
	    tr->chunk.state == TRANSPORT_CHUNK_ENDED :
	    tr->has_length && u->body_bytes >= tr->length);
}

/* False: the exchange is over, or ends with what was decided. */
static bool
take_body(struct transport_upgrade *u, struct str bytes)
{
	struct transfer *tr = u->tr;

	if (bytes.n > 0 && !is_open(tr) && tr->has_length && !tr->chunked)
		bytes = str_cut(bytes, 0, (size_t)MIN(bytes.n, tr->length -
		    u->body_bytes));
	u->body_bytes += bytes.n;
	return bytes.n == 0 || transport_answer_body(tr, bytes);
}

/* False: the exchange is over. */
static bool
take(struct transport_upgrade *u, struct str bytes)
{
	struct transfer *tr = u->tr;

	bytes = take_head(u, bytes);
	if (!tr->has_end && tr->x != NULL && !is_whole(u) &&
	    tr->phase == PHASE_BODY)
		(void)!take_body(u, bytes);
	if (tr->x == NULL)
		return false;
	if (!tr->has_end && is_whole(u))
		transfer_decide(tr, TRANSPORT_DONE, "");
	if (tr->has_end)
		transfer_finish(tr, tr->end, tr->reason);
	return tr->x != NULL;
}

static void
closed(struct transport_upgrade *u, bool in_order)
{
	struct transfer *tr = u->tr;

	if (tr->phase != PHASE_BODY)
		fail(tr, TRANSPORT_RESET, "cut before the end of the head");
	else if (tr->chunked || (tr->has_length && !is_open(tr)))
		fail(tr, TRANSPORT_RESET, "cut before the end of the body");
	else if (in_order)
		fail(tr, TRANSPORT_DONE, "");
	else
		fail(tr, TRANSPORT_RESET, "the connection was cut");
}

static void
read_on(struct transport_upgrade *u)
{
	struct transfer *tr = u->tr;
	char part[READ_BYTES];

	for (unsigned i = 0; i < READS_MAX && !u->paused; i++) {
		size_t n = 0;
		CURLcode code = curl_easy_recv(tr->easy, part, sizeof(part),
		    &n);
		if (code == CURLE_AGAIN)
			return;
		if (code != CURLE_OK || n == 0) {
			closed(u, code == CURLE_OK);
			return;
		}
		if (!take(u, (struct str){ part, n }))
			return;
	}
	/* TLS may hold what no descriptor tells of. */
	if (!u->paused)
		loop_timer_set(tr->t->loop, &u->again, mono_add_ns(
		    loop_now(tr->t->loop), 1));
}

static void
served(struct transport_sockets *ss, unsigned events)
{
	struct transport_upgrade *u = CONTAINER(ss, struct transport_upgrade,
	    sockets);
	struct transfer *tr = u->tr;

	if (tr->x == NULL)
		return;
	if (u->out.n > 0 && !put_out(u))
		return;
	if (events & (LOOP_READ | LOOP_ERROR))
		read_on(u);
	if (tr->x != NULL)
		watch(u);
}

static void
come_again(struct timer *t)
{
	served(&CONTAINER(t, struct transport_upgrade, again)->sockets,
	    LOOP_READ);
}

/* ---- Connecting -------------------------------------------------------- */

static void
connected(struct transport_upgrade *u)
{
	u->connected = true;
	transport_socket_serve(&u->sockets, u->tr->fd, served);
	buf_put_str(&u->out, buf_str(&u->tr->request.sent));
	if (put_out(u))
		watch(u);
}

static void
acted(struct transport_sockets *ss)
{
	struct transport_upgrade *u = CONTAINER(ss, struct transport_upgrade,
	    sockets);
	CURLMsg *m;
	int left;

	if (u->tr->x == NULL) {
		transport_upgrade_end(u->tr);
		return;
	}
	while (u->tr->x != NULL &&
	    (m = curl_multi_info_read(u->multi, &left)) != NULL) {
		if (m->msg != CURLMSG_DONE)
			continue;
		if (m->data.result == CURLE_OK && !u->tr->has_end)
			connected(u);
		else
			transfer_ended(u->tr, m->data.result);
	}
}

void
transport_upgrade_begin(struct transfer *tr)
{
	struct transport_upgrade *u = mem_new(sizeof(*u));
	CURL *e = tr->easy;

	tr->upgrade = u;
	u->tr = tr;
	u->again.fire = come_again;
	u->multi = curl_multi_init();
	CHECK(u->multi != NULL);
	transport_sockets_open(&u->sockets, tr->t->loop, u->multi, 0, acted);
	curl_easy_setopt(e, CURLOPT_CONNECT_ONLY, 1L);
	curl_easy_setopt(e, CURLOPT_HTTPPROXYTUNNEL, 1L);
	curl_easy_setopt(e, CURLOPT_CLOSESOCKETDATA, &u->sockets);
}

void
transport_upgrade_end(struct transfer *tr)
{
	struct transport_upgrade *u = tr->upgrade;

	loop_timer_stop(tr->t->loop, &u->again);
	if (!tr->in_multi)
		return;
	u->sockets.depth++;
	curl_multi_remove_handle(u->multi, tr->easy);
	u->sockets.depth--;
	tr->in_multi = false;
}

/* The multi handle first: closing tells the sockets. */
void
transport_upgrade_free(struct transport_upgrade **up)
{
	struct transport_upgrade *u = *up;

	if (u == NULL)
		return;
	u->sockets.depth++;
	curl_multi_cleanup(u->multi);
	transport_sockets_close(&u->sockets);
	buf_free(&u->out);
	buf_free(&u->line);
	mem_free(up);
}

bool
transport_upgrade_send(struct transfer *tr, struct str bytes)
{
	struct transport_upgrade *u = tr->upgrade;

	if (u->out.n - u->sent + bytes.n > TRANSPORT_SEND_BYTES_MAX)
		return false;
	buf_put_str(&u->out, bytes);
	/* Not at once: this may be called from body(). */
	watch(u);
	return true;
}

void
transport_upgrade_pause(struct transfer *tr, bool paused)
{
	struct transport_upgrade *u = tr->upgrade;

	if (u->paused == paused)
		return;
	u->paused = paused;
	watch(u);
	if (paused)
		loop_timer_stop(tr->t->loop, &u->again);
	else
		loop_timer_set(tr->t->loop, &u->again, mono_add_ns(
		    loop_now(tr->t->loop), 1));
}
