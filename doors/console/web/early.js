/* early.js -- sets the chosen theme before the first paint. */
try {
	document.documentElement.dataset.theme =
	    localStorage.getItem("argiope.theme") || "auto";
} catch {
	document.documentElement.dataset.theme = "auto";
}
