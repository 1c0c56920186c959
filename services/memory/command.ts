import { ConfigError, processEnv, type Values } from '@agent-workflow/kit/env';
import { stopSignal } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import { beginProcess } from '@agent-workflow/runtime/process';
import { createEmbedder, memoryStoreSettings } from './config.ts';
import type { Embedder } from './ports/port.ts';

/** What a command on the memories is given. */
export interface Command {
  readonly values: Values<typeof memoryStoreSettings>;
  readonly log: Log;
  readonly embedder: Embedder;
  readonly stopping: AbortSignal;
  /** The words after the command's name. */
  readonly words: readonly string[];
  readonly say: (line: string) => void;
}

/** The life of a command: what it cannot do is said in a line each. */
export async function runCommand(name: string, work: (command: Command) => Promise<void>): Promise<void> {
  const stopping = stopSignal();
  try {
    const { values, log } = beginProcess(`memory-${name}`, memoryStoreSettings, processEnv());
    const embedder = await createEmbedder(values);
    const say = (line: string): void => {
      process.stdout.write(`${line}\n`);
    };
    await work({ values, log, embedder, stopping, words: process.argv.slice(2), say });
  } catch (error) {
    process.exitCode = 1;
    if (stopping.aborted) process.stderr.write('stopped before it was done; it can be run again\n');
    else if (error instanceof ConfigError) process.stderr.write(`${error.message}\n`);
    else throw error;
  }
}

/** The one file that a command is about. @throws ConfigError when it is not named. */
export function fileOf({ words: [file, ...more] }: Pick<Command, 'words'>, usage: string): string {
  if (file === undefined || more.length > 0) throw new ConfigError(`usage: ${usage}`);
  return file;
}

/** Calls `say` for every `step`-th of a count that grows. */
export function createProgress(step: number, say: (count: number) => void): (count: number) => void {
  let said = 0;
  return (count) => {
    if (count < said + step) return;
    said = count;
    say(count);
  };
}
