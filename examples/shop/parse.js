/* What the shop's pages say.  Each function gets a parsed page. */

export function readCategory($) {
  const links = (css) => $(css).map((i, a) => $(a).abs("href")).get();

  return { products: links("a.product"), categories: links("a.category") };
}

export function readProduct($) {
  return {
    title: $("h1").text().trim(),
    sku: $("[itemprop=sku]").text(),
    stock: Number($(".stock").data("count")),
    features: $(".features li").map((i, li) => $(li).text()).get()
  };
}

export function readPrice($) {
  const text = $(".price").text();

  return { price: text, cents: Math.round(parseFloat(text.slice(1)) * 100) };
}
