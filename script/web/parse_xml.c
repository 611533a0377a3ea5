#include "script/web/parse_xml.h"

#include <expat.h>

#include "base/text.h"
#include "script/web/counted.h"

#define CHUNK_BYTES 4096u
#define HASH_SALT 0x61726769u

struct parse {
	struct document *d;
	XML_Parser parser;
	uint32_t skipped;            /* open elements that were too deep */
};

/* "amp;", "#38;", "#x26;": a reference that every XML parser knows. */
static bool
is_known_reference(struct str s)
{
	static const struct str names[] = { { "amp;", 4 }, { "lt;", 3 },
		{ "gt;", 3 }, { "quot;", 5 }, { "apos;", 5 } };
	size_t i = 1, digits = 0;

	for (size_t k = 0; k < ARRAY_LEN(names); k++)
		if (str_starts(s, names[k]))
			return true;
	if (s.n < 3 || s.p[0] != '#')
		return false;
	bool hex = s.p[1] == 'x';
	for (i += hex; i < s.n && digits < 8; i++, digits++)
		if (hex ? ascii_hex_value(s.p[i]) < 0 :
		    !ascii_is_digit(s.p[i]))
			break;
	return digits > 0 && i < s.n && s.p[i] == ';';
}

/* The length of a declaration from "<!DOCTYPE" to its ">". */
static size_t
doctype_length(struct str s)
{
	int inside = 0;
	char quote = '\0';

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		if (quote != '\0') {
			quote = c == quote ? '\0' : quote;
		} else if (str_starts(str_from(s, i), STR("<!--"))) {
			i += str_find(str_from(s, i), STR("-->")) + 2;
		} else if (c == '"' || c == '\'') {
			quote = c;
		} else if (c == '[') {
			inside++;
		} else if (c == ']') {
			inside--;
		} else if (c == '>' && inside <= 0) {
			return i + 1;
		}
	}
	return s.n;
}

/* The length of what is copied as it is: a comment, a section, a PI. */
static size_t
verbatim_length(struct str s)
{
	static const struct { struct str begin, end; } kinds[] = {
		{ { "<!--", 4 }, { "-->", 3 } },
		{ { "<![CDATA[", 9 }, { "]]>", 3 } },
		{ { "<?", 2 }, { "?>", 2 } },
	};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (str_starts(s, kinds[i].begin)) {
			size_t b = kinds[i].begin.n;
			size_t at = str_find(str_from(s, b), kinds[i].end);
			return MIN(s.n, b + at + kinds[i].end.n);
		}
	return 0;
}

/*
 * The text without its document type declaration, and with "&amp;" for each
 * "&" that begins no reference of XML's own.
 */
static bool
without_entities(struct str s, struct out *o, struct poll *p)
{
	while (s.n > 0 && !o->full) {
		size_t n = 0;
		while (n < s.n && s.p[n] != '<' && s.p[n] != '&')
			n++;
		out_put(o, s.p, n);
		s = str_from(s, n);
		if (s.n == 0 || poll_step(p))
			break;
		if (s.p[0] == '&') {
			out_str(o, is_known_reference(str_from(s, 1)) ?
			    STR("&") : STR("&amp;"));
			s = str_from(s, 1);
		} else if (str_starts(s, STR("<!DOCTYPE"))) {
			s = str_from(s, doctype_length(s));
		} else {
			n = MAX(verbatim_length(s), 1u);
			out_put(o, s.p, n);
			s = str_from(s, n);
		}
	}
	return !o->full;
}

static void
give_up(struct parse *p)
{
	(void)XML_StopParser(p->parser, XML_FALSE);
}

static void XMLCALL
on_start(void *ctx, const char *name, const char **attrs)
{
	struct parse *p = ctx;

	if (p->skipped > 0 || !document_open(p->d, str_of(name))) {
		p->skipped++;
	} else {
		for (size_t i = 0; attrs[i] != NULL &&
		    i < 2 * DOCUMENT_ATTRS_MAX; i += 2)
			document_attr(p->d, str_of(attrs[i]),
			    str_of(attrs[i + 1]));
	}
	if (p->d->full || counted_breached())
		give_up(p);
}

