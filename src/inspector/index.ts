export type { Access, Authorize, Role } from "./access.js";
export { type Inspector, inspector } from "./inspector.js";
export type { InspectorOptions } from "./inspector-options.js";
