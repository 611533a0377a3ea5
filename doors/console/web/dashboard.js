/*
 * dashboard.js -- every crawl at a glance: is it working, if not why, and the
 * buttons to steer it.
 */
import { each, el, later, put, select, set } from "./dom.js";
import { ageOf, endOf, stateBadge, steering, tile } from "./bits.js";
import { sparkline } from "./chart.js";
import { ENDED, nameOf } from "./crawls.js";
import { bytes, count, exact, many, rate } from "./format.js";
import { icon } from "./icons.js";
import { empty } from "./say.js";

const ROWS_MAX = 100;                  // more are shown on demand
const WHY_MAX = 12, WHY_STILL_MS = 2500, WHY_S = 3;
const TAGS_MAX = 3;                    // shown of one crawl

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
	const table = el("table.crawls", { "aria-label": "Crawls" },
	    el("thead", null, el("tr", null,
	        ["State", "Crawl", "Pages", "Pages/s", "Errors", "Queued",
	        "Age", "Why, if it waits", ""].map((h, i) => el("th",
	        { scope: "col", class: i >= 2 && i <= 6 ? "num" : null },
	        h || el("span.unseen", null, "Steer"))))), body);
	const none = el("div", null), more = el("button", { type: "button",
	    hidden: true, onclick: () => {
		most += ROWS_MAX;
		draw();
	    } });
	let most = ROWS_MAX, mark = -1, shown = [], wanted = q.get("tag") ?? "";
	let tags = "";

	root.append(el("div.head", null, el("h1", null, "Crawls"),
	    app.may("realtime") && el("a.button.primary", { href: "/new" },
	        icon("plus"), " New crawl")),
	    el("dl.tiles", null, Object.values(tiles)),
	    el("div.filters", { role: "search" }, find, state, tag),
	    el("div.scroll", { tabindex: "0", role: "region",
	        "aria-label": "Crawls", onkeydown: key }, table), none, more);

	/* --- the rows ---- */

	function make(row) {
		const n = { badge: stateBadge(), steer: steering(app, true),
		    name: el("a.name", { href: "/crawls/" + row.id }),
		    seed: el("span.seed", null), tags: el("span.tags", null),
		    pages: el("td.num", { "data-label": "Pages" }),
		    rate: el("span", null), spark: sparkline("Pages per second"),
		    errors: el("td.num", { "data-label": "Errors" }),
		    queued: el("td.num", { "data-label": "Queued" }),
		    age: el("td.num", { "data-label": "Age" }),
		    why: el("td.why", null) };
		const tr = el("tr", null, el("td.state", null, n.badge),
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
		n.spark.show(ours && (row.perSecond > 0 ||
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
		tr.classList.toggle("marked", shown[mark] === row);
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

	/* Those that need eyes first: what runs or waits, then by number. */
	function draw() {
		const all = app.crawls.newest(), fit = all.filter(fits);
		const alive = fit.filter((r) => !ENDED.has(r.status));
		const marked = shown[mark];

		shown = [...alive, ...fit.filter((r) => ENDED.has(r.status))]
		    .slice(0, most);
		mark = shown.indexOf(marked);
		each(body, shown, (r) => r.id, make, update);
		table.hidden = shown.length === 0;
		more.hidden = fit.length <= most;
		put(more, `Show more of ${count(fit.length)}`);
		drawTags(all);
		drawTiles(all);
		if (shown.length > 0)
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
			    el("button", { type: "button", onclick: () => {
				find.value = state.value = wanted = "";
				tag.value = "";
				filter();
			    } }, "Show all"));
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

		tiles.crawls.show(count(run.length) + " of " +
		    count(all.length), "running, of all");
		tiles.pages.show(rate(sum("perSecond")), "over the last 5 s");
		tiles.bytes.show(bytes(sum("bytesPerSecond")) + "/s",
		    "over the last 5 s");
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
		most = ROWS_MAX;
		app.query({ find: find.value.trim(), state: state.value,
		    tag: wanted });
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

		if (by !== undefined && shown.length > 0) {
			mark = Math.max(0, Math.min(shown.length - 1,
			    mark + by));
			body.children[mark].scrollIntoView({ block: "nearest" });
		} else if (e.key === "Enter" && mark >= 0 &&
		    e.target.closest("a, button") === null)
			app.go("/crawls/" + shown[mark].id);
		else if (e.key === "p" && mark >= 0)
			body.children[mark].parts.steer.flip();
		else
			return false;
		e.preventDefault();
		draw();
		return true;
	}

	/* --- what the statistics do not tell: why ---- */

	let seconds = 0;
	async function askWhy() {
		const still = shown.filter((r) => !ENDED.has(r.status) &&
		    r.kind === "crawl" &&
		    (r.status !== "running" || Date.now() - r.still >
		    WHY_STILL_MS)).slice(0, WHY_MAX);

		for (const row of still)
			try {
				row.why = (await app.door.ask("why",
				    { crawl_id: row.id })).why;
			} catch {
				row.why = "";
			}
		if (still.length > 0)
			draw();
	}

	const sub = app.door.subscribe("subscribe_monitor", {}, (data) => {
		seen = data;
	});
	app.crawls.addEventListener("change", draw);
	draw();
	set(find, "value", q.get("find"));
	return {
		close() {
			sub.close();
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
