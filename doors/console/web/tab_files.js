/* tab_files.js -- the crawl's files, to download. */
import { button, clear, el, table } from "./dom.js";
import { follow } from "./bits.js";
import { bytes, count } from "./format.js";
import { icon } from "./icons.js";
import { empty } from "./say.js";

const KINDS = { warc: "WARC: every request and answer, as sent and received",
	cdxj: "CDXJ: an index of the captures",
	wacz: "WACZ: a package for ReplayWeb.page" };

export function filesTab(root, { id, app }) {
	const box = el("div", null, el("p.loading", null, "Asking…"));
	let shown = "";

	root.append(box);

	async function read() {
		let files, wacz, archive;

		try {
			const data = await app.web.get(`/crawls/${id}/files/`);
			files = data.files ?? [];
			wacz = data.wacz ?? null;
			archive = data.archive ?? true;
		} catch (e) {
			if (shown !== "")
				return;
			empty(box, "The files could not be listed", e.message,
			    button("", { onclick: read }, "Try again"));
			return;
		}
		if (!archive) {
			empty(box, "No files", "The crawl was begun with " +
			    "--no-archive: it keeps its counters and its " +
			    "list of pages, and none of their bodies.");
			return;
		}
		if (files.length === 0) {
			empty(box, "No file yet", "The first WARC file is made " +
			    "when the first page is archived.");
			return;
		}
		const text = JSON.stringify([files, wacz]);
		if (text === shown)
			return;
		shown = text;
		clear(box, el("p.help", null, Object.values(KINDS).join(". ") +
		    ". "), el("p.card.wacz", null, wacz === null ?
		    "The WACZ of this crawl can be downloaded once it has " +
		    "ended." : [el("a.button.primary", { href:
		    `/crawls/${id}/files/${wacz}`, download: wacz },
		    icon("save"), " Download " + wacz), el("span.help", null,
		    " The whole crawl in one file, made as it is sent: some " +
		    bytes(files.filter((f) => f.type === "warc").reduce((n, f) =>
		    n + f.size, 0)) + ". Open it at replayweb.page.")]),
		    table("Files", ["Name", "Kind", ["Size", "num"],
		    el("span.unseen", null, "Download")], files.map(rowOf)));
	}

	function rowOf(f) {
		const href = `/crawls/${id}/files/` +
		    f.name.split("/").map(encodeURIComponent).join("/");

		return el("tr", null, el("th.url", { scope: "row" }, f.name),
		    el("td", null, (f.type ?? "").toUpperCase(),
		    f.open && el("span.tag", null, "being written")),
		    el("td.num", { title: count(f.size) + " bytes" },
		    bytes(f.size)), el("td.acts", null, el("a.button",
		    { href, download: f.name, "aria-label": "Download " +
		    f.name }, icon("save"), " Download")));
	}

	return follow(app, read);
}
