/**
 * A byte string is a string with one character per byte, U+0000 to U+00FF. Redis stores bytes without interpreting them, and JavaScript
 * compares, hashes and slices such strings fastest. Text from callers becomes UTF-8 bytes before it is stored.
 */
const BEYOND_ASCII = /[^\x20-\x7e\t\r\n]/;

export function bytesOfText(text: string): string {
  return BEYOND_ASCII.test(text) ? Buffer.from(text, "utf8").toString("latin1") : text;
}

/** Bytes that are not UTF-8 become U+FFFD, as in the replies of every Redis client. */
export function textOfBytes(bytes: string): string {
  return BEYOND_ASCII.test(bytes) ? Buffer.from(bytes, "latin1").toString("utf8") : bytes;
}

/** For display and comparisons: text if the bytes are UTF-8, otherwise hexadecimal digits after `0x`. */
export function readableBytes(bytes: string): string {
  const text = textOfBytes(bytes);
  return bytesOfText(text) === bytes ? text : `0x${Buffer.from(bytes, "latin1").toString("hex")}`;
}

/** `String.fromCharCode` gets each byte as an argument, and engines limit the number of arguments. */
const LONGEST_CALL = 1024;

export function bytesOfArray(array: Uint8Array): string {
  return array.length > LONGEST_CALL
    ? Buffer.from(array.buffer, array.byteOffset, array.length).toString("latin1")
    : Reflect.apply(String.fromCharCode, undefined, array);
}

export function arrayOfBytes(bytes: string): Uint8Array {
  return Buffer.from(bytes, "latin1");
}
