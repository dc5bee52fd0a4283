/** How many slots the keys of a Redis Cluster are divided among. */
const SLOTS = 16_384;

/** CRC-16/XMODEM of each byte value. Source: the Redis Cluster specification, appendix A. */
const table = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  return crc;
});

/** The slot of a key, or of a sharded channel, in a Redis Cluster: only the first `{tag}` counts where there is one. */
export function hashSlot(key: string): number {
  let crc = 0;
  for (const byte of Buffer.from(hashTag(key))) crc = ((crc << 8) ^ (table[(crc >> 8) ^ byte] ?? 0)) & 0xffff;
  return crc % SLOTS;
}

function hashTag(key: string): string {
  const open = key.indexOf("{");
  const close = key.indexOf("}", open + 1);
  return open >= 0 && close > open + 1 ? key.slice(open + 1, close) : key;
}
