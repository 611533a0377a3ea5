/*
 * series.js -- a crawl's story as points over time.  What was before this page
 * was opened is read from a sample of its pages: a page's number is how many
 * were done by then, so the sample's times give the speed exactly; sizes and
 * statuses between the samples are estimated from them.
 */

const POINTS_MAX = 240;
const SAMPLES = 40, SAMPLE_PAGES = 20, WHOLE_PAGES = 1000;

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

	/* Read the past, once; what is told live meanwhile is kept. */
	async past(row) {
		const n = row.pages;

		if (n < 2)
			return;
		const total = { bytes: 0, s: [0, 0, 0, 0, 0] };
		const points = [];
		let before = 0;
		for (const pages of await this.sample(n)) {
			// Each stands for as many of those since the last sample.
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
		points.sort((a, b) => a.t - b.t);
		if (row.created_at)
			points.unshift({ t: Math.min(row.created_at,
			    points[0]?.t ?? row.created_at), done: 0, bytes: 0,
			    s: [0, 0, 0, 0, 0], queued: null });
		this.points = thin(fit(points, row));
	}

	async sample(n) {
		if (n <= WHOLE_PAGES) {
			const { pages } = await this.read(0, n);
			return pages.map((p) => [p]);
		}
		const step = Math.floor((n - SAMPLE_PAGES) / (SAMPLES - 1));
		const samples = [];

		for (let i = 0; i < SAMPLES; i++)
			samples.push((await this.read(i * step, SAMPLE_PAGES))
			    .pages);
		return samples.filter((pages) => pages.length > 0);
	}

	read(start, size) {
		return this.door.ask("list_pages", { crawl_id: this.id, start,
		    size, order: "oldest" });
	}

	/*
	 * What the statistics said last; the same again only when they have been
	 * silent, which says that nothing happened.
	 */
	add(row) {
		const last = this.live[this.live.length - 1];
		const silent = Date.now() - row.at > 2500;
		const t = row.ended_at ?? (silent ? Date.now() : row.at) / 1000;

		if (last && t - last.t < 0.5)
			return;
		this.live.push({ t, done: row.pages, bytes: row.bytes ?? 0,
		    s: [row.success ?? 0, row.redirect ?? 0, row.not_found ?? 0,
		    row.error ?? 0, row.exception ?? 0],
		    queued: row.queued ?? null });
		if (this.live.length > 2 * POINTS_MAX)
			this.live = thin(this.live);
	}

	all() {
		const first = this.live[0]?.t ?? Infinity;

		return [...this.points.filter((p) => p.t < first), ...this.live];
	}

	/* The last so many seconds, or all. */
	range(seconds) {
		const all = this.all(), last = all[all.length - 1]?.t ?? 0;

		return thin(seconds ? all.filter((p) => p.t >= last - seconds) :
		    all);
	}
}

/* Scale what was estimated so that its end is what the counters say. */
function fit(points, row) {
	const last = points[points.length - 1];
	const by = (have, want) => have > 0 && want > 0 ? want / have : 1;
	const b = by(last.bytes, row.bytes);
	const s = ["success", "redirect", "not_found", "error"].map((k, i) =>
	    by(last.s[i], row[k]));

	for (const p of points) {
		p.bytes *= b;
		p.s = p.s.map((n, i) => n * (s[i] ?? 1));
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

/* Totals to what came per second: [{t, v: [...]}], over at least `over` s. */
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
		// A pause begins where the last point was, not as a slope.
		if (points[i].t - points[i - 1].t > 2 * over)
			out.push({ t: points[i - 1].t, v });
		out.push({ t: points[i].t, v });
	}
	return out;
}
