/*
 * tasks.js -- tasks: how many pairs are in which state, why a task waits, what
 * it used; and failures, grouped by their message.
 */
import { button, clear, each, el, field, put, select, table } from "./dom.js";
import { follow, moment } from "./bits.js";
import { bytes, count, many, quoted, span } from "./format.js";
import { icon } from "./icons.js";
import { act, dialog, empty } from "./say.js";
import { itemCrumbs, itemLink } from "./items.js";

const STATES = ["unprocessed", "stale", "fresh", "expired", "retry", "leased",
	"blocked", "failed"];
const taskPath = (task) => "/tasks/" + encodeURIComponent(task);

export function tasks(root, params, app) {
	const box = el("div", null, el("p.loading", null, "Asking…"));
	const about = el("p.help", null);

	root.append(itemCrumbs(), el("div.head", null, el("h1", null,
	    "Tasks")), about, box);

	const list = table("Tasks", ["Task", ...STATES.map((s) => [s, "num"]),
	    ["Runs", "num"], ["CPU", "num"], ["Fetches", "num"], "State", ""],
	    []), body = list.querySelector("tbody");

	async function read() {
		try {
			const [{ tasks: all }, config] = await Promise.all([
			    app.web.get("/tasks"),
			    app.web.get("/items-config")]);
			tellConfig(config);
			if (all.length === 0) {
				empty(box, "No task", "Tasks come from the " +
				    "file that the setting items.config names.");
				return;
			}
			if (list.parentNode !== box)
				clear(box, list);
			each(body, all, (t) => JSON.stringify(t), rowOf);
		} catch (e) {
			empty(box, "The tasks could not be listed", e.message);
		}
	}

	function tellConfig(c) {
		const r = c.rewriting;

		put(about, c.generation === 0 ? "No configuration is loaded." :
		    `Configuration ${c.generation}, loaded ` +
		    new Date(c.loaded_at).toLocaleString() + (r ?
		    `; rewriting ${count(r.done)} of ${count(r.total)} pairs` :
		    "") + ".");
	}

	function stateOf(t) {
		if (t.tripped)
			return el("span.wrong", null, "tripped: too many " +
			    "failures; handle them to go on");
		return t.paused ? "paused" : t.waiting ? "waits: " + t.waiting :
		    t.rewriting ? "rewriting" : "runs";
	}

	function rowOf(t) {
		const flip = button("", { onclick: async () => {
			await act(flip, () => app.web.post(taskPath(t.task) +
			    (t.paused ? "/resume" : "/pause"), {}));
			read();
		} }, icon(t.paused ? "play" : "pause"), t.paused ? " Resume" :
		    " Pause");
		const again = button("", { onclick: async () => {
			if (!await app.ask(`Run ${quoted(t.task)} on all items ` +
			    "again?", "All its results become stale. They stay " +
			    "until they are replaced.", "Make them stale"))
				return;
			await act(again, () => app.web.post(taskPath(t.task) +
			    "/expire", {}));
			read();
		} }, icon("retry"), " Again");

		return el("tr", { id: encodeURIComponent(t.task) }, el("th",
		    { scope: "row" }, t.task, " ", el("span.tag", null,
		    "version " + t.version)), STATES.map((s) => el("td.num",
		    null, s === "failed" && t.counts[s] > 0 ? el("a", { href:
		    "/browse/failures?task=" + encodeURIComponent(t.task) },
		    count(t.counts[s])) : count(t.counts[s]))), el("td.num",
		    null, count(t.used.runs)), el("td.num", null,
		    span(t.used.cpu_ms / 1000)), el("td.num", { title:
		    bytes(t.used.bytes) }, count(t.used.fetches)), el("td",
		    null, stateOf(t)), el("td.acts", null, app.may("items") &&
		    [flip, again]));
	}

	return follow(app, read);
}

/* --- failures ------------------------------------------------------------ */

