/* bulk.js -- orders to many crawls at once. */
import { button, el, put } from "./dom.js";
import { ENDED, nameOf } from "./crawls.js";
import { count, many, quoted } from "./format.js";
import { icon } from "./icons.js";

const NAMED_MAX = 3;                   // crawls that a question names

const ALIVE = (r) => !ENDED.has(r.status);
/* [verb, icon, command, which crawls it applies to, past tense, question] */
const VERBS = [
	["Pause", "pause", "job.pause", (r) => ALIVE(r) && r.status !==
	    "paused", "paused"],
	["Resume", "play", "job.resume", (r) => r.status === "paused",
	    "resumed"],
	["Cancel", "stop", "job.cancel", ALIVE, "cancelled", "They end and " +
	    "cannot go on. What they have captured stays; what is queued is " +
	    "not fetched."],
	["Delete", "trash", "job.delete", (r) => ENDED.has(r.status),
	    "deleted", "Their lists of pages, logs and counters go, for good. " +
	    "Their WARC files stay on the disk."],
];

/*
 * A bar for the selected crawls among rows(); changed() is called when the
 * selection changes.  {node, has(id), toggle(id, on), pick(ids), draw()}
 */
export function bulkBar(app, rows, changed) {
	const picked = new Set(), text = el("b", null);
	const buttons = VERBS.map((v) => button(v[5] ? ".danger" : "",
	    { onclick: (e) => run(v, e.currentTarget) }));
	const node = el("div.bulk", { role: "group", hidden: true,
	    "aria-label": "What to do with the selected crawls" }, text, buttons,
	    button(".quiet", { "data-local": true, onclick: () => pick([]) },
	    "Select none"));

	const chosen = () => rows().filter((r) => picked.has(r.id) &&
	    r.kind === "crawl");

	function pick(ids) {
		picked.clear();
		for (const id of ids)
			picked.add(id);
		changed();
	}

	function draw() {
		const all = chosen();

		node.hidden = all.length === 0;
		put(text, many(all.length, "crawl") + " selected");
		for (const [i, [verb, picture, , fits]] of VERBS.entries()) {
			const n = all.filter(fits).length;
			const label = ` ${verb} ${count(n)}`;
			buttons[i].hidden = n === 0;
			if (buttons[i].lastChild?.data !== label)
				buttons[i].replaceChildren(icon(picture), label);
		}
	}

	async function run([verb, , command, fits, done, question], clicked) {
		const all = chosen().filter(fits);
		const names = all.slice(0, NAMED_MAX).map((r) =>
		    quoted(nameOf(r))).join(", ");

		if (question && !await app.ask(`${verb} ` +
		    `${many(all.length, "crawl")}?`, (all.length > NAMED_MAX ?
		    `${names} and ${count(all.length - NAMED_MAX)} more. ` :
		    `${names}. `) + question, `${verb} ${count(all.length)}`))
			return;
		clicked.disabled = true;
		const ends = await Promise.allSettled(all.map(async (r) => {
			const data = await app.door.ask(command,
			    { crawl_id: r.id });
			if (command === "job.delete")
				app.crawls.forget(r.id);
			else
				app.crawls.merge(r.id, { status: data.status });
		}));
		clicked.disabled = false;
		const failed = ends.filter((e) => e.status === "rejected");
		const well = all.length - failed.length;
		if (well > 0)
			app.toast(`${many(well, "crawl")} ${done}.`, "good");
		if (failed.length > 0)
			app.toast(`${many(failed.length, "crawl")} could not be ` +
			    `${done}: ${failed[0].reason.message}`, "bad");
		app.crawls.tell();
		changed();
	}

	return {
		node, draw, pick,
		has: (id) => picked.has(id),
		toggle(id, on) {
			picked[on ? "add" : "delete"](id);
			changed();
		},
	};
}
