#include "wire/web/ws.h"

#include <openssl/evp.h>
#include <wslay/wslay.h>

#include "base/text.h"

#define KEY_BYTES 24u
#define SPARE_BYTES_MAX 4096u        /* kept for the next message */
#define FRAME_FIN 0x80u

struct ws {
	wslay_event_context_ptr wslay;
	void (*message)(void *arg, struct str);
	void *arg;
	struct str in;               /* given to ws_recv(), not yet taken */
	struct buf *out;             /* of ws_recv() */
	struct buf data;             /* the message so far */
	size_t bytes_max;            /* of it */
	bool taking;                 /* data frame, no control frame */
	bool bad_close;              /* half a code came in one */
	bool over, stopped;
	int code;
};

/* --- the handshake's key ------------------------------------------------- */

bool
ws_accept(struct str key, char out[static WS_ACCEPT_BYTES])
{
	static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
	unsigned char text[KEY_BYTES + sizeof(guid) - 1], hash[20], nonce[18];

	if (key.n != KEY_BYTES || !str_ends(key, STR("==")))
		return false;
	memcpy(text, key.p, KEY_BYTES);
	if (EVP_DecodeBlock(nonce, text, KEY_BYTES) != 18)
		return false;
	memcpy(text + KEY_BYTES, guid, sizeof(guid) - 1);
	if (EVP_Digest(text, sizeof(text), hash, NULL, EVP_sha1(), NULL) != 1)
		return false;
	EVP_EncodeBlock((unsigned char *)out, hash, sizeof(hash));
	return true;
}

/* --- wslay's callbacks --------------------------------------------------- */

static ssize_t
give(wslay_event_context_ptr context, uint8_t *p, size_t n, int flags,
    void *user)
{
	struct ws *s = user;

	(void)flags;
	n = MIN(n, s->in.n);
	if (n == 0) {
		wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK);
		return -1;
	}
	memcpy(p, s->in.p, n);
	s->in = str_from(s->in, n);
	return (ssize_t)n;
}

static ssize_t
take(wslay_event_context_ptr context, const uint8_t *p, size_t n, int flags,
    void *user)
{
	struct ws *s = user;

	(void)context, (void)flags;
	buf_put(s->out, p, n);
	return (ssize_t)n;
}

static void
frame_begins(wslay_event_context_ptr context,
    const struct wslay_event_on_frame_recv_start_arg *f, void *user)
{
	struct ws *s = user;

	(void)context;
	s->taking = !wslay_is_ctrl_frame(f->opcode);
	s->bad_close |= f->opcode == WSLAY_CONNECTION_CLOSE &&
	    f->payload_length == 1;
	/* wslay counts a frame, we the message. */
	if (!s->taking || s->over ||
	    f->payload_length <= s->bytes_max - s->data.n)
		return;
	wslay_event_queue_close(context, WSLAY_CODE_MESSAGE_TOO_BIG, NULL, 0);
	wslay_event_shutdown_read(context);
	s->over = true;
	s->code = WSLAY_CODE_MESSAGE_TOO_BIG;
}

static void
frame_goes_on(wslay_event_context_ptr context,
    const struct wslay_event_on_frame_recv_chunk_arg *f, void *user)
{
	struct ws *s = user;

	(void)context;
	if (s->taking && !s->over)
		buf_put(&s->data, f->data, f->data_length);
}

/* What wslay has queued: answers to pings and closes. */
static bool
send_queued(struct ws *s)
{
	return s->stopped || wslay_event_send(s->wslay) == 0;
}

static void
message_ends(wslay_event_context_ptr context,
    const struct wslay_event_on_msg_recv_arg *m, void *user)
{
	struct ws *s = user;

	(void)context;
	/* Pings that came before are answered before, whatever follows. */
	if (m->opcode != WSLAY_CONNECTION_CLOSE)
		(void)!send_queued(s);
	if (m->opcode == WSLAY_CONNECTION_CLOSE && !text_is_utf8(
	    str_from((struct str){ (const char *)m->msg, m->msg_length },
	    2))) {
		/* wslay misses some: our own answer instead of its. */
		s->over = s->stopped = true;
		s->code = WSLAY_CODE_INVALID_FRAME_PAYLOAD_DATA;
		ws_put_close(s->out, s->code, STR(""));
	} else if (m->opcode == WSLAY_CONNECTION_CLOSE) {
		s->over = true;
		s->code = m->status_code != 0 ? m->status_code :
		    WSLAY_CODE_NO_STATUS_RCVD;
	} else if (!wslay_is_ctrl_frame(m->opcode) && !s->over) {
		s->message(s->arg, buf_str(&s->data));
		buf_clear(&s->data);
		if (s->data.cap > SPARE_BYTES_MAX)
			buf_free(&s->data);
	}
}

