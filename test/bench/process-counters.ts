import { readFileSync, readdirSync } from 'node:fs';

/** Kernel clock ticks a second, as `/proc` counts processor time: 100 on every Linux that Node runs on. */
const ticksPerSecond = 100;

/** Processor time that a process has used, user and system, in milliseconds; `undefined` where there is no `/proc`. */
export function cpuMs(pid: number): number | undefined {
  const stat = read(`/proc/${String(pid)}/stat`);
  if (stat === undefined) return undefined;
  const fields = fieldsOf(stat);
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond;
}

/** Processor time that the processes below this one have used, by the name of their program, in milliseconds. */
export function cpuMsBelow(): ReadonlyMap<string, number> {
  const processes = new Map(
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => {
        const stat = read(`/proc/${name}/stat`);
        if (stat === undefined) return [];
        const program = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
        return [[Number(name), { program, parent: Number(fieldsOf(stat)[1]) }] as const];
      }),
  );
  const isBelow = (pid: number): boolean => {
    const parent = processes.get(pid)?.parent;
    return parent !== undefined && (parent === process.pid || isBelow(parent));
  };
  const sums = new Map<string, number>();
  for (const [pid, { program }] of processes)
    if (isBelow(pid)) sums.set(program, (sums.get(program) ?? 0) + (cpuMs(pid) ?? 0));
  return sums;
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

/** The name in parentheses may hold spaces: fields are counted from after it. */
const fieldsOf = (stat: string): readonly string[] => stat.slice(stat.lastIndexOf(')') + 2).split(' ');

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
