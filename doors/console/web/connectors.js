/*
 * connectors.js -- the connectors of the external door: a list, and what its
 * views share.
 */
import { clear, each, el, put, table } from "./dom.js";
import { follow } from "./bits.js";
import { count, plain } from "./format.js";
import { empty } from "./say.js";

const CREDENTIALS = { none: "none", basic: "user and password, or a token",
	oauth: "people sign in" };

export const credentialText = (kind) => CREDENTIALS[kind] ?? plain(kind);

export const connectorView = (name) => "/browse/connectors/" +
    encodeURIComponent(name);

/* The links between the views; `here` is the one that is shown. */
export function externalTabs(here) {
	return el("nav.tabs", { "aria-label": "Views of connectors" },
	    [["connectors", "Connectors"], ["external", "Tasks of back ends"]]
	    .map(([path, text]) => el("a.tab", { href: "/browse/" + path,
	    "aria-current": path === here ? "page" : null }, text)));
}

/* The payload of an answer of the door. */
export async function payloadOf(promise) {
	return (await promise).payload;
}

/* Sends POST /choices of a connector, for connectorForm(). */
export const choiceFetcher = (app, name) => (body) => payloadOf(app.web.post(
    "/external/" + encodeURIComponent(name) + "/choices", body));

export function connectors(root, params, app) {
	const box = el("div", null, el("p.loading", null, "Asking…"));
	const list = table("Connectors", ["Connector", "Name", "Version",
	    "Credential", ["Parameters", "num"], "What it gives"], []);
	const body = list.querySelector("tbody");

	root.append(externalTabs("connectors"), el("div.head", null,
	    el("h1", null, "Connectors")), box);

	async function read() {
		try {
			const { connectors: all } = await payloadOf(app.web.get(
			    "/connectors"));
			if (!box.isConnected)
				return;
			if (list.parentNode !== box)
				clear(box, list, el("p.total", null,
				    "Declared ones are files of the " +
				    "directory that external.connectors " +
				    "names; argiope external new NAME " +
				    "writes one that runs as it is."));
			each(body, all, (c) => c.name, makeRow, (row, c) => {
				put(row.cells[2], plain(c.version));
				put(row.cells[3], credentialText(c.credential));
				put(row.cells[4], count(c.parameters));
			});
		} catch (e) {
			empty(box, "The connectors could not be listed",
			    e.message);
		}
	}

	function makeRow(c) {
		return el("tr", null, el("th", { scope: "row" }, el("a.id",
		    { href: connectorView(c.name) }, plain(c.title) ||
		    plain(c.name))), el("td", null, el("code", null,
		    plain(c.name)), c.built_in && el("span.tag", null,
		    "built in")), el("td", null), el("td", null),
		    el("td.num", null), el("td.why-cell", null,
		    plain(c.description)));
	}

	return follow(app, read);
}
