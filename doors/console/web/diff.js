/* diff.js -- two texts compared line by line, and shown. */
import { el } from "./dom.js";
import { many, plain } from "./format.js";

const CELLS_MAX = 1000000;             // above: all between is replaced
const SIGNS = { "-": "−", "+": "+", " ": " " };

/* Lengths of the longest common parts of a[i..] and b[j..]. */
function commonLengths(a, b) {
	const wide = b.length + 1;
	const at = new Uint32Array((a.length + 1) * wide);

	for (let i = a.length - 1; i >= 0; i--)
		for (let j = b.length - 1; j >= 0; j--)
			at[i * wide + j] = a[i] === b[j] ?
			    at[(i + 1) * wide + j + 1] + 1 : Math.max(
			    at[(i + 1) * wide + j], at[i * wide + j + 1]);
	return (i, j) => at[i * wide + j];
}

function between(a, b) {
	const out = [];
	let i = 0, j = 0;

	if (a.length * b.length <= CELLS_MAX) {
		const common = commonLengths(a, b);
		while (i < a.length && j < b.length)
			if (a[i] === b[j]) {
				out.push([" ", a[i++]]);
				j++;
			} else if (common(i + 1, j) >= common(i, j + 1))
				out.push(["-", a[i++]]);
			else
				out.push(["+", b[j++]]);
	}
	return [...out, ...a.slice(i).map((l) => ["-", l]),
	    ...b.slice(j).map((l) => ["+", l])];
}

/* What makes `b` of `a`, lists of lines: [["-" | "+" | " ", line], ...]. */
export function lineDiff(a, b) {
	const same = (line) => [" ", line];
	let head = 0, tail = 0;

	while (head < a.length && head < b.length && a[head] === b[head])
		head++;
	while (tail < a.length - head && tail < b.length - head &&
	    a.at(-1 - tail) === b.at(-1 - tail))
		tail++;
	return [...a.slice(0, head).map(same), ...between(a.slice(head,
	    a.length - tail), b.slice(head, b.length - tail)),
	    ...a.slice(a.length - tail).map(same)];
}

/* Whether the line at `i` is near one that changed; Infinity: all are. */
function isNear(lines, i, context) {
	return context === Infinity || lines.slice(Math.max(0, i - context),
	    i + context + 1).some(([sign]) => sign !== " ");
}

/* The lines of lineDiff(), those far from any change left out. */
export function diffPart(lines, label, context) {
	const out = [];
	let left = 0;
	const skip = () => {
		if (left > 0)
			out.push(el("span.diff-line.gap", null, `… ${many(left,
			    "line")} as before\n`));
		left = 0;
	};

	lines.forEach(([sign, text], i) => {
		if (!isNear(lines, i, context)) {
			left++;
			return;
		}
		skip();
		out.push(el("span.diff-line" + { "-": ".gone", "+": ".added",
		    " ": "" }[sign], null, SIGNS[sign] + " " + plain(text) +
		    "\n"));
	});
	skip();
	return el("pre.source", { tabindex: "0", role: "region", "aria-label":
	    label }, out);
}
