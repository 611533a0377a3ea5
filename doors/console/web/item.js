/*
 * item.js -- one item: data, tags, aliases, operations with their runs, blobs,
 * and the forms that change it.
 */
import { add, button, clear, each, el, put, table } from "./dom.js";
import { follow, moment, showMoment } from "./bits.js";
import { bytes, count, plain, plainJson, quoted } from "./format.js";
import { icon } from "./icons.js";
import { act, copyButton, empty, form } from "./say.js";
import { adder, mergeForm, renameForm, uploadForm } from "./item_forms.js";
import { failuresLink, itemLink, itemPath, itemTabs, objectOf, pairPath,
    pairState, showPairState, tagOf, tagText, tryLink } from "./items.js";
import { runsPart } from "./runs.js";

/* The id in the address; null: it is written badly. */
function idHere() {
	try {
		return decodeURIComponent(location.pathname.slice(
		    "/browse/items/".length));
	} catch {
		return null;
	}
}

export function item(root, params, app) {
	const asked = idHere();
	const may = app.may("items");
	const note = el("p.why-line.over", { hidden: true });
	const box = el("div", null, el("p.loading", null,
	    "Reading the item…"));
	let one = null, parts = null, over = false;

	root.append(itemTabs("items"), el("p.crumbs", null, el("a",
	    { href: "/browse/items" }, "Items"), " / ", el("span.id", null,
	    plain(asked ?? "?"))), note, box);
	if (asked === null) {
		empty(box, "No item", "The address names none: its percent " +
		    "signs are not in order.");
		return {};
	}

	async function read() {
		if (over)
			return;
		// Once it is known, its id: an alias may go while we look.
		const path = itemPath(one?.id ?? asked);

		try {
			const now = await app.web.get(path);
			const [work, blobs] = await Promise.all([path +
			    "/operations", path + "/blobs"].map((p) =>
			    app.web.get(p)));
			if (box.isConnected && !over)
				show(now, work.operations, blobs.blobs);
		} catch (e) {
			if (!(e instanceof app.web.WebError))
				throw e;
			failed(e);
		}
	}

	function failed(e) {
		over = e.status === 404;
		if (over && parts !== null) {
			note.hidden = false;
			put(note, "This item is gone: it was deleted since. " +
			    "What follows is how it was.");
		} else if (parts === null)
			empty(box, over ? "No such item" :
			    "The item could not be read", over ? "Nothing " +
			    "has the id or the alias " + quoted(plain(asked)) +
			    "." : e.message);
	}

	/* Change the item for a button, say so, and show what it is now. */
	async function change(b, call, text) {
		const fine = await act(b, async () => {
			await call();
			return true;
		});

		if (!fine)
			return false;
		app.toast(text, "good");
		await read();
		return true;
	}

	const context = { app, may, change, read, now: () => one };

	function show(now, operations, blobs) {
		one = now;
		if (parts === null) {
			app.title(plain(one.id));
			parts = [headPart(context), dataPart(context),
			    factsPart(context), operationsPart(context),
			    blobsPart(context)];
			clear(box, parts[0], el("div.two", null, parts[1],
			    parts[2]), parts[3], parts[4]);
		}
		note.hidden = one.id === asked || !one.aliases.includes(asked);
		put(note, `${quoted(plain(asked))} is an alias of this item.`);
		for (const part of parts)
			part.show(one, operations, blobs);
	}

	context.leave = () => {
		over = true;
		app.go("/browse/items");
	};
	return follow(app, read);
}

