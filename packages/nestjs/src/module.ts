import {
  type BeforeApplicationShutdown,
  ConfigurableModuleBuilder,
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type Provider,
} from "@nestjs/common";
import { ModulesContainer } from "@nestjs/core";
import { Holdfast, type Lock } from "holdfast";
import { Messages } from "./messages.js";
import type { HoldfastModuleExtras, HoldfastModuleOptions } from "./options.js";
import { getHoldfastToken, getLockToken, lifeToken, messagesToken } from "./tokens.js";

/** Which kinds of locks `forFeature` makes. */
export type FeatureLockKind = "lock" | "fair" | "fenced" | "spin" | "nonReentrant";

/** A lock that Nest injects by its name. */
export interface LockFeature {
  readonly name: string;
  /** Default: `lock`. */
  readonly kind?: FeatureLockKind;
}

const CLOSE = { graceMs: 10_000, releaseHeld: true };
const OPTIONS = Symbol("holdfast: the options of its module");
const EXTRAS: HoldfastModuleExtras = { name: undefined, isGlobal: true };

const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<HoldfastModuleOptions>({
  moduleName: "Holdfast",
  optionsInjectionToken: OPTIONS,
})
  .setClassMethodName("forRoot")
  .setFactoryMethodName("createHoldfastOptions")
  .setExtras(EXTRAS, (definition, { name, isGlobal }) => {
    const token = getHoldfastToken(name);
    const client: Provider = { provide: token, useFactory: holdfastOf, inject: [OPTIONS] };
    const messages: Provider = { provide: messagesToken(name), useFactory: messagesOf, inject: [OPTIONS] };
    const life: Provider = {
      provide: lifeToken(name),
      useFactory: (holdfast: Holdfast, options: HoldfastModuleOptions, modules: ModulesContainer) => {
        refuseTwo(modules, name);
        return new Life(holdfast, options);
      },
      inject: [token, OPTIONS, ModulesContainer],
    };
    const byClass: Provider[] = name === undefined ? [{ provide: Holdfast, useExisting: token }] : [];
    return {
      ...definition,
      global: isGlobal ?? true,
      providers: [...(definition.providers ?? []), client, messages, life, ...byClass],
      exports: [...(definition.exports ?? []), token, ...byClass.map(() => Holdfast)],
    };
  })
  .build();

function holdfastOf(options: HoldfastModuleOptions): Holdfast {
  if ("holdfast" in options) return options.holdfast;
  const { driver, close: _close, disconnect: _disconnect, ...settings } = options;
  return new Holdfast(driver, settings);
}

function messagesOf(options: HoldfastModuleOptions): Messages | null {
  const { driver } = options;
  if (driver === undefined) return null;
  return new Messages(driver, { sharded: "pubSub" in options && options.pubSub === "sharded" });
}

/** If two clients had the same name, Nest would inject one or the other, depending on the order in which it finds the modules. */
function refuseTwo(modules: ModulesContainer, name: string | undefined): void {
  const token = lifeToken(name);
  const having = [...modules.values()].filter(({ providers }) => providers.has(token));
  if (having.length > 1)
    throw new Error(
      `HoldfastModule is imported ${having.length} times as ${getHoldfastToken(name)}: import it once, or give each client a name, as in { name: "billing" }`,
    );
}

/**
 * Closes a client with the application: first new locks are refused, then running bodies end, then Nest closes its HTTP server. The
 * connection is closed in `onApplicationShutdown`.
 */
class Life implements OnModuleDestroy, BeforeApplicationShutdown, OnApplicationShutdown {
  readonly #holdfast: Holdfast;
  readonly #options: HoldfastModuleOptions;
  #closing: Promise<unknown> | undefined;

  constructor(holdfast: Holdfast, options: HoldfastModuleOptions) {
    this.#holdfast = holdfast;
    this.#options = options;
  }

  /** Does not wait for the bodies: they may need other modules, which Nest is ending at the same time. */
  onModuleDestroy(): void {
    this.#closing = this.#holdfast.close(this.#options.close ?? CLOSE);
    this.#closing.catch(() => undefined);
  }

  /** A failure is thrown at the end, when the connection is closed as well. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.#closing?.catch(() => undefined);
  }

  async onApplicationShutdown(): Promise<void> {
    try {
      await this.#closing;
    } finally {
      await this.#options.disconnect?.();
    }
  }
}

const makers: Readonly<Record<FeatureLockKind, (holdfast: Holdfast, name: string) => Lock>> = {
  lock: (holdfast, name) => holdfast.getLock(name),
  fair: (holdfast, name) => holdfast.getFairLock(name),
  fenced: (holdfast, name) => holdfast.getFencedLock(name),
  spin: (holdfast, name) => holdfast.getSpinLock(name),
  nonReentrant: (holdfast, name) => holdfast.getNonReentrantLock(name),
};

/**
 * Gives an application its locks: `forRoot`, or `forRootAsync` with `useFactory`, `useClass` or `useExisting`. The client is injected by
 * its class, or by `@InjectHoldfast()`, and closed together with the application, before its connection is closed.
 */
@Module({})
export class HoldfastModule extends ConfigurableModuleClass {
  /** Locks for `@InjectLock(name)`. @param client the name of the client. Default: the client without a name */
  static forFeature(locks: readonly (string | LockFeature)[], client?: string): DynamicModule {
    const providers = locks.map((each): Provider & { readonly provide: string } => {
      const { name, kind = "lock" } = typeof each === "string" ? { name: each } : each;
      const maker = makers[kind];
      if (maker === undefined)
        throw new TypeError(`there is no kind "${kind}" of locks: ${Object.keys(makers).join(", ")}`);
      return {
        provide: getLockToken(name, client),
        useFactory: (holdfast: Holdfast) => maker(holdfast, name),
        inject: [getHoldfastToken(client)],
      };
    });
    return { module: HoldfastModule, providers, exports: providers.map(({ provide }) => provide) };
  }

  /** Like `forRoot`, with a server inside the process, for tests. Needs `fengari`. */
  static forTesting(extras: HoldfastModuleExtras = {}): DynamicModule {
    const useFactory = async () => {
      const { memoryDriver } = await import("holdfast/memory").catch((cause: unknown) => {
        throw new Error("HoldfastModule.forTesting needs fengari: npm install --save-dev fengari", { cause });
      });
      return { driver: memoryDriver() };
    };
    return HoldfastModule.forRootAsync({ useFactory, ...extras });
  }
}

/** Injects the client, or the client of that name. */
export const InjectHoldfast = (client?: string): PropertyDecorator & ParameterDecorator =>
  Inject(getHoldfastToken(client));

/** Injects a lock that `forFeature` has made. */
export const InjectLock = (name: string, client?: string): PropertyDecorator & ParameterDecorator =>
  Inject(getLockToken(name, client));
