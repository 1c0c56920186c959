import { spawn, type ChildProcess } from 'node:child_process';
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
  let service = startService();
  print('watching for changes');
  while (!stopping.aborted) {
    const changed = await sources.next(stopping);
    if (changed === undefined) break;
    print(`${changed} has changed`);
    await stop(service);
    service = startService();
  }
  await stop(service);
  return 0;
}

const print = (line: string): void => void process.stdout.write(`dev: ${line}\n`);

function startService(): ChildProcess {
  const main = process.argv[1] ?? fileURLToPath(new URL('../main.ts', import.meta.url));
  const child = spawn(process.execPath, [main, 'start'], {
    env: { DRAIN_SECONDS: '1', ...readDotEnv(), ...processEnv() },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  createInterface({ input: child.stdout }).on('line', (line) => process.stdout.write(`${toLogText(line)}\n`));
  child.once('exit', (code, signal) => {
    // Also what the watchdog ends, by SIGKILL. It is ended here by SIGTERM.
    if (code || (signal && signal !== 'SIGTERM' && signal !== 'SIGINT'))
      print(`the service does not run; it is started again when a file changes`);
  });
  return child;
}

/** What `.env` of the working folder sets; the environment comes before it. */
const readDotEnv = (): Env => (existsSync('.env') ? parseEnv(readFileSync('.env', 'utf8')) : {});

async function stop(service: ChildProcess): Promise<void> {
  if (service.exitCode !== null || service.signalCode !== null) return;
  const ended = once(service, 'exit');
  service.kill('SIGTERM');
  await ended;
}
