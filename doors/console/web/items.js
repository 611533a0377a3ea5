/*
 * items.js -- items: a list to search in, and one item with its data, tags,
 * aliases, operations, their runs, and blobs.
 */
import { button, clear, each, el, field, later, put, select, table }
    from "./dom.js";
import { follow, moment } from "./bits.js";
import { bytes, count, listOf, quoted, span } from "./format.js";
import { icon } from "./icons.js";
import { act, copyButton, dialog, empty, form } from "./say.js";

const PAGE = 100;

export const itemPath = (id) => "/items/" + encodeURIComponent(id);
const viewPath = (id) => "/browse" + itemPath(id);

/* A link to an item's view. */
export function itemLink(id) {
	return el("a", { href: viewPath(id) }, id);
}

export function tagText(t) {
	return t.name + (t.value === null || t.value === undefined ? "" :
	    "=" + t.value);
}

/* The links between the views of items. */
export function itemCrumbs(...here) {
	return el("p.crumbs", null, el("a", { href: "/browse/items" },
	    "Items"), " · ", el("a", { href: "/browse/tasks" }, "Tasks"),
	    " · ", el("a", { href: "/browse/failures" }, "Failures"), " · ",
	    el("a", { href: "/browse/worklist" }, "Worklist"), here.length > 0
	    && [" / ", here]);
}

/* --- the list ------------------------------------------------------------ */

export function items(root, params, app) {
	const q = new URLSearchParams(location.search);
	const find = el("input", { type: "search", "data-find": true,
	    placeholder: "An id, or its beginning", value: q.get("find"),
	    "aria-label": "Find items by the beginning of their id" });
	const tag = el("input", { type: "search", placeholder: "Tag",
	    value: q.get("tag"), "aria-label": "Only items with this tag" });
	const box = el("div", null, el("p.loading", null, "Asking…"));
	const more = button("", { hidden: true, onclick: () => read(false) },
	    "More items");
	const adding = el("div", null);
	let rows = [], next = null, asked = 0;

	root.append(itemCrumbs(), el("div.head", null, el("h1", null, "Items"),
	    app.may("items") && button(".primary", { onclick: add },
	    icon("plus"), " New item")), adding, el("div.filters",
	    { role: "search" }, find, tag), box, more);

	const list = table("Items", ["Id", "Tags", "Changed", ["Revision",
	    "num"]], []), body = list.querySelector("tbody");

	async function read(anew) {
		const mine = ++asked;
		const p = new URLSearchParams({ limit: PAGE });

		if (find.value.trim() !== "")
			p.set("prefix", find.value.trim());
		if (tag.value.trim() !== "")
			p.set("tag", tag.value.trim());
		if (!anew && next !== null)
			p.set("after", next);
		try {
			const answer = await app.web.get("/items?" + p);
			if (mine !== asked)
				return;
			rows = anew ? answer.items : rows.concat(answer.items);
			next = answer.next;
			draw();
		} catch (e) {
			if (mine === asked)
				empty(box, "The items could not be listed",
				    e.message);
		}
	}

	function draw() {
		more.hidden = next === null;
		if (rows.length === 0) {
			empty(box, "No item fits", find.value || tag.value ?
			    "Change the filter above." : "Items come from " +
			    "seeds of the configuration, from tasks, and from " +
			    "POST /items/add.");
			return;
		}
		if (list.parentNode !== box)
			clear(box, list);
		each(body, rows, (x) => x.id + " " + x.rev, (x) => el("tr",
		    null, el("th", { scope: "row" }, itemLink(x.id)),
		    el("td", null, x.tags.map((t) => el("span.tag", null,
		    tagText(t)))), el("td", null, moment(x.updated_at)),
		    el("td.num", null, count(x.rev))));
	}

	function add() {
		const id = el("input", { maxlength: "1024" });
		const tags = el("input", null);
		const data = el("textarea.mono", { rows: "6", spellcheck:
		    "false" }, "{}");
		const wrong = el("p.wrong", { role: "alert" });
		const done = el("button.primary", null, icon("save"), " Add");

		clear(adding, form(".card", done, async () => {
			try {
				const made = await app.web.post("/items/add", {
				    ...(id.value !== "" && { id: id.value }),
				    tags: listOf(tags.value),
				    data: JSON.parse(data.value),
				    failIfExists: true });
				app.go(viewPath(made.id));
			} catch (e) {
				put(wrong, e.message);
			}
		}, el("h2", null, "New item"), field("Id", id, "Prefix it with " +
		    "its namespace, as in EAN:20060503. Empty: one is made."),
		    field("Tags", tags, "name or name=value, with commas."),
		    field("Data", data, "A JSON object."), wrong,
		    el("div.buttons", null, button("", { onclick: () =>
		    clear(adding) }, "Leave it"), done)));
		id.focus();
	}

	const changed = later(() => {
		app.query({ find: find.value.trim(), tag: tag.value.trim() });
		read(true);
	}, 200);
	find.oninput = changed;
	tag.oninput = changed;
	read(true);
	return {};
}

