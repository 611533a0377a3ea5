/* harvest.js -- one harvest: what it found, by day, warnings, files. */
import { clear, each, el, put, table } from "./dom.js";
import { follow, moment, showMoment, tile } from "./bits.js";
import { bytes, count, plain, plainJson } from "./format.js";
import { copyButton, empty } from "./say.js";
import { icon } from "./icons.js";
import { harvestBadge, harvestSteering, isOver, showPast, whyOf }
    from "./harvests.js";

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
	const exporting = el("a.button", { href: "/browse/exports?harvest=" +
	    encodeURIComponent(h.id), hidden: true }, icon("save"), " Export");
	const found = tile("Found"), answers = tile("Answers");
	const files = tile("Files"), size = tile("Bytes");
	const begun = moment(null), ended = moment(null);
	const limits = table("Rate limits", ["Calls", ["Left", "num"], ["Of",
	    "num"], "Until"], []);
	const noLimits = el("p.help", null, "None is known yet: the platform " +
	    "says them with its answers.");
	const limited = el("section.card", null, el("h2", null,
	    "Rate limits of the platform"), noLimits, limits);
	const days = table("By day", ["Day", "What", ["Found", "num"]], []);
	const notes = el("ul.notes", null), noNotes = el("p.help", null,
	    "None.");
	const warcs = table("WARC files", ["File", ["Bytes", "num"], "Finished",
	    "Place", "SHA-1"], []);
	const noDays = el("p.help", null, "Nothing was found."), more =
	    el("p.total", null);
	const noWarcs = el("p.help", null, "None is finished.");
	const body = (t) => t.querySelector("tbody");

	clear(box, el("div.head", null, el("h1", null, plain(h.id), " ", badge),
	    exporting, steer), why, el("dl.tiles", null, found, answers, files, size),
	    el("section.card", null, el("h2", null, "Details"),
	    el("dl.facts", null, el("dt", null, "Type"), el("dd", null,
	    plain(h.type)), el("dt", null, "Directory"), el("dd", null,
	    el("code", null, plain(h.path)), " ", copyButton(() => h.path,
	    "the directory")), el("dt", null, "Begun"), el("dd", null,
	    begun), el("dt", null, "Ended"), el("dd", null, ended)),
	    h.message && el("details", null, el("summary", null, "The order"),
	    el("pre", { tabindex: "0", role: "region", "aria-label":
	    "The order" }, plainJson(h.message)))),
	    limited, el("section.card", null, el("h2", null, "By day"), noDays, days),
	    el("section.card", null, el("h2", null, "Warnings and notes"),
	    noNotes, notes), el("section.card", null, el("h2", null,
	    "WARC files"), noWarcs, warcs, more));

	/* They are shared by all harvests with its credential. */
	function showLimits(now) {
		limited.hidden = isOver(now);
		noLimits.hidden = now.budgets.length > 0;
		limits.hidden = !noLimits.hidden;
		each(body(limits), now.budgets.map((b, i) => ({ ...b, i })),
		    (b) => String(b.i), () => el("tr", null, el("th",
		    { scope: "row" }), el("td.num", null), el("td.num", null),
		    el("td", null, moment(null))), (row, b) => {
			put(row.cells[0], plain(b.family) || "all");
			put(row.cells[1], count(b.left));
			row.cells[1].classList.toggle("bad", b.left === 0);
			put(row.cells[2], count(b.units));
			showMoment(row.cells[3].firstChild, b.until);
		});
	}

	return { show(now) {
		badge.show(now.state);
		steer.show(now);
		/* Pages of the web are no posts. */
		exporting.hidden = !isOver(now) || now.warcs === 0 ||
		    now.type === "web" || !app.may("harvest");
		put(why, whyOf(now));
		found.show(count(now.items), now.label);
		answers.show(count(now.answers));
		files.show(count(now.warcs), now.warcs_waiting > 0 ?
		    `${count(now.warcs_waiting)} wait for their place` : "");
		size.show(bytes(now.bytes));
		showPast(begun, now.started_at);
		showPast(ended, now.ended_at);
		showLimits(now);
		noDays.hidden = !(days.hidden = now.counts.length === 0);
		noWarcs.hidden = !(warcs.hidden = now.files.length === 0);
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
