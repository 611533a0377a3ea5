#include "engine/archive/check.h"

#include "wire/cdxj.h"

static const char *
level_of(const struct archive_finding *f)
{
	return f->note ? "note" : f->error ? "error" : "warning";
}

void
archive_finding_text(const struct archive_finding *f, struct buf *b)
{
	size_t start = b->n;

	buf_printf(b, "%s at %llu: %s: %s", f->path,
	    (unsigned long long)f->offset, level_of(f),
	    archive_rule_text(f->rule));
	if (f->detail[0] != '\0')
		buf_printf(b, " (%s)", f->detail);
	/* Field values of a hostile file must not drive the terminal. */
	for (size_t i = start; i < b->n; i++)
		if ((unsigned char)b->p[i] < ' ' || b->p[i] == 0x7f)
			b->p[i] = '?';
	buf_put_char(b, '\n');
}

void
archive_finding_json(const struct archive_finding *f, struct buf *b)
{
	buf_put_text(b, "{\"rule\":\"");
	archive_rule_put_name(f->rule, b);
	buf_printf(b, "\",\"level\":\"%s\",\"file\":", level_of(f));
	cdxj_put_json(b, str_of(f->path));
	buf_printf(b, ",\"offset\":%llu,\"text\":",
	    (unsigned long long)f->offset);
	cdxj_put_json(b, str_of(archive_rule_text(f->rule)));
	buf_put_text(b, ",\"detail\":");
	cdxj_put_json(b, str_of(f->detail));
	buf_put_char(b, '}');
}

static void
put_line(struct buf *b, uint64_t n, const char *text)
{
	if (n > 0)
		buf_printf(b, "%12llu  %s\n", (unsigned long long)n, text);
}

void
archive_check_text(const struct archive_check_counts *n, struct buf *b)
{
	put_line(b, n->files, "files");
	put_line(b, n->bytes, "bytes");
	put_line(b, n->records, "records");
	for (int t = 1; t <= WARC_CONTINUATION; t++)
		put_line(b, n->types[t], warc_type_name((enum warc_type)t));
	put_line(b, n->types[WARC_UNKNOWN], "of unknown type");
	put_line(b, n->digests, "digests computed");
	put_line(b, n->captures, "numbered captures");
	put_line(b, n->missing, "numbers missing");
	for (int r = 0; r < ARCHIVE_RULE_COUNT; r++)
		put_line(b, n->rules[r],
		    archive_rule_text((enum archive_rule)r));
	if (n->ids_forgotten)
		buf_put_text(b, "repeated ids were looked for in parts: "
		    "there are more than archive.check_ids_max\n");
	buf_printf(b, "%llu errors, %llu warnings\n",
	    (unsigned long long)n->errors, (unsigned long long)n->warnings);
}

static void
put_count(struct buf *b, const char *name, uint64_t n)
{
	if (b->p[b->n - 1] != '{')
		buf_put_char(b, ',');
	buf_printf(b, "\"%s\":%llu", name, (unsigned long long)n);
}

void
archive_check_json(const struct archive_check_counts *n, struct buf *b)
{
	FREED(buf_free) struct buf name = BUF_INIT;

	buf_put_char(b, '{');
	put_count(b, "files", n->files);
	put_count(b, "bytes", n->bytes);
	put_count(b, "records", n->records);
	put_count(b, "digests", n->digests);
	put_count(b, "captures", n->captures);
	put_count(b, "missing", n->missing);
	put_count(b, "errors", n->errors);
	put_count(b, "warnings", n->warnings);
	buf_printf(b, ",\"ids_forgotten\":%s,\"types\":{",
	    n->ids_forgotten ? "true" : "false");
	for (int t = 1; t <= WARC_CONTINUATION; t++)
		put_count(b, warc_type_name((enum warc_type)t), n->types[t]);
	put_count(b, "unknown", n->types[WARC_UNKNOWN]);
	buf_put_text(b, "},\"rules\":{");
	for (int r = 0; r < ARCHIVE_RULE_COUNT; r++)
		if (n->rules[r] > 0) {
			buf_clear(&name);
			archive_rule_put_name((enum archive_rule)r, &name);
			put_count(b, buf_text(&name), n->rules[r]);
		}
	buf_put_text(b, "}}");
}

int
archive_check_exit(const struct archive_check_counts *n, bool strict)
{
	if (n->errors > 0)
		return err_exit(ERR_CORRUPT);
	return strict && n->warnings > 0 ? err_exit(ERR_INPUT) : 0;
}
