/*
 * crawl.js -- one crawl: is it working, how fast, when will it be done; and
 * tabs for what came in, what went wrong, what is next, the rules, the log and
 * the files.
 */
import { button, clear, el, PHONE, put, tabBar } from "./dom.js";
import { ageOf, crumbs, endReason, moment, stateBadge, steering, tile } from
    "./bits.js";
import { Chart } from "./chart.js";
import { ENDED, nameOf } from "./crawls.js";
import { ago, bytes, count, exact, many, quoted, rate, span, timeOfDay } from
    "./format.js";
import { icon } from "./icons.js";
import { act, copyButton, dialog } from "./say.js";
import { perSecond, Series } from "./series.js";
import { pagesTab } from "./tab_pages.js";
import { problemsTab } from "./tab_problems.js";
import { frontierTab } from "./tab_frontier.js";
import { rulesTab } from "./tab_rules.js";
import { logTab } from "./tab_log.js";
import { filesTab } from "./tab_files.js";

const TABS = [["pages", "Pages", pagesTab],
	["problems", "Problems", problemsTab],
	["frontier", "Frontier", frontierTab], ["rules", "Rules", rulesTab],
	["log", "Log", logTab], ["files", "Files", filesTab]];
const WHY_S = 2, FRONTIER_S = 5;

export function crawl(root, [id], app) {
	const holder = el("div", null, el("p.loading", null,
	    `Asking for crawl ${id}…`));
	let inner = null, closed = false;

	/* If its row has not arrived yet, ask the list for it. */
	const begin = () => {
		const row = app.crawls.rows.get(id);
		if (inner !== null || closed || row === undefined)
			return;
		app.crawls.removeEventListener("change", begin);
		inner = (row.kind === "frontier" ? outside : view)(clear(holder),
		    id, row, app);
	};
	const absent = async () => {
		try {
			await app.door.ask("why", { crawl_id: id });
		} catch (e) {
			if (inner === null && !closed)
				clear(holder, el("section.empty", null,
				    el("h1", null, `No crawl ${id}`), el("p",
				    null, e.message), el("a.button",
				    { href: "/" }, "To the crawls")));
		}
	};

	root.append(holder);
	app.crawls.addEventListener("change", begin);
	begin();
	if (inner === null)
		absent();
	return {
		close() {
			closed = true;
			app.crawls.removeEventListener("change", begin);
			inner?.close();
		},
		tick: () => inner?.tick(),
		key: (e) => inner?.key(e),
	};
}

