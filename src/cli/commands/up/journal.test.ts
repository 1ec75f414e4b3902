import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { FleetChange, FleetSnapshot } from "../../../embedded/index.ts";
import { Journal, readJournals, withChanges } from "./journal.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "lockstep-journal-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const object = (name: string, data: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default" },
  data: { data },
});
const change = (server: string, resourceVersion: number, name: string, data?: string): FleetChange => ({
  server,
  resource: "/configmaps",
  isDeleted: data === undefined,
  object: object(name, data ?? ""),
  resourceVersion,
});
const server = (resourceVersion: number, ...names: string[]) => ({
  format: "lockstep-apiserver/1" as const,
  resourceVersion,
  objects: names.map((name) => ({ resource: "/configmaps", object: object(name, "saved") })),
});
const fleet = (): FleetSnapshot => ({
  format: "lockstep-fleet/1",
  hub: server(10, "a", "b"),
  members: { member1: server(5, "c") },
});
const fails = () => {
  throw new Error("nothing fails here");
};

it("changes are applied to the saved fleet, each to its own server", () => {
  const changes = [change("", 11, "a", "new"), change("member1", 6, "c"), change("", 12, "d", "new")];
  const { hub, members } = withChanges(fleet(), changes);
  expect(hub.resourceVersion).toBe(12);
  expect(hub.objects.map((entry) => [entry.object.metadata.name, entry.object.data])).toEqual([
    ["a", { data: "new" }],
    ["b", { data: "saved" }],
    ["d", { data: "new" }],
  ]);
  expect(members.member1).toMatchObject({ resourceVersion: 6, objects: [] });
});

it("a change that the saved fleet already contains has no effect", () => {
  expect(withChanges(fleet(), [change("", 9, "a", "older"), change("member9", 99, "x", "y")])).toEqual(fleet());
});

it("a journal is read from the file that the saved fleet names, and older ones are removed", () => {
  const journal = new Journal(folder, 3, fails);
  expect(journal.begin()).toBe(4);
  journal.write(change("", 11, "a", "one"));
  expect(journal.begin()).toBe(5);
  journal.write(change("", 12, "a", "two"));
  expect(readJournals(folder, 4)).toMatchObject({
    last: 5,
    changes: [{ resourceVersion: 11 }, { resourceVersion: 12 }],
  });
  expect(readJournals(folder, 5).changes).toHaveLength(1);
  journal.removeBefore(5);
  journal.close();
  expect(readdirSync(folder)).toEqual(["journal.5"]);
});

it("an incomplete last line is ignored, because it was never acknowledged", () => {
  const line = JSON.stringify(change("", 11, "a", "one"));
  writeFileSync(join(folder, "journal.1"), `${line}\n${line.slice(0, 20)}`);
  expect(readJournals(folder, 0).changes).toHaveLength(1);
});
