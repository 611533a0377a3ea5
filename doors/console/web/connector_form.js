/*
 * connector_form.js -- the fields of a connector, made from GET /form: its
 * parameters as JSON Schema, and the kind of its credential.  What is typed
 * stays in the fields: nothing is stored, and nothing becomes part of a URL.
 */
import { button, clear, el, select } from "./dom.js";
import { choicePart } from "./connector_choices.js";
import { plain } from "./format.js";
import { icon } from "./icons.js";

const TICKED_MAX = 20;                 // choices; more are a list of lines
const isRaw = (text) => /^\s*[[{]/.test(text);
const linesOf = (text) => text.split("\n").map((t) => t.trim())
    .filter((t) => t !== "");

/* Choices as [value, label]. */
function choicesOf(p) {
	const from = p.items ?? p;

	return from.oneOf?.map((o) => [o.const, plain(o.title)]) ??
	    from.enum?.map((v) => [v, plain(v)]) ?? null;
}

/* Milliseconds as a day, for the bounds of dates. */
function dayOf(ms) {
	return Number.isFinite(ms) ? new Date(ms).toISOString().slice(0, 10) :
	    null;
}

/* --- one parameter ------------------------------------------------------- */

/* A line to tick for each choice. */
function ticks(choices, given) {
	const boxes = choices.map(([value, text]) => [value, el("input",
	    { type: "checkbox", checked: given.includes(value) }), text]);
	const node = el("div.choices", null, boxes.map(([, box, text]) =>
	    el("label.check", null, box, text)));

	node.read = () => boxes.filter(([, b]) => b.checked).map(([v]) => v);
	node.first = boxes[0][1];
	return node;
}

function textField(props, given) {
	const node = el("input", { autocomplete: "off", spellcheck: "false",
	    ...props, value: given ?? "" });

	node.read = () => node.value === "" ? undefined : node.value;
	return node;
}

function linesField(given) {
	const node = el("textarea", { rows: "3", spellcheck: "false",
	    value: given.join("\n") });

	node.read = () => linesOf(node.value);
	/* Add a line at the end, or remove it. */
	node.toggle = (line, on) => node.value = [...node.read().filter((t) =>
	    t !== line), ...(on ? [line] : [])].join("\n");
	return node;
}

function choiceField(choices, given, needed) {
	const node = select([...(needed && given !== undefined ? [] :
	    [["", needed ? "choose one" : "none"]]), ...choices], given ?? "");

	node.read = () => node.value === "" ? undefined : node.value;
	return node;
}

/* By x-ui.  read() gives the value, or undefined for none. */
function makeInput(p, given, needed) {
	const choices = choicesOf(p);
	const text = (props) => textField(props, given);

	switch (p["x-ui"]) {
	case "bool": {
		const node = el("input", { type: "checkbox", checked:
		    given === true });
		node.read = () => node.checked;
		return node;
	}
	case "multi_bool":
	case "multi_search": {
		const list = Array.isArray(given) ? given : [];
		return choices !== null && choices.length <= TICKED_MAX ?
		    ticks(choices, list) : linesField(list);
	}
	case "password":
		return text({ type: "password", autocomplete: "new-password" });
	case "date":
		return textField({ type: "date", min: dayOf(p.minimum),
		    max: dayOf(p.maximum) }, given?.slice(0, 10));
	case "integer":
		/* As a text: a number of JavaScript has 53 bits. */
		return text({ inputmode: "numeric" });
	case "location": {
		const node = textField({}, given === undefined || typeof given
		    === "string" ? given : JSON.stringify(given));
		node.read = () => node.value === "" ? undefined :
		    isRaw(node.value) ? JSON.parse(node.value) : node.value;
		return node;
	}
	default:
		return choices === null ? text({}) : choiceField(choices, given,
		    needed);
	}
}

function boundsOf(p) {
	const shown = p["x-ui"] === "date" ? dayOf : (n) => n;
	const { minimum: least, maximum: most } = p;

	if (least === undefined && most === undefined)
		return "";
	return least === undefined ? `At most ${shown(most)}.` : most ===
	    undefined ? `At least ${shown(least)}.` :
	    `From ${shown(least)} to ${shown(most)}.`;
}

function helpOf(p, titles) {
	const choices = choicesOf(p);
	const lines = ["multi_bool", "multi_search"].includes(p["x-ui"]) &&
	    (choices === null || choices.length > TICKED_MAX);

	return [plain(p.description), boundsOf(p), p.pattern === undefined ?
	    "" : `It matches ${plain(p.pattern)}.`, lines ? "One per line." : "",
	    p["x-ui"] === "location" ? "A text, or JSON." : "",
	    ...(p["x-restrictions"] ?? []).map((r) => `${plain(r.message)} ` +
	    `(compared with “${plain(titles(r.target))}”).`)].filter((t) => t !== "")
	    .join(" ");
}

/*
 * Whether its choices are to be fetched.  What is typed as a secret is not
 * sent as a query.
 */
function isFetched(p) {
	return p["x-choices"] === true && choicesOf(p) === null &&
	    !["bool", "password"].includes(p["x-ui"]);
}

/*
 * A field with its label, help, and a place for what is wrong with it:
 * node.fault(text), "" for nothing.  `more` is below all of it.
 */
function labelled(label, input, help, kind, id, more) {
	const group = input.read !== undefined && input.first !== undefined;
	const wrong = el("p.wrong", { id: id + "-wrong" });
	const at = group ? input.first : input;
	const helps = help !== "" && el("p.help", { id: id + "-help" }, help);

	at.id = id;
	const node = group ? el("fieldset.field", { "aria-describedby":
	    help === "" ? null : id + "-help" }, el("legend", null, label),
	    input, helps, wrong) : el("div.field" + kind, null, el("label",
	    { for: id }, label), input, helps, wrong, more);
	const described = (bad) => [help !== "" && id + "-help", bad && id +
	    "-wrong"].filter(Boolean).join(" ");

	node.fault = (text) => {
		wrong.textContent = text;
		if (text === "")
			at.removeAttribute("aria-invalid");
		else
			at.setAttribute("aria-invalid", "true");
		if (described(text !== "") === "")
			at.removeAttribute("aria-describedby");
		else
			at.setAttribute("aria-describedby",
			    described(text !== ""));
	};
	node.focusField = () => at.focus();
	node.fault("");
	return node;
}

/* --- the credential ------------------------------------------------------ */

const SIGNING_IN = "People sign in at the front end of a back end, in a " +
	"window that it opens; what they grant is of use in a task of that " +
	"back end alone. So this connector cannot be run from here, nor can " +
	"its choices be fetched. A check judges the parameters.";

/* Rows for a credential whose fields have other names. */
function otherFields() {
	const rows = el("div", null), node = el("details", null, el("summary",
	    null, "Fields of other names"), rows);
	let n = 0;
	const more = button("", { onclick: () => addRow().focus() },
	    icon("plus"), " Another field");

	function addRow() {
		const name = el("input", { "aria-label": `Name of field ${++n}`,
		    placeholder: "name", autocomplete: "off", spellcheck:
		    "false" });
		const value = el("input", { type: "password", "aria-label":
		    `Value of field ${n}`, placeholder: "value",
		    autocomplete: "new-password" });
		rows.append(el("div.line.secret", null, name, value));
		return name;
	}

	addRow();
	node.append(more);
	node.read = () => Object.fromEntries([...rows.children].map((r) =>
	    [...r.querySelectorAll("input")].map((i) => i.value)).filter(
	    ([name, value]) => name.trim() !== "" && value !== "")
	    .map(([name, value]) => [name.trim(), value]));
	return node;
}

function credentialPart(kind) {
	const wrong = el("p.wrong", { role: "alert" });
	const fault = (text) => wrong.textContent = text;

	if (kind === "none")
		return { node: wrong, read: () => undefined, fault };
	if (kind === "oauth")
		return { node: el("section.signing", null, el("h3", null,
		    "Signing in"), el("p.help", null, SIGNING_IN), wrong),
		    read: () => undefined, fault };
	const user = textField({ id: "credential-user" });
	const secret = textField({ id: "credential-secret", type: "password",
	    autocomplete: "new-password" });
	const others = otherFields();
	const line = (label, input) => el("div.field", null, el("label",
	    { for: input.id }, label), input);

	return { node: el("fieldset.field.credential", null, el("legend", null,
	    "Credential"), el("p.help", null, "It goes to the server with " +
	    "this request alone, and is not kept."), el("div.columns", null,
	    line("User", user), line("Password, token or key", secret)),
	    others, wrong), fault, read() {
		const all = { ...others.read() };
		if (user.value !== "")
			all.user = user.value;
		if (secret.value !== "")
			all.password = secret.value;
		return all;
	} };
}

/* --- the form ------------------------------------------------------------ */

/*
 * {node, values(), credential(), faults(messages), clear()}.  `form` is the
 * payload of GET /form; `given` are values to begin with, instead of defaults.
 * faults() shows each message at the parameter that it names, moves the focus
 * to the first, and returns those that name none.  fetchChoices(body) promises
 * the payload of POST /choices; without it no choices are fetched.
 */
export function connectorForm(form, given, fetchChoices) {
	const { properties = {}, required = [] } = form.parameters;
	const titles = (name) => properties[name]?.title ?? name;
	const credential = credentialPart(form.credential);
	const fields = new Map();

	Object.entries(properties).forEach(([name, p], i) => {
		const needed = required.includes(name);
		const input = makeInput(p, given === undefined ? p.default :
		    given[name] ?? undefined, needed);
		const kind = p["x-ui"] === "bool" ? ".check" : "";
		const label = [plain(titles(name)), needed && el("span.help",
		    null, " needed")];
		if (needed && input.first === undefined && p["x-ui"] !== "bool")
			input.setAttribute("aria-required", "true");
		const choices = fetchChoices && form.credential !== "oauth" &&
		    isFetched(p) && choicePart(plain(titles(name)), input,
		    (query) => askFor(name, query));
		fields.set(name, { input, choices, node: labelled(label, input,
		    helpOf(p, titles), kind, "p-" + i, choices) });
	});

	/* With what the form has so far. */
	async function askFor(name, query) {
		clearFaults();
		try {
			return await fetchChoices({ name, query, params:
			    values(), credential: credential.read() });
		} catch (e) {
			if (e.data?.messages)
				showFaults(e.data.messages);
			throw e;
		}
	}

	function clearFaults() {
		for (const { node, choices } of fields.values()) {
			node.fault("");
			if (choices)
				choices.fault("");
		}
		credential.fault("");
	}

	function values() {
		const all = {};

		for (const [name, { input, node }] of fields)
			try {
				const v = input.read();
				if (v !== undefined)
					all[name] = v;
			} catch (e) {
				node.fault("it is no JSON: " + e.message);
				node.focusField();
				throw new Error(`${titles(name)}: it is no ` +
				    "JSON");
			}
		return all;
	}

	function showFaults(messages) {
		const rest = [];
		let first = null;

		clearFaults();
		for (const m of messages) {
			const [, name, text] = /^([^:]+): (.*)$/s.exec(m) ?? [];
			const f = fields.get(name);
			if (name === "credential") {
				credential.fault(plain(text));
			} else if (f === undefined) {
				rest.push(m);
			} else {
				f.node.fault(plain(text));
				first ??= f.node;
			}
		}
		first?.focusField();
		return rest;
	}

	return {
		node: el("div", null, fields.size > 0 ? el("div.columns", null,
		    [...fields.values()].map((f) => f.node)) : el("p.help", null,
		    "It has no parameters."), credential.node),
		clear: clearFaults,
		values,
		credential: credential.read,
		faults: showFaults,
	};
}
