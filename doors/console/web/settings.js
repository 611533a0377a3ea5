/* settings.js -- policies, schedules, tokens, and the configuration. */
import { clear, el, field, later, put, select } from "./dom.js";
import { moment } from "./bits.js";
import { count, quoted } from "./format.js";
import { icon } from "./icons.js";
import { getPolicy, policyEditor, policyFields, ruleRows } from "./policy.js";
import { act, copyButton, dialog, empty } from "./say.js";
import { scheduleFields, scheduleText } from "./schedule.js";
import { readSeeds } from "./launch.js";

const PARTS = [["policies", "Policies", policies],
	["schedules", "Schedules", schedules], ["tokens", "Tokens", tokens],
	["configuration", "Configuration", configuration]];
const DOORS = ["*", "console", "realtime", "urlfrontier", "items", "harvest",
	"external"];

export function settings(root, params, app) {
	const tabs = el("div.tabs", { role: "tablist", "aria-label":
	    "Settings" });
	const panel = el("div.panel", { role: "tabpanel", id: "panel" });

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
		const part = PARTS.find(([k]) => k === key) ?? PARTS[0];

		for (const b of tabs.children) {
			const on = b.id === "tab-" + part[0];
			b.setAttribute("aria-selected", String(on));
			b.tabIndex = on ? 0 : -1;
		}
		panel.setAttribute("aria-labelledby", "tab-" + part[0]);
		part[2](clear(panel), app);
	}

	addEventListener("hashchange", open);
	open();
	return { close: () => removeEventListener("hashchange", open) };
}

function table(label, heads, rows) {
	return el("div.scroll", { tabindex: "0", role: "region", "aria-label":
	    label }, el("table", { "aria-label": label }, el("thead", null,
	    el("tr", null, heads.map((h) => el("th", { scope: "col" }, h ||
	    el("span.unseen", null, "Actions"))))), el("tbody", null, rows)));
}

/* --- policies ----------------------------------------------------------- */

