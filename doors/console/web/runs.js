/*
 * runs.js -- runs of a task on an item, the record of one, and errors with the
 * lines of source where they happened.
 */
import { button, clear, el, put, table } from "./dom.js";
import { moment, statusBadge } from "./bits.js";
import { bodyPart } from "./body.js";
import { bytes, count, plain, plainJson, span } from "./format.js";
import { empty } from "./say.js";
import { ttlForm } from "./item_forms.js";
import { itemLink, itemPath, pairPath, pairState } from "./items.js";

const LISTINGS_MAX = 3;                // of runs, to find one that stays

/* --- what an error says -------------------------------------------------- */

/* Lines of source; the one that is marked with ">" is the one. */
export function sourcePart(source) {
	const lines = source.replace(/\n$/, "").split("\n");

	return el("pre.source", { tabindex: "0", role: "region",
	    "aria-label": "Source" }, lines.map((l) => el("span.code-line" +
	    (l.startsWith(">") ? ".here" : ""), null, plain(l) + "\n")));
}

/*
 * The pages that a run was given: links to the archive.  more(capture) may add
 * a node to one.
 */
export function capturesPart(captures, more = () => null) {
	return el("ul.captures", null, captures.map((c) => {
		const what = plain(c.url ?? `crawl ${c.crawl}, page ${c.seq}`);

		return el("li", null, c.status !== undefined ?
		    statusBadge(c.status) : el("span.status.s0", null,
		    plain(c.error ?? "no answer")), " ", c.seq === undefined ?
		    el("span.url", null, what) : el("a", { href: pageView(c) },
		    el("span.url", null, what)), more(c));
	}));
}

const pageView = (c) => `/crawls/${c.crawl}/pages/${c.seq}`;

/* Call `seen` once, when a node comes into view. */
function whenSeen(node, seen) {
	const watch = new IntersectionObserver((all) => {
		if (!all.some((x) => x.isIntersecting))
			return;
		watch.disconnect();
		seen();
	});

	watch.observe(node);
}

/*
 * The pages that a run was given, and one of them as it was archived; `first`:
 * the form that it has at first.  It is read when it comes into view.
 */
export function pagesPart(captures, app, first = "preview") {
	const archived = captures.filter((c) => c.seq !== undefined);
	const place = el("div.captured", null);
	const list = capturesPart(captures, (c) => archived.length < 2 ||
	    c.seq === undefined ? null : [" ", pick(c)]);
	let shown = null;

	function pick(c) {
		c.pick = button(".quiet", { "aria-pressed": "false",
		    "aria-label": "Show " + plain(c.url), onclick: () =>
		    show(c) }, "Show");
		return c.pick;
	}

	async function show(c) {
		shown = c;
		for (const one of archived)
			one.pick?.setAttribute("aria-pressed", String(
			    one === c));
		clear(place, el("p.loading", null, "Reading the page…"));
		try {
			const page = await app.door.ask("get_page", { crawl_id:
			    c.crawl, number: c.seq, body: false,
			    duplicates: false });
			if (shown === c)
				clear(place, bodyPart(page, pageView(c),
				    "As it was archived", first));
		} catch (e) {
			clear(place, el("p.wrong", null, "The page could not " +
			    "be read: " + e.message));
		}
	}

	if (archived.length > 0 && app.sees("realtime"))
		whenSeen(place, () => show(archived.at(-1)));
	else
		place.hidden = true;
	return el("div", null, captures.length > 0 ? list : el("p.help", null,
	    "No page."), place);
}

export function logPart(log) {
	return el("div.logbox.short-log", { tabindex: "0", role: "region",
	    "aria-label": "Log" }, log.map((l) => el("p", null, el("b.level" +
	    (l.category === "error" ? ".l-error" : l.category === "warn" ?
	    ".l-warn" : ""), null, plain(l.category)), el("span", null,
	    plain(l.message)))));
}

