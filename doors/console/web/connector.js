/*
 * connector.js -- one connector: its form, a check, and a run by hand whose
 * documents are shown as they come, and downloaded.
 */
import { button, clear, el, field, put } from "./dom.js";
import { tile } from "./bits.js";
import { bytes, count, many, plain, span } from "./format.js";
import { icon } from "./icons.js";
import { empty, form } from "./say.js";
import { connectorForm } from "./connector_form.js";
import { choiceFetcher, credentialText, externalTabs, payloadOf } from
    "./connectors.js";
import { documentNode } from "./document.js";

const SHOWN_MAX = 500;                 // documents that have nodes
const KEPT_BYTES_MAX = 64 << 20;       // of documents, for the download
const RUN_MAX = 1000, RUN_MOST = 100000;
const DOCUMENT = '{"document":';

export function connector(root, params, app) {
	const name = decodeURIComponent(location.pathname.split("/")[3]);
	const box = el("div", null, el("p.loading", null, "Asking…"));
	const path = "/external/" + encodeURIComponent(name);
	let parts = null;

	app.title(plain(name));
	root.append(externalTabs("connectors"), box);

	async function read() {
		try {
			const [given, object] = await Promise.all([
			    payloadOf(app.web.get(path + "/form")),
			    payloadOf(app.web.get(path + "/object"))]);
			if (box.isConnected)
				parts = make(box, app, { name, path, given,
				    object });
		} catch (e) {
			empty(box, "The connector could not be read",
			    e.message, el("p", null, el("a.button", { href:
			    "/browse/connectors" }, "To the connectors")));
		}
	}

	read();
	return { close: () => parts?.close() };
}

function make(box, app, c) {
	const may = app.may("external"), signs = c.given.credential === "oauth";
	const fields = connectorForm(c.given, undefined, may &&
	    choiceFetcher(app, c.name));
	const results = el("div", { "aria-live": "polite" });
	const place = el("div", null), wrong = el("p.wrong", { role: "alert" });
	const most = el("input.amount", { type: "number", min: "1", max:
	    RUN_MOST, value: RUN_MAX });
	const check = button("", { onclick: () => ask(check, sendCheck) },
	    icon("flask"), " Check");
	const begin = el("button.primary", null, icon("play"), " Run by hand");
	let run = null;

	const node = form(".card", begin, () => ask(begin, sendRun), el("h2",
	    null, "Parameters"), fields.node, wrong, may && el("div.line",
	    null, !signs && begin, check, !signs && el("label.check", null,
	    "At most", most, "documents")));

	clear(box, el("div.head", null, el("h1", null,
	    plain(c.given.parameters.title) || plain(c.name))), el("p.help.about",
	    null, plain(c.given.parameters.description)), el("section.card",
	    null, el("h2", null, "Details"), el("dl.facts", null,
	    fact("Name", el("code", null, plain(c.name))), fact("Version",
	    plain(c.given.version)), fact("Credential", credentialText(
	    c.given.credential)), fact("Address for back ends", el("span.url",
	    null, plain(c.object.endpoint))), fact("Id of a document",
	    el("code", null, plain(c.given.docIdField)))), el("details", null,
	    el("summary", null, "Schema of its documents"), el("pre",
	    { tabindex: "0", role: "region", "aria-label": "Schema" }, plain(
	    JSON.stringify(c.given.schema, null, 2))))), node, results, place);

	/* A refusal is shown where it belongs. */
	async function ask(b, send) {
		put(wrong, "");
		fields.clear();
		b.disabled = true;
		try {
			await send({ params: fields.values(), credential:
			    fields.credential() });
		} catch (e) {
			const rest = fields.faults(e.data?.messages ??
			    [e.message]);
			put(wrong, rest.map(plain).join("; "));
		} finally {
			b.disabled = false;
		}
	}

	async function sendCheck(body) {
		clear(results, el("p.loading", null, "Checking: the source is " +
		    "asked once…"));
		try {
			const said = await payloadOf(app.web.post(c.path +
			    "/check", body));
			showChecks(said);
		} catch (e) {
			clear(results);
			throw e;
		}
	}

	function showChecks({ ok, checks }) {
		const parameters = checks.find((k) => k.name === "parameters");

		clear(results, el("section.card.checks", null, el("h2", null,
		    ok ? "The check is passed" : "The check has failed"),
		    el("ul", null, checks.map((k) => el("li." + (k.ok ?
		    "passed" : "failed"), null, icon(k.ok ? "complete" :
		    "cancelled"), el("b", null, plain(k.name)), el("span", null,
		    (k.ok ? "" : "failed: ") + (plain(k.message) || "fine"))))
		)));
		fields.faults([...(parameters?.messages ?? []), ...checks
		    .filter((k) => k.name === "credential" && !k.ok)
		    .map((k) => "credential: " + k.message)]);
	}

	async function sendRun(body) {
		run?.stop();
		clear(results);
		const mine = run = handRun(place, app, c);
		try {
			await mine.go({ ...body, documents_max:
			    Number(most.value) });
		} catch (e) {
			if (!mine.begun)
				mine.remove();
			throw e;
		}
	}

	return { close: () => run?.close() };
}

