/*
 * queues.js -- the door for Social Feed Manager under System: its broker, what
 * waits for it and by it.
 */
import { each, el, put, table } from "./dom.js";
import { bytes, count, many, plain, span } from "./format.js";

function brokerText({ broker: b }, state) {
	if (b.consumes && b.publishes)
		return b.fault === "" ? "connected" : "connected, but: " +
		    plain(b.fault);
	if (state === "draining")
		return "closed: the server is ending";
	return "not connected" + (b.fault === "" ? "" : ": " + plain(b.fault));
}

function outboxText({ outbox: o }) {
	if (o.messages === 0)
		return "empty: the broker has confirmed every message";
	return `${many(o.messages, "message")} (${bytes(o.bytes)}) not ` +
	    `confirmed, the oldest ${span(o.oldest_s)} old` + (o.full ?
	    "; it is full, so harvests pause" : "");
}

function lettersText({ letters: n }) {
	return n === 0 ? "none" : many(n, "message") + " that could not be " +
	    "taken, in the queue argiope_dead";
}

/* Harvests whose directory is away, full or read-only. */
function heldText({ held }) {
	return held.harvests === 0 ? "every directory can be written to" :
	    many(held.harvests, "harvest waits", "harvests wait") +
	    " for a directory: " + plain(held.why);
}

/* What has something to say, before queues that rest. */
function byNews(a, b) {
	const news = (q) => q.waiting > 0 || q.used > 0 ? 1 : 0;

	return news(b) - news(a);
}

/* A card; hidden where no broker is configured. */
export function harvestQueues() {
	const facts = {};
	const fact = (key, text) => [el("dt", null, text), facts[key] =
	    el("dd", null)];
	const list = table("Queues of harvests and exports", ["Queue",
	    ["Waiting", "num"], ["Running here", "num"], ["Slots", "num"],
	    ["Consumers", "num"]], []);
	const body = list.querySelector("tbody");
	const old = el("p.help", null, "Messages that wait and consumers are " +
	    "as the broker has said last.");
	const node = el("section.card.queues", { hidden: true }, el("h2", null,
	    "Harvests and exports by RabbitMQ"), el("dl.facts", null,
	    fact("broker", "Broker"), fact("outbox", "Outbox"),
	    fact("letters", "Dead letters"), fact("held", "Files"),
	    fact("lost", "Connections lost")), old, list);

	node.show = (door) => {
		const d = door?.details ?? {};

		node.hidden = d.broker === undefined;
		if (node.hidden)
			return;
		const isUp = d.broker.consumes && d.broker.publishes;
		put(facts.broker, plain(door.address) + ", " + brokerText(d,
		    door.state));
		facts.broker.classList.toggle("bad", !isUp ||
		    d.broker.fault !== "");
		put(facts.outbox, outboxText(d));
		facts.outbox.classList.toggle("bad", d.outbox.full);
		put(facts.letters, lettersText(d));
		facts.letters.classList.toggle("bad", d.letters > 0);
		put(facts.held, heldText(d));
		facts.held.classList.toggle("bad", d.held.harvests > 0);
		put(facts.lost, count(d.broker.disconnects));
		old.hidden = isUp;
		each(body, d.queues.sort(byNews), (q) => q.name, (q) => el("tr",
		    null, el("th", { scope: "row" }, plain(q.name)),
		    el("td.num", null), el("td.num", null), el("td.num", null),
		    el("td.num", null)), (tr, q) => {
			put(tr.cells[1], count(q.waiting));
			put(tr.cells[2], count(q.used));
			put(tr.cells[3], count(q.slots));
			put(tr.cells[4], count(q.consumers));
		});
	};
	return node;
}
