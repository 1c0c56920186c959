import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../until.ts';

/** What a process holds once its garbage is collected, and how it did since it was asked last. */
export interface MemoryReport {
  readonly residentBytes: number;
  /** Objects of JavaScript and the buffers that they hold. */
  readonly heldBytes: number;
  /** For how long its event loop was held up at most since the report before; 0 in the first. */
  readonly longestBlockMs: number;
}

export interface MemoryReports extends AsyncDisposable {
  /** What the processes are started with that are to report. */
  readonly env: Readonly<Record<string, string>>;
  readonly read: (pid: number) => Promise<MemoryReport>;
}

export const reportSignal = 'SIGUSR2';
export const reportPathOf = (folder: string, pid: number): string => join(folder, `${String(pid)}.json`);

/** Asks processes of the service what they hold in memory after a garbage collection. */
export async function openMemoryReports(): Promise<MemoryReports> {
  const folder = await mkdtemp(join(tmpdir(), 'memory-reports-'));
  return {
    env: { NODE_OPTIONS: `--import ${import.meta.resolve('./memory-report.ts')}`, MEMORY_REPORTS: folder },
    read: async (pid) => {
      const path = reportPathOf(folder, pid);
      await rm(path, { force: true });
      process.kill(pid, reportSignal);
      await until(() => existsSync(path));
      return JSON.parse(await readFile(path, 'utf8')) as MemoryReport;
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
