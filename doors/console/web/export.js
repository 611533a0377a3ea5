/* export.js -- one export: how far it is, its files, what it left out. */
import { button, clear, each, el, put, table } from "./dom.js";
import { follow, moment, showMoment, tile } from "./bits.js";
import { bytes, count, exact, many, plain, plainJson } from "./format.js";
import { icon } from "./icons.js";
import { act, copyButton, empty } from "./say.js";
import { progressOf, rowsOf, sourceOf } from "./exports.js";
import { harvestBadge, isOver, showPast } from "./harvests.js";

/* Counts of items that are not among the rows. */
const LEFT_OUT = [["outside", "outside of the dates or accounts"],
	["duplicates", "found before"], ["deleted", "deleted since"]];

export function oneExport(root, params, app) {
	const id = decodeURIComponent(location.pathname.split("/")[3]);
	const box = el("div", null, el("p.loading", null, "Asking…"));
	let parts = null;

	app.title(plain(id));
	root.append(el("p.crumbs", null, el("a", { href: "/browse/harvests" },
	    "Harvests"), " / ", el("a", { href: "/browse/exports" },
	    "Exports"), " / ", el("span", null, plain(id))), box);

	async function read() {
		try {
			const x = await app.door.ask("export.get", { id });
			if (!box.isConnected)
				return;
			parts ??= make(box, x, app, read);
			parts.show(x);
		} catch (e) {
			parts = null;
			empty(box, "The export could not be read", e.message);
		}
	}

	return follow(app, read);
}

function cancelButton(id, app, read) {
	const b = button("", { onclick: async () => {
		if (await app.ask(`Cancel ${plain(id)}?`, "It ends as a " +
		    "failure, and no file of it is kept. What was harvested " +
		    "stays.", "Cancel the export"))
			act(b, async () => {
				await app.door.ask("export.cancel", { id });
				await read();
			});
	} }, icon("stop"), " Cancel");

	return b;
}

function downloadLink(x, name) {
	return el("a", { href: `/exports/${encodeURIComponent(x.id)}/` +
	    encodeURIComponent(name), download: name }, icon("save"), " ",
	    plain(name));
}

/* The result's notes, the worst first. */
function notesOf({ errors = [], warnings = [], infos = [] }) {
	return [["error", errors], ["warning", warnings], ["info", infos]]
	    .flatMap(([level, list]) => list.map((n, i) => ({ level, i, ...n })));
}

/* "12 found before, 3 deleted since" */
function leftOut(result) {
	return LEFT_OUT.filter(([k]) => result[k] > 0).map(([k, text]) =>
	    count(result[k]) + " " + text).join(", ");
}

function make(box, x, app, read) {
	const badge = harvestBadge(), cancel = cancelButton(x.id, app, read);
	const why = el("p.why", { "aria-live": "polite" });
	const rows = tile("Rows"), files = tile("Files"), size = tile("Size");
	const warcs = tile("WARC files read");
	const asked = moment(null), begun = moment(null), ended = moment(null);
	const kept = [el("dt", null, "Kept until"), el("dd", null)];
	const gone = [el("dt", null, "Left out"), el("dd", null)];
	const list = table("Files", ["File", ["Size", "num"]], []);
	const noFile = el("p.help", null), notes = el("ul.notes", null);
	const noNotes = el("p.help", null, "None.");
	const body = list.querySelector("tbody");

	clear(box, el("div.head", null, el("h1", null, plain(x.id), " ", badge),
	    cancel), why, el("dl.tiles", null, rows, files, size, warcs),
	    el("section.card", null, el("h2", null, "Files"), noFile, list),
	    el("section.card", null, el("h2", null, "Warnings and notes"),
	    noNotes, notes),
	    el("section.card", null, el("h2", null, "Details"),
	    el("dl.facts", null, el("dt", null, "Format"), el("dd", null,
	    plain(x.format)), el("dt", null, "Type"), el("dd", null,
	    plain(x.type)), el("dt", null, "Source"), el("dd", null, sourceOf(x,
	    Infinity)), el("dt", null, "Directory"), el("dd", null, el("code",
	    null, plain(x.path)), " ", copyButton(() => x.path,
	    "the directory")), el("dt", null, "Requested"), el("dd", null,
	    asked), el("dt", null, "Begun"), el("dd", null, begun), el("dt",
	    null, "Ended"), el("dd", null, ended), kept, gone), x.order && el("details", null, el("summary", null,
	    "The order"), el("pre", { tabindex: "0", role: "region",
	    "aria-label": "The order" }, plainJson(x.order)))));

	function showFiles(now, all) {
		list.hidden = all.length === 0;
		noFile.hidden = all.length > 0;
		put(noFile, !isOver(now) ? "They are here once it has ended." :
		    rowsOf(now) === 0 && now.state === "completed success" ?
		    "No file: nothing was found that fits." : "None.");
		each(body, all, (f) => f.name, (f) => el("tr", null, el("th",
		    { scope: "row" }, now.downloadable ? downloadLink(now,
		    f.name) : plain(f.name)), el("td.num", { title:
		    many(f.bytes, "byte") }, bytes(f.bytes))));
	}

	return { show(now) {
		const result = now.result ?? {}, all = result.files ?? [];
		const said = notesOf(result), out = leftOut(result);

		badge.show(now.state);
		cancel.hidden = isOver(now) || !app.may("harvest");
		put(why, progressOf(now));
		rows.show(count(rowsOf(now)));
		files.show(count(now.files));
		size.show(bytes(now.bytes));
		warcs.show(count(result.warcs ?? now.progress?.warcs));
		showMoment(asked, now.requested_at);
		showPast(begun, now.started_at);
		showPast(ended, now.ended_at);
		for (const node of kept)
			node.hidden = now.kept_until === null || !now.files;
		put(kept[1], exact(now.kept_until));
		for (const node of gone)
			node.hidden = out === "";
		put(gone[1], out);
		showFiles(now, all);
		noNotes.hidden = said.length > 0;
		each(notes, said, (n) => n.level + n.i, (n) => el("li.note-" +
		    n.level, null, el("b", null, n.level + ": " +
		    plain(n.code)), ": " + plain(n.message)));
	} };
}
