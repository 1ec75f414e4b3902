/** Every shell block of README, docs and examples, typed for real and in order, against fleets of `lockstep up`. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { findKubectl } from "../kubectl/find.ts";
import { missingIn, tasksOf } from "./docs/markdown.ts";
import { Reader } from "./docs/reader.ts";

const ROOT = new URL("../..", import.meta.url).pathname;
const below = (folder: string) =>
  readdirSync(join(ROOT, folder), { recursive: true }).map((name) => `${folder}/${name}`);
const PAGES = ["README.md", ...below("docs"), ...below("examples").filter((path) => path.endsWith("/README.md"))]
  .filter((path) => path.endsWith(".md") && existsSync(join(ROOT, path)))
  .map((page) => ({ page, tasks: tasksOf(page, readFileSync(join(ROOT, page), "utf8")) }))
  .filter(({ tasks }) => tasks.length > 0);

/** The longest page takes two minutes, and several times that on a busy machine. Its blocks have shorter limits. */
const PAGE_PATIENCE_MS = 900_000;

/**
 * Blocks that no machine runs here, each with its reason on the page. A new one is a decision, and changes this number.
 */
const SKIPPED = 14;

describe("what the documentation tells people to type", () => {
  const programs: Record<string, string> = {
    lockstep: join(ROOT, "bin/lockstep"),
    "kubectl-lockstep": join(ROOT, "bin/kubectl-lockstep"),
  };
  beforeAll(async () => {
    const { path } = await findKubectl();
    programs.kubectl = path.includes("/") ? path : execFileSync("which", [path], { encoding: "utf8" }).trim();
  });

  // Each page has a fleet, a folder and ports of its own, and mostly waits: two go side by side (maxConcurrency).
  it.concurrent.each(PAGES.map(({ page, tasks }) => [page, tasks] as const))(
    "%s is true",
    async (page, tasks) => {
      const reader = new Reader(page, programs);
      try {
        for (const task of tasks) await reader.follow(task);
      } finally {
        await reader.close();
      }
    },
    PAGE_PATIENCE_MS,
  );

  it("is run but for a few blocks, which say why", () => {
    const skipped = PAGES.flatMap(({ page, tasks }) =>
      tasks.flatMap((task) => (task.kind === "skipped" ? [`${page}:${task.line}: ${task.reason}`] : [])),
    );
    for (const line of skipped) console.log(`not run: ${line}`);
    expect(skipped).toHaveLength(SKIPPED);
  });
});

describe("a page that is not true", () => {
  const follow = async (markdown: string) => {
    const reader = new Reader("page.md", {});
    try {
      for (const task of tasksOf("page.md", markdown)) await reader.follow(task);
    } finally {
      await reader.close();
    }
  };
  const block = (code: string) => `\`\`\`sh\n${code}\n\`\`\`\n`;

  it("is found by a command that fails, with its line and what it printed", async () => {
    await expect(follow(`# Page\n\n${block("echo before\nfalse\necho after")}`)).rejects.toThrow(
      /^page\.md:3: this ended with 1, not 0:[\s\S]*it printed:\nbefore\n$/,
    );
    await expect(follow(block("false | cat"))).rejects.toThrow("ended with 1");
    await expect(follow(`<!-- run: exits 2 -->\n${block("exit 0")}`)).rejects.toThrow();
  });

  it("is found by another answer than the one it shows", async () => {
    const answered = (answer: string) => follow(`${block("echo one two; echo three")}\`\`\`text\n${answer}\n\`\`\`\n`);
    await answered("one ...\nthree");
    await expect(answered("three\none two")).rejects.toThrow("does not print 'one two' where the page says so");
    await expect(answered("two")).rejects.toThrow("does not print 'two'");
  });

  it("is found by a program that ends before it says what is waited for", async () => {
    await follow(`<!-- run: until "up" -->\n${block("echo up; sleep 100")}`);
    await expect(follow(`<!-- run: until "up" -->\n${block("echo down")}`)).rejects.toThrow("before it said 'up'");
  });

  it("is found by an unknown marker", () => {
    expect(() => tasksOf("page.md", `<!-- run: perhaps -->\n${block("true")}`)).toThrow("'run: perhaps' is not known");
    expect(() => tasksOf("page.md", `<!-- run: no, lazy -->\n${block("true")}`)).toThrow("is not known");
    expect(() => tasksOf("page.md", "<!-- run: exits 2 -->\ntext")).toThrow("stands above no block");
    expect(() => tasksOf("page.md", "```sh\ntrue")).toThrow("never closed");
  });

  it("keeps what a shell keeps: variables, aliases, folders and files", async () => {
    await follow(
      `<!-- file: sub/file.txt -->\n\`\`\`yaml\ncontent\n\`\`\`\n${block("export A=1\nalias say=echo\nsay yes >said\ncd sub")}${block('test "$A" = 1\nsay $(cat file.txt) $(cat ../said)')}\`\`\`text\ncontent yes\n\`\`\`\n<!-- run: hidden\ntest -f file.txt\n-->\n`,
    );
  });
});

describe("an answer", () => {
  it("may leave out what changes", () => {
    expect(missingIn("a 1.5 s b\nc\nd\n", "a ... b\n...\nd")).toBeUndefined();
    expect(missingIn("a\n", "a\nb")).toBe("b");
  });
});
