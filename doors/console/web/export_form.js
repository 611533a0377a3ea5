/*
 * export_form.js -- the form for a new export, made from what the server says
 * can be exported: types, their formats and columns.
 */
import { button, clear, el, field, select } from "./dom.js";
import { count, exact, listOf, plain } from "./format.js";
import { icon } from "./icons.js";
import { form } from "./say.js";

const NEWEST = 100;                    // harvests to choose from
const FORMATS = { csv: "csv, for spreadsheets and programs", tsv:
	"tsv, separated by tabs", xlsx: "xlsx, a spreadsheet", html:
	"html, to read", json: "json, the table's columns, an object a line",
	json_full: "json_full, the whole posts, one per line", dehydrate:
	"dehydrate, ids alone, one per line" };
const SOURCES = [["harvests", "Harvests"], ["collection", "A collection"],
	["seeds", "Seeds"]];

/* The whole day in UTC: its beginning, or its last moment. */
const dayStart = (text) => text && text + "T00:00:00Z";
const dayEnd = (text) => text && text + "T23:59:59.999999Z";

const date = () => el("input", { type: "date" });
const check = () => el("input", { type: "checkbox" });

/* Those that a choice could be made of, and the one that was asked for. */
async function readHarvests(app, given) {
	const { harvests: newest } = await app.door.ask("harvest.list",
	    { size: NEWEST });

	if (given !== null && !newest.some((h) => h.id === given))
		newest.unshift(await app.door.ask("harvest.get",
		    { id: given }));
	return newest.filter((h) => h.warcs > 0);
}

/* A line to tick. */
function harvestChoice(h, checked) {
	return el("label.check", null, el("input", { type: "checkbox",
	    value: h.id, checked }), el("span.id", null, plain(h.id)),
	    el("span.help", null, `${count(h.items)} ${plain(h.label)}, ` +
	    exact(h.started_at ?? h.accepted_at)));
}

/* Seeds, a line each: "ID" or "ID ACCOUNT". */
function seedsOf(text) {
	return text.split("\n").map((t) => t.trim()).filter((t) => t !== "")
	    .map((t) => {
		const [id, uid] = t.split(/\s+/);
		return uid === undefined ? { id } : { id, uid };
	});
}

/*
 * Put the form into `place`; `given` is the id of a harvest that is to be
 * exported, or null.  made(export) is called for the new one.
 */
export async function newExport(place, app, made, given) {
	let types, all;

	if (place.firstChild !== null) {
		place.querySelector("select").focus();
		return;
	}
	try {
		({ types } = await app.door.ask("export.types", {}));
		all = await readHarvests(app, given);
	} catch (e) {
		app.toast(e.message, "bad");
		return;
	}
	if (place.isConnected && place.firstChild === null)
		makeForm(place, app, made, { types, all, given });
}

