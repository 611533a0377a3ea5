/* bits.js -- parts that several views share. */
import { el, put } from "./dom.js";
import { ENDED, nameOf, now } from "./crawls.js";
import { ago, count, exact, quoted, span, statusWord } from "./format.js";
import { icon } from "./icons.js";

const READ_S = 3;                      // lists are read again

/* A crawl's state: shape, colour and word. */
export function stateBadge() {
	const word = el("span", null), node = el("span.badge", null, icon(
	    "pending"), word);

	node.show = (status) => {
		if (node.shown === status)
			return;
		node.shown = status;
		node.className = "badge state-" + status;
		node.firstChild.replaceWith(icon(status));
		put(word, status);
	};
	return node;
}

/* An HTTP status: number and word, coloured by its class. */
export function statusBadge(status) {
	const node = el("span.status", null);

	showStatus(node, status);
	return node;
}

export function showStatus(node, status) {
	const known = status > 0;

	node.className = "status s" + (known ? Math.floor(status / 100) : 0);
	put(node, known ? status + " " + statusWord(status) : "no answer");
}

/* A moment: how long ago, the exact one on hover. */
export function moment(t) {
	const node = el("time", null);

	showMoment(node, t);
	return node;
}

export function showMoment(node, t) {
	put(node, ago(t));
	node.title = exact(t);
}

const LIMITS = { max_items: "its limit of pages was reached",
	max_duration: "its limit of time was reached" };

/* How a crawl ended: "everything was fetched", "cancelled by a client". */
export function endReason(row) {
	const reason = LIMITS[row.reason] ?? row.reason;

	if (row.status === "cancelled")
		return "cancelled " + (reason ?? "");
	if (row.reason === "everything was fetched" && row.exception > 0)
		return `every URL was tried, ${count(row.exception)} failed`;
	return reason || row.status;
}

/* How it ended, and when: "everything was fetched, 3 h ago". */
export function endOf(row) {
	return endReason(row) + (row.ended_at ? ", " + ago(row.ended_at) : "");
}

/* How old a crawl is, or how long it took. */
export function ageOf(row) {
	if (row.created_at === undefined || row.created_at === null)
		return "–";
	if (ENDED.has(row.status) && row.ended_at)
		return span(Math.max(0, row.ended_at - row.created_at));
	return span(Math.max(0, now() / 1000 - row.created_at));
}

/* Buttons that steer: [pause | resume] [cancel], as the state allows. */
export function steering(app, small) {
	const flip = el("button" + (small ? ".quiet" : ""), { type: "button" });
	const stop = el("button" + (small ? ".quiet" : ""), { type: "button" });
	const node = el("span.steering", null, flip, stop);
	let row = null;

	const label = (button, picture, word) => {
		if (button.dataset.word === word + nameOf(row))
			return;
		button.dataset.word = word + nameOf(row);
		button.replaceChildren(icon(picture), ...(small ? [] :
		    [" " + word]));
		button.title = word;
		button.setAttribute("aria-label", word + " " + nameOf(row));
	};
	const say = async (button, command) => {
		button.disabled = true;
		try {
			const data = await app.door.ask(command,
			    { crawl_id: row.id });
			app.crawls.merge(row.id, { status: data.status });
			app.crawls.tell();
		} catch (e) {
			app.toast(e.message, "bad");
		}
		button.disabled = false;
	};
	node.flip = () => {
		if (row && !flip.hidden && !flip.disabled)
			say(flip, row.status === "paused" ? "job.resume" :
			    "job.pause");
	};
	flip.onclick = node.flip;
	stop.onclick = async () => {
		const name = quoted(nameOf(row)), id = row.id;
		if (await app.ask(`Cancel ${name}?`, `Crawl ${id} ends and ` +
		    "cannot go on. What it has captured stays; what is queued " +
		    "is not fetched.", "Cancel the crawl") && row.id === id)
			say(stop, "job.cancel");
	};
	node.show = (r) => {
		const over = ENDED.has(r.status) || !app.may("realtime") ||
		    r.kind === "frontier";
		row = r;
		flip.hidden = stop.hidden = over;
		if (over)
			return;
		if (r.status === "paused")
			label(flip, "play", "Resume");
		else
			label(flip, "pause", "Pause");
		label(stop, "stop", "Cancel");
	};
	return node;
}

/* A figure with its name: tile("Pages").show("1,234", "title"). */
export function tile(name, kind) {
	const value = el("dd", null, "–");
	const node = el("div.tile" + (kind ? "." + kind : ""), null,
	    el("dt", null, name), value);

	node.show = (text, title, loud) => {
		put(value, text);
		if (title !== undefined)
			node.title = title;
		node.classList.toggle("loud", !!loud);
	};
	return node;
}

/* Where a view is: the crawls, a crawl, and perhaps a page of it. */
export function crumbs(id, page) {
	return el("p.crumbs", null, el("a", { href: "/" }, "Crawls"), " / ",
	    page === undefined ? el("span", null, "#" + id) : [el("a",
	    { href: "/crawls/" + id }, "#" + id), " / ", el("span", null,
	    "page " + count(page))]);
}

/* Read a list at once and every few seconds: others may change it, too. */
export function follow(app, read) {
	let seconds = 0;

	read();
	return { tick() {
		if (++seconds % READ_S === 0 && app.door.state === "open")
			read();
	} };
}
