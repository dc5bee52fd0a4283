import { interopKinds } from "./kinds.js";
import { losesNoCount } from "./stress.js";

const names = ["lock", "non-reentrant", "spin", "fenced", "red"];
losesNoCount(interopKinds.filter(({ name }) => names.includes(name)));
