// Keeps words out of the documentation, comments and messages that a reader in a hurry, or one who is not a native
// speaker, has to read twice. Each finding names the file, the line, the words and what to write instead.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

/** Words and phrases, as regular expressions that ignore case, and what to write instead. */
export const WORDS = [
  [
    "nobody|no one|somebody|someone|whoever|whomever|everybody|everyone|anybody|anyone",
    "name the actor: the controller, a user, another controller, the member's operator, the API server",
  ],
  ["anew|afresh", "again; or retry, recreate, list again"],
  ["(?:do|does|did|done|doing) away with", "delete, remove"],
  ["dear|dearer", "expensive"],
  ["reckons?|reckoned|reckoning", "count, compute"],
  ["besides", "also, in addition to"],
  ["bereft", "without, that lost"],
  ["what can be said", "for usage"],
  ["if that is meant|is meant to|are meant to|what is meant|that is what is meant", "say what the user wants"],
  ["in vain", "without success"],
  ["thereby|hereby|whereby", "so, with this"],
  ["(?:go|goes|going|gone|went) on", "continue"],
  ["(?:is|are|was|were|be|been|being) told", "get, receive; or: the controller writes ... to ..."],
  ["(?:say|says|said|saying|tells?|told) nothing", "does not report; nothing is known"],
  ["(?:is|are|was|were|be|been|being) heard|hears?|hearing|unheard", "read, act on, receive, notice"],
  ["for ever", "forever, without end"],
  ["at hand", "available"],
  ["come to rest|comes to rest|came to rest|coming to rest", "settle"],
  ["(?:a|the|one) (?:person|user|people)'s word|by word of", "a user's confirmation"],
  ["(?:make|makes|made|making) again", "recreate"],
  ["all the same|none the less", "nevertheless, still"],
  ["(?:can|could|may|will|would) no more|(?:write|read|change)s? (?:it|them) no more", "no longer"],
  ["put(?:s|ting)? (?:it|them|things|this|that|everything|all) right", "repair"],
  ["lest", "so that ... not"],
  ["so long as", "as long as, while"],
  ["ere|betwixt|amidst|whilst|albeit|hitherto|henceforth|heretofore|notwithstanding", "use the common word"],
  ["thence|whence|hence|whither|thither|thereof|therein|thereupon|whereupon|wherein|wherefore", "use the common word"],
  ["it is so|be it|so be it|that being so", "name the condition that holds"],
  ["should (?:it|they|one|that|this|there) (?:be|have|come|fail|go|turn|die|lose)", "if ..."],
  ["has to do with|have to do with|nothing to do but", "rephrase: name the relation, or the action"],
  ["as yet|of late|ever since then|by and by|in due course", "so far, recently, later"],
  ["(?:stand|stands|stood|standing) still", "make no progress, stop, pause"],
  ["to and fro|now and then", "back and forth; sometimes, from time to time"],
];

/** Written by a program from sources that are checked themselves, or written down from another project's behaviour. */
const SKIPPED = [
  /(?:^|\/)testdata\//,
  /(?:^|\/)fixtures\//,
  /\.generated\./,
  /^deploy\//,
  /^docs\/pictures\//,
  /^docs\/reference\.md$/,
  /^package-lock\.json$/,
  /^scripts\/check-words\./,
];

const CHECKED = /\.(?:md|ts|mts|mjs|ya?ml|sh|lua)$|\/transcripts\/.*\.txt$|^bin\//;

/** A space in a phrase also stands for a line break, with what begins the next line of a comment or a quotation. */
const SPACE = String.raw`(?:[ \t]+|[ \t]*\n[ \t]*(?:\*|//|#|>)?[ \t]*)`;

const PATTERNS = WORDS.map(([words, instead]) => ({
  pattern: new RegExp(String.raw`(?<![\w-])(?:${words.replaceAll(" ", SPACE)})(?![\w-])`, "gi"),
  instead,
}));

/** One line for each word in the text that should be another, in the order of the text. */
export function findings(file, text) {
  const found = PATTERNS.flatMap(({ pattern, instead }) =>
    [...text.matchAll(pattern)].map((match) => ({ at: match.index, words: match[0].replaceAll(/\s+/g, " "), instead })),
  );
  return found
    .sort((a, b) => a.at - b.at)
    .map(({ at, words, instead }) => `${file}:${text.slice(0, at).split("\n").length}: "${words}": ${instead}`);
}

/** Whether the words of this file are checked. */
export function isChecked(file) {
  return CHECKED.test(file) && !SKIPPED.some((pattern) => pattern.test(file));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const files = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    encoding: "utf8",
    maxBuffer: 16 * 1024 * 1024,
  });
  const [, , ...only] = process.argv;
  const found = files
    .split("\0")
    .filter((file) => isChecked(file) && (only.length === 0 || only.some((path) => file.startsWith(path))))
    .flatMap((file) => findings(file, readFileSync(file, "utf8")));
  for (const line of found) console.error(line);
  process.exit(found.length === 0 ? 0 : 1);
}
