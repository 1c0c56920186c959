import type { ReplicaEnd } from './cluster-replica.ts';

/** Says which process ended, and by what. */
export const toEndLine = ({ name, pid, code, signal }: ReplicaEnd): string =>
  `${name} (process ${pid}) ended, ${signal === null ? `with code ${String(code)}` : `by ${signal}`}; nothing starts it again`;

/** What pino calls its levels. */
const levels: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'WARN',
  50: 'ERROR',
  60: 'FATAL',
};

/** Known from where the line stands, or too long for one. */
const left = new Set(['config', 'level', 'time', 'service', 'msg', 'pid', 'hostname', 'err']);

/** A line of a process's log as a person reads it; one that is no log entry stays as it is. */
export function toLogLine(line: string): string {
  const entry = readEntry(line);
  if (!entry) return line;
  const rest = Object.entries(entry)
    .filter(([key]) => !left.has(key))
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const { message } = (entry['err'] ?? {}) as { readonly message?: string };
  const why = message === undefined ? [] : [`(${message})`];
  return [
    levels[Number(entry['level'])] ?? '',
    typeof entry['msg'] === 'string' ? entry['msg'] : '',
    ...why,
    ...rest,
  ].join(' ');
}

function readEntry(line: string): Readonly<Record<string, unknown>> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as Readonly<Record<string, unknown>>;
  } catch {
    return undefined;
  }
}
