/* harvest.js -- one harvest: what it found, by day, warnings, files. */
import { clear, each, el, put, table } from "./dom.js";
import { follow, moment, showMoment, tile } from "./bits.js";
import { bytes, count, plain, plainJson } from "./format.js";
import { copyButton, empty } from "./say.js";
import { harvestBadge, harvestSteering, whyOf } from "./harvests.js";

export function harvest(root, params, app) {
	const id = decodeURIComponent(location.pathname.split("/")[3]);
	const box = el("div", null, el("p.loading", null, "Asking…"));
	let parts = null;

	app.title(plain(id));
	root.append(el("p.crumbs", null, el("a", { href: "/browse/harvests" },
	    "Harvests"), " / ", el("span", null, plain(id))), box);

	async function read() {
		try {
			const h = await app.door.ask("harvest.get", { id });
			if (!box.isConnected)
				return;
			parts ??= make(box, h, app, read);
			parts.show(h);
		} catch (e) {
			parts = null;
			empty(box, "The harvest could not be read", e.message);
		}
	}

	return follow(app, read);
}

function make(box, h, app, read) {
	const badge = harvestBadge(), steer = harvestSteering(app, read);
	const why = el("p.why", { "aria-live": "polite" });
	const found = tile("Found"), answers = tile("Answers");
	const files = tile("Files"), size = tile("Bytes");
	const begun = moment(null), ended = moment(null);
	const days = table("By day", ["Day", "What", ["Found", "num"]], []);
	const notes = el("ul.notes", null), noNotes = el("p.help", null,
	    "None.");
	const warcs = table("WARC files", ["File", ["Bytes", "num"], "Finished",
	    "Place", "SHA-1"], []);
	const more = el("p.total", null);
	const body = (t) => t.querySelector("tbody");

	clear(box, el("div.head", null, el("h1", null, plain(h.id), " ", badge),
	    steer), why, el("dl.tiles", null, found, answers, files, size),
	    el("section.card", null, el("h2", null, "What it is"),
	    el("dl.facts", null, el("dt", null, "Type"), el("dd", null,
	    plain(h.type)), el("dt", null, "Directory"), el("dd", null,
	    el("code", null, plain(h.path)), " ", copyButton(h.path,
	    "Copy the directory")), el("dt", null, "Begun"), el("dd", null,
	    begun), el("dt", null, "Ended"), el("dd", null, ended)),
	    h.message && el("details", null, el("summary", null, "The order"),
	    el("pre", { tabindex: "0", role: "region", "aria-label":
	    "The order" }, plainJson(h.message)))),
	    el("section.card", null, el("h2", null, "By day"), days),
	    el("section.card", null, el("h2", null, "Warnings and notes"),
	    noNotes, notes), el("section.card", null, el("h2", null,
	    "WARC files"), warcs, more));

	return { show(now) {
		badge.show(now.state);
		steer.show(now);
		put(why, whyOf(now));
		found.show(count(now.items), now.label);
		answers.show(count(now.answers));
		files.show(count(now.warcs), now.warcs_waiting > 0 ?
		    `${count(now.warcs_waiting)} wait for their place` : "");
		size.show(bytes(now.bytes));
		showMoment(begun, now.started_at);
		showMoment(ended, now.ended_at);
		each(body(days), now.counts, (c) => c.day + " " + c.label,
		    (c) => el("tr", null, el("th", { scope: "row" }, c.day),
		    el("td", null, plain(c.label)), el("td.num", null)),
		    (row, c) => put(row.cells[2], count(c.n)));
		noNotes.hidden = now.notes.length > 0;
		each(notes, now.notes.map((n, i) => ({ ...n, i })),
		    (n) => n.i + n.code + n.text, (n) => el("li.note-" +
		    n.level, null, el("b", null, n.level + ": " +
		    plain(n.code)), n.seed ? ` (seed ${plain(n.seed)})` : "",
		    ": " + plain(n.text)));
		each(body(warcs), now.files, (f) => f.name, (f) => el("tr",
		    null, el("th", { scope: "row" }, el("code", null,
		    plain(f.name))), el("td.num", { title: bytes(f.bytes) },
		    count(f.bytes)), el("td", null, moment(f.created_at)),
		    el("td", null), el("td", null, el("code", null, f.sha1))),
		    (row, f) => put(row.cells[3], f.placed ? "in its place" :
		    "waits for its place"));
		put(more, now.files_total > now.files.length ? "The first " +
		    `${count(now.files.length)} of ${count(now.files_total)}` :
		    "");
	} };
}