async function policies(root, app) {
	const may = app.may("realtime"), box = el("div", null);
	const editing = el("div", null);

	root.append(el("div.head.small", null, el("p.help.grow", null,
	    "A policy says what a crawl may fetch, how fast, and how much. A " +
	    "crawl copies its policy when it starts: later edits do not touch " +
	    "it."), may && el("button.primary", { type: "button",
	    onclick: () => edit("", "default") }, icon("plus"),
	    " New policy")), editing, box);

	async function list() {
		let names;
		try {
			names = (await app.door.ask("policy.list")).policies;
		} catch (e) {
			empty(box, "The policies could not be listed", e.message);
			return;
		}
		clear(box, table("Policies", ["Name", ""], names.map((n) => {
			const drop = el("button.quiet", { type: "button",
			    title: "Delete", "aria-label": "Delete " + n,
			    onclick: () => remove(n, drop) }, icon("trash"));
			return el("tr", null, el("th", { scope: "row" }, n,
			    n === "default" && el("span.tag", null,
			    "what is taken when none is named")),
			    el("td.acts", null, el("button", { type: "button",
			    onclick: () => show(n) }, "Show"), may && [
			    el("button", { type: "button", onclick: () =>
			    edit(n, n) }, "Edit"), el("button", { type:
			    "button", onclick: () => edit("", n) }, "Copy"),
			    n !== "default" && drop]));
		})));
	}

	async function show(name) {
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

	list();
}

/* --- schedules ---------------------------------------------------------- */

async function schedules(root, app) {
	const may = app.may("realtime"), box = el("div", null);
	const editing = el("div", null);

	root.append(el("div.head.small", null, el("p.help.grow", null,
	    "A schedule starts a crawl again and again. Runs that were missed " +
	    "while the server was down become one."), may &&
	    el("button.primary", { type: "button", onclick: () => edit(null) },
	    icon("plus"), " New schedule")), editing, box);

	async function list() {
		let all;
		try {
			all = (await app.door.ask("schedule.list")).schedules;
		} catch (e) {
			empty(box, "The schedules could not be listed",
			    e.message);
			return;
		}
		if (all.length === 0) {
			empty(box, "No schedule yet", "Make one here, or when " +
			    "you start a crawl.");
			return;
		}
		clear(box, table("Schedules", ["Name", "When", "Next", "Runs",
		    "Last", "Tags", ""], all.map(rowOf)));
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

	list();
}

/* --- tokens ------------------------------------------------------------- */

async function tokens(root, app) {
	const may = app.may("console"), box = el("div", null);
	const made = el("div", { "aria-live": "polite" });
	const name = el("input", { required: true, maxlength: "64",
	    pattern: "[A-Za-z0-9._@][A-Za-z0-9._@\\-]*", spellcheck: "false" });
	const scopes = DOORS.map((d) => [d, select([["", "–"], "read", "write"],
	    "", { id: "scope-" + d })]);
	const save = el("button.primary", null, icon("plus"), " Make a token");

	root.append(el("p.help", null, "A token opens doors for programs and " +
	    "people. It is shown once, when it is made; a hash of it is kept. " +
	    "As soon as one token names a door, nobody enters it without " +
	    "one: make your own first, for console and realtime."), made, !may ?
	    "" : el("form.card", {
	    onsubmit: (e) => {
		e.preventDefault();
		act(save, make);
	    } }, field("Name", name, "Letters, digits and ._@-"),
	    el("fieldset.field", null, el("legend", null, "What it opens"),
	    el("div.scopes", null, scopes.map(([d, s]) => el("label", { for:
	    s.id }, d === "*" ? "every door" : d, s))), el("p.help", null,
	    "write includes read. This console wants console, and realtime " +
	    "for crawls.")), el("div.buttons.left", null, save)), box);

	async function make() {
		const list = scopes.filter(([, s]) => s.value !== "").map(
		    ([d, s]) => d + ":" + s.value);

		if (list.length === 0) {
			app.toast("Choose what it opens.", "bad");
			return;
		}
		const data = await app.web.post("/tokens", {
		    name: name.value.trim(), scopes: list });
		clear(made, el("section.card.once", null, el("h3", null,
		    "The token “" + data.name + "”"), el("p", null, "Copy it " +
		    "now. It is not shown again."), el("p.line", null,
		    el("code.url", null, data.token), copyButton(() =>
		    data.token, "the token")), el("button", { type: "button",
		    onclick: () => clear(made) }, "I have it")));
		name.value = "";
		for (const [, s] of scopes)
			s.value = "";
		again();
	}

	async function again() {
		let all;
		try {
			all = (await app.web.get("/tokens")).tokens;
		} catch (e) {
			empty(box, "The tokens could not be listed", e.message);
			return;
		}
		if (all.length === 0) {
			empty(box, "No token yet", "Without one, who reaches " +
			    "the loopback address may do everything.");
			return;
		}
		clear(box, table("Tokens", ["Name", "Opens", "Made",
		    "Last used", ""], all.map((t) => {
			const drop = el("button", { type: "button",
			    onclick: () => remove(t, drop) }, icon("ban"),
			    " Revoke");
			return el("tr", null, el("th", { scope: "row" }, t.name),
			    el("td", null, t.scopes.map((s) => el("span.tag",
			    null, s))), el("td", null, moment(t.created)),
			    el("td", null, t.used ? moment(t.used) : "never"),
			    el("td.acts", null, may && drop));
		})));
	}

	async function remove(t, button) {
		if (!await app.ask(`Revoke token “${t.name}”?`, "Who uses it is " +
		    "refused within two seconds, for good" + (app.session
		    .valid ? "; you too, if you came in by it." : "."),
		    "Revoke the token"))
			return;
		await act(button, () => app.web.remove("/tokens/" +
		    encodeURIComponent(t.name)));
		again();
	}

	again();
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
