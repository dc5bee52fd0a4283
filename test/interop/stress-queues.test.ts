import { interopKinds } from "./kinds.js";
import { losesNoCount } from "./stress.js";

/** Those with a fair lock in them. */
const names = ["fair", "non-reentrant fair", "multi"];
losesNoCount(interopKinds.filter(({ name }) => names.includes(name)));