function view(root, id, first, app) {
	const row = () => app.crawls.rows.get(id) ?? first;
	const badge = stateBadge(), steer = steering(app, false);
	const why = el("p.why-line", null);
	const name = el("h1", null, nameOf(first));
	const meta = el("p.meta", null);
	const tiles = { pages: tile("Pages"), rate: tile("Pages/s"),
	    size: tile("Received"), queued: tile("Queued"),
	    flight: tile("In flight"), errors: tile("Exceptions"),
	    skipped: tile("Skipped"), age: tile("Running for"),
	    eta: tile("Done in") };
	const remove = app.may("realtime") && button(".danger", { hidden: true,
	    onclick: () => removeIt() }, icon("trash"), " Delete");
	const again = app.may("realtime") && el("span.steering", { hidden: true },
	    button("", { onclick: (e) => runAgain(e.currentTarget) },
	    icon("play"), " Run again"),
	    el("a.button", { href: "/new?from=" + id }, "Edit and run"));
	const retry = app.may("realtime") && button("", { hidden: true,
	    onclick: () => act(retry, retryFailures) },
	    icon("retry"), " Retry failures");
	const charts = chartsOf(app, id, row);
	const panel = el("div.panel", { role: "tabpanel", id: "panel" });
	const tabs = tabBar("About this crawl", "tab-", TABS, panel, (key) =>
	    open(key));
	let tab = null, seen = null, seconds = 0, still = 0;

	root.append(crumbs(id), el("div.head", null, badge, name,
	        el("span.grow", null), steer, again, retry, remove), meta, why,
	    el("dl.tiles", null, Object.values(tiles)), charts.node, tabs,
	    panel);
	for (const b of tabs.children)
		b.append(el("span.tab-count", null));

	/* --- tabs ---- */

	function open(key, q) {
		const found = TABS.find(([k]) => k === key) ?? TABS[0];

		tab?.close?.();
		tabs.mark(found[0]);
		tabs.querySelector("#tab-" + found[0]).scrollIntoView({
		    block: "nearest", inline: "nearest" });
		app.query({ tab: found[0] === "pages" ? "" : found[0],
		    find: "", status: "", type: "", host: "", order: "",
		    pattern: "", kind: "", ...q });
		tab = found[2](clear(panel), { id, row, app, open });
	}

	/* --- the head ---- */

	function drawMeta() {
		const r = row(), link = el("a", { href: /^https?:/.test(r.seed) ?
		    r.seed : null, target: "_blank", rel: "noreferrer noopener",
		    class: "url" }, r.seed ?? "");
		const key = [r.seed, r.policy, r.created_at, r.ended_at,
		    (r.tags ?? []).join("\n"), r.name].join("\t");

		if (meta.dataset.key === key)
			return;
		meta.dataset.key = key;
		clear(meta, link, r.seed && copyButton(() => r.seed,
		    "the seed"), (r.tags ?? []).map((t) => el("span.tag", null,
		    t)), r.policy && el("span", null, "policy ",
		    el("b", null, r.policy)), r.created_at && el("span", null,
		    "began ", moment(r.created_at)), r.ended_at &&
		    el("span", null, "ended ", moment(r.ended_at)));
	}

	function draw() {
		const r = row(), over = ENDED.has(r.status);

		if (!app.crawls.rows.has(id)) {
			why.className = "why-line over";
			put(why, "This crawl was deleted.");
			steer.hidden = true;
			return;
		}
		app.title(nameOf(r));
		badge.show(r.status);
		put(name, nameOf(r));
		steer.show(r);
		if (remove) {
			remove.hidden = again.hidden = !over;
			retry.hidden = !over || !r.exception;
		}
		drawMeta();
		tiles.pages.show(count(r.pages));
		tiles.rate.show(over && !r.perSecond ? rate(mean(r)) :
		    rate(r.perSecond), over ? "on the average" :
		    "over the last 5 s");
		tiles.size.show(bytes(r.bytes), r.bytes === undefined ?
		    "" : count(r.bytes) + " bytes");
		tiles.queued.show(count(r.queued));
		tiles.flight.show(count(seen?.in_flight ?? r.in_flight));
		tiles.errors.show(count(r.exception), reasons(r.exceptions),
		    r.exception > 0);
		tiles.skipped.show(count(r.skipped), reasons(r.skips));
		tiles.age.show(ageOf(r), r.created_at ? "began " +
		    exact(r.created_at) : "");
		tiles.age.firstChild.textContent = over ? "Ran for" :
		    "Running for";
		drawEta(r, over);
		drawWhy(r, over);
		counts(r);
	}

	function mean(r) {
		return r.created_at && r.ended_at > r.created_at ?
		    r.pages / (r.ended_at - r.created_at) : null;
	}

	function reasons(by) {
		return Object.entries(by ?? {}).filter(([, n]) => n > 0).map(
		    ([k, n]) => count(n) + " " + k).join(", ");
	}

	function counts(r) {
		const of = { pages: r.pages, problems: (r.exception ?? 0) +
		    (r.not_found ?? 0) + (r.error ?? 0), frontier: r.queued };

		for (const b of tabs.children) {
			const n = of[b.id.slice(4)];
			put(b.lastChild, n ? count(n) : "");
		}
	}

	/*
	 * Shown only while the queue has been falling for a while, and never
	 * sooner than the longest host's queue allows.
	 */
	function drawEta(r, over) {
		tiles.eta.hidden = tiles.flight.hidden = over;
		if (over)
			return;
		const points = charts.since(60), first = points[0];
		const s = points.length > 1 ? points.at(-1).t - first.t : 0;
		const fallen = s > 0 ? first.queued - points.at(-1).queued : 0;
		const slow = Math.max(0, ...(seen?.hosts ?? []).map((h) =>
		    (h.queued ?? 0) * (h.delay ?? 0)));
		if (app.gone())
			tiles.eta.show("–", "The server does not answer.");
		else if (r.status !== "running")
			tiles.eta.show("–", "It does not run.");
		else if (s < 15)
			tiles.eta.show("…", "It is watched for 15 s first.");
		else if (fallen <= 0)
			tiles.eta.show(slow > 60 ? "> " + span(slow) : "–",
			    "The queue does not get shorter yet.");
		else {
			const left = r.queued / (fallen / s);
			tiles.eta.show((slow > left ? "> " : "~ ") +
			    span(Math.max(left, slow)), slow > left ?
			    "One host alone takes that long with its delay." :
			    "At the pace of the last minute.");
		}
	}

	/* Is it working? if not, why?  One line, which is always there. */
	function drawWhy(r, over) {
		const works = r.status === "running" && Date.now() - r.still <
		    2500;

		if (app.gone()) {
			put(why, "The server has not answered since " +
			    timeOfDay(app.door.heard / 1000) + ": whether " +
			    "this crawl is working is not known.");
			why.className = "why-line";
			return;
		}
		put(why, over ? "It ended" + (r.ended_at ? " " +
		    ago(r.ended_at) : "") + `: ${endReason(r)}.` : works ?
		    "It is working: pages come in." : r.why || "…");
		why.className = "why-line" + (works ? " works" :
		    // Not a problem: requests are under way, or the sentence
		    // says when it continues.
		    over || r.underWay > 0 || !r.why ||
		    /\d (s|min|h)\b/.test(r.why) ? " over" : "");
	}

	async function askFrontier() {
		try {
			seen = await app.door.ask("get_frontier", { crawl_id: id,
			    hosts: 20, urls: 0 });
		} catch {
			seen = null;
		}
	}

	/* The old crawl stays as it ended; a new one begins. */
	function runAgain(clicked) {
		act(clicked, async () => {
			const data = await app.door.ask("job.rerun",
			    { crawl_id: id });
			app.toast(`Crawl ${data.crawl_id} began.`, "good");
			app.go("/crawls/" + data.crawl_id);
		});
	}

	/* A crawl takes crawl.retry_max failures; more take further crawls. */
	async function retryFailures() {
		const first = await app.door.ask("job.rerun",
		    { crawl_id: id, failures: true });
		const more = Math.ceil(first.left / first.seeds);

		if (more > 0 && await dialog(`${many(first.left, "failed URL")} ` +
		    "left", el("p", null, `Crawl ${first.crawl_id} retries ` +
		    `${count(first.seeds)} of ${count(first.failed)} URLs: one ` +
		    "crawl takes no more (crawl.retry_max). " +
		    `${many(more, "further crawl")} would retry the rest.`),
		    [["", "Not now", ""], ["yes", `Start ${many(more,
		    "more crawl")}`, "primary"]]) === "yes")
			await retryRest(first);
		else
			app.toast(`Crawl ${first.crawl_id} retries ` +
			    many(first.seeds, "URL") + (first.left > 0 ? `, ${
			    count(first.left)} are left` : "") + ".", "good");
		app.go("/crawls/" + first.crawl_id);
	}

	/* One crawl after another; the button says how far it is. */
	async function retryRest(first) {
		const text = retry.lastChild.data;
		let start = first.seeds, { left } = first;

		try {
			while (left > 0) {
				retry.lastChild.data = ` ${count(start)} of ` +
				    count(first.failed) + "…";
				const data = await app.door.ask("job.rerun",
				    { crawl_id: id, failures: true, start });
				start += data.seeds;
				left = data.left;
			}
			app.toast(`${many(start, "URL")} are retried.`, "good");
		} catch (e) {
			throw new Error(`${e.message} ${many(left, "failed " +
			    "URL")} were not retried.`);
		} finally {
			retry.lastChild.data = text;
		}
	}

	async function removeIt() {
		const r = row();

		if (!await app.ask(`Delete ${quoted(nameOf(r))}?`,
		    "The list of its " + `${many(r.pages, "page")}, its log and its counters go, ` +
		    "for good. Its WARC files stay on the disk.",
		    "Delete the crawl"))
			return;
		act(remove, async () => {
			await app.door.ask("job.delete", { crawl_id: id });
			app.crawls.forget(id);
			app.toast(`Crawl ${id} was deleted.`, "good");
			app.go("/");
		});
	}

	const change = () => {
		charts.changed();
		draw();
		tab?.changed?.();
	};
	app.crawls.addEventListener("change", change);
	app.crawls.watched.add(id);
	// Its state arrives sooner than the list's, which comes once a second.
	const soonest = app.door.subscribe("subscribe_crawl_stats", {
	    min_interval: 0.1, crawl_id: id }, (data) => {
		for (const [k, part] of Object.entries(data))
			app.crawls.merge(Number(k), part);
		app.crawls.tell();
	});
	const q = new URLSearchParams(location.search);
	open(q.get("tab") ?? "pages", Object.fromEntries(q));
	draw();
	charts.begin();
	return {
		close() {
			app.crawls.removeEventListener("change", change);
			app.crawls.watched.delete(id);
			soonest.close();
			charts.close();
			tab?.close?.();
		},
		tick() {
			const r = row();
			if (app.door.state === "open" && !ENDED.has(r.status)) {
				if (seconds % WHY_S === 0 && Date.now() -
				    r.still > 1500)
					app.crawls.askWhy(r);
				if (seconds % FRONTIER_S === 0)
					askFrontier();
				seconds++;
				still = 0;
			}
			if (still++ < 3)
				charts.tick();
			draw();
			tab?.tick?.();
		},
		key(e) {
			const n = "123456".indexOf(e.key);
			if (n >= 0 && e.key.length === 1) {
				open(TABS[n][0]);
				tabs.children[n].focus();
			} else if (e.key === "p")
				steer.flip();
			else
				return tab?.key?.(e) ?? false;
			return true;
		},
	};
}

