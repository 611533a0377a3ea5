/* tab_log.js -- the crawl's decisions, as they are written. */
import { el, later, PHONE, put, select } from "./dom.js";
import { exact, count, many } from "./format.js";
import { List } from "./list.js";
import { empty } from "./say.js";

const KEPT = 5000;                     // in the page; the crawl keeps 100,000
const KINDS = ["started", "paused", "resumed", "cancelled", "completed",
	"restarted", "robots", "backoff", "exception", "skipped", "limit",
	"schedule"];

export function logTab(root, { id, app }) {
	const q = new URLSearchParams(location.search);
	const find = el("input", { type: "search", "data-find": true,
	    placeholder: "Filter by text, host or URL", value: q.get("find"),
	    "aria-label": "Filter the log by text, host or URL" });
	const kind = select([["", "All kinds"], ...KINDS], q.get("kind") ?? "",
	    { "aria-label": "Filter the log by kind" });
	const total = el("p.total", null), none = el("div", null);
	const list = new List({ label: "Log", make, draw,
	    rowHeight: () => PHONE.matches ? 52 : 28 });
	const wide = () => list.again();
	let entries = [], fit = [], dropped = 0;

	list.node.classList.add("log");
	root.append(el("div.filters", { role: "search" }, find, kind),
	    el("div.list-box", null, list.node, none), total);

	function make() {
		const n = ["at", "kind", "text"].map((c) => el("span." + c,
		    { role: "gridcell" }));
		const said = el("span", null), where = el("span.url", null);

		n[2].append(said, where);
		return Object.assign(el("div", null, n), { n, said, where });
	}

	function draw(node, i) {
		const e = fit[fit.length - 1 - i];

		if (e === undefined)
			return;
		put(node.n[0], exact(e.at).slice(PHONE.matches ? 11 : 5));
		node.n[0].title = exact(e.at);
		put(node.n[1], e.kind);
		node.n[1].className = "kind k-" + e.kind;
		const where = e.url ?? e.host ?? "";
		put(node.said, !e.reason || e.text?.includes(e.reason) ?
		    e.text : e.reason + ": " + e.text);
		put(node.where, e.text?.includes(where) ? "" : where);
		node.n[2].title = node.said.textContent + "\n" + where;
	}

	function fits(e) {
		const text = find.value.trim().toLowerCase();

		return (kind.value === "" || e.kind === kind.value) &&
		    (text === "" || [e.text, e.host, e.url, e.reason].some(
		    (s) => s?.toLowerCase().includes(text)));
	}

	function show() {
		list.resize(fit.length);
		list.again();
		put(total, many(fit.length, "entry", "entries") +
		    (dropped > 0 ? `; ${count(dropped)} older ones are not ` +
		    "shown" : ""));
		none.hidden = fit.length > 0;
		list.node.hidden = fit.length === 0;
		if (fit.length === 0 && entries.length > 0)
			empty(none, "No entry fits these filters", "There are " +
			    count(entries.length) + " in all.");
		else if (fit.length === 0)
			empty(none, "The log is empty", "Starts and ends, " +
			    "robots.txt, back-offs, exceptions and limits are " +
			    "written here.");
	}

	function filter() {
		app.query({ find: find.value.trim(), kind: kind.value });
		fit = entries.filter(fits);
		list.node.scrollTop = 0;
		show();
	}

	const showSoon = later(show, 60);
	function take(e) {
		entries.push(e);
		if (fits(e))
			fit.push(e);
		if (entries.length > KEPT * 1.2) {
			dropped += entries.length - KEPT;
			entries = entries.slice(-KEPT);
			fit = entries.filter(fits);
		}
		showSoon();
	}

	find.oninput = later(filter, 120);
	kind.onchange = filter;
	PHONE.addEventListener("change", wide);
	let sub = app.door.subscribe("subscribe_crawl_log", { crawl_id: id,
	    tail: KEPT }, take, (e) => {
		if (e.code !== "bad_args") {
			empty(none, "The log could not be read", e.message);
			return;
		}
		sub = app.door.subscribe("subscribe_crawl_log",
		    { crawl_id: id }, take, (x) => empty(none,
		    "The log could not be read", x.message));
	});
	show();
	return {
		close() {
			PHONE.removeEventListener("change", wide);
			sub.close();
			list.close();
		},
	};
}
