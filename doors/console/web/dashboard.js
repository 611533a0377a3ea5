/*
 * dashboard.js -- every crawl at a glance: is it working, if not why, and the
 * buttons to steer it, or many at once.  Only the rows in view are nodes.
 */
import { button, each, el, later, PHONE, put, select, set, soon } from "./dom.js";
import { ageOf, endOf, stateBadge, steering, tile } from "./bits.js";
import { sparkline } from "./chart.js";
import { ENDED, nameOf } from "./crawls.js";
import { bulkBar } from "./bulk.js";
import { bytes, count, exact, many, rate } from "./format.js";
import { icon } from "./icons.js";
import { empty } from "./say.js";

const SPARE = 6;                       // rows beyond the edges of the window
const ROW_PX = 49, CARD_PX = 150;      // a row; on a phone
const WHY_MAX = 12, WHY_STILL_MS = 2500, WHY_S = 3;
const TAGS_MAX = 3;                    // shown of one crawl

/* Columns to sort by, and their values: the greatest comes first. */
const RANK = { running: 3, paused: 2, pending: 1 };
const SORTS = { state: (r) => RANK[r.status] ?? 0, pages: (r) => r.pages,
	rate: (r) => r.perSecond ?? 0, errors: (r) => r.errors,
	queued: (r) => r.queued ?? 0, age: (r) => r.id };
const COLUMNS = [["State", "state"], ["Crawl", "name"], ["Pages", "pages"],
	["Pages/s", "rate"], ["Errors", "errors"], ["Queued", "queued"],
	["Age", "age"], ["Why, if it waits"], [""]];

/* Equal rows: the newest first. */
function compare(key, down) {
	const turn = down ? 1 : -1;

	if (key === "name")
		return (a, b) => turn * nameOf(b).localeCompare(nameOf(a)) ||
		    b.id - a.id;
	const of = SORTS[key] ?? SORTS.state;
	return (a, b) => turn * (of(b) - of(a)) || b.id - a.id;
}

const STATES = [["", "All states"], "running", "paused", "pending",
	"complete", "cancelled"];

