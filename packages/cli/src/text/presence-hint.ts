/** What makes a program tell its name; what is shown without it is the beginning of its `clientId`. */
export const PRESENCE_HINT =
  "new Holdfast(driver, { presence: true }) tells app, host and pid; until then look for the clientId in the logs of your programs";
