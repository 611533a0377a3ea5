/*
 * preview.js -- shows a captured page without letting it do anything.
 *
 * Three defences: the markup is read here, not by the browser, and only elements
 * and attributes of the lists below are written again, with all else escaped;
 * the frame is sandboxed without any right; and it inherits this page's policy,
 * which allows no other origin and nothing inline.
 */
import { el } from "./dom.js";
import { count } from "./format.js";

const CHARSETS = /charset\s*=\s*["']?\s*([\w.:-]+)/i;

/* The body as text: charset by its header, its markup, or a guess. */
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

/* Elements that are kept; for others, only their content is. */
const ELEMENTS = new Set(("abbr address article aside b bdi bdo blockquote " +
	"body br caption center cite code col colgroup dd del details dfn div " +
	"dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr " +
	"html i ins kbd li main mark nav ol p pre q rp rt ruby s samp section small " +
	"span strike strong sub summary sup table tbody td tfoot th thead time " +
	"tr tt u ul var wbr").split(" "));
/* Elements whose content is left out too. */
const DROPPED = new Set(("script style template noscript iframe object svg " +
	"math title textarea select head video audio canvas").split(" "));
/* Elements with a size are shown as a box with a word in it. */
const BOXES = { img: "picture", iframe: "frame", object: "object",
	embed: "object", video: "video", audio: "sound", canvas: "drawing",
	svg: "", input: "", textarea: "", select: "" };
const FIELDS = new Set(["input", "textarea", "select"]);
const UNSEEN_INPUTS = new Set(["hidden", "checkbox", "radio", "image"]);
const BOX_WIDE_MAX = 1000, BOX_HIGH_MAX = 500, DOT = 3;
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

function readAttributes(text) {
	const by = {};

	for (const [, name, a, b, c] of text.matchAll(ATTRIBUTE))
		by[name.toLowerCase()] ??= a ?? b ?? c ?? "";
	return by;
}

function attributes(text) {
	return Object.entries(readAttributes(text)).filter(([name]) =>
	    ATTRIBUTES.has(name)).map(([name, value]) =>
	    ` ${name}="${escape(value)}"`).join("");
}

/* A size in pixels; 0: it has none, or one in another unit. */
function pixels(text, most) {
	return /^\s*\d+(px)?\s*$/.test(text ?? "") ? Math.min(most,
	    parseInt(text, 10)) : 0;
}

/*
 * A picture that is in the page itself.  Other pictures, and other elements with
 * a size, become a box, which is a picture of our own.
 */
function boxOf(name, text) {
	const by = readAttributes(text);
	const field = FIELDS.has(name);
	const said = by.alt || (field ? by.value || by.placeholder : by.title) ||
	    "";

	if (name === "img" && DATA_IMAGE.test(by.src ?? ""))
		return `<img src="${escape(by.src)}" alt="` +
		    escape(by.alt ?? "") + '">';
	const word = plain(said || BOXES[name]);
	const wide = pixels(by.width, BOX_WIDE_MAX) || (field ? 160 :
	    Math.min(400, 7 * word.length + 14));
	const high = pixels(by.height, BOX_HIGH_MAX) || (name === "textarea" ?
	    60 : 22);
	if (Math.max(wide, high) <= DOT || UNSEEN_INPUTS.has(by.type) ||
	    (name === "svg" && !by.width))
		return "";
	const drawing = '<svg xmlns="http://www.w3.org/2000/svg">' +
	    '<rect width="100%" height="100%" fill="#eeeeec" stroke="#8d897e"/>' +
	    '<text x="6" y="15" font-family="sans-serif" font-size="12" ' +
	    `fill="#4d4a42">${escape(word.replaceAll("&", "&amp;"))}` +
	    "</text></svg>";
	return `<img width="${wide}" height="${high}" alt="${escape(said)}" ` +
	    `title="${escape(by.src ?? said)}" src="data:image/svg+xml,` +
	    encodeURIComponent(drawing) + '">';
}

/* Text for an SVG, which has no named characters. */
function plain(text) {
	return text.replace(/&(#?\w+);?/g, (all, name) => ({ amp: "&", lt: "<",
	    gt: ">", quot: '"', nbsp: " ", "#39": "'" })[name] ?? all)
	    .replace(/[\ud800-\udfff\0-\x1f]/g, " ").slice(0, 200);
}

/* The page rewritten: text and structure. */
export function harmless(html) {
	let out = "", at = 0, dropped = "", link = "";

	for (const m of html.matchAll(TAG)) {
		const [all, end, given, rest] = m;
		const name = given?.toLowerCase();
		if (dropped === "")
			out += escape(html.slice(at, m.index));
		at = m.index + all.length;
		if (dropped !== "") {
			if (end && name === dropped)
				dropped = "";
		} else if (name === "a") {
			out += link;
			const href = end ? undefined :
			    readAttributes(rest).href;
			link = href === undefined ? "" : "</u></font>";
			out += link === "" ? "" : '<font color="#1a4fa3"><u ' +
			    `title="${escape(href)}">`;
		} else if (name in BOXES || DROPPED.has(name)) {
			out += end || !(name in BOXES) ? "" :
			    boxOf(name, rest);
			dropped = end || rest.endsWith("/") ||
			    !DROPPED.has(name) ? "" : name;
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
	return el("div", null, el("p.help", null, "Structure and text: no " +
	    "script, no style, no network. Pictures are boxes, links lead " +
	    "nowhere." + (html.length > CHARACTERS_MAX ? " Only its first " +
	    count(CHARACTERS_MAX) + " characters are shown." : "")), frame);
}
