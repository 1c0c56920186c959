import { spawnSync } from 'node:child_process';

const serverCore = '0';
const loadCore = '1';

const runs = (...args: string[]): boolean => spawnSync('taskset', args, { stdio: 'ignore' }).status === 0;

/** Whether servers can be held on one core and the load on another. */
const canPin = runs('-c', serverCore, 'true') && runs('-c', loadCore, 'true');

/** A command line as one that stays on the core of the servers, where that can be had. */
export const onServerCore = (command: readonly string[]): readonly [string, ...string[]] =>
  canPin ? ['taskset', '-c', serverCore, ...command] : [command[0] ?? process.execPath, ...command.slice(1)];

/** Holds this process, all its threads, on the core of the load. @returns a line that says what was done. */
export function pinLoad(): string {
  if (canPin && runs('-a', '-p', '-c', loadCore, String(process.pid)))
    return `servers on core ${serverCore}, load on core ${loadCore}`;
  return 'not pinned: `taskset` and two cores are needed to hold servers and load apart';
}
