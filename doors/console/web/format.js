/* format.js -- numbers, sizes and times as people read them. */

const whole = new Intl.NumberFormat("en");

/* 1,234,567 */
export function count(n) {
	return n === null || n === undefined || Number.isNaN(n) ? "–" :
	    whole.format(Math.round(n));
}

/* At most three digits that matter: 123, 12.3, 0.4, 0. */
export function rate(n) {
	if (n === null || n === undefined || !Number.isFinite(n))
		return "–";
	if (n >= 99.95)
		return whole.format(Math.round(n));
	return n >= 9.995 || n === 0 ? trim(n.toFixed(1)) :
	    trim(n.toFixed(n < 0.95 ? 2 : 1));
}

function trim(text) {
	return text.replace(/\.?0+$/, "") || "0";
}

const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

/* 12.3 MB: powers of 1,000. */
export function bytes(n) {
	let u = 0;

	if (n === null || n === undefined || !Number.isFinite(n))
		return "–";
	while (Math.abs(n) >= 999.5 && u < UNITS.length - 1) {
		n /= 1000;
		u++;
	}
	return (u === 0 || n >= 99.95 ? Math.round(n) : n.toFixed(1)) + "\u00a0" +
	    UNITS[u];
}

/* 340 ms, 2.1 s, 3 min 20 s, 4 h 5 min, 12 d 3 h */
export function span(seconds) {
	if (seconds === null || seconds === undefined ||
	    !Number.isFinite(seconds))
		return "–";
	if (seconds < 0)
		seconds = 0;
	if (seconds === 0)
		return "0 s";
	if (seconds < 0.001)
		return Math.round(seconds * 1e6) + " µs";
	if (seconds < 0.9995)
		return Math.round(seconds * 1000) + " ms";
	if (seconds < 9.95)
		return trim(seconds.toFixed(1)) + " s";
	const s = Math.round(seconds), m = Math.floor(s / 60);
	if (s < 60)
		return s + " s";
	if (m < 10)
		return m + " min" + (s % 60 ? " " + s % 60 + " s" : "");
	if (m < 60)
		return m + " min";
	const h = Math.floor(m / 60);
	if (h < 24)
		return h + " h" + (m % 60 ? " " + m % 60 + " min" : "");
	return Math.floor(h / 24) + " d" + (h % 24 ? " " + h % 24 + " h" : "");
}

const exactly = new Intl.DateTimeFormat("sv", { dateStyle: "short",
	timeStyle: "medium" });
const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

/* Unix seconds, or a text that Date reads, to Unix seconds; null: none. */
export function unix(t) {
	if (t === null || t === undefined || t === "" || t === 0)
		return null;
	if (typeof t === "number")
		return t;
	const ms = Date.parse(t);
	return Number.isNaN(ms) ? null : ms / 1000;
}

/* 2026-11-22 07:03:12, in local time. */
export function exact(t) {
	return unix(t) === null ? "never" :
	    exactly.format(new Date(unix(t) * 1000));
}

export function timeOfDay(t) {
	return unix(t) === null ? "–" : clock.format(new Date(unix(t) * 1000));
}

/* "3 min ago", "in 6 h 56 min", "now" */
export function ago(t) {
	const at = unix(t);

	if (at === null)
		return "never";
	const s = Date.now() / 1000 - at;
	if (Math.abs(s) < 1)
		return "now";
	return s > 0 ? brief(s) + " ago" : "in " + span(-s);
}

/* One unit: 12 s, 3 min, 5 h, 9 d. */
export function brief(seconds) {
	const s = Math.max(0, seconds);

	if (s < 60)
		return Math.floor(s) + " s";
	if (s < 3600)
		return Math.floor(s / 60) + " min";
	if (s < 86400)
		return Math.floor(s / 3600) + " h";
	return Math.floor(s / 86400) + " d";
}

/* The words for an HTTP status. */
const STATUS_WORDS = { 200: "OK", 201: "Created", 202: "Accepted",
	203: "Not authoritative", 204: "No content", 206: "Partial",
	300: "Choices", 301: "Moved", 302: "Found", 303: "See other",
	304: "Not modified", 307: "Redirect", 308: "Moved", 400: "Bad request",
	401: "Unauthorized", 402: "Payment", 403: "Forbidden", 404: "Not found",
	405: "Not allowed", 406: "Not acceptable", 408: "Timeout",
	409: "Conflict", 410: "Gone", 418: "Teapot", 421: "Misdirected",
	429: "Too many", 451: "Legal", 500: "Server error",
	501: "Not implemented", 502: "Bad gateway", 503: "Unavailable",
	504: "Gateway timeout" };
const CLASS_WORDS = ["", "Information", "Success", "Redirect", "Client error",
	"Server error"];

export function statusWord(status) {
	return STATUS_WORDS[status] ?? CLASS_WORDS[Math.floor(status / 100)] ??
	    "";
}

/* A name within a sentence; its writing direction affects nothing else. */
export function quoted(name) {
	return "“\u2068" + name + "\u2069”";
}

/* "a, b" to a list. */
export function listOf(text) {
	return text.split(",").map((t) => t.trim()).filter((t) => t !== "");
}

/* "1 page", "12 pages" */
export function many(n, one, more) {
	return count(n) + " " + (n === 1 ? one : more ?? one + "s");
}

/* The host of a URL, or "". */
export function hostOf(url) {
	try {
		return new URL(url).host;
	} catch {
		return "";
	}
}

/* A URL without the part that all URLs of its crawl share: "/path?query". */
export function pathOf(url) {
	try {
		const u = new URL(url);
		return u.pathname + u.search;
	} catch {
		return url;
	}
}

/*
 * A text from outside, with control characters and those that change the
 * writing direction or cannot be seen written out: \u202e.
 */
const UNSEEN = new RegExp("[\\0-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200b" +
    "\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u2069\\ufeff]", "g");

export function plain(text) {
	return String(text ?? "").replace(UNSEEN, (c) => "\\u" +
	    c.charCodeAt(0).toString(16).padStart(4, "0"));
}

/* A value as JSON over several lines; it reads back as the same value. */
export function plainJson(value) {
	return plain(JSON.stringify(value, null, 2));
}
