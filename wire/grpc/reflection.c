#include "wire/grpc/reflection.h"

#include "wire/grpc/pb.h"

/* FileDescriptorProto, and what lies in it. */
enum { FILE_NAME = 1, FILE_PACKAGE = 2, FILE_IMPORT = 3, FILE_MESSAGE = 4,
	FILE_ENUM = 5, FILE_SERVICE = 6, FILE_EXTENSION = 7 };
enum { ANY_NAME = 1, MESSAGE_NESTED = 3, MESSAGE_ENUM = 4, SERVICE_METHOD = 2,
	MESSAGE_FIELD = 2, MESSAGE_EXTENSION = 6, MESSAGE_ONEOF = 8,
	ENUM_VALUE = 2 };
/* ServerReflectionRequest and -Response. */
enum { ASK_HOST = 1, ASK_FILE = 3, ASK_SYMBOL = 4, ASK_EXTENSION = 5,
	ASK_EXTENSION_NUMBERS = 6, ASK_SERVICES = 7 };
enum { TELL_HOST = 1, TELL_REQUEST = 2, TELL_FILES = 4,
	TELL_EXTENSION_NUMBERS = 5, TELL_SERVICES = 6, TELL_ERROR = 7 };

#define NESTING_MAX 32

struct file {
	struct str bytes, name, package;
};

struct reflection {
	struct grpc_method methods[2];
	struct file files[REFLECTION_FILES_MAX];
	size_t n;
};

static struct str
first_bytes(struct str message, uint32_t number)
{
	struct reader r = reader_of(message);
	struct pb_field f;

	while (pb_next(&r, &f))
		if (f.number == number && f.type == PB_BYTES)
			return f.bytes;
	return STR_NONE;
}

/* "a.b" of "a.b.c" leaves "c"; false when it does not begin so. */
static bool
strip(struct str *symbol, struct str prefix)
{
	if (prefix.n == 0)
		return true;
	if (!str_starts(*symbol, prefix))
		return false;
	if (symbol->n > prefix.n && symbol->p[prefix.n] != '.')
		return false;
	*symbol = str_from(*symbol, prefix.n + 1);
	return true;
}

/* Kinds of descriptors by the named parts they contain.  A service lists its
 * methods in the way an enum lists its values. */
enum part { PART_NONE, PART_LEAF, PART_ENUM, PART_MESSAGE, PART_FILE };

static enum part
kind_of_part(enum part whole, uint32_t number)
{
	static const uint8_t kinds[][MESSAGE_ONEOF + 1] = {
		[PART_ENUM] = { [ENUM_VALUE] = PART_LEAF },
		[PART_MESSAGE] = { [MESSAGE_FIELD] = PART_LEAF,
		    [MESSAGE_NESTED] = PART_MESSAGE,
		    [MESSAGE_ENUM] = PART_ENUM,
		    [MESSAGE_EXTENSION] = PART_LEAF,
		    [MESSAGE_ONEOF] = PART_LEAF },
		[PART_FILE] = { [FILE_MESSAGE] = PART_MESSAGE,
		    [FILE_ENUM] = PART_ENUM, [FILE_SERVICE] = PART_ENUM,
		    [FILE_EXTENSION] = PART_LEAF },
	};

	return number <= MESSAGE_ONEOF ? kinds[whole][number] : PART_NONE;
}

/* Whether a part is, or has, the symbol. */
static bool
has_symbol(struct str whole, enum part kind, struct str symbol,
    unsigned depth)
{
	struct reader r = reader_of(whole);
	struct pb_field f;

	while (depth <= NESTING_MAX && pb_next(&r, &f)) {
		enum part part = kind_of_part(kind, f.number);
		struct str name = first_bytes(f.bytes, ANY_NAME);
		struct str rest = symbol;
		if (part == PART_NONE || f.type != PB_BYTES)
			continue;
		if (part == PART_LEAF ? str_eq(name, symbol) :
		    strip(&rest, name) && (rest.n == 0 ||
		    has_symbol(f.bytes, part, rest, depth + 1)))
			return true;
	}
	return false;
}

static bool
file_declares(const struct file *file, struct str symbol)
{
	return strip(&symbol, file->package) && symbol.n > 0 &&
	    has_symbol(file->bytes, PART_FILE, symbol, 0);
}

static size_t
find_file(const struct reflection *x, struct str name)
{
	for (size_t i = 0; i < x->n; i++)
		if (str_eq(x->files[i].name, name))
			return i;
	return x->n;
}

/* The file, then all that it imports, each once. */
static void
put_files(const struct reflection *x, size_t i, uint32_t *seen,
    struct buf *out)
{
	struct reader r = reader_of(x->files[i].bytes);
	struct pb_field f;

	if (*seen & (uint32_t)1 << i)
		return;
	*seen |= (uint32_t)1 << i;
	pb_put_bytes(out, 1, x->files[i].bytes);
	while (pb_next(&r, &f)) {
		if (f.number != FILE_IMPORT || f.type != PB_BYTES)
			continue;
		size_t at = find_file(x, f.bytes);
		if (at < x->n)
			put_files(x, at, seen, out);
	}
}

