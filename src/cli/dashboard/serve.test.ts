import { expect, it } from "vitest";
import { addressOf } from "./serve.ts";

it.each([
  ["8080", { port: 8080 }],
  ["127.0.0.1:0", { host: "127.0.0.1", port: 0 }],
  ["[::1]:8080", { host: "::1", port: 8080 }],
])("the dashboard's address may be %s", (text, expected) => expect(addressOf(text)).toEqual(expected));

it.each(["", "localhost", "127.0.0.1:99999", "http://127.0.0.1:80/"])("'%s' is refused as an address", (text) =>
  expect(() => addressOf(text)).toThrow(/use PORT or 127.0.0.1:PORT/),
);
