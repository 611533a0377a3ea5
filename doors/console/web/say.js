/* say.js -- short messages, questions before what cannot be undone, and help. */
import { clear, el } from "./dom.js";
import { icon } from "./icons.js";

const TOAST_MS = 6000;

/* kind: "", "good", "bad" */
export function toast(text, kind = "") {
	const box = document.getElementById("toasts");
	const node = el("div.toast" + (kind ? "." + kind : ""), null,
	    el("span", null, text), el("button.quiet", { type: "button",
	    "aria-label": "Close this message",
	    onclick: () => node.remove() }, icon("close")));

	while (box.childElementCount > 3)
		box.firstChild.remove();
	box.append(node);
	setTimeout(() => node.remove(), kind === "bad" ? 2 * TOAST_MS :
	    TOAST_MS);
}

export function closeDialogs() {
	for (const d of document.querySelectorAll(
	    "dialog[open]:not([data-keep])"))
		d.close("");
}

/*
 * A dialog with that title and content; the promise holds the value of the
 * button that closed it, "" for none.  buttons: [[value, text, class]]
 */
export function dialog(title, content, buttons, wide) {
	return new Promise((done) => {
		const node = el("dialog" + (wide ? ".wide" : ""),
		    { "aria-labelledby": "dialog-title",
		    onclose: () => {
			node.remove();
			done(node.returnValue);
		    },
		    onclick: (e) => {
			if (e.target === node)
				node.close("");
		    } },
		    el("form", { method: "dialog" },
		        el("h2", { id: "dialog-title" }, title), content,
		        el("div.buttons", null, buttons.map(([v, text, kind]) =>
		            el("button" + (kind ? "." + kind : ""),
		            { value: v }, text)))));

		document.body.append(node);
		node.returnValue = "";
		node.showModal();
	});
}

/*
 * Ask once, in words that name the thing.  The button that does not do it has
 * the focus.
 */
export async function ask(title, text, yes) {
	const chosen = dialog(title, el("p", null, text),
	    [["", "No, leave it", ""], ["yes", yes, "danger"]]);

	document.querySelector("dialog[open] .buttons button").focus();
	return await chosen === "yes";
}

/* Keys are between backticks. */
const KEYS = [
	["`g` then `c` `n` `i` `s` `t`",
	    "Crawls, New crawl, Items, System, Settings"],
	["`n`", "New crawl"],
	["`/`", "To the filter of this view"],
	["`↑` `↓` or `k` `j`", "Move in a list; Home, End, Page up, Page down"],
	["`Enter`", "Open what is marked"],
	["`1` to `6`", "A crawl's tabs"],
	["`p`", "Pause or resume the crawl, or the marked one of the list"],
	["`[` `]`", "A page's neighbours"],
	["`Ctrl` `Enter`", "Try the change, in a source"],
	["`Esc`", "Leave a field, close a dialog"],
	["`?`", "These keys"],
];

export function showKeys() {
	dialog("Keys", el("dl.keys", null, KEYS.map(([keys, text]) => [
	    el("dt", null, keys.split("`").map((part, i) => i % 2 ?
	    el("kbd", null, part) : part)), el("dd", null, text)])),
	    [["", "Close", "primary"]]);
}

/* A text that a click copies. */
export function copyButton(text, label) {
	return el("button.quiet.copy", { type: "button", title: "Copy " + label,
	    "aria-label": "Copy " + label, onclick: async (e) => {
		const button = e.currentTarget;
		try {
			await navigator.clipboard.writeText(text());
			button.classList.add("done");
			setTimeout(() => button.classList.remove("done"), 1200);
			toast("Copied.", "good");
		} catch {
			toast("The browser does not let this page copy.", "bad");
		}
	    } }, icon("copy"));
}

/* The text of an empty view: the state, and what to do next. */
export function empty(node, title, text, ...more) {
	return clear(node, el("div.empty", null, el("h3", null, title),
	    el("p", null, text), more));
}

/* A form that calls send() for its button, as act() does. */
export function form(kind, button, send, ...children) {
	return el("form" + kind, { onsubmit: (e) => {
		e.preventDefault();
		act(button, send);
	} }, children);
}

/*
 * Call a verb for a button, which is busy until then; report failures.  A
 * disabled button loses the focus: it gets it back, unless somebody else has it.
 */
export async function act(button, call) {
	const focused = document.activeElement === button;

	button.disabled = true;
	button.classList.add("busy");
	try {
		return await call();
	} catch (e) {
		toast(e.message, "bad");
		return undefined;
	} finally {
		button.disabled = false;
		button.classList.remove("busy");
		if (focused && document.activeElement === document.body)
			button.focus();
	}
}
