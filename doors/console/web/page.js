/*
 * page.js -- one page as it was captured: heads, timing, digest, links,
 * duplicates, and its body.
 */
import { button, clear, el, put, svg } from "./dom.js";
import { bodyPart } from "./body.js";
import { crumbs, moment, statusBadge } from "./bits.js";
import { bytes, count, exact, many, pathOf, span } from "./format.js";
import { icon } from "./icons.js";
import { copyButton } from "./say.js";

const LINKS_MAX = 200;

export function page(root, [id, number], app) {
	const box = el("div", null, el("p.loading", null, "Reading the page…"));
	const go = (n) => {
		if (n >= 1)
			app.go(`/crawls/${id}/pages/${n}`);
	};

	root.append(box);
	app.door.ask("get_page", { crawl_id: id, number, body: false,
	    duplicates: false }).then(
	    (p) => {
		if (box.isConnected)
			show(clear(box), p, id, number, app);
	}, (e) => clear(box, crumbs(id, number), el("section.empty", null,
	    el("h1", null, `No page ${number}`), el("p", null, e.message),
	    el("a.button", { href: "/crawls/" + id }, "To the crawl"))));
	return { key(e) {
		if (e.key === "[")
			go(number - 1);
		else if (e.key === "]")
			go(number + 1);
		else
			return false;
		return true;
	} };
}

function show(root, p, id, number, app) {
	const last = app.crawls.rows.get(id)?.pages ?? Infinity;
	const link = (n, text, picture) => el("a.button.quiet", { href:
	    `/crawls/${id}/pages/${n}`, "aria-label": text, title: text,
	    hidden: n < 1 || n > last }, icon(picture));
	const base = `/crawls/${id}/pages/${number}`;
	const facts = el("dl.facts", null), archived = p.archived !== false;
	const fact = (name, ...value) => facts.append(el("dt", null, name),
	    el("dd", null, ...value));

	app.title(p.title || p.url);
	fact("Asked for", el("span.url", null, p.url), copyButton(() => p.url,
	    "the URL"));
	if (p.final_url && p.final_url !== p.url)
		fact("Answered by", el("span.url", null, p.final_url),
		    copyButton(() => p.final_url, "the final URL"));
	fact("Captured", exact(p.started_at) + " (", moment(p.started_at), ")");
	if (p.hops?.length > 1)
		fact("Took", span(p.duration) + " with its redirects");
	fact("Type", p.type || "not said");
	fact("Size", bytes(p.body_length) + " received" + (p.truncated ?
	    ", cut at a limit" : ""));
	fact("Depth", count(p.depth));
	if (p.via)
		fact("Found on", el("span.url", null, p.via));
	fact("Digest", p.digest ? [el("code", null, p.digest),
	    copyButton(() => p.digest, "the digest")] : "none");
	if (p.duplicate)
		fact("Body", "the same as an earlier one's" + (archived ?
		    ": archived as a revisit" : ""));
	if (!archived)
		fact("Archive", "none: the crawl was begun with --no-archive");

	root.append(crumbs(id, number), el("div.head", null,
	    statusBadge(p.status_code), el("h1", null, p.title ||
	    pathOf(p.url)), el("span.grow", null), link(number - 1,
	    "The page before", "left"), link(number + 1, "The next page",
	    "right"), archived && el("a.button", { href: base + "/record",
	    download: `crawl-${id}-page-${number}.warc.gz` }, icon("save"),
	    " WARC record")), el("div.page-top", null, el("section.card", null,
	    facts), timing(p)), ...(archived ? kept(p, base, app) : []),
	    duplicates(p, app));
}

/* What is read from the archive. */
function kept(p, base, app) {
	return [bodyPart(p, base, "Body"), heads(p), links(p),
	    el("section", null, el("h2", null, "Links to this page"),
	    linksHere(p.crawl_id, p.url, app))];
}

/* --- timing ------------------------------------------------------------- */

const PHASES = [["dns", "DNS"], ["connect", "Connect"], ["tls", "TLS"],
	["first_byte", "Wait"], ["total", "Receive"]];

/* Times are since the start; a phase begins where the one before it ends. */
function timing(p) {
	const t = p.timing ?? {}, total = t.total ?? p.duration ?? 0;
	const rows = [];
	let from = 0;

	for (const [key, name] of PHASES) {
		const to = t[key];
		if (to === null || to === undefined || to < 0)
			continue;
		rows.push([name, from, Math.max(from, to)]);
		from = Math.max(from, to);
	}
	return el("section.card.timing", null, el("h2", null,
	    "Timing of the answer, ", span(total)), rows.length === 0 ?
	    el("p.help", null,
	    "The phases are not known.") : el("table", { "aria-label":
	    "Timing by phase" }, el("tbody", null, rows.map(([name, a, b]) =>
	    el("tr", null, el("th", { scope: "row" }, name), el("td.bar", null,
	    bar(a, b, total)), el("td.num", null, span(b - a)))))));
}

function bar(a, b, total) {
	const x = (v) => total > 0 ? 100 * v / total : 0;

	return svg("svg.phase", { viewBox: "0 0 100 8",
	    preserveAspectRatio: "none", "aria-hidden": "true" },
	    svg("rect.track", { width: 100, height: 8 }), svg("rect", {
	    x: Math.min(99, x(a)).toFixed(2), height: 8,
	    width: Math.max(1, x(b) - x(a)).toFixed(2) }));
}

