import { fencedFetch } from "../http.js";
import { atOnce, type Counter } from "./counter.js";

export function httpCounter(port: number, name: string): Counter {
  const url = `http://127.0.0.1:${port}/${name}`;
  const value = async () => Number(await (await fetch(url)).text());
  return {
    value,
    async add(token, between = atOnce) {
      const before = Number(await fencedFetch(url, token));
      await between(before);
      await fencedFetch(url, token, { method: "PUT", body: `${before + 1}` });
    },
    async addUnguarded(between = atOnce) {
      const before = await value();
      await between(before);
      const { status } = await fetch(url, { method: "PUT", body: `${before + 1}` });
      if (status !== 200) throw new Error(`the service answers ${status}`);
    },
    close: async () => {},
  };
}
