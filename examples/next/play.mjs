// @ts-check
import assert from "node:assert/strict";
import { playOrders } from "../play-orders.mjs";

// As after a change in development: a second instance of the module.
const { locks } = await import("./lib/locks.js");
const reloaded = await import(new URL("lib/locks.js?reloaded", import.meta.url).href);
assert.notEqual(reloaded.locks, locks);
assert.equal(reloaded.locks(), locks());
console.log("the module is loaded twice: both instances have the same client");
const { redis, holdfast } = locks();
await holdfast.close();
redis.disconnect();

await playOrders(new URL("member.mjs", import.meta.url));
