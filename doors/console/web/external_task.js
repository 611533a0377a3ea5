/*
 * external_task.js -- one task of a back end: its state and why it waits, its
 * rejected documents, its log, and what an operator can do with it.
 */
import { button, clear, each, el, put, table } from "./dom.js";
import { moment, showMoment, tile } from "./bits.js";
import { count, exact, plain, plainJson } from "./format.js";
import { icon } from "./icons.js";
import { act, empty, form } from "./say.js";
import { connectorForm } from "./connector_form.js";
import { choiceFetcher, connectorView, externalTabs, payloadOf } from
    "./connectors.js";
import { documentNode, ruleOf } from "./document.js";
import { isOpen, saysOf, taskBadge, taskPath } from "./external.js";

const READ_S = 2, LINES_MAX = 1000;

export function externalTask(root, params, app) {
	const [backend, connector, fid] = location.pathname.split("/").slice(3)
	    .map(decodeURIComponent);
	const task = { backend, connector, fid };
	const box = el("div", null, el("p.loading", null, "Asking…"));
	let parts = null, seconds = 0;

	app.title(plain(fid));
	root.append(externalTabs("external"), el("p.crumbs", null, el("a",
	    { href: "/browse/external" }, "Tasks of back ends"), " / ",
	    el("span.id", null, plain(backend))), box);

	async function read() {
		try {
			const t = await payloadOf(app.web.get(taskPath(task)));
			if (!box.isConnected)
				return;
			parts ??= make(box, app, task, read);
			await parts.show(t);
		} catch (e) {
			if (parts === null || e.status === 404) {
				parts = null;
				empty(box, "The task could not be read",
				    e.message);
			}
		}
	}

	read();
	return { tick() {
		if (++seconds % READ_S === 0 && app.door.state === "open")
			read();
	} };
}

function make(box, app, task, read) {
	const badge = taskBadge(), adding = el("div", null);
	const steer = steering(app, task, adding, read);
	const why = el("p.why-line", { role: "status" });
	const tiles = { uploaded: tile("Uploaded"), spooled: tile("Spooled"),
	    rejected: tile("Rejected"), attempt: tile("Attempt") };
	const facts = factsPart(task), rejected = rejectedPart(app, task);
	const log = logPart(app, task);

	clear(box, el("div.head", null, el("h1", null, plain(task.fid), " ",
	    badge), steer), why, adding, el("dl.tiles.four", null,
	    Object.values(tiles)), facts, rejected, log);

	return { async show(t) {
		badge.show(t.state);
		steer.show(t);
		put(why, saysOf(t));
		why.hidden = why.textContent === "";
		why.className = "why-line " + (!isOpen(t) ? "over" :
		    t.waiting === "" ? "works" : "");
		tiles.uploaded.show(count(t.uploaded));
		tiles.spooled.show(count(t.spooled), "documents that the " +
		    "back end has not answered yet");
		tiles.rejected.show(count(t.rejected), "", t.rejected > 0);
		tiles.attempt.show(count(t.attempt));
		facts.show(t);
		await Promise.all([rejected.show(t), log.read()]);
	} };
}

/* --- what it is ---------------------------------------------------------- */

function factsPart(task) {
	const values = {};
	const fact = (key, name, value = el("span", null)) => [el("dt", null,
	    name), el("dd", null, values[key] = value)];
	const whole = (name) => el("pre", { tabindex: "0", role: "region",
	    "aria-label": name });
	const params = whole("Parameters"), cursor = whole("Cursor");
	const open = (name, pre) => el("details", null, el("summary", null,
	    name), pre);
	const node = el("section.card", null, el("h2", null, "Details"),
	    el("dl.facts", null, fact("backend", "Back end", el("span.id", null,
	    plain(task.backend))), fact("connector", "Connector", el("a.id",
	    { href: connectorView(task.connector) }, plain(task.connector))),
	    fact("crawler", "Crawler"), fact("begun", "Begun", moment(null)),
	    fact("closed", "Ended", moment(null)), fact("status", "Status"),
	    fact("detail", "Detail")), open("Parameters", params),
	    open("Cursor: where the next attempt goes on", cursor));

	node.show = (t) => {
		put(values.crawler, plain(t.crawler) || "none is named");
		showMoment(values.begun, t.created);
		showMoment(values.closed, t.closed);
		if (isOpen(t))
			put(values.closed, "not yet");
		put(values.status, `${t.status.code} ${plain(t.status.message)}`);
		put(values.detail, plain(t.status.detail) || "none");
		put(params, plainJson(t.params));
		put(cursor, t.cursor === null ? "There is none: it reads " +
		    "everything." : plainJson(t.cursor));
	};
	return node;
}

/* --- rejected documents -------------------------------------------------- */

function rejectedPart(app, task) {
	const list = table("Rejected documents", [["Number", "num"], "Rule",
	    "Document"], []);
	const body = list.querySelector("tbody"), rows = [];
	const more = button("", { hidden: true, onclick: () => act(more, ask) },
	    "More of them");
	const total = el("p.total", null);
	const node = el("section.card", { hidden: true }, el("h2", null,
	    "Rejected documents"), list, total, more);
	let known = -1;

	async function ask() {
		const last = rows.length > 0 ? rows[rows.length - 1].number : 0;
		const got = await payloadOf(app.web.get(taskPath(task,
		    "/rejected") + "&after=" + last));

		rows.push(...got.rejected);
		more.hidden = got.rejected.length === 0 || rows.length >=
		    got.total;
		put(total, rows.length < got.total ? `${count(rows.length)} of ` +
		    `${count(got.total)}; at most 1,000 of a task are kept.` :
		    "");
		each(body, rows, (r) => String(r.number), (r) => el("tr", null,
		    el("td.num", null, count(r.number)), el("td.rule", null,
		    ruleOf(r)), el("td", null, el("ul.documents", null,
		    documentNode(r.document)))));
	}

	node.show = async (t) => {
		node.hidden = t.rejected === 0;
		if (t.rejected === known)
			return;
		known = t.rejected;
		rows.length = 0;
		await ask();
	};
	return node;
}

