// @ts-check
/** A process that pays into an account again and again: it reads the balance, and writes it a moment later. */
import { setTimeout as pause } from "node:timers/promises";
import { Redis } from "ioredis";

const [, , program = "", times = "0"] = process.argv;
const { deposit, end } = await import(program);
const account = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");
await account.ping();
process.send?.("ready");
await new Promise((resolve) => process.once("message", resolve));
for (let nth = 0; nth < Number(times); nth += 1) {
  await deposit(async () => {
    const balance = Number(await account.get("balance"));
    await pause(1);
    await account.set("balance", balance + 1);
  });
}
account.disconnect();
process.disconnect();
await end();
