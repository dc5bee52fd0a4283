/** An answer that is no list. */
export const A_NUMBER = "a number";

/** Noted of every script that has answered anything. */
export const ANY = "anything";

/** What each script must have answered in the course of the histories, or they prove little. */
export const LOCK_ANSWERS = {
  "lock-acquire": [A_NUMBER, "held", "busy", "late", "lost", "wrong-type", "miscounted", "refused"],
  "lock-release": [A_NUMBER, "released", "absent", "late", "wrong-type", "miscounted"],
  "lock-keep": ["released", "absent", "late", "wrong-type"],
  "lock-succeed": [A_NUMBER, "late", "lost", "wrong-type"],
  "lock-inspect": ["hash", "string", "list", "zset", "none"],
  "lock-inspect-many": ["hash", "foreign", "string", "list", "zset", "none"],
  "lock-renew": ["renewed", "lost"],
  "lock-confirm": ["renewed", "lost"],
  "lock-force-unlock": ["released", "absent", "changed", "late", "wrong-type"],
  "fair-acquire": ["held", "busy", "queued", "late", "lost", "wrong-type", "miscounted", "refused", "free"],
  "fair-release": ["released", "absent", "late", "wrong-type", "miscounted"],
  "fair-refresh": ["queued", "granted", "gone"],
  "fair-force-unlock": ["released", "absent", "changed", "late", "wrong-type"],
  "read-acquire": ["held", "busy", "late", "lost", "wrong-type", "miscounted", "refused", "free"],
  "read-release": ["released", "absent", "late", "wrong-type", "miscounted"],
  "read-renew": ["renewed", "lost"],
  "write-acquire": ["held", "busy", "late", "lost", "wrong-type", "miscounted", "refused", "free"],
  // Freed, which one has heard of.
  "write-release": ["1", "released", "absent", "late", "wrong-type", "miscounted"],
  "read-write-force-unlock": ["released", "absent", "changed", "late", "wrong-type"],
};

export const SYNCHRONIZER_ANSWERS = {
  "count-try-set": ["set", "kept", "late", "wrong-type"],
  "count-delete": ["deleted", "absent", "late", "wrong-type"],
  "count-look": ["count", "wrong-type"],
  "latch-count-down": ["counted", "late", "wrong-type"],
  "semaphore-acquire": ["granted", "short", "cancelled", "late", "wrong-type"],
  "semaphore-cancel": ["cancelled", "wrong-type"],
  "semaphore-add": ["added", "absent", "too-many", "late", "wrong-type"],
  "semaphore-drain": ["drained", "late", "wrong-type"],
  "semaphore-resize": ["set", "absent", "changed", "late", "wrong-type"],
  "permit-acquire": ["granted", "gone", "short", "cancelled", "late", "wrong-type"],
  "permit-cancel": ["cancelled", "wrong-type"],
  "permit-leave": ["left"],
  "permit-release": ["released", "absent", "late", "wrong-type"],
  "permit-set-lease": ["updated", "absent", "late", "wrong-type"],
  "permit-set-total": ["set", "late", "wrong-type"],
  "permit-look": ["permits", "wrong-type"],
  "permit-renew": ["renewed", "lost"],
  "permit-confirm": ["renewed", "lost"],
};

/** Some of them answer numbers alone, which tell little. */
export const PRESENCE_ANSWERS = {
  "presence-tell": ["late"],
  "presence-list": ["c0000000-0000-8001-8000-000000000000"],
  "presence-leave": [ANY],
};
