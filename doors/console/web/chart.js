/*
 * chart.js -- lines over time, drawn as SVG paths; the numbers beside them are
 * text.  Colours are classes of style.css, and every series has a name too.
 */
import { el, put, svg } from "./dom.js";
import { brief, exact } from "./format.js";

const WIDTH = 300, HEIGHT = 64;
const TOP = 11;                        // room above the line for its value

/* A line of the last rates, for a table's cell. */
export function sparkline(label) {
	const line = svg("path.spark-line"), area = svg("path.spark-area");
	const node = svg("svg.spark", { viewBox: "0 0 60 20",
	    preserveAspectRatio: "none", role: "img", "aria-label": label },
	    area, line);

	node.show = (values) => {
		const most = Math.max(...values, 0.001), n = values.length;
		const step = 60 / 59, from = 60 - (n - 1) * step;
		let d = "";

		for (let i = 0; i < n; i++)
			d += (i ? "L" : "M") + (from + i * step).toFixed(1) +
			    " " + (19 - 17 * values[i] / most).toFixed(1);
		line.setAttribute("d", n > 1 ? d : "");
		area.setAttribute("d", n > 1 ? d + `L60 20L${from} 20Z` : "");
	};
	return node;
}

/*
 * o: {title, format(value) -> text, series: [{name, class}], stack}
 * show(points): [{t, v: [one per series]}], t in Unix seconds, ascending.
 */
export class Chart {
	constructor(o) {
		this.o = o;
		this.points = [];
		this.most = el("span.chart-most", { "aria-hidden": "true" });
		this.from = el("span.chart-from", null);
		this.read = el("span.chart-read", null);
		this.now = el("span.chart-now", null);
		this.paths = o.series.map((s) => svg(
		    `path.line.${s.class}${o.stack ? ".stack" : ""}`));
		this.areas = o.series.length === 1 ?
		    [svg(`path.area.${o.series[0].class}`)] : [];
		this.cursor = svg("path.cursor");
		this.drawing = svg("svg.chart-lines", {
		    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
		    preserveAspectRatio: "none", role: "img",
		    "aria-label": o.title },
		    svg("path.grid", { d: `M0 ${TOP}H${WIDTH}` +
		        `M0 ${(HEIGHT - 1 + TOP) / 2}H${WIDTH}` +
		        `M0 ${HEIGHT - 1}H${WIDTH}` }),
		    this.areas, [...this.paths].reverse(), this.cursor);
		this.node = el("figure.chart", null,
		    el("figcaption", null, el("span.chart-title", null,
		        o.title), this.now),
		    el("div.chart-box", {
		        onpointermove: (e) => this.point(e),
		        onpointerleave: () => this.unpoint() },
		        this.drawing, this.most),
		    el("div.chart-foot", null, this.from, this.read,
		        this.legend()));
	}

	legend() {
		if (this.o.series.length < 2)
			return this.until = el("span.chart-until", null,
			    "now");
		this.values = this.o.series.map(() => el("span", null));
		return el("span.legend", null, this.o.series.map((s, i) =>
		    el("span", null, el(`span.swatch.${s.class}`), s.name,
		    this.o.stack ? null : [" ", this.values[i]])));
	}

	tall(v) {
		return this.o.stack ? v.reduce((a, b) => a + (b || 0), 0) :
		    Math.max(...v.map((x) => x ?? 0));
	}

	show(points) {
		const n = points.length;
		const most = Math.max(1e-9, ...points.map((p) =>
		    this.tall(p.v)));
		const t0 = n ? points[0].t : 0;
		const wide = n > 1 ? points[n - 1].t - t0 : 1;
		const x = (p) => ((p.t - t0) / (wide || 1) * WIDTH).toFixed(1);
		const y = (v) => (HEIGHT - 1 - (HEIGHT - 1 - TOP) * v / most)
		    .toFixed(1);

		this.points = points;
		put(this.most, n > 1 && most > 1e-6 ? this.o.format(most) : "");
		put(this.from, n > 1 ? brief(Date.now() / 1000 - t0) + " ago" :
		    "nothing yet");
		if (this.until) {
			const s = Date.now() / 1000 - points[n - 1]?.t;
			put(this.until, n < 2 ? "" : s > 10 ? brief(s) +
			    " ago" : "now");
		}
		this.o.series.forEach((s, i) => {
			let d = "", pen = false;
			for (const p of n > 1 ? points : []) {
				const v = this.o.stack ? this.tall(
				    p.v.slice(0, i + 1)) : p.v[i];
				if (v === null || v === undefined) {
					pen = false;
					continue;
				}
				d += (pen ? "L" : "M") + x(p) + " " + y(v);
				pen = true;
			}
			if (this.o.stack && d !== "")
				d += `L${WIDTH} ${HEIGHT}L0 ${HEIGHT}Z`;
			this.paths[i].setAttribute("d", d);
			this.areas[i]?.setAttribute("d", d === "" ? "" : d +
			    `L${WIDTH} ${HEIGHT}L0 ${HEIGHT}Z`);
		});
		this.tell(n ? points[n - 1] : null);
	}

	tell(p) {
		const text = p === null ? "" : this.o.series.length === 1 ?
		    this.o.format(p.v[0]) : this.o.series.map((s, i) =>
		    s.name + " " + this.o.format(p.v[i])).join(", ");

		put(this.now, this.o.series.length === 1 ? text : "");
		this.values?.forEach((node, i) => put(node, p === null ? "" :
		    this.o.format(p.v[i])));
		this.drawing.setAttribute("aria-label", this.o.title +
		    (text === "" ? "" : ", now " + text));
	}

	point(e) {
		const n = this.points.length;
		const box = this.drawing.getBoundingClientRect();

		if (n < 2 || box.width === 0)
			return;
		const t0 = this.points[0].t, wide = this.points[n - 1].t - t0;
		const at = t0 + (e.clientX - box.left) / box.width * wide;
		let best = this.points[0];
		for (const p of this.points)
			if (Math.abs(p.t - at) < Math.abs(best.t - at))
				best = p;
		const x = (best.t - t0) / (wide || 1) * WIDTH;
		this.cursor.setAttribute("d", `M${x.toFixed(1)} 0V${HEIGHT}`);
		put(this.read, exact(best.t).slice(11) + "  " +
		    this.o.series.map((s, i) => (this.o.series.length > 1 ?
		    s.name + " " : "") + this.o.format(best.v[i])).join("  "));
		this.node.classList.add("pointed");
	}

	unpoint() {
		this.cursor.setAttribute("d", "");
		put(this.read, "");
		this.node.classList.remove("pointed");
	}
}