/* --- one item ------------------------------------------------------------ */

export function item(root, params, app) {
	const id = decodeURIComponent(location.pathname.slice(
	    "/browse/items/".length));
	const head = el("div", null), box = el("div", null, el("p.loading",
	    null, "Reading the item…"));
	let shown = "";

	root.append(itemCrumbs(el("span", null, id)), head, box);

	async function read() {
		try {
			const [one, work, blobs] = await Promise.all([
			    app.web.get(itemPath(id)), app.web.get(itemPath(id) +
			    "/operations"), app.web.get(itemPath(id) +
			    "/blobs")]);
			const text = JSON.stringify([one, work, blobs]);
			if (text === shown || !box.isConnected)
				return;
			shown = text;
			show(one, work.operations, blobs.blobs ?? []);
		} catch (e) {
			if (shown === "")
				empty(box, `No item ${quoted(id)}`, e.message);
		}
	}

	/* Change it, say so, and show what it is now. */
	async function change(b, call, text) {
		const ok = await act(b, async () => {
			await call();
			return true;
		});

		if (ok) {
			app.toast(text, "good");
			read();
		}
	}

	function show(one, operations, blobs) {
		const may = app.may("items");
		const drop = button(".danger", null, icon("trash"), " Delete");

		app.title(one.id);
		drop.onclick = async () => {
			if (!await app.ask(`Delete item ${quoted(one.id)}?`,
			    "Its data, tags, aliases, results, failures and " +
			    "blobs go with it.", "Delete the item"))
				return;
			await act(drop, () => app.web.remove(itemPath(one.id)));
			app.go("/browse/items");
		};
		clear(head, el("div.head", null, el("h1", null, one.id),
		    copyButton(() => one.id, "the id"), el("span.grow", null),
		    may && drop));
		clear(box, facts(one, may), dataPart(one, may),
		    operationsPart(one, operations, may), blobsPart(one, blobs));
	}

	function facts(one, may) {
		const list = el("dl.facts", null);
		const fact = (name, ...value) => list.append(el("dt", null,
		    name), el("dd", null, value));
		const tag = el("input", { "aria-label": "A tag to add",
		    placeholder: "name=value" });
		const add = button("", { onclick: () => {
			const [name, ...rest] = tag.value.trim().split("=");
			change(add, () => app.web.put(itemPath(one.id) +
			    "/tags/" + encodeURIComponent(name),
			    { value: rest.length > 0 ? rest.join("=") : null }),
			    "The tag is set.");
		} }, icon("plus"), " Tag");

		fact("Tags", one.tags.map((t) => el("span.tag", null, tagText(t),
		    may && untag(one, t))), one.tags.length === 0 && "none ",
		    may && el("span.steering", null, tag, add));
		fact("Aliases", one.aliases.filter((a) => a !== one.id).map((a) =>
		    el("span.tag", null, a)), one.aliases.length < 2 && "none");
		fact("Made by", one.created_by === null ? "a person" :
		    itemLink(one.created_by));
		fact("Made", moment(one.created_at));
		fact("Changed", moment(one.updated_at), `, revision ${count(
		    one.rev)}`);
		return el("section.card", null, list);
	}

	function untag(one, t) {
		const b = button(".quiet", { title: "Remove", "aria-label":
		    "Remove the tag " + t.name, onclick: () => change(b, () =>
		    app.web.remove(itemPath(one.id) + "/tags/" +
		    encodeURIComponent(t.name)), "The tag is removed.") },
		    icon("close"));

		return b;
	}

	function dataPart(one, may) {
		const text = JSON.stringify(one.data, null, 2);
		const part = el("section.card", null, el("div.head.small", null,
		    el("h2.grow", null, "Data"), copyButton(() => text,
		    "the data"), may && button("", { onclick: () =>
		    edit(part, one, text) }, "Edit")), el("pre", { tabindex:
		    "0" }, text));

		return part;
	}

	function edit(part, one, text) {
		const input = el("textarea.mono", { rows: String(Math.min(24,
		    text.split("\n").length + 2)), spellcheck: "false",
		    "aria-label": "Data" }, text);
		const wrong = el("p.wrong", { role: "alert" });
		const save = el("button.primary", null, icon("save"), " Save");

		clear(part, form("", save, async () => {
			try {
				const now = JSON.parse(input.value);
				await app.web.patch(itemPath(one.id),
				    mergePatch(one.data, now), one.rev);
				app.toast("The data is saved.", "good");
				shown = "";
				read();
			} catch (e) {
				put(wrong, e.status === 412 ? "The item has " +
				    "changed meanwhile: leave this, and edit " +
				    "it again." : e.message);
			}
		}, el("h2", null, "Data"), input, wrong, el("div.buttons", null,
		    button("", { onclick: () => {
			shown = "";
			read();
		    } }, "Leave it"), save)));
		input.focus();
	}

	function operationsPart(one, operations, may) {
		const part = el("section", null, el("h2", null, "Operations"));

		if (operations.length === 0) {
			empty(part.appendChild(el("div", null)), "No task",
			    "None of its tags maps to a task.");
			return part;
		}
		part.append(table("Operations", ["Task", "State", "Due",
		    "Version", "Why", ["Failures", "num"], ""],
		    operations.map((o) => el("tr", null, el("th", { scope:
		    "row" }, el("a", { href: "/browse/tasks#" +
		    encodeURIComponent(o.task) }, o.task)), el("td", null,
		    o.state), el("td", null, o.due_at === null ? "–" :
		    moment(o.due_at)), el("td", null, o.task_version ?? "none",
		    o.task_version !== null && o.task_version !==
		    o.current_version && ` (now ${o.current_version})`),
		    el("td.help", null, o.blocked_by.map((b) =>
		    `${b.task}: ${b.reason.replaceAll("_", " ")}`)
		    .join(", ")), el("td.num", null, o.failures === 0 ? "0" :
		    el("a", { href: "/browse/failures?task=" +
		    encodeURIComponent(o.task) }, count(o.failures))),
		    el("td.acts", null, button("", { onclick: () =>
		    showRuns(one.id, o.task) }, "Runs"), may &&
		    expireButton(one, o))))));
		return part;
	}

	function expireButton(one, o) {
		const b = button("", { title: "Run it again, before others",
		    onclick: () => change(b, () => app.web.post(itemPath(one.id)
		    + `/operations/${encodeURIComponent(o.task)}/expire`,
		    { now: true }), `${o.task} will run again.`) },
		    icon("retry"), " Again");

		return b;
	}

	async function showRuns(of, task) {
		try {
			const { runs } = await app.web.get(itemPath(of) +
			    `/operations/${encodeURIComponent(task)}/runs`);
			dialog(`Runs of ${task}`, runs.length === 0 ? el("p",
			    null, "No run is kept.") : table("Runs", ["Run",
			    "Began", "Outcome", ["Attempt", "num"], "Version",
			    ["Took", "num"], ["CPU", "num"], ["Fetches",
			    "num"]], runs.map((r) => el("tr", null, el("th",
			    { scope: "row" }, r.run), el("td", null,
			    moment(r.started_at)), el("td", null, r.outcome),
			    el("td.num", null, count(r.attempt)), el("td", null,
			    r.task_version), el("td.num", null, span(r.wall_ms /
			    1000)), el("td.num", null, span(r.cpu_ms / 1000)),
			    el("td.num", null, count(r.fetches))))),
			    [["", "Close", "primary"]], true);
		} catch (e) {
			app.toast(e.message, "bad");
		}
	}

	function blobsPart(one, blobs) {
		return blobs.length === 0 ? null : el("section", null, el("h2",
		    null, "Blobs"), table("Blobs", ["Name", "Type", ["Size",
		    "num"], "SHA-256"], blobs.map((b) => el("tr", null,
		    el("th", { scope: "row" }, el("a", { href:
		    itemPath(one.id) + "/blobs/" + encodeURIComponent(b.name),
		    download: b.name }, b.name)), el("td", null, b.type),
		    el("td.num", null, bytes(b.bytes)), el("td.mono", null,
		    b.sha256)))));
	}

	return follow(app, read);
}

