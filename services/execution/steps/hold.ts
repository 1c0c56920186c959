/** Does the work now, or when it may be done. `content` is the JSON value that is kept while it waits. */
export type Later = (content: unknown, work: () => void) => void;

/** Holds nothing back. */
export const atOnce: Later = (_content, work) => {
  work();
};

/** Holds back what a step that began early would publish, until it may. */
interface Hold {
  readonly whenOpen: Later;
  /** Resolves when the hold opens; rejects with the reason when the signal fires before. */
  readonly opened: () => Promise<void>;
  /** Does what was held back, in its order. */
  readonly open: () => void;
}

/** The bounds of what is held back. Each entry takes some 200 bytes beside its content. */
const maxCharacters = 1024 * 1024;
const maxCount = 4096;

const charactersOf = (content: unknown): number =>
  typeof content === 'string' ? content.length : JSON.stringify(content).length;

/**
 * A hold for a step that ends with `signal`.
 * @param onFull called when more would be held than 1 Mi characters or 4,096 entries. Nothing is held from then on.
 */
export function createHold(signal: AbortSignal, onFull: () => void): Hold {
  let held: (() => void)[] | undefined = [];
  let characters = 0;
  let isFull = false;
  const gate = Promise.withResolvers<undefined>();
  // Nodes may never wait for it.
  gate.promise.catch(() => undefined);
  const refuse = (): void => gate.reject(signal.reason as Error);
  signal.addEventListener('abort', refuse, { once: true });
  return {
    whenOpen: (content, work) => {
      if (!held) {
        work();
        return;
      }
      if (isFull) return;
      characters += charactersOf(content);
      if (characters <= maxCharacters && held.length < maxCount) {
        held.push(work);
        return;
      }
      isFull = true;
      held = [];
      onFull();
    },
    opened: async () => gate.promise,
    open: () => {
      const waiting = held ?? [];
      held = undefined;
      try {
        for (const work of waiting) work();
      } finally {
        signal.removeEventListener('abort', refuse);
        gate.resolve(undefined);
      }
    },
  };
}