const fact = (name, value) => [el("dt", null, name), el("dd", null, value)];

/* --- a run by hand ------------------------------------------------------- */

const ENDS = { done: "It has ended: the source has no more documents.",
	limit: "It was stopped at the number of documents that was asked for.",
	stopped: "It was stopped by the server." };

function handRun(place, app, c) {
	const stopper = new AbortController();
	const good = tile("Documents"), bad = tile("Rejected");
	const size = tile("Bytes");
	const line = el("p.why-line.works", { role: "status" },
	    "The source is asked…");
	const stop = button("", { onclick: () => halt("You have stopped it.") },
	    icon("stop"), " Stop");
	const save = el("a.button", { hidden: true, "data-local": true },
	    icon("save"), " Download as NDJSON");
	const list = el("ol.documents", { "aria-label": "Documents" });
	const notes = el("ul.notes", null), more = el("p.total", null);
	const node = el("section.card.by-hand", null, el("div.head.small", null,
	    el("h2", null, "Run by hand"), el("span.grow", null), stop, save),
	    line, el("dl.tiles", null, good, bad, size), notes, list, more);
	let kept = [], keptBytes = 0, documents = 0, rejected = 0, over = "";
	let url = "";
	const run = { begun: false, go, stop: () => halt("Another one was begun."),
	    remove: () => node.remove(), close };

	clear(place, node);
	tell();

	function tell() {
		good.show(count(documents));
		bad.show(count(rejected), "", rejected > 0);
		size.show(bytes(keptBytes));
		put(more, documents + rejected > SHOWN_MAX ? "The first " +
		    `${count(SHOWN_MAX)} of ${count(documents + rejected)} ` +
		    "are shown; the download has all documents." : "");
	}

	/* The text as it came: numbers may have more digits than ours. */
	function takeDocument(text) {
		documents++;
		kept.push(text);
		keptBytes += text.length + 1;
		if (documents + rejected <= SHOWN_MAX)
			list.append(documentNode(text));
		if (keptBytes > KEPT_BYTES_MAX)
			halt("It was stopped: the documents that this page " +
			    "keeps have " + bytes(keptBytes) + ".");
	}

	function takeLine(text) {
		if (text.startsWith(DOCUMENT)) {
			takeDocument(text.slice(DOCUMENT.length, -1));
			tell();
			return;
		}
		const said = JSON.parse(text);
		if (said.rejected) {
			rejected++;
			if (documents + rejected <= SHOWN_MAX)
				list.append(documentNode(JSON.stringify(
				    said.rejected.document), said.rejected));
			tell();
		} else if (said.note) {
			notes.append(el("li.note-" + plain(said.note.level),
			    null, el("b", null, plain(said.note.code)), ": " +
			    plain(said.note.text)));
		} else if (said.progress) {
			const { waiting, waits_s: s } = said.progress;
			put(line, waiting === "" ? "The source is asked…" :
			    `It waits ${s > 0 ? span(s) + " " : ""}for ` +
			    plain(waiting) + ".");
		} else if (said.end) {
			end(ENDS[said.end.reason] ?? plain(said.end.message),
			    said.end.ok);
		}
	}

	function halt(text) {
		if (over !== "")
			return;
		end(text, true);
		stopper.abort();
	}

	function end(text, ok) {
		over = text;
		put(line, text);
		line.className = "why-line" + (ok ? " over" : "");
		stop.hidden = true;
		if (kept.length === 0)
			return;
		url = URL.createObjectURL(new Blob([kept.join("\n"), "\n"],
		    { type: "application/x-ndjson" }));
		save.href = url;
		save.setAttribute("download", c.name + ".ndjson");
		save.hidden = false;
		kept = [];
	}

	async function go(body) {
		try {
			await app.web.stream(c.path + "/run", body, (text) => {
				run.begun = true;
				takeLine(text);
			}, stopper.signal);
			if (over === "")
				end("The connection was lost.", false);
		} catch (e) {
			if (over !== "")
				return;
			end(e.message, false);
			throw e;
		}
	}

	function close() {
		over ||= "closed";
		stopper.abort();
		if (url !== "")
			URL.revokeObjectURL(url);
	}

	return run;
}
