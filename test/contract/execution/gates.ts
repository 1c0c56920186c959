import type { Message, NodeContext } from '@agent-workflow/graph';
import { lastUser } from './messages.ts';

/** Gates that nodes wait at until a test opens them: a node finds its gate by the text of the user's message. */
interface Gate {
  readonly name: string;
  readonly open: () => void;
  readonly opened: Promise<void>;
  /** Resolves when a node stands at the gate. */
  readonly entered: Promise<void>;
  readonly enter: () => void;
  /** Resolves when the signal of that node fires. */
  readonly fired: Promise<string>;
  readonly fire: () => void;
}

const allGates = new Map<string, Gate>();
export const gates = {
  next: (): Gate => {
    const opened = Promise.withResolvers<undefined>();
    const entered = Promise.withResolvers<undefined>();
    const fired = Promise.withResolvers<string>();
    const gate: Gate = {
      name: `gate ${String(allGates.size)}`,
      open: () => opened.resolve(undefined),
      opened: opened.promise,
      entered: entered.promise,
      enter: () => entered.resolve(undefined),
      fired: fired.promise,
      fire: () => fired.resolve('the signal fired'),
    };
    allGates.set(gate.name, gate);
    return gate;
  },
};

/** Waits at the gate that the last user message names; without one goes through. */
export async function passGate(context: readonly Message[], { signal }: NodeContext): Promise<void> {
  const gate = allGates.get(lastUser(context));
  if (!gate) return;
  signal.addEventListener('abort', gate.fire);
  gate.enter();
  await gate.opened;
}
