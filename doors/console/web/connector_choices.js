/*
 * connector_choices.js -- choices of a parameter that its source knows: fetched
 * by POST /choices, and listed below the parameter's field.  The value is in
 * the field, into which it may be typed as well.
 */
import { button, clear, el, put, select } from "./dom.js";
import { count, many, plain } from "./format.js";
import { icon } from "./icons.js";
import { act } from "./say.js";

/* A list of one choice, for a field of one line. */
function oneOf(title, input, choices, pick) {
	const list = select([["", "choose one"], ...choices], "", {
	    "aria-label": "Choices of " + title, onchange: () => {
		if (list.value !== "")
			pick(list.value);
	    } });
	const show = () => list.value = choices.some(([value]) => value ===
	    input.value) ? input.value : "";

	show();
	return { node: list, show };
}

/*
 * The boxes are one stop of the Tab key, since there may be a thousand: arrow
 * keys, Home and End move among them.
 */
function moveByArrows(node, boxes) {
	const ends = { Home: 0, End: boxes.length - 1 };
	const steps = { ArrowUp: -1, ArrowDown: 1 };
	let at = 0;

	boxes.forEach((b, i) => b.tabIndex = i === 0 ? 0 : -1);
	node.addEventListener("focusin", (e) => {
		const i = boxes.indexOf(e.target);
		if (i < 0)
			return;
		boxes[at].tabIndex = -1;
		boxes[i].tabIndex = 0;
		at = i;
	});
	node.addEventListener("keydown", (e) => {
		const to = ends[e.key] ?? at + steps[e.key];
		if (Number.isNaN(to))
			return;
		e.preventDefault();
		boxes[to]?.focus();
	});
}

/* A box to tick for each choice, for a field of several lines. */
function anyOf(title, input, choices) {
	const boxes = choices.map(([value]) => el("input", { type: "checkbox",
	    onchange: (e) => input.toggle(value, e.target.checked) }));
	const node = el("div.choices", { role: "group", "aria-label":
	    `Choices of ${title}: arrow keys move` }, choices.map(([, text],
	    i) => el("label.check", null, boxes[i], text)));

	function show() {
		const lines = new Set(input.read());
		choices.forEach(([value], i) =>
		    boxes[i].checked = lines.has(value));
	}

	moveByArrows(node, boxes);
	show();
	return { node, show };
}

/* The field for the query of a field of several lines. */
function searchField(title, send) {
	return el("input.grow", { "aria-label": `Search the choices of ${title}`,
	    placeholder: "search, or empty for all", autocomplete: "off",
	    spellcheck: "false", onkeydown: (e) => {
		if (e.key !== "Enter")
			return;
		e.preventDefault();      // It would send the form.
		send();
	    } });
}

/*
 * The part below the field `input` of the parameter called `title`.
 * ask(query) promises the payload of POST /choices.  The query is what was
 * typed into the field; a field of several lines gets one of its own for it.
 * node.fault(text) shows why they could not be fetched, "" for nothing.
 */
export function choicePart(title, input, ask) {
	const several = input.toggle !== undefined;
	const search = several && searchField(title, send);
	const said = el("span.help", { role: "status" });
	const wrong = el("p.wrong", { role: "alert" });
	const place = el("div", null);
	const fetch = button("", { onclick: send }, icon("search"), el("span",
	    null, "Fetch choices", el("span.unseen", null, " of " + title)));
	let list = null, picked = input.value;

	function send() {
		if (!fetch.disabled)
			act(fetch, fetchChoices);
	}

	async function fetchChoices() {
		node.fault("");
		put(said, "Asking the source…");
		list = null;
		clear(place);
		try {
			show(await ask(several ? search.value : input.value ===
			    picked ? "" : input.value));
		} catch (e) {
			put(said, "");
			node.fault(plain(e.message));
		}
	}

	function show({ options, more }) {
		const n = options.length;
		const choices = options.map((o) => [o.value, plain(o.label)]);

		put(said, n === 0 ? "No choices were found." : more ?
		    `The first ${count(n)} choices: to find others, ` +
		    `${several ? "search for" : "type"} a part of one, and ` +
		    "fetch again." : many(n, "choice") + ".");
		if (n === 0)
			return;
		list = several ? anyOf(title, input, choices) : oneOf(title,
		    input, choices, (value) => input.value = picked = value);
		place.append(list.node);
	}

	/* What is typed shows in the list. */
	input.addEventListener("input", () => list?.show());
	const node = el("div.fetched", null, el("div.line", null, search, fetch,
	    said), wrong, place);
	node.fault = (text) => put(wrong, text);
	return node;
}
