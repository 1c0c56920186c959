import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const entry = fileURLToPath(new URL('../../services/command/entry.js', import.meta.url));

/** How a command has ended, and what it has written. */
export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly complaint: string;
}

/** Runs `agent-workflow keys` as an operator does, beside the process that serves. */
export async function keysCommand(env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, [entry, 'keys', ...args], { env: { ...process.env, ...env } });
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const [out, complaint] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await exited;
  return { code, out, complaint };
}
