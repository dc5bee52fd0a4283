import { Injectable } from "@nestjs/common";
import type { Holdfast } from "holdfast";
import { InjectHoldfast, Locked } from "holdfast-nestjs";

/** What is seen of a lock while a method runs. */
export interface Seen {
  readonly id: string;
  readonly held: boolean;
}

@Injectable()
export class Orders {
  constructor(@InjectHoldfast() readonly holdfast: Holdfast) {}

  @Locked((id: string) => `order:${id}`, { waitMs: 20_000 })
  async pay(id: string): Promise<Seen> {
    return this.seen(id);
  }

  async seen(id: string): Promise<Seen> {
    return { id, held: await this.holdfast.getLock(`order:${id}`).isLocked() };
  }
}
