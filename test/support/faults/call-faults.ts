import type { RawReply } from "../../../src/protocol/script-call.js";
import type { CallFault } from "../drivers/scripted-driver.js";

const never = new Promise<never>(() => undefined);

/** The error with which a client tells that a connection broke: nobody knows whether the call arrived. */
export class ConnectionLostError extends Error {
  override readonly name = "ConnectionLostError";
}

/** The server runs the call; its answer is lost, and the caller is told that the connection broke. */
export const loseReply: CallFault = {
  name: "lost reply",
  async meet(deliver, driver) {
    await deliver();
    driver.reset();
    throw new ConnectionLostError("the reply was lost");
  },
};

/** The server runs the call, and the caller never hears of it again. */
export const swallowReply: CallFault = {
  name: "swallowed reply",
  async meet(deliver) {
    await deliver();
    return never;
  },
};

/** The call gets lost on its way, and the caller never hears of it again. */
export const neverDeliver: CallFault = { name: "never delivered", meet: () => never };

/** The call is not sent, and the caller is told so at once in the way of a broken connection. */
export const rejectAtOnce: CallFault = {
  name: "rejected at once",
  meet: async () => {
    throw new ConnectionLostError("there is no connection");
  },
};

/** The server answers with an error. */
export function answerWith(error: Error): CallFault {
  return { name: `answered with ${error.name}`, meet: () => Promise.reject(error) };
}

/** The client resends after a lost connection: the server runs the call twice, the second answer arrives. */
export const deliverTwice: CallFault = {
  name: "delivered twice",
  async meet(deliver, driver) {
    await deliver();
    driver.reset();
    return deliver();
  },
};

export interface LateDelivery extends CallFault {
  /** Lets the call, which may have been overtaken by others, reach the server. Resolves with the server's answer. */
  arrive(): Promise<RawReply>;
}

/**
 * The call is held up, in a queue or in the network, until the test lets it arrive. The caller gets the answer then;
 * with `told`, it has been told at once that the connection broke.
 */
export function deliverLate({ told = false }: { readonly told?: boolean } = {}): LateDelivery {
  let deliverNow: (() => Promise<RawReply>) | undefined;
  return {
    name: "delivered late",
    meet: (deliver, driver) =>
      new Promise((resolve, reject) => {
        deliverNow = async () => {
          const answer = deliver();
          answer.then(resolve, reject);
          return answer;
        };
        if (!told) return;
        driver.reset();
        reject(new ConnectionLostError("the connection broke"));
      }),
    arrive() {
      if (deliverNow === undefined) throw new Error("no call was held up");
      return deliverNow();
    },
  };
}

/** The server has run the call at once, but the answer is held up until the test lets it arrive. */
export function answerLate(): CallFault & { arrive(): void } {
  let arrive = (): void => undefined;
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  return {
    name: "answered late",
    async meet(deliver) {
      const answer = await deliver();
      await arrived;
      return answer;
    },
    arrive,
  };
}