/* --- heads, links, duplicates ------------------------------------------- */

function heads(p) {
	const hops = p.hops ?? [];

	return el("section", null, el("h2", null, hops.length > 1 ?
	    many(hops.length, "exchange") + ": redirects, then the answer" :
	    "Request and answer"), hops.map((h, i) => el("details.hop", { open:
	    i === hops.length - 1 }, el("summary", null, el("span.url", null,
	    h.url), " ", h.at ? el("span.help", null, exact(h.at)) : ""),
	    el("div.two", null, el("div", null, el("h3", null, "Request"),
	    el("pre", { tabindex: "0", "aria-label": "Request head" },
	    h.request?.trimEnd() || "not archived")), el("div", null,
	    el("h3", null, "Answer"), el("pre", { tabindex: "0", "aria-label": "Answer head" },
	    h.response?.trimEnd() || "not archived"))), h.file &&
	    el("p.help", null,
	    "In ", el("code", null, h.file), ` at ${count(h.offset)}, ` +
	    `${count(h.length)} bytes packed`, h.record_id ? ", record " : "",
	    h.record_id ? el("code", null, h.record_id) : ""))));
}

function links(p) {
	const all = p.links ?? [], find = el("input", { type: "search",
	    placeholder: "Filter links", "data-find": true,
	    "aria-label": "Filter links", oninput: draw });
	const list = el("ul.samples.tall", { tabindex: "0",
	    "aria-label": "Links found" }), told = el("p.help", null);

	function draw() {
		const text = find.value.trim().toLowerCase();
		const fit = all.filter((u) => u.toLowerCase().includes(text));

		clear(list, fit.slice(0, LINKS_MAX).map((u) => el("li", null,
		    el("span.url", null, u), el("a.button.quiet", { href:
		    `/crawls/${p.crawl_id}?tab=frontier&find=` +
		    encodeURIComponent(u) }, "what became of it?"))));
		put(told, fit.length > LINKS_MAX ? `The first ${LINKS_MAX} of ` +
		    `${count(fit.length)}; filter to see others.` : "");
	}

	draw();
	return el("section", null, el("h2", null, many(p.links_total ??
	    all.length, "link") + " found"), all.length === 0 ? null :
	    [all.length > 20 && el("div.filters", null, find), list, told]);
}

/*
 * A button that lists the pages that link to `url`: the archive is read for
 * them, some of the crawl at a time, while the answer is on the screen.
 */
export function linksHere(crawl, url, app) {
	const told = el("p.help", { "aria-live": "polite" });
	const list = el("ul.samples.tall", { hidden: true, tabindex: "0",
	    "aria-label": "Pages that link here" });
	const go = button("", { onclick: () => {
		go.disabled = true;
		put(told, "Reading the archived pages…");
		look().catch((e) => {
			go.disabled = false;
			put(told, e.message);
		});
	} }, "Which pages link here?");
	const box = el("div.links-here", null, go, told, list);

	function tell(data) {
		const so_far = data.looked === undefined ? "" :
		    ` among the first ${many(data.looked, "page")}`;

		put(told, data.limited ? many(data.total, "page") +
		    ` found${so_far}; no more are read ` +
		    "(feed.links_pages_max)." : data.looked !== undefined ?
		    `So far ${many(data.total, "page")}${so_far}…` :
		    data.total === 0 ? "No archived page links here." :
		    many(data.total, "page") + " found" + (data.total >
		    data.pages.length ? `, the first ${LINKS_MAX} shown.` :
		    "."));
	}

	async function look() {
		const data = await app.door.ask("list_pages", { crawl_id: crawl,
		    links_to: url, size: LINKS_MAX, partial: true });
		const more = data.looked !== undefined && !data.limited;

		list.hidden = data.pages.length === 0;
		clear(list, data.pages.map((d) => el("li", null, el("a",
		    { href: `/crawls/${crawl}/pages/${d.number}` },
		    el("span.url", null, d.url)), " ", d.title ?? "")));
		tell(data);
		if (more && box.isConnected)
			await look();
		else
			go.disabled = false;
	}

	return box;
}

/* The search goes on while the page is open, part of the crawl at a time. */
function duplicates(p, app) {
	const title = el("h2", null), list = el("ul.samples", null);
	const told = el("p.help", null);
	const box = el("section", { hidden: true }, title, list, told);

	async function look() {
		const data = await app.door.ask("list_pages", { crawl_id:
		    p.crawl_id, digest: p.digest, size: 101, partial: true });
		const others = data.pages.filter((d) => d.number !== p.number);

		box.hidden = others.length === 0;
		put(title, many(data.total - (data.looked < p.number ? 0 : 1),
		    "other page") + " with the same body");
		clear(list, others.map((d) => el("li", null, el("a", { href:
		    `/crawls/${p.crawl_id}/pages/${d.number}` },
		    el("span.url", null, d.url)), " ", d.started_at ?
		    moment(d.started_at) : "")));
		put(told, data.looked === undefined ? "" : "So far: of the " +
		    `first ${count(data.looked)} pages.`);
		if (data.looked !== undefined && box.isConnected)
			await look();
	}

	/* The page is complete without them. */
	if (p.digest && p.body_length > 0)
		look().catch(() => {});
	return box;
}
