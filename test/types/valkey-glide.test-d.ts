import { GlideClient, GlideClusterClient } from "@valkey/valkey-glide";
import { expectTypeOf } from "vitest";
import type { Driver } from "../../src/driver/driver.js";
import { valkeyGlideDriver } from "../../src/driver/valkey-glide/index.js";

declare const client: GlideClient;
declare const cluster: GlideClusterClient;

// Two clients of one kind will do; others will not.
expectTypeOf(valkeyGlideDriver(client, { subscriber: client })).toEqualTypeOf<Driver>();
expectTypeOf(valkeyGlideDriver(cluster, { subscriber: cluster })).toEqualTypeOf<Driver>();
// @ts-expect-error there must be a subscriber
valkeyGlideDriver(client);
// @ts-expect-error there must be a subscriber
valkeyGlideDriver(client, {});
// @ts-expect-error the subscriber has to know the cluster, too
valkeyGlideDriver(cluster, { subscriber: client });
// @ts-expect-error and the other way round
valkeyGlideDriver(client, { subscriber: cluster });
// @ts-expect-error a promise is no client
valkeyGlideDriver(GlideClient.createClient({ addresses: [] }), { subscriber: client });
// @ts-expect-error a promise is no client
valkeyGlideDriver(GlideClusterClient.createClient({ addresses: [] }), { subscriber: cluster });
// @ts-expect-error options are no client
valkeyGlideDriver({ addresses: [{ host: "127.0.0.1" }] }, { subscriber: client });
