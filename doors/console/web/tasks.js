/*
 * tasks.js -- tasks: how many pairs are in which state, why a task waits, what
 * it used; and the configuration that they come from.
 */
import { button, clear, each, el, later, put, set } from "./dom.js";
import { follow, moment } from "./bits.js";
import { bytes, count, many, plain, quoted, span } from "./format.js";
import { icon } from "./icons.js";
import { act, dialog, empty } from "./say.js";
import { failuresLink, itemTabs, taskPath } from "./items.js";

/* As they matter: what is to be done, then what is done. */
const STATES = ["failed", "blocked", "retry", "leased", "unprocessed", "stale",
	"expired", "fresh"];
const MEANS = {
	failed: "parked: a person has to handle the failure",
	blocked: "waits for the result of another task",
	retry: "failed, and is tried again by itself",
	leased: "runs now", unprocessed: "has no result so far",
	stale: "its result is to be made anew",
	expired: "its result has reached its age",
	fresh: "has a result that counts",
};

export function tasks(root, params, app) {
	const q = new URLSearchParams(location.search);
	const find = el("input", { type: "search", "data-find": true,
	    placeholder: "Filter by name", value: q.get("find"),
	    "aria-label": "Filter tasks by name" });
	const box = el("div", null, el("p.loading", null, "Asking…"));
	const groups = el("div.groups", null);
	const config = configPart(app, () => read());
	let all = [];

	root.append(itemTabs("tasks"), el("div.head", null, el("h1", null,
	    "Tasks"), config.reload), config, el("div.filters",
	    { role: "search" }, find), box);
	find.oninput = later(() => {
		app.query({ find: find.value.trim() });
		draw();
	}, 150);

	async function read() {
		try {
			const [{ tasks: now }, loaded] = await Promise.all([
			    app.web.get("/tasks"),
			    app.web.get("/items-config")]);
			if (!box.isConnected)
				return;
			all = now;
			config.show(loaded);
			draw();
		} catch (e) {
			empty(box, "The tasks could not be listed", e.message);
		}
	}

	function draw() {
		const fits = all.filter((t) => t.task.includes(
		    find.value.trim()));

		find.parentNode.hidden = all.length < 2;
		if (fits.length === 0) {
			empty(box, all.length === 0 ? "No task" :
			    "No task has such a name", all.length === 0 ?
			    "Tasks come from the file that the setting " +
			    "items.config names." : "Change the filter above.");
			return;
		}
		if (groups.parentNode !== box)
			clear(box, groups);
		each(groups, fits, (t) => t.task, (t) => taskCard(app, t, read),
		    (node, t) => node.show(t));
	}

	return follow(app, read);
}

/* --- the configuration --------------------------------------------------- */

function configPart(app, read) {
	const text = el("span", null), files = el("span", null);
	const progress = el("progress", { hidden: true, "aria-label":
	    "Pairs that are rewritten" });
	const wrong = el("div", { role: "alert" });
	const node = el("section.card.config", null, el("p", null, text, files,
	    " ", progress), wrong);

	node.reload = app.may("items") && button("", { onclick: load },
	    icon("retry"), " Reload the configuration");

	/* The old one stays when the file is faulty; its faults are shown. */
	async function load() {
		clear(wrong);
		node.reload.disabled = true;
		try {
			const { generation } = await app.web.post(
			    "/items-config/reload", {});
			app.toast(`Configuration ${count(generation)} is ` +
			    "loaded.", "good");
		} catch (e) {
			clear(wrong, el("p.wrong", null, "The file was " +
			    "refused; the configuration stays as it was."),
			    (e.data?.faults ?? [e.message]).map((f) =>
			    el("pre.fault", null, plain(f))));
		}
		node.reload.disabled = false;
		read();
	}

	async function source(path) {
		try {
			const code = await app.web.text("/items-config/files/" +
			    path.split("/").map(encodeURIComponent).join("/"));
			dialog(plain(path), el("pre", { tabindex: "0", role:
			    "region", "aria-label": "Source" }, plain(code)),
			    [["", "Close", "primary"]], true);
		} catch (e) {
			app.toast(e.message, "bad");
		}
	}

	let shown = 0;
	node.show = (c) => {
		const r = c.rewriting;

		progress.hidden = r === null;
		if (r !== null) {
			set(progress, "max", Math.max(1, r.total));
			set(progress, "value", r.done);
			progress.title = `rewriting ${count(r.done)} of ` +
			    many(r.total, "pair");
		}
		if (shown === c.generation + c.hash)
			return;
		shown = c.generation + c.hash;
		node.hidden = c.generation === 0;
		clear(text, `Configuration ${count(c.generation)}, loaded `,
		    moment(c.loaded_at), c.files.length > 0 ? ", from " : ".");
		clear(files, c.files.map((path, i) => [i > 0 && ", ",
		    button(".quiet.file", { onclick: () => source(path),
		    "data-local": true }, plain(path))]));
	};
	return node;
}

