/* launch.js -- a new crawl: seeds, a name, a policy; start, or save to repeat. */
import { clear, el, field, later, put, select } from "./dom.js";
import { count, hostOf, listOf, many } from "./format.js";
import { icon } from "./icons.js";
import { explainBox, getPolicy, policyEditor, policyFields } from "./policy.js";
import { act } from "./say.js";
import { scheduleFields } from "./schedule.js";

const SEEDS_MAX = 10000;
const OWN = "\0own";                   // not a possible name of a policy

/*
 * One per line: a URL, and perhaps the seconds between two fetches of its host.
 * Blank lines, lines that begin with "#" and repeats are left out.
 */
export function readSeeds(text) {
	const seeds = [], wrong = [], met = new Set();
	let line = 0;

	for (const raw of text.split(/\r?\n/)) {
		line++;
		const words = raw.trim().split(/\s+/);
		if (words[0] === "" || words[0].startsWith("#") ||
		    met.has(words[0]))
			continue;
		met.add(words[0]);
		const delay = words.length > 1 ? Number(words[1]) : null;
		if (!plausible(words[0]) || words.length > 2 ||
		    (delay !== null && !(delay >= 0)))
			wrong.push([line, raw.trim()]);
		else
			seeds.push(delay === null ? { url: words[0] } :
			    { url: words[0], rate_limit: delay });
	}
	return { seeds, wrong };
}

function plausible(text) {
	try {
		const u = new URL(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text :
		    "http://" + text);
		return /^https?:$/.test(u.protocol) && u.hostname !== "";
	} catch {
		return false;
	}
}

