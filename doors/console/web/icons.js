/* icons.js -- small pictures, drawn in the text's colour on a 16 x 16 grid. */
import { svg } from "./dom.js";

const PATHS = {
	spider: "M8 6.2a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM8 6.2c2 0 2.9 1.6 2.9 3.9S9.6 " +
	    "14.3 8 14.3 5.1 12.4 5.1 10.1 6 6.2 8 6.2zM6.1 4.6 3.6 3.4 2.4.8M5.3 " +
	    "7.6 2.6 7 .9 4.4M5.2 10.2l-2.8 1-1 2.8M9.9 4.6l2.5-1.2L13.6.8M10.7 " +
	    "7.6l2.7-.6 1.7-2.6M10.8 10.2l2.8 1 1 2.8",
	running: "M8 3.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9z",
	paused: "M5 3.5v9M11 3.5v9",
	complete: "M2.5 8.5 6.5 12.5 13.5 4",
	cancelled: "M3.5 3.5l9 9M12.5 3.5l-9 9",
	failed: "M8 3v6M8 12v.8",
	pending: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 5v3l2 2",
	pause: "M5 3v10M11 3v10",
	play: "M4.5 3 12.5 8 4.5 13z",
	stop: "M4 4h8v8H4z",
	plus: "M8 3v10M3 8h10",
	search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.4 10.4 14 14",
	copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
	left: "M10 3 5 8l5 5",
	right: "M6 3l5 5-5 5",
	up: "M3 10l5-5 5 5",
	down: "M3 6l5 5 5-5",
	sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 .8v1.7M8 13.5v1.7M.8 8h1.7M13.5 " +
	    "8h1.7M2.9 2.9l1.2 1.2M11.9 11.9l1.2 1.2M2.9 13.1l1.2-1.2M11.9 " +
	    "4.1l1.2-1.2",
	moon: "M13.2 9.6A5.6 5.6 0 0 1 6.4 2.8a5.6 5.6 0 1 0 6.8 6.8z",
	auto: "M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11",
	help: "M5.8 6a2.2 2.2 0 1 1 3.2 2c-.8.4-1 .9-1 1.7M8 12.3v.5",
	close: "M4 4l8 8M12 4l-8 8",
	save: "M8 2.5v8M4.5 7.5 8 11l3.5-3.5M2.5 13.5h11",
	trash: "M3 4.5h10M6 4.5v-2h4v2M4.5 4.5l.6 9h5.8l.6-9",
	retry: "M13 8a5 5 0 1 1-1.6-3.7M13 2.5v3h-3",
	ban: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM4.2 4.2l7.6 7.6",
	out: "M6.5 3.5h-4v10h10v-4M9 2.5h4.5V7M13.5 2.5 7.5 8.5",
	warn: "M8 2 14.5 13.5h-13zM8 6.5v3.2M8 11.6v.4",
	flask: "M6 2.5h4M6.8 2.5v4L3 12.7a.6.6 0 0 0 .5.8h9a.6.6 0 0 0 .5-.8L9.2 " +
	    "6.5v-4M5 10h6",
	lock: "M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5",
};
const FULL = new Set(["running", "play", "stop"]);

/* Decoration: the words beside it, or the button's label, say what it is. */
export function icon(name) {
	return svg("svg.icon" + (FULL.has(name) ? ".full" : ""), {
	    viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" },
	    svg("path", { d: PATHS[name] ?? "" }));
}
