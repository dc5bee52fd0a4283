// @ts-check

/** @typedef {{ text: string, answer: string }} Turn */

/** Appends a turn only if the list is still as long as it was when the turn was begun. */
const APPEND = `
if redis.call("LLEN", KEYS[1]) ~= tonumber(ARGV[1]) then return 0 end
redis.call("RPUSH", KEYS[1], ARGV[2])
return 1`;

/** The turns of each conversation. They are in Redis so that the example needs no database. */
export class History {
  #redis;

  /** @param {import("ioredis").Redis} redis */
  constructor(redis) {
    this.#redis = redis;
  }

  /** @param {string} conversation @returns {Promise<Turn[]>} */
  async read(conversation) {
    const turns = await this.#redis.lrange(`chat:${conversation}`, 0, -1);
    return turns.map((turn) => JSON.parse(turn));
  }

  /**
   * @param {string} conversation
   * @param {number} read how many turns the model had read
   * @param {Turn} turn
   */
  async append(conversation, read, turn) {
    const appended = await this.#redis.eval(APPEND, 1, `chat:${conversation}`, read, JSON.stringify(turn));
    if (appended !== 1) throw new Error(`conversation ${conversation} has got another turn meanwhile`);
  }
}