/* --- one task ------------------------------------------------------------ */

/* What it does, or why it does nothing: [word, sentence, colour]. */
function stateOf(t) {
	const c = t.counts;
	const due = c.unprocessed + c.stale + c.expired;

	if (t.tripped)
		return ["tripped", "too many failures: nothing runs until they " +
		    "are handled", "failed"];
	if (t.paused)
		return ["paused", "nothing runs until it is resumed", "paused"];
	if (t.waiting)
		return ["waits", plain(t.waiting), "pending"];
	if (c.leased > 0)
		return ["runs", many(c.leased, "run") + " under way",
		    "running"];
	if (t.rewriting)
		return ["runs", "its pairs are being rewritten", "running"];
	if (c.failed > 0 && due === 0)
		return ["failed", `${many(c.failed, "pair")} parked: a person ` +
		    "has to handle the failures", "failed"];
	if (c.blocked > 0 && due === 0)
		return ["waits", `${many(c.blocked, "pair")} blocked until ` +
		    "other tasks are done", "pending"];
	return due > 0 ? ["runs", many(due, "pair") + " due", "running"] :
	    ["idle", "nothing is due", "complete"];
}

const PICTURES = { failed: "failed", paused: "paused", pending: "pending",
	running: "running", complete: "complete" };

function taskCard(app, task, read) {
	const name = task.task, may = app.may("items");
	const badge = el("span.badge", null), why = el("span.help", null);
	const version = el("span.tag", null), bar = el("div.states", {
	    "aria-hidden": "true" }), legend = el("ul.state-list", null);
	const used = el("p.help", null);
	const flip = may && button("", null), again = may && button("", {
	    "aria-label": `Run ${plain(name)} on all items again`,
	    onclick: expire }, icon("retry"), " All again");
	const node = el("article.group.task", { id: "task-" + name },
	    el("div.group-head", null, el("h2.id", null, plain(name)), version,
	    badge, why, el("span.grow", null), flip, again), bar, legend,
	    used);
	let now = task;

	if (may)
		flip.onclick = async () => {
			await act(flip, () => app.web.post(taskPath(name) +
			    (now.paused || now.tripped ? "/resume" : "/pause"),
			    {}));
			read();
		};

	async function expire() {
		if (!await app.ask(`Run ${quoted(plain(name))} on all items ` +
		    "again?", "All its results become stale. They stay until " +
		    "they are replaced.", "Make them stale"))
			return;
		await act(again, () => app.web.post(taskPath(name) + "/expire",
		    {}));
		read();
	}

	node.show = (t) => {
		const [word, sentence, colour] = stateOf(t);

		now = t;
		put(version, "version " + plain(t.version));
		badge.className = "badge state-" + colour;
		if (badge.dataset.word !== word) {
			badge.dataset.word = word;
			clear(badge, icon(PICTURES[colour]), word);
		}
		put(why, sentence);
		showStates(bar, legend, t);
		put(used, usedText(t));
		if (may)
			showFlip(flip, t);
	};
	return node;
}

function showFlip(flip, t) {
	const word = t.tripped || t.paused ? "Resume" : "Pause";

	if (flip.dataset.word === word)
		return;
	flip.dataset.word = word;
	flip.setAttribute("aria-label", `${word} ${plain(t.task)}`);
	clear(flip, icon(word === "Pause" ? "pause" : "play"), " " + word);
}

function showStates(bar, legend, t) {
	const some = STATES.filter((s) => t.counts[s] > 0);

	bar.hidden = some.length === 0;
	each(bar, some, (s) => s, (s) => el(`span.p-${s}`, null),
	    (node, s) => {
		node.style.flexGrow = t.counts[s];
		node.title = `${count(t.counts[s])} ${s}`;
	});
	if (some.length === 0) {
		legend.rowsByKey = undefined;
		clear(legend, el("li.help", null, "No item has a tag that " +
		    "maps to it."));
		return;
	}
	each(legend, some, (s) => s, (s) => {
		const figure = el("b", null);
		const li = el("li", { title: MEANS[s] }, el(`span.swatch.p-${s}`,
		    null), s === "failed" ? failuresLink(t.task, [figure, " " +
		    s]) : [figure, " " + s]);

		li.figure = figure;
		return li;
	}, (li, s) => put(li.figure, count(t.counts[s])));
}

function usedText(t) {
	const u = t.used;

	return u.runs === 0 ? "It has not run so far." : `${many(u.runs, "run")
	    }, ${span(u.wall_ms / u.runs / 1000)} each; CPU ${span(u.cpu_ms /
	    1000)}; ${many(u.fetches, "request")}, ${bytes(u.bytes)}`;
}