/* RFC 7396: what makes `now` of `was`. */
function mergePatch(was, now) {
	const isObject = (x) => typeof x === "object" && x !== null &&
	    !Array.isArray(x);

	if (!isObject(was) || !isObject(now))
		return now;
	const patch = {};
	for (const key of Object.keys(was))
		if (!Object.hasOwn(now, key))
			patch[key] = null;
	for (const [key, value] of Object.entries(now))
		if (JSON.stringify(was[key]) !== JSON.stringify(value))
			patch[key] = Object.hasOwn(was, key) ?
			    mergePatch(was[key], value) : value;
	return patch;
}

/* --- the worklist -------------------------------------------------------- */

export function worklist(root, params, app) {
	const q = new URLSearchParams(location.search);
	const tag = select([["", "Choose a tag"]], "", { "aria-label":
	    "Tag" });
	const box = el("div", null);

	root.append(itemCrumbs(), el("div.head", null, el("h1", null,
	    "Worklist")), el("p.help", null, "What a claim would hand out " +
	    "next, of the items with a tag. Nothing is claimed here."),
	    el("div.filters", null, tag), box);

	async function read() {
		if (tag.value === "") {
			empty(box, "No tag is chosen", "Tags select tasks.");
			return;
		}
		try {
			const { worklist: rows } = await app.web.get("/tags/" +
			    encodeURIComponent(tag.value) +
			    "/worklist?limit=100");
			if (rows.length === 0)
				empty(box, "Nothing is due", "All results are " +
				    "fresh, or their tasks wait.");
			else
				clear(box, table("Worklist", ["Item", "Task",
				    "State", "Due"], rows.map((r) => el("tr",
				    null, el("th", { scope: "row" },
				    itemLink(r.id)), el("td", null, r.task),
				    el("td", null, r.state), el("td", null,
				    r.due_at === null ? "now" :
				    moment(r.due_at))))));
		} catch (e) {
			empty(box, "The worklist could not be read", e.message);
		}
	}

	tag.onchange = () => {
		app.query({ tag: tag.value });
		read();
	};
	app.web.get("/tags").then(({ tags }) => {
		tag.append(...tags.map((t) => el("option", { value: t.name },
		    `${t.name} (${count(t.items)})`)));
		tag.value = q.get("tag") ?? "";
		read();
	}, (e) => empty(box, "The tags could not be read", e.message));
	return follow(app, () => tag.value !== "" && read());
}
