/* What the shop's pages say.  Each function gets a parsed page. */

/** @param {Dollar} $ */
export function readCategory($) {
  const links = (/** @type {string} */ css) =>
      $(css).map((i, a) => $(a).abs("href")).get()
          .filter((url) => url !== undefined);

  return { products: links("a.product"), categories: links("a.category") };
}

/** @param {Dollar} $ */
export function readProduct($) {
  return {
    title: $("h1").text().trim(),
    sku: $("[itemprop=sku]").text(),
    stock: Number($(".stock").data("count")),
    features: $(".features li").map((i, li) => $(li).text()).get()
  };
}

/** @param {Dollar} $ */
export function readPrice($) {
  const text = $(".price").text();

  return { price: text, cents: Math.round(parseFloat(text.slice(1)) * 100) };
}
