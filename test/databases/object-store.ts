import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";

export interface ObjectStoreSettings {
  /** False: one of those that answer 200 to a write whose condition does not hold. */
  readonly minds: boolean;
  /** Is asked after each write: true drops its answer, so that the client repeats the write. */
  dropsAnswer?(): boolean;
}

/** Stands for S3 where a test needs no more of it than objects, ETags and conditions. */
export function objectStore({ minds, dropsAnswer = () => false }: ObjectStoreSettings): Server {
  const objects = new Map<string, string>();

  function get(path: string, response: ServerResponse): void {
    const body = objects.get(path);
    if (body === undefined) refuse(response, 404, "NoSuchKey");
    else response.writeHead(200, { etag: etagOf(body) }).end(body);
  }

  function put(request: IncomingMessage, path: string, body: string, response: ServerResponse): void {
    const stored = objects.get(path);
    const { "if-match": ifMatch, "if-none-match": ifNoneMatch } = request.headers;
    if (minds && ifMatch !== undefined && stored === undefined) refuse(response, 404, "NoSuchKey");
    else if (
      minds &&
      ((ifMatch !== undefined && ifMatch !== etagOf(stored ?? "")) ||
        (ifNoneMatch === "*" && stored !== undefined))
    ) {
      refuse(response, 412, "PreconditionFailed");
    } else {
      objects.set(path, body);
      if (dropsAnswer()) response.destroy();
      else response.writeHead(200, { etag: etagOf(body) }).end();
    }
  }

  return createServer((request, response) => {
    const path = new URL(request.url ?? "/", "http://127.0.0.1").pathname;
    text(request).then(
      (body) => (request.method === "PUT" ? put(request, path, body, response) : get(path, response)),
      () => response.destroy(),
    );
  });
}

/** As S3 makes it of an object that came in one part: of the body alone. */
function etagOf(body: string): string {
  return `"${createHash("md5").update(body).digest("hex")}"`;
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response
    .writeHead(status, { "content-type": "application/xml" })
    .end(`<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code></Error>`);
}
