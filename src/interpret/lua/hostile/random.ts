import fc from "fast-check";

/** Values that are expensive to handle: long texts, long lists, numbers far from each other. */
const PREPARATION = `
local function long(text, doublings) for i = 1, doublings do text = text .. text end return text end
local ascii, accents, digits, open = long('abc', 13), long('é', 13), long('1', 14), long('(', 14)
local blanks, percents, letters = 'x' .. long(' ', 14) .. 'x', long('%d', 11), long('[a-c]', 9)
local list, names, holes, nested = {}, {}, {}, {}
for i = 1, 3000 do list[i] = i / 3 names['n' .. i] = i holes[i] = i end
for i = 1, 3000 do holes[i] = nil end
for i = 1, 300 do nested[i] = {name = 'item' .. i, list = {1, 2, {}}} end
local small, huge = 2^-1074, 1e308
local kube = require('kube')
`;

const VALUES =
  "ascii accents digits open blanks percents letters list names holes nested small huge kube x nil true 0 1 -1 1e9 0.1 'x' '%b()' '(.-)%1' '.-.-b' '[^%s]*$' '%999d' '%q' '%.20f' '%c' '1Gi' '1e400' {} {1,2,3}".split(
    " ",
  );
const FUNCTIONS = [
  "tostring", "tonumber", "type", "select", "unpack", "pcall", "next", "ipairs", "assert", "error", "xpcall",
  "string.format", "string.sub", "string.find", "string.match", "string.gmatch", "string.byte", "string.char",
  "string.upper", "string.lower", "string.reverse", "string.len", "table.concat", "table.insert", "table.remove",
  "table.sort", "table.maxn", "math.floor", "math.max", "math.fmod", "math.frexp", "math.modf", "math.sin", "os.date",
  "os.time", "kube.resourceAdd", "kube.getResourceQuantity", "kube.accuratePodRequirements", "kube.getPodDependencies",
  "(function(...) return ... end)", "(function(...) return select('#', ...) end)", "(function(a) return a .. a end)",
  "(function(a, b) return a == b end)", "(function(a, b) return a < b end)", "(function(a) return -a end)",
  "(function(a, b) return a % b end)", "(function(a, b) local t = {} t[a] = b return t end)",
]; // biome-ignore format: a list of names

const { expression } = fc.letrec<{ expression: string }>((tie) => ({
  expression: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    fc.constantFrom(...VALUES),
    fc
      .tuple(fc.constantFrom(...FUNCTIONS), fc.array(tie("expression"), { minLength: 1, maxLength: 4 }))
      .map(([callee, args]) => `${callee}(${args.join(", ")})`),
    fc.array(tie("expression"), { maxLength: 3 }).map((items) => `{${items.join(", ")}}`),
  ),
}));

/** Expensive calls of all functions with all kinds of arguments, each caught, in an endless loop. */
export const hostileLoop: fc.Arbitrary<string> = fc
  .array(expression, { minLength: 1, maxLength: 4 })
  .map(
    (expressions) =>
      `function f(x) ${PREPARATION} local kept = {} while true do\n${expressions.map(keep).join("\n")}\nend end`,
  );

/** The same, once, with everything returned. */
export const hostileAnswer: fc.Arbitrary<string> = fc
  .array(expression, { minLength: 1, maxLength: 4 })
  .map(
    (expressions) =>
      `function f(x) ${PREPARATION} local kept = {}\n${expressions.map(keep).join("\n")}\nreturn unpack(kept) end`,
  );

function keep(expression: string): string {
  return `do local ok, v = pcall(function() return ${expression} end) kept[#kept + 1] = ok and v or 0 end`;
}
