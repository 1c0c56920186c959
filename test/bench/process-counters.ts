import { readFileSync } from 'node:fs';

/** Kernel clock ticks a second, as `/proc` counts processor time: 100 on every Linux that Node runs on. */
const ticksPerSecond = 100;

/** Processor time that a process has used, user and system, in milliseconds; `undefined` where there is no `/proc`. */
export function cpuMs(pid: number): number | undefined {
  const stat = read(`/proc/${String(pid)}/stat`);
  // The name in parentheses may hold spaces: fields are counted from behind it.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (!fields) return undefined;
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond;
}

/** Bytes that a process has handed to write calls, in all; `undefined` where they cannot be read. */
export function writtenBytes(pid: number): number | undefined {
  const found = /^wchar: (\d+)$/m.exec(read(`/proc/${String(pid)}/io`) ?? '');
  return found ? Number(found[1]) : undefined;
}

/** Resident memory of a process, in MiB. */
export function residentMiB(pid: number): number | undefined {
  const found = /^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${String(pid)}/status`) ?? '');
  return found ? Number(found[1]) / 1024 : undefined;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
