#include "doors/external/login_page.h"

#include "wire/base64.h"
#include "wire/digest.h"

/* All of the question fits into the popup of 640 by 440 pixels. */
#define STYLE \
	":root{color-scheme:light dark}"                                     \
	"body{font:.95rem/1.4 system-ui,sans-serif;margin:1rem auto;"        \
	"padding:0 1.5rem;max-width:36rem;overflow-wrap:anywhere}"           \
	"h1{font-size:1.25rem;margin:0 0 .7rem}p{margin:.7rem 0}"            \
	"dl{display:grid;grid-template-columns:auto 1fr;gap:.1rem 1rem;"     \
	"margin:.7rem 0}dt{font-weight:600}dd{margin:0}"                     \
	"button{font:inherit;padding:.4rem 1.2rem}"
#define SCRIPT "window.close()"

/* ---- Parts -------------------------------------------------------------- */

static void
put_escaped(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.n; i++) {
		switch (text.p[i]) {
		case '&':
			buf_put_text(out, "&amp;");
			break;
		case '<':
			buf_put_text(out, "&lt;");
			break;
		case '>':
			buf_put_text(out, "&gt;");
			break;
		case '"':
			buf_put_text(out, "&quot;");
			break;
		case '\'':
			buf_put_text(out, "&#39;");
			break;
		default:
			buf_put_char(out, text.p[i]);
		}
	}
}

/* A text of others, whose direction ends with it. */
static void
put_foreign(struct buf *out, struct str text)
{
	buf_put_text(out, "<bdi>");
	put_escaped(out, text);
	buf_put_text(out, "</bdi>");
}

static void
begin_page(struct buf *out, const char *heading)
{
	buf_printf(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
	    "<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
	    "content=\"width=device-width\">\n<title>%s</title>\n", heading);
	buf_printf(out, "<style>%s</style>\n</head>\n<body>\n<main>\n"
	    "<h1>%s</h1>\n", STYLE, heading);
}

static void
end_page(struct buf *out)
{
	buf_put_text(out, "</main>\n</body>\n</html>\n");
}

static void
put_hash(struct buf *out, struct str text)
{
	struct digest d;

	digest_of(DIGEST_SHA256, text, &d);
	buf_put_text(out, "'sha256-");
	base64_put(out, (struct str){ (const char *)d.bytes,
	    digest_size(d.kind) });
	buf_put_char(out, '\'');
}

struct str
login_page_policy(struct arena *a)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	/* No form-action: browsers would apply it to the provider's address, to
	 * which the answer to the question leads. */
	buf_put_text(&b, "default-src 'none'; style-src ");
	put_hash(&b, STR(STYLE));
	buf_put_text(&b, "; script-src ");
	put_hash(&b, STR(SCRIPT));
	buf_put_text(&b, "; base-uri 'none'; frame-ancestors 'none'");
	return arena_copy(a, buf_str(&b));
}

/* ---- Pages -------------------------------------------------------------- */

void
login_page_put_end(struct str title, struct buf *out)
{
	begin_page(out, "You are signed in");
	buf_put_text(out, "<p>The account is connected to ");
	put_foreign(out, title);
	buf_put_text(out, ". You may close this window.</p>\n"
	    "<script>" SCRIPT "</script>\n");
	end_page(out);
}

void
login_page_put_error(struct str sentence, struct buf *out)
{
	begin_page(out, "Signing in has failed");
	buf_put_text(out, "<p role=\"alert\">");
	put_escaped(out, sentence);
	buf_put_text(out, "</p>\n<p>You may close this window and try again "
	    "from the page that opened it.</p>\n");
	end_page(out);
}

static void
put_row(struct buf *out, const char *name, struct str value)
{
	buf_printf(out, "<dt>%s</dt><dd>", name);
	put_foreign(out, value);
	buf_put_text(out, "</dd>\n");
}

static void
put_form(const struct login_page_question *q, struct buf *out)
{
	buf_put_text(out, "<form method=\"get\">\n");
	for (size_t i = 0; i < q->fields_n; i++) {
		buf_put_text(out, "<input type=\"hidden\" name=\"");
		put_escaped(out, q->fields[i].name);
		buf_put_text(out, "\" value=\"");
		put_escaped(out, q->fields[i].value);
		buf_put_text(out, "\">\n");
	}
	buf_put_text(out, "<button>Continue</button>\n</form>\n");
}

void
login_page_put_question(const struct login_page_question *q, struct buf *out)
{
	begin_page(out, "Connect an account?");
	buf_put_text(out, "<p>If you continue, you sign in at the provider, "
	    "and the account that you choose there is connected to this user:"
	    "</p>\n<dl>\n");
	put_row(out, "Connector", q->title);
	put_row(out, "Subdomain", q->subdomain);
	put_row(out, "User", q->uuid);
	if (q->name.n > 0)
		put_row(out, "Name", q->name);
	buf_put_text(out, "</dl>\n");
	if (q->is_reset)
		buf_put_text(out, "<p>The account that is connected now is "
		    "disconnected first.</p>\n");
	buf_put_text(out, "<p><strong>If this is not you, or if somebody has "
	    "sent you the link to this page, close this window.</strong> "
	    "Otherwise another person gets access to your account.</p>\n");
	put_form(q, out);
	end_page(out);
}
