/*
 * frontier_put -- the writing half of frontier_load: PutURLs, PutDiscovered.
 *
 * Items are numbered as they are sent, whatever stream takes them.  An item's
 * ID is its number, a batch's that of its first item; so each acknowledgement
 * tells which item it is of, and what it must say follows from the number.
 */
#include "bench/frontier_load.h"
#include "os/clock.h"

/* So that the items that repeat a URL and those URLs have nothing in common. */
#define REPEATED_SALT UINT64_C(0x5bd1e9955bd1e995)

enum { ACK_OK = URLFRONTIER__ACK_MESSAGE__STATUS__OK,
	ACK_SKIPPED = URLFRONTIER__ACK_MESSAGE__STATUS__SKIPPED,
	ACK_FAIL = URLFRONTIER__ACK_MESSAGE__STATUS__FAIL, ACK_KINDS };

struct stream {
	struct grpc_call *call;
	uint64_t under_way;          /* items without acknowledgement */
	bool half_closed;
};

static struct {
	struct stream streams[LOAD_PORTS_MAX];
	size_t open;
	bool updates;
	uint64_t sent, fresh;        /* items; new URLs among them */
	uint64_t acked, by_status[ACK_KINDS];
	uint64_t unexpected, unasked;
	uint64_t *acks;              /* a bit for each item */
	struct mono began, sent_at, ended;
} put;

/* ---- Items --------------------------------------------------------------- */

static bool
repeats(uint64_t item)
{
	return load.o.from > 0 && load_mix(item) % 100 < load.o.known;
}

static uint64_t
next_url(uint64_t item)
{
	if (put.updates)
		return load.o.from + item / LOAD_UPDATES;
	if (repeats(item))
		return load_mix(item ^ REPEATED_SALT) % load.o.from;
	return load.o.from + put.fresh++;
}

/* Zero for what is put as discovered. */
static uint64_t
known_date(uint64_t item, uint64_t url)
{
	if (put.updates)
		return load.now_s + LOAD_LATER_S + item;
	if (load_mix(load_queue(url)) % 100 < load.o.later)
		return load.now_s + LOAD_LATER_S;
	return 0;
}

static enum grpc_room
send_item(struct stream *s)
{
	char url[LOAD_TEXT_MAX], key[LOAD_TEXT_MAX], id[LOAD_TEXT_MAX];
	Urlfrontier__URLInfo info = URLFRONTIER__URLINFO__INIT;
	Urlfrontier__DiscoveredURLItem discovered =
	    URLFRONTIER__DISCOVERED_URLITEM__INIT;
	Urlfrontier__KnownURLItem known = URLFRONTIER__KNOWN_URLITEM__INIT;
	Urlfrontier__URLItem item = URLFRONTIER__URLITEM__INIT;
	uint64_t n = next_url(put.sent);

	known.refetchable_from_date = known_date(put.sent, n);
	load_id_text(put.sent++, id);
	load_url_text(n, url);
	load_key_text(load_queue(n), key);
	info.url = url;
	info.key = key;
	item.id = id;
	if (known.refetchable_from_date == 0) {
		discovered.info = &info;
		item.item_case = URLFRONTIER__URLITEM__ITEM_DISCOVERED;
		item.discovered = &discovered;
	} else {
		known.info = &info;
		item.item_case = URLFRONTIER__URLITEM__ITEM_KNOWN;
		item.known = &known;
	}
	s->under_way++;
	return load_send(s->call, &item.base);
}

static uint64_t
batch_size(uint64_t first)
{
	return MIN(load.o.batch, load.o.count - first);
}

static enum grpc_room
send_batch(struct stream *s)
{
	static Urlfrontier__URLInfo *items, **places;
	static char (*texts)[2][LOAD_TEXT_MAX];
	Urlfrontier__DiscoveredBatch batch =
	    URLFRONTIER__DISCOVERED_BATCH__INIT;
	char id[LOAD_TEXT_MAX];
	uint64_t n = batch_size(put.sent);

	if (items == NULL) {
		items = mem_array(load.o.batch, sizeof(*items));
		places = mem_array(load.o.batch, sizeof(*places));
		texts = mem_array(load.o.batch, sizeof(*texts));
	}
	load_id_text(put.sent, id);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t url = next_url(put.sent++);
		load_url_text(url, texts[i][0]);
		load_key_text(load_queue(url), texts[i][1]);
		items[i] = (Urlfrontier__URLInfo)URLFRONTIER__URLINFO__INIT;
		items[i].url = texts[i][0];
		items[i].key = texts[i][1];
		places[i] = &items[i];
	}
	batch.id = id;
	batch.n_items = n;
	batch.items = places;
	s->under_way += n;
	return load_send(s->call, &batch.base);
}

static void
half_close(struct stream *s)
{
	if (s->half_closed)
		return;
	s->half_closed = true;
	grpc_half_close(s->call);
}