export function launch(root, params, app) {
	const q = new URLSearchParams(location.search);
	const seeds = el("textarea.mono.seeds", { rows: "8", name: "seeds",
	    spellcheck: "false", autocapitalize: "off", "data-find": true,
	    placeholder: "https://www.example.org/" });
	const told = el("p.help", { "aria-live": "polite" });
	const name = el("input", { maxlength: "200",
	    placeholder: "as its first seed" });
	const tags = el("input", { placeholder: "news, weekly",
	    spellcheck: "false" });
	const policy = select(["default"], "default");
	const edit = el("input", { type: "checkbox", id: "edit" });
	const editor = el("div", null), wrong = el("p.wrong", { role: "alert" });
	const repeat = el("input", { type: "checkbox", id: "repeat" });
	const plan = scheduleFields(), planName = el("input", {
	    placeholder: "what the schedule is called" });
	const planBox = el("div.card", { hidden: true }, field("Schedule",
	    planName, "The name of the schedule itself."), plan.node);
	const start = el("button.primary", null, icon("play"), " Start the crawl");
	let form = null, all = { seeds: [], wrong: [] };
	let given = null;              // the policy of the crawl to be run again

	if (!app.may("realtime")) {
		root.append(el("section.empty", null, el("h1", null,
		    "New crawl"), el("p", null, "This token may look, but not " +
		    "start crawls. It would need the scope realtime:write.")));
		return {};
	}
	seeds.value = q.get("seeds") ?? "";

	root.append(el("h1", null, "New crawl"), el("form.launch", {
	    onsubmit: (e) => {
		e.preventDefault();
		act(start, send);
	    } }, el("div.main-part", null,
	    el("div.field", null, el("label", { for: "seeds" },
	    "Seeds: where it begins"), Object.assign(seeds, { id: "seeds" }),
	    told), el("div.columns", null, field("Name", name),
	    field("Tags", tags, "Commas between them. Programs can " +
	    "subscribe to a tag.")), el("div.columns", null, field("Policy",
	    policy, "What is followed, how fast, how much."),
	    el("div.field.check", null, edit, el("label", { for: "edit" },
	    "Edit it for this crawl"))), editor, el("div.field.check", null,
	    repeat, el("label", { for: "repeat" },
	    "Save as a schedule that repeats")), planBox, wrong,
	    el("div.buttons.left", null, start)),
	    el("div.side", null, explainBox(app, policyValue, () => {
		tellSeeds();
		return all.seeds.map((s) => s.url);
	    }))));

	/* --- seeds ---- */

	function tellSeeds() {
		all = readSeeds(seeds.value);
		const hosts = new Set(all.seeds.map((s) => hostOf(/:\/\//.test(
		    s.url) ? s.url : "http://" + s.url)));
		told.classList.toggle("wrong", all.wrong.length > 0 ||
		    all.seeds.length > SEEDS_MAX);
		put(told, all.wrong.length > 0 ?
		    `Line ${all.wrong[0][0]} is no URL: ` +
		    all.wrong[0][1].slice(0, 80) + (all.wrong.length > 1 ?
		    `; and ${count(all.wrong.length - 1)} more lines` : "") :
		    all.seeds.length > SEEDS_MAX ? `${count(all.seeds.length)} ` +
		    `seeds; at most ${count(SEEDS_MAX)} are taken.` :
		    all.seeds.length === 0 ? "One URL a line; behind it, if " +
		    "you like, the seconds between two fetches of its host." :
		    many(all.seeds.length, "seed") + " on " +
		    many(hosts.size, "host") + ".");
	}

	/* Mark a line of the seeds and scroll it into view. */
	function toLine(n) {
		const lines = seeds.value.split("\n");
		const from = lines.slice(0, n - 1).join("\n").length +
		    (n > 1 ? 1 : 0);

		seeds.focus();
		seeds.setSelectionRange(from, from + lines[n - 1].length);
		seeds.scrollTop = seeds.scrollHeight * (n - 1) / lines.length -
		    seeds.clientHeight / 2;
	}

	seeds.oninput = later(tellSeeds, 150);
	tellSeeds();

	/* --- the policy ---- */

	function policyValue() {
		return form === null ? given ?? policy.value : form.value();
	}

	async function drawForm() {
		if (!edit.checked) {
			form = null;
			clear(editor);
			return;
		}
		try {
			const [fields, chosen, preset] = await Promise.all([
			    policyFields(app), given ?? getPolicy(app,
			    policy.value),
			    getPolicy(app, "default")]);
			form = policyEditor(fields, chosen, preset);
			clear(editor, el("section.card", null, form.node));
		} catch (e) {
			edit.checked = false;
			form = null;
			app.toast("The policy could not be read: " + e.message,
			    "bad");
		}
	}

	async function readNames() {
		try {
			const data = await app.door.ask("policy.list");
			const now = given !== null ? OWN :
			    policy.dataset.names ? policy.value :
			    q.get("policy") ?? "default";
			const names = [...(given === null ? [] : [[OWN,
			    "its own"]]), ...data.policies.map((p) => [p, p])];
			const text = JSON.stringify(names);
			if (policy.dataset.names === text)
				return;
			policy.dataset.names = text;
			clear(policy, names.map(([v, p]) => el("option",
			    { value: v, selected: v === now }, p)));
		} catch {
			// Then `default` is the only choice.
		}
	}

	edit.onchange = drawForm;
	policy.onchange = () => {
		if (policy.value !== OWN)
			given = null;
		drawForm();
	};
	policy.onfocus = readNames;
	repeat.onchange = () => {
		planBox.hidden = !repeat.checked;
		name.parentNode.hidden = repeat.checked;
		clear(start, icon(repeat.checked ? "save" : "play"),
		    repeat.checked ? " Save the schedule" : " Start the crawl");
		planName.required = repeat.checked;
	};

	/* --- a crawl to be edited and run again ---- */

	async function fill(id) {
		const lines = [];
		let c;

		do {
			c = await app.door.ask("get_crawl", { crawl_id: id,
			    start: lines.length });
			for (const [i, url] of c.seeds.entries()) {
				const delay = c.rate_limits[i];
				lines.push(url + (delay === null ? "" : " " +
				    delay));
			}
		} while (c.seeds.length > 0 && lines.length < c.seeds_total);
		seeds.value = lines.join("\n") + "\n";
		name.value = c.name ?? "";
		tags.value = (c.tags ?? []).join(", ");
		given = c.policy_json;
		edit.checked = true;
		tellSeeds();
		await readNames();
		await drawForm();
	}

	/* --- sending ---- */

	async function send() {
		put(wrong, "");
		tellSeeds();
		if (all.wrong.length > 0 || all.seeds.length === 0 ||
		    all.seeds.length > SEEDS_MAX) {
			put(wrong, all.seeds.length === 0 &&
			    all.wrong.length === 0 ? "Give at least one seed." :
			    told.textContent);
			toLine(all.wrong[0]?.[0] ?? 1);
			return;
		}
		try {
			const args = { seeds: all.seeds, policy: policyValue(),
			    tags: listOf(tags.value) };
			if (repeat.checked) {
				const data = await app.door.ask("schedule.put",
				    { ...args, ...plan.value(),
				    name: planName.value.trim() });
				app.toast("Schedule " + data.schedule_id +
				    " is saved.", "good");
				app.go("/settings#schedules");
				return;
			}
			if (name.value.trim() !== "")
				args.name = name.value.trim();
			const data = await app.door.ask("start_crawl", args);
			app.go("/crawls/" + data.crawl_id);
		} catch (e) {
			put(wrong, e.message);
			form?.point(e.message);
			wrong.scrollIntoView({ block: "nearest" });
		}
	}

	if (q.has("from"))
		fill(Number(q.get("from"))).catch((e) => app.toast("Crawl " +
		    q.get("from") + " could not be read: " + e.message, "bad"));
	else
		readNames();
	if (matchMedia("(min-width: 701px)").matches)
		seeds.focus();
	return {};
}
