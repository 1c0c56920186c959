import { unavailable, type ServiceError } from '@agent-workflow/kit/errors';
import { unwatchedPart, type PartHealth } from '../health.ts';
import { codeOf, damaged, isDamage } from './errors.ts';
import { fileReason } from './file-reason.ts';

/** What a file is used for; each may fail by itself. */
type Use = 'read' | 'write' | 'sync' | 'checkpoint';

const failing: Readonly<Record<Use, string>> = {
  read: 'it cannot be read',
  write: 'it cannot be written',
  sync: 'what was written is not known to be on disk',
  checkpoint: 'its log cannot be copied into it',
};

/** Which uses of a file fail at the moment. Disposal ends its clocks. */
export interface Condition extends Disposable {
  /**
   * An error for the store's reasons is reported; any other says nothing about the file. Damage is found by any use, and stands until the
   * file is opened again.
   */
  readonly fails: (use: Use, error: unknown) => void;
  readonly works: (use: Use) => void;
  /**
   * Why a damaged file may not be used at all; `undefined` while nothing is known of damage. What is left of it cannot be distinguished from what was
   * written: a list without its rows looks like one that never had any.
   */
  readonly refusal: () => ServiceError | undefined;
}

/** Milliseconds between two attempts to write, while writes fail and nobody else may come to write. */
const probeMs = 1000;
/** Milliseconds after its last failure until reading counts as working again. */
const readAgainMs = 30_000;

interface ConditionOptions {
  /** The file, which is named for the log alone. */
  readonly path: string;
  readonly health: PartHealth | undefined;
  /** Writes a little: it finds out when the file can be written again. */
  readonly probe: () => void;
}

/** Keeps which uses of a file fail, and reports each change of that. */
export function createCondition({ path, health = unwatchedPart, probe }: ConditionOptions): Condition {
  const reasons = new Map<Use, string>();
  /** By use, the code of the failure that its reason was found for: the same failure again has the same reason. */
  const codes = new Map<Use, unknown>();
  const clocks = new Map<Use, NodeJS.Timeout>();
  let damage: ServiceError | undefined;
  let isClosed = false;

  const after = (use: Use, ms: number, act: () => void): void => {
    clearTimeout(clocks.get(use));
    if (isClosed) return;
    clocks.set(use, setTimeout(act, ms).unref());
  };
  const works = (use: Use): void => {
    if (use === 'read' && damage) return;
    if (reasons.delete(use) && reasons.size === 0) health.works();
  };
  const tryToWrite = (): void => {
    try {
      probe();
    } catch (error) {
      fails('write', error);
      if (!damage) after('write', probeMs, tryToWrite);
      return;
    }
    clocks.delete('write');
    works('write');
  };
  const fails = (found: Use, error: unknown): void => {
    const named = new Error(`${path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    const isDamaged = isDamage(error);
    if (isDamaged) damage ??= unavailable('the store cannot be read right now', named);
    const use = isDamaged ? 'read' : found;
    const isOurs = use === 'sync' || use === 'checkpoint';
    const code = codeOf(error);
    if (!reasons.has(use) || codes.get(use) !== code) {
      const reason = isDamaged
        ? damaged
        : (fileReason(path, error) ?? (isOurs ? 'for a reason that the log has' : undefined));
      if (reason === undefined) return;
      codes.set(use, code);
      reasons.set(use, `${failing[use]}: ${reason}`);
    }
    health.fails([...reasons.values()].join('; '), named, reasons.has('read') ? 'nothing' : 'reading');
    if (use === 'read') after(use, readAgainMs, () => works(use));
    if (use === 'write' && !clocks.has(use)) after(use, probeMs, tryToWrite);
  };

  return {
    fails,
    works,
    refusal: () => damage,
    [Symbol.dispose]: () => {
      isClosed = true;
      for (const clock of clocks.values()) clearTimeout(clock);
    },
  };
}
