import { randomUUID } from "node:crypto";
import {
  GetObjectCommand,
  NoSuchKey,
  PutObjectCommand,
  type S3Client,
  S3ServiceException,
} from "@aws-sdk/client-s3";
import type { FencedLock } from "holdfast";
import { StaleTokenError } from "./stale-token-error.js";

/** In the body, not in the metadata: an ETag is made of the body alone, and has to change with each write. */
interface Stored {
  readonly token: string;
  /** Another one for each write, by which a write that the client has repeated knows its first copy. */
  readonly write: string;
  readonly value: number;
}

const MAX_TRIES = 10;

/** Changes the object that the token may change; `change` is called again where another write came in between. */
export async function update(
  s3: S3Client,
  place: { readonly Bucket: string; readonly Key: string },
  token: bigint,
  change: (value: number) => number | Promise<number>,
): Promise<void> {
  const write = randomUUID();
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const found = await s3.send(new GetObjectCommand(place)).catch(noneIfAbsent);
    const text = (await found?.Body?.transformToString()) ?? '{"token":"0","write":"","value":0}';
    const before = JSON.parse(text) as Stored;
    if (before.write === write) return;
    if (BigInt(before.token) > token) throw new StaleTokenError(place.Key, token);
    const after: Stored = { token: `${token}`, write, value: await change(before.value) };
    const unchanged = found?.ETag === undefined ? { IfNoneMatch: "*" } : { IfMatch: found.ETag };
    const put = new PutObjectCommand({ ...place, ...unchanged, Body: JSON.stringify(after) });
    if (await s3.send(put).then(() => true, falseIfChanged)) return;
  }
  throw new Error(`${place.Key} was changed ${MAX_TRIES} times meanwhile`);
}

function noneIfAbsent(error: unknown): undefined {
  if (!(error instanceof NoSuchKey)) throw error;
}

/** 412: it has changed, or is there by now. 409: another write of it is under way. 404: it was deleted. */
function falseIfChanged(error: unknown): false {
  const status = error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
  if (status === 412 || status === 409 || status === 404) return false;
  throw error;
}

export async function deposit(lock: FencedLock, s3: S3Client, cents: number): Promise<void> {
  const place = { Bucket: "accounts", Key: "7.json" };
  await lock.using(({ token }) => update(s3, place, token, (before) => before + cents));
}
