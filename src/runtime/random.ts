import { randomBytes } from "node:crypto";

/** The only source of randomness. */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
  /** A version 4 UUID. */
  uuid(): string;
}

function uuidFrom(byte: (index: number) => number): string {
  const hex: string[] = [];
  for (let index = 0; index < 16; index++) {
    let value = byte(index);
    if (index === 6) value = (value & 0x0f) | 0x40;
    if (index === 8) value = (value & 0x3f) | 0x80;
    hex.push(value.toString(16).padStart(2, "0"));
  }
  return [hex.slice(0, 4), hex.slice(4, 6), hex.slice(6, 8), hex.slice(8, 10), hex.slice(10)]
    .map((part) => part.join(""))
    .join("-");
}

export const systemRandom: Random = {
  next: () => randomBytes(6).readUIntBE(0, 6) / 2 ** 48,
  uuid() {
    const bytes = randomBytes(16);
    return uuidFrom((index) => bytes[index] ?? 0);
  },
};

/** The same sequence for the same seed, in every process (sfc32, seeded through splitmix32). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const seedWord = () => {
    state = (state + 0x9e3779b9) | 0;
    let word = state ^ (state >>> 16);
    word = Math.imul(word, 0x21f0aaad);
    word ^= word >>> 15;
    word = Math.imul(word, 0x735a2d97);
    return word ^ (word >>> 15);
  };
  let a = seedWord();
  let b = seedWord();
  let c = seedWord();
  let counter = 1;
  const word = () => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return sum >>> 0;
  };
  for (let warmUp = 0; warmUp < 12; warmUp++) word();
  return {
    next: () => word() / 2 ** 32,
    uuid: () => uuidFrom(() => word() & 0xff),
  };
}
