/*
 * harvests.js -- harvests of platforms: a list, a form for a new one or for a
 * schedule of them, and what the views of harvests share.
 */
import { button, clear, each, el, field, put, select, table } from "./dom.js";
import { follow, moment, showMoment } from "./bits.js";
import { bytes, count, plain, span, timeOfDay } from "./format.js";
import { icon } from "./icons.js";
import { act, empty, form } from "./say.js";
import { scheduleFields, scheduleText } from "./schedule.js";

const PAGE = 100;
const STATES = [["", "All states"], ["open", "not over"], "running", "paused",
	"stopping", "completed success", "completed failure"];

/* --- what the views share ------------------------------------------------ */

/* A state: its shape and colour are those of crawls. */
export function harvestBadge(state) {
	const word = el("span", null), node = el("span.badge", null,
	    icon("pending"), word);

	node.show = (now) => {
		if (node.shown === now)
			return;
		const like = { accepted: "pending", stopping: "running",
		    "completed success": "complete",
		    "completed failure": "failed" }[now] ?? now;
		node.shown = now;
		node.className = "badge state-" + like;
		node.firstChild.replaceWith(icon(like));
		put(word, now);
	};
	if (state !== undefined)
		node.show(state);
	return node;
}

export const isOver = (h) => h.state.startsWith("completed ");

/* A moment that may not have come yet. */
export function showPast(node, t) {
	showMoment(node, t);
	if (t === null)
		put(node, "not yet");
}

export function harvestView(id) {
	return "/browse/harvests/" + encodeURIComponent(id);
}

/* The links between the views; `here` is the one that is shown. */
export function harvestTabs(here) {
	return el("nav.tabs", { "aria-label": "Views of harvests" },
	    [["harvests", "Harvests"], ["exports", "Exports"]].map(([path,
	    text]) => el("a.tab", { href: "/browse/" + path, "aria-current":
	    path === here ? "page" : null }, text)));
}

/*
 * Why it asks for nothing, and until when, or why it cannot put its files away;
 * "" for neither.
 */
export function whyOf(h) {
	const waits = h.waits_for && h.waits_s >= 1 ? "waits " +
	    span(h.waits_s) + " for " + plain(h.waits_for) + ", until " +
	    timeOfDay(Date.now() / 1000 + h.waits_s) : "";

	return [waits, h.trouble ? "its files wait: " + plain(h.trouble) : ""]
	    .filter((t) => t !== "").join("; ");
}

/* Buttons that steer one: [pause | resume] [stop], as its state allows. */
export function harvestSteering(app, changed) {
	const flip = el("button", { type: "button" });
	const stop = el("button", { type: "button" }, icon("stop"), " Stop");
	const node = el("span.steering", null, flip, stop);
	let h = null;

	const order = (b, command) => act(b, async () => {
		await app.door.ask(command, { id: h.id });
		await changed();
	});
	flip.onclick = () => order(flip, h.state === "paused" ?
	    "harvest.resume" : "harvest.pause");
	stop.onclick = async () => {
		const id = h.id;
		if (await app.ask(`Stop ${plain(id)}?`, "It ends as a " +
		    "success with what it has, and cannot go on.",
		    "Stop the harvest") && h.id === id)
			order(stop, "harvest.stop");
	};
	node.show = (now) => {
		const was = h?.state;
		h = now;
		flip.hidden = stop.hidden = isOver(h) || !app.may("harvest");
		stop.hidden ||= h.state === "stopping";
		flip.hidden ||= h.state === "stopping";
		if (h.state !== was)
			clear(flip, icon(h.state === "paused" ? "play" :
			    "pause"), h.state === "paused" ? " Resume" :
			    " Pause");
	};
	return node;
}

/* --- the list ------------------------------------------------------------ */

