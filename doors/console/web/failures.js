/*
 * failures.js -- failures that no one has handled, grouped by their message;
 * one of a group with its source, its stack and the pages that it was given.
 */
import { button, clear, each, el, field, put, select } from "./dom.js";
import { follow, showMoment } from "./bits.js";
import { count, many, plain } from "./format.js";
import { icon } from "./icons.js";
import { act, dialog, empty } from "./say.js";
import { itemLink, itemTabs, taskPath, tryLink } from "./items.js";
import { errorPart, placeOf } from "./runs.js";

const TASKS_MAX = 20;                  // tasks that are asked at once
const PAGES_MAX = 10, PAGE = 500;      // of failures, to find one

export function failures(root, params, app) {
	const q = new URLSearchParams(location.search);
	const task = select([["", "All tasks"]], "", { "aria-label": "Task" });
	const groups = el("div.groups", null), none = el("div", null,
	    el("p.loading", null, "Asking…"));
	let known = "", wanted = q.get("task") ?? "";

	root.append(itemTabs("failures"), el("div.head", null, el("h1", null,
	    "Failures")), el("div.filters", null, task), groups, none);

	/* The tasks that can be chosen, and how many of their pairs are parked. */
	function tell(all) {
		const text = JSON.stringify(all.map((t) => [t.task,
		    t.counts.failed]));

		if (text === known)
			return;
		known = text;
		task.replaceChildren(el("option", { value: "" }, "All tasks"),
		    ...all.map((t) => el("option", { value: t.task },
		    plain(t.task) + (t.counts.failed > 0 ?
		    ` (${count(t.counts.failed)} parked)` : ""))));
		task.value = all.some((t) => t.task === wanted) ? wanted : "";
	}

	async function read() {
		try {
			const { tasks: all } = await app.web.get("/tasks");
			tell(all);
			const of = task.value !== "" ? [task.value] :
			    all.filter((t) => t.counts.failed + t.counts.retry +
			    t.counts.leased > 0).map((t) => t.task);
			const lists = await Promise.all(of.slice(0, TASKS_MAX)
			    .map(async (name) => (await app.web.get(taskPath(
			    name) + "/failures?group=message")).groups.map(
			    (g) => ({ ...g, task: name }))));
			if (none.isConnected)
				show(lists.flat(), of.length);
		} catch (e) {
			empty(none, "The failures could not be read", e.message);
		}
	}

	function show(all, asked) {
		clear(none);
		if (all.length === 0)
			empty(none, "No failure waits for you", "What was " +
			    "handled is kept for 30 days, and a later success " +
			    "handles what came before.");
		else if (asked > TASKS_MAX)
			none.append(el("p.total", null, `Only ${TASKS_MAX} of ` +
			    `${many(asked, "task")} are shown: choose one ` +
			    "above."));
		each(groups, all, (g) => g.task + " " + g.message,
		    (g) => groupCard(app, g, read), (node, g) => node.show(g));
	}

	task.onchange = () => {
		wanted = task.value;
		app.query({ task: wanted });
		read();
	};
	return follow(app, read);
}

/* --- one group ----------------------------------------------------------- */

