/*
 * web.js -- requests by HTTP: the session, and what the WebSocket does not
 * provide.  A session is a cookie that this code cannot read, and a CSRF token
 * that is sent with every change.
 */

export class WebError extends Error {
	constructor(text, status, data = null) {
		super(text);
		this.status = status;
		this.data = data;              // the answer, if it is JSON
	}
}

let csrf = "";

/* `as`: the type of the answer, "json" or "text". */
async function ask(method, path, body, as = "json", more = {}) {
	const headers = { ...more };
	let answer;

	if (body !== undefined)
		headers["Content-Type"] ??= "application/json";
	if (method !== "GET" && csrf !== "")
		headers["X-CSRF-Token"] = csrf;
	try {
		answer = await fetch(path, { method, headers,
		    credentials: "same-origin", cache: "no-store",
		    body: body === undefined || body instanceof Blob ? body :
		    JSON.stringify(body) });
	} catch {
		throw new WebError("The server cannot be reached.", 0);
	}
	const text = await answer.text();
	let data = null;
	if (answer.ok && as === "text")
		return text;
	try {
		data = text === "" ? null : JSON.parse(text);
	} catch {
		data = null;
	}
	if (!answer.ok)
		throw new WebError(data?.error ??
		    `The server answered ${answer.status}.`, answer.status, data);
	return data;
}

export const get = (path) => ask("GET", path);
export const text = (path) => ask("GET", path, undefined, "text");
export const post = (path, body) => ask("POST", path, body);
export const put = (path, body) => ask("PUT", path, body);
/* Bytes, as their media type. */
export const upload = (path, blob) => ask("PUT", path, blob, "json",
    { "Content-Type": blob.type || "application/octet-stream" });
export const remove = (path) => ask("DELETE", path);
/* A merge patch (RFC 7396) for what has this revision. */
export const patch = (path, body, rev) => ask("PATCH", path, body, "json",
    { "Content-Type": "application/merge-patch+json", "If-Match": `"${rev}"` });

/* {wanted, valid, name, csrf, rights: {realtime: "read", ...}} */
export async function session() {
	return keep(await get("/session"));
}

export async function logIn(token) {
	return keep(await post("/session", { token }));
}

export async function logOut() {
	await remove("/session");
	csrf = "";
}

function keep(answer) {
	csrf = answer?.csrf ?? "";
	return answer ?? {};
}