export function harvests(root, params, app) {
	const q = new URLSearchParams(location.search);
	const states = select(STATES, q.get("state") ?? "", { "aria-label":
	    "Only harvests in this state" });
	const box = el("div", null, el("p.loading", null, "Asking…"));
	const total = el("p.total", null), adding = el("div", null);
	const plans = el("div", null);

	root.append(el("div.head", null, el("h1", null, "Harvests"),
	    app.may("harvest") && button(".primary", { onclick: () =>
	    newHarvest(adding, app, read) }, icon("plus"), " New harvest")),
	    harvestTabs("harvests"), adding, el("div.filters", null, states),
	    box, total, plans);

	const list = table("Harvests", ["Harvest", "State", ["Found", "num"],
	    ["Files", "num"], "Begun", "Why"], []);
	const body = list.querySelector("tbody");

	async function read() {
		const mine = states.value;
		try {
			const [answer, all] = await Promise.all([
			    app.door.ask("harvest.list", { size: PAGE,
			    ...(mine === "" ? {} : { status: mine }) }),
			    app.door.ask("schedule.list", {})]);
			if (mine !== states.value || !box.isConnected)
				return;
			draw(answer);
			drawPlans(plans, all.schedules.filter((s) => s.harvest),
			    app, read);
		} catch (e) {
			empty(box, "The harvests could not be listed",
			    e.message);
		}
	}

	function draw({ harvests: rows, total: n }) {
		put(total, n > rows.length ? `The newest ${count(rows.length)}` +
		    ` of ${count(n)}` : "");
		if (rows.length === 0) {
			empty(box, states.value === "" ? "No harvest" :
			    "No harvest is in this state", states.value === "" ?
			    "A harvest asks a platform for posts by its API, " +
			    "and archives every answer." :
			    "Choose another one above.");
			return;
		}
		if (list.parentNode !== box)
			clear(box, list);
		each(body, rows, (h) => h.id, makeRow, (row, h) => {
			row.cells[1].firstChild.show(h.state);
			put(row.cells[2], count(h.items));
			row.cells[2].title = h.label;
			put(row.cells[3], count(h.warcs));
			row.cells[3].title = bytes(h.bytes);
			showMoment(row.cells[4].firstChild, h.started_at ??
			    h.accepted_at);
			put(row.cells[5], whyOf(h));
		});
	}

	function makeRow(h) {
		return el("tr", null, el("th", { scope: "row" }, el("a.id",
		    { href: harvestView(h.id) }, plain(h.id))), el("td", null,
		    harvestBadge(h.state)), el("td.num", null),
		    el("td.num", null), el("td", null, moment(h.accepted_at)),
		    el("td", null));
	}

	states.onchange = () => {
		app.query({ state: states.value });
		read();
	};
	return follow(app, read);
}

/* --- schedules ----------------------------------------------------------- */

function drawPlans(node, list, app, read) {
	if (list.length === 0) {
		clear(node);
		return;
	}
	if (node.body === undefined || !node.body.isConnected) {
		const t = table("Schedules of harvests", ["Schedule", "Type",
		    "Every", "Next run", ["Runs", "num"], ["Skipped", "num"],
		    ""], []);
		node.body = t.querySelector("tbody");
		clear(node, el("section.card", null, el("h2", null,
		    "Schedules"), t));
	}
	each(node.body, list, (s) => String(s.schedule_id), (s) => el("tr",
	    null, el("th", { scope: "row" }, plain(s.name)), el("td", null,
	    plain(s.harvest)), el("td", null), el("td", null,
	    moment(s.next_at)), el("td.num", null), el("td.num", { title:
	    "Runs that were due while the last one was not over" }),
	    el("td", null, app.may("harvest") && app.may("realtime") &&
	    button(".quiet", { "aria-label": "Delete the schedule " +
	    plain(s.name), onclick: (e) => drop(e.currentTarget, s, app,
	    read) }, icon("trash")))), (row, s) => {
		put(row.cells[2], scheduleText(s));
		showMoment(row.cells[3].firstChild, s.next_at);
		put(row.cells[4], count(s.runs));
		put(row.cells[5], count(s.skips));
	});
}

async function drop(b, s, app, read) {
	if (await app.ask(`Delete the schedule ${plain(s.name)}?`, "It begins " +
	    "no further harvest; those that have begun go on.",
	    "Delete the schedule"))
		act(b, async () => {
			await app.door.ask("schedule.delete",
			    { schedule_id: s.schedule_id });
			await read();
		});
}

/* --- a new one ----------------------------------------------------------- */

/* A field for an option, by its row in the table of types. */
function optionField(o) {
	const help = o.help + (o.needed ? " (needed)" : "");
	const name = o.name.replaceAll("_", " ");
	let input, value = () => input.value.trim();

	if (o.value === "true|false") {
		input = el("input", { type: "checkbox" });
		value = () => input.checked ? true : "";
	} else if (o.value === "word") {
		input = select([["", "as usual"], ...o.words.split(" ")], "");
	} else if (o.value === "number") {
		input = el("input", { type: "number", min: "0" });
		value = () => input.value === "" ? "" : Number(input.value);
	} else if (o.value === "texts") {
		input = el("input", { placeholder: "separated by commas" });
		value = () => input.value.trim() === "" ? "" :
		    input.value.split(",").map((t) => t.trim());
	} else if (o.value === "JSON object") {
		input = el("textarea", { rows: "6", spellcheck: "false" });
		value = () => input.value.trim() === "" ? "" :
		    parsed(input.value, name);
	} else {
		input = el("input", null);
	}
	const node = field(name, input, help, o.value === "true|false" ?
	    "check" : "");
	node.option = () => [o.name, value()];
	return node;
}

