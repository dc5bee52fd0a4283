export const TESTED = "GLIDE 2.5.2";

/** The members that the types of GLIDE keep private. Seen in the tested version. */
export interface Hidden {
  readonly defaultDecoder?: number;
  readonly config?: {
    readonly addresses?: readonly { readonly host: string; readonly port?: number }[];
    readonly databaseId?: number;
    readonly useTLS?: boolean;
    readonly protocol?: number;
    readonly pubsubSubscriptions?: { readonly callback?: unknown };
  };
}

/** The options that a client was made with. */
export function hiddenOf(client: object): Hidden {
  return client;
}
