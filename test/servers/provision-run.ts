import { spawn } from 'node:child_process';
import { once } from 'node:events';

interface RunOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** So much of what a command printed is told when it fails. */
const shownLines = 20;

/**
 * Runs a command to its end, and is silent about it when it does well.
 * @throws Error with the last lines that it printed.
 */
export async function runToEnd(command: string, args: readonly string[], options: RunOptions = {}): Promise<void> {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  const keep = (chunk: string): void => void (printed = (printed + chunk).slice(-10_000));
  child.stdout.setEncoding('utf8').on('data', keep);
  child.stderr.setEncoding('utf8').on('data', keep);
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  if (code === 0) return;
  const shown = printed.trimEnd().split('\n').slice(-shownLines).join('\n');
  throw new Error(`${command} ${args.join(' ')} ended with ${code ?? signal ?? 'nothing'}:\n${shown}`);
}
