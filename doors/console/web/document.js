/* document.js -- a document of a connector: a line that opens. */
import { el } from "./dom.js";
import { plain } from "./format.js";

const LINE_MAX = 300, OPEN_MAX = 65536;

/*
 * JSON over several lines.  Numbers and texts stay as they are written, which
 * they would not if they were parsed: a number may have any digits.
 */
export function indented(json) {
	let out = "", depth = 0;
	const line = () => "\n" + "  ".repeat(depth);

	for (let i = 0; i < json.length; i++) {
		const c = json[i];
		if (c === '"') {
			const from = i;
			for (i++; i < json.length && json[i] !== '"'; i++)
				if (json[i] === "\\")
					i++;
			out += json.slice(from, i + 1);
		} else if (c === "{" || c === "[") {
			const end = c === "{" ? "}" : "]";
			if (json[i + 1] === end) {
				out += c + end;
				i++;
			} else {
				depth++;
				out += c + line();
			}
		} else if (c === "}" || c === "]") {
			depth = Math.max(0, depth - 1);
			out += line() + c;
		} else if (c === ",") {
			out += c + line();
		} else if (!/\s/.test(c)) {
			out += c === ":" ? ": " : c;
		}
	}
	return out;
}

/*
 * A list item for the JSON text of a document; `rejected`: {pointer, message}
 * of one that broke a rule of its schema.
 */
export function documentNode(json, rejected) {
	const whole = el("div", null), brief = plain(json.length > LINE_MAX ?
	    json.slice(0, LINE_MAX) + "…" : json);
	const node = el("details", { ontoggle: () => {
		if (!node.open || whole.firstChild !== null)
			return;
		whole.append(el("pre", { tabindex: "0", role: "region",
		    "aria-label": "Document" }, plain(indented(json.slice(0,
		    OPEN_MAX))) + (json.length > OPEN_MAX ? "\n…" : "")));
	} }, el("summary", null, el("code", null, brief)), whole);

	return el("li" + (rejected ? ".rejected" : ""), null, rejected &&
	    el("p.wrong", null, "Rejected: " + ruleOf(rejected)), node);
}

/* The rule that it broke, and where. */
export function ruleOf({ pointer, message }) {
	return plain(pointer === "" ? message : pointer + ": " + message);
}
