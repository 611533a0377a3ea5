/*
 * policy.js -- a policy as a form: every field with its default and a line of
 * help, both from the server's table of fields; and how a policy decides about
 * one URL, rule by rule.
 */
import { add, button, clear, el, field, put, select } from "./dom.js";
import { bytes, count, listOf, rate } from "./format.js";
import { icon } from "./icons.js";
import { form } from "./say.js";

/* The table of fields: [{name, kind, nullable, min, max, unit, help, words}] */
let fieldsPromise = null;

export function policyFields(app) {
	fieldsPromise ??= app.web.get("/policy-fields").then((d) => d.fields)
	    .catch((e) => {
		fieldsPromise = null;
		throw e;
	    });
	return fieldsPromise;
}

export async function getPolicy(app, name) {
	const data = await app.door.ask("policy.get", { name });

	return data.policy ?? data;
}

/* "limits.max_depth" of an object. */
function reach(o, name) {
	return name.split(".").reduce((x, k) => x?.[k], o);
}

function place(o, name, value) {
	const parts = name.split("."), last = parts.pop();

	for (const k of parts)
		o = o[k] ??= {};
	o[last] = value;
}

/* --- rules, to look at -------------------------------------------------- */

const SAYS = { yes: "matches", no: "", gave_up: "gave up" };

/* `matches`: explain's result for each rule; `decides`: the deciding rule. */
export function ruleRows(rules, matches, decides) {
	return el("ol.rules", null, rules.map((r, i) => el("li" +
	    (i === decides ? ".decides" : ""), null,
	    el("span.rule-say." + effect(r), null, effectText(r)),
	    el("code", null, r.pattern ?? "everything else"),
	    matches && el("span.rule-match", null, i === decides ? "decides" :
	    SAYS[matches[i]] ?? ""))));
}

function effect(r) {
	return r.action === "multiply" && r.amount === 0 ? "skip" : "take";
}

function effectText(r) {
	if (effect(r) === "skip")
		return "skip";
	if (r.action === "add")
		return r.amount === 1 ? "take" : "take, cost + " +
		    rate(r.amount);
	return r.amount === 1 ? "take, same cost" : "take, cost × " +
	    rate(r.amount);
}

/* --- explain ------------------------------------------------------------ */

/* policy() gives a name or an object, seeds() a list of URLs. */
export function explainBox(app, policy, seeds) {
	const url = el("input.grow", { placeholder: "https://example.org/a/page",
	    spellcheck: "false", inputmode: "url", id: "explain-url" });
	const go = el("button", null, "Explain");
	const answer = el("div", { "aria-live": "polite" });

	async function explain() {
		const text = url.value.trim();

		if (text === "") {
			url.focus();
			return;
		}
		const args = { url: text, policy: policy() };
		const from = seeds().filter((s) => s !== "").slice(0, 100);
		let x;
		try {
			try {
				x = await app.door.ask("explain",
				    from.length ? { ...args, seeds: from } :
				    args);
			} catch (e) {
				if (e.code !== "bad_args" || !from.length ||
				    !e.message.includes("seeds"))
					throw e;
				x = await app.door.ask("explain", args);
			}
		} catch (e) {
			clear(answer, el("p.wrong", { role: "alert" },
			    e.message));
			return;
		}
		clear(answer, el("p.verdict." + (x.take ? "take" : "skip"),
		    null, icon(x.take ? "complete" : "cancelled"), el("b", null,
		    x.take ? "Taken" : "Skipped"), x.take ? `, cost ` +
		    count(x.cost) + "." : (x.reason ? ` (${x.reason})` : "") +
		    ": " + (x.text ?? "")), x.url && x.url !== text &&
		    el("p.help", null, "as ", el("span.url", null, x.url)),
		    x.robots && el("p.help", null, "Now " + x.robots.text +
		    "."), x.rules && ruleRows(x.rules, x.rules.map((r) => r.match),
		    x.rule));
	}

	return el("section.card.explain", null, el("h3", null, "Explain a URL"),
	    form(".line", go, explain, el("label.unseen",
	    { for: "explain-url" }, "A URL to run through the policy"), url,
	    go), el("p.help", null,
	    "Runs a URL through the policy and shows the rule that decides. " +
	    "Nothing is fetched."), answer);
}

/* --- the form ----------------------------------------------------------- */

