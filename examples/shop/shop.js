/*
 * A small shop, scraped: categories are searched for products, products are
 * read, prices stand behind a login, and a summary is made of both.
 *
 *   examples/shop/serve                    the shop, on 127.0.0.1:8077
 *   ./run serve --set items.config=examples/shop/shop.js
 */
import { readCategory, readPrice, readProduct } from "./parse.js";

const SHOP = "http://127.0.0.1:8077";

/** @type {Configuration} */
export default {
  seeds: [{ id: "shop:home", tags: ["category"], data: { url: SHOP + "/" } }],
  tags: {
    category: ["find"],
    product: ["scrape", "price", "summary"]
  },
  fetch: { policy: { rate_limit: 0 }, private: ["127.0.0.1:8077"] },
  sessions: {
    member: {
      ttl: "1d",
      async login({ fetch, session }) {
        await fetch(SHOP + "/login?user=demo", { session });
      },
      isExpired: (answer) => answer.url.endsWith("/login.html")
    }
  },
  tasks: {
    // Products of a category, and further categories.
    find: {
      version: "1", ttl: "1d",
      async run({ data, fetch, createItem }) {
        const { products, categories } =
            readCategory((await fetch(String(data.url))).html());
        for (const url of products)
          createItem({ id: "shop:" + url.split("/").pop(),
              tags: ["product"], data: { url } });
        for (const url of categories)
          createItem({ id: "shop:" + url.split("/").pop(),
              tags: ["category"], data: { url } });
      }
    },
    scrape: {
      version: "1", ttl: "30d",
      async run({ data, fetch, updateData }) {
        const product = readProduct((await fetch(String(data.url))).html());
        updateData((old) => ({ ...old, ...product }));
      }
    },
    // Prices age sooner than descriptions: they are metadata, with a TTL.
    price: {
      version: "1", ttl: "2h",
      async run({ data, fetch, session, updateMetadata }) {
        const member = await session("member");
        const url = String(data.url).replace("/products/", "/members/");
        const answer = await fetch(url, { session: member });
        updateMetadata(() => readPrice(answer.html()));
      }
    },
    summary: {
      version: "1", dependsOn: ["scrape", "price"],
      async run({ data, getMetadata, updateMetadata }) {
        const price = await getMetadata("price");
        updateMetadata(() => ({ text: `${data.title}: ${price?.price}` }));
      }
    }
  }
};
