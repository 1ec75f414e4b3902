import { expect, it } from "vitest";
import { lossesOf } from "./losses.ts";

const CLUSTERS = [
  { name: "a", ready: 1, replicas: 2 },
  { name: "b", ready: 2, replicas: 2 },
  { name: "c", ready: 1, replicas: 1 },
  { name: "empty", ready: 0, replicas: 0 },
];

it("the cluster whose loss would cost the quorum comes first", () => {
  expect(lossesOf({ ready: 4, needed: 3 }, CLUSTERS)).toEqual([
    { cluster: "b", left: 2, keepsQuorum: false },
    { cluster: "a", left: 3, keepsQuorum: true },
    { cluster: "c", left: 3, keepsQuorum: true },
  ]);
});

it("what is not known to be ready is not counted on, and is not taken away twice", () => {
  const clusters = [
    { name: "cut-off", replicas: 2 },
    { name: "b", ready: 3, replicas: 3 },
  ];
  expect(lossesOf({ ready: 3, needed: 3 }, clusters)).toEqual([
    { cluster: "b", left: 0, keepsQuorum: false },
    { cluster: "cut-off", left: 3, keepsQuorum: true },
  ]);
});

it("more ready instances than were granted do not make a loss larger", () => {
  expect(lossesOf({ ready: 2, needed: 2 }, [{ name: "a", ready: 5, replicas: 2 }])).toEqual([
    { cluster: "a", left: 0, keepsQuorum: false },
  ]);
});
