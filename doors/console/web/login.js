/* login.js -- asks for a token once and starts a session of this browser. */
import { el, field } from "./dom.js";
import { form } from "./say.js";

export function login(root, app, entered) {
	const token = el("input", { type: "password", name: "token",
	    autocomplete: "current-password", required: true,
	    spellcheck: "false" });
	const wrong = el("p.wrong", { role: "alert" });
	const enter = el("button.primary", null, "Enter");

	async function send() {
		wrong.textContent = "";
		try {
			const s = await app.web.logIn(token.value.trim());
			root.replaceChildren();
			entered(s);
		} catch (x) {
			if (x.status !== 401 && x.status !== 403)
				throw x;
			wrong.textContent = "That token does not open this " +
			    "console. Make one with: argiope token add NAME " +
			    "--scope console:write,realtime:write";
			token.select();
		}
	}

	root.append(el("section.card.login", null, el("h1", null, "A token, please"),
	    el("p", null, "This Argiope lets in who has a token. It is asked " +
	        "once; this browser then holds a session."),
	    form("", enter, send, field("Token", token), wrong, enter)));
	token.focus();
}
