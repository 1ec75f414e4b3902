import { integer, object, optional, time } from "./build.ts";
import { DAY_SECONDS } from "./names.ts";

/** `spec.lifetime` of every kind: objects that end by themselves. */
export const lifetime = optional(
  object(
    "When the object ends by itself: it is torn down in order, and deleted last. An Event says so beforehand. Change it to keep the object longer.",
    {
      ttlSeconds: optional(
        integer("So many seconds after it was created.", { minimum: 1, maximum: 3650 * DAY_SECONDS, format: "int64" }),
      ),
      expiresAt: optional(time("At this time.")),
    },
    {
      rules: [
        {
          rule: "has(self.ttlSeconds) != has(self.expiresAt)",
          message: "lifetime needs exactly one of ttlSeconds and expiresAt",
        },
      ],
    },
  ),
);

export const expiresAt = optional(time("When the object ends by itself, as spec.lifetime says."));