function parsed(text, name) {
	try {
		return JSON.parse(text);
	} catch (e) {
		throw new Error(`${name}: it is no JSON: ${e.message}`);
	}
}

/* A line is a text, a JSON object with a uid, or one with the type's fields. */
function seedsOf(text) {
	return text.split("\n").map((t) => t.trim()).filter((t) => t !== "")
	    .map((t, i) => {
		if (!t.startsWith("{"))
			return t;
		const seed = parsed(t, "Seed " + (i + 1));
		return "uid" in seed || "token" in seed ? seed :
		    { token: seed };
	    });
}

async function newHarvest(place, app, read) {
	let types, kept;

	if (place.firstChild !== null) {
		place.querySelector("select").focus();
		return;
	}
	try {
		({ types } = await app.door.ask("harvest.types", {}));
		({ credentials: kept } = await app.door.ask("credential.list",
		    {}));
	} catch (e) {
		app.toast(e.message, "bad");
		return;
	}
	const type = select(types.map((t) => [t.type, t.title]), types[0].type);
	const seeds = el("textarea", { rows: "4", spellcheck: "false" });
	const credential = select([["", "none"], ...kept.map((c) => c.name)],
	    "");
	const path = el("input", { required: true, placeholder: "posts" });
	const parts = el("div", null), name = el("input", null);
	const often = el("input", { type: "checkbox" });
	const every = scheduleFields({ every: 6, unit: "hours" });
	const go = el("button.primary", null, icon("play"), " Start");
	const node = form(".card", go, send, el("h2", null, "New harvest"),
	    field("Type", type, null), parts, field("Directory", path,
	    "Below one of harvest.roots; a name alone lies in DATA/harvested."),
	    app.may("realtime") && field("Again and again", often,
	    "Put a schedule instead of one harvest.", "check"),
	    el("div", { hidden: true }, field("Name of the schedule", name,
	    null), every.node), el("div.line", null, go, button("",
	    { onclick: () => clear(place) }, "Close")));
	const timing = every.node.parentNode;
	let chosen = types[0];

	function tell() {
		const t = chosen = types.find((x) => x.type === type.value);
		const keys = t.credential.map((k) => k.name + (k.needed ? "" :
		    " (optional)")).join(", ");

		clear(parts, el("p.help", null, t.help + (t.stream ?
		    " It goes on until it is stopped." : "")),
		    t.seeds_max !== 0 && field("Seeds, one per line", seeds,
		    [t.token, t.uid && "by id: {\"uid\":\"…\"}"].filter(Boolean)
		    .join("; ") + (t.fields?.length ? "; or a JSON object of " +
		    t.fields.map((f) => f.name).join(", ") : "")),
		    field("Credential", credential, keys === "" ?
		    "This type needs none." : "Its keys: " + keys + ". " +
		    "Kept by argiope credential put."),
		    el("div.columns", null, t.options.map(optionField)));
	}

	function order() {
		const options = Object.fromEntries([...parts.querySelectorAll(
		    ".columns > .field")].map((f) => f.option())
		    .filter(([, v]) => v !== ""));

		return { type: chosen.type, path: path.value.trim(), options,
		    seeds: chosen.seeds_max === 0 ? [] : seedsOf(seeds.value),
		    ...(credential.value === "" ? {} :
		    { credential: credential.value }) };
	}

	async function send() {
		const { timing: kind, name_template, ...when } = every.value();

		if (!often.checked) {
			const { id } = await app.door.ask("harvest.start",
			    order());
			app.go(harvestView(id));
			return;
		}
		await app.door.ask("schedule.put", { ...when, harvest: order(),
		    name: name.value.trim() || chosen.type });
		app.toast("The schedule is put.", "good");
		clear(place);
		await read();
	}

	often.onchange = () => {
		timing.hidden = !often.checked;
		clear(go, icon("play"), often.checked ? " Put the schedule" :
		    " Start");
	};
	type.onchange = tell;
	tell();
	clear(place, node);
	type.focus();
}
