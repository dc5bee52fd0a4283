import { GetObjectCommand, NoSuchKey, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { update } from "../s3.js";
import { atOnce, type Counter } from "./counter.js";

const Bucket = "counters";

export function openS3(port: number): S3Client {
  return new S3Client({
    endpoint: `http://127.0.0.1:${port}`,
    forcePathStyle: true,
    region: "nowhere",
    credentials: { accessKeyId: "anybody", secretAccessKey: "anything" },
  });
}

/** What an onlooker sees: 0 where there is no object. */
export async function valueIn(s3: S3Client, place: { Bucket: string; Key: string }): Promise<number> {
  const found = await s3.send(new GetObjectCommand(place)).catch((error: unknown) => {
    if (!(error instanceof NoSuchKey)) throw error;
  });
  return JSON.parse((await found?.Body?.transformToString()) ?? '{"value":0}').value;
}

export function s3Counter(port: number, name: string): Counter {
  const s3 = openS3(port);
  const place = { Bucket, Key: name };
  const value = () => valueIn(s3, place);
  return {
    value,
    add: (token, between = atOnce) =>
      update(s3, place, token, async (before) => {
        await between(before);
        return before + 1;
      }),
    async addUnguarded(between = atOnce) {
      const before = await value();
      await between(before);
      await s3.send(new PutObjectCommand({ ...place, Body: JSON.stringify({ value: before + 1 }) }));
    },
    close: async () => s3.destroy(),
  };
}