function makeForm(place, app, made, { types, all, given }) {
	const first = all.find((h) => h.id === given) ?? all[0];
	const type = select(types.map((t) => [t.type, t.title]),
	    first?.type ?? types[0].type);
	const format = el("select", null);
	const source = select(SOURCES, all.length > 0 ? "harvests" :
	    "collection");
	const choices = el("div.choices", null);
	const collection = el("input", null);
	const seeds = el("textarea", { rows: "4", spellcheck: "false" });
	const from = date(), to = date(), begunFrom = date(), begunTo = date();
	const dedupe = check(), readme = check();
	const segment = el("input", { type: "number", min: "1",
	    placeholder: "all in one file" });
	const deletes = el("select", null);
	const columns = el("input", { placeholder: "all, in the usual order" });
	const names = el("datalist", null), id = el("input", { placeholder:
	    "export-NUMBER" });
	const go = el("button.primary", null, icon("play"), " Export");
	const bySource = {
		harvests: el("fieldset.field", null, el("legend", null,
		    "Which harvests"), choices),
		collection: field("Id of the collection", collection,
		    "Of collections that start messages name; their harvests " +
		    "may be as many as there are."),
		seeds: field("Seeds, one per line", seeds, "A seed's id and, " +
		    "after a blank, the id of its account: the account's posts " +
		    "alone are exported then."),
	};
	const begun = el("div.columns", null, field("Harvests begun from",
	    begunFrom, null), field("Harvests begun until", begunTo, null));
	const whichColumns = field("Columns", columns, "Names, separated by " +
	    "commas.");
	const known = el("details", null, el("summary", null,
	    "What the columns mean"));
	let chosen = null;

	const node = form(".card", go, send, el("h2", null, "New export"),
	    el("div.columns", null, field("Type", type, null),
	    field("Format", format, null), field("Source", source, null),
	    Object.values(bySource)), begun, el("div.columns", null,
	    field("Posts from", from, "By their own dates, UTC; those without " +
	    "a date are always in."), field("Posts until", to,
	    "Including that day."), field("Leave out repeated posts", dedupe,
	    "Of those with the same id the first one stays.", "check"),
	    field("Add a README.txt", readme, "Filters, counts by day, WARC " +
	    "files and columns, to be cited in a paper.", "check")),
	    el("details", null, el("summary", null, "More options"),
	    el("div.columns", null, field("Rows per file", segment, "More rows " +
	    "go into further files."), field("Deleted posts", deletes, null),
	    whichColumns, field("Name", id, "Names of its files begin with " +
	    "it.")), known), names, el("div.line", null, go, button("",
	    { onclick: () => clear(place) }, "Close")));

	function tellType() {
		chosen = types.find((t) => t.type === type.value);
		const was = format.value, usual = chosen.honours_deletes ?
		    "left out" : "exported";

		clear(format, chosen.formats.map((f) => el("option", { value:
		    f.name, selected: f.name === was }, FORMATS[f.name] ??
		    f.name)));
		clear(deletes, [["", `as usual: ${usual}`], ["true",
		    "left out"], ["false", "exported"]].map(([value, text]) =>
		    el("option", { value }, text)));
		clear(choices, ofType().map((h) => harvestChoice(h, h.id ===
		    given)));
		if (choices.childElementCount === 0)
			choices.append(el("p.help", null, `No harvest of this ` +
			    `type among the newest ${count(NEWEST)} has a file.`));
		known.replaceChildren(known.firstChild, el("dl.facts", null,
		    chosen.columns.map((c) => [el("dt.mono", null, c.name),
		    el("dd", null, c.meaning)])));
		tellFormat();
	}

	const ofType = () => all.filter((h) => h.type === chosen.type);

	function tellFormat() {
		const { table } = chosen.formats.find((f) => f.name ===
		    format.value);

		whichColumns.hidden = !table;
		known.hidden = !table || chosen.columns.length === 0;
	}

	function tellSource() {
		for (const [name, part] of Object.entries(bySource))
			part.hidden = name !== source.value;
		begun.hidden = source.value === "harvests";
	}

	/* The member that says which WARC files. */
	function which() {
		if (source.value === "collection")
			return { collection: { id: collection.value.trim() } };
		if (source.value === "seeds")
			return { seeds: seedsOf(seeds.value) };
		const ids = [...choices.querySelectorAll("input:checked")]
		    .map((box) => box.value);
		if (ids.length === 0)
			throw new Error("No harvest is chosen.");
		return { harvests: ids };
	}

	function order() {
		const begunDates = source.value === "harvests" ? {} : {
			harvest_date_start: dayStart(begunFrom.value),
			harvest_date_end: dayEnd(begunTo.value) };
		const given = { id: id.value.trim(), type: type.value,
		    format: format.value, segment_size: segment.value === "" ?
		    "" : Number(segment.value), dedupe: dedupe.checked || "",
		    readme: readme.checked || "", item_date_start:
		    dayStart(from.value), item_date_end: dayEnd(to.value),
		    ...begunDates, honour_deletes: deletes.value === "" ? "" :
		    deletes.value === "true", columns: whichColumns.hidden ||
		    columns.value.trim() === "" ? "" : listOf(columns.value) };

		return { ...which(), ...Object.fromEntries(Object.entries(given)
		    .filter(([, v]) => v !== "")) };
	}

	async function send() {
		made(await app.door.ask("export.start", { order: order() }));
	}

	type.onchange = tellType;
	format.onchange = tellFormat;
	source.onchange = tellSource;
	tellType();
	tellSource();
	clear(place, node);
	type.focus();
}
