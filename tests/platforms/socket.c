/* A WebSocket, after its handshake: news of a stream as text messages. */
#include "tests/platforms/platforms.h"
#include "wire/web/ws.h"

#define MESSAGE_MAX ((size_t)1 << 20)
#define FRAMES_MAX 1000u
#define LOOK_MS 20
#define PING_MS 15000

struct socket {
	struct tls *tls;
	struct request *request;
	struct ws *ws;
	struct buf out;
	uint64_t sent;               /* messages */
	bool over;
};

/* ---- The handshake ----------------------------------------------------- */

bool
socket_is_wanted(struct request *r)
{
	return str_eq(r->head.method, STR("GET")) &&
	    head_lists(&r->head, STR("Connection"), STR("upgrade")) &&
	    head_lists(&r->head, STR("Upgrade"), STR("websocket"));
}

static bool
send_head(struct tls *t, struct request *r)
{
	FREED(buf_free) struct buf head = BUF_INIT;
	char accept[WS_ACCEPT_BYTES];
	struct str key = STR_NONE;

	if (!head_find(&r->head, STR("Sec-WebSocket-Key"), &r->arena, &key) ||
	    !ws_accept(key, accept))
		return false;
	buf_printf(&head, "HTTP/1.1 101 Switching Protocols\r\n"
	    "Upgrade: websocket\r\nConnection: Upgrade\r\n"
	    "Sec-WebSocket-Accept: %s\r\n", accept);
	if (r->protocol != NULL)
		buf_printf(&head, "Sec-WebSocket-Protocol: %s\r\n",
		    r->protocol);
	buf_put_str(&head, buf_str(&r->fields));
	buf_put_text(&head, "\r\n");
	return tls_write(t, buf_str(&head));
}

/* ---- Messages ---------------------------------------------------------- */

static void
close_with(struct socket *s, int code, const char *why)
{
	if (code != 1006)
		ws_put_close(&s->out, false, code, str_of(why));
	s->over = true;
}

static void
came(void *arg, struct str message)
{
	struct socket *s = arg;

	if (s->request->message != NULL)
		serve_message(s->request, message);
	else
		close_with(s, 1008, "no data frames are expected");
}

/* In three fragments, with a ping between two of them. */
static void
put_split(struct buf *out, struct str message)
{
	size_t third = message.n / 3;

	for (size_t i = 0; i < 3; i++) {
		struct str part = str_cut(message, i * third,
		    i == 2 ? message.n : (i + 1) * third);
		ws_put_head(out, i == 0, i == 2, part.n);
		buf_put_str(out, part);
		if (i == 0)
			ws_put_ping(out, false, STR("between"));
	}
}

static void
put_message(struct socket *s, struct str message)
{
	const struct fault *f = &s->request->fault;
	unsigned times = f->ws == WS_REPLAY && s->sent < f->ws_after ? 2 : 1;

	if (f->ws == WS_CLOSED && s->sent >= f->ws_after) {
		close_with(s, f->ws_code, "so the plan says");
		return;
	}
	for (; times > 0; times--) {
		if (f->ws == WS_SPLIT) {
			put_split(&s->out, message);
			continue;
		}
		ws_put_head(&s->out, true, true, message.n);
		buf_put_str(&s->out, message);
	}
	s->sent++;
}

/* False: there is none. */
static bool
put_news(struct socket *s, struct buf *news)
{
	struct str rest, line;

	buf_clear(news);
	serve_news(s->request, news);
	rest = buf_str(news);
	while (!s->over && rest.n > 0 && str_split(&rest, '\n', &line))
		if (line.n > 0 && !s->request->fault.silent)
			put_message(s, line);
	return news->n > 0;
}

/* ---- Both directions --------------------------------------------------- */

static void
receive(struct socket *s, int ms)
{
	FREED(buf_free) struct buf answers = BUF_INIT;
	char part[16384];
	size_t n = tls_poll(s->tls, part, sizeof(part), ms, &s->over);

	if (n == 0)
		return;
	(void)ws_recv(s->ws, (struct str){ part, n }, FRAMES_MAX, &answers);
	if (s->request->fault.ws != WS_UNANSWERED)
		buf_put_str(&s->out, buf_str(&answers));
	s->over |= ws_is_over(s->ws);
}

static bool
flush(struct socket *s, uint64_t *left)
{
	struct str out = str_cut(buf_str(&s->out), 0, *left);
	bool fine = out.n == 0 || tls_write(s->tls, out);

	*left -= out.n;
	buf_clear(&s->out);
	return fine && *left > 0;
}

void
socket_serve(struct tls *t, struct request *r)
{
	FREED(buf_free) struct buf news = BUF_INIT;
	struct socket s = { .tls = t, .request = r };
	uint64_t left = r->fault.cuts ? r->fault.cut : UINT64_MAX;
	int64_t quiet_ms = 0;

	if (!send_head(t, r))
		return;
	s.ws = ws_new(false, MESSAGE_MAX, came, &s);
	while (!s.over) {
		bool any = put_news(&s, &news);
		quiet_ms = any ? 0 : quiet_ms + LOOK_MS;
		if (quiet_ms > 0 && quiet_ms % PING_MS == 0 &&
		    !r->fault.silent)
			ws_put_ping(&s.out, false, STR("still there"));
		if (!flush(&s, &left))
			break;
		if (!s.over)
			receive(&s, any ? 0 : LOOK_MS);
	}
	(void)flush(&s, &left);
	ws_free(&s.ws);
	buf_free(&s.out);
}
