/*
 * tab_problems.js -- failures, error answers and skipped URLs, grouped by reason
 * while the crawl still runs, and what can be done about them.
 */
import { button, each, el, later, put, select } from "./dom.js";
import { showMoment } from "./bits.js";
import { count, hostOf, many } from "./format.js";
import { icon } from "./icons.js";
import { act, copyButton, empty } from "./say.js";
import { ENDED } from "./crawls.js";
import { linksHere } from "./page.js";

const KINDS = [["", "All kinds"], ["exception", "Exceptions"],
	["status", "Error answers"], ["skipped", "Skipped"]];
const ASK_MS = 2000;
const RANK = { exception: 0, status: 1, skipped: 2 };
/* The rules would leave these out again. */
const FOR_GOOD = new Set(["scope", "depth", "cost", "mime", "url"]);

/* Escape a text for use in a regular expression. */
const escapeRegex = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/* The meaning of each reason. */
const MEANS = {
	// Exceptions.
	dns: "The host's name could not be resolved.",
	connect: "No connection to the host could be made.",
	tls: "No secure connection could be made: the certificate was not " +
	    "accepted, or the TLS handshake failed.",
	timeout: "No answer came in time.",
	reset: "The connection broke off.",
	protocol: "The answer is not valid HTTP.",
	redirects: "Too many redirects, or a loop of them.",
	decode: "The body could not be decoded.",
	// Skips.
	robots: "robots.txt forbids it.",
	scope: "A rule leaves it out.",
	depth: "It is further from the seeds than the policy allows.",
	cost: "It costs more than the policy allows.",
	mime: "Its media type is not kept.",
	limit: "A limit of the crawl was reached.",
	url: "It cannot be fetched, or it looks like a trap.",
	blocked: "It leads to a private or local address " +
	    "(fetch.allow_private permits them).",
};

/*
 * The sample URLs of a group, each with the cause of its newest failure; ""
 * where the server says no more than the reason.  A URL may be listed twice.
 */
function samplesOf(p) {
	const causes = new Map();

	(p.urls ?? []).forEach((url, i) => {
		const cause = p.causes?.[i] ?? "";

		if (!causes.has(url))
			causes.set(url, cause === p.reason ? "" : cause);
	});
	return [...causes].map(([url, cause]) => ({ url, cause }));
}

export function problemsTab(root, { id, row, app, open }) {
	const q = new URLSearchParams(location.search);
	const find = el("input", { type: "search", "data-find": true,
	    placeholder: "Filter by reason, cause or URL",
	    value: q.get("find"),
	    "aria-label": "Filter problems by reason, cause or URL" });
	const kind = select(KINDS, q.get("kind") ?? "",
	    { "aria-label": "Filter problems by kind" });
	const groups = el("div.groups", null), none = el("div", null);
	let problems = null, asked = "", askedAt = 0, wrong = "";

	root.append(el("div.filters", { role: "search" }, find, kind), groups,
	    none);

	function make(p) {
		const n = { count: el("b.count", null),
		    first: el("time", null), last: el("time", null),
		    samples: el("ul.samples", null) };
		const retry = p.kind !== "status" && app.may("realtime") &&
		    !FOR_GOOD.has(p.reason) &&
		    button("", { onclick: () => again(p, retry) },
		    icon("retry"), " Retry");
		const node = el("article.group", null, el("div.group-head", null,
		    n.count, el("h3", null, el(`span.kind.k-${p.kind}`, null,
		    { exception: "exception", status: "answer",
		    skipped: "skipped" }[p.kind] ?? p.kind), " ", p.reason),
		    el("span.grow", null), retry,
		    p.kind === "status" && button("", { onclick: () =>
		    open("pages", { status: p.reason }) }, "Show the pages"),
		    app.may("realtime") && p.kind !== "skipped" && button("",
		    { onclick: () => open("rules", { pattern: patternFor(p) })
		    }, icon("ban"), " Exclude…")),
		    el("p.means", null, MEANS[p.reason] ?? "", " First ",
		    n.first, ", last ", n.last, "."), n.samples);

		node.parts = n;
		node.retry = retry;
		return node;
	}

	function update(node, p) {
		const n = node.parts;

		put(n.count, count(p.count));
		showMoment(n.first, p.first_at);
		showMoment(n.last, p.last_at);
		if (node.retry)
			node.retry.hidden = ENDED.has(row().status);
		each(n.samples, samplesOf(p), (s) => s.url, ({ url }) => {
			const cause = el("span.cause", null);
			const li = el("li", null, el("span.url", null, url),
			    copyButton(() => url, "this URL"),
			    button(".quiet", { onclick: () =>
			    open("frontier", { find: url }) }, "why?"),
			    p.kind !== "skipped" && linksHere(id, url, app),
			    cause);

			li.cause = cause;
			return li;
		}, (li, s) => {
			put(li.cause, s.cause);
			li.cause.hidden = s.cause === "";
		});
	}

	/* A pattern of the samples' hosts, which the user edits. */
	function patternFor(p) {
		const hosts = [...new Set((p.urls ?? []).map(hostOf))]
		    .filter((h) => h !== "");

		return hosts.length === 0 ? "" : "^https?://" +
		    (hosts.length === 1 ? escapeRegex(hosts[0]) :
		    "(" + hosts.map(escapeRegex).join("|") + ")") + "/";
	}

	function again(p, retry) {
		act(retry, async () => {
			const data = await app.door.ask("job.retry",
			    { crawl_id: id, reason: p.reason });
			app.toast(`${many(data.requeued, "URL")} wait again.`,
			    "good");
			ask();
		});
	}

	function draw() {
		const text = find.value.trim().toLowerCase();
		const fit = (problems ?? []).filter((p) => (kind.value === "" ||
		    p.kind === kind.value) && (text === "" ||
		    [p.reason, ...p.urls ?? [], ...p.causes ?? []].some((s) =>
		    s.toLowerCase().includes(text)))).sort((a, b) => RANK[a.kind] -
		    RANK[b.kind] || b.count - a.count);

		each(groups, fit, (p) => p.kind + " " + p.reason, make, update);
		if (wrong !== "")
			empty(none, "The problems could not be listed", wrong);
		else if (problems === null)
			none.replaceChildren(el("p.loading", null, "Asking…"));
		else if (problems.length === 0)
			empty(none, "Nothing went wrong", "What fails, is " +
			    "skipped or is answered with an error appears here " +
			    "while the crawl still runs.");
		else if (fit.length === 0)
			empty(none, "No problem fits these filters",
			    `There are ${count(problems.length)} groups in all.`);
		else
			none.replaceChildren();
	}

	async function ask() {
		const r = row();

		asked = [r.exception, r.skipped, r.error, r.not_found].join();
		askedAt = Date.now();
		try {
			const data = await app.door.ask("list_problems",
			    { crawl_id: id });
			problems = data.groups ?? [];
			wrong = "";
		} catch (e) {
			wrong = e.code === "lost" ? "" : e.message;
		}
		draw();
	}

	const filter = () => {
		app.query({ find: find.value.trim(), kind: kind.value });
		draw();
	};
	find.oninput = later(filter, 120);
	kind.onchange = filter;
	draw();
	ask();
	return {
		tick() {
			const r = row();
			if (app.door.state === "open" && Date.now() - askedAt >
			    ASK_MS && asked !== [r.exception, r.skipped,
			    r.error, r.not_found].join())
				ask();
			else
				draw();
		},
	};
}
