/*
 * series.js -- a crawl's figures as points over time.  The server has exact
 * points since it started.  Earlier ones are estimated from a sample of the
 * crawl's pages: a page's number is how many were done by then, so the times of
 * the sample give the speed.  Sizes and statuses are estimated in the same way;
 * the queue is not known.
 */

const POINTS_MAX = 240;
const SAMPLES = 40, SAMPLE_PAGES = 20;
const STATUSES = ["success", "redirect", "not_found", "error", "exception"];
const NOTHING = { done: 0, bytes: 0, s: [0, 0, 0, 0, 0] };

/*
 * A point: {t, done, bytes, s: [2xx, 3xx, 4xx, 5xx, exceptions], queued}; all
 * are totals, queued is null where it is not known.
 */
export class Series {
	constructor(door, id) {
		this.door = door;
		this.id = id;
		this.points = [];
		this.live = [];
	}

	/* Read the past; live points that arrive meanwhile are kept. */
	async past(row) {
		const told = await this.noted();
		const first = told[0] ?? pointOf(row, row.at / 1000);
		const before = first.done < 2 ? [] : await this.sampled(first,
		    row.created_at);

		this.points = [...before, ...told];
		this.live = this.live.filter((p) => p.t > (told.at(-1)?.t ?? 0));
	}

	/* The server's own points. */
	async noted() {
		const h = await this.door.ask("get_history",
		    { crawl_id: this.id });
		const at = new Map(h.fields.map((name, i) => [name, i]));

		return h.points.map((p) => {
			const take = (name) => p[at.get(name)];
			return { t: take("at"), done: take("items"),
			    bytes: take("bytes"), queued: take("queued"),
			    s: STATUSES.map(take) };
		});
	}

	/* Estimated points before `end`, from evenly spread pages. */
	async sampled(end, created) {
		const total = { bytes: 0, s: [0, 0, 0, 0, 0] };
		const points = [];
		let before = 0;

		for (const pages of await this.sample(end.done)) {
			// Each counts for its share since the last sample.
			const share = (pages.at(-1).number - before) /
			    pages.length;
			for (const p of pages) {
				const c = Math.floor(p.status_code / 100);
				total.bytes += share * (p.body_length ?? 0);
				if (c >= 2 && c <= 5)
					total.s[c - 2] += share;
			}
			const last = pages.at(-1);
			points.push({ t: last.started_at + (last.duration ?? 0),
			    done: last.number, bytes: total.bytes,
			    s: [...total.s], queued: null });
			before = last.number;
		}
		if (created)
			points.unshift({ t: created, ...NOTHING, queued: null });
		// Pages are numbered when stored, so a slow one is out of order.
		for (let i = 1; i < points.length; i++)
			points[i].t = Math.max(points[i].t, points[i - 1].t);
		return fit(points, end).filter((p) => p.t < end.t);
	}

	async sample(n) {
		const size = Math.max(1, Math.min(SAMPLE_PAGES,
		    Math.floor(n / SAMPLES)));
		const step = Math.max(size, (n - size) / (SAMPLES - 1));
		const samples = [];

		for (let at = 0; at + size <= n; at += step) {
			const { pages } = await this.door.ask("list_pages",
			    { crawl_id: this.id, start: Math.floor(at), size,
			    order: "oldest" });
			if (pages.length > 0)
				samples.push(pages);
		}
		return samples;
	}

	/*
	 * Adds a point of the newest statistics.  The same figures again make a
	 * point only after silence, which means that nothing happened.  The totals
	 * at a crawl's end replace a point that came shortly before them.
	 */
	add(row) {
		const last = this.live[this.live.length - 1];
		const silent = Date.now() - row.at > 2500;
		const t = row.ended_at ?? (silent ? Date.now() : row.at) / 1000;

		if (last && t - last.t < 0.5) {
			if (!row.ended_at)
				return;
			this.live.pop();
		}
		this.live.push(pointOf(row, Math.max(t, last?.t ?? t)));
		if (this.live.length > 2 * POINTS_MAX)
			this.live = thin(this.live);
	}

	all() {
		const first = this.live[0]?.t ?? Infinity;

		return [...this.points.filter((p) => p.t < first), ...this.live];
	}

	/* The points of the last `seconds`, or all points. */
	range(seconds) {
		const all = this.all(), last = all[all.length - 1]?.t ?? 0;

		return thin(seconds ? all.filter((p) => p.t >= last - seconds) :
		    all);
	}
}

function pointOf(row, t) {
	return { t, done: row.pages, bytes: row.bytes ?? 0, queued: row.queued ??
	    null, s: STATUSES.map((k) => row[k] ?? 0) };
}

/* Scale the estimate so that it ends at the counters' values. */
function fit(points, end) {
	const last = points.at(-1) ?? NOTHING;
	const by = (have, want) => have > 0 && want > 0 ? want / have : 1;
	const b = by(last.bytes, end.bytes);
	const s = last.s.map((n, i) => by(n, end.s[i]));

	for (const p of points) {
		p.bytes *= b;
		p.s = p.s.map((n, i) => n * s[i]);
	}
	return points;
}

/* At most POINTS_MAX of them, evenly in time, the last among them. */
export function thin(points) {
	if (points.length <= POINTS_MAX)
		return points;
	const t0 = points[0].t, t1 = points[points.length - 1].t;
	const step = (t1 - t0) / POINTS_MAX, out = [points[0]];

	for (const p of points)
		if (p.t >= out[out.length - 1].t + step)
			out.push(p);
	if (out[out.length - 1] !== points[points.length - 1])
		out.push(points[points.length - 1]);
	return out;
}

/* Rates per second from totals, over at least `over` s: [{t, v: [...]}]. */
export function perSecond(points, take, over) {
	const out = [];
	let from = 0;

	for (let i = 1; i < points.length; i++) {
		while (from < i - 1 && points[i].t - points[from + 1].t >= over)
			from++;
		const s = points[i].t - points[from].t;
		if (s <= 0)
			continue;
		const a = take(points[from]), b = take(points[i]);
		const v = b.map((n, k) => Math.max(0, n - a[k]) / s);
		// A pause begins at the last point, without a slope.
		if (points[i].t - points[i - 1].t > 2 * over)
			out.push({ t: points[i - 1].t, v });
		out.push({ t: points[i].t, v });
	}
	return out;
}
