/** How Foos of foo.example.com are read: the whole interpreter, apart from listening. */
import { createInterpreterWebhook } from "../../src/sdk/index.ts";

interface Foo {
  readonly metadata: { name: string };
  readonly spec?: { shard?: number };
  readonly status?: { phase?: "Pending" | "Running" | "Failed" };
}

export const fooWebhook = createInterpreterWebhook<{ "foo.example.com/*/Foo": Foo }>({
  "foo.example.com/*/Foo": {
    /** A Foo is healthy when its own controller reports that it runs. */
    ExploreHealthy: ({ object }) => object.status?.phase === "Running",

    /** The member's controller picks the shard of a Foo; an update from the hub must not remove it. */
    ExploreRetaining: ({ desired, observed }) => ({
      ...desired,
      spec: { ...desired.spec, shard: observed?.spec?.shard ?? desired.spec?.shard },
    }),
  },
});