function headPart(context) {
	const { app, may, now, leave } = context;
	const title = el("h1.id", null), place = el("div", null);
	const forms = may && [button("", { onclick: () => renameForm(place,
	    context) }, "Rename…"), button("", { onclick: () => mergeForm(
	    place, context) }, "Merge…")];
	const drop = may && button(".danger", { onclick: remove },
	    icon("trash"), " Delete");

	async function remove() {
		const { id } = now();

		if (!await app.ask(`Delete item ${quoted(plain(id))}?`,
		    "Its data, tags, aliases, results, failures and blobs go " +
		    "with it.", "Delete the item"))
			return;
		if (await act(drop, () => app.web.remove(itemPath(id))))
			leave();
	}

	const node = el("div", null, el("div.head", null, title, copyButton(
	    () => now().id, "the id"), el("span.grow", null), forms, drop),
	    place);
	node.show = (one) => put(title, plain(one.id));
	return node;
}

/* --- data ---------------------------------------------------------------- */

function dataPart(context) {
	const { may, now } = context;
	const place = el("div", null);
	const change = may && button("", { onclick: edit }, "Edit");
	const rev = el("span.help", null);
	const text = el("pre", { tabindex: "0", role: "region",
	    "aria-label": "Data" });
	const node = el("section.card", null, el("div.head.small", null,
	    el("h2", null, "Data"), rev, el("span.grow", null),
	    copyButton(() => JSON.stringify(now().data, null, 2), "the data"),
	    change), place);
	let editing = false;

	function edit() {
		editing = true;
		change.hidden = true;
		editData(place, context, () => {
			editing = false;
			change.hidden = false;
			clear(place, text);
			node.show(now());
			change.focus();
		});
	}

	clear(place, text);
	node.show = (one) => {
		put(rev, "revision " + count(one.rev));
		if (!editing)
			put(text, plainJson(one.data));
	};
	return node;
}

/* The data as a text to change; only what was changed is sent. */
function editData(place, { app, now, read }, done) {
	const was = now();
	const text = plainJson(was.data);
	const input = el("textarea.mono", { rows: String(Math.min(24,
	    text.split("\n").length + 2)), spellcheck: "false",
	    "aria-label": "Data" }, text);
	const wrong = el("p.wrong", { role: "alert" });
	const save = el("button.primary", null, icon("save"), " Save");

	async function send() {
		put(wrong, "");
		try {
			const patch = mergePatch(was.data,
			    objectOf(input.value));
			await app.web.patch(itemPath(was.id), patch, was.rev);
			app.toast("The data is saved.", "good");
			await read();
			done();
		} catch (e) {
			put(wrong, e.status === 412 ? "The item has changed " +
			    "meanwhile. Copy what you need, leave this, and " +
			    "edit it again." : e.message);
		}
	}

	clear(place, form("", save, send, input, el("p.help", null,
	    "A member that is taken away, or is null, is removed."), wrong,
	    el("div.buttons", null, button("", { onclick: done }, "Leave it"),
	    save)));
	input.focus();
}

const isObject = (x) => typeof x === "object" && x !== null &&
    !Array.isArray(x);

/* RFC 7396: what makes `now` of `was`, both objects. */
export function mergePatch(was, now) {
	// Without a prototype "__proto__" is a name as any other.
	const patch = Object.create(null);

	for (const key of Object.keys(was))
		if (!Object.hasOwn(now, key))
			patch[key] = null;
	for (const [key, value] of Object.entries(now)) {
		const old = Object.hasOwn(was, key) ? was[key] : undefined;

		if (JSON.stringify(old) === JSON.stringify(value))
			continue;
		patch[key] = isObject(old) && isObject(value) ?
		    mergePatch(old, value) : value;
	}
	return patch;
}

/* --- tags, aliases, times ------------------------------------------------ */