export function dashboard(root, params, app) {
	const q = new URLSearchParams(location.search);
	const find = el("input", { type: "search", "data-find": true,
	    placeholder: "Filter by name, seed or tag", value: q.get("find"),
	    "aria-label": "Filter crawls by name, seed or tag" });
	const state = select(STATES, q.get("state") ?? "", {
	    "aria-label": "Filter crawls by state" });
	const tag = select([["", "All tags"]], "", {
	    "aria-label": "Filter crawls by tag" });
	const tiles = { pages: tile("Pages/s"), bytes: tile("Bytes/s"),
	    hosts: tile("Hosts active"), down: tile("Downloads"),
	    disk: tile("Disk left"), crawls: tile("Crawls") };
	const body = el("tbody", null);
	const above = el("tbody", { "aria-hidden": "true" }, el("tr", null,
	    el("td.gap", { colspan: "10" })));
	const below = above.cloneNode(true);
	const everyOne = el("input", { type: "checkbox", "aria-label":
	    "Select all crawls of this list", onchange: () => {
		bulk.pick(everyOne.checked ? fit.map((r) => r.id) : []);
	    } });
	const heads = COLUMNS.map(([text, key], i) => {
		const head = el("th", { scope: "col", class: i >= 2 && i <= 6 ?
		    "num" : null }, key === undefined ? text || el("span.unseen",
		    null, "Steer") : button(".sort", { onclick: () =>
		    sortBy(key) }, text));
		head.key = key;
		return head;
	});
	const may = app.may("realtime");
	const table = el("table.crawls", { "aria-label": "Crawls" },
	    el("thead", null, el("tr", null, may && el("th.pick",
	    { scope: "col" }, everyOne), heads)), body);
	const none = el("div", null);
	const bulk = bulkBar(app, () => fit, () => draw());
	const order = select([["state", "Running first"], ["name", "By name"],
	    ["-pages", "Most pages"], ["-rate", "Fastest"], ["-errors",
	    "Most errors"], ["-queued", "Longest queue"], ["age", "Newest"],
	    ["-age", "Oldest"]], "", { "aria-label": "Sort crawls",
	    class: "sort-choice", onchange: () => {
		sort = order.value;
		filter();
	    } });
	let mark = -1, fit = [], first = 0, wanted = q.get("tag") ?? "";
	let tags = "", sort = q.get("sort") ?? "state";

	root.append(el("div.head", null, el("h1", null, "Crawls"),
	    app.may("realtime") && el("a.button.primary", { href: "/new" },
	        icon("plus"), " New crawl")),
	    el("dl.tiles", null, Object.values(tiles)),
	    el("div.filters", { role: "search" }, find, state, tag, order),
	    bulk.node, el("div.scroll", { tabindex: "0", role: "region",
	        "aria-label": "Crawls", onkeydown: key }, table), none);

	/* --- the rows ---- */

	function make(row) {
		const n = { badge: stateBadge(), steer: steering(app, true),
		    pick: el("input", { type: "checkbox", onchange: () =>
		    bulk.toggle(row.id, n.pick.checked) }),
		    name: el("a.name", { href: "/crawls/" + row.id }),
		    seed: el("span.seed", null), tags: el("span.tags", null),
		    pages: el("td.num", { "data-label": "Pages" }),
		    rate: el("span", null), spark: sparkline("Pages per second"),
		    errors: el("td.num", { "data-label": "Errors" }),
		    queued: el("td.num", { "data-label": "Queued" }),
		    age: el("td.num", { "data-label": "Age" }),
		    why: el("td.why", null) };
		const tr = el("tr", null, may && el("td.pick", null, n.pick),
		    el("td.state", null, n.badge),
		    el("th.what", { scope: "row" }, el("span.title", null,
		    n.name, n.tags), n.seed),
		    n.pages, el("td.num.speed", { "data-label": "Pages/s" },
		    n.spark, n.rate), n.errors, n.queued, n.age, n.why,
		    el("td.acts", null, n.steer));

		tr.parts = n;
		return tr;
	}

	function update(tr, row) {
		const n = tr.parts, name = nameOf(row);
		const list = (row.tags ?? []).join("\n");

		n.badge.show(row.status);
		n.pick.checked = bulk.has(row.id);
		set(n.pick, "aria-label", "Select " + name);
		n.pick.disabled = row.kind !== "crawl";
		put(n.name, name);
		put(n.seed, row.seed && row.seed !== name ? row.seed : "#" +
		    row.id);
		if (n.tags.shown !== list) {
			n.tags.shown = list;
			n.tags.replaceChildren(...tagsOf(row.tags ?? []));
		}
		const ours = row.kind === "crawl";
		put(n.pages, ours ? count(row.pages) : "");
		put(n.rate, row.perSecond === 0 && (!ours ||
		    ENDED.has(row.status)) ? "" : rate(row.perSecond));
		n.spark.show(ours && !app.gone() && (row.perSecond > 0 ||
		    !ENDED.has(row.status)) ? row.trace : []);
		put(n.errors, ours ? count(row.errors) : "");
		n.errors.classList.toggle("bad", row.errors > 0);
		n.errors.title = errorsOf(row);
		put(n.queued, ENDED.has(row.status) && !row.queued ? "" :
		    count(row.queued));
		put(n.age, ageOf(row));
		n.age.title = row.created_at ? "began " +
		    exact(row.created_at) : "";
		put(n.why, whyOf(row));
		n.why.title = whyOf(row);
		n.steer.show(row);
		tr.classList.toggle("marked", fit[mark] === row);
	}

	function tagsOf(all) {
		const some = all.slice(0, TAGS_MAX).map((t) => el("span.tag",
		    { title: t }, t));

		return all.length <= TAGS_MAX ? some : [...some,
		    el("span.tag.more", { title: all.slice(TAGS_MAX)
		    .join(", ") }, "+" + (all.length - TAGS_MAX))];
	}

	function errorsOf(row) {
		const parts = Object.entries(row.exceptions ?? {}).filter(
		    ([, n]) => n > 0).map(([k, n]) => count(n) + " " + k);
		if (row.error > 0)
			parts.push(many(row.error, "answer") + " 5xx");
		return parts.join(", ");
	}

	function whyOf(row) {
		if (row.kind === "frontier")
			return "crawlers from outside fetch it";
		if (ENDED.has(row.status))
			return endOf(row);
		return Date.now() - row.still < WHY_STILL_MS &&
		    row.status === "running" ? "" : row.why ?? "";
	}

	function fits(row) {
		const text = find.value.trim().toLowerCase();

		return (state.value === "" || row.status === state.value) &&
		    (wanted === "" || (row.tags ?? []).includes(wanted)) &&
		    (text === "" || [row.name, row.seed, String(row.id),
		    ...(row.tags ?? [])].some((s) => s?.toLowerCase()
		    .includes(text)));
	}

	/* Only rows in the window have nodes; gaps take the others' place. */
	function draw() {
		const all = app.crawls.newest(), marked = fit[mark];
		const by = sort.replace("-", "");

		// By age, the youngest has the greatest number.
		fit = all.filter(fits).sort(compare(by, by === "age" ? sort ===
		    "age" : by === "state" || sort.startsWith("-")));
		mark = fit.indexOf(marked);
		drawRows();
		table.hidden = fit.length === 0;
		bulk.draw();
		everyOne.checked = fit.length > 0 && fit.every((r) =>
		    bulk.has(r.id) || r.kind !== "crawl");
		for (const h of heads)
			set(h, "aria-sort", h.key !== by ? null :
			    by === "state" || sort.startsWith("-") ?
			    "descending" : "ascending");
		order.value = sort;
		drawTags(all);
		drawTiles(all);
		if (fit.length > 0)
			none.replaceChildren();
		else if (!app.crawls.known)
			none.replaceChildren(el("p.loading", null,
			    "Asking for the crawls…"));
		else if (all.length === 0)
			empty(none, "No crawl yet", "Give Argiope a page to " +
			    "begin with; it follows the links from there and " +
			    "archives what it sees.", app.may("realtime") &&
			    el("a.button.primary", { href: "/new" },
			    "Start the first crawl"));
		else
			empty(none, "No crawl fits these filters",
			    `There are ${count(all.length)} in all.`,
			    button("", { onclick: () => {
				find.value = state.value = wanted = "";
				tag.value = "";
				filter();
			    } }, "Show all"));
	}

	const rowHeight = () => PHONE.matches ? CARD_PX : ROW_PX;

	function gap(node, rows, where) {
		node.firstChild.firstChild.style.height = rows * rowHeight() +
		    "px";
		if (rows > 0 && node.parentNode === null)
			body[where](node);
		else if (rows === 0)
			node.remove();
	}

	function drawRows() {
		const head = table.tHead.offsetHeight;
		const top = -table.getBoundingClientRect().top - head;
		const from = Math.max(0, Math.floor(top / rowHeight()) - SPARE);
		const to = Math.min(fit.length, Math.ceil((top + innerHeight) /
		    rowHeight()) + SPARE);

		first = Math.min(from, Math.max(0, fit.length - 1));
		const view = fit.slice(first, Math.max(to, first));
		gap(above, first, "before");
		gap(below, fit.length - first - view.length, "after");
		each(body, view, (r) => r.id, make, update);
		for (const [i, r] of view.entries())
			body.children[i].setAttribute("aria-rowindex",
			    first + i + 2);
		table.setAttribute("aria-rowcount", fit.length + 1);
		app.crawls.watched = new Set(view.map((r) => r.id));
	}

	function sortBy(key) {
		sort = sort === key && key !== "state" ? "-" + key :
		    sort === "-" + key ? "state" : ["pages", "rate", "errors",
		    "queued"].includes(key) ? "-" + key : key;
		filter();
	}

	function drawTags(all) {
		const list = [...new Set(all.flatMap((r) => r.tags ?? []))]
		    .sort();
		if (list.join("\n") === tags)
			return;
		tags = list.join("\n");
		tag.replaceChildren(el("option", { value: "" }, "All tags"),
		    ...list.map((t) => el("option", { value: t,
		    selected: t === wanted }, t)));
		tag.hidden = list.length === 0;
	}

	let seen = null;
	function drawTiles(rows) {
		const all = rows.filter((r) => r.kind === "crawl");
		const run = all.filter((r) => r.status === "running");
		const sum = (k) => run.reduce((n, r) => n + r[k], 0);
		const speed = !app.gone();

		tiles.crawls.show(count(run.length) + " of " +
		    count(all.length), "running, of all");
		tiles.pages.show(speed ? rate(sum("perSecond")) : "–",
		    "over the last 5 s");
		tiles.bytes.show(speed ? bytes(sum("bytesPerSecond")) + "/s" :
		    "–", "over the last 5 s");
		if (seen === null)
			return;
		const h = seen.hosts ?? {};
		tiles.hosts.show(count((h.ready ?? 0) + (h.delayed ?? 0)),
		    `${count(h.ready)} ready, ${count(h.delayed)} delayed, ` +
		    `${count(h.backoff)} in back-off`);
		tiles.down.show(count(seen.downloads) + " of " +
		    count(seen.downloads_max));
		tiles.disk.show(bytes(seen.disk_free), undefined,
		    seen.disk_free < 1e9);
	}

	function filter() {
		app.query({ find: find.value.trim(), state: state.value,
		    tag: wanted, sort: sort === "state" ? "" : sort });
		draw();
	}

	find.oninput = later(filter, 120);
	state.onchange = filter;
	tag.onchange = () => {
		wanted = tag.value;
		filter();
	};

	/* --- keys ---- */

	function key(e) {
		const by = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[e.key];

		if (by !== undefined && fit.length > 0) {
			mark = Math.max(0, Math.min(fit.length - 1,
			    mark + by));
			toMark();
		} else if (e.key === "Enter" && mark >= 0 &&
		    e.target.closest("a, button, input") === null)
			app.go("/crawls/" + fit[mark].id);
		else if (e.key === "p" && mark >= 0)
			body.children[mark - first]?.parts.steer.flip();
		else if (e.key === "x" && mark >= 0 && may)
			bulk.toggle(fit[mark].id, !bulk.has(fit[mark].id));
		else
			return false;
		e.preventDefault();
		draw();
		return true;
	}

	/* The marked row may have no node yet: scroll its place into view. */
	function toMark() {
		const top = table.getBoundingClientRect().top +
		    table.tHead.offsetHeight + mark * rowHeight();

		if (top < 60)
			scrollBy(0, top - 60);
		else if (top + rowHeight() > innerHeight)
			scrollBy(0, top + rowHeight() - innerHeight);
		drawRows();
	}

	/* --- why, which is not in the statistics ----- */

	let seconds = 0;
	function askWhy() {
		const waits = fit.slice(first, first + body.childElementCount)
		    .filter((r) => !ENDED.has(r.status) && r.kind === "crawl" &&
		    (r.status !== "running" || Date.now() - r.still >
		    WHY_STILL_MS)).slice(0, WHY_MAX);

		for (const row of waits)
			app.crawls.askWhy(row);
	}

	const sub = app.door.subscribe("subscribe_monitor", {}, (data) => {
		seen = data;
	});
	const scrolled = () => soon(drawRows);
	addEventListener("scroll", scrolled, { passive: true });
	addEventListener("resize", scrolled);
	app.crawls.addEventListener("change", draw);
	draw();
	set(find, "value", q.get("find"));
	return {
		close() {
			sub.close();
			removeEventListener("scroll", scrolled);
			removeEventListener("resize", scrolled);
			app.crawls.watched = new Set();
			app.crawls.removeEventListener("change", draw);
		},
		tick() {
			if (app.door.state === "open" && seconds++ % WHY_S === 0)
				askWhy();
			draw();
		},
		key,
	};
}
