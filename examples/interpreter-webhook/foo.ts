/** How Foos of foo.example.com are read: the whole interpreter, apart from listening. */

import { isJsonObject } from "../../src/runtime/index.ts";
import { createInterpreterWebhook } from "../../src/sdk/index.ts";

export const fooWebhook = createInterpreterWebhook({
  "foo.example.com/*/Foo": {
    /** A Foo is healthy when its own controller says it runs. */
    ExploreHealthy: ({ object }) => isJsonObject(object.status) && object.status.phase === "Running",

    /** The member's controller picks the shard of a Foo; an update from the hub must not take it away. */
    ExploreRetaining({ desired, observed }) {
      const shard = isJsonObject(observed?.spec) ? observed.spec.shard : undefined;
      if (shard === undefined) return desired;
      return { ...desired, spec: { ...(isJsonObject(desired.spec) ? desired.spec : {}), shard } };
    },
  },
});
