import { expect, it } from "vitest";
import { listen } from "./listen.ts";

const OK = { status: 200, contentType: "text/plain", body: "fine\n" };

it("answers GET and HEAD by path, refuses everything else, and closes", async () => {
  const asked: string[] = [];
  const server = await listen("127.0.0.1:0", (path) => {
    asked.push(path);
    return OK;
  });
  const url = `http://${server.address}`;
  const got = await fetch(`${url}/metrics?x=1`);
  expect([got.status, await got.text()]).toEqual([200, "fine\n"]);
  expect(await (await fetch(`${url}/healthz`, { method: "HEAD" })).text()).toBe("");
  expect((await fetch(`${url}/metrics`, { method: "POST", body: "x" })).status).toBe(405);
  expect(asked).toEqual(["/metrics", "/healthz"]);
  await server.close();
  await expect(fetch(url)).rejects.toThrow();
});

it("refuses an address that is not HOST:PORT, and names one that is taken", async () => {
  await expect(listen("8080", () => OK)).rejects.toThrow("--metrics '8080': give HOST:PORT");
  const server = await listen("127.0.0.1:0", () => OK);
  await expect(listen(server.address, () => OK)).rejects.toThrow(`cannot listen on ${server.address}`);
  await server.close();
});
