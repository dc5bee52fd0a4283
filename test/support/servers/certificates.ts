import { generate } from "selfsigned";
import type { Certificates, KeyPair } from "./server-tls.js";

const EC = { keyType: "ec", algorithm: "sha256" } as const;

/** Makes them anew, in about a second. */
export async function makeCertificates(): Promise<Certificates> {
  const authority = await generate(named("holdfast's tests"), {
    ...EC,
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "keyUsage", keyCertSign: true, critical: true },
    ],
  });
  const signed = async (name: string): Promise<KeyPair> => {
    const pair = await generate(named(name), {
      ...EC,
      ca: { key: authority.private, cert: authority.cert },
      extensions: [
        { name: "basicConstraints", cA: false },
        { name: "extKeyUsage", serverAuth: true, clientAuth: true },
        {
          name: "subjectAltName",
          altNames: [
            { type: 2, value: "localhost" },
            { type: 7, ip: "127.0.0.1" },
            { type: 7, ip: "::1" },
          ],
        },
      ],
    });
    return { cert: pair.cert, key: pair.private };
  };
  const [server, client] = await Promise.all([signed("server"), signed("client")]);
  return { ca: authority.cert, server, client };
}

function named(commonName: string): { readonly name: string; readonly value: string }[] {
  return [{ name: "commonName", value: commonName }];
}