/* Where in the configuration an error was thrown: {file, line}, or null. */
export function placeOf(error) {
	const m = /(?:^|[\s(@])([^\s()@:]+):(\d+):\d+/m.exec(
	    error?.stack ?? "");

	return m === null ? null : { file: m[1], line: Number(m[2]) };
}

/* What an error says: message, source, stack. */
export function faultPart(e) {
	const kind = { transient: "will be tried again by itself",
	    permanent: "is not tried again by itself" }[e.class];
	const more = [e.attempt && `attempt ${count(e.attempt)}`,
	    e.task_version && `version ${plain(e.task_version)}`, e.code &&
	    e.code !== "error" && `code ${plain(e.code)}`].filter((x) => x)
	    .join(", ");

	return [el("p.wrong", null, plain(e.message ?? "no message")),
	    el("p.help", null, kind && e.attempt ? `It ${kind}. ` : "",
	    more.slice(0, 1).toUpperCase() + more.slice(1)), e.source ?
	    sourcePart(e.source) : null, e.stack ? el("pre.stack",
	    { tabindex: "0", role: "region", "aria-label": "Stack" },
	    plain(e.stack)) : null];
}

/* An error beside the pages that the run was given. */
export function errorPart(e, app) {
	const log = e.log ?? [];

	return el("div.two", null, el("div", null, el("h3", null,
	    "What went wrong"), faultPart(e), log.length > 0 && [el("h3", null,
	    "What it said"), logPart(log)]), el("div", null, el("h3", null,
	    "What it had read"), pagesPart(e.captures ?? [], app)));
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
export function recordPart(r, app) {
	const node = el("div.record", null);
	const head = (text) => el("h3", null, text);
	const log = r.log ?? [], fetches = r.fetches ?? [];
	const changes = r.mutations ?? [];

	if (r.error)
		return el("div.record", null, errorPart({ captures: fetches,
		    log, ...r.error }, app), changes.length > 0 && [head(
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
 * The record of the newest run of the pair at `path`; sorts `runs`, the newest
 * first.  null: none.  A run that has ended since they were listed may have
 * replaced it: then they are listed again.
 */
export async function newestRecord(app, path, runs) {
	for (let tries = 1;; tries++) {
		runs.sort((a, b) => a.started_at < b.started_at ? 1 : -1);
		if (runs.length === 0)
			return null;
		try {
			return await app.web.get("/runs/" +
			    encodeURIComponent(runs[0].run));
		} catch (e) {
			if (e.status !== 404 || tries === LISTINGS_MAX)
				throw e;
		}
		({ runs } = await app.web.get(path + "/runs"));
	}
}

/*
 * A card that open(task) fills: the result's metadata, the runs that are kept,
 * and the newest one's record.  It is read again while it is open.
 */
export function runsPart(context) {
	const { app, may, now } = context;
	const title = el("h2", null), box = el("div", null);
	const ttl = may && ttlForm(context, () => task);
	const node = el("section.card", { hidden: true }, title, box, ttl);
	let task = "", shown = "";

	async function read() {
		const mine = task, at = pairPath(now().id, mine);
		const [{ runs }, { metadata }] = await Promise.all([
		    app.web.get(at + "/runs"), app.web.get(itemPath(now().id) +
		    "/metadata?operations=" + encodeURIComponent(mine))]);
		const key = JSON.stringify([mine, runs, metadata]);

		if (mine !== task || key === shown)
			return;
		const record = await newestRecord(app, at, runs);
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
			    record && recordPart(record, app));
		if (meta)
			box.append(...meta);
		if (ttl)
			ttl.hidden = !result || result.completed_at === null;
	}

	node.open = (name) => {
		node.hidden = name === "";
		if (name !== task) {
			task = name;
			shown = "";
			put(title, "Runs of " + plain(name));
			clear(box, el("p.loading", null, "Asking…"));
			if (ttl)
				ttl.hidden = true;
		}
		if (task !== "")
			read().catch((e) => shown === "" && empty(box,
			    "The runs could not be read", e.message));
	};
	return node;
}
