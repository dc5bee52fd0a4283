import {
  Decoder,
  GlideClient,
  type GlideClientConfiguration,
  GlideClusterClient,
  type GlideClusterClientConfiguration,
} from "@valkey/valkey-glide";

type Client = GlideClient | GlideClusterClient;

const open = new Set<Client>();

/** Quick to connect again, and patient with a busy machine. */
const options = {
  connectionBackoff: { numberOfRetries: 3, factor: 5, exponentBase: 2 },
  requestTimeout: 5_000,
} as const;

export async function glideClient(
  port: number,
  further: Partial<GlideClientConfiguration> = {},
): Promise<GlideClient> {
  const addresses = [{ host: "127.0.0.1", port }];
  return opened(await GlideClient.createClient({ addresses, ...options, ...further }));
}

export function glideSubscriber(
  port: number,
  further: Partial<GlideClientConfiguration> = {},
): Promise<GlideClient> {
  return glideClient(port, { defaultDecoder: Decoder.Bytes, ...further });
}

export async function glideClusterClient(
  ports: readonly number[],
  further: Partial<GlideClusterClientConfiguration> = {},
): Promise<GlideClusterClient> {
  const addresses = ports.map((port) => ({ host: "127.0.0.1", port }));
  return opened(await GlideClusterClient.createClient({ addresses, ...options, ...further }));
}

export function glideClusterSubscriber(
  ports: readonly number[],
  further: Partial<GlideClusterClientConfiguration> = {},
): Promise<GlideClusterClient> {
  return glideClusterClient(ports, { defaultDecoder: Decoder.Bytes, ...further });
}

function opened<C extends Client>(client: C): C {
  open.add(client);
  return client;
}

/** Closes all that were made here, once each. */
export function closeGlideClients(): void {
  for (const client of open) client.close();
  open.clear();
}