const GROUPS = [
	["Which URLs", ["url_rules"]],
	["How much", ["limits.max_depth", "limits.max_items",
	    "limits.max_duration", "limits.max_cost",
	    "limits.max_body_bytes"]],
	["How fast", ["rate_limit", "downloads", "limits.timeout"]],
	["Manners", ["robots", "user_agent", "headers", "cookies", "proxy"]],
	["What is kept", ["mime_rules", "embeds", "sitemaps",
	    "normalize.strip"]],
];
const LABELS = { url_rules: "URL rules", mime_rules: "MIME rules",
	rate_limit: "Delay of a host", downloads: "Downloads at once",
	robots: "robots.txt", user_agent: "User-Agent", embeds: "Page parts",
	"normalize.strip": "Parameters to strip",
	"limits.max_body_bytes": "Body at most",
	"limits.max_depth": "Depth at most", "limits.max_items": "Pages at most",
	"limits.max_duration": "Duration at most",
	"limits.max_cost": "Cost at most", "limits.timeout": "Timeout" };

function labelOf(f) {
	const last = f.name.split(".").pop().replaceAll("_", " ");

	return LABELS[f.name] ?? last[0].toUpperCase() + last.slice(1);
}

/*
 * A form over `policy`, an object.  value() gives the object as it was edited,
 * or throws an Error that names the field.
 */
export function policyForm(fields, policy, preset) {
	const readers = [], places = new Map();
	const known = new Set(GROUPS.flatMap(([, names]) => names));
	const rest = fields.filter((f) => !known.has(f.name)).map((f) =>
	    f.name);
	const by = new Map(fields.map((f) => [f.name, f]));
	const group = ([title, names], i) => {
		const list = names.filter((n) => by.has(n));
		return list.length === 0 ? null : el("details.fields", { open:
		    i < 3 }, el("summary", null, title), el("div.field-grid",
		    null, list.map((n) => one(by.get(n)))));
	};
	const node = el("div.policy", null, [...GROUPS, ["More", rest]].map(
	    group));

	function one(f) {
		const now = reach(policy, f.name), usual = reach(preset, f.name);
		const make = { URL_RULES: urlRules, MIME_RULES: mimeRules,
		    STRINGS: strings, HEADERS: headers, BOOL: bool,
		    CHOICE: choice }[f.kind] ?? simple;
		const [input, read] = make(f, now === undefined ? usual : now);

		readers.push((out) => place(out, f.name, read()));
		places.set(f.name, input);
		const told = f.kind.endsWith("RULES") || f.kind === "HEADERS" ?
		    "" : " Default: " + said(usual, f) + ".";
		const help = f.help.charAt(0).toUpperCase() + f.help.slice(1) +
		    (f.unit ? ` (${f.unit}).` : ".") + told;
		if (input.matches("input, select, textarea"))
			return field(labelOf(f), input, help, f.kind === "BOOL" ?
			    "check" : "");
		return el("fieldset.field", null, el("legend", null,
		    labelOf(f)), input, el("p.help", null, help));
	}

	/* Go to the field that an error of the server names. */
	function point(text) {
		const [, name, i] =
		    /([a-z_]+(?:\.[a-z_]+)*)(?:\[(\d+)\])?(?=[.:])/
		    .exec(text) ?? [];
		const box = places.get(name) ?? places.get(name?.replace(
		    /\.[^.]*$/, ""));
		const one = box?.querySelectorAll("li")[i] ?? box;
		const input = one?.matches("input, select, textarea") ? one :
		    one?.querySelector("input, select, textarea");

		input?.closest("details")?.setAttribute("open", "");
		input?.setAttribute("aria-invalid", "true");
		input?.addEventListener("input", () =>
		    input.removeAttribute("aria-invalid"), { once: true });
		input?.focus();
	}

	return { node, point, value() {
		const out = structuredClone(policy);
		for (const read of readers)
			read(out);
		return out;
	} };
}

function said(v, f) {
	if (v === null || v === undefined)
		return f.kind === "TEXT" ? "none" : "no limit";
	if (Array.isArray(v))
		return v.length ? v.join(", ") : "none";
	return typeof v === "boolean" ? v ? "on" : "off" : f.unit === "bytes" ?
	    `${v} (${bytes(v)})` : String(v);
}

function simple(f, now) {
	const number = f.kind !== "TEXT";
	const input = el("input", { value: now === null ? "" : String(now ?? ""),
	    inputmode: number ? "decimal" : null, spellcheck: "false",
	    placeholder: f.nullable ? number ? "no limit" : "none" : "" });

	return [input, () => {
		const text = input.value.trim();
		if (text === "")
			return null;
		if (!number)
			return text;
		const n = Number(text);
		if (!Number.isFinite(n) || n < 0) {
			input.focus();
			throw new Error(`${labelOf(f)}: “${text}” is no ` +
			    "number from 0 on.");
		}
		return n;
	}];
}

function bool(f, now) {
	const input = el("input", { type: "checkbox", checked: now === true });

	return [input, () => input.checked];
}

function choice(f, now) {
	const input = select(f.words ?? [], now);

	return [input, () => input.value];
}

function strings(f, now) {
	const input = el("input", { value: (now ?? []).join(", "),
	    spellcheck: "false" });

	return [input, () => listOf(input.value)];
}