/* In gulps of an eighth of the window, so that frames are full. */
static void
send_more(struct grpc_call *c)
{
	struct stream *s = grpc_arg(c);
	uint64_t window = load.o.window;
	enum grpc_room r = GRPC_ROOM;

	if (load.over || s->half_closed ||
	    s->under_way > window - MAX(window / 8, 1))
		return;
	while (r == GRPC_ROOM && s->under_way < window) {
		if (put.sent == load.o.count ||
		    (!put.updates && load_is_late())) {
			half_close(s);
			return;
		}
		if (window == 1)
			put.sent_at = clock_mono();
		r = load.o.batch > 0 ? send_batch(s) : send_item(s);
	}
}

/* ---- Acknowledgements ---------------------------------------------------- */

static void
note_status(uint64_t item, int status)
{
	int want = repeats(item) ? ACK_SKIPPED : ACK_OK;

	if (item >= put.sent || load_bit(put.acks, item)) {
		put.unasked++;
		return;
	}
	put.acked++;
	if (status >= 0 && status < ACK_KINDS)
		put.by_status[status]++;
	if (status != want)
		put.unexpected++;
}

static bool
read_id(const char *text, uint64_t *n)
{
	bool fine = str_to_u64(str_of(text), n) && *n < put.sent;

	if (!fine)
		put.unasked++;
	return fine;
}

static uint64_t
take_ack(struct str message)
{
	uint64_t n;
	Urlfrontier__AckMessage *a = urlfrontier__ack_message__unpack(
	    load_allocator(), message.n, (const uint8_t *)message.p);

	if (a == NULL) {
		load_fail("PutURLs: a message is malformed");
		return 0;
	}
	if (read_id(a->id, &n))
		note_status(n, (int)a->status);
	return 1;
}

static uint64_t
take_batch_ack(struct str message)
{
	uint64_t n;
	Urlfrontier__BatchAck *a = urlfrontier__batch_ack__unpack(
	    load_allocator(), message.n, (const uint8_t *)message.p);

	if (a == NULL) {
		load_fail("PutDiscovered: a message is malformed");
		return 0;
	}
	if (!read_id(a->id, &n))
		return 0;
	if (a->n_statuses != batch_size(n))
		put.unexpected++;
	for (size_t i = 0; i < a->n_statuses; i++)
		note_status(n + i, (int)a->statuses[i]);
	return a->n_statuses;
}

static void
on_ack(struct grpc_call *c, struct str message)
{
	struct stream *s = grpc_arg(c);

	if (load.over)
		return;
	uint64_t n = load.o.batch > 0 ? take_batch_ack(message) :
	    take_ack(message);
	s->under_way -= MIN(n, s->under_way);
	if (load.o.window == 1)
		load_took(clock_mono().ns - put.sent_at.ns);
	send_more(c);
}

/* ---- The run ------------------------------------------------------------- */

static void
report(void)
{
	double seconds = (double)mono_ns_between(put.began, put.ended) / 1e9;

	load_tell("sent", put.sent);
	load_tell("acked", put.acked);
	load_tell("ok", put.by_status[ACK_OK]);
	load_tell("skipped", put.by_status[ACK_SKIPPED]);
	load_tell("fail", put.by_status[ACK_FAIL]);
	load_tell_wrong("lost", put.sent - put.acked);
	load_tell_wrong("unexpected", put.unexpected);
	load_tell_wrong("unasked", put.unasked);
	load_tell_real("seconds", seconds);
	load_tell_real("rate", (double)put.acked / seconds);
	load_tell_took();
	load.created = put.by_status[ACK_OK] / (put.updates ? LOAD_UPDATES :
	    1);
}

static void
on_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	struct stream *s = grpc_arg(c);

	s->call = NULL;
	if (load.over)
		return;
	if (code != GRPC_OK || !s->half_closed) {
		/* What was told until then is of use: who killed the server
		 * wants to know what it had promised. */
		put.ended = clock_mono();
		report();
		load_fail("the stream ended: %s %.*s", grpc_code_name(code),
		    STR_FMT(text));
		return;
	}
	if (--put.open > 0)
		return;
	put.ended = clock_mono();
	report();
	mem_free(&put.acks);
	load_next();
}

void
load_put(void)
{
	static const struct grpc_events on = { .on_message = on_ack,
	    .on_writable = send_more, .on_end = on_end };
	const char *rpc = load.o.batch > 0 ? "PutDiscovered" : "PutURLs";

	put.updates = strcmp(load.mode, "updates") == 0;
	if (put.updates)
		load.o.count -= load.o.count % LOAD_UPDATES;
	put.acks = load_bits(load.o.count);
	put.open = load.ports_n;
	put.began = clock_mono();
	for (size_t i = 0; i < load.ports_n; i++)
		put.streams[i].call = load_call(i, rpc, &on, &put.streams[i]);
	for (size_t i = 0; i < load.ports_n && !load.over; i++)
		send_more(put.streams[i].call);
	for (uint64_t i = 0; put.updates && i < load.o.count / LOAD_UPDATES;
	    i++)
		load_expect(load.o.from + i, known_date(i * LOAD_UPDATES +
		    LOAD_UPDATES - 1, 0));
}
