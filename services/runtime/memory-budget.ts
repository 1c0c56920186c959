import { totalmem } from 'node:os';
import { integer, type Env, type Settings, type Values } from '@agent-workflow/kit/env';

/** Least budget in MiB: a process that has just started uses about 150 of them. */
const leastMiB = 192;
/** Where nothing bounds the memory of the process. The charts give as much. */
const usualMiB = 512;
const bytesPerMiB = 1024 * 1024;

/** How much memory a process may use. */
export const memoryBudgetSettings = {
  MEMORY_BUDGET_MB: integer(
    undefined,
    `Memory that the process may use in all, in MiB: its caches, what it holds at once and how its heap grows are shares of it; unset, the memory limit of its cgroup (its container), else ${String(usualMiB)}`,
    { min: leastMiB, max: 1_048_576 },
  ),
} satisfies Settings;

/** What bounds the memory of a process beside its settings, in bytes. */
interface Machine {
  /** The limit of the cgroup, of either version; Node gives 0 where there is none, or a number beyond the memory of the machine. */
  readonly limit: number;
  readonly total: number;
}

const thisMachine = (): Machine => ({ limit: process.constrainedMemory(), total: totalmem() });

/** The bytes that the process may use in all. */
export const memoryBudget = (
  { MEMORY_BUDGET_MB: mebibytes }: Values<typeof memoryBudgetSettings>,
  machine: Machine = thisMachine(),
): number => (mebibytes === undefined ? defaultBudget(machine) : mebibytes * bytesPerMiB);

/** The budget that an environment gives before its settings are read; the default where its text is no value of the setting. */
export function memoryBudgetOf(env: Env): number {
  const read = memoryBudgetSettings.MEMORY_BUDGET_MB.read(env['MEMORY_BUDGET_MB'] ?? '');
  return memoryBudget({ MEMORY_BUDGET_MB: typeof read === 'number' ? read : undefined });
}

/** A container below the least budget gets the least: its limit holds anyway. */
const defaultBudget = ({ limit, total }: Machine): number =>
  limit > 0 && limit < total ? Math.max(limit, leastMiB * bytesPerMiB) : usualMiB * bytesPerMiB;
