/* settings.js -- policies, schedules, tokens, and the configuration. */
import { clear, each, el, field, later, put, select } from "./dom.js";
import { moment } from "./bits.js";
import { count, quoted } from "./format.js";
import { icon } from "./icons.js";
import { getPolicy, policyEditor, policyFields, ruleRows } from "./policy.js";
import { act, dialog, empty } from "./say.js";
import { scheduleFields, scheduleText } from "./schedule.js";
import { readSeeds } from "./launch.js";
import { tokens } from "./tokens.js";

const PARTS = [["policies", "Policies", policies],
	["schedules", "Schedules", schedules], ["tokens", "Tokens", tokens],
	["configuration", "Configuration", configuration]];
const READ_S = 3;                      // lists are read again

export function settings(root, params, app) {
	const tabs = el("div.tabs", { role: "tablist", "aria-label":
	    "Settings" });
	const panel = el("div.panel", { role: "tabpanel", id: "panel" });
	let part = null;

	root.append(el("h1", null, "Settings"), tabs, panel);
	for (const [key, name] of PARTS)
		tabs.append(el("button.tab", { type: "button", role: "tab",
		    id: "tab-" + key, "aria-controls": "panel",
		    onclick: () => {
			history.replaceState(null, "", "/settings#" + key);
			open();
		    }, onkeydown: (e) => {
			const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
			const i = PARTS.findIndex(([k]) => k === key);
			if (by === undefined)
				return;
			e.preventDefault();
			const to = PARTS[(i + by + PARTS.length) %
			    PARTS.length][0];
			tabs.querySelector("#tab-" + to).click();
			tabs.querySelector("#tab-" + to).focus();
		    } }, name));

	function open() {
		const key = location.hash.slice(1);
		const found = PARTS.find(([k]) => k === key) ?? PARTS[0];

		for (const b of tabs.children) {
			const on = b.id === "tab-" + found[0];
			b.setAttribute("aria-selected", String(on));
			b.tabIndex = on ? 0 : -1;
		}
		panel.setAttribute("aria-labelledby", "tab-" + found[0]);
		part = found[2](clear(panel), app);
	}

	addEventListener("hashchange", open);
	open();
	return {
		close: () => removeEventListener("hashchange", open),
		tick: () => part?.tick?.(),
	};
}

function table(label, heads, rows) {
	return el("div.scroll", { tabindex: "0", role: "region", "aria-label":
	    label }, el("table", { "aria-label": label }, el("thead", null,
	    el("tr", null, heads.map((h) => el("th", { scope: "col" }, h ||
	    el("span.unseen", null, "Actions"))))), el("tbody", null, rows)));
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

/* Read again every few seconds, since others may change the list, too. */
function follow(app, read) {
	let seconds = 0;

	read();
	return { tick() {
		if (++seconds % READ_S === 0 && app.door.state === "open")
			read();
	    } };
}

/* --- policies ----------------------------------------------------------- */

function policies(root, app) {
	const may = app.may("realtime"), box = el("div", null);
	const editing = el("div", null);

	root.append(el("div.head.small", null, el("p.help.grow", null,
	    "A policy says what a crawl may fetch, how fast, and how much. A " +
	    "crawl copies its policy when it starts: later edits do not touch " +
	    "it."), may && el("button.primary", { type: "button",
	    onclick: () => edit("", "default") }, icon("plus"),
	    " New policy")), editing, box);

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
		const drop = el("button.quiet", { type: "button",
		    title: "Delete", "aria-label": "Delete " + n,
		    onclick: () => remove(n, drop) }, icon("trash"));

		return el("tr", null, el("th", { scope: "row" }, n,
		    n === "default" && el("span.tag", null,
		    "used when none is named")), el("td.acts", null,
		    el("button", { type: "button", onclick: () => look(n) },
		    "Show"), may && [el("button", { type: "button",
		    onclick: () => edit(n, n) }, "Edit"), el("button", { type:
		    "button", onclick: () => edit("", n) }, "Copy"),
		    n !== "default" && drop]));
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
			const form = policyEditor(fields, policy, preset);
			const named = el("input", { value: name, required: true,
			    maxlength: "200", disabled: name !== "" });
			const wrong = el("p.wrong", { role: "alert" });
			const save = el("button.primary", null, icon("save"),
			    " Save");
			clear(editing, el("form.card", { onsubmit: (e) => {
				e.preventDefault();
				act(save, () => store(named.value.trim(), form,
				    wrong));
			    } }, el("h2", null, name === "" ? "New policy" :
			    "Edit " + name), field("Name", named), form.node,
			    wrong, el("div.buttons", null, el("button",
			    { type: "button", onclick: () => clear(editing) },
			    "Leave it"), save)));
			(name === "" ? named : save).focus();
			editing.scrollIntoView({ block: "start" });
		} catch (e) {
			app.toast(e.message, "bad");
		}
	}

	async function store(name, form, wrong) {
		try {
			await app.door.ask("policy.put", { name,
			    policy: form.value() });
		} catch (e) {
			put(wrong, e.message);
			form.point(e.message);
			return;
		}
		clear(editing);
		app.toast(`Policy ${quoted(name)} is saved.`, "good");
		list();
	}

	async function remove(name, button) {
		if (!await app.ask(`Delete policy ${quoted(name)}?`,
		    "Crawls that began with it keep their copy. A schedule that names it " +
		    "keeps it from being deleted.", "Delete the policy"))
			return;
		await act(button, () => app.door.ask("policy.delete",
		    { name }));
		list();
	}

	return follow(app, list);
}

