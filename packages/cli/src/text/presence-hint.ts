/** How a program reports its name; without presence only the beginning of its `clientId` is shown. */
export const PRESENCE_HINT =
  "new Holdfast(driver, { presence: true }) reports app, host and pid; until then look for the clientId in the logs of your programs";
