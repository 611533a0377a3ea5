#include "doors/harvest/roots.h"

/* What Linux allows, less room for the hour directories and their files. */
#define PATH_BYTES_MAX 3500u
#define PART_BYTES_MAX 255u

/* Bytes that no path of a requester has: what contains them was meant for a
 * shell, or is damaged. */
static bool
has_strange_byte(struct str path)
{
	for (size_t i = 0; i < path.n; i++)
		if ((unsigned char)path.p[i] < ' ' || path.p[i] == 0x7f ||
		    path.p[i] == '$' || path.p[i] == '`')
			return true;
	return false;
}

/* "." and "..", also as "%2e". */
static bool
is_dots(struct str part)
{
	size_t dots = 0;

	while (part.n > 0) {
		bool coded = str_starts(part, STR("%2e")) ||
		    str_starts(part, STR("%2E"));
		if (!coded && part.p[0] != '.')
			return false;
		part = str_from(part, coded ? 3 : 1);
		dots++;
	}
	return dots == 1 || dots == 2;
}

/* "/a//b/" is "/a/b".  False: it is not absolute, or has "." or "..", a strange
 * byte or a part that is too long. */
static bool
normalize(struct str path, struct arena *a, struct str *out)
{
	char *p = arena_bytes(a, path.n + 1);
	struct str rest = path, part;
	size_t n = 0;

	if (path.n == 0 || path.p[0] != '/' || path.n >= PATH_BYTES_MAX ||
	    has_strange_byte(path))
		return false;
	while (str_split(&rest, '/', &part)) {
		if (is_dots(part) || part.n > PART_BYTES_MAX)
			return false;
		if (part.n == 0)
			continue;
		p[n++] = '/';
		memcpy(p + n, part.p, part.n);
		n += part.n;
	}
	p[n] = '\0';
	*out = (struct str){ p, n };
	return true;
}

/* Whether `path` is `dir` or lies below it. */
static bool
is_below(struct str path, struct str dir)
{
	return str_starts(path, dir) && (path.n == dir.n ||
	    path.p[dir.n] == '/');
}

enum err
roots_add(struct roots *r, struct str text, struct arena *a, struct why *w)
{
	size_t equals = str_find_char(text, '=');
	struct str local = equals == text.n ? text : str_from(text,
	    equals + 1);
	struct root root;

	if (!normalize(str_cut(text, 0, equals), a, &root.path) ||
	    !normalize(local, a, &root.local) || root.path.n == 0 ||
	    root.local.n == 0)
		return why(w, ERR_CONFIG, "\"%.*s\" is neither PATH nor "
		    "PATH=LOCAL, absolute and without \"..\"", STR_FMT(text));
	struct root *list = ARENA_ARRAY(a, struct root, r->n + 1);
	if (r->n > 0)
		memcpy(list, r->list, r->n * sizeof(*list));
	list[r->n++] = root;
	r->list = list;
	return OK;
}

enum err
roots_to_local(const struct roots *r, struct str path, struct arena *a,
    struct str *local, struct why *w)
{
	struct str plain;

	if (!normalize(path, a, &plain))
		return why_field(w, ERR_INPUT, "path", "it is not absolute, "
		    "has a part \".\" or \"..\", a control character, \"$\" or "
		    "\"`\", or is too long");
	for (size_t i = 0; i < r->n; i++) {
		if (!is_below(plain, r->list[i].path))
			continue;
		*local = arena_printf(a, "%.*s%.*s", STR_FMT(
		    r->list[i].local), STR_FMT(str_from(plain,
		    r->list[i].path.n)));
		return OK;
	}
	return why_field(w, ERR_INPUT, "path", "it lies below none of "
	    "harvest.roots");
}

const struct root *
roots_find_local(const struct roots *r, struct str local)
{
	for (size_t i = 0; i < r->n; i++)
		if (is_below(local, r->list[i].local))
			return &r->list[i];
	return NULL;
}

struct str
roots_to_message(const struct roots *r, struct str local, struct arena *a)
{
	const struct root *root = roots_find_local(r, local);

	return root == NULL ? local : arena_printf(a, "%.*s%.*s",
	    STR_FMT(root->path), STR_FMT(str_from(local, root->local.n)));
}