/* --- the log ------------------------------------------------------------- */

function logPart(app, task) {
	const log = el("div.logbox.task-log", { tabindex: "0", role: "log",
	    "aria-label": "Log of the task", "aria-live": "off" });
	const node = el("section.card", null, el("h2", null, "Log"), log);
	let lines = [], last = 0;

	/* The end stays in view while it is there. */
	node.read = async () => {
		const got = await payloadOf(app.web.get(taskPath(task, "/log") +
		    "&after=" + last));
		if (got.lines.length === 0)
			return;
		const end = log.scrollTop + log.clientHeight >=
		    log.scrollHeight - 20;
		lines = [...lines, ...got.lines].slice(-LINES_MAX);
		last = lines[lines.length - 1].number;
		each(log, lines, (l) => String(l.number), (l) => el("p", null,
		    el("time", { title: exact(l.time) },
		    exact(l.time).slice(11)), el("span.level.l-" +
		    (l.level === "warning" ? "warn" : plain(l.level)), null,
		    plain(l.level)), el("span", null, (l.code > 0 ? l.code +
		    " " : "") + plain(l.text))));
		if (end)
			log.scrollTop = log.scrollHeight;
	};
	return node;
}

/* --- steering ------------------------------------------------------------ */

function steering(app, task, adding, read) {
	const name = plain(task.fid);
	const send = (verb, body = {}, more = "") => app.web.post(taskPath(task,
	    verb) + more, body);
	const make = (picture, text, call) => {
		const b = button("", { hidden: true, onclick: async () => {
			if (await call(b) !== false)
				await read();
		} }, icon(picture), " " + text);
		return b;
	};
	/* Asks, then does it; false: it was left. */
	const asked = async (b, title, text, yes, call) =>
	    await app.ask(title, text, yes) ? act(b, call) : false;

	const stop = make("stop", "Stop", (b) => asked(b, `Stop ${name}?`,
	    "The connector stops. What it has given is delivered, and the " +
	    "back end is told that an operator has cancelled the task.",
	    "Stop the task", () => send("/cancel")));
	const drop = make("trash", "Give up", (b) => asked(b, `Give up what is ` +
	    `left of ${name}?`, "The documents that the back end has not " +
	    "taken are dropped, and nothing more is sent to it. The next " +
	    "attempt reads everything again.", "Give them up", () =>
	    send("/cancel", {}, "&drop=1")));
	const again = make("retry", "Retry", retry);
	const deliver = make("play", "Redeliver", (b) => act(b, async () => {
		await send("/redeliver");
		app.toast("What is left goes out again.", "good");
	}));
	const reset = make("left", "Reset the cursor", (b) => asked(b,
	    `Reset the cursor of ${name}?`, "The next attempt reads " +
	    "everything from the beginning. The back end may see documents " +
	    "that it has.", "Reset the cursor", () => send("/reset-cursor")));
	const node = el("span.steering", null, stop, drop, deliver, again,
	    reset);
	let now = null;

	/* Secret parameters are not stored, so a retry asks for them again. */
	async function retry(b) {
		const secret = Object.values(now.params).includes(null);
		let given;

		try {
			given = await payloadOf(app.web.get("/external/" +
			    encodeURIComponent(task.connector) + "/form"));
		} catch (e) {
			app.toast(e.message, "bad");
			return false;
		}
		if (given.credential === "none" && !secret)
			return act(b, () => send("/retry", {}));
		retryForm(app, adding, given, now, send, read);
		return false;
	}

	node.show = (t) => {
		const may = app.may("external");
		now = t;
		stop.hidden = !may || !["accepted", "running"].includes(t.state);
		drop.hidden = !may || t.state !== "draining";
		deliver.hidden = !may || t.state !== "undelivered";
		again.hidden = !may || isOpen(t);
		reset.hidden = !may || isOpen(t) || t.cursor === null;
	};
	return node;
}

function retryForm(app, place, given, t, send, read) {
	const fields = connectorForm(given, t.params, choiceFetcher(app,
	    t.connector));
	const wrong = el("p.wrong", { role: "alert" });
	const begin = el("button.primary", null, icon("retry"), " Retry");
	const signs = given.credential === "oauth";

	async function go() {
		put(wrong, "");
		fields.clear();
		try {
			await send("/retry", { params: fields.values(),
			    credential: fields.credential() });
			clear(place);
			await read();
		} catch (e) {
			put(wrong, fields.faults(e.data?.messages ??
			    [e.message]).map(plain).join("; "));
		}
	}

	clear(place, form(".card", begin, go, el("h2", null, "Another attempt"),
	    el("p.help", null, signs ? "The back end starts it: what its user " +
	    "has granted is of use there alone." : "Secrets are not kept: " +
	    "give them again. With other parameters it starts over."),
	    fields.node, wrong, el("div.line", null, !signs && begin,
	    button("", { onclick: () => clear(place) }, "Close"))));
	place.querySelector("input, select, textarea, button")?.focus();
}
