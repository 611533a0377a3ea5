/*
 * preview.js -- a foreign page to look at, that can do nothing.
 *
 * Three walls: the markup is read here, not by the browser, and only elements
 * and attributes of the lists below are written again, with all else escaped;
 * the frame is sandboxed without any right; and it inherits this page's policy,
 * which knows no foreign place and nothing inline.
 */
import { el } from "./dom.js";

const CHARSETS = /charset\s*=\s*["']?\s*([\w.:-]+)/i;

/* The body as text: by its header, its own word, or a guess. */
export function decodeText(body, p) {
	const head = p.hops?.at(-1)?.response ?? "";
	const type = /^content-type:(.*)$/im.exec(head)?.[1] ?? p.type ?? "";
	const names = [CHARSETS.exec(type)?.[1], CHARSETS.exec(
	    new TextDecoder("latin1").decode(body.subarray(0, 2048)))?.[1],
	    "utf-8"];

	for (const name of names)
		try {
			if (name)
				return new TextDecoder(name, { fatal: name ===
				    "utf-8" }).decode(body);
		} catch {
			// No such charset, or it is not UTF-8.
		}
	return new TextDecoder("windows-1252").decode(body);
}

/* Elements that are written again; of others the content alone. */
const ELEMENTS = new Set(("a abbr address article aside b bdi bdo blockquote " +
	"body br caption center cite code col colgroup dd del details dfn div " +
	"dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i " +
	"ins kbd li main mark nav ol p pre q rp rt ruby s samp section small " +
	"span strike strong sub summary sup table tbody td tfoot th thead time " +
	"tr tt u ul var wbr").split(" "));
/* Elements whose content is left out too. */
const DROPPED = new Set(("script style template noscript iframe object svg " +
	"math title textarea select head").split(" "));
const ATTRIBUTES = new Set(("title colspan rowspan align valign dir lang open " +
	"start border cellpadding cellspacing").split(" "));
const DATA_IMAGE = /^data:image\/(png|jpeg|gif|webp);base64,[a-z0-9+/=\s]*$/i;
const CHARACTERS_MAX = 1000000;

/* A comment, a declaration, or a tag with its attributes. */
const TAG = new RegExp("<!--[^]*?(?:-->|$)|<[!?][^>]*>?|" +
	"<(/?)([a-z][^\\s/>]*)((?:\"[^\"]*\"|'[^']*'|[^>\"'])*)>?", "gi");
const ATTRIBUTE = /([^\s=/"'>]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+)))?/g;

function escape(text) {
	return text.replaceAll("<", "&lt;").replaceAll(">", "&gt;")
	    .replaceAll('"', "&quot;");
}

function attributes(text) {
	let out = "";

	for (const [, name, a, b, c] of text.matchAll(ATTRIBUTE))
		if (ATTRIBUTES.has(name.toLowerCase()))
			out += ` ${name.toLowerCase()}="` +
			    escape(a ?? b ?? c ?? "") + '"';
	return out;
}

/* A picture that lies in the page itself; of others what stands for them. */
function picture(text) {
	const by = {};

	for (const [, name, a, b, c] of text.matchAll(ATTRIBUTE))
		by[name.toLowerCase()] = a ?? b ?? c ?? "";
	if (DATA_IMAGE.test(by.src ?? ""))
		return `<img src="${escape(by.src)}" alt="` +
		    escape(by.alt ?? "") + '">';
	return `<span>[${escape(by.alt || "picture")}]</span>`;
}

/* The page written again: text and structure. */
export function harmless(html) {
	let out = "", at = 0, dropped = "";

	for (const m of html.matchAll(TAG)) {
		const [all, end, given, rest] = m;
		const name = given?.toLowerCase();
		if (dropped === "")
			out += escape(html.slice(at, m.index));
		at = m.index + all.length;
		if (dropped !== "") {
			if (end && name === dropped)
				dropped = "";
		} else if (DROPPED.has(name)) {
			dropped = end || rest.endsWith("/") ? "" : name;
		} else if (name === "img") {
			out += picture(rest);
		} else if (ELEMENTS.has(name)) {
			out += end ? `</${name}>` : `<${name}` +
			    attributes(rest) + ">";
		}
	}
	return out + (dropped === "" ? escape(html.slice(at)) : "");
}

export function previewOf(body, p) {
	const html = decodeText(body, p);
	const frame = el("iframe.preview", { sandbox: "", title:
	    "The page, without its styles, scripts and pictures",
	    referrerpolicy: "no-referrer" });

	frame.srcdoc = "<!DOCTYPE html>" +
	    harmless(html.slice(0, CHARACTERS_MAX));
	return el("div", null, el("p.help", null, "Structure and text alone: " +
	    "no script, no style, no network." + (html.length >
	    CHARACTERS_MAX ? " It is cut, for it is very large." : "")), frame);
}
