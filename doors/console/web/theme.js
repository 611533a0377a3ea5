/* theme.js -- light or dark, by the system's setting or by the switch. */

const NAMES = ["auto", "light", "dark"];
const KEPT = "argiope.theme";

export function themeName() {
	const kept = document.documentElement.dataset.theme;

	return NAMES.includes(kept) ? kept : "auto";
}

export function nextTheme() {
	const next = NAMES[(NAMES.indexOf(themeName()) + 1) % NAMES.length];

	document.documentElement.dataset.theme = next;
	try {
		localStorage.setItem(KEPT, next);
	} catch {
		// Without storage the choice lasts as long as the page.
	}
}
