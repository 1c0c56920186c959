import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startStandalone, type StandaloneProcess } from './standalone.ts';

/** What is counted at a time: to count one of them changes the others. */
export type Counted = 'statements' | 'bytes' | 'promises' | 'calls';

export interface Counts {
  /** How often each text of SQL was run. */
  readonly statements?: Readonly<Record<string, number>>;
  /** Rows that were read one by one. */
  readonly rows?: number;
  /** Bytes of objects that were made. */
  readonly bytes?: number;
  readonly promises?: number;
  /** Calls of our functions, without those of libraries. */
  readonly calls?: number;
}

/** The service, which counts what it does. */
interface CountedProcess extends StandaloneProcess {
  /** Counts what happens during `work`. */
  readonly count: (what: Counted, work: () => Promise<void>) => Promise<Counts>;
}

const main = fileURLToPath(new URL('./counted-main.ts', import.meta.url));

/** Room for what is made in one count, in MiB: bytes are counted by what is there at its end, before any of them is collected. */
const newSpace = 512;
const roomy = `exec "$0" --expose-gc --min-semi-space-size=${String(newSpace)} --max-semi-space-size=${String(newSpace)} "$1"`;

export async function startCounted(env: Readonly<Record<string, string>>): Promise<CountedProcess> {
  const started = await startStandalone(env, main, ['sh', '-c', roomy]);
  const request = async (what: Counted, begins: boolean): Promise<Counts> => {
    const answered = once(started.child, 'message') as Promise<[Counts]>;
    started.child.send({ what, begins });
    return (await answered)[0];
  };
  return {
    ...started,
    count: async (what, work) => {
      await request(what, true);
      await work();
      return request(what, false);
    },
  };
}
