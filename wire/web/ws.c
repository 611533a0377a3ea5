#include "wire/web/ws.h"

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <wslay/wslay.h>

#include "base/text.h"

#define KEY_BYTES 24u
#define SPARE_BYTES_MAX 4096u        /* kept for the next message */
#define FRAME_FIN 0x80u
#define FRAME_MASKED 0x80u
#define CONTROL_BYTES_MAX 125u
#define HEAD_BYTES_MAX 10u           /* with the length, without the mask */
#define MASK_BYTES 4u
#define LENGTH_BITS 0x7fu
#define TOO_LONG "the message is longer than the limit"

struct ws {
	wslay_event_context_ptr wslay;
	void (*message)(void *arg, struct str);
	void *arg;
	struct str in;               /* given to ws_recv(), not yet taken */
	struct buf *out;             /* of ws_recv() */
	struct buf data;             /* the message so far */
	size_t bytes_max;            /* of it */
	/* The frames as their heads announce them, ahead of wslay. */
	struct {
		uint8_t bytes[HEAD_BYTES_MAX];
		size_t n;                /* of the head that is coming */
		uint64_t skip;           /* bytes before the next head */
		size_t message;          /* announced so far of a message */
	} scan;
	uint64_t idle_frames;
	bool client;                 /* it masks what it sends */
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

void
ws_key(char out[static WS_KEY_BYTES])
{
	unsigned char nonce[16];

	CHECK(RAND_bytes(nonce, sizeof(nonce)) == 1);
	EVP_EncodeBlock((unsigned char *)out, nonce, sizeof(nonce));
}

/* --- frames of our own --------------------------------------------------- */

static void
put_frame_head(struct buf *out, uint8_t first, bool masked, uint64_t bytes)
{
	uint8_t mask = masked ? FRAME_MASKED : 0;

	buf_put_char(out, (char)first);
	if (bytes <= CONTROL_BYTES_MAX) {
		buf_put_char(out, (char)(mask | bytes));
	} else if (bytes <= UINT16_MAX) {
		buf_put_char(out, (char)(mask | 126));
		buf_put_be16(out, (uint16_t)bytes);
	} else {
		buf_put_char(out, (char)(mask | 127));
		buf_put_be64(out, bytes);
	}
}

/* A client's mask is new for each frame, and not foreseeable (section 5.3). */
static void
put_frame(struct buf *out, bool masked, unsigned opcode, struct str payload)
{
	uint8_t mask[MASK_BYTES];

	put_frame_head(out, (uint8_t)(FRAME_FIN | opcode), masked, payload.n);
	if (!masked) {
		buf_put_str(out, payload);
		return;
	}
	CHECK(RAND_bytes(mask, sizeof(mask)) == 1);
	buf_put(out, mask, sizeof(mask));
	char *to = buf_grow(out, payload.n);
	for (size_t i = 0; i < payload.n; i++)
		to[i] = (char)((uint8_t)payload.p[i] ^ mask[i % MASK_BYTES]);
}

void
ws_put_close(struct buf *out, bool client, int code, struct str text)
{
	char payload[CONTROL_BYTES_MAX] = { (char)(code >> 8), (char)code };

	text = str_cut(text, 0, sizeof(payload) - 2);
	while (text.n > 0 && !text_is_utf8(text))
		text.n--;
	if (text.n > 0)
		memcpy(payload + 2, text.p, text.n);
	put_frame(out, client, WSLAY_CONNECTION_CLOSE,
	    (struct str){ payload, 2 + text.n });
}

void
ws_put_head(struct buf *out, bool first, bool last, uint64_t bytes)
{
	put_frame_head(out, (uint8_t)((last ? FRAME_FIN : 0) |
	    (first ? WSLAY_TEXT_FRAME : WSLAY_CONTINUATION_FRAME)), false,
	    bytes);
}

void
ws_put_ping(struct buf *out, bool client, struct str payload)
{
	CHECK(payload.n <= CONTROL_BYTES_MAX);
	put_frame(out, client, WSLAY_PING, payload);
}

void
ws_client_put_text(struct buf *out, struct str text)
{
	put_frame(out, true, WSLAY_TEXT_FRAME, text);
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

static int
make_mask(wslay_event_context_ptr context, uint8_t *p, size_t n, void *user)
{
	(void)context, (void)user;
	return RAND_bytes(p, (int)n) == 1 ? 0 : -1;
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

/* Send what wslay has queued: answers to pings and closes. */
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
		ws_put_close(s->out, s->client, s->code, STR(""));
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

/* --- heads --------------------------------------------------------------- */

/* How long a head is, as far as its first bytes say: no mask. */
static size_t
head_bytes(const uint8_t *head, size_t n)
{
	unsigned length = n < 2 ? 0 : head[1] & LENGTH_BITS;

	return length == 126 ? 4 : length == 127 ? 10 : 2;
}

static uint64_t
head_length(const uint8_t *head)
{
	struct reader r = reader_of((struct str){ (const char *)head + 2,
	    HEAD_BYTES_MAX - 2 });
	unsigned length = head[1] & LENGTH_BITS;

	return length == 126 ? read_be16(&r) : length == 127 ? read_be64(&r) :
	    length;
}

/* A whole head has come.  False: its message is longer than the limit. */
static bool
count_frame(struct ws *s)
{
	const uint8_t *head = s->scan.bytes;
	bool last = head[0] & FRAME_FIN, masked = head[1] & FRAME_MASKED;
	uint8_t opcode = head[0] & 0xfu;
	uint64_t n = head_length(head);

	s->scan.n = 0;
	/* A length that is none: wslay has the word for it. */
	s->scan.skip = n > INT64_MAX ? UINT64_MAX : n + (masked ? MASK_BYTES :
	    0);
	if (wslay_is_ctrl_frame(opcode)) {
		s->idle_frames += opcode != WSLAY_CONNECTION_CLOSE;
		return true;
	}
	s->idle_frames += n == 0 && !last;
	if (opcode != WSLAY_CONTINUATION_FRAME)
		s->scan.message = 0;
	if (n <= INT64_MAX && n > s->bytes_max - s->scan.message)
		return false;
	s->scan.message = last || n > INT64_MAX ? 0 :
	    s->scan.message + (size_t)n;
	return true;
}

/*
 * How many of these bytes wslay may have: to the end of `frames_max` frames,
 * or to the head of one that makes a message too long.
 */
static size_t
scan_frames(struct ws *s, struct str bytes, size_t frames_max, bool *too_long)
{
	size_t i = 0, frames = 0;

	*too_long = false;
	while (i < bytes.n && !*too_long) {
		size_t n = (size_t)MIN(s->scan.skip, bytes.n - i);
		if (n > 0) {
			s->scan.skip -= n;
			i += n;
			continue;
		}
		if (s->scan.n == 0 && frames == frames_max)
			break;
		s->scan.bytes[s->scan.n++] = (uint8_t)bytes.p[i++];
		if (s->scan.n < 2 || s->scan.n <
		    head_bytes(s->scan.bytes, s->scan.n))
			continue;
		frames++;
		/* wslay need not see the whole of that head. */
		*too_long = !count_frame(s);
		i -= *too_long;
	}
	return i;
}

/* --- a session ----------------------------------------------------------- */

struct ws *
ws_new(bool client, size_t message_bytes_max,
    void (*message)(void *, struct str), void *arg)
{
	static const struct wslay_event_callbacks callbacks = {
		.recv_callback = give,
		.send_callback = take,
		.genmask_callback = make_mask,
		.on_frame_recv_start_callback = frame_begins,
		.on_frame_recv_chunk_callback = frame_goes_on,
		.on_msg_recv_callback = message_ends,
	};
	struct ws *s = mem_new(sizeof(*s));

	s->client = client;
	s->bytes_max = message_bytes_max;
	s->message = message;
	s->arg = arg;
	CHECK((client ? wslay_event_context_client_init :
	    wslay_event_context_server_init)(&s->wslay, &callbacks, s) == 0);
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
	size_t n = s->client ? 2 + MASK_BYTES : 2;

	if (out->n < before + n)
		return;
	const uint8_t *frame = (const uint8_t *)out->p + out->n - n;
	if (frame[0] != (FRAME_FIN | WSLAY_CONNECTION_CLOSE) ||
	    (frame[1] & LENGTH_BITS) != 0)
		return;
	out->n -= n;
	s->code = WSLAY_CODE_PROTOCOL_ERROR;
	ws_put_close(out, s->client, s->code, STR(""));
}

static void
feed(struct ws *s, struct str bytes, struct buf *out)
{
	size_t before = out->n;

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

static void
refuse_message(struct ws *s, struct buf *out)
{
	ws_stop(s);
	s->code = WSLAY_CODE_MESSAGE_TOO_BIG;
	ws_put_close(out, s->client, s->code, STR(TOO_LONG));
}

size_t
ws_recv(struct ws *s, struct str bytes, size_t frames_max, struct buf *out)
{
	bool too_long;

	if (s->over)
		return bytes.n;
	size_t taken = scan_frames(s, bytes, frames_max, &too_long);
	feed(s, str_cut(bytes, 0, taken), out);
	if (!s->over && too_long)
		refuse_message(s, out);
	return s->over ? bytes.n : taken;
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

uint64_t
ws_idle_frames(const struct ws *s)
{
	return s->idle_frames;
}

size_t
ws_partial(const struct ws *s)
{
	return s->data.n;
}