function factsPart(context) {
	const { may } = context;
	const list = el("dl.facts", null), parts = {};
	const fact = (name, ...more) => {
		parts[name] = el("span", null);
		list.append(el("dt", null, name), el("dd", null, parts[name],
		    more));
	};

	fact("Tags", may && adder("A tag to add", "name or name=value", "Tag",
	    (b, text) => addTag(context, b, text)));
	fact("Aliases", may && adder("An alias to add", "another id", "Alias",
	    (b, text) => addAlias(context, b, text)));
	fact("Made by");
	fact("Made");
	fact("Changed");

	const node = el("section.card", null, el("h2", null, "About it"), list);
	node.show = (one) => {
		const aliases = one.aliases.filter((a) => a !== one.id);

		each(parts.Tags, nonesOf(one.tags), (t) => t === null ? "" :
		    tagText(t), (t) => t === null ? noneNode() : tagNode(
		    context, t));
		each(parts.Aliases, nonesOf(aliases), (a) => a ?? "", (a) =>
		    a === null ? noneNode() : aliasNode(context, a));
		if (parts["Made by"].firstChild === null)
			parts["Made by"].append(one.created_by === null ?
			    "a person, a program or a seed" :
			    itemLink(one.created_by));
		showMoment(parts.Made, one.created_at);
		showMoment(parts.Changed, one.updated_at);
	};
	return node;
}

const noneNode = () => el("span.help", null, "none");
const nonesOf = (list) => list.length === 0 ? [null] : list;

function addTag({ app, now, change }, b, text) {
	const { name, value } = tagOf(text);

	return change(b, () => app.web.put(itemPath(now().id) + "/tags/" +
	    encodeURIComponent(name), { value }), "The tag is set.");
}

function addAlias({ app, now, change }, b, text) {
	return change(b, () => app.web.put(itemPath(now().id) + "/aliases/" +
	    encodeURIComponent(text), { failIfExists: true }),
	    "The alias is made.");
}

function tagNode(context, t) {
	const { app, now } = context;

	return el("span.tag.wide", null, el("a", { href:
	    "/browse/items?tag=" + encodeURIComponent(t.name) }, tagText(t)),
	    remover(context, "the tag " + plain(t.name), "Results stay; tasks " +
	    "that only this tag names no longer run on the item.", () =>
	    app.web.remove(itemPath(now().id) + "/tags/" +
	    encodeURIComponent(t.name))));
}

function aliasNode(context, alias) {
	const { app, now } = context;

	return el("span.tag.wide", null, plain(alias), remover(context,
	    "the alias " + plain(alias), "It no longer leads here.", () =>
	    app.web.remove(itemPath(now().id) + "/aliases/" +
	    encodeURIComponent(alias))));
}

/* A button that asks, with what follows from it, and removes. */
function remover({ app, may, change }, what, follows, call) {
	const b = may && button(".quiet", { title: "Remove", "aria-label":
	    "Remove " + what, onclick: async () => {
		if (await app.ask(`Remove ${what}?`, follows, "Remove it"))
			change(b, call, "It is removed.");
	} }, icon("close"));

	return b;
}

/* --- operations ---------------------------------------------------------- */

const REASONS = { not_mapped: "no tag of this item maps it",
	failed: "it failed", unprocessed: "it has not run so far",
	stale: "its result is stale", expired: "its result has expired" };

/* Why a pair is in its state, in words. */
function whyOf(o) {
	const waits = o.state === "blocked" ? "waits for" :
	    "its next run waits for";
	const blocked = o.blocked_by.map((b) => `${waits} ${plain(b.task)}: ` +
	    (REASONS[b.reason] ?? b.reason.replaceAll("_", " ")));

	if (o.state === "retry")
		blocked.unshift(`attempt ${count(o.attempt)} failed and is ` +
		    "repeated");
	if (o.state === "failed")
		blocked.unshift("parked until a person handles the failure, " +
		    "or a new version comes");
	if (o.is_invalidated)
		blocked.unshift("its result was marked stale");
	return blocked.join("; ");
}