function headers(f, now) {
	const input = el("textarea", { rows: "2", spellcheck: "false",
	    placeholder: "Name: value, one per line", "aria-label": "Headers" },
	    Object.entries(now ?? {}).map(([k, v]) => k + ": " + v)
	    .join("\n"));

	return [input, () => {
		const out = {};
		for (const line of input.value.split("\n")) {
			const at = line.indexOf(":");
			if (line.trim() === "")
				continue;
			if (at < 1)
				throw new Error("Headers: “" + line.trim() +
				    "” has no colon.");
			out[line.slice(0, at).trim()] = line.slice(at + 1)
			    .trim();
		}
		return out;
	}];
}

/* Rows that can be added, moved and removed; the last has no pattern. */
function ruleTable(rules, make, read, fresh) {
	const list = el("ol.rule-edit", null);

	function draw() {
		clear(list, rules.map((r, i) => {
			const last = i === rules.length - 1;
			const tool = (name, text, call) => button(".quiet",
			    { title: text, "aria-label": text + ", rule " +
			    (i + 1), onclick: () => {
				keep();
				call();
				draw();
			    } }, icon(name));
			const li = el("li", null, make(r, last, i),
			    last ? null : [i > 0 && tool("up", "Move up",
			    () => rules.splice(i - 1, 0,
			    ...rules.splice(i, 1))), tool("trash",
			    "Remove", () => rules.splice(i, 1))]);
			li.rule = r;
			return li;
		}));
	}
	function keep() {
		for (const li of list.children)
			Object.assign(li.rule, read(li));
	}

	draw();
	return [add(el("div", null), list, button("", { onclick: () => {
		keep();
		rules.unshift({ ...fresh });
		draw();
		list.querySelector("input").focus();
	    } }, icon("plus"), " Add a rule")), () => {
		keep();
		return rules;
	}];
}

function patternInput(r, last, i) {
	return last ? el("span.rest", null, "everything else") :
	    el("input.grow.mono", { value: r.pattern ?? "", spellcheck: "false",
	    "aria-label": "Pattern of rule " + (i + 1),
	    placeholder: "^https?://{SEED_DOMAINS}(:\\d+)?/" });
}

function urlRules(f, now) {
	return ruleTable(structuredClone(now ?? []), (r, last, i) => [
	    patternInput(r, last, i), select([["add", "add"],
	    ["multiply", "multiply"]], r.action, { "aria-label":
	    "Action of rule " + (i + 1) }), el("input.tiny", { value:
	    String(r.amount), inputmode: "decimal", "aria-label":
	    "Amount of rule " + (i + 1) })], (li) => {
		const [p, n] = li.querySelectorAll("input").length > 1 ?
		    li.querySelectorAll("input") :
		    [null, li.querySelector("input")];
		const amount = Number(n.value);
		if (!(amount >= 0))
			throw new Error("URL rules: “" + n.value + "” is no " +
			    "amount.");
		return { ...(p && { pattern: p.value }),
		    action: li.querySelector("select").value, amount };
	    }, { pattern: "", action: "multiply", amount: 0 });
}

function mimeRules(f, now) {
	return ruleTable(structuredClone(now ?? []), (r, last, i) => [
	    patternInput(r, last, i), select([["keep", "keep"],
	    ["drop", "drop"]], r.keep ? "keep" : "drop", { "aria-label":
	    "What rule " + (i + 1) + " does" })], (li) => {
		const p = li.querySelector("input");
		return { ...(p && { pattern: p.value }),
		    keep: li.querySelector("select").value === "keep" };
	    }, { pattern: "", keep: false });
}

/* A choice between the form and the policy as JSON. */
export function policyEditor(fields, policy, preset) {
	const box = el("div", null), text = el("textarea.mono.tall", {
	    spellcheck: "false", rows: "20", "aria-label": "The policy as JSON" });
	const flip = button(".quiet", { onclick: () => {
		try {
			now = value();
		} catch (e) {
			put(wrong, e.message);
			return;
		}
		put(wrong, "");
		asText = !asText;
		draw();
	} });
	const wrong = el("p.wrong", { role: "alert" });
	let now = policy, asText = false, form = null;

	function value() {
		if (!asText)
			return form.value();
		try {
			return JSON.parse(text.value);
		} catch (e) {
			throw new Error("That is no JSON: " + e.message);
		}
	}

	function draw() {
		put(flip, asText ? "As a form" : "As JSON");
		if (asText) {
			text.value = JSON.stringify(now, null, 2);
			clear(box, text);
			return;
		}
		form = policyForm(fields, now, preset);
		clear(box, form.node);
	}

	draw();
	return { node: el("div", null, el("div.editor-head", null, flip), box,
	    wrong), value, point: (text) => asText || form.point(text) };
}
