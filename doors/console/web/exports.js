/*
 * exports.js -- exports of what was harvested: a list, and what its views
 * share.
 */
import { button, clear, each, el, put, table } from "./dom.js";
import { follow, moment, showMoment } from "./bits.js";
import { bytes, count, many, plain } from "./format.js";
import { icon } from "./icons.js";
import { empty } from "./say.js";
import { newExport } from "./export_form.js";
import { harvestBadge, harvestTabs, harvestView, isOver } from
    "./harvests.js";

const PAGE = 100, NAMED = 2;           // harvests that a row names

/* --- what the views share ------------------------------------------------ */

export function exportView(id) {
	return "/browse/exports/" + encodeURIComponent(id);
}

/* What its files were chosen by: nodes; `most` harvests are named. */
export function sourceOf(x, most) {
	const { collection, seeds, harvests, harvests_total: n } = x.source;

	if (collection)
		return ["collection ", el("span.id", null, plain(collection))];
	if (seeds)
		return [many(seeds, "seed")];
	if (!harvests)
		return ["–"];
	const named = harvests.slice(0, most);
	return [named.map((id, i) => [i > 0 && ", ", el("a.id", { href:
	    harvestView(id) }, plain(id))]), n > named.length &&
	    ` and ${count(n - named.length)} more`];
}

/* How far it is: "3 of 12 WARC files read"; "" while it does not run. */
export function progressOf(x) {
	const p = x.progress;

	if (isOver(x) || !p || x.state === "accepted")
		return "";
	return p.warcs_total === 0 ? "Looking up its WARC files" :
	    `${count(p.warcs)} of ${many(p.warcs_total, "WARC file")} read`;
}

export const rowsOf = (x) => x.rows ?? x.progress?.rows;

/* --- the list ------------------------------------------------------------ */

export function exports(root, params, app) {
	const box = el("div", null, el("p.loading", null, "Asking…"));
	const total = el("p.total", null), adding = el("div", null);
	const begin = (given) => newExport(adding, app, (x) =>
	    app.go(exportView(x.id)), given);

	root.append(el("div.head", null, el("h1", null, "Exports"),
	    app.may("harvest") && button(".primary", { onclick: () =>
	    begin(null) }, icon("plus"), " New export")),
	    harvestTabs("exports"), adding, box, total);

	const list = table("Exports", ["Export", "State", "Format", "Source",
	    ["Rows", "num"], ["Size", "num"], "Requested"], []);
	const body = list.querySelector("tbody");

	async function read() {
		try {
			const answer = await app.door.ask("export.list",
			    { size: PAGE });
			if (box.isConnected)
				draw(answer);
		} catch (e) {
			empty(box, "The exports could not be listed",
			    e.message);
		}
	}

	function draw({ exports: rows, total: n }) {
		put(total, n > rows.length ? `The newest ${count(rows.length)}` +
		    ` of ${count(n)}` : "");
		if (rows.length === 0) {
			empty(box, "No export", "An export makes a table, for " +
			    "a spreadsheet or a program, of the posts that " +
			    "harvests have archived.");
			return;
		}
		if (list.parentNode !== box)
			clear(box, list);
		each(body, rows, (x) => x.id, makeRow, (row, x) => {
			row.cells[1].firstChild.show(x.state);
			row.cells[1].title = progressOf(x);
			put(row.cells[4], count(rowsOf(x)));
			put(row.cells[5], bytes(x.bytes));
			row.cells[5].title = x.files === undefined ? "" :
			    many(x.files, "file");
			showMoment(row.cells[6].firstChild, x.requested_at);
		});
	}

	function makeRow(x) {
		return el("tr", null, el("th", { scope: "row" }, el("a.id",
		    { href: exportView(x.id) }, plain(x.id))), el("td", null,
		    harvestBadge(x.state)), el("td", { title: plain(x.type) },
		    plain(x.format)), el("td", null, sourceOf(x, NAMED)),
		    el("td.num", null), el("td.num", null), el("td", null,
		    moment(x.requested_at)));
	}

	const harvest = new URLSearchParams(location.search).get("harvest");
	if (harvest !== null && app.may("harvest"))
		begin(harvest);
	return follow(app, read);
}