function operationsPart(context) {
	const { app } = context;
	const list = table("Operations", ["Task", "State", "Due", "Version",
	    "Why", ["Failures", "num"], ""], []);
	const body = list.querySelector("tbody");

	list.firstChild.className = "operations";
	const box = el("div", null), runs = runsPart(context);
	const node = el("section", null, el("h2", null, "Operations"), box,
	    runs);
	let open = new URLSearchParams(location.search).get("task") ?? "";

	function pick(task) {
		open = open === task ? "" : task;
		app.query({ task: open, run: "" });
		mark();
		runs.open(open);
	}

	function mark() {
		for (const row of body.rows) {
			row.look.setAttribute("aria-expanded", String(
			    row.task === open));
			row.classList.toggle("marked", row.task === open);
		}
	}

	function makeRow(o) {
		const row = el("tr", null, el("th", { scope: "row" },
		    plain(o.task)), el("td", null, pairState(o.state)),
		    el("td", { "data-label": "due" }, moment(o.due_at)),
		    el("td", { "data-label": "version" }),
		    el("td.why-cell", null), el("td.num", { "data-label":
		    "failures" }),
		    el("td.acts", null));

		row.task = o.task;
		row.look = button("", { onclick: () => pick(o.task),
		    "aria-label": "Runs of " + plain(o.task) }, "Runs");
		row.cells[6].append(row.look);
		if (context.may)
			add(row.cells[6], againButton(context, o.task), tryLink(
			    context.now().id, o.task));
		return row;
	}

	node.show = (one, operations) => {
		if (operations.length === 0) {
			empty(box, "No task", "None of its tags maps to a " +
			    "task of the configuration.");
			return;
		}
		if (list.parentNode !== box)
			clear(box, list);
		each(body, operations, (o) => o.task, makeRow, updateRow);
		mark();
		runs.open(open);
	};
	return node;
}

function updateRow(row, o) {
	const due = row.cells[2].firstChild;

	showPairState(row.cells[1].firstChild, o.state);
	showMoment(due, o.due_at);
	if (o.due_at === null) {
		const soon = o.state === "unprocessed" || o.state === "stale";

		put(due, soon ? "now" : "–");
		due.title = "";
	}
	put(row.cells[3], o.task_version === null ? "none so far" :
	    o.task_version === o.current_version ? plain(o.task_version) :
	    `${plain(o.task_version)}, now ${plain(o.current_version)}`);
	put(row.cells[4], whyOf(o));
	if (row.failures === o.failures)
		return;
	row.failures = o.failures;
	clear(row.cells[5], o.failures === 0 ? "0" : failuresLink(o.task,
	    count(o.failures)));
}

function againButton({ app, now, change }, task) {
	const b = button("", { title: "Run it again, before all others",
	    "aria-label": `Run ${plain(task)} again`, onclick: () => change(b,
	    () => app.web.post(pairPath(now().id, task) + "/expire",
	    { now: true }), `${plain(task)} runs again as soon as it may.`) },
	    icon("retry"), " Again");

	return b;
}

/* --- blobs --------------------------------------------------------------- */

function blobsPart(context) {
	const { may } = context;
	const list = table("Blobs", ["Name", "Type", ["Size", "num"],
	    "SHA-256", ...may ? [""] : []], []);
	const body = list.querySelector("tbody");
	const node = el("section", null, el("h2", null, "Blobs"), list, may &&
	    uploadForm(context));

	node.show = (one, operations, blobs) => {
		node.hidden = !may && blobs.length === 0;
		list.hidden = blobs.length === 0;
		each(body, blobs, (b) => b.name + " " + b.sha256, (b) =>
		    blobRow(context, b));
	};
	return node;
}

function blobRow(context, b) {
	const { app, may, now } = context;
	const path = () => itemPath(now().id) + "/blobs/" +
	    encodeURIComponent(b.name);

	return el("tr", null, el("th", { scope: "row" }, el("a.id", { href:
	    path(), download: b.name }, plain(b.name))), el("td", null,
	    plain(b.type)), el("td.num", null, bytes(b.bytes)),
	    el("td.mono.id", null, b.sha256), may && el("td.acts", null,
	    remover(context, "the blob " + plain(b.name), "Its bytes are " +
	    "gone unless another name has the same.", () => app.web.remove(
	    path()))));
}
