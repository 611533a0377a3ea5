/*
 * items.js -- items: a list to search in, a form for a new one, and what all
 * views of the items door share.
 */
import { button, clear, each, el, field, later, put, set, table }
    from "./dom.js";
import { follow, moment, showMoment } from "./bits.js";
import { count, listOf, plain } from "./format.js";
import { icon } from "./icons.js";
import { empty, form } from "./say.js";

const PAGE = 100, SHOWN_MAX = 1000;    // the server's longest list

/* --- what the views share ------------------------------------------------ */

/* A URL's path ends with no "." or "..", whichever way they are written. */
export const hasNoPath = (id) => id === "." || id === "..";

/* The item at the server; "add" there is another request. */
export function itemPath(id) {
	return "/items/" + (id === "add" ? "%61dd" : encodeURIComponent(id));
}

export function taskPath(task) {
	return "/tasks/" + encodeURIComponent(task);
}

export function pairPath(id, task) {
	return itemPath(id) + "/operations/" + encodeURIComponent(task);
}

/* The address of an item's view, perhaps with a task's runs. */
export function itemView(id, task) {
	return "/browse/items/" + encodeURIComponent(id) + (task ? "?task=" +
	    encodeURIComponent(task) : "");
}

/* A link to an item's view. */
export function itemLink(id, task) {
	return hasNoPath(id) ? el("span.id", { title: "No address can name " +
	    "this item; give it an alias." }, id) : el("a.id", { href:
	    itemView(id, task), title: id.length > 80 ? plain(id) : null },
	    plain(id));
}

/*
 * A link to where a change of the task is tried on the item, perhaps at a
 * place of the source; null: no address can name the item.
 */
export function tryLink(id, task, place) {
	const q = new URLSearchParams({ item: id, task, ...place });

	return hasNoPath(id) ? null : el("a.button", { href: "/browse/try?" + q,
	    "aria-label": `Try a change of ${plain(task)} on ${plain(id)}` },
	    icon("flask"), " Try a change");
}

/* A link to the failures of a task, or of all. */
export function failuresLink(task, text) {
	return el("a", { href: "/browse/failures?task=" +
	    encodeURIComponent(task) }, text);
}

export function tagText(t) {
	return plain(t.name + (t.value === null || t.value === undefined ? "" :
	    "=" + t.value));
}

/* What is in a text field, "name=value", as a tag's name and value. */
export function tagOf(text) {
	const at = text.indexOf("=");

	return at < 0 ? { name: text, value: null } :
	    { name: text.slice(0, at), value: text.slice(at + 1) };
}

const VIEWS = [["items", "Items"], ["tasks", "Tasks"],
	["failures", "Failures"], ["worklist", "Worklist"]];

/* The links between the views; `here` is the one that is shown. */
export function itemTabs(here) {
	return el("nav.tabs", { "aria-label": "Views of items" }, VIEWS.map(
	    ([path, text]) => el("a.tab", { href: "/browse/" + path,
	    "aria-current": path === here ? "page" : null }, text)));
}

/* A state of a pair: a colour and the word. */
export function pairState(state) {
	const node = el("span.pair", null);

	showPairState(node, state);
	return node;
}

export function showPairState(node, state) {
	node.className = "pair p-" + state;
	put(node, state);
}

/* --- the list ------------------------------------------------------------ */