/* --- what outsiders fetch: a queue, and nothing else is known ------------- */

function outside(root, id, first, app) {
	const row = () => app.crawls.rows.get(id) ?? first;
	const badge = stateBadge(), queued = tile("Queued");
	const charts = chartsOf(app, id, row);
	const change = () => {
		charts.changed();
		badge.show(row().status);
		queued.show(count(row().queued));
	};

	app.title(nameOf(first));
	root.append(crumbs(id), el("div.head", null, badge, el("h1", null,
	    nameOf(first)), el("span.grow", null)), el("p.why-line.over",
	    null, "Crawlers from outside fetch it, by the urlfrontier door; " +
	    "Argiope keeps its queues."), el("dl.tiles", null, queued),
	    charts.node, el("p.help", null, "Its queues: ", el("code", null,
	    "argiope frontier ListQueues -c " + nameOf(first))));
	app.crawls.addEventListener("change", change);
	change();
	charts.begin();
	return {
		close() {
			app.crawls.removeEventListener("change", change);
			charts.close();
		},
		tick: () => charts.tick(),
		key: () => false,
	};
}

/* --- charts ------------------------------------------------------------- */

const RANGES = [["300", "5 min"], ["3600", "1 h"], ["0", "All"]];

function chartsOf(app, id, row) {
	const outside = row().kind === "frontier";
	const series = new Series(app.door, id);
	const one = (title, format, list, stack) => new Chart({ title, format,
	    series: list, stack });
	const all = { pages: one("Pages/s", (v) => rate(v),
	        [{ name: "pages", class: "c-main" }]),
	    bytes: one("Bytes/s", (v) => bytes(v) + "/s",
	        [{ name: "bytes", class: "c-main" }]),
	    queue: one("Queued and done", count,
	        [{ name: "queued", class: "c-queued" },
	        { name: "done", class: "c-done" }]),
	    status: one("Answers/s by class", (v) => rate(v),
	        [{ name: "2xx", class: "c-2xx" }, { name: "3xx",
	        class: "c-3xx" }, { name: "4xx", class: "c-4xx" },
	        { name: "5xx", class: "c-5xx" }, { name: "none",
	        class: "c-none" }], true) };
	// The server does not report what outside crawlers have done.
	const c = outside ? { queue: one("Queued", count, [{ name: "queued",
	    class: "c-main" }]) } : all;
	let range = ENDED.has(row().status) ? "0" : "300";
	const buttons = RANGES.map(([v, text]) => button(".quiet",
	    { "aria-pressed": String(v === range), onclick: () => {
		range = v;
		for (const [i, b] of buttons.entries())
			b.setAttribute("aria-pressed",
			    String(RANGES[i][0] === range));
		draw();
	    } }, text));
	const node = el("section.over-time", { "aria-label": "Charts" },
	    el("div.ranges", { role: "group", "aria-label": "Time shown" },
	        buttons), el("div.charts", { tabindex: PHONE.matches ? "0" :
	        null, role: "group", "aria-label": "Charts" },
	        Object.values(c).map((x) => x.node)));

	function draw() {
		const points = series.range(Number(range));
		const wide = points.length > 1 ?
		    points[points.length - 1].t - points[0].t : 0;
		const over = Math.min(wide / 4, Math.max(3, wide / 60));

		c.pages?.show(perSecond(points, (p) => [p.done], over));
		c.bytes?.show(perSecond(points, (p) => [p.bytes], over));
		c.queue.show(points.map((p) => ({ t: p.t,
		    v: outside ? [p.queued] : [p.queued, p.done] })));
		c.status?.show(perSecond(points, (p) => p.s, over));
	}

	/* After a lost connection too: the server has the missed points. */
	let asking = false;
	async function begin() {
		if (asking)
			return;
		asking = true;
		try {
			await series.past(row());
		} catch {
			// Without the past, the charts begin now.
		}
		asking = false;
		series.add(row());
		draw();
	}
	const again = () => {
		if (app.door.state === "open")
			begin();
	};

	app.door.addEventListener("state", again);
	return {
		node, begin,
		close: () => app.door.removeEventListener("state", again),
		changed: () => series.add(row()),
		/* Points of the last seconds, with what was queued. */
		since: (seconds) => series.range(seconds).filter((p) =>
		    p.queued !== null),
		tick() {
			if (app.door.state !== "open")
				return;
			if (!ENDED.has(row().status))
				series.add(row());
			draw();
		},
	};
}
