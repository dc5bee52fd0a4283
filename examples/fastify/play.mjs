// @ts-check
import { playOrders } from "../play-orders.mjs";

await playOrders(new URL("member.mjs", import.meta.url));