export function failures(root, params, app) {
	const q = new URLSearchParams(location.search);
	const task = select([["", "Choose a task"]], "", { "aria-label":
	    "Task" });
	const groups = el("div.groups", null), none = el("div", null);

	root.append(itemCrumbs(), el("div.head", null, el("h1", null,
	    "Failures")), el("div.filters", null, task), groups, none);

	async function read() {
		if (task.value === "") {
			clear(groups);
			empty(none, "No task is chosen", "Failures are grouped " +
			    "by their message, for each task.");
			return;
		}
		try {
			const { groups: all } = await app.web.get(
			    taskPath(task.value) + "/failures?group=message" +
			    "&handled=false");
			clear(none);
			if (all.length === 0)
				empty(none, "No failure waits for you",
				    "Handled ones are kept for 30 days.");
			each(groups, all, (g) => JSON.stringify(g), groupOf);
		} catch (e) {
			empty(none, "The failures could not be read", e.message);
		}
	}

	function groupOf(g) {
		const handle = app.may("items") && button(".primary", { onclick:
		    () => ask(g) }, icon("retry"), " Retry, or handle");

		return el("article.group", null, el("div.group-head", null,
		    el("b.count", null, count(g.n)), el("h3", null, g.message),
		    handle), el("p.help", null, "first ", moment(g.first_at),
		    ", last ", moment(g.last_at)), el("ul.samples", null,
		    g.items.map((id) => el("li", null, itemLink(id), " ",
		    button("", { onclick: () => look(id) }, "Details")))));
	}

	/* The newest failure of an item, with its stack. */
	async function look(id) {
		try {
			const { failures: all } = await app.web.get(
			    taskPath(task.value) +
			    "/failures?handled=false&limit=1000");
			const f = all.filter((x) => x.item === id).pop();
			if (f)
				dialog(`${f.task} on ${id}`, details(f), [["",
				    "Close", "primary"]], true);
		} catch (e) {
			app.toast(e.message, "bad");
		}
	}

	function details(f) {
		const d = f.error_data;
		const captures = d.captures ?? [];

		return el("div", null, el("p", null, (d.class ?? "Error") + ": " +
		    (d.message ?? "") + (d.code ? ` (${d.code})` : "") + ", ",
		    moment(f.occurred_at)), d.stack && el("pre", { tabindex:
		    "0" }, d.stack), d.source && el("pre", { tabindex: "0" },
		    d.source), captures.length > 0 && el("p", null, "Pages: ",
		    captures.map((c) => [el("a", { href:
		    `/crawls/${c.crawl}/pages/${c.seq}` },
		    `crawl ${c.crawl}, page ${c.seq}`), " "])), el("pre",
		    { tabindex: "0" }, JSON.stringify(d, null, 2)));
	}

	async function ask(g) {
		const note = el("input", { maxlength: "1000" });
		const chosen = await dialog(`${many(g.n, "failure")} of ` +
		    task.value, el("div", null, el("p", null, g.message),
		    field("Note", note, "What was wrong, for whoever looks " +
		    "here next.")), [["", "Leave them", ""], ["park",
		    "Handle, and do not retry", ""], ["retry", "Retry all",
		    "primary"]]);

		if (chosen === "")
			return;
		try {
			const done = await app.web.post(taskPath(task.value) +
			    "/failures/handle", { message: g.message,
			    retry: chosen === "retry", note: note.value });
			app.toast(`${many(done.handled, "failure")} handled, ` +
			    `${count(done.requeued)} to run again.`, "good");
			read();
		} catch (e) {
			app.toast(e.message, "bad");
		}
	}

	task.onchange = () => {
		app.query({ task: task.value });
		read();
	};
	app.web.get("/tasks").then(({ tasks: all }) => {
		task.append(...all.map((t) => el("option", { value: t.task },
		    t.task + (t.counts.failed > 0 ? ` (${count(t.counts.failed)}` +
		    " parked)" : ""))));
		task.value = q.get("task") ?? "";
		read();
	}, (e) => empty(none, "The tasks could not be listed", e.message));
	return follow(app, () => task.value !== "" && read());
}
