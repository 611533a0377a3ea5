/* schedule.js -- the fields of a schedule. */
import { el, field, select } from "./dom.js";
import { unix } from "./format.js";

const UNITS = ["minutes", "hours", "days", "weeks", "months", "years"];

/* {node, value()}: every, unit, timing, name_template, start_at. */
export function scheduleFields(s) {
	const every = el("input.tiny", { type: "number", min: "1", max: "10000",
	    value: String(s?.every ?? 1), required: true,
	    "aria-label": "Number of units between runs" });
	const unit = select(UNITS, s?.unit ?? "days", { "aria-label": "Unit" });
	const timing = select([["regular_interval", "on a regular grid"],
	    ["after_previous", "that long after the last one ended"]],
	    s?.timing ?? "regular_interval", { "aria-label": "Timing" });
	const template = el("input", { value: s?.name_template ?? "",
	    placeholder: "{COUNT}, {DATE} and {TIME} are filled in" });
	const start = el("input", { type: "datetime-local",
	    value: unix(s?.start_at) ? local(unix(s.start_at)) : "" });

	return { node: el("div", null, el("fieldset.field", null,
	    el("legend", null, "Every"), el("div.line", null, every, unit,
	    timing)), el("div.columns", null, field("First run", start,
	    "Empty: now."), field("Names of its crawls", template,
	    "Empty: the schedule's name and #{COUNT}."))), value() {
		const out = { every: Number(every.value), unit: unit.value,
		    timing: timing.value };
		if (template.value.trim() !== "")
			out.name_template = template.value.trim();
		if (start.value !== "")
			out.start_at = new Date(start.value).getTime() / 1000;
		return out;
	} };
}

/* "every 2 days", "an hour after the last one ended" */
export function scheduleText(s) {
	const n = s.every === 1 ? s.unit.replace(/s$/, "") :
	    s.every + " " + s.unit;

	return s.timing === "after_previous" ?
	    (s.every === 1 ? "1 " : "") + n + " after the last one ended" :
	    "every " + n;
}

/* Unix seconds as a field of local time has them. */
function local(t) {
	const d = new Date(t * 1000);

	return new Date(d - d.getTimezoneOffset() * 60000).toISOString()
	    .slice(0, 16);
}