static void XMLCALL
on_end(void *ctx, const char *name)
{
	struct parse *p = ctx;

	(void)name;
	if (p->skipped > 0)
		p->skipped--;
	else
		document_close(p->d);
}

static void XMLCALL
on_text(void *ctx, const char *s, int n)
{
	struct parse *p = ctx;

	if (p->d->open != 0)
		document_text(p->d, (struct str){ s, (size_t)n });
	if (p->d->full || counted_breached())
		give_up(p);
}

static void XMLCALL
on_comment(void *ctx, const char *s)
{
	struct parse *p = ctx;

	document_other(p->d, NODE_COMMENT, str_of(s));
	if (p->d->full)
		give_up(p);
}

static void XMLCALL
on_instruction(void *ctx, const char *target, const char *data)
{
	struct parse *p = ctx;
	struct out o = OUT_OF(p->d->rt);

	out_char(&o, '?');
	out_str(&o, str_of(target));
	out_char(&o, ' ');
	out_str(&o, str_of(data));
	out_char(&o, '?');
	document_other(p->d, NODE_INSTRUCTION, out_text(&o));
	p->d->full = p->d->full || o.full;
	out_free(&o);
	if (p->d->full)
		give_up(p);
}

static enum err
failed(struct parse *p, struct why *w)
{
	if (p->d->full || counted_breached())
		return why(w, ERR_FULL, "the heap's limit is met");
	return why(w, ERR_INPUT, "XML, line %lu, column %lu: %s",
	    (unsigned long)XML_GetCurrentLineNumber(p->parser),
	    (unsigned long)XML_GetCurrentColumnNumber(p->parser),
	    XML_ErrorString(XML_GetErrorCode(p->parser)));
}

static enum err
feed(struct parse *p, struct str text, struct poll *poll, struct why *w)
{
	bool last;

	do {
		size_t n = MIN(text.n, CHUNK_BYTES);
		last = n == text.n;
		if (XML_Parse(p->parser, text.p, (int)n, last) !=
		    XML_STATUS_OK)
			return failed(p, w);
		text = str_from(text, n);
		if (poll_ask(poll))
			return why(w, ERR_TIMEOUT, "interrupted");
	} while (!last);
	document_finish(p->d);
	return p->d->full ? failed(p, w) : OK;
}

enum err
parse_xml(struct document *d, struct str text, struct poll *poll,
    struct why *w)
{
	static const XML_Memory_Handling_Suite memory = { counted_malloc,
		counted_realloc, counted_free };
	struct parse p = { .d = d };
	struct out o = OUT_OF(d->rt);
	enum err e = OK;

	/* Blanks before a declaration are malformed, and frequent. */
	while (text.n > 0 && ascii_is_space(text.p[0]))
		text = str_from(text, 1);
	counted_enter(d->rt);
	if (without_entities(text, &o, poll))
		p.parser = XML_ParserCreate_MM("UTF-8", &memory, NULL);
	if (poll->stopped) {
		e = why(w, ERR_TIMEOUT, "interrupted");
	} else if (p.parser == NULL) {
		e = why(w, ERR_FULL, "the heap's limit is met");
	} else {
		/* Else it draws one by getrandom(2), which ends a sandboxed
		 * process.  Colliding names cost the script its own time. */
		(void)XML_SetHashSalt(p.parser, HASH_SALT);
		XML_SetUserData(p.parser, &p);
		XML_SetElementHandler(p.parser, on_start, on_end);
		XML_SetCharacterDataHandler(p.parser, on_text);
		XML_SetCommentHandler(p.parser, on_comment);
		XML_SetProcessingInstructionHandler(p.parser, on_instruction);
		e = feed(&p, out_text(&o), poll, w);
	}
	if (p.parser != NULL)
		XML_ParserFree(p.parser);
	out_free(&o);
	counted_leave();
	return e;
}
