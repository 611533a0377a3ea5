/*
 * item_forms.js -- forms of an item's view: another id, merging it, a file as a
 * blob, how long a result counts.
 */
import { button, clear, el, field, put, set } from "./dom.js";
import { plain, quoted } from "./format.js";
import { icon } from "./icons.js";
import { form } from "./say.js";
import { hasNoPath, itemPath, itemView, pairPath } from "./items.js";

/* A field with its button: add(button, text) returns whether it was taken. */
export function adder(label, hint, word, add, picture = "plus") {
	const input = el("input", { "aria-label": label, placeholder: hint });
	const b = el("button", null, icon(picture), " " + word);

	return form(".line.adder", b, async () => {
		if (input.value.trim() === "")
			input.focus();
		else if (await add(b, input.value.trim()))
			input.value = "";
	}, input, b);
}

/*
 * A form of one field in `place`; send(text) does it, or throws a sentence.
 * `words`: title, label, help, and that of the button.
 */
function idForm(place, words, kind, send) {
	const input = el("input", { maxlength: "1024", autocomplete: "off" });
	const wrong = el("p.wrong", { role: "alert" });
	const go = el("button" + kind, null, words.done);

	async function sent() {
		put(wrong, "");
		set(input, "aria-invalid", null);
		try {
			if (input.value.trim() !== "")
				await send(input.value.trim());
			else
				input.focus();
		} catch (e) {
			// The field's name in the request is not that here.
			put(wrong, e.message.replace(/^(to|into): /, ""));
			set(input, "aria-invalid", "true");
			input.focus();
		}
	}

	clear(place, form(".card", go, sent, el("h2", null, words.title),
	    field(words.label, input, words.help), wrong, el("div.buttons",
	    null, button("", { onclick: () => clear(place) }, "Leave it"),
	    go)));
	input.focus();
}

/* Where an item is after it has another id. */
function goTo(app, id) {
	app.go(hasNoPath(id) ? "/browse/items" : itemView(id));
}

export function renameForm(place, { app, now }) {
	idForm(place, { title: "Another id", label: "New id", help: "The " +
	    "present one stays as an alias, so what names it still leads " +
	    "here.", done: "Rename" }, ".primary", async (to) => {
		const one = await app.web.post(itemPath(now().id) + "/rename",
		    { to });

		app.toast(`It is called ${quoted(plain(one.id))} now.`, "good");
		goTo(app, one.id);
	});
}

export function mergeForm(place, { app, now }) {
	idForm(place, { title: "Merge into another item", label:
	    "Id of the item that stays", help: "It gets the tags, failures, " +
	    "blobs and aliases of this one, and the data of whichever was " +
	    "changed last. This id becomes an alias of it.", done: "Merge…" },
	    ".primary", async (into) => {
		const { id } = now();

		if (!await app.ask(`Merge ${quoted(plain(id))} into ` +
		    `${quoted(plain(into))}?`, "One item remains. This cannot " +
		    "be undone.", "Merge them"))
			return;
		const one = await app.web.post(itemPath(id) + "/merge",
		    { into });
		app.toast(`Merged into ${quoted(plain(one.id))}.`, "good");
		goTo(app, one.id);
	});
}

/* A file, and the name that it gets; its own unless another is entered. */
export function uploadForm({ app, now, change }) {
	const file = el("input", { type: "file", "aria-label":
	    "A file to upload" });
	const name = el("input", { maxlength: "1024", "aria-label":
	    "Name of the blob" });
	const b = el("button", null, icon("plus"), " Upload");
	const showName = () => set(name, "placeholder", file.files[0]?.name ??
	    "a name, if not the file's");

	showName();
	file.onchange = showName;
	return form(".line.upload", b, async () => {
		const [one] = file.files;
		const text = name.value.trim() || one?.name;

		if (one === undefined) {
			file.focus();
			return;
		}
		if (hasNoPath(text))
			throw new Error("No address can name such a blob.");
		if (await change(b, () => app.web.upload(itemPath(now().id) +
		    "/blobs/" + encodeURIComponent(text), one),
		    "The blob is stored."))
			file.value = name.value = "";
		showName();
	}, file, name, b);
}

/* How long the present result of a task counts; task() names it. */
export function ttlForm({ app, now, change }, task) {
	return el("div.ttl", null, el("span.help", null, "Let it count for"),
	    adder("How long this result counts", "30d, 2h, or never", "Set",
	    (b, text) => change(b, () => app.web.post(pairPath(now().id,
	    task()) + "/ttl", { ttl: text === "never" ? null : text }),
	    "The result's age is set."), "save"));
}
