#include "cli/paint.h"

#include "base/json.h"
#include "cli/format.h"
#include "os/system.h"

#define TEXT_MAX 2000u
#define VALUE_MAX 300u
#define STDOUT_FD 1

static bool
wants_colour(void)
{
	const char *term = getenv("TERM"), *no = getenv("NO_COLOR");

	return system_is_terminal(STDOUT_FD) && (no == NULL || no[0] == '\0') &&
	    (term == NULL || strcmp(term, "dumb") != 0);
}

void
paint_line(struct paint *p, enum colour colour, const char *line)
{
	if (p->coloured)
		buf_printf(p->b, "\033[%dm%s\033[0m\n", (int)colour, line);
	else
		buf_printf(p->b, "%s\n", line);
}

struct paint
paint_of(struct cli *c)
{
	return (struct paint){ .b = &c->out, .arena = &c->arena,
	    .coloured = wants_colour() };
}

/* JSON on a line; what a site sent must not move the cursor. */
static const char *
value_text(struct paint *p, yyjson_val *v)
{
	size_t n = 0;
	char *text = yyjson_val_write(v, YYJSON_WRITE_ESCAPE_UNICODE, &n);
	const char *safe = format_text(p->arena, (struct str){ text, n },
	    VALUE_MAX);

	free(text);
	return safe;
}

const char *
paint_text(struct paint *p, yyjson_val *object, const char *name)
{
	return format_text(p->arena, json_text(yyjson_obj_get(object, name)),
	    TEXT_MAX);
}

static void
put_change(struct paint *p, yyjson_val *change)
{
	struct str op = json_text(yyjson_obj_get(change, "op"));
	yyjson_val *value = yyjson_obj_get(change, "value");
	const char *path = paint_text(p, change, "path");

	if (str_eq(op, STR("remove")))
		paint_line(p, RED, arena_printf(p->arena, "  - %s", path).p);
	else
		paint_line(p, str_eq(op, STR("add")) ? GREEN : YELLOW,
		    arena_printf(p->arena, "  %c %s  %s", str_eq(op,
		    STR("add")) ? '+' : '~', path, value_text(p, value)).p);
}

void
paint_changes(struct paint *p, yyjson_val *changes)
{
	yyjson_val *change;
	size_t i, n;

	yyjson_arr_foreach(changes, i, n, change)
		put_change(p, change);
}
