/* backends.js -- the external door's back ends under System: calls to each, and
 * the last one that failed. */
import { each, el, put, table } from "./dom.js";
import { moment, showMoment } from "./bits.js";
import { count, plain } from "./format.js";

/* A card; hidden where no back end is configured and none was called. */
export function backendsCard() {
	const list = table("Back ends", ["Back end", "Address", ["Under way",
	    "num"], ["Waiting", "num"], ["Calls", "num"], ["Failed", "num"],
	    "Last error", "When"], []);
	const body = list.querySelector("tbody");
	const fault = el("p.wrong", { role: "status" });
	const node = el("section.card.back-ends", { hidden: true }, el("h2",
	    null, "Back ends of connectors"), fault, list);

	node.show = (door) => {
		const all = door?.details.backends ?? [];

		node.hidden = !all.some((b) => b.prefix !== "" || b.calls > 0 ||
		    b.under_way > 0);
		if (node.hidden)
			return;
		const why = door.details.fault;
		put(fault, why === "" ? "" : "The file of back ends could not " +
		    "be read, so they are those of before: " + plain(why));
		each(body, all, (b) => b.name, (b) => el("tr", null, el("th",
		    { scope: "row" }, el("a.id", { href:
		    "/browse/external?backend=" + encodeURIComponent(b.name) },
		    plain(b.name))), el("td", null, el("span.url", null,
		    plain(b.prefix) || "any on loopback")), el("td.num", null),
		    el("td.num", null), el("td.num", null), el("td.num", null),
		    el("td.error", null), el("td", null, moment(null))),
		    (tr, b) => {
			put(tr.cells[2], count(b.under_way));
			put(tr.cells[3], count(b.waiting));
			put(tr.cells[4], count(b.calls));
			put(tr.cells[5], count(b.failures));
			put(tr.cells[6], plain(b.last_error) || "none");
			showMoment(tr.cells[7].firstChild, b.last_error_at);
		});
	};
	return node;
}
