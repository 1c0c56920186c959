import { readFile } from 'node:fs/promises';

/** What a Containerfile of one stage does to its base. Each field has the lines of an instruction in their order. */
interface Containerfile {
  readonly copies: readonly { readonly sources: readonly string[]; readonly target: string }[];
  readonly runs: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** ENTRYPOINT and CMD together; empty when those of the base stay. */
  readonly command: readonly string[];
}

/** Instructions that change neither files nor variables. */
const others = ['ARG', 'FROM', 'WORKDIR', 'USER'];

/** Reads a Containerfile. @throws Error at an instruction that the tests do not follow. */
export async function readContainerfile(path: string): Promise<Containerfile> {
  const copies: { sources: string[]; target: string }[] = [];
  const runs: string[] = [];
  const env: Record<string, string> = {};
  const command: string[] = [];
  const text = await readFile(path, 'utf8');
  for (const line of text.split('\n').filter((each) => each !== '' && !each.startsWith('#'))) {
    const [, instruction = '', rest = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    const words = rest.split(' ');
    if (instruction === 'COPY' && !rest.startsWith('-'))
      copies.push({ sources: words.slice(0, -1), target: words.at(-1) ?? '' });
    else if (instruction === 'RUN') runs.push(rest);
    else if (instruction === 'ENV') Object.assign(env, Object.fromEntries(words.map((word) => word.split('='))));
    else if (instruction === 'ENTRYPOINT' || instruction === 'CMD') command.push(...(JSON.parse(rest) as string[]));
    else if (!others.includes(instruction)) throw new Error(`${path}: ${line}`);
  }
  return { copies, runs, env, command };
}
