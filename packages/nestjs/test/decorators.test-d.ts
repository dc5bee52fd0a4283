import { expectTypeOf } from "vitest";
import { Locked, RunOnce } from "../src/index.js";

/** Compiled, and never run. */
export class Orders {
  // A key of the first arguments, of fewer than the method has, and of none.
  @Locked((id: string) => `order:${id}`, { waitMs: 5_000 })
  async pay(_id: string, _amount: number): Promise<void> {}

  @Locked(() => "all", { onBusy: "skip" })
  async count(_since: Date): Promise<number | undefined> {
    return 0;
  }

  @Locked("all", { onBusy: "skip" })
  async sweep(): Promise<void> {}

  // @ts-expect-error where it is skipped there is no number
  @Locked("all", { onBusy: "skip" })
  async always(): Promise<number> {
    return 0;
  }

  // @ts-expect-error one of both
  @Locked("all", { waitMs: 5, onBusy: "throw" })
  async waitsAndThrows(): Promise<void> {}

  @Locked("all", { waitMs: 5, onBusy: "wait" })
  async waits(): Promise<void> {}

  // @ts-expect-error for how long does it wait?
  @Locked("all", {})
  async neither(): Promise<void> {}

  @Locked((from: string, to: string) => [from, to], { onBusy: "throw" })
  async move(_from: string, _to: string): Promise<void> {}

  @Locked(["a", "b"], { waitMs: 0, client: "billing" })
  async both(): Promise<void> {}

  @Locked((id?: string) => `order:${id}`, { waitMs: 0 })
  async maybe(_id?: string): Promise<void> {}

  @Locked(({ id }: { id: string }) => `order:${id}`, { waitMs: 0 })
  async of(_order: { id: string; amount: number }): Promise<void> {}

  @Locked((first: string, ...others: string[]) => [first, ...others], { waitMs: 0 })
  async all(_first: string, ..._others: string[]): Promise<void> {}

  @Locked((id: string) => `order:${id}`, { waitMs: 0 })
  async generic<T>(_id: string, value: T): Promise<T> {
    return value;
  }

  // @ts-expect-error the key is made of a number, and the method has a text
  @Locked((id: number) => `order:${id}`, { waitMs: 0 })
  async wrongArgument(_id: string): Promise<void> {}

  // @ts-expect-error the method has no second argument for the key
  @Locked((id: string, part: string) => `${id}:${part}`, { waitMs: 0 })
  async tooFew(_id: string): Promise<void> {}

  // @ts-expect-error a key is a text, or several
  @Locked((id: number) => id, { waitMs: 0 })
  async wrongKey(_id: number): Promise<void> {}

  // @ts-expect-error what is locked has to tell when it ends
  @Locked("a", { waitMs: 0 })
  atOnce(): void {}

  // @ts-expect-error there is no such option
  @Locked("a", { ttl: 5 })
  async unknownOption(): Promise<void> {}

  @RunOnce({ gridMs: 60_000 })
  async nightly(): Promise<void> {}

  // @ts-expect-error a scheduler gives no arguments
  @RunOnce({ gridMs: 60_000 })
  async withArgument(_id: string): Promise<void> {}

  // @ts-expect-error Nest does not tell for when it calls
  @RunOnce({})
  async withoutGrid(): Promise<void> {}
}

// A decorated method is what it was.
expectTypeOf<Orders["count"]>().toEqualTypeOf<(since: Date) => Promise<number | undefined>>();
