/* worklist.js -- what is due next, for the items with a tag. */
import { clear, each, el, put, select, table } from "./dom.js";
import { follow, moment, showMoment } from "./bits.js";
import { count, many, plain } from "./format.js";
import { empty } from "./say.js";
import { itemLink, itemTabs, pairState, showPairState } from "./items.js";

const TAGS_MAX = 10000, TAGS_PAGE = 1000, ROWS = 100;

/* All tags, as far as a configuration may have them. */
async function allTags(app) {
	let all = [], next = "";

	do {
		const answer = await app.web.get(`/tags?limit=${TAGS_PAGE}` +
		    (next === "" ? "" : "&after=" + encodeURIComponent(next)));
		all = all.concat(answer.tags);
		next = answer.next;
	} while (next !== null && all.length < TAGS_MAX);
	return all;
}

export function worklist(root, params, app) {
	const q = new URLSearchParams(location.search);
	const tag = select([["", "Choose a tag"]], "", { "aria-label": "Tag" });
	const task = select([["", "All its tasks"]], "", { "aria-label":
	    "Task" });
	const box = el("div", null, el("p.loading", null, "Asking…"));
	const total = el("p.total", null);
	let tags = [];

	root.append(itemTabs("worklist"), el("div.head", null, el("h1", null,
	    "Worklist")), el("p.help", null, "What runs next, of the items " +
	    "with a tag, in its order. Looking changes nothing."),
	    el("div.filters", null, tag, task), box, total);

	const list = table("Worklist", ["Item", "Task", "State", "Due"], []);
	const body = list.querySelector("tbody");

	async function readTags() {
		tags = await allTags(app);
		tag.replaceChildren(el("option", { value: "" },
		    "Choose a tag"), ...tags.map((t) => el("option",
		    { value: t.name }, `${plain(t.name)} (${many(t.items,
		    "item")})`)));
		tag.value = tags.some((t) => t.name === q.get("tag")) ?
		    q.get("tag") : tags.find((t) => t.tasks.length > 0)
		    ?.name ?? "";
		tellTasks(q.get("task") ?? "");
	}

	function tellTasks(chosen) {
		const of = tags.find((t) => t.name === tag.value)?.tasks ?? [];

		task.replaceChildren(el("option", { value: "" },
		    "All its tasks"), ...of.map((t) => el("option",
		    { value: t }, plain(t))));
		task.value = of.includes(chosen) ? chosen : "";
		task.disabled = of.length === 0;
	}

	async function read() {
		try {
			if (tags.length === 0)
				await readTags();
			if (!box.isConnected)
				return;
			if (tag.value === "")
				tellNone();
			else
				await readRows();
		} catch (e) {
			empty(box, "The worklist could not be read", e.message);
		}
	}

	function tellNone() {
		put(total, "");
		if (tags.length === 0)
			empty(box, "No item has a tag", "Tags select tasks: " +
			    "without one, an item is only kept.");
		else
			empty(box, "No tag is chosen", "Tags select tasks.");
	}

	async function readRows() {
		const mine = tag.value + " " + task.value;
		const { worklist: rows } = await app.web.get("/tags/" +
		    encodeURIComponent(tag.value) + `/worklist?limit=${ROWS}` +
		    (task.value === "" ? "" : "&task=" + encodeURIComponent(
		    task.value)));

		if (mine !== tag.value + " " + task.value || !box.isConnected)
			return;
		put(total, rows.length === ROWS ? `The first ${count(ROWS)}.` :
		    "");
		if (rows.length === 0) {
			empty(box, "Nothing is due", "All results are fresh, " +
			    "or wait for something: the item's view says for " +
			    "what.");
			return;
		}
		if (list.parentNode !== box)
			clear(box, list);
		each(body, rows, (r) => r.task + " " + r.id, makeRow, (row, r) =>
		    {
			showPairState(row.cells[2].firstChild, r.state);
			showMoment(row.cells[3].firstChild, r.due_at);
			if (r.due_at === null)
				put(row.cells[3].firstChild, "now");
		});
	}

	function makeRow(r) {
		return el("tr", null, el("th", { scope: "row" }, itemLink(r.id,
		    r.task)), el("td", null, el("a", { href: "/browse/tasks?" +
		    "find=" + encodeURIComponent(r.task) }, plain(r.task))),
		    el("td", null, pairState(r.state)), el("td", null,
		    moment(r.due_at)));
	}

	tag.onchange = () => {
		tellTasks("");
		app.query({ tag: tag.value, task: "" });
		read();
	};
	task.onchange = () => {
		app.query({ task: task.value });
		read();
	};
	return follow(app, read);
}
