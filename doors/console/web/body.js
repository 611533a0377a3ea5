/*
 * body.js -- the body of a captured page: as text, as a preview that can do
 * nothing, as bytes.
 */
import { button, clear, el, put, tabBar } from "./dom.js";
import { bytes, count } from "./format.js";
import { icon } from "./icons.js";
import { decodeText, previewOf } from "./preview.js";

const TEXT_MAX = 200000, BYTES_MAX = 8192;
let bodies = 0;                        // their ids differ

/* Notes about a body that is shown in part. */
const SIZES = { cut: (size) => `The first ${size} are shown; the WARC record ` +
	"has all of it.", damaged: (size) => `${size} decoded, then it is ` +
	"damaged; the WARC record has it as it came." };
const KINDS = [["text", "Text"], ["preview", "Preview"], ["bytes", "Bytes"]];

/* Types of pictures that browsers draw and that cannot run code. */
const PICTURE = /^image\/(png|jpeg|gif|webp|avif|bmp|x-icon)\b/i;

function pictureOf(body, p) {
	let raw = "";

	for (let at = 0; at < body.length; at += 8192)
		raw += String.fromCharCode(...body.subarray(at, at + 8192));
	return el("img.picture", { alt: "The picture", src: "data:" +
	    PICTURE.exec(p.type)[0] + ";base64," + btoa(raw) });
}

/*
 * The body of a page of get_page, at `base` of its server; `title` is its
 * heading, `first` which form is shown first, where the type has it.
 */
export function bodyPart(p, base, title, first) {
	const mine = "body-" + ++bodies;
	const panel = el("div.panel.body-panel", { role: "tabpanel",
	    id: mine, tabindex: "0" }, el("p.loading", null,
	    "Reading the body…"));
	const tabs = tabBar("The body as", mine + "-", KINDS, panel, (key) =>
	    open(key));
	const isHtml = /html/.test(p.type ?? ""), isPicture = PICTURE.test(
	    p.type ?? "");
	let body = null, now = isHtml && first ? first : isHtml || isPicture ?
	    "preview" :
	    /^(image|audio|video)\/|zip|pdf|octet-stream/.test(p.type ?? "") ?
	    "bytes" : "text";

	function open(key) {
		now = key;
		tabs.mark(key);
		if (body === null)
			return;
		if (body.length === 0)
			clear(panel, el("p.help", null, "The body is empty."));
		else if (key === "text")
			showText();
		else if (key === "bytes")
			clear(panel, hex(body));
		else
			clear(panel, isHtml ? previewOf(body, p) : isPicture ?
			    pictureOf(body, p) : el("p.help", null, "There is " +
			    "a preview of HTML and of pictures; this is " +
			    (p.type || "of an unknown type") + "."));
	}

	function showText() {
		const text = decodeText(body, p);
		const pre = el("pre.body", null, text.slice(0, TEXT_MAX));
		const all = text.length > TEXT_MAX && button("", {
		    onclick: () => {
			pre.append(text.slice(TEXT_MAX));
			all.remove();
		    } }, `Show all ${count(text.length)} characters`);

		clear(panel, pre, all);
	}

	async function read() {
		try {
			const answer = await fetch(base + "/body", {
			    credentials: "same-origin" });
			if (!answer.ok)
				throw new Error((await answer.json().catch(
				    () => null))?.error ??
				    `the server answered ${answer.status}`);
			body = new Uint8Array(await answer.arrayBuffer());
			put(size, SIZES[answer.headers.get("Argiope-Body")]?.(
			    bytes(body.length)) ?? bytes(body.length) +
			    " decoded");
			open(now);
		} catch (e) {
			clear(panel, el("p.wrong", null,
			    "The body could not be read: " + e.message));
		}
	}

	const size = el("span.help", null);
	open(now);
	read();
	return el("section", null, el("div.head.small", null, el("h2", null,
	    title), size, el("span.grow", null), el("a.button", { href: base +
	    "/body", download: `crawl-${p.crawl_id ?? ""}-page-` +
	    `${p.number}.body` }, icon("save"), " Body")), tabs, panel);
}

/* Offset, bytes, and the bytes that are ASCII. */
function hex(body) {
	const box = el("div", null), pre = el("pre.body.hex", null);
	let at = 0;
	const more = button("", { onclick: () => {
		const end = Math.min(body.length, at + BYTES_MAX);
		let text = "";
		for (; at < end; at += 16) {
			const row = body.subarray(at, Math.min(end, at + 16));
			text += at.toString(16).padStart(8, "0") + "  " +
			    [...row].map((b) => b.toString(16).padStart(2, "0"))
			    .join(" ").padEnd(49) + [...row].map((b) =>
			    b >= 32 && b < 127 ? String.fromCharCode(b) : "·")
			    .join("") + "\n";
		}
		at = end;
		pre.append(text);
		more.hidden = at >= body.length;
		put(more, `Show more; ${bytes(body.length - at)} are left`);
	} });

	box.append(pre, more);
	more.click();
	return box;
}
