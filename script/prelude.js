/*
 * What is made before any script of a run: the errors of the task API, its
 * sessions, and what reads lines of responses.  It keeps to syntax and its own arguments, so that nothing that a
 * script replaces later can reach it.
 */
(() => {
	"use strict";
	const define = Object.defineProperty, freeze = Object.freeze;

	const makeError = (name, keys) => {
		const C = { [name]: class extends Error {
			constructor(message, options) {
				super(message, options);
				for (let i = 0; i < keys.length; i++)
					if (options?.[keys[i]] !== undefined)
						this[keys[i]] = options[keys[i]];
			}
		} }[name];
		define(C.prototype, "name",
		    { value: name, writable: true, configurable: true });
		return C;
	};

	/*
	 * `sessions` of the configuration, over host calls:
	 *
	 *   session          {name}                -> STATE
	 *   session_expired  {name, version}       -> STATE
	 *   session_store    {name, data}          -> STATE
	 *   session_fail     {name, message}
	 *   session_invalidate {name}
	 *
	 * STATE is {data, version}, or {login: true, ancestors} where this run
	 * is the one that logs in, while others wait.
	 */
	const makeSessions = (call, request, secret, sessions) => {
		const open = freeze([]);

		const make = (name, state) => freeze({
			name, data: state.data,
			fetch: (url, o) => fetchIn(name, state.version, url, o),
			invalidate: () => { call("session_invalidate", { name }) },
		});
		const login = async (name, state) => {
			const how = sessions?.[name]?.login;
			const session = { name, data: {},
			    fetch: (url, o) => request(url, { ...o, session: name }),
			    invalidate() {} };
			try {
				if (typeof how !== "function")
					throw new TypeError(
					    `the session '${name}' has no login()`);
				await how({ fetch: session.fetch, session, secret,
				    ancestors: state.ancestors ?? open });
			} catch (e) {
				await call("session_fail",
				    { name, message: `${e?.message}` });
				throw e;
			}
			return call("session_store",
			    { name, data: session.data });
		};
		const enter = async (kind, args) => {
			const state = await call(kind, args);
			return state.login ? login(args.name, state) : state;
		};
		const fetchIn = async (name, version, url, o) => {
			const options = { ...o, session: name };
			const answer = await request(url, options);
			const isExpired = sessions?.[name]?.isExpired;
			if (typeof isExpired !== "function" || !isExpired(answer))
				return answer;
			await enter("session_expired", { name, version });
			return request(url, options);
		};
		return {
			session: async name => {
				if (typeof name !== "string")
					throw new TypeError(
					    "session: the name is no string");
				return make(name, await enter("session", { name }));
			},
			fetch: (url, o) => {
				const name = o?.session?.name ?? o?.session;
				return name === undefined ? request(url, o) :
				    fetchIn(name, undefined, url, o);
			},
		};
	};

	/* Lines of a response's text, ended by CR LF, LF or CR. */
	const indexOf = Function.prototype.call.bind(String.prototype.indexOf);
	const slice = Function.prototype.call.bind(String.prototype.slice);
	const lineEnd = (text, at) => {
		for (; at < text.length; at++)
			if (text[at] === "\n" || text[at] === "\r")
				return at;
		return -1;
	};
	const lines = async function* (text) {
		for (let at = 0; at < text.length;) {
			const end = lineEnd(text, at);
			if (end < 0) {
				yield slice(text, at);
				return;
			}
			yield slice(text, at, end);
			at = end + (text[end] === "\r" && text[end + 1] === "\n" ?
			    2 : 1);
		}
	};
	/* Server-sent events (HTML Standard, section 9.2.6). */
	const events = async function* (text) {
		let event = "", data, id = "";
		for (let at = 0; at < text.length;) {
			const found = lineEnd(text, at);
			const end = found < 0 ? text.length : found;
			const line = slice(text, at, end);
			at = end + (text[end] === "\r" && text[end + 1] === "\n" ?
			    2 : 1);
			if (line === "") {
				if (data !== undefined)
					yield { event: event || "message", data, id };
				event = "";
				data = undefined;
				continue;
			}
			const colon = indexOf(line, ":");
			const field = colon < 0 ? line : slice(line, 0, colon);
			let value = colon < 0 ? "" : slice(line, colon + 1);
			if (value[0] === " ")
				value = slice(value, 1);
			if (field === "data")
				data = data === undefined ? value :
				    data + "\n" + value;
			else if (field === "event")
				event = value;
			else if (field === "id" && indexOf(value, "\0") < 0)
				id = value;
		}
	};

	return [
		makeError("FetchError",
		    ["code", "status", "response", "retryAfter"]),
		makeError("NotFoundError", []),
		makeError("MutationError", ["op", "reason"]),
		makeError("ReplayMiss", []),
		makeError("TransientError", ["code", "retryAfter"]),
		makeError("PermanentError", ["code"]),
		makeError("ConfigError", []),
		{ makeSessions, lines, events },
	];
})()
