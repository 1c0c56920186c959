import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const cache = fileURLToPath(new URL('../../.cache/', import.meta.url));

/**
 * The folder of programs of a Python environment that has a package, as `name==version`; it is made when it is asked for first. `undefined` on a machine
 * without Python 3 or a package index.
 */
export async function pythonWith(requirement: string): Promise<string | undefined> {
  const home = `${cache}${requirement.replace('==', '-')}`;
  const done = `${home}/installed`;
  if (!existsSync(done)) {
    rmSync(home, { recursive: true, force: true });
    const steps = [
      ['python3', '-m', 'venv', home],
      [`${home}/bin/pip`, 'install', '--quiet', requirement],
      ['touch', done],
    ];
    for (const [command = '', ...args] of steps) if ((await runPrinting(command, args)).code !== 0) return undefined;
  }
  return `${home}/bin`;
}

interface Printed {
  /** `undefined` for a command that could not be started. */
  readonly code: number | undefined;
  readonly text: string;
}

/** Runs a command to its end, and gives what it printed. Its errors go to those of this process. */
export async function runPrinting(command: string, args: readonly string[]): Promise<Printed> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'close').then(
    ([code]) => code as number,
    () => undefined,
  );
  const [printed, code] = await Promise.all([text(child.stdout), ended]);
  return { code, text: printed };
}
