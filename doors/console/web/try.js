/*
 * try.js -- a change of a task, tried on an item: the source beside the
 * archived page, and what the task would do with it and without it.  Nothing
 * is saved.
 */
import { button, clear, el, put, select, tabBar } from "./dom.js";
import { copyButton, empty, form } from "./say.js";
import { diffPart, lineDiff } from "./diff.js";
import { bytes, many, plain, plainJson, span } from "./format.js";
import { icon } from "./icons.js";
import { failuresLink, hasNoPath, itemLink, itemPath, itemTabs, pairPath,
    pairState } from "./items.js";
import { faultPart, newestRecord, pagesPart, placeOf }
    from "./runs.js";

const LINE_PX = 18, CONTEXT = 3;

/* Changed sources by their path, {base, text}; they last as long as the tab. */
const drafts = new Map();

export function tryTask(root, params, app) {
	const q = new URLSearchParams(location.search);
	const id = q.get("item") ?? "", task = q.get("task") ?? "";
	const box = el("div", null, el("p.loading", null,
	    "Reading the source…"));

	root.append(itemTabs(""), el("p.crumbs", null, el("a", { href:
	    "/browse/items" }, "Items"), " / ", id === "" ? "?" :
	    itemLink(id, task), " / ", el("span", null, "Try")), box);
	if (id === "" || task === "" || hasNoPath(id))
		empty(box, "Nothing to try", "The address names no item and " +
		    "task. “Try a change” in an item or a failure leads here.");
	else if (!app.may("items"))
		empty(box, "Your token may not try tasks", "It lacks the " +
		    "scope items:write: a trial runs the source that you " +
		    "enter.");
	else
		begin(box, app, { id, task, file: q.get("file"),
		    line: Number(q.get("line")) });
	return {};
}

async function begin(box, app, asked) {
	const path = pairPath(asked.id, asked.task);

	try {
		const [item, config, { runs }] = await Promise.all([
		    app.web.get(itemPath(asked.id)), app.web.get(
		    "/items-config"), app.web.get(path + "/runs")]);
		const record = await newestRecord(app, path, runs);
		if (box.isConnected)
			await show(box, app, asked, item, config.files, record);
	} catch (e) {
		empty(box, "It cannot be tried", e.message);
	}
}

/* Where to begin: as asked, where the last run failed, or the task itself. */
function startOf(asked, files, record) {
	const fault = placeOf(record?.error);

	if (files.includes(asked.file))
		return asked;
	return fault !== null && files.includes(fault.file) ? fault :
	    { file: files[0], line: 0 };
}

async function show(box, app, asked, item, files, record) {
	const editor = editorPart(app, files, asked.task);
	const beside = besidePart(app, item, record?.fetches ??
	    record?.error?.captures ?? []);
	const archived = el("input", { type: "checkbox", checked: true });
	const go = el("button.primary", null, icon("play"), " Try it");
	const result = el("section.result", null);
	const said = el("p.unseen", { role: "status" });

	async function send() {
		const changes = editor.changes();

		try {
			const [now, then] = await simulate(app, asked,
			    archived.checked, changes);
			if (!result.isConnected)
				return;
			put(said, showResult(result, now, then, changes));
			editor.mark(placeOf(now.error));
		} catch (e) {
			clear(result, el("p.wrong", { role: "alert" },
			    e.message));
		}
	}

	if (files.length === 0) {
		empty(box, "No source", "This server has no configuration.");
		return;
	}
	app.title("Try " + plain(asked.task));
	clear(box, el("div.head", null, el("h1.id", null, "Try " +
	    plain(asked.task))), el("p.help", null, "Change the source and " +
	    "see what the task would do with this item. Nothing is saved, " +
	    "neither the source nor a result. When it works, copy it into " +
	    "your file, reload the configuration in ", el("a", { href:
	    "/browse/tasks" }, "Tasks"), " and retry the ", failuresLink(
	    asked.task, "failures"), "."), el("div.two.try", null,
	    form(".card", go, send, editor, el("div.line", null,
	    el("label.check", null, archived, " Read archived pages only, " +
	    "ask no site"), el("span.grow", null), go)), beside), said, result);
	editor.onkeydown = (e) => {
		if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) {
			e.preventDefault();
			go.click();
		}
	};
	const start = startOf(asked, files, record);
	await editor.open(start.file, start.line);
}

