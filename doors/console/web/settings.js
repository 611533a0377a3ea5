/* settings.js -- policies, schedules, tokens, and the configuration. */
import { button, clear, each, el, field, later, put, select, tabBar, table }
    from "./dom.js";
import { follow, moment } from "./bits.js";
import { count, listOf, quoted } from "./format.js";
import { icon } from "./icons.js";
import { getPolicy, policyEditor, policyFields, ruleRows } from "./policy.js";
import { act, dialog, empty, form } from "./say.js";
import { scheduleFields, scheduleText } from "./schedule.js";
import { readSeeds } from "./launch.js";
import { tokens } from "./tokens.js";

const PARTS = [["policies", "Policies", policies],
	["schedules", "Schedules", schedules], ["tokens", "Tokens", tokens],
	["configuration", "Configuration", configuration]];

export function settings(root, params, app) {
	const panel = el("div.panel", { role: "tabpanel", id: "panel" });
	const tabs = tabBar("Settings", "tab-", PARTS, panel, (key) => {
		history.replaceState(null, "", "/settings#" + key);
		open();
	});
	let part = null;

	root.append(el("h1", null, "Settings"), tabs, panel);

	function open() {
		const key = location.hash.slice(1);
		const found = PARTS.find(([k]) => k === key) ?? PARTS[0];

		tabs.mark(found[0]);
		part = found[2](clear(panel), app);
	}

	addEventListener("hashchange", open);
	open();
	return {
		close: () => removeEventListener("hashchange", open),
		tick: () => part?.tick?.(),
	};
}

/*
 * A table in `box` that follows its items: a row whose item has not changed
 * keeps its node, and so its focus.
 */
function liveTable(box, label, heads, rowOf) {
	const node = table(label, heads, []), body = node.querySelector("tbody");

	return (items) => {
		if (node.parentNode !== box)
			clear(box, node);
		each(body, items, (x) => JSON.stringify(x), rowOf);
	};
}

/*
 * A form in `box`: save() keeps what was edited and returns what to say then;
 * its error is shown in the form, and given to point().  Returns the button.
 */
function editForm(box, app, title, save, point, ...content) {
	const wrong = el("p.wrong", { role: "alert" });
	const done = el("button.primary", null, icon("save"), " Save");

	clear(box, form(".card", done, async () => {
		try {
			const text = await save();
			clear(box);
			app.toast(text, "good");
		} catch (e) {
			put(wrong, e.message);
			point?.(e.message);
		}
	}, el("h2", null, title), content, wrong, el("div.buttons", null,
	    button("", { onclick: () => clear(box) }, "Leave it"), done)));
	return done;
}

/* A button that deletes a row, once the question is answered. */
function dropButton(app, name, question, call, list) {
	const drop = button(".quiet", { title: "Delete", "aria-label":
	    "Delete " + name, onclick: async () => {
		if (!await app.ask(...question))
			return;
		await act(drop, call);
		list();
	    } }, icon("trash"));

	return drop;
}

/* The head of a part: what it is about, and a button for a new one. */
function partHead(app, text, name, make) {
	return el("div.head.small", null, el("p.help.grow", null, text),
	    app.may("realtime") && button(".primary", { onclick: make },
	    icon("plus"), name));
}

/* --- policies ----------------------------------------------------------- */

function policies(root, app) {
	const may = app.may("realtime"), box = el("div", null);
	const editing = el("div", null);

	root.append(partHead(app, "A policy says what a crawl may fetch, how " +
	    "fast, and how much. A crawl copies its policy when it starts: " +
	    "later edits do not touch it.", " New policy", () =>
	    edit("", "default")), editing, box);

	const show = liveTable(box, "Policies", ["Name", ""], rowOf);

	async function list() {
		let names;
		try {
			names = (await app.door.ask("policy.list")).policies;
		} catch (e) {
			if (e.code !== "lost")
				empty(box, "The policies could not be listed",
				    e.message);
			return;
		}
		show(names);
	}

	function rowOf(n) {
		return el("tr", null, el("th", { scope: "row" }, n,
		    n === "default" && el("span.tag", null,
		    "used when none is named")), el("td.acts", null,
		    button("", { onclick: () => look(n) }, "Show"),
		    may && [button("", { onclick: () => edit(n, n) }, "Edit"),
		    button("", { onclick: () => edit("", n) }, "Copy"),
		    n !== "default" && dropButton(app, n,
		    [`Delete policy ${quoted(n)}?`, "Crawls that began with " +
		    "it keep their copy. A schedule that names it keeps it " +
		    "from being deleted.", "Delete the policy"], () =>
		    app.door.ask("policy.delete", { name: n }), list)]));
	}

	async function look(name) {
		try {
			const p = await getPolicy(app, name);
			dialog("Policy " + name, el("div", null,
			    ruleRows(p.url_rules), el("pre", { tabindex: "0" },
			    JSON.stringify(p, null, 2))), [["", "Close",
			    "primary"]], true);
		} catch (e) {
			app.toast(e.message, "bad");
		}
	}

	async function edit(name, from) {
		try {
			const [fields, policy, preset] = await Promise.all([
			    policyFields(app), getPolicy(app, from),
			    getPolicy(app, "default")]);
			const editor = policyEditor(fields, policy, preset);
			const named = el("input", { value: name, required: true,
			    maxlength: "200", disabled: name !== "" });
			const save = editForm(editing, app, name === "" ?
			    "New policy" : "Edit " + name, () =>
			    store(named.value.trim(), editor.value()),
			    editor.point, field("Name", named), editor.node);
			(name === "" ? named : save).focus();
			editing.scrollIntoView({ block: "start" });
		} catch (e) {
			app.toast(e.message, "bad");
		}
	}

	async function store(name, policy) {
		await app.door.ask("policy.put", { name, policy });
		list();
		return `Policy ${quoted(name)} is saved.`;
	}

	return follow(app, list);
}

