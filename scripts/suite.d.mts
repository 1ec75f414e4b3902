interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export function commandsOf(name: string, isLong: boolean, more?: readonly string[]): Command[] | undefined;
export function suiteNames(): string[];
