/*
 * system.js -- the machine: which stage is slow, how far behind the consumers
 * are, which doors are open, what the log says.
 */
import { each, el, PHONE, put, select, table } from "./dom.js";
import { tile } from "./bits.js";
import { Chart } from "./chart.js";
import { bytes, count, exact, many, rate, span } from "./format.js";
import { icon } from "./icons.js";
import { empty } from "./say.js";
import { harvestQueues } from "./queues.js";

const FRAMES = 600, LINES_MAX = 500, LOG_S = 2, DOORS_S = 2, LIMITS_S = 5;
/* Limits: the figure in /metrics, and the setting that bounds it. */
const LIMITS = [
	["Known URLs in memory", "argiope_known_bytes", "frontier.known_mem",
	    bytes],
	["URLs that crawlers put, not yet safe", "argiope_urlfrontier_put_bytes",
	    "urlfrontier.put_mem", bytes],
	["WebSockets open", "argiope_http_websockets",
	    "realtime.connections_max", count],
	["Connections open, of this port", "argiope_http_connections", "",
	    count],
];
const UNITS = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };
const HEALTH = { disk_full: "The disk is full. Nothing is " +
	"fetched until there is room again; reading goes on.", failed: "A " +
	"write failed. Nothing is fetched until the server is started anew." };
const STAGES = { frontier: "URLs that wait, of running crawls",
	fetcher: "Requests under way", parser: "Work that waits for a thread",
	store: "Pages that are not durable yet",
	archive: "Groups of pages that cannot be looked up yet" };
/* By their threads' names. */
const LOOPS = { home: "Doors and this console", urlfrontier: "The queues of " +
	"crawlers elsewhere", fetch: "Requests, parsing, links",
	ledger: "The frontier, and what is made durable", sync: "Waits for " +
	"the disk", index: "What can be looked up: known URLs, journal",
	reads: "Answers from the index", pool: "Reads pages again, for " +
	"readers and lists", "rocksdb:low": "Merges files of the index",
	"rocksdb:high": "Writes files of the index", argiope: "Helpers of " +
	"libraries", broker: "Messages of RabbitMQ", "external calls":
	"Calls to back ends of connectors", items: "Items, tasks " +
	"and their results", checkpoint: "Writes the log of items " +
	"into their database" };

