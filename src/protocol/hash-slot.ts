/** The number of slots of a Redis Cluster. */
const SLOTS = 16_384;

/** CRC-16/XMODEM of each byte value. Source: the Redis Cluster specification, appendix A. */
const table = /* @__PURE__ */ Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  return crc;
});

/** How many keys' slots are cached: each step of a command needs the slot of its key. */
const MOST_KNOWN = 1_024;
const knownSlots = new Map<string, number>();

/** The slot of a key, or of a sharded channel, in a Redis Cluster: if there are `{tags}`, only the first tag counts. */
export function hashSlot(key: string): number {
  const known = knownSlots.get(key);
  if (known !== undefined) return known;
  let crc = 0;
  for (const byte of Buffer.from(hashTag(key))) crc = ((crc << 8) ^ (table[(crc >> 8) ^ byte] ?? 0)) & 0xffff;
  const slot = crc % SLOTS;
  if (knownSlots.size === MOST_KNOWN) knownSlots.clear();
  knownSlots.set(key, slot);
  return slot;
}

function hashTag(key: string): string {
  const open = key.indexOf("{");
  const close = key.indexOf("}", open + 1);
  return open >= 0 && close > open + 1 ? key.slice(open + 1, close) : key;
}
