import { once } from "node:events";
import { ioredisDriver } from "../../../src/driver/ioredis/index.js";
import { destroyClient } from "./ioredis-clients.js";
import { type IoredisFlavour, ioredisFlavours } from "./ioredis-flavours.js";
import type { AnyPair, ConnectedClient } from "./pair.js";

/** Apart from those of other clients, which take long to load and are needed by few tests. */
export const ioredisPairs: readonly AnyPair[] = ioredisFlavours.flatMap(ofIoredis);

function ofIoredis({ name: client, redis, cluster }: IoredisFlavour): readonly AnyPair[] {
  const onRedis = async (options: Parameters<typeof redis>[0]): Promise<ConnectedClient> => {
    const connection = redis(options);
    connection.on("error", () => undefined);
    await once(connection, "ready");
    return { drive: () => ioredisDriver(connection), end: () => destroyClient(connection) };
  };
  return [
    { client, topology: "standalone", connect: (place) => onRedis(place) },
    {
      client,
      topology: "sentinel",
      connect: ({ sentinels, name }) => onRedis({ sentinels: [...sentinels], name }),
    },
    {
      client,
      topology: "cluster",
      async connect(nodes) {
        const connection = cluster([...nodes], {});
        connection.on("error", () => undefined);
        await once(connection, "ready");
        return { drive: () => ioredisDriver(connection), end: async () => connection.disconnect() };
      },
    },
  ];
}