/* --- schedules ---------------------------------------------------------- */

function schedules(root, app) {
	const may = app.may("realtime"), box = el("div", null);
	const editing = el("div", null);

	root.append(partHead(app, "A schedule starts a crawl again and again. " +
	    "Runs that were missed while the server was down become one.",
	    " New schedule", () => edit(null)), editing, box);

	const show = liveTable(box, "Schedules", ["Name", "When", "Next",
	    "Runs", "Last", "Tags", ""], rowOf);

	async function list() {
		let all;
		try {
			all = (await app.door.ask("schedule.list")).schedules;
		} catch (e) {
			if (e.code !== "lost")
				empty(box, "The schedules could not be listed",
				    e.message);
			return;
		}
		if (all.length === 0) {
			empty(box, "No schedule yet", "Make one here, or when " +
			    "you start a crawl.");
			return;
		}
		show(all);
	}

	function rowOf(s) {
		return el("tr", null, el("th", { scope: "row" }, s.name),
		    el("td", null, scheduleText(s)), el("td", null, s.next_at ?
		    moment(s.next_at) : "when its crawl has ended"),
		    el("td.num", null, count(s.runs)), el("td", null,
		    s.last_crawl === null || s.last_crawl === undefined ?
		    "none" : el("a", { href: "/crawls/" + s.last_crawl },
		    "crawl " + s.last_crawl)), el("td", null, (s.tags ?? [])
		    .map((t) => el("span.tag", null, t))), el("td.acts", null,
		    may && [button("", { onclick: () => edit(s) }, "Edit"),
		    dropButton(app, s.name, [`Delete schedule ` +
		    `${quoted(s.name)}?`, "It starts no crawl any more. The " +
		    "crawls that it started stay.", "Delete the schedule"],
		    () => app.door.ask("schedule.delete",
		    { schedule_id: s.schedule_id }), list)]));
	}

	async function edit(s) {
		const names = await app.door.ask("policy.list").then((d) =>
		    d.policies, () => ["default"]);
		const own = s !== null && typeof s.policy === "object" &&
		    s.policy !== null;
		const name = el("input", { value: s?.name ?? "", required: true,
		    maxlength: "200" });
		const seeds = el("textarea.mono", { rows: "5", required: true,
		    spellcheck: "false" }, (s?.seeds ?? []).map((x) =>
		    typeof x === "string" ? x : x.url + (x.rate_limit ??
		    null === null ? "" : " " + x.rate_limit)).join("\n"));
		const policy = select([...(own ? [["\0own", "its own"]] : []),
		    ...names], own ? "\0own" : s?.policy || "default");
		const tags = el("input", { value: (s?.tags ?? []).join(", ") });
		const when = scheduleFields(s);
		async function save() {
			const read = readSeeds(seeds.value);

			if (read.wrong.length > 0)
				throw new Error(`Line ${read.wrong[0][0]} of ` +
				    "the seeds is no URL.");
			await app.door.ask("schedule.put", {
			    ...(s && { schedule_id: s.schedule_id }),
			    name: name.value.trim(), seeds: read.seeds,
			    policy: policy.value === "\0own" ? s.policy :
			    policy.value, tags: listOf(tags.value),
			    ...when.value() });
			list();
			return "The schedule is saved.";
		}

		editForm(editing, app, s ? "Edit " + s.name : "New schedule",
		    save, null, field("Name", name), field("Seeds", seeds,
		    "One per line."), el("div.columns", null, field("Policy",
		    policy), field("Tags", tags, "Every crawl it starts " +
		    "gets them.")), when.node);
		name.focus();
	}

	return follow(app, list);
}

/* --- configuration ------------------------------------------------------ */

async function configuration(root, app) {
	const find = el("input", { type: "search", "data-find": true,
	    placeholder: "Filter settings", "aria-label": "Filter settings" });
	const only = el("input", { type: "checkbox", id: "only" });
	const box = el("div", null, el("p.loading", null, "Asking…"));
	let all = [];

	root.append(el("p.help", null, "Values come from the file of --config, " +
	    "then the environment, then --set; the later wins. They are read " +
	    "at the start of the server: change them there, and start it " +
	    "anew."), el("div.filters", null, find, el("span.check", null,
	    only, el("label", { for: "only" }, "Only what is set"))), box);

	function draw() {
		const text = find.value.trim().toLowerCase();
		const fit = all.filter((s) => (!only.checked || s.origin !==
		    "default") && (text === "" || s.name.includes(text) ||
		    s.help.toLowerCase().includes(text)));

		if (fit.length === 0) {
			empty(box, "No setting fits", `There are ` +
			    `${count(all.length)} in all.`);
			return;
		}
		clear(box, table("Configuration", ["Setting", "Value", "From",
		    "What it is"], fit.map((s) => el("tr" + (s.origin !==
		    "default" ? ".set" : ""), null, el("th.mono", { scope:
		    "row" }, s.name), el("td.mono", null, s.value === "" ?
		    el("span.help", null, "empty") : s.value), el("td", { title:
		    s.origin !== "default" ? "default: " + (s.default ||
		    "empty") : null }, s.place ?? s.origin), el("td.help", null,
		    s.help)))));
	}

	find.oninput = later(draw, 100);
	only.onchange = draw;
	try {
		all = (await app.web.get("/config")).settings;
		draw();
	} catch (e) {
		empty(box, "The configuration could not be read", e.message);
	}
}