export function items(root, params, app) {
	const q = new URLSearchParams(location.search);
	const find = el("input", { type: "search", "data-find": true,
	    placeholder: "The beginning of an id", value: q.get("find"),
	    "aria-label": "Find items by the beginning of their id" });
	const tag = el("input", { type: "search", placeholder:
	    "A tag, or tag=value", value: q.get("tag"), "aria-label":
	    "Only items with this tag" });
	const box = el("div", null, el("p.loading", null, "Asking…"));
	const more = button("", { hidden: true, onclick: () => read(true) },
	    "More items");
	const total = el("p.total", null), adding = el("div", null);
	let rows = [], next = null, asked = 0;

	root.append(itemTabs("items"), el("div.head", null, el("h1", null,
	    "Items"), app.may("items") && button(".primary", { onclick: () =>
	    newItem(adding, app) }, icon("plus"), " New item")), adding,
	    el("div.filters", { role: "search" }, find, tag), box, more,
	    total);

	const list = table("Items", ["Id", "Tags", "Changed", ["Revision",
	    "num"]], []), body = list.querySelector("tbody");

	/* All that is shown again, or the next ones behind it. */
	async function read(onwards) {
		const mine = ++asked;
		const { name, value } = tagOf(tag.value.trim());
		const p = new URLSearchParams({ limit: onwards ? PAGE :
		    Math.max(PAGE, rows.length) });

		if (find.value.trim() !== "")
			p.set("prefix", find.value.trim());
		if (name !== "")
			p.set("tag", name);
		if (name !== "" && value !== null)
			p.set("value", value);
		if (onwards)
			p.set("after", next);
		try {
			const answer = await app.web.get("/items?" + p);
			if (mine !== asked || !box.isConnected)
				return;
			rows = onwards ? rows.concat(answer.items) :
			    answer.items;
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
		put(total, rows.length === 0 ? "" : next === null ?
		    `${count(rows.length)} in all` :
		    `the first ${count(rows.length)}`);
		if (rows.length === 0) {
			empty(box, "No item fits", find.value || tag.value ?
			    "Change the filter above." : "Items come from " +
			    "seeds of the configuration, from tasks, and from " +
			    "POST /items/add.");
			return;
		}
		if (list.parentNode !== box)
			clear(box, list);
		each(body, rows, (x) => x.id, makeRow, updateRow);
	}

	function makeRow(x) {
		const row = el("tr", null, el("th", { scope: "row" },
		    itemLink(x.id)), el("td.tags", null), el("td", null,
		    moment(x.updated_at)), el("td.num", null));

		row.rev = 0;
		return row;
	}

	function updateRow(row, x) {
		const tags = JSON.stringify(x.tags);

		showMoment(row.cells[2].firstChild, x.updated_at);
		put(row.cells[3], count(x.rev));
		if (row.tags === tags)
			return;
		row.tags = tags;
		clear(row.cells[1], x.tags.map((t) => el("a.tag", { href:
		    "/browse/items?tag=" + encodeURIComponent(t.name) },
		    tagText(t))));
	}

	const changed = later(() => {
		app.query({ find: find.value.trim(), tag: tag.value.trim() });
		rows = [];
		read(false);
	}, 200);
	find.oninput = changed;
	tag.oninput = changed;
	return follow(app, () => rows.length <= SHOWN_MAX && read(false));
}

/* The form of a new item, in `place`. */
function newItem(place, app) {
	const id = el("input", { maxlength: "1024" });
	const tags = el("input", null);
	const data = el("textarea.mono", { rows: "6", spellcheck: "false" },
	    "{}");
	const wrong = el("p.wrong", { role: "alert" });
	const done = el("button.primary", null, icon("save"), " Add");

	async function send() {
		put(wrong, "");
		for (const input of [id, tags, data])
			set(input, "aria-invalid", null);
		try {
			const made = await app.web.post("/items/add", {
			    ...(id.value !== "" && { id: id.value }),
			    tags: listOf(tags.value),
			    data: objectOf(data.value), failIfExists: true });
			app.go(itemView(made.id));
		} catch (e) {
			const at = { id, tags, data }[e.message.split(/\W/)[0]];
			put(wrong, e.message);
			if (at) {
				set(at, "aria-invalid", "true");
				at.focus();
			}
		}
	}

	clear(place, form(".card", done, send, el("h2", null, "New item"),
	    field("Id", id, "Prefix it with its namespace, as in " +
	    "EAN:20060503. Empty: one is made."), field("Tags", tags,
	    "name or name=value, with commas between them."),
	    field("Data", data, "A JSON object."), wrong, el("div.buttons",
	    null, button("", { onclick: () => clear(place) }, "Leave it"),
	    done)));
	id.focus();
}

/* The JSON object that is in a text; throws a sentence. */
export function objectOf(text) {
	let value;

	try {
		value = JSON.parse(text);
	} catch (e) {
		throw new Error("data: " + e.message);
	}
	if (typeof value !== "object" || value === null || Array.isArray(value))
		throw new Error("data: a JSON object is wanted, as in {\"url\": " +
		    "\"https://shop.example/\"}");
	return value;
}
