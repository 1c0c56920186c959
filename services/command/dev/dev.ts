import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseEnv } from 'node:util';
import { processEnv, type Env } from '@agent-workflow/kit/env';
import { stopSignal } from '@agent-workflow/kit/life';
import { toLogText } from '@agent-workflow/kit/log-text';
import { watchSources } from './sources.ts';

/**
 * Serves the agent of the working folder, and starts the service over when a source changes. Threads, runs and events are on
 * disk: a run that is under way goes on after its last step. It ends with SIGINT or SIGTERM.
 */
export async function dev(): Promise<number> {
  const stopping = stopSignal();
  await using sources = await watchSources(process.cwd(), ({ message }) => {
    print(`files that are saved from here on are not seen: ${message}`);
  });
  let service = startService(stopping);
  print('watching for changes');
  while (!stopping.aborted) {
    const changed = await sources.next(stopping);
    if (changed === undefined) break;
    print(`${changed} has changed`);
    await service.stop();
    service = startService(stopping);
  }
  await service.stop();
  return 0;
}

const print = (line: string): void => void process.stdout.write(`dev: ${line}\n`);

interface Service {
  /** Resolves when the process has ended. */
  readonly stop: () => Promise<void>;
}

/** A process that ends by itself is reported, unless `stopping` has fired: Ctrl-C reaches it, too. */
function startService(stopping: AbortSignal): Service {
  const main = process.argv[1] ?? fileURLToPath(new URL('../main.ts', import.meta.url));
  const child = spawn(process.execPath, [main, 'start'], {
    env: { DRAIN_SECONDS: '1', ...readDotEnv(), ...processEnv() },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let isStopped = false;
  createInterface({ input: child.stdout }).on('line', (line) => process.stdout.write(`${toLogText(line)}\n`));
  child.once('exit', (code, signal) => {
    if (isStopped || stopping.aborted) return;
    const how = signal === null ? `with code ${String(code)}` : `by ${signal}`;
    print(`the service has ended ${how} and does not run; it is started again when a file changes`);
  });
  return {
    stop: async () => {
      isStopped = true;
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** What `.env` of the working folder sets; the environment comes before it. */
const readDotEnv = (): Env => (existsSync('.env') ? parseEnv(readFileSync('.env', 'utf8')) : {});
