/** What a CommonJS application on Nest 11 has under Jest, which can not `require` ES modules before Node 24.9. */
require("reflect-metadata");
const { Injectable } = require("@nestjs/common");
const { Test } = require("@nestjs/testing");
const { Holdfast } = require("holdfast");
const { HoldfastModule, Locked } = require("holdfast-nestjs");

class Orders {
  async pay(id) {
    return `paid ${id}`;
  }
}
const pay = Object.getOwnPropertyDescriptor(Orders.prototype, "pay");
const decorate = Locked((id) => `order:${id}`, { onBusy: "throw" });
Object.defineProperty(Orders.prototype, "pay", decorate(Orders.prototype, "pay", pay));
Injectable()(Orders);

test("is the CommonJS half, and locks", async () => {
  expect(require.resolve("holdfast-nestjs")).toMatch(/[\\/]dist[\\/]cjs[\\/]/);
  const module = await Test.createTestingModule({
    imports: [HoldfastModule.forTesting()],
    providers: [Orders],
  }).compile();
  const orders = module.get(Orders);
  expect(await orders.pay("7")).toBe("paid 7");
  const lease = await module.get(Holdfast).lock("order:7");
  await expect(orders.pay("7")).rejects.toMatchObject({ code: "ERR_HOLDFAST_WAIT_TIMEOUT" });
  await lease.unlock();
  await module.close();
});
