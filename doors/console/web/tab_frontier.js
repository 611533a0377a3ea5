/*
 * tab_frontier.js -- what is next: hosts with their queues and when they may be
 * asked, the next URLs; and what became of one URL.
 */
import { clear, each, el, put, set, table } from "./dom.js";
import { moment } from "./bits.js";
import { brief, count, many, span } from "./format.js";
import { copyButton, empty, form } from "./say.js";

const HOSTS = 100, URLS = 100;

export function frontierTab(root, { id, row, app }) {
	const q = new URLSearchParams(location.search);
	const url = el("input.grow", { type: "text", "data-find": true,
	    value: q.get("find"), spellcheck: "false", inputmode: "url",
	    placeholder: "A URL: is it known? when is it fetched? why not?",
	    "aria-label": "Look up a URL in this crawl" });
	const go = el("button", null, "Look up");
	const answer = el("div", { "aria-live": "polite" });
	const none = el("div", null);
	const hosts = el("tbody", null), urls = el("tbody", null);
	const total = el("p.total", null);
	const both = el("div.two", { hidden: true },
	    part("Hosts", ["Host", ["Queued", "num"], "State", ["Delay",
	    "num"], ["Next", "num"]], hosts), part("Next URLs", ["URL",
	    ["Depth", "num"], ["Cost", "num"]], urls));
	let view = null;

	const finder = form(".filters", go, () => {
		app.query({ find: url.value.trim() });
		return look();
	}, url, go);

	set(finder, "role", "search");
	root.append(finder, answer, total, both, none);

	function part(title, heads, body) {
		return el("section", null, el("h3", null, title),
		    table(title, heads, body));
	}

	function makeHost() {
		const n = [el("th.url", { scope: "row" }), el("td.num", null),
		    el("td", null), el("td.num", null), el("td.num", null)];
		const word = el("span", null);

		n[2].append(word);
		return Object.assign(el("tr", null, n), { n, word });
	}

	function drawHost({ n, word }, h) {
		const left = (h.next_at ?? 0) - Date.now() / 1000;

		put(n[0], h.host);
		put(n[1], count(h.queued));
		word.className = "host-state h-" + h.state;
		put(word, { backoff: "back-off" }[h.state] ?? h.state);
		put(n[3], span(h.delay));
		put(n[4], h.state === "ready" || left <= 0 ? "now" : "in " +
		    (left < 10 ? left.toFixed(1) + " s" : brief(left)));
	}

	function draw() {
		if (view === null)
			return;
		both.hidden = view.queued === 0 && view.hosts.length === 0;
		each(hosts, view.hosts, (h) => h.host, makeHost, drawHost);
		each(urls, view.urls, (u) => u.url, (u) => el("tr", null,
		    el("td.url", { title: u.url }, u.url), el("td.num", null,
		    u.depth), el("td.num", null, count(u.cost))));
		put(total, both.hidden ? "" : `${many(view.queued, "URL")} ` +
		    `queued, ${count(view.in_flight)} in flight` +
		    (view.hosts.length >= HOSTS ? `; the ${HOSTS} longest ` +
		    "queues are shown" : ""));
		if (both.hidden)
			empty(none, "Nothing is queued", row().status ===
			    "complete" ? "Every URL that was found is done or " +
			    "was skipped." : "URLs appear here when they are " +
			    "found and wait to be fetched.");
		else
			none.replaceChildren();
	}

	async function look() {
		const text = url.value.trim();

		if (text === "") {
			answer.replaceChildren();
			return;
		}
		let f;
		try {
			f = await app.door.ask("find_url", { crawl_id: id,
			    url: text });
		} catch (e) {
			clear(answer, el("p.wrong", null, e.message));
			return;
		}
		const row = (name, ...value) => value[0] === null ||
		    value[0] === undefined || value[0] === "" ? null :
		    [el("dt", null, name), el("dd", null, value)];
		const h = f.host, v = f.verdict;
		clear(answer, el("section.card.found", null, el("h3", null,
		    f.known ? "Known: " + f.state : "Not known"), el("dl.facts",
		    null, row("URL", el("span.url", null, f.url ?? text),
		    copyButton(() => f.url ?? text, "the URL")),
		    row("Reason", f.text ? `${f.reason}: ${f.text}` :
			f.reason),
		    f.robots && row("robots.txt", f.robots.text),
		    row("Depth", f.known ? f.depth : null),
		    row("Cost", f.known ? f.cost : null),
		    f.found_at && row("Found", moment(f.found_at)),
		    f.due && row("Due", moment(f.due)),
		    f.number && row("Page", el("a", { href:
		    `/crawls/${id}/pages/${f.number}` }, "number " +
		    f.number)),
		    h && row("Its host", `${h.state}, ${count(h.queued)} queued` +
		    `, a delay of ${span(h.delay)}`, h.next_at ? [", next ",
		    moment(h.next_at)] : ""),
		    v && row("If it were found", (v.take ? "taken" : "skipped" +
		    (v.reason ? " (" + v.reason + ")" : "")) + ": " +
		    (v.text ?? "")))));
	}

	const sub = app.door.subscribe("subscribe_frontier", { crawl_id: id,
	    hosts: HOSTS, urls: URLS, min_interval: 1 }, (data) => {
		view = data;
		draw();
	}, (e) => empty(none, "The queue could not be shown", e.message));
	if (url.value !== "")
		look();
	return {
		close: () => sub.close(),
		tick: draw,
	};
}
