const holdfast = require("holdfast");
const { ioredisDriver } = require("holdfast/ioredis");
const { Redis } = require("ioredis");

void import("./behaviours.mjs")
  .then(({ behave }) => behave({ holdfast, ioredisDriver, Redis, url: process.env.REDIS_URL }))
  .then((held) => console.log(held.join(", ")));
