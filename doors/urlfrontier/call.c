/*
 * What all calls have: life, requests, answers.
 */
#include "doors/urlfrontier/urlfrontier_own.h"
#include "os/clock.h"
#include "os/log.h"
#include "wire/grpc/pb.h"
#include "wire/urlfrontier/urlfrontier.pb-c.h"

void *
call_open(struct grpc_call *c, size_t size)
{
	const struct door_method *m = grpc_arg(c);
	struct door_call *k = mem_new(size);

	k->door = m->door;
	k->grpc = c;
	k->rpc = m->rpc;
	/* The gate left it there. */
	k->token = (uint64_t)(uintptr_t)grpc_data(c);
	k->began = clock_mono();
	list_put(&k->door->calls, &k->node);
	k->door->calls_n++;
	k->door->calls_most = MAX(k->door->calls_most, k->door->calls_n);
	grpc_set_data(c, k);
	return k;
}

void
call_end(struct door_call *k, enum grpc_code code)
{
	int64_t ns = MAX(mono_ns_between(k->began, clock_mono()), 0);

	k->grpc = NULL;
	meter_call(k->rpc, code, ns);
	log_debug("urlfrontier.call", "rpc=%s code=%s us=%lld",
	    urlfrontier_rpc_name(k->rpc), grpc_code_name(code),
	    (long long)(ns / 1000));
}

void
call_free(struct door_call *k)
{
	CHECK(k->grpc == NULL && k->out == 0);
	list_take(&k->node);
	k->door->calls_n--;
	arena_free(&k->arena);
	mem_free(&k);
}

/* ---- Requests ------------------------------------------------------------ */

static void *
from_arena(void *arena, size_t n)
{
	return arena_take(arena, n);
}

static void
to_arena(void *arena, void *p)
{
	(void)arena, (void)p;
}

/* protobuf-c takes any bytes for a text. */
static bool
texts_are_fine(const struct door_call *k)
{
	struct reader r = reader_of(k->request);
	struct pb_field f;

	while (pb_next(&r, &f)) {
		const ProtobufCFieldDescriptor *d =
		    protobuf_c_message_descriptor_get_field(k->descriptor,
		    f.number);
		if (d != NULL && d->type == PROTOBUF_C_TYPE_STRING &&
		    f.type == PB_BYTES && !item_is_text(f.bytes))
			return false;
	}
	return !r.bad;
}

void *
call_unpack(struct door_call *k, const ProtobufCMessageDescriptor *d,
    struct str message)
{
	ProtobufCAllocator a = { from_arena, to_arena, &k->arena };

	return protobuf_c_message_unpack(d, &a, message.n,
	    (const uint8_t *)message.p);
}

void *
call_read(struct door_call *k, const ProtobufCMessageDescriptor *d,
    struct str message)
{
	void *m = call_unpack(k, d, message);

	k->descriptor = d;
	k->request = arena_copy(&k->arena, message);
	if (m == NULL || !texts_are_fine(k)) {
		call_fail(k, GRPC_INTERNAL, CALL_MALFORMED);
		return NULL;
	}
	return m;
}

/* Some request of this service has a field of this name. */
static bool
is_field(const char *name)
{
	const ProtobufCServiceDescriptor *s =
	    &urlfrontier__urlfrontier__descriptor;

	for (unsigned i = 0; i < s->n_methods; i++)
		if (protobuf_c_message_descriptor_get_field_by_name(
		    s->methods[i].input, name) != NULL)
			return true;
	return false;
}

/* The last field of this name and type counts.  NULL: there is none. */
static const ProtobufCFieldDescriptor *
find_field(const struct door_call *k, const char *name, enum pb_type type,
    struct pb_field *found)
{
	const ProtobufCFieldDescriptor *d =
	    protobuf_c_message_descriptor_get_field_by_name(k->descriptor,
	    name);
	struct reader r = reader_of(k->request);
	struct pb_field f;
	bool any = false;

	CHECK(d != NULL || is_field(name));
	while (d != NULL && pb_next(&r, &f))
		if (f.number == d->id && f.type == type) {
			*found = f;
			any = true;
		}
	return any ? d : NULL;
}

struct str
call_text(const struct door_call *k, const char *name)
{
	struct pb_field f;

	return find_field(k, name, PB_BYTES, &f) != NULL ? f.bytes : STR("");
}

uint64_t
call_u64(const struct door_call *k, const char *name)
{
	struct pb_field f;
	const ProtobufCFieldDescriptor *d = find_field(k, name, PB_VARINT, &f);

	if (d == NULL)
		return 0;
	return d->type == PROTOBUF_C_TYPE_UINT64 ? f.value :
	    d->type == PROTOBUF_C_TYPE_BOOL ? f.value != 0 :
	    (uint32_t)f.value;
}

struct str
call_crawl(struct str name)
{
	for (size_t i = 0; i < name.n; i++)
		if (!ascii_is_space(name.p[i]))
			return name;
	return STR("DEFAULT");
}

bool
call_is_local(const struct door_call *k, bool field)
{
	return k->door->cluster == NULL || field || (k->grpc != NULL &&
	    str_eq(grpc_metadata(k->grpc, STR("argiope-scope")),
	    STR("local")));
}

int64_t
call_time_left_ns(const struct door_call *k)
{
	struct mono end = mono_add_ns(k->began,
	    cluster_deadline_ns(k->door->cluster));

	if (k->grpc != NULL && mono_before(grpc_deadline(k->grpc), end))
		end = grpc_deadline(k->grpc);
	return MAX(mono_ns_between(clock_mono(), end), 1);
}

void
call_ask(struct door_call *k, struct lease_call *c,
    void (*done)(struct lease_call *))
{
	k->out++;
	c->home = k->door->loop;
	c->done = done;
}

/* ---- Answers ------------------------------------------------------------- */

void
call_reply_bytes(struct door_call *k, struct str message)
{
	if (k->grpc != NULL)
		grpc_reply(k->grpc, message);
}

void
call_reply_text(struct door_call *k, const ProtobufCMessage *m,
    uint32_t number, struct str text)
{
	struct buf b = BUF_INIT;

	protobuf_c_message_pack(m, buf_grow(&b,
	    protobuf_c_message_get_packed_size(m)));
	if (text.n > 0)
		pb_put_bytes(&b, number, text);
	call_reply_bytes(k, buf_str(&b));
	buf_free(&b);
}

void
call_reply(struct door_call *k, const ProtobufCMessage *m)
{
	call_reply_text(k, m, 0, STR_NONE);
}

void
call_reply_number(struct door_call *k, uint64_t value)
{
	Urlfrontier__Long m = URLFRONTIER__LONG__INIT;

	m.value = value;
	call_reply(k, &m.base);
}

void
call_fail(struct door_call *k, enum grpc_code code, const char *text)
{
	if (k->grpc != NULL)
		grpc_finish(k->grpc, code, text);
}

void
call_fail_err(struct door_call *k, enum err e)
{
	call_fail(k, (enum grpc_code)err_grpc(e), err_text(e));
}
