/* early.js -- before the first paint: the theme that was chosen. */
try {
	document.documentElement.dataset.theme =
	    localStorage.getItem("argiope.theme") || "auto";
} catch {
	document.documentElement.dataset.theme = "auto";
}
