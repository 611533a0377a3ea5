/*
 * list.js -- a list of any length in which only rows in view have nodes.
 *
 * All rows have the same height.  The list calls `draw(node, index)` to fill a
 * row's node; nodes are few and are reused.  Arrow keys move a mark, and Enter
 * opens the marked row.
 */
import { el, soon } from "./dom.js";

const SPARE = 6;                       // rows beyond the edges
const HEIGHT_MAX = 16000000;           // that browsers draw correctly

let lists = 0;

export class List {
	/*
	 * o: {label, head, rowHeight(), make(), draw(node, i), open(i),
	 * scrolled()}; `head`, a row that stays at the top, may be left out.
	 */
	constructor(o) {
		this.o = o;
		this.count = 0;
		this.mark = -1;
		this.rows = new Map();         // index -> node
		this.free = [];
		this.id = "list" + ++lists;
		this.space = el("div.list-space", { role: "rowgroup" });
		this.node = el("div.list", { role: "grid", tabindex: "0",
		    "aria-label": o.label, onscroll: () => this.scrolled(),
		    onkeydown: (e) => this.key(e),
		    onclick: (e) => this.click(e) }, o.head, this.space);
		this.drawNow = () => this.draw();
		this.watch = new ResizeObserver(() => this.again());
		this.watch.observe(this.node);
	}

	close() {
		this.watch.disconnect();
	}

	/* The height of all rows, and of the element in their place. */
	sizes() {
		const row = this.o.rowHeight(), all = row * this.count;

		return { row, all, shown: Math.min(all, HEIGHT_MAX) };
	}

	view() {
		return this.node.clientHeight - (this.o.head?.offsetHeight ?? 0);
	}

	resize(count) {
		if (count === this.count)
			return;
		this.count = count;
		this.node.setAttribute("aria-rowcount", count);
		if (this.mark >= count)
			this.mark = count - 1;
		soon(this.drawNow);
	}

	/* Every row in view may have changed. */
	again() {
		this.stale = true;
		soon(this.drawNow);
	}

	scrolled() {
		this.o.scrolled?.(this.node.scrollTop);
		soon(this.drawNow);
	}

	atTop() {
		return this.node.scrollTop < this.o.rowHeight();
	}

	/* The offset into all rows, in pixels, at the top of the list. */
	offset({ all, shown }) {
		const view = this.view();

		if (shown === all || shown <= view)
			return this.node.scrollTop;
		return this.node.scrollTop * (all - view) / (shown - view);
	}

	draw() {
		const s = this.sizes(), view = this.view();
		const top = this.offset(s), scroll = this.node.scrollTop;
		const first = Math.max(0, Math.floor(top / s.row) - SPARE);
		const last = Math.min(this.count,
		    Math.ceil((top + view) / s.row) + SPARE);

		this.space.style.height = s.shown + "px";
		this.first = first;
		this.last = last;
		for (const [i, node] of this.rows)
			if (i < first || i >= last) {
				this.rows.delete(i);
				node.hidden = true;
				this.free.push(node);
			}
		for (let i = first; i < last; i++) {
			let node = this.rows.get(i), fresh = this.stale;
			if (node === undefined) {
				node = this.free.pop() ?? this.make();
				node.hidden = false;
				node.id = this.id + "-" + i;
				node.setAttribute("aria-rowindex", i + 1);
				this.rows.set(i, node);
				fresh = true;
			}
			node.style.transform = "translateY(" +
			    (scroll + i * s.row - top) + "px)";
			node.classList.toggle("marked", i === this.mark);
			if (fresh)
				this.o.draw(node, i);
		}
		this.stale = false;
		if (this.mark >= first && this.mark < last)
			this.node.setAttribute("aria-activedescendant",
			    this.id + "-" + this.mark);
		else
			this.node.removeAttribute("aria-activedescendant");
	}

	make() {
		const node = this.o.make();

		node.setAttribute("role", "row");
		node.classList.add("list-row");
		this.space.append(node);
		return node;
	}

	show(i) {
		const s = this.sizes(), view = this.view();
		const top = this.offset(s);
		let want = top;

		if (i * s.row < top)
			want = i * s.row;
		else if ((i + 1) * s.row > top + view)
			want = (i + 1) * s.row - view;
		if (want !== top)
			this.node.scrollTop = s.shown === s.all ? want :
			    want * (s.shown - view) / (s.all - view);
	}

	moveTo(i) {
		this.mark = Math.max(0, Math.min(this.count - 1, i));
		this.show(this.mark);
		soon(this.drawNow);
	}

	key(e) {
		const page = Math.max(1, Math.floor(this.view() /
		    this.o.rowHeight()) - 1);
		const by = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1,
		    PageDown: page, PageUp: -page }[e.key];

		if (e.ctrlKey || e.metaKey || e.altKey || this.count === 0)
			return;
		if (by !== undefined)
			this.moveTo(this.mark < 0 ? (this.first ?? 0) +
			    (this.first > 0 ? SPARE : 0) : this.mark + by);
		else if (e.key === "Home")
			this.moveTo(0);
		else if (e.key === "End")
			this.moveTo(this.count - 1);
		else if (e.key === "Enter" && this.mark >= 0 && this.o.open)
			this.o.open(this.mark);
		else
			return;
		e.preventDefault();
	}

	click(e) {
		const node = e.target.closest(".list-row");

		for (const [i, one] of this.rows)
			if (one === node)
				this.mark = i;
		soon(this.drawNow);
	}
}