export function system(root, params, app) {
	const tiles = { cpu: tile("Processor"), rss: tile("Memory"),
	    disk: tile("Disk left"), down: tile("Downloads"),
	    in: tile("In"), out: tile("Out"), ready: tile("Hosts ready"),
	    delayed: tile("Hosts delayed"), backoff: tile("In back-off") };
	const one = (title, format, series) => new Chart({ title, format,
	    series: series ?? [{ name: title, class: "c-main" }] });
	const charts = { cpu: one("Processor, cores", rate),
	    rss: one("Memory", bytes), pages: one("Pages/s", rate),
	    traffic: one("Traffic/s", bytes, [{ name: "in", class: "c-queued" },
	    { name: "out", class: "c-done" }]) };
	const stages = el("tbody", null), loops = el("tbody", null);
	const subs = el("tbody", null);
	const doors = el("tbody", null), noSubs = el("div", null);
	const limits = el("tbody", null), noLimits = el("div", null);
	const noDoors = el("div", null), about = el("dl.facts", null);
	const queues = harvestQueues(), backends = el("div", null);
	const level = select([["", "All levels"], "info", "warn", "error"], "",
	    { "aria-label": "Least level of the log lines shown",
	    onchange: () => drawLog() });
	const log = el("div.logbox", { tabindex: "0", role: "log",
	    "aria-label": "Recent log lines", "aria-live": "off" });
	let frames = [], lines = [], last = 0, seconds = 0, before = new Map();

	const card = (title, heads, body, more) => el("section.card", null,
	    el("h2", null, title), table(title, heads, body), more);

	root.append(el("h1", null, "System"), el("dl.tiles", null,
	    Object.values(tiles)), el("section.charts", { "aria-label":
	    "Charts", tabindex: PHONE.matches ? "0" : null }, Object.values(charts).map((c) => c.node)),
	    el("div.two", null, card("Stages", ["Stage", ["Waiting", "num"],
	    "What it counts"], stages), card("Loops", ["Loop", ["Threads",
	    "num"], ["Busiest", "num"], "What it does"], loops)),
	    el("div.two", null, card("Doors", ["Door", "Address", "State",
	    ["Requests/s", "num"], "Last error"], doors, noDoors),
	    card("Limits", ["What", ["Now", "num"], ["At most", "num"],
	    "Setting"], limits, noLimits)), queues, backends, card("Subscribers",
	    ["Subscription", "Crawl", ["Behind", "num"]], subs, noSubs),
	    el("section.card", null, el("div.head.small", null, el("h2", null,
	    "Recent log lines"), el("span.grow", null), level), log),
	    el("section.card", null, el("h2", null, "Build"), about));

	/* --- each second ---- */

	const sub = app.door.subscribe("subscribe_monitor", {}, (f, event,
	    fresh) => {
		if (fresh)
			frames = frames.filter((x) => x.at < f.at);
		frames.push(f);
		traffic(f, frames[frames.length - 2]);
		/* Shown for the last one only. */
		delete frames[frames.length - 2]?.loops;
		if (frames.length > FRAMES)
			frames.shift();
		draw();
	}, (e) => app.toast(e.message, "bad"));

	/* The frame has the bytes in and out since the start. */
	function traffic(f, b) {
		const s = b ? f.at - b.at : 0;
		const rate = (k) => s > 0 && f[k] >= b[k] ? (f[k] - b[k]) / s :
		    null;

		f.in = rate("bytes_in");
		f.out = rate("bytes_out");
	}

	function draw() {
		const f = frames[frames.length - 1], h = f.hosts ?? {};
		const rows = (take) => frames.map((x) => ({ t: x.at,
		    v: take(x) }));

		tiles.cpu.show(Math.round((f.cpu ?? 0) * 100) + " %",
		    "100 % is one core");
		tiles.rss.show(bytes(f.rss));
		tiles.disk.show(bytes(f.disk_free), "", f.disk_free < 1e9);
		tiles.down.show(count(f.downloads) + " of " +
		    count(f.downloads_max));
		tiles.in.show(bytes(f.in) + "/s");
		tiles.out.show(bytes(f.out) + "/s");
		tiles.ready.show(count(h.ready), "may be asked now");
		tiles.delayed.show(count(h.delayed), "were asked just now");
		tiles.backoff.show(count(h.backoff), "failed, and are let be");
		charts.cpu.show(rows((x) => [x.cpu]));
		charts.rss.show(rows((x) => [x.rss]));
		charts.pages.show(rows((x) => [x.pages_per_s]));
		charts.traffic.show(rows((x) => [x.in, x.out]));
		drawStages(f.stages ?? {});
		drawLoops(f.loops ?? []);
		drawSubs(f.subscribers ?? []);
	}

	function drawStages(now) {
		const names = new Set([...Object.keys(STAGES),
		    ...Object.keys(now)]);

		each(stages, [...names], (k) => k, (k) => el("tr", null,
		    el("th", { scope: "row" }, k), el("td.num", null),
		    el("td.help", null, STAGES[k] ?? "")), (tr, k) =>
		    put(tr.children[1], count(now[k])));
	}

	/* A row for those of one name: the busiest may hold up the rest. */
	function drawLoops(all) {
		const rows = new Map();

		for (const { name, load } of all) {
			const r = rows.get(name) ?? { name, n: 0, most: 0 };
			r.n++;
			r.most = Math.max(r.most, load);
			rows.set(name, r);
		}
		each(loops, [...rows.values()], (r) => r.name, (r) => el("tr",
		    null, el("th", { scope: "row" }, r.name), el("td.num",
		    null), el("td.num", null), el("td.help", null,
		    LOOPS[r.name] ?? "")), (tr, r) => {
			put(tr.children[1], count(r.n));
			put(tr.children[2], Math.round(r.most * 100) + " %");
			tr.children[2].classList.toggle("bad", r.most > 0.9);
		});
	}

	function drawSubs(all) {
		each(subs, all, (s) => s.subscription_id, (s) => el("tr", null,
		    el("th", { scope: "row" }, "#" + s.subscription_id),
		    el("td", null), el("td.num", null)), (tr, s) => {
			const id = s.crawl_id, td = tr.children[1];
			if (td.crawl !== id) {
				td.crawl = id;
				td.replaceChildren(id === null ||
				    id === undefined ? "all" : el("a",
				    { href: "/crawls/" + id }, "crawl " + id));
			}
			put(tr.children[2], count(s.lag));
		});
		subs.parentNode.hidden = all.length === 0;
		if (all.length > 0)
			noSubs.replaceChildren();
		else if (noSubs.childElementCount === 0)
			noSubs.append(el("p.help", null, "Nobody consumes " +
			    "items or logs now. Programs do by the WebSocket's " +
			    "command subscribe_crawl_items."));
	}

	/* --- doors, log, build ---- */

	async function askDoors() {
		try {
			const now = performance.now() / 1000;
			const data = await app.web.get("/doors");
			each(doors, data.doors, (d) => d.name, (d) => el("tr",
			    null, el("th", { scope: "row" }, d.name),
			    el("td.url", null), el("td", null, el("span",
			    null)), el("td.num", null), el("td", null)),
			    (tr, d) => {
				const b = before.get(d.name);
				const word = tr.children[2].firstChild;
				put(tr.children[1], d.address || "–");
				// The broker's note is on its own card.
				put(word, d.note && !d.details.broker ?
				    d.state + ": " + d.note : d.state);
				word.className = "door-state d-" + d.state;
				put(tr.children[3], b && d.requests !== null ?
				    rate((d.requests - b[1]) / (now - b[0])) :
				    "–");
				tr.children[3].title = d.requests === null ? "" :
				    many(d.requests, "request") + " in all";
				put(tr.children[4], d.last_error || "none");
				before.set(d.name, [now, d.requests]);
			});
			noDoors.replaceChildren();
			queues.show(data.doors.find((d) => d.name ===
			    "harvest"));
			await showBackends(data.doors.find((d) => d.name ===
			    "external"));
		} catch (e) {
			empty(noDoors, "The doors could not be listed",
			    e.message);
		}
	}

	/* Its file is loaded when there is something to show. */
	async function showBackends(d) {
		if (!d?.details.backends?.length)
			return;
		const { backendsCard } = await import("./backends.js");
		if (backends.firstChild === null)
			backends.append(backendsCard());
		backends.firstChild.show(d);
	}

	let settings = null;
	async function askLimits() {
		try {
			settings ??= new Map((await app.web.get("/config"))
			    .settings.map((s) => [s.name, s.value]));
			const text = await app.web.text("/metrics");
			each(limits, LIMITS, (l) => l[0], (l) => el("tr", null,
			    el("th", { scope: "row" }, l[0]), el("td.num",
			    null), el("td.num", null), el("td.mono.help", null,
			    l[2])), (tr, [, name, setting, format]) => {
				const now = Number(new RegExp(`^${name} (.*)$`,
				    "m").exec(text)?.[1]);
				const most = sizeOf(settings.get(setting));
				put(tr.children[1], format(now));
				put(tr.children[2], setting === "" ? "" :
				    format(most));
				tr.children[1].classList.toggle("bad",
				    now > 0.9 * most);
			});
			noLimits.replaceChildren();
		} catch (e) {
			empty(noLimits, "The limits could not be read",
			    e.message);
		}
	}

	/* "1GiB", "512" */
	function sizeOf(text) {
		const [, n, unit] = /^(\d+)([KMGT]iB)?$/.exec(text ?? "") ?? [];

		return Number(n) * (UNITS[unit] ?? 1);
	}

	async function askLog() {
		try {
			const data = await app.web.get("/log?after=" + last);
			if (data.lines.length === 0)
				return;
			lines = [...lines, ...data.lines].slice(-LINES_MAX);
			last = data.last;
			drawLog();
		} catch (e) {
			if (lines.length === 0)
				empty(log, "The log could not be read",
				    e.message);
		}
	}

	const RANK = { debug: 0, info: 1, warn: 2, error: 3 };
	function drawLog() {
		const least = RANK[level.value] ?? 0;
		const fit = lines.filter((l) => (RANK[l.level] ?? 1) >= least);
		const end = log.scrollTop + log.clientHeight >=
		    log.scrollHeight - 20;

		each(log, fit, (l) => l.number, (l) => el("p", null,
		    el("time", { title: exact(l.at) }, exact(l.at).slice(11)),
		    el("span.level.l-" + l.level, null, l.level), el("b", null,
		    l.event), el("span", null, l.text)));
		if (end)
			log.scrollTop = log.scrollHeight;
	}

	async function askAbout() {
		try {
			const s = await app.web.get("/status");
			const rows = [["Version", s.version], ["Process",
			    s.pid], ["Data", s.data_dir], ["Disk and ledger",
			    HEALTH[s.health] ?? s.health], ...s.unwritable.map(
			    (u) => ["Cannot be written", `${u.why}, since ${
			    exact(u.since)}`]), ["Running for",
			    s.uptime_s && span(s.uptime_s)]];
			about.replaceChildren(...rows.filter(([, v]) => v)
			    .flatMap(([k, v]) => [el("dt", null, k), el("dd",
			    null, String(v))]));
			about.append(el("dt", null, "Figures"), el("dd", null,
			    el("a", { href: "/metrics", target: "_blank" },
			    "/metrics ", icon("out")), " for Prometheus"),
			    el("dt", null, "Configuration"), el("dd", null,
			    el("a", { href: "/settings#configuration" },
			    "every value, and where it came from")));
		} catch (e) {
			empty(about, "The status could not be read", e.message);
		}
	}

	drawStages({});
	drawSubs([]);
	askAbout();
	askLog();
	askDoors();
	askLimits();
	return {
		close: () => sub.close(),
		tick() {
			if (document.hidden)
				return;
			seconds++;
			if (seconds % LOG_S === 0)
				askLog();
			if (seconds % DOORS_S === 0)
				askDoors();
			if (seconds % LIMITS_S === 0)
				askLimits();
		},
	};
}