function groupCard(app, group, read) {
	const figure = el("b.count", null);
	const first = el("time", null), last = el("time", null);
	const more = el("span", null), samples = el("ul.items", null);
	const detail = el("div", { hidden: true });
	const may = app.may("items");
	const handle = may && button(".primary", { onclick: () => ask(app, now,
	    read) }, icon("retry"), " Retry, or handle…");
	const node = el("article.group.failure", null, el("div.group-head",
	    null, figure, el("h2.id", null, plain(group.message)),
	    el("span.tag", null, plain(group.task)), el("span.grow", null),
	    handle), el("p.means", null, "First ", first, ", last ", last,
	    more), samples, detail);
	let now = group, open = "";

	async function look(id) {
		open = open === id ? "" : id;
		mark();
		detail.hidden = open === "";
		if (open === "")
			return;
		clear(detail, el("p.loading", null, "Looking for it…"));
		const mine = id;
		try {
			const f = await failureOf(app, now, id);
			if (mine === open)
				clear(detail, f === null ? el("p.help", null,
				    "It was handled since.") : failurePart(app,
				    f, read));
		} catch (e) {
			clear(detail, el("p.wrong", null, e.message));
		}
	}

	function mark() {
		for (const li of samples.children)
			li.look?.setAttribute("aria-expanded", String(
			    li.look.dataset.id === open));
	}

	node.show = (g) => {
		now = g;
		put(figure, count(g.n));
		showMoment(first, g.first_at);
		showMoment(last, g.last_at);
		put(more, g.n > g.items.length ? `. The first ${count(
		    g.items.length)} items:` : ".");
		each(samples, g.items, (id) => id, (id) => {
			const look_ = button(".quiet", { "data-id": id,
			    "aria-expanded": "false", "aria-label":
			    "Details of " + plain(id), onclick: () => look(id)
			    }, "Details");
			const li = el("li", null, itemLink(id, g.task), look_);

			li.look = look_;
			return li;
		});
	};
	// The first one is open: where it happened is what people want to see.
	if (group.items.length > 0)
		look(group.items[0]).then(mark);
	return node;
}

/* The newest failure of the group at that item; null: none is left. */
async function failureOf(app, group, id) {
	let after = "", found = null;

	for (let i = 0; i < PAGES_MAX && found === null; i++) {
		const { failures: all, next } = await app.web.get(taskPath(
		    group.task) + `/failures?handled=false&limit=${PAGE}` +
		    (after === "" ? "" : "&after=" + encodeURIComponent(
		    after)));
		found = all.filter((f) => f.item === id && (f.error_data
		    ?.message ?? "") === group.message).pop() ?? null;
		if (next === null)
			break;
		after = next;
	}
	return found;
}

function failurePart(app, f, read) {
	const note = el("input", { maxlength: "1000", "aria-label": "Note",
	    placeholder: "A note, for whoever looks here next" });
	const send = async (b, retry) => {
		const done = await act(b, () => app.web.post(
		    `/failures/${f.id}/handle`, { retry, note: note.value }));

		if (done)
			tellHandled(app, done);
		read();
	};
	const again = button("", { onclick: () => send(again, true) },
	    icon("retry"), " Retry this one");
	const park = button("", { onclick: () => send(park, false) },
	    "Handle, and do not retry");

	return el("div.detail", null, el("div.head.small", null, el("h3.id",
	    null, plain(f.task), " on ", f.item === null ? "an item that is " +
	    "gone" : itemLink(f.item, f.task)), el("span.grow", null),
	    f.item !== null && app.may("items") && tryLink(f.item, f.task,
	    placeOf(f.error_data))), errorPart(f.error_data ?? {}, app), app.may("items") &&
	    el("div.buttons.left.note", null, note, again, park));
}

function tellHandled(app, done) {
	app.toast(`${many(done.handled, "failure")} handled, ${count(
	    done.requeued)} to run again.`, "good");
}

/* All of a group at once. */
async function ask(app, g, read) {
	const note = el("input", { maxlength: "1000" });
	const chosen = await dialog(`${many(g.n, "failure")} of ` +
	    plain(g.task), el("div", null, el("p.id", null, plain(g.message)),
	    field("Note", note, "What was wrong, for whoever looks here " +
	    "next.")), [["", "Leave them", ""], ["park",
	    "Handle, and do not retry", ""], ["retry", "Retry all",
	    "primary"]]);

	if (chosen === "")
		return;
	try {
		tellHandled(app, await app.web.post(taskPath(g.task) +
		    "/failures/handle", { message: g.message, retry: chosen ===
		    "retry", note: note.value }));
	} catch (e) {
		app.toast(e.message, "bad");
	}
	read();
}
