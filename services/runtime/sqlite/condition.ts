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

/** Which uses of a file fail at the moment; each change of that is reported. Disposal ends its clocks. */
export class Condition implements Disposable {
  readonly #path: string;
  readonly #health: PartHealth;
  readonly #probe: () => void;
  readonly #reasons = new Map<Use, string>();
  /** By use, the code of the failure that its reason was found for: the same failure again has the same reason. */
  readonly #codes = new Map<Use, unknown>();
  readonly #clocks = new Map<Use, NodeJS.Timeout>();
  /**
   * Why a damaged file may not be used at all; `undefined` while nothing is known of damage. What is left of it cannot be distinguished from what was
   * written: a list without its rows looks like one that never had any.
   */
  refusal: ServiceError | undefined;
  #isClosed = false;

  constructor({ path, health = unwatchedPart, probe }: ConditionOptions) {
    this.#path = path;
    this.#health = health;
    this.#probe = probe;
  }

  /**
   * An error for the store's reasons is reported; any other says nothing about the file. Damage is found by any use, and stands until the
   * file is opened again.
   */
  fails(found: Use, error: unknown): void {
    const named = new Error(`${this.#path}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
    const isDamaged = isDamage(error);
    if (isDamaged) this.refusal ??= unavailable('the store cannot be read right now', named);
    const use = isDamaged ? 'read' : found;
    const isOurs = use === 'sync' || use === 'checkpoint';
    const code = codeOf(error);
    if (!this.#reasons.has(use) || this.#codes.get(use) !== code) {
      const reason = isDamaged
        ? damaged
        : (fileReason(this.#path, error) ?? (isOurs ? 'for a reason that the log has' : undefined));
      if (reason === undefined) return;
      this.#codes.set(use, code);
      this.#reasons.set(use, `${failing[use]}: ${reason}`);
    }
    this.#health.fails(
      [...this.#reasons.values()].join('; '),
      named,
      this.#reasons.has('read') ? 'nothing' : 'reading',
    );
    if (use === 'read') this.#after(use, readAgainMs, () => this.works(use));
    if (use === 'write' && !this.#clocks.has(use)) this.#after(use, probeMs, this.#tryToWrite);
  }

  works(use: Use): void {
    if (use === 'read' && this.refusal) return;
    if (this.#reasons.delete(use) && this.#reasons.size === 0) this.#health.works();
  }

  readonly #tryToWrite = (): void => {
    try {
      this.#probe();
    } catch (error) {
      this.fails('write', error);
      if (!this.refusal) this.#after('write', probeMs, this.#tryToWrite);
      return;
    }
    this.#clocks.delete('write');
    this.works('write');
  };

  #after(use: Use, ms: number, act: () => void): void {
    clearTimeout(this.#clocks.get(use));
    if (!this.#isClosed) this.#clocks.set(use, setTimeout(act, ms).unref());
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const clock of this.#clocks.values()) clearTimeout(clock);
  }
}
