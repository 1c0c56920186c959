/** Says whether something of this kind is the first in a while: a log line that repeats is then written once. */
type FirstOfKind = (kind: string) => boolean;

interface FirstOfKindOptions {
  /** How long the others of a kind are silent, in milliseconds. */
  readonly silentMs: number;
  /** How many kinds are remembered; the one that was first remembered is forgotten for another. */
  readonly max: number;
  /** A clock in milliseconds that never goes back. */
  readonly now?: () => number;
}

/** Remembers when something of each kind last was the first. What comes while a kind is silent does not lengthen the silence. */
export function createFirstOfKind({ silentMs, max, now = () => performance.now() }: FirstOfKindOptions): FirstOfKind {
  const since = new Map<string, number>();
  return (kind) => {
    const at = since.get(kind);
    if (at !== undefined && now() - at < silentMs) return false;
    since.delete(kind);
    since.set(kind, now());
    const [oldest] = since.keys();
    if (since.size > max && oldest !== undefined) since.delete(oldest);
    return true;
  };
}
