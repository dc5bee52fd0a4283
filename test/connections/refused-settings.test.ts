import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Holdfast } from "../../src/holdfast.js";
import { type ConnectionSettings, configuredClients } from "../support/clients/configured-clients.js";
import type { ConnectedClient } from "../support/clients/pair.js";
import { watchLeaks } from "../support/run/leaks.js";
import { makeCertificates } from "../support/servers/certificates.js";
import { type SecuredServer, startSecured } from "../support/servers/secured-server.js";
import type { Certificates } from "../support/servers/server-tls.js";

let certificates: Certificates;
let server: SecuredServer;
beforeAll(async () => {
  certificates = await makeCertificates();
  server = await startSecured({ certificates, clientsShowTheirs: true });
});
afterAll(() => server.stop());
watchLeaks();

const opened: { readonly client: ConnectedClient; readonly holdfast: Holdfast }[] = [];
afterEach(async () => {
  for (const { client, holdfast } of opened.splice(0)) {
    await holdfast.close();
    await client.end();
  }
});

/** Whoever connects the others is told by them. */
const connecting = configuredClients.filter(({ connectsItself }) => connectsItself);

describe.each(connecting)("a lock asked for by $name", ({ server: connect }) => {
  async function refusal(settings: ConnectionSettings): Promise<unknown> {
    const client = await connect({ host: "127.0.0.1", port: server.tlsPort }, settings);
    const holdfast = new Holdfast(client.drive(), { commandTimeoutMs: 2_000 });
    opened.push({ client, holdfast });
    return holdfast
      .getLock("order:7")
      .lock()
      .then(
        () => "acquired",
        (error: unknown) => error,
      );
  }

  test("says that the server's certificate is of an unknown authority", async () => {
    expect(await refusal({ tls: { ...certificates.client, ca: certificates.client.cert } })).toMatchObject({
      code: "ERR_HOLDFAST_UNAVAILABLE",
      message: expect.stringContaining("self-signed certificate in certificate chain"),
    });
  });

  // The server says so after the handshake, and closes: what was written meanwhile may be the first to fail.
  test("says that the server demands a certificate, or that it has ended the connection", async () => {
    expect(await refusal({ tls: { ca: certificates.ca } })).toMatchObject({
      code: "ERR_HOLDFAST_UNAVAILABLE",
      message: expect.stringMatching(/certificate required|ECONNRESET|EPIPE|Connection is closed/),
    });
  });

  test("says that the password is wrong", async () => {
    const tls = { ca: certificates.ca, ...certificates.client };
    expect(await refusal({ tls, username: "orders", password: "guess" })).toMatchObject({
      code: "ERR_HOLDFAST_UNAVAILABLE",
      message: expect.stringContaining("WRONGPASS"),
    });
  });
});
