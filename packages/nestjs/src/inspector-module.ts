import type { OnModuleDestroy } from "@nestjs/common";
import {
  All,
  type CanActivate,
  Controller,
  type DynamicModule,
  Inject,
  Module,
  Req,
  Res,
  type Type,
  UseGuards,
} from "@nestjs/common";
import type { Holdfast } from "holdfast";
import { type Access, type Inspector, type InspectorOptions, inspector } from "holdfast/inspector";
import { getHoldfastToken } from "./tokens.js";

/** The page that shows the locks, as a controller of Nest. */
export interface HoldfastInspectorOptions extends Omit<InspectorOptions, "authorize"> {
  /** The path of the page. Default: `locks`. */
  readonly path?: string;
  /** Nest's own guards, which every request has to pass: without a guard the page would be open to all. */
  readonly guards: readonly [PageGuard, ...PageGuard[]];
  /** The access of users who have passed the guards. Default: `{ role: "read" }`. */
  readonly access?: Access | ((request: unknown) => Access | Promise<Access>);
  /** The name of the client. Default: the client without a name. */
  readonly client?: string;
}

type PageGuard = Type<CanActivate> | CanActivate;

/** The wrappers that frameworks put around Node's request and response. */
interface Wrapped {
  readonly raw?: unknown;
  hijack?(): unknown;
}

/** Mounts the page that shows who holds and waits for locks, behind guards of the application. */
@Module({})
// biome-ignore lint/complexity/noStaticOnlyClass: a module of Nest is a class.
export class HoldfastInspectorModule {
  /** @throws TypeError without a guard */
  static register({
    path = "locks",
    guards,
    access = { role: "read" },
    client,
    ...options
  }: HoldfastInspectorOptions): DynamicModule {
    if (!Array.isArray(guards) || guards.length === 0)
      throw new TypeError(
        "HoldfastInspectorModule needs a guard, as in { guards: [AdminGuard] }: the page would be open to all",
      );

    @Controller(path)
    @UseGuards(...guards)
    class InspectorController implements OnModuleDestroy {
      readonly #inspector: Inspector;

      constructor(@Inject(getHoldfastToken(client)) holdfast: Holdfast) {
        const authorize = (_request: Request, native: unknown) =>
          typeof access === "function" ? access(native) : access;
        this.#inspector = inspector(holdfast, { ...options, authorize });
      }

      @All()
      show(@Req() request: Wrapped, @Res() response: Wrapped): void {
        response.hijack?.();
        this.#inspector.node((request.raw ?? request) as never, (response.raw ?? response) as never);
      }

      async onModuleDestroy(): Promise<void> {
        await this.#inspector.close();
      }
    }

    return { module: HoldfastInspectorModule, controllers: [InspectorController] };
  }
}
