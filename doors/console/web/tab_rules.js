/*
 * tab_rules.js -- which URLs the crawl takes: the rules in force, and
 * exclusions that apply at once.  The URLs that a new rule would remove from the
 * queue are shown before it is confirmed.
 */
import { button, clear, el } from "./dom.js";
import { ENDED } from "./crawls.js";
import { count, many } from "./format.js";
import { icon } from "./icons.js";
import { explainBox, ruleRows } from "./policy.js";
import { act, empty, form } from "./say.js";

export function rulesTab(root, { id, row, app }) {
	const q = new URLSearchParams(location.search);
	const pattern = el("input.grow.mono", { "data-find": true,
	    spellcheck: "false", autocapitalize: "off",
	    placeholder: "^https?://example\\.org/calendar/",
	    value: q.get("pattern"), id: "exclude",
	    "aria-describedby": "exclude-help",
	    oninput: () => preview.replaceChildren() });
	const show = el("button.primary", null, "Preview");
	const preview = el("div", { "aria-live": "polite" });
	const rules = el("div", null);
	const may = app.may("realtime");
	let over = null, shownFor = "";

	if (may)
		root.append(el("section.card", { id: "excluding" },
		    el("h3", null, "Exclude"), form(".line", show, () => look(),
		    el("label.unseen", { for: "exclude" },
		    "A regular expression of URLs"), pattern, show),
		    el("p.help", { id: "exclude-help" }, "A regular expression " +
		        "for whole URLs. What it matches is left out from now " +
		        "on, before all other rules. Nothing changes before " +
		        "you have seen what would go."), preview));
	root.append(rules);

	async function look(partial = true) {
		const text = pattern.value.trim();

		if (text === "") {
			pattern.focus();
			return;
		}
		app.query({ pattern: text });
		let data;
		try {
			data = await app.door.ask("job.exclude", { crawl_id: id,
			    pattern: text, preview: true, partial });
		} catch (e) {
			clear(preview, el("p.wrong", { role: "alert" },
			    e.message));
			return;
		}
		const yes = button(".danger", { onclick: () =>
		    exclude(text, data, yes) }, icon("ban"),
		    data.looked !== undefined ?
		    " Exclude, and take what matches away" :
		    data.removed === 0 ? " Exclude from now on" :
		    ` Exclude, and take ${many(data.removed, "URL")} away`);
		const more = data.looked !== undefined && button("", { onclick:
		    () => act(more, () => look(false)) },
		    "Look at all that wait");
		clear(preview, el("p", null, more && "So far: of the first " +
		    `${many(data.looked, "URL")} that wait. `,
		    data.removed === 0 ? "Nothing that " +
		    "waits matches. What is found later and matches would be " +
		    "left out." : `${many(data.removed, "URL")} of ` +
		    `${count(row().queued)} that wait would leave the queue` +
		    (data.sample.length < data.removed ? `; here are ` +
		    `${data.sample.length} of them:` : ":")),
		    data.sample.length > 0 && el("ul.samples.tall",
		    { tabindex: "0", "aria-label": "URLs that would leave" },
		    data.sample.map((u) => el("li", null, el("span.url", null,
		    u)))), el("div.buttons", null, button("", { onclick: () =>
		    preview.replaceChildren() }, "Leave it"), more, yes));
	}

	async function exclude(text, { removed, looked }, yes) {
		if ((removed > 0 || looked !== undefined) && !await app.ask(
		    "Exclude " + text + "?", `${many(removed, "URL")} ` +
		    (looked === undefined ? "" : "or more ") + `of crawl ` +
		    `${id} leave the queue and are counted as skipped. They ` +
		    "do not come back by themselves.", "Exclude"))
			return;
		act(yes, async () => {
			const data = await app.door.ask("job.exclude",
			    { crawl_id: id, pattern: text });
			app.toast(`Excluded; ${many(data.removed, "URL")} left ` +
			    "the queue.", "good");
			pattern.value = "";
			app.query({ pattern: "" });
			preview.replaceChildren();
			read();
		});
	}

	async function read() {
		let policy = null, whose = "", seeds = [];

		try {
			const data = await app.door.ask("get_crawl",
			    { crawl_id: id });
			policy = data.policy_json ?? data.policy;
			seeds = data.seeds ?? [];
			whose = "This crawl copied its policy when it began; " +
			    "later edits of a named policy do not touch it.";
		} catch (e) {
			const name = row().policy;
			if (e.code === "lost")
				return;
			if (typeof name === "string" && name !== "")
				try {
					const data = await app.door.ask(
					    "policy.get", { name });
					policy = data.policy ?? data;
					whose = `The policy “${name}” as it is ` +
					    "now; the crawl copied it when it " +
					    "began.";
				} catch {
					policy = null;
				}
		}
		if (policy === null || !Array.isArray(policy.url_rules)) {
			empty(rules, "The rules in force cannot be shown",
			    "The server did not tell this crawl's policy.");
			return;
		}
		clear(rules, el("section.card", null, el("h3", null,
		    "Rules in force"), el("p.help", null, "Tried in order; the " +
		    "first that matches decides. " + whose),
		    ruleRows(policy.url_rules)), explainBox(app, () => policy,
		    () => seeds));
	}

	function gate() {
		if (over === ENDED.has(row().status) || !may)
			return;
		over = ENDED.has(row().status);
		show.disabled = pattern.disabled = over;
		if (over)
			clear(preview, el("p.help", null, "The crawl has ended: " +
			    "nothing waits that a rule could take away."));
		else
			preview.replaceChildren();
	}

	gate();
	read();
	if (pattern.value !== "" && !over && may && shownFor === "") {
		shownFor = pattern.value;
		act(show, look);
	}
	return { tick: gate };
}
