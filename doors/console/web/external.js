/*
 * external.js -- tasks of back ends: a list, and what the view of one shares.
 */
import { button, clear, each, el, put, select, table } from "./dom.js";
import { follow, moment, showMoment } from "./bits.js";
import { count, plain } from "./format.js";
import { icon } from "./icons.js";
import { empty } from "./say.js";
import { connectorView, externalTabs, payloadOf } from "./connectors.js";

const PAGE = 100;
const OPEN = new Set(["accepted", "running", "draining"]);
/* A state's shape and colour are those of crawls. */
const LIKE = { accepted: "pending", running: "running", draining: "running",
	done: "complete", failed: "failed", timeout: "failed", cancelled:
	"cancelled", gone: "failed", undelivered: "paused" };

export const isOpen = (t) => OPEN.has(t.state);

export function taskBadge() {
	const word = el("span", null), node = el("span.badge", null,
	    icon("pending"), word);

	node.show = (state) => {
		if (node.shown === state)
			return;
		const like = LIKE[state] ?? "pending";
		node.shown = state;
		node.className = "badge state-" + like;
		node.firstChild.replaceWith(icon(like));
		put(word, state);
	};
	return node;
}

/* Where a task is shown, and where its requests go. */
export const taskView = (t) => "/browse/external/" + [t.backend, t.connector,
    t.fid].map(encodeURIComponent).join("/");

export const taskPath = (t, verb = "") => "/external/" + encodeURIComponent(
    t.connector) + "/task/" + encodeURIComponent(t.fid) + verb + "?backend=" +
    encodeURIComponent(t.backend);

/* Why it waits, or its last status in words. */
export function saysOf(t) {
	return isOpen(t) && t.waiting !== "" ? "Waits for " + plain(t.waiting) :
	    plain(t.status.message);
}

export function external(root, params, app) {
	const q = new URLSearchParams(location.search);
	const which = select([["", "All tasks"], ["1", "Open tasks"]],
	    q.get("open") ?? "", { "aria-label": "Which tasks" });
	const back = select([["", "All back ends"]], "", { "aria-label":
	    "Only tasks of this back end" });
	const box = el("div", null, el("p.loading", null, "Asking…"));
	const older = button("", { hidden: true, onclick: () => page(last) },
	    "Older tasks ", icon("right"));
	const newest = button("", { hidden: true, onclick: () => page("") },
	    icon("left"), " The newest");
	const list = table("Tasks of back ends", ["Task", "State", "What it " +
	    "does", ["Uploaded", "num"], ["Spooled", "num"], ["Rejected",
	    "num"], ["Attempt", "num"], "Back end", "Connector", "Begun"], []);
	const body = list.querySelector("tbody");
	let before = q.get("before") ?? "", last = "", ready = false;

	root.append(externalTabs("external"), el("div.head", null, el("h1",
	    null, "Tasks of back ends")), el("div.filters", null, which, back),
	    box, el("div.line.paging", null, newest, older));

	/* The names of all back ends, where they may be read. */
	async function askBackends() {
		try {
			const { doors } = await app.web.get("/doors");
			const all = doors.flatMap((d) => d.details.backends ??
			    []).map((b) => b.name);
			const given = q.get("backend") ?? "";
			if (given !== "" && !all.includes(given))
				all.push(given);
			back.append(...all.map((n) => el("option", { value: n },
			    plain(n))));
			back.value = given;
		} catch {
			back.hidden = true;
		}
		ready = true;
		read();
	}

	function pathNow() {
		const asked = new URLSearchParams({ size: PAGE });
		if (which.value !== "")
			asked.set("open", which.value);
		if (back.value !== "")
			asked.set("backend", back.value);
		if (before !== "")
			asked.set("before", before);
		return "/external?" + asked;
	}

	async function read() {
		if (!ready)
			return;
		const path = pathNow();
		try {
			const got = await payloadOf(app.web.get(path));
			if (box.isConnected && path === pathNow())
				draw(got);
		} catch (e) {
			empty(box, "The tasks could not be listed", e.message);
		}
	}

	function draw({ tasks, more }) {
		newest.hidden = before === "";
		older.hidden = !more;
		if (tasks.length === 0) {
			empty(box, which.value === "" && back.value === "" &&
			    before === "" ? "No task" : "There is no such task",
			    "A back end starts a task by POST /task at a " +
			    "connector's address, for one of its users.",
			    el("p", null, el("a.button", { href:
			    "/browse/connectors" }, "To the connectors")));
			return;
		}
		last = String(tasks[tasks.length - 1].number);
		if (list.parentNode !== box)
			clear(box, list);
		each(body, tasks, (t) => String(t.number), makeRow, showRow);
	}

	function makeRow(t) {
		const num = () => el("td.num", null);

		return el("tr", null, el("th", { scope: "row" }, el("a.id",
		    { href: taskView(t) }, plain(t.fid))), el("td", null,
		    taskBadge()), el("td.why-cell", null), num(), num(), num(),
		    num(), el("td", null, el("span.id", null,
		    plain(t.backend))), el("td", null, el("a.id", { href:
		    connectorView(t.connector) }, plain(t.connector))),
		    el("td", null, moment(t.created)));
	}

	function showRow(row, t) {
		row.cells[1].firstChild.show(t.state);
		put(row.cells[2], saysOf(t));
		put(row.cells[3], count(t.uploaded));
		put(row.cells[4], count(t.spooled));
		put(row.cells[5], count(t.rejected));
		row.cells[5].classList.toggle("bad", t.rejected > 0);
		put(row.cells[6], count(t.attempt));
		showMoment(row.cells[9].firstChild, t.created);
	}

	function page(number) {
		before = number;
		app.query({ before });
		read();
	}

	which.onchange = () => {
		app.query({ open: which.value });
		page("");
	};
	back.onchange = () => {
		app.query({ backend: back.value });
		page("");
	};
	askBackends();
	return follow(app, read);
}
