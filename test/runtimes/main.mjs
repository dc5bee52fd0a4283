import process from "node:process";
import * as holdfast from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";
import { behave } from "./behaviours.mjs";

const held = await behave({ holdfast, ioredisDriver, Redis, url: process.env.REDIS_URL });
console.log(held.join(", "));
