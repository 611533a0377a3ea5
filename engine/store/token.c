#include "engine/store/token.h"

#include "os/clock.h"
#include "wire/digest.h"

#define ALL (1u << TOKEN_DOORS_MAX)      /* the bit of "*" */

_Static_assert(TOKEN_DOORS_MAX < 32, "doors are bits");
_Static_assert(TOKEN_HASH_BYTES == DIGEST_BYTES_MAX, "it is a SHA-256");

/* The last is "*", whose bit is ALL; those between were not added. */
static const char *doors[TOKEN_DOORS_MAX + 1] = {
#define TOKEN_DOOR_ROW(name, text) text,
	TOKEN_DOORS(TOKEN_DOOR_ROW)
#undef TOKEN_DOOR_ROW
	[TOKEN_DOORS_MAX] = "*"
};
static size_t doors_n = TOKEN_DOOR_FIXED;
static const char *const accesses[] = { "read", "write" };

enum token_door
token_door_add(const char *name)
{
	for (size_t i = 0; i < doors_n; i++)
		if (strcmp(doors[i], name) == 0)
			return (enum token_door)i;
	CHECK(doors_n < TOKEN_DOORS_MAX);
	doors[doors_n] = name;
	return (enum token_door)doors_n++;
}

const char *const *
token_door_names(size_t *n)
{
	*n = doors_n;
	return doors;
}

const char *
token_door_text(enum token_door d)
{
	CHECK(d < doors_n);
	return doors[d];
}

const char *
token_access_text(enum token_access a)
{
	CHECK(a <= TOKEN_WRITE);
	return accesses[a];
}

/* -- Names -- */

static bool
is_name_char(char c)
{
	return ascii_is_alpha(c) || ascii_is_digit(c) || c == '.' ||
	    c == '_' || c == '@' || c == '-';
}

enum err
token_name_check(struct str s, struct why *w)
{
	if (s.n == 0)
		return why(w, ERR_INPUT, "name: it is empty");
	if (s.n > TOKEN_NAME_BYTES_MAX)
		return why(w, ERR_INPUT, "name: %zu bytes; at most %u are "
		    "allowed", s.n, TOKEN_NAME_BYTES_MAX);
	if (s.p[0] == '-')
		return why(w, ERR_INPUT, "name: it begins with \"-\"");
	for (size_t i = 0; i < s.n; i++)
		if (!is_name_char(s.p[i]))
			return why(w, ERR_INPUT, "name: only letters, digits "
			    "and ._@- are allowed");
	return OK;
}

/* -- Scopes -- */

static bool
door_of(struct str s, uint32_t *bit)
{
	size_t i = STR_ROW(s, doors);

	if (i < ARRAY_LEN(doors))
		*bit = 1u << i;
	return i < ARRAY_LEN(doors);
}

static enum err
no_door(struct str s, struct why *w)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	for (size_t i = 0; i < doors_n; i++)
		buf_printf(&b, "%s, ", doors[i]);
	b.n -= 2;
	enum err e = why(w, ERR_INPUT, "scope: there is no door \"%.*s\"; it "
	    "is %s or *", (int)MIN(s.n, 40), s.p, buf_text(&b));
	return e;
}

/* With `lenient`, a door that is not known is passed over. */
static enum err
read_scope(struct str s, bool lenient, struct token_scopes *out,
    struct why *w)
{
	size_t colon = str_find_char(s, ':');
	struct str door = str_cut(s, 0, colon);
	struct str access = str_from(s, colon + 1);
	uint32_t bit = 0;

	if (s.n == 0)
		return why(w, ERR_INPUT, "scope: it is empty; one is "
		    "urlfrontier:write");
	if (colon == s.n)
		return why(w, ERR_INPUT, "scope \"%.*s\": a door, a colon, "
		    "and read or write are needed", (int)MIN(s.n, 40), s.p);
	if (!door_of(door, &bit) && !lenient)
		return no_door(door, w);
	if (str_eq(access, STR("write")))
		out->write |= bit;
	else if (str_eq(access, STR("read")))
		out->read |= bit;
	else
		return why(w, ERR_INPUT, "scope \"%.*s\": read or write is "
		    "needed behind the colon", (int)MIN(s.n, 40), s.p);
	return OK;
}

/* Leave out what another includes. */
static void
settle(struct token_scopes *s)
{
	if (s->write & ALL) {
		s->write = ALL;
		s->read = 0;
	}
	if (s->read & ALL)
		s->read = ALL;
	s->read &= ~s->write;
}

enum err
token_scopes_read(struct str list, bool lenient, struct token_scopes *out,
    struct why *w)
{
	struct str rest = list, part;
	enum err e = OK;
	size_t n = 0;

	*out = (struct token_scopes){ 0, 0 };
	if (list.n == 0)
		return read_scope(list, lenient, out, w);
	while (e == OK && str_split(&rest, ',', &part)) {
		if (n++ == TOKEN_SCOPES_MAX)
			return why(w, ERR_INPUT, "scope: more than %u are "
			    "given", TOKEN_SCOPES_MAX);
		e = read_scope(str_trim(part), lenient, out, w);
	}
	settle(out);
	return e;
}

static void
put_scope(struct buf *b, size_t start, size_t door, enum token_access a)
{
	buf_printf(b, "%s%s:%s", b->n > start ? "," : "", doors[door],
	    accesses[a]);
}

void
token_scopes_write(struct token_scopes s, struct buf *b)
{
	size_t start = b->n;

	for (size_t i = 0; i <= doors_n; i++) {
		/* "*" stands last among the doors, and first in the text. */
		size_t d = i == 0 ? TOKEN_DOORS_MAX : i - 1;
		if (s.write >> d & 1)
			put_scope(b, start, d, TOKEN_WRITE);
		else if (s.read >> d & 1)
			put_scope(b, start, d, TOKEN_READ);
	}
}

bool
token_scopes_allow(struct token_scopes s, enum token_door d,
    enum token_access a)
{
	uint32_t bits = a == TOKEN_WRITE ? s.write : s.write | s.read;

	CHECK(d < doors_n);
	return (bits & (ALL | 1u << d)) != 0;
}

/* -- Texts -- */

void
token_make(char text[static TOKEN_TEXT_BYTES + 1])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t random[TOKEN_RANDOM_BYTES];
	char *p = text + sizeof(TOKEN_PREFIX) - 1;

	clock_random(random, sizeof(random));
	memcpy(text, TOKEN_PREFIX, sizeof(TOKEN_PREFIX) - 1);
	for (size_t i = 0; i < sizeof(random); i++) {
		*p++ = digits[random[i] >> 4];
		*p++ = digits[random[i] & 15];
	}
	*p = '\0';
	explicit_bzero(random, sizeof(random));
}

void
token_hash(struct str text, uint8_t hash[static TOKEN_HASH_BYTES])
{
	struct digest d;

	digest_of(DIGEST_SHA256, text, &d);
	memcpy(hash, d.bytes, TOKEN_HASH_BYTES);
}
