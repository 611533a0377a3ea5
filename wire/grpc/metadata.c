#include "wire/grpc/metadata.h"

#include "base/time.h"
#include "wire/base64.h"

void
grpc_fields_add(struct grpc_fields *f, struct arena *a, struct str name,
    struct str value)
{
	f->all = arena_grow(a, f->all, f->n, &f->cap, 8, sizeof(*f->all));
	f->all[f->n++] = (struct grpc_field){ name, value };
}

struct str
grpc_fields_find(const struct grpc_fields *f, struct str name)
{
	for (size_t i = 0; i < f->n; i++)
		if (str_eq(f->all[i].name, name))
			return f->all[i].value;
	return STR_NONE;
}

static bool
is_bin(struct str name)
{
	return str_ends(name, STR("-bin"));
}

bool
grpc_field_is_fine(struct str name, struct str value)
{
	if (name.n == 0 || str_starts(name, STR("grpc-")) ||
	    str_eq(name, STR("content-type")) || str_eq(name, STR("te")) ||
	    str_eq(name, STR("connection")) || str_eq(name, STR("host")))
		return false;
	if (!is_bin(name) && str_trim(value).n != value.n)
		return false;
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];
		if (!(c >= 'a' && c <= 'z') && !ascii_is_digit(c) &&
		    c != '-' && c != '_' && c != '.')
			return false;
	}
	for (size_t i = 0; !is_bin(name) && i < value.n; i++)
		if (value.p[i] < ' ' || value.p[i] > '~')
			return false;
	return true;
}

struct str
grpc_value_write(struct arena *a, struct str name, struct str value)
{
	struct buf b = BUF_INIT;

	if (!is_bin(name))
		return arena_copy(a, value);
	base64_put(&b, value);
	struct str copy = arena_copy(a, buf_str(&b));
	buf_free(&b);
	return copy;
}

bool
grpc_value_read(struct arena *a, struct str name, struct str wire,
    struct str *value)
{
	struct buf b = BUF_INIT;
	bool fine = true;

	if (!is_bin(name)) {
		*value = arena_copy(a, wire);
		return true;
	}
	fine = base64_read(&b, wire);
	if (fine)
		*value = arena_copy(a, buf_str(&b));
	buf_free(&b);
	return fine;
}

/* From the finest to the coarsest. */
static const struct {
	char letter;
	int64_t ns;
} units[] = {
	{ 'n', 1 }, { 'u', 1000 }, { 'm', NS_PER_MS }, { 'S', NS_PER_S },
	{ 'M', NS_PER_S * 60 }, { 'H', NS_PER_S * 3600 },
};

bool
grpc_timeout_read(struct str s, int64_t *ns)
{
	uint64_t n;

	if (s.n < 2 || s.n > 9 || !str_to_u64(str_cut(s, 0, s.n - 1), &n))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (units[i].letter != s.p[s.n - 1])
			continue;
		/* 8 digits of hours are more than 64 bits of nanoseconds. */
		*ns = n > (uint64_t)(INT64_MAX / 4 / units[i].ns)
		    ? INT64_MAX / 4 : (int64_t)n * units[i].ns;
		return true;
	}
	return false;
}

void
grpc_timeout_write(int64_t ns, char out[static GRPC_TIMEOUT_MAX])
{
	size_t i = 0;

	ns = MAX(ns, 1);
	while (i + 1 < ARRAY_LEN(units) &&
	    (ns - 1) / units[i].ns + 1 > 99999999)
		i++;
	int64_t n = MIN((ns - 1) / units[i].ns + 1, 99999999);
	snprintf(out, GRPC_TIMEOUT_MAX, "%d%c", (int)n, units[i].letter);
}