/* --- a session ----------------------------------------------------------- */

struct ws *
ws_new(size_t message_bytes_max, void (*message)(void *, struct str),
    void *arg)
{
	static const struct wslay_event_callbacks callbacks = {
		.recv_callback = give,
		.send_callback = take,
		.on_frame_recv_start_callback = frame_begins,
		.on_frame_recv_chunk_callback = frame_goes_on,
		.on_msg_recv_callback = message_ends,
	};
	struct ws *s = mem_new(sizeof(*s));

	s->bytes_max = message_bytes_max;
	s->message = message;
	s->arg = arg;
	CHECK(wslay_event_context_server_init(&s->wslay, &callbacks, s) == 0);
	/* It would keep each fragment apart, however small. */
	wslay_event_config_set_no_buffering(s->wslay, 1);
	wslay_event_config_set_max_recv_msg_length(s->wslay,
	    message_bytes_max);
	return s;
}

void
ws_free(struct ws **sp)
{
	struct ws *s = *sp;

	if (s == NULL)
		return;
	wslay_event_context_free(s->wslay);
	buf_free(&s->data);
	mem_free(sp);
}

/* A close that names no code, to one that broke the rules: it gets one. */
static void
name_fault(struct ws *s, struct buf *out, size_t before)
{
	if (out->n < before + 2 || out->p[out->n - 1] != 0 ||
	    (uint8_t)out->p[out->n - 2] != (FRAME_FIN |
	    WSLAY_CONNECTION_CLOSE))
		return;
	out->n -= 2;
	ws_put_close(out, WSLAY_CODE_PROTOCOL_ERROR, STR(""));
	s->code = WSLAY_CODE_PROTOCOL_ERROR;
}

void
ws_recv(struct ws *s, struct str bytes, struct buf *out)
{
	size_t before = out->n;

	if (s->over)
		return;
	s->in = bytes;
	s->out = out;
	bool fine = wslay_event_recv(s->wslay) == 0;
	bool sent = send_queued(s);
	s->out = NULL;
	if (!s->over && fine && sent && wslay_event_want_read(s->wslay))
		return;
	if (!s->over) {
		s->over = true;
		s->code = wslay_event_get_status_code_sent(s->wslay);
	}
	if (!fine || s->bad_close)
		name_fault(s, out, before);
}

bool
ws_is_over(const struct ws *s)
{
	return s->over;
}

int
ws_code(const struct ws *s)
{
	return s->code;
}

void
ws_stop(struct ws *s)
{
	s->over = s->stopped = true;
	wslay_event_shutdown_read(s->wslay);
}

size_t
ws_partial(const struct ws *s)
{
	return s->data.n;
}

/* --- frames of our own --------------------------------------------------- */

static void
put_frame_head(struct buf *out, uint8_t first, uint64_t bytes)
{
	buf_put_char(out, (char)first);
	if (bytes < 126) {
		buf_put_char(out, (char)bytes);
	} else if (bytes <= UINT16_MAX) {
		buf_put_char(out, 126);
		buf_put_be16(out, (uint16_t)bytes);
	} else {
		buf_put_char(out, 127);
		buf_put_be64(out, bytes);
	}
}

void
ws_put_head(struct buf *out, bool first, bool last, uint64_t bytes)
{
	put_frame_head(out, (uint8_t)((last ? FRAME_FIN : 0) |
	    (first ? WSLAY_TEXT_FRAME : WSLAY_CONTINUATION_FRAME)), bytes);
}

void
ws_put_ping(struct buf *out, struct str payload)
{
	CHECK(payload.n <= 125);
	put_frame_head(out, FRAME_FIN | WSLAY_PING, payload.n);
	buf_put_str(out, payload);
}

void
ws_put_close(struct buf *out, int code, struct str text)
{
	text = str_cut(text, 0, 123);
	while (text.n > 0 && !text_is_utf8(text))
		text.n--;
	put_frame_head(out, FRAME_FIN | WSLAY_CONNECTION_CLOSE, 2 + text.n);
	buf_put_be16(out, (uint16_t)code);
	buf_put_str(out, text);
}
