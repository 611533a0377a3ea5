/*
 * dom.js -- makes and changes nodes.  Content from outside is text only:
 * nothing here, or anywhere in the console, reads markup.
 */

/*
 * A node: el("a.name.more", {href, onclick, "aria-label"}, child, "text", ...).
 * Properties that are functions are listeners; true is an empty attribute;
 * null, undefined and false are left out.  Children may be nested lists.
 */
export function el(name, props, ...children) {
	return fill(document.createElement(name.split(".")[0]), name, props,
	    children);
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(name, props, ...children) {
	return fill(document.createElementNS(SVG, name.split(".")[0]), name,
	    props, children);
}

function fill(node, name, props, children) {
	const dot = name.indexOf(".");

	if (dot >= 0)
		node.setAttribute("class",
		    name.slice(dot + 1).replaceAll(".", " "));
	for (const [key, value] of Object.entries(props ?? {}))
		set(node, key, value);
	add(node, children);
	return node;
}

/* Set a property as el() does, on an existing node. */
export function set(node, key, value) {
	if (typeof value === "function")
		node.addEventListener(key.slice(2), value);
	else if (key === "value" || key === "checked" || key === "disabled" ||
	    key === "selected" || key === "hidden")
		node[key] = value ?? "";
	else if (value === null || value === undefined || value === false)
		node.removeAttribute(key);
	else
		node.setAttribute(key, value === true ? "" : value);
}

export function add(node, ...children) {
	for (const child of children.flat(Infinity))
		if (child !== null && child !== undefined && child !== false)
			node.append(child);
	return node;
}

/* Set the text of a node, if it changed. */
export function put(node, text) {
	const now = String(text ?? "");

	if (node.firstChild === null || node.firstChild !== node.lastChild ||
	    node.firstChild.nodeType !== Node.TEXT_NODE)
		node.textContent = now;
	else if (node.firstChild.data !== now)
		node.firstChild.data = now;
}

export function clear(node, ...children) {
	node.replaceChildren();
	return add(node, children);
}

/*
 * Let `parent` have one child for each item, in order; children of items that
 * stay are kept, so that focus and scroll stay with them.
 *   key(item) -> text, make(item) -> node, update(node, item)
 */
export function each(parent, items, key, make, update) {
	if (parent.rowsByKey === undefined)
		parent.replaceChildren();
	const kept = parent.rowsByKey ?? new Map(), next = new Map();
	let at = parent.firstChild;

	for (const item of items) {
		const k = key(item);
		let node = kept.get(k);
		if (node === undefined)
			node = make(item);
		update?.(node, item);
		next.set(k, node);
		kept.delete(k);
		if (node === at)
			at = at.nextSibling;
		else
			parent.insertBefore(node, at);
	}
	for (const node of kept.values())
		node.remove();
	parent.rowsByKey = next;
}

/* A phone's width: some lists have other rows, some rows scroll. */
export const PHONE = matchMedia("(max-width: 700px)");

/* Call each function once in the next frame, however often it is asked for. */
const waiting = new Set();
let frame = 0;

export function soon(draw) {
	waiting.add(draw);
	if (frame === 0)
		frame = requestAnimationFrame(() => {
			const now = [...waiting];
			waiting.clear();
			frame = 0;
			for (const one of now)
				one();
		});
}

/* Call a function once it was not asked for during `ms`. */
export function later(call, ms) {
	let timer = 0;

	return (...args) => {
		clearTimeout(timer);
		timer = setTimeout(() => call(...args), ms);
	};
}

/* A button that sends no form; its properties and children as for el(). */
export function button(kind, props, ...children) {
	return el("button" + kind, { type: "button", ...props }, children);
}

/*
 * A table that scrolls by itself.  `heads` are texts, nodes, or [text, class];
 * "" is the head of the buttons.  `body` is a tbody, or rows.
 */
export function table(label, heads, body) {
	const all = heads.map((h) => {
		const [text, kind] = [h].flat();
		return el("th", { scope: "col", class: kind }, text ||
		    el("span.unseen", null, "Actions"));
	});

	return el("div.scroll", { tabindex: "0", role: "region", "aria-label":
	    label }, el("table", { "aria-label": label }, el("thead", null,
	    el("tr", null, all)), Array.isArray(body) ? el("tbody", null,
	    body) : body));
}

/*
 * Tabs over one panel: `list` is [[key, name], ...]; pick(key) is called for a
 * click and for the arrow keys, and calls node.mark(key) in turn.
 */
export function tabBar(label, prefix, list, panel, pick) {
	const node = el("div.tabs", { role: "tablist", "aria-label": label },
	    list.map(([key, name], i) => button(".tab", { role: "tab",
	    id: prefix + key, "aria-controls": panel.id,
	    onclick: () => pick(key), onkeydown: (e) => {
		const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
		if (by === undefined)
			return;
		const to = (i + by + list.length) % list.length;
		e.preventDefault();
		pick(list[to][0]);
		node.children[to].focus();
	    } }, name)));

	node.mark = (key) => {
		for (const b of node.children) {
			const on = b.id === prefix + key;
			b.setAttribute("aria-selected", String(on));
			b.tabIndex = on ? 0 : -1;
		}
		panel.setAttribute("aria-labelledby", prefix + key);
	};
	return node;
}

/* A label above its field, with a line of help below. */
let ids = 0;

export function field(label, input, help, more) {
	const id = input.id || "f" + ++ids;

	input.id = id;
	if (help)
		input.setAttribute("aria-describedby", id + "-help");
	return el("div.field" + (more ? "." + more : ""), null,
	    el("label", { for: id }, label), input,
	    help && el("p.help", { id: id + "-help" }, help));
}

export function select(options, value, props) {
	return el("select", props, options.map((o) => {
		const [v, text] = Array.isArray(o) ? o : [o, o];
		return el("option", { value: v, selected: v === value }, text);
	}));
}
