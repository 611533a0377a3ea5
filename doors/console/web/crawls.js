/*
 * crawls.js -- every crawl's statistics, merged; and the rates
 * that follow from two looks.
 */
import { soon } from "./dom.js";

const RATE_S = 5;              // over which a rate is taken
const RENEW_MS = 3000;         // for all parts of a full event
const TRACE_MAX = 60;          // rates kept for a sparkline

export const ENDED = new Set(["complete", "cancelled", "failed"]);

/* The time of the figures while the server is gone, in ms; 0: it is there. */
export const frozen = { at: 0 };
export const now = () => frozen.at || Date.now();

export class Crawls extends EventTarget {
	constructor(door) {
		super();
		this.door = door;
		this.rows = new Map();         // id -> row
		this.known = false;            // the first event has come
		this.old = {};                 // by kind: ids not in an event since
		this.watched = new Set();      // ids that are on the screen
	}

	/* Rows of kind `frontier` are queues that outside crawlers fetch. */
	open() {
		for (const kind of ["crawl", "frontier"])
			this.door.subscribe("subscribe_crawl_stats",
			    { min_interval: 1, kind }, (data, event, fresh) => {
				if (fresh)
					this.renew(kind);
				for (const [id, part] of Object.entries(data))
					this.merge(Number(id), part, kind);
				this.tell();
			});
		// There is no first event while there is no crawl.
		this.door.ask("list_crawls", { size: 100 }).then((data) => {
			for (const part of data.crawls) {
				const row = this.merge(part.crawl_id, part);
				if (part.pages_per_s > 0)
					row.still = row.at;
			}
			this.known = true;
			this.tell();
		}).catch(() => {});
	}

	/* A crawl that a full event no longer names has been deleted. */
	renew(kind) {
		const old = new Set(this.newest().filter((r) => r.kind === kind)
		    .map((r) => r.id));

		this.old[kind] = old;
		setTimeout(() => {
			for (const id of old)
				this.rows.delete(id);
			this.tell();
		}, RENEW_MS);
	}

	tell() {
		soon(this.changed ??= () =>
		    this.dispatchEvent(new Event("change")));
	}

	merge(id, part, kind = "crawl") {
		if (part.status === "deleted") {
			this.rows.delete(id);
			return part;
		}
		const row = this.rows.get(id) ?? { id, kind, marks: [], trace: [],
		    perSecond: 0, bytesPerSecond: 0, still: 0 };
		const before = row.pages, was = row.status;

		this.known = true;
		this.old[kind]?.delete(id);
		Object.assign(row, part);
		row.pages = row.items ?? (row.information ?? 0) +
		    (row.success ?? 0) + (row.redirect ?? 0) +
		    (row.not_found ?? 0) + (row.error ?? 0);
		row.errors = (row.exception ?? 0) + (row.error ?? 0);
		row.at = Date.now();
		// After one look it is not known whether the figure moves.
		if (row.pages !== before && before !== undefined)
			row.still = row.at;
		this.rows.set(id, row);
		if (was !== undefined && was !== row.status)
			this.changedState(row);
		return row;
	}

	/* The old state's reason does not explain the new one. */
	changedState(row) {
		row.why = "";
		row.still = 0;
		if (this.watched.has(row.id) && !ENDED.has(row.status))
			this.askWhy(row);
	}

	/* Ask why it waits; shown as soon as it is known. */
	async askWhy(row) {
		const state = row.status;

		try {
			const data = await this.door.ask("why",
			    { crawl_id: row.id });
			if (row.status !== state)
				return;
			row.why = data.why;
			row.underWay = data.facts?.in_flight ?? 0;
		} catch (e) {
			if (e.code !== "lost" && row.status === state)
				row.why = e.message;
		}
		this.tell();
	}

	/* The server is gone: no speed is known. */
	freeze() {
		for (const row of this.rows.values()) {
			row.marks.length = 0;
			row.pages_per_s = row.bytes_per_s = 0;
			if (!ENDED.has(row.status))
				row.perSecond = row.bytesPerSecond = null;
		}
		this.tell();
	}

	forget(id) {
		this.rows.delete(id);
		this.tell();
	}

	/* Once a second: the rates of running crawls. */
	tick() {
		const at = performance.now() / 1000;
		let moved = false;

		for (const row of this.rows.values()) {
			if (ENDED.has(row.status)) {
				moved ||= row.perSecond > 0;
				row.perSecond = row.bytesPerSecond = 0;
				row.marks.length = 0;
				continue;
			}
			row.marks.push([at, row.pages, row.bytes ?? 0]);
			while (row.marks.length > 2 &&
			    at - row.marks[1][0] > RATE_S)
				row.marks.shift();
			const [t, pages, size] = row.marks[0];
			const s = at - t;
			row.perSecond = s < 2 ? row.pages_per_s ?? 0 :
			    (row.pages - pages) / s;
			row.bytesPerSecond = s < 2 ? row.bytes_per_s ?? 0 :
			    ((row.bytes ?? 0) - size) / s;
			row.trace.push(row.perSecond);
			if (row.trace.length > TRACE_MAX)
				row.trace.shift();
			moved = true;
		}
		if (moved)
			this.tell();
	}

	newest() {
		return [...this.rows.values()].sort((a, b) => b.id - a.id);
	}
}

/* The name that the console shows. */
export function nameOf(row) {
	return row?.name || row?.seed || "crawl " + row?.id;
}
