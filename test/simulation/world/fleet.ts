import { Holdfast } from "../../../src/holdfast.js";
import type { Chooser } from "../chooser/chooser.js";
import type { ClientPlan } from "../workload/plan.js";
import { CommandLink, type LinkWatch } from "./command-link.js";
import { MessageLink } from "./message-link.js";
import { SimDriver } from "./sim-driver.js";
import { SimProcess } from "./sim-process.js";
import type { SimServer } from "./sim-server.js";
import type { VirtualTime } from "./virtual-time.js";

/** One process with its connections, as the faults see it. */
export interface Node {
  readonly process: SimProcess;
  readonly commands: CommandLink;
  readonly messages: MessageLink;
  readonly holdfast: Holdfast;
}

interface NodeParts {
  readonly name: string;
  readonly time: VirtualTime;
  readonly chooser: Chooser;
  readonly plan: ClientPlan;
  readonly server: () => SimServer;
  readonly watch: LinkWatch;
  readonly loses: (link: MessageLink, channel: string) => boolean;
}

/** Starts a process with one client. */
export function startNode({ name, time, chooser, plan, server, watch, loses }: NodeParts): Node {
  const process = new SimProcess(name, time, plan.clock, chooser.stream(`${name}.timers`));
  const { distance, rules } = plan;
  const delays = chooser.stream(`${name}.delays`);
  const common = { name, time, process, server, distance, delays };
  const commands = new CommandLink({ ...common, rules, watch });
  const messages = new MessageLink({ ...common, loses });
  const driver = new SimDriver(server().name, commands, messages);
  const holdfast = new Holdfast(driver, { ...plan.options, clock: process.clock });
  return { process, commands, messages, holdfast };
}
