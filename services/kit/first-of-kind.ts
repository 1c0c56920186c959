/** Says whether something of this kind is the first in a while: a log line that repeats is then written once. */
type FirstOfKind = (kind: string) => boolean;

interface FirstOfKindOptions {
  /** How long the others of a kind are silent, in milliseconds. */
  readonly silentMs: number;
  /**
   * Absent: every silence is as long. Given: each silence is twice as long as the one before, up to this many milliseconds. A kind that stays absent
   * after a silence for as long as that took begins again with the short one.
   */
  readonly mostSilentMs?: number;
  /** How many kinds are remembered; the one that was first remembered is forgotten for another. */
  readonly max: number;
  /** A clock in milliseconds that never goes back. */
  readonly now?: () => number;
}

interface Silence {
  readonly since: number;
  readonly ms: number;
}

/** Remembers for each kind since when it is silent. What comes while a kind is silent does not lengthen the silence. */
export function createFirstOfKind(options: FirstOfKindOptions): FirstOfKind {
  const { silentMs, mostSilentMs = silentMs, max, now = () => performance.now() } = options;
  const silences = new Map<string, Silence>();

  const nextMs = ({ since, ms }: Silence): number =>
    now() - since < 2 * ms ? Math.min(2 * ms, mostSilentMs) : silentMs;

  return (kind) => {
    const last = silences.get(kind);
    if (last && now() - last.since < last.ms) return false;
    silences.delete(kind);
    silences.set(kind, { since: now(), ms: last ? nextMs(last) : silentMs });
    const [oldest] = silences.keys();
    if (silences.size > max && oldest !== undefined) silences.delete(oldest);
    return true;
  };
}