/* --- schedules ---------------------------------------------------------- */

function schedules(root, app) {
	const may = app.may("realtime"), box = el("div", null);
	const editing = el("div", null);

	root.append(el("div.head.small", null, el("p.help.grow", null,
	    "A schedule starts a crawl again and again. Runs that were missed " +
	    "while the server was down become one."), may &&
	    el("button.primary", { type: "button", onclick: () => edit(null) },
	    icon("plus"), " New schedule")), editing, box);

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
		const drop = el("button.quiet", { type: "button", title:
		    "Delete", "aria-label": "Delete " + s.name,
		    onclick: () => remove(s, drop) }, icon("trash"));

		return el("tr", null, el("th", { scope: "row" }, s.name),
		    el("td", null, scheduleText(s)), el("td", null, s.next_at ?
		    moment(s.next_at) : "when its crawl has ended"),
		    el("td.num", null, count(s.runs)), el("td", null,
		    s.last_crawl === null || s.last_crawl === undefined ?
		    "none" : el("a", { href: "/crawls/" + s.last_crawl },
		    "crawl " + s.last_crawl)), el("td", null, (s.tags ?? [])
		    .map((t) => el("span.tag", null, t))), el("td.acts", null,
		    may && [el("button", { type: "button", onclick: () =>
		    edit(s) }, "Edit"), drop]));
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
		const wrong = el("p.wrong", { role: "alert" });
		const save = el("button.primary", null, icon("save"), " Save");

		clear(editing, el("form.card", { onsubmit: (e) => {
			e.preventDefault();
			act(save, async () => {
				const read = readSeeds(seeds.value);
				if (read.wrong.length > 0) {
					put(wrong, `Line ${read.wrong[0][0]} ` +
					    "of the seeds is no URL.");
					return;
				}
				try {
					await app.door.ask("schedule.put", {
					    ...(s && { schedule_id:
					    s.schedule_id }), name:
					    name.value.trim(), seeds: read.seeds,
					    policy: policy.value === "\0own" ?
					    s.policy : policy.value, tags:
					    tags.value.split(",").map((t) =>
					    t.trim()).filter((t) => t !== ""),
					    ...when.value() });
				} catch (x) {
					put(wrong, x.message);
					return;
				}
				clear(editing);
				app.toast("The schedule is saved.", "good");
				list();
			});
		    } }, el("h2", null, s ? "Edit " + s.name : "New schedule"),
		    field("Name", name), field("Seeds", seeds,
		    "One a line."), el("div.columns", null, field("Policy",
		    policy), field("Tags", tags, "Every crawl it starts " +
		    "gets them.")), when.node, wrong, el("div.buttons", null,
		    el("button", { type: "button", onclick: () =>
		    clear(editing) }, "Leave it"), save)));
		name.focus();
	}

	async function remove(s, button) {
		if (!await app.ask(`Delete schedule ${quoted(s.name)}?`,
		    "It starts no crawl any more. The crawls that it started stay.",
		    "Delete the schedule"))
			return;
		await act(button, () => app.door.ask("schedule.delete",
		    { schedule_id: s.schedule_id }));
		list();
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