static void
put_error(struct buf *out, enum grpc_code code, const char *text)
{
	struct buf b = BUF_INIT;

	pb_put_varint(&b, 1, code);
	pb_put_bytes(&b, 2, str_of(text));
	pb_put_bytes(out, TELL_ERROR, buf_str(&b));
	buf_free(&b);
}

static void
tell_file(const struct reflection *x, size_t i, struct buf *out)
{
	struct buf b = BUF_INIT;
	uint32_t seen = 0;

	if (i == x->n) {
		put_error(out, GRPC_NOT_FOUND, "no such file or symbol");
		return;
	}
	put_files(x, i, &seen, &b);
	pb_put_bytes(out, TELL_FILES, buf_str(&b));
	buf_free(&b);
}

static void
tell_symbol(const struct reflection *x, struct str symbol, struct buf *out)
{
	size_t i = 0;

	while (i < x->n && !file_declares(&x->files[i], symbol))
		i++;
	tell_file(x, i, out);
}

static void
put_service(const struct file *file, struct str name, struct buf *services)
{
	struct buf full = BUF_INIT, one = BUF_INIT;

	if (file->package.n > 0)
		buf_printf(&full, "%.*s.", STR_FMT(file->package));
	buf_put_str(&full, name);
	pb_put_bytes(&one, 1, buf_str(&full));
	pb_put_bytes(services, 1, buf_str(&one));
	buf_free(&full);
	buf_free(&one);
}

static void
tell_services(const struct reflection *x, struct buf *out)
{
	struct buf all = BUF_INIT;
	struct pb_field f;

	for (size_t i = 0; i < x->n; i++) {
		struct reader r = reader_of(x->files[i].bytes);
		while (pb_next(&r, &f))
			if (f.number == FILE_SERVICE && f.type == PB_BYTES)
				put_service(&x->files[i],
				    first_bytes(f.bytes, ANY_NAME), &all);
	}
	pb_put_bytes(out, TELL_SERVICES, buf_str(&all));
	buf_free(&all);
}

static bool
answer(const struct reflection *x, struct str message, struct buf *out)
{
	struct reader r = reader_of(message);
	struct pb_field f, ask = { 0 };

	pb_put_bytes(out, TELL_HOST, first_bytes(message, ASK_HOST));
	pb_put_bytes(out, TELL_REQUEST, message);
	/* The last member of a oneof counts. */
	while (pb_next(&r, &f))
		if (f.number >= ASK_FILE && f.number <= ASK_SERVICES &&
		    f.type == PB_BYTES)
			ask = f;
	if (r.bad)
		return false;
	if (ask.number == ASK_FILE)
		tell_file(x, find_file(x, ask.bytes), out);
	else if (ask.number == ASK_SYMBOL)
		tell_symbol(x, ask.bytes, out);
	else if (ask.number == ASK_SERVICES)
		tell_services(x, out);
	else if (ask.number == ASK_EXTENSION ||
	    ask.number == ASK_EXTENSION_NUMBERS)
		put_error(out, GRPC_NOT_FOUND, "there are no extensions");
	else
		put_error(out, GRPC_INVALID_ARGUMENT, "nothing was asked");
	return true;
}

static void
on_message(struct grpc_call *c, struct str message)
{
	const struct reflection *x = grpc_arg(c);
	struct buf b = BUF_INIT;

	if (!answer(x, message, &b))
		grpc_finish(c, GRPC_INTERNAL, "the message is malformed");
	else if (grpc_send(c, buf_str(&b)) == GRPC_FULL)
		grpc_pause(c);
	buf_free(&b);
}

static void
on_half_close(struct grpc_call *c)
{
	grpc_finish(c, GRPC_OK, NULL);
}

struct reflection *
reflection_new(struct grpc_server *server)
{
	static const char *const paths[] = {
	    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
	    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
	};
	struct reflection *x = mem_new(sizeof(*x));

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		x->methods[i] = (struct grpc_method){ paths[i], GRPC_BIDI,
		    { .on_message = on_message,
		    .on_half_close = on_half_close,
		    .on_writable = grpc_resume }, x, false };
	grpc_server_add(server, x->methods, ARRAY_LEN(x->methods));
	return x;
}

void
reflection_free(struct reflection **xp)
{
	mem_free(xp);
}

enum err
reflection_add(struct reflection *x, struct str set, struct why *w)
{
	struct reader r = reader_of(set);
	struct pb_field f;

	while (pb_next(&r, &f)) {
		if (f.number != 1 || f.type != PB_BYTES)
			continue;
		struct file file = { f.bytes,
		    first_bytes(f.bytes, FILE_NAME),
		    first_bytes(f.bytes, FILE_PACKAGE) };
		if (find_file(x, file.name) < x->n)
			continue;
		if (x->n == REFLECTION_FILES_MAX)
			return why(w, ERR_FULL, "more than %d proto files",
			    REFLECTION_FILES_MAX);
		x->files[x->n++] = file;
	}
	return r.bad ? why(w, ERR_INPUT, "no FileDescriptorSet") : OK;
}
