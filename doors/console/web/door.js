/*
 * door.js -- the realtime door's WebSocket: commands with answers, and
 * subscriptions that live longer than a connection.
 *
 *     asleep ──► connecting ──► open ──► lost ──retries──► open
 *        ▲                       │
 *        └────────hidden─────────┘
 *
 * A subscription resumes by itself after a lost connection: with the last
 * token that it got, or from a full first event.
 */

const RETRY_MS = [300, 500, 700, 1000, 1500, 2000, 3000, 5000];
const ANSWER_MS = 60000;
const SILENT_MS = 8000;                // then a ping is sent
const GONE_MS = 16000;                 // then the connection counts as lost
/* A command that changes something is never kept for a later connection. */
const CHANGES = /^(start_crawl|job\.|policy\.(put|delete)|schedule\.(put|delete)|harvest\.(start|stop|pause|resume)|export\.(start|cancel))/;

export class DoorError extends Error {
	constructor(text, code) {
		super(text);
		this.code = code;
	}
}

export class Door extends EventTarget {
	constructor(url) {
		super();
		this.url = url;
		this.state = "asleep";
		this.since = Date.now();
		this.heard = 0;                // time of the last message
		this.socket = null;
		this.failures = 0;
		this.nextId = 1;
		this.asked = new Map();        // command_id -> {done, fail}
		this.waiting = [];             // frames for the next connection
		this.subs = new Set();
		this.byId = new Map();         // subscription_id -> subscription
	}

	become(state) {
		if (this.state === state)
			return;
		this.state = state;
		this.since = Date.now();
		this.dispatchEvent(new Event("state"));
	}

	/* Connect, and stay connected. */
	wake() {
		if (!this.wanted)
			clearTimeout(this.timer);
		this.wanted = true;
		if (this.socket === null)
			this.connect();
	}

	/* A hidden tab closes its connection. */
	sleep() {
		this.wanted = false;
		clearTimeout(this.timer);
		if (this.asked.size > 0) {
			// Commands under way are answered first.
			this.timer = setTimeout(() => this.sleep(), 500);
			return;
		}
		this.socket?.close(1000);
		this.drop("asleep");
	}

	/* Close the connection after pending answers, until wake(). */
	rest() {
		return new Promise((done) => {
			const look = () => {
				if (this.state === "asleep" || this.wanted)
					done();
				else
					setTimeout(look, 20);
			};
			this.sleep();
			look();
		});
	}

	connect() {
		clearTimeout(this.timer);
		if (this.state !== "lost")
			this.become("connecting");
		const socket = new WebSocket(this.url);
		let opened = false;

		this.socket = socket;
		socket.onopen = () => {
			opened = true;
			this.failures = 0;
			this.heard = Date.now();
			this.become("open");
			for (const sub of this.subs)
				this.begin(sub);
			for (const frame of this.waiting.splice(0))
				socket.send(frame);
		};
		socket.onmessage = (e) => {
			this.heard = Date.now();
			this.take(JSON.parse(e.data));
		};
		socket.onclose = () => {
			if (this.socket !== socket)
				return;
			this.drop("lost");
			if (!opened)
				this.dispatchEvent(new Event("refused"));
			if (this.wanted)
				this.retry();
		};
	}

	/* Once a second: detects a server that hangs. */
	tick() {
		const silent = Date.now() - this.heard;

		if (this.state !== "open" || silent < SILENT_MS)
			this.asking = false;
		else if (silent > GONE_MS) {
			const socket = this.socket;
			this.drop("lost");
			socket.close();
			this.retry();
		} else if (!this.asking) {
			this.asking = true;
			this.ask("ping").catch(() => {});
		}
	}

	retry() {
		const ms = RETRY_MS[Math.min(this.failures++,
		    RETRY_MS.length - 1)];

		clearTimeout(this.timer);
		this.timer = setTimeout(() => this.connect(), ms);
	}

	drop(state) {
		this.socket = null;
		this.byId.clear();
		for (const sub of this.subs)
			sub.id = null;
		const asked = [...this.asked.values()];
		this.asked.clear();
		this.waiting.length = 0;
		this.become(state);
		for (const one of asked)
			one.fail(new DoorError("The connection was lost before " +
			    "the answer came.", "lost"));
	}

	/*
	 * Send a command.  The promise holds its `data`, or fails with a DoorError
	 * that has the door's own sentence.
	 */
	ask(command, args = {}) {
		if (this.state === "lost" && CHANGES.test(command))
			return Promise.reject(new DoorError("The server does " +
			    "not answer: nothing was changed.", "lost"));
		return new Promise((done, fail) => {
			const id = this.nextId++;
			const frame = JSON.stringify({ command, command_id: id,
			    args });
			const timer = setTimeout(() => {
				this.asked.delete(id);
				fail(new DoorError("No answer came within a " +
				    "minute.", "timeout"));
			}, ANSWER_MS);

			this.asked.set(id, {
				done: (data) => {
					clearTimeout(timer);
					done(data);
				},
				fail: (e) => {
					clearTimeout(timer);
					fail(e);
				},
			});
			if (this.state === "open")
				this.socket.send(frame);
			else
				this.waiting.push(frame);
		});
	}

	/*
	 * take(data, event, fresh) gets each event; `fresh` is true for the
	 * first one of a connection.  failed(error) when it is refused.
	 * Returns the subscription; end it by close().
	 */
	subscribe(command, args, take, failed) {
		const sub = { command, args: { ...args }, take, failed,
		    id: null, fresh: true, ended: false };

		sub.close = () => {
			sub.ended = true;
			this.subs.delete(sub);
			if (sub.id !== null && this.state === "open") {
				this.byId.delete(sub.id);
				this.ask("unsubscribe", {
				    subscription_id: sub.id }).catch(() => {});
			}
		};
		this.subs.add(sub);
		if (this.state === "open")
			this.begin(sub);
		return sub;
	}

	begin(sub) {
		const id = this.nextId++;

		sub.fresh = true;
		this.asked.set(id, {
			done: (data) => {
				sub.id = data.subscription_id;
				this.byId.set(sub.id, sub);
				if (sub.ended)
					sub.close();
			},
			fail: (e) => this.refused(sub, e),
		});
		this.socket.send(JSON.stringify({ command: sub.command,
		    command_id: id, args: sub.args }));
	}

	refused(sub, e) {
		if (e.code === "lost" || sub.ended)
			return;
		if (e.code === "bad_token" && sub.args.sync_token) {
			// The address has another store now: start again.
			delete sub.args.sync_token;
			this.begin(sub);
			return;
		}
		this.subs.delete(sub);
		sub.failed?.(e);
	}

	take(m) {
		if (m.type === "response") {
			const asked = this.asked.get(m.command_id);
			this.asked.delete(m.command_id);
			if (m.success)
				asked?.done(m.data ?? {});
			else
				asked?.fail(new DoorError(m.error ?? String(m.data),
				    m.code));
			return;
		}
		const sub = this.byId.get(m.subscription_id);
		if (sub === undefined || sub.ended)
			return;
		const fresh = sub.fresh;
		sub.fresh = false;
		if (m.data?.sync_token)
			sub.args.sync_token = m.data.sync_token;
		sub.take(m.data, m.event ?? "", fresh);
	}
}