/* What the task does now, and what it does as configured; the same if nothing
 * was changed. */
async function simulate(app, { id, task }, archived, changes) {
	const path = pairPath(id, task) + "/simulate";
	const then = app.web.post(path, { archived });
	const now = changes.length === 0 ? then : app.web.post(path,
	    { archived, files: Object.fromEntries(changes.map((c) => [c.path,
	    c.text])) });

	return Promise.all([now, then]);
}

/* --- the source ---------------------------------------------------------- */

/* Where the task's own function begins: `task: {`; 1: not found. */
function lineOfTask(text, task) {
	return text.split("\n").findIndex((l) => {
		const t = l.trimStart().replace(/^["']/, "");
		return t.startsWith(task) && /^["']?\s*:/.test(t.slice(
		    task.length));
	}) + 1;
}

function editorPart(app, files, task) {
	const text = el("textarea.code", { spellcheck: "false", wrap: "off",
	    autocapitalize: "off", autocomplete: "off" });
	const numbers = el("pre.numbers", { "aria-hidden": "true" });
	const band = el("div.band", { hidden: true });
	const told = el("span.help", { "aria-live": "polite" });
	const pick = select(files.map((f) => [f, plain(f)]), files[0],
	    { onchange: () => open(pick.value) });
	const undo = button("", { hidden: true, onclick: takeBack },
	    icon("retry"), " Undo my change");
	const sources = new Map();
	let path = "", marked = null;

	async function open(next, line = 0) {
		// A textarea has no carriage returns.
		if (!sources.has(next))
			sources.set(next, (await app.web.text(
			    "/items-config/files/" + next.split("/").map(
			    encodeURIComponent).join("/"))).replaceAll("\r\n",
			    "\n"));
		if (drafts.get(next)?.text === sources.get(next))
			drafts.delete(next);
		path = pick.value = next;
		text.value = drafts.get(path)?.text ?? sources.get(path);
		text.setAttribute("aria-label", "Source of " + plain(path));
		changed();
		if (line > 0)
			mark({ file: path, line });
		lookAt(line || lineOfTask(text.value, task));
	}

	function lookAt(line) {
		text.scrollTop = Math.max(0, line - 6) * LINE_PX;
		scroll();
	}

	function mark(place) {
		marked = place;
		scroll();
	}

	function scroll() {
		numbers.scrollTop = text.scrollTop;
		band.hidden = marked === null || marked.file !== path;
		if (!band.hidden)
			band.style.top = (marked.line - 1) * LINE_PX + 8 -
			    text.scrollTop + "px";
	}

	function changed() {
		const base = sources.get(path), draft = drafts.get(path);

		if (text.value === base)
			drafts.delete(path);
		else
			drafts.set(path, { base: draft?.base ?? base,
			    text: text.value });
		undo.hidden = text.value === base;
		put(told, text.value === base ? "" : draft !== undefined &&
		    draft.base !== base ? "Changed by you, and loaded anew " +
		    "since you began" : "Changed by you");
		put(numbers, text.value.split("\n").map((_, i) => i + 1)
		    .join("\n") + "\n");
		scroll();
	}

	function takeBack() {
		drafts.delete(path);
		text.value = sources.get(path);
		changed();
		text.focus();
	}

	text.oninput = changed;
	text.onscroll = scroll;
	const node = el("div.editor", null, el("div.head.small", null,
	    el("h2", null, "Source"), files.length > 1 ? el("label", null,
	    el("span.unseen", null, "File"), pick) : el("span.id", null,
	    plain(files[0])), told, el("span.grow", null), undo,
	    copyButton(() => text.value, "the source")), el("div.source-box",
	    null, band, numbers, text), el("p.help", null, "Ctrl+Enter tries " +
	    "it. The marked line is where it failed."));
	node.open = open;
	node.mark = mark;
	/* The files that differ from the configuration's. */
	node.changes = () => [...drafts].filter(([p]) => files.includes(p))
	    .map(([p, d]) => ({ path: p, ...d }));
	return node;
}

/* --- what stands beside it ------------------------------------------------ */

function besidePart(app, item, captures) {
	const panel = el("div.panel", { role: "tabpanel", id: "beside" });
	const pages = pagesPart(captures, app, "text");
	const data = el("pre", { tabindex: "0", role: "region", "aria-label":
	    "Data" }, plainJson(item.data));
	const tabs = tabBar("Beside the source", "beside-", [["pages",
	    "Pages it read"], ["data", "The item's data"]], panel, open);

	function open(key) {
		tabs.mark(key);
		clear(panel, key === "data" ? data : pages);
	}

	open(captures.length > 0 ? "pages" : "data");
	return el("section.card.beside", null, tabs, panel);
}

/* --- what came of it ------------------------------------------------------ */

/* A simulation as lines: what it would change, how it failed, what it said. */
function linesOf(s) {
	const changes = s.mutations.flatMap((m) => [`${m.op} ${m.id}: ` +
	    m.effect, ...(m.diff === null ? ["    (too long to show)"] :
	    (m.diff ?? []).map((d) => `    ${d.path} ` + (d.op === "remove" ?
	    "is removed" : "= " + JSON.stringify(d.value))))]);

	return [...changes, ...(s.error ? ["fails: " + s.error.message] : []),
	    ...s.log.map((l) => `says (${l.category}): ${l.message}`)];
}

function sentenceOf(now, then, differs) {
	if (now === then)
		return now.ok ? "As configured it succeeds. The source is " +
		    "unchanged." : "As configured it fails. The source is " +
		    "unchanged.";
	if (now.ok && !then.ok)
		return "With your change it succeeds; as configured it fails.";
	if (!now.ok && then.ok)
		return "With your change it fails; as configured it succeeds.";
	if (!now.ok)
		return "It fails, with your change and as configured.";
	return differs ? "It succeeds, and does something else than as " +
	    "configured." : "It succeeds, and does the same as configured.";
}

function usedText(s) {
	const n = s.fetches.filter((f) => f.status !== undefined).length;

	return `Took ${span(s.used.wall_ms / 1000)}, CPU ${span(
	    s.used.cpu_ms / 1000)}, ${bytes(s.used.memory_bytes)} of memory; ` +
	    `read ${n === 0 ? "no page" : many(n, "page")}. Nothing was saved.`;
}

/* Returns what screen readers are to say of it. */
function showResult(node, now, then, changes) {
	const ours = linesOf(now), theirs = linesOf(then);
	const lines = now === then ? ours.map((l) => [" ", l]) :
	    lineDiff(theirs, ours);
	const differs = lines.some(([sign]) => sign !== " ");
	const sentence = sentenceOf(now, then, differs);

	clear(node, el("h2", null, pairState(now.ok ? "success" : "failure"),
	    " ", el("span", null, sentence)),
	    el("p.help", null, usedText(now)), lines.length === 0 ?
	    el("p.help", null, "It would change nothing.") : [el("h3", null,
	    differs ? "The difference: − as configured, + with your change" :
	    "What it would do"), diffPart(lines, "Difference", Infinity)],
	    now.error && [el("h3", null, "What went wrong"), faultPart(
	    now.error), now.error.code === "not_archived" && el("p.help",
	    null, "Such a page was never archived, or is behind a login. " +
	    "Untick “Read archived pages only” to have it fetched.")]);
	node.append(...changes.map((c) => el("details", null, el("summary",
	    null, "Your change of ", el("span.id", null, plain(c.path))),
	    diffPart(lineDiff(c.base.split("\n"), c.text.split("\n")),
	    "Change of " + plain(c.path), CONTEXT))));
	node.scrollIntoView({ block: "nearest" });
	return sentence;
}
