import { readCommandLine } from '@agent-workflow/kit/command-line';
import { ConfigError, processEnv, type Values } from '@agent-workflow/kit/env';
import { stopSignal } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import { beginProcess } from '@agent-workflow/runtime/process';
import { memoryStoreChecks, memoryStoreSettings } from './config.ts';
import { openEmbedder } from './embedders/registry.ts';
import type { Embedder } from './ports/embedder.ts';

/** What a command on the memories works with. */
interface Command {
  readonly values: Values<typeof memoryStoreSettings>;
  readonly log: Log;
  readonly embedder: Embedder;
  readonly stopping: AbortSignal;
  /** The arguments after the name of the command. */
  readonly args: readonly string[];
  /** Writes a line to the standard output. */
  readonly print: (line: string) => void;
}

const usages: Readonly<Record<string, string>> = {
  export: 'node services/memory/export.ts <file>',
  import: 'node services/memory/import.ts <file>',
  reindex: 'node services/memory/reindex.ts',
};

/** Runs a command. Wrong settings and a stop are reported in a line each, with exit code 1. */
export async function runCommand(name: string, work: (command: Command) => Promise<void>): Promise<void> {
  const usage = `usage: ${usages[name] ?? ''}\n  The store is that of the settings: deploy/settings.md`;
  const { positionals: args } = readCommandLine({ usage, most: name === 'reindex' ? 0 : Infinity });
  const stopping = stopSignal();
  try {
    const { values, log } = beginProcess(`memory-${name}`, {
      settings: memoryStoreSettings,
      checks: memoryStoreChecks,
      env: processEnv(),
    });
    const print = (line: string): void => {
      process.stdout.write(`${line}\n`);
    };
    await work({ values, log, embedder: openEmbedder(values), stopping, args, print });
  } catch (error) {
    process.exitCode = 1;
    if (stopping.aborted) process.stderr.write('stopped before it was done; it can be run again\n');
    else if (error instanceof ConfigError) process.stderr.write(`${error.message}\n`);
    else throw error;
  }
}

/** The file in a command's only argument. @throws ConfigError when there is none, or there are more. */
export function fileOf({ args: [file, ...more] }: Pick<Command, 'args'>, usage: string): string {
  if (file === undefined || more.length > 0) throw new ConfigError(`usage: ${usage}`);
  return file;
}

/** Calls `report` with a growing count after every `step`. */
export function createProgress(step: number, report: (count: number) => void): (count: number) => void {
  let reported = 0;
  return (count) => {
    if (count < reported + step) return;
    reported = count;
    report(count);
  };
}
