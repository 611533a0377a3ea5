/*
 * tokens.js -- tokens: list, make, revoke.  The first one is the owner's: once it
 * exists, access needs a token, so it opens every door, and this browser signs
 * in with it before it asks for anything else.
 */
import { button, clear, each, el, field, put, select, table } from "./dom.js";
import { follow, moment } from "./bits.js";
import { quoted } from "./format.js";
import { icon } from "./icons.js";
import { act, copyButton, empty, form } from "./say.js";

const DOORS = ["*", "console", "realtime", "urlfrontier", "items", "harvest",
	"external"];
const OWNER = "*:write";
const KNOWN_MS = 10000, LOOK_MS = 100; // until the server asks for tokens
const NAME = { required: true, maxlength: "64", spellcheck: "false",
	pattern: "[A-Za-z0-9._@][A-Za-z0-9._@\\-]*" };

/*
 * Show a new token until it is confirmed: neither Escape nor a click beside it
 * closes the dialog.  The node's status() says how signing in went.
 */
function showOnce(name, text) {
	const status = el("p", { role: "status" });
	let kept = false;
	const node = el("dialog.once", { "aria-labelledby": "once-title",
	    closedby: "none", "data-keep": true,
	    oncancel: (e) => e.preventDefault(),
	    onclose: () => kept || node.showModal() },
	    el("h2", { id: "once-title" }, "The token " + quoted(name)),
	    el("p", null, "Copy it now and keep it in a safe place. It is not " +
	    "shown again: the server keeps only a hash of it."),
	    el("p.line", null, el("code.url", null, text), copyButton(() => text,
	    "the token")), status, el("div.buttons", null, button(".primary",
	    { onclick: () => {
		kept = true;
		node.close();
		node.remove();
	    } }, "I have kept it")));

	node.status = (said) => put(status, said);
	document.body.append(node);
	node.showModal();
	return node;
}

export function tokens(root, app) {
	const may = app.may("console"), box = el("div", null);
	const making = el("div", null), body = el("tbody", null);
	const list = table("Tokens", ["Name", "Opens", "Made", "Last used",
	    ""], body);
	let all = null, first = null, busy = false;

	root.append(el("p.help", null, "A token opens doors for programs and " +
	    "people. It is shown once, when it is made. As soon as one token " +
	    "exists, this console asks for one, and so does each door that a " +
	    "token names."), making, box);

	/* --- making one ---- */

	async function make(name, scopes) {
		busy = true;
		try {
			const data = await app.web.post("/tokens", { name,
			    scopes });
			showOnce(name, data.token);
		} finally {
			busy = false;
		}
	}

	function drawFirst() {
		const name = el("input", { ...NAME, value: "owner" });
		const save = el("button.primary", null, icon("plus"),
		    " Make my token");

		clear(making, form(".card", save, () => makeFirst(
		    name.value.trim()), el("h2", null, "Your own token first"),
		    el("p.help", null, "There is no token yet: everybody who " +
		    "reaches this address may do everything. Once a token " +
		    "exists, the console asks for one. So the first token is " +
		    "yours: it opens every door, and this browser is signed " +
		    "in with it at once."), field("Name", name, "Letters, digits and " +
		    "._@-"), el("p", null, "It opens ", el("span.tag", null,
		    OWNER)), el("div.buttons.left", null, save)));
	}

	/* The server accepts a new token within about a second. */
	async function untilWanted() {
		const end = Date.now() + KNOWN_MS;

		while (!(await app.web.session()).wanted) {
			if (Date.now() > end)
				throw new Error("The server has not taken the " +
				    "token up yet. Reload this page later and " +
				    "enter the token.");
			await new Promise((done) => setTimeout(done, LOOK_MS));
		}
	}

	/*
	 * Send no requests from the moment when the server requires a token
	 * until this browser has a session.
	 */
	async function makeFirst(name) {
		await app.door.rest();
		let shown = null;
		try {
			busy = true;
			const data = await app.web.post("/tokens", { name,
			    scopes: [OWNER] });
			shown = showOnce(name, data.token);
			shown.status("Signing this browser in…");
			await untilWanted();
			app.entered(await app.web.logIn(data.token));
			shown.status("This browser is signed in with it.");
		} catch (e) {
			shown?.status(e.message);
			if (shown === null)
				throw e;
		} finally {
			busy = false;
			app.door.wake();
		}
		read();
	}

	function drawMore() {
		const name = el("input", NAME);
		const scopes = DOORS.map((d) => [d, select([["", "–"], "read",
		    "write"], "", { id: "scope-" + d })]);
		const save = el("button.primary", null, icon("plus"),
		    " Make a token");

		async function send() {
			const opens = scopes.filter(([, s]) => s.value !== "")
			    .map(([d, s]) => d + ":" + s.value);
			if (opens.length === 0)
				throw new Error("Choose what it opens.");
			await make(name.value.trim(), opens);
			name.value = "";
			for (const [, s] of scopes)
				s.value = "";
			read();
		}

		clear(making, form(".card", save, send, field("Name", name,
		    "Letters, digits and ._@-"),
		    el("fieldset.field", null, el("legend", null,
		    "What it opens"), el("div.scopes", null, scopes.map(
		    ([d, s]) => el("label", { for: s.id }, d === "*" ?
		    "every door" : d, s))), el("p.help", null, "write " +
		    "includes read. This console wants console, and realtime " +
		    "for crawls; Prometheus wants console:read.")),
		    el("div.buttons.left", null, save)));
	}

	/* --- the list ---- */

	function rowOf(t) {
		const drop = button("", { onclick: () => remove(t, drop) },
		    icon("ban"), " Revoke");

		return el("tr", null, el("th", { scope: "row" }, t.name),
		    el("td", null, t.scopes.map((s) => el("span.tag", null,
		    s))), el("td", null, moment(t.created)), el("td", null,
		    t.used ? moment(t.used) : "never"), el("td.acts", null,
		    may && drop));
	}

	function draw() {
		if (may && first !== (all.length === 0)) {
			first = all.length === 0;
			(first ? drawFirst : drawMore)();
		}
		if (all.length === 0) {
			empty(box, "No token yet", "Without one, everybody who " +
			    "reaches the loopback address may do everything.");
			return;
		}
		if (list.parentNode !== box)
			clear(box, list);
		each(body, all, (t) => JSON.stringify(t), rowOf);
	}

	async function read() {
		if (busy)
			return;
		try {
			all = (await app.web.get("/tokens")).tokens;
			draw();
		} catch (e) {
			if (all === null || e.status !== 0)
				empty(box, "The tokens could not be listed",
				    e.message);
		}
	}

	async function remove(t, drop) {
		if (!await app.ask(`Revoke token ${quoted(t.name)}?`, "Whoever " +
		    "uses it is refused within two seconds, for good" +
		    (app.session.name === t.name ? ". This browser is signed " +
		    "in with it: you will need another token to come back." :
		    "."), "Revoke the token"))
			return;
		await act(drop, () => app.web.remove("/tokens/" +
		    encodeURIComponent(t.name)));
		read();
	}

	return follow(app, read);
}
