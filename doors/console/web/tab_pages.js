/*
 * tab_pages.js -- the captured pages, newest first, however many there are.
 *
 * Pages are read in chunks by their place, counted from the oldest.  The place
 * does not change while the crawl grows, so each chunk is read once, and only
 * the last one again.  While the list is scrolled away from its top it does not
 * move, and shows how many pages came in the meantime.
 */
import { el, later, PHONE, put, select } from "./dom.js";
import { showStatus } from "./bits.js";
import { ENDED } from "./crawls.js";
import { bytes, count, exact, many, span, timeOfDay } from "./format.js";
import { icon } from "./icons.js";
import { List } from "./list.js";
import { empty } from "./say.js";

const CHUNK = 100, CHUNKS_MAX = 40, ASK_MS = 700;
const ORDERS = [["", "Newest first"], ["oldest", "Oldest first"],
	["slowest", "Slowest first"], ["largest", "Largest first"]];
const STATUSES = [["", "Any status"], ["2xx", "2xx success"],
	["3xx", "3xx redirect"], ["4xx", "4xx client error"],
	["5xx", "5xx server error"], "200", "301", "403", "404", "410", "429",
	"500", "503"];

export function pagesTab(root, { id, row, app }) {
	const q = new URLSearchParams(location.search);
	const text = el("input", { type: "search", "data-find": true,
	    placeholder: "Filter by URL or title", value: q.get("find"),
	    "aria-label": "Filter pages by URL or title" });
	const status = select(STATUSES, q.get("status") ?? "",
	    { "aria-label": "Filter pages by status" });
	const type = el("input.short", { placeholder: "Any type",
	    value: q.get("type"), list: "types",
	    "aria-label": "Filter pages by media type" });
	const host = el("input.short", { placeholder: "Any host",
	    value: q.get("host"), "aria-label": "Filter pages by host" });
	const order = select(ORDERS, q.get("order") ?? "",
	    { "aria-label": "Order of pages" });
	const hold = el("button", { type: "button", "aria-pressed": "false",
	    title: "Let the list stand still while pages come in",
	    onclick: () => pressHold() }, icon("pause"), " Hold");
	const fresh = el("button.fresh.primary", { type: "button", hidden: true,
	    onclick: () => release() });
	const total = el("p.total", null);
	const none = el("div.none", null);
	const list = new List({ label: "Pages", make, draw, open,
	    head: el("div.pages-head", { role: "row" }, ["Status",
	    "Title and URL", "Type", "Size", "Time", "Depth", "At"].map((h) =>
	    el("span", { role: "columnheader" }, h))),
	    rowHeight: () => PHONE.matches ? 58 : 30,
	    scrolled: () => tellHeld() });
	const wide = () => list.again();
	let chunks = new Map(), asking = new Set(), age = 0;
	let all = 0, shown = 0, held = false, version = 0, askedAt = 0;
	let askedFor = -1, known = false, wrong = "";
	let looked = null;             // pages looked at so far; null: all

	root.append(el("div.filters", { role: "search" }, text, status, type,
	    host, order, hold,
	    el("datalist", { id: "types" }, ["text/html", "application/pdf",
	    "application/json", "image/jpeg", "image/png", "text/css",
	    "text/javascript", "text/plain"].map((t) => el("option",
	    { value: t })))),
	    el("div.list-box", null, list.node, fresh, none), total);
	list.node.classList.add("pages");

	/* --- rows ---- */

	function make() {
		const cell = (name) => el("span." + name, { role: "gridcell" });
		const n = { status: el("span.status", null), title: el("b.title",
		    null), url: el("span.url", null), type: cell("type"),
		    size: cell("size"), time: cell("time"),
		    depth: cell("depth"), at: cell("at"),
		    link: el("a", { tabindex: "-1" }) };
		const node = el("div", null, el("span.st", { role: "gridcell" },
		    n.status), el("span.what", { role: "gridcell" }, n.link),
		    n.type, n.size, n.time, n.depth, n.at);

		n.link.append(n.title, n.url);
		node.parts = n;
		return node;
	}

	function draw(node, i) {
		const p = pageAt(i), n = node.parts;

		node.classList.toggle("waits", p === undefined);
		if (p === undefined) {
			n.link.removeAttribute("href");
			for (const k of ["title", "url", "type", "size", "time",
			    "depth", "at"])
				put(n[k], "");
			n.status.className = "status";
			put(n.status, "");
			return;
		}
		n.link.href = `/crawls/${id}/pages/${p.number}`;
		showStatus(n.status, p.status_code);
		put(n.title, p.title ?? "");
		put(n.url, p.url);
		n.link.title = p.url + (p.final_url && p.final_url !== p.url ?
		    "\n→ " + p.final_url : "");
		put(n.type, shortType(p.type));
		n.type.title = p.type ?? "";
		put(n.size, bytes(p.body_length) + (p.truncated ? " cut" : ""));
		put(n.time, span(p.duration));
		put(n.depth, PHONE.matches ? "depth " + p.depth : p.depth);
		put(n.at, timeOfDay(p.started_at));
		n.at.title = exact(p.started_at);
	}

	function shortType(t) {
		return (t ?? "").split(";")[0].replace(/^application\//, "")
		    .replace(/^text\//, "");
	}

	function open(i) {
		const p = pageAt(i);

		if (p !== undefined)
			app.go(`/crawls/${id}/pages/${p.number}`);
	}

	/* --- chunks ---- */

	/* By place, counted from the server's first. */
	function placeOf(i) {
		return order.value === "" ? shown - 1 - i : i;
	}

	function pageAt(i) {
		const place = placeOf(i), c = Math.floor(place / CHUNK);
		const chunk = chunks.get(c);

		if (chunk !== undefined)
			chunk.used = ++age;
		const p = chunk?.pages[place % CHUNK];
		if (p === undefined && place >= 0 && place < all)
			read(c);
		return p;
	}

	function args(c) {
		const a = { crawl_id: id, start: c * CHUNK, size: CHUNK,
		    order: order.value || "oldest", partial: true };

		if (text.value.trim() !== "")
			a.text = text.value.trim();
		if (status.value !== "")
			a.status = status.value;
		if (type.value.trim() !== "")
			a.type = type.value.trim();
		if (host.value.trim() !== "")
			a.host = host.value.trim();
		return a;
	}

	async function read(c) {
		const mine = version;

		if (asking.has(c) || asking.size > 3)
			return;
		asking.add(c);
		try {
			const data = await app.door.ask("list_pages", args(c));
			if (mine !== version)
				return;
			chunks.set(c, { pages: data.pages, used: ++age });
			known = true;
			wrong = "";
			trim();
			goOn(c, data.looked ?? null);
			grow(data.total);
		} catch (e) {
			if (mine === version)
				wrong = e.code === "lost" ? "" : e.message;
		} finally {
			if (mine === version)
				asking.delete(c);
		}
		list.again();
		tell();
	}

	/* A long search continues where it stopped, each time it is asked. */
	function goOn(c, so_far) {
		const ranked = order.value !== "" && order.value !== "oldest";
		const mine = version;

		if (ranked && (looked ?? so_far) !== null)
			for (const other of [...chunks.keys()])
				if (other !== c)
					chunks.delete(other);
		looked = so_far;
		if (looked !== null)
			setTimeout(() => mine === version && look(), 0);
	}

	function trim() {
		if (chunks.size <= CHUNKS_MAX)
			return;
		const old = [...chunks].sort((a, b) => a[1].used - b[1].used);
		for (const [c] of old.slice(0, chunks.size - CHUNKS_MAX))
			chunks.delete(c);
	}

	function grow(n) {
		all = n;
		if (order.value !== "") {
			shown = n;
			list.resize(shown);
		} else if (follows())
			follow();
		tellHeld();
	}

	/* During a search its first rows keep their place. */
	function follows() {
		return !held && list.atTop() && (looked === null ||
		    shown < CHUNK);
	}

	/* Show new pages. */
	function follow() {
		if (shown === all)
			return;
		if (list.mark >= 0)
			list.mark += all - shown;
		shown = all;
		list.resize(shown);
		list.again();
	}

	function again() {
		version++;
		chunks = new Map();
		asking = new Set();
		all = shown = 0;
		known = false;
		looked = null;
		askedFor = -1;
		list.mark = -1;
		list.node.scrollTop = 0;
		list.resize(0);
		look();
	}

	/* The last chunk, in which new pages appear. */
	function look() {
		askedAt = Date.now();
		askedFor = row().pages;
		read(order.value === "" ? Math.floor(all / CHUNK) : 0);
	}

	/* --- holding ---- */

	function pressHold() {
		held = !held;
		hold.setAttribute("aria-pressed", String(held));
		if (!held)
			release();
	}

	function release() {
		held = false;
		hold.setAttribute("aria-pressed", "false");
		list.node.scrollTop = 0;
		follow();
		tellHeld();
	}

	function tellHeld() {
		const n = all - shown;

		if (n > 0 && follows()) {
			follow();
			fresh.hidden = true;
			return;
		}
		fresh.hidden = n <= 0 || looked !== null;
		if (n > 0)
			put(fresh, "↑ " + many(n, "new page"));
	}

	function tell() {
		const filtered = ["text", "status", "type", "host"].some((k) =>
		    args(0)[k] !== undefined);

		put(total, !known ? "" : looked !== null ? (filtered ?
		    `So far ${count(all)} of the first ${many(looked,
		    "page")} fit` : `So far the first ${many(looked,
		    "page")} are in order`) + "; looking through " +
		    `${count(row().pages)}…` : filtered ? `${many(all, "page")} of ` +
		    `${count(row().pages)} fit` : many(all, "page"));
		none.hidden = !(known && all === 0 && looked === null) &&
		    wrong === "";
		list.node.hidden = known && all === 0 || wrong !== "";
		if (wrong !== "")
			empty(none, "The pages could not be listed", wrong);
		else if (known && all === 0 && filtered)
			empty(none, "No page fits these filters",
			    "Take one away, or wait: new pages are looked at " +
			    "as they come.");
		else if (known && all === 0 && ENDED.has(row().status))
			empty(none, "No page came in", row().exception > 0 ?
			    "The tab Problems says what went wrong." :
			    "The tabs Problems and Log say what happened.");
		else if (known && all === 0)
			empty(none, "No page yet", "Pages appear here as soon " +
			    "as they are captured. If none comes, the line " +
			    "above says why.");
	}

	/* --- filters ---- */

	function filter() {
		app.query({ find: text.value.trim(), status: status.value,
		    type: type.value.trim(), host: host.value.trim(),
		    order: order.value });
		again();
	}

	const soonFilter = later(filter, 250);
	text.oninput = type.oninput = host.oninput = soonFilter;
	status.onchange = order.onchange = filter;
	if (status.value === "" && q.get("status")) {
		status.append(el("option", { value: q.get("status") },
		    q.get("status")));
		status.value = q.get("status");
	}
	PHONE.addEventListener("change", wide);
	look();

	function changed() {
		if (order.value !== "" && order.value !== "oldest")
			return;
		if (row().pages !== askedFor && app.door.state === "open" &&
		    Date.now() - askedAt > ASK_MS)
			look();
	}

	return {
		changed,
		tick: changed,
		close() {
			version++;
			PHONE.removeEventListener("change", wide);
			list.close();
		},
		key(e) {
			if (!["ArrowDown", "ArrowUp", "j", "k", "PageDown",
			    "PageUp", "Home", "End"].includes(e.key))
				return false;
			list.node.focus();
			list.key(e);
			return true;
		},
	};
}
