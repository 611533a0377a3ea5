/*
 * runs.js -- runs of a task on an item, the record of one, and errors with the
 * lines of source where they happened.
 */
import { clear, el, put, table } from "./dom.js";
import { moment, statusBadge } from "./bits.js";
import { bytes, count, plain, plainJson, span } from "./format.js";
import { empty } from "./say.js";
import { itemLink, itemPath, pairPath, pairState } from "./items.js";

/* --- what an error says -------------------------------------------------- */

/* Lines of source; the one that is marked with ">" is the one. */
export function sourcePart(source) {
	const lines = source.replace(/\n$/, "").split("\n");

	return el("pre.source", { tabindex: "0", role: "region",
	    "aria-label": "Source" }, lines.map((l) => el("span.code-line" +
	    (l.startsWith(">") ? ".here" : ""), null, plain(l) + "\n")));
}

/* The pages that a run was given: links to the archive. */
export function capturesPart(captures) {
	return el("ul.captures", null, captures.map((c) => {
		const what = plain(c.url ?? `crawl ${c.crawl}, page ${c.seq}`);

		return el("li", null, c.status !== undefined ?
		    statusBadge(c.status) : el("span.status.s0", null,
		    plain(c.error ?? "no answer")), " ", c.seq === undefined ?
		    el("span.url", null, what) : el("a", { href:
		    `/crawls/${c.crawl}/pages/${c.seq}` }, el("span.url",
		    null, what)));
	}));
}

export function logPart(log) {
	return el("div.logbox.short-log", { tabindex: "0", role: "region",
	    "aria-label": "Log" }, log.map((l) => el("p", null, el("b.level" +
	    (l.category === "error" ? ".l-error" : l.category === "warn" ?
	    ".l-warn" : ""), null, plain(l.category)), el("span", null,
	    plain(l.message)))));
}

/* An error beside the pages that the run was given. */
export function errorPart(e) {
	const captures = e.captures ?? [], log = e.log ?? [];
	const kind = { transient: "will be tried again by itself",
	    permanent: "is not tried again by itself" }[e.class];

	return el("div.two", null, el("div", null, el("h3", null,
	    "What went wrong"), el("p.wrong", null, plain(e.message ??
	    "no message")), el("p.help", null, kind ? `It ${kind}. ` : "",
	    e.attempt ? `Attempt ${count(e.attempt)}` : "", e.task_version ?
	    `, version ${plain(e.task_version)}` : "", e.code &&
	    e.code !== "error" ? `, code ${plain(e.code)}` : ""),
	    e.source ? sourcePart(e.source) : null, e.stack ? el("pre.stack",
	    { tabindex: "0", role: "region", "aria-label": "Stack" },
	    plain(e.stack)) : null), el("div", null, el("h3", null,
	    "What it had read"), captures.length > 0 ? capturesPart(captures) :
	    el("p.help", null, "No page."), log.length > 0 && [el("h3", null,
	    "What it said"), logPart(log)]));
}

/* --- one record ---------------------------------------------------------- */

function mutationRow(m) {
	const { op, id, effect, ...rest } = m;

	return el("tr", null, el("th", { scope: "row" }, plain(op)), el("td",
	    null, id === undefined || id === null ? "–" : itemLink(id)),
	    el("td", null, effect ? el("span.kind", null, plain(effect)) :
	    "–"), el("td.json", null, plainJson(rest)));
}

/* The record of a run: error, fetches, log, mutations. */
export function recordPart(r) {
	const node = el("div.record", null);
	const head = (text) => el("h3", null, text);
	const log = r.log ?? [], fetches = r.fetches ?? [];
	const changes = r.mutations ?? [];

	if (r.error)
		return el("div.record", null, errorPart({ captures: fetches,
		    log, ...r.error }), changes.length > 0 && [head(
		    "What it would have changed"), table("Mutations", ["Does",
		    "Item", "Effect", "With"], changes.map(mutationRow))]);
	node.append(el("div.two", null, el("div", null, head("Fetched"),
	    fetches.length > 0 ? capturesPart(fetches) : el("p.help", null,
	    "Nothing.")), el("div", null, head("Said"), log.length > 0 ?
	    logPart(log) : el("p.help", null, "Nothing."))));
	node.append(head("Changed"), changes.length > 0 ? table("Mutations",
	    ["Does", "Item", "Effect", "With"], changes.map(mutationRow)) :
	    el("p.help", null, "Nothing."));
	return node;
}

/* --- the runs of a pair -------------------------------------------------- */

function runRow(r) {
	return el("tr", null, el("th", { scope: "row" }, plain(r.run)),
	    el("td", null, moment(r.started_at)), el("td", null, pairState(
	    r.outcome)), el("td.num", null, count(r.attempt)), el("td", null,
	    plain(r.task_version)), el("td.num", null, span(r.wall_ms / 1000)),
	    el("td.num", null, span(r.cpu_ms / 1000)), el("td.num", null,
	    bytes(r.memory_bytes)), el("td.num", null, count(r.fetches)),
	    el("td.num", null, bytes(r.bytes)));
}

/* How old a result is, and until when it counts. */
function ageOf(result) {
	if (result.completed_at === null)
		return "No result was stored so far.";
	return ["Stored ", moment(result.completed_at), result.expires_at ===
	    null ? ", never expires" : [", expires ", moment(
	    result.expires_at)], result.is_stale ? ", stale." : "."];
}

/*
 * A card that open(task) fills: the result's metadata, the runs that are kept,
 * and the newest one's record.  It is read again while it is open.
 */
export function runsPart({ app, now }) {
	const title = el("h2", null), box = el("div", null);
	const node = el("section.card", { hidden: true }, title, box);
	let task = "", shown = "";

	async function read() {
		const mine = task, at = pairPath(now().id, mine);
		const [{ runs }, { metadata }] = await Promise.all([
		    app.web.get(at + "/runs"), app.web.get(itemPath(now().id) +
		    "/metadata?operations=" + encodeURIComponent(mine))]);
		const key = JSON.stringify([mine, runs, metadata]);

		if (mine !== task || key === shown)
			return;
		// The newest first.
		runs.sort((a, b) => a.started_at < b.started_at ? 1 : -1);
		const record = runs.length === 0 ? null : await app.web.get(
		    "/runs/" + encodeURIComponent(runs[0].run));
		if (mine !== task)
			return;
		shown = key;
		show(runs, record, metadata[mine]);
	}

	function show(runs, record, result) {
		const meta = result ? [el("h3", null, "Metadata"), el("p.help",
		    null, ageOf(result)), el("pre", { tabindex: "0", role:
		    "region", "aria-label": "Metadata" },
		    plainJson(result.metadata))] : null;

		if (runs.length === 0)
			empty(box, "No run is kept", "It has not run so far, " +
			    "or its configuration keeps no records.");
		else
			clear(box, table("Runs", ["Run", "Began", "Outcome",
			    ["Attempt", "num"], "Version", ["Took", "num"],
			    ["CPU", "num"], ["Memory", "num"], ["Fetches",
			    "num"], ["Bytes", "num"]], runs.map(runRow)),
			    record && recordPart(record));
		if (meta)
			box.append(...meta);
	}

	node.open = (name) => {
		node.hidden = name === "";
		if (name !== task) {
			task = name;
			shown = "";
			put(title, "Runs of " + plain(name));
			clear(box, el("p.loading", null, "Asking…"));
		}
		if (task !== "")
			read().catch((e) => shown === "" && empty(box,
			    "The runs could not be read", e.message));
	};
	return node;
}
