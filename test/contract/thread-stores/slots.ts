/** Gives the slot back. */
type FreeSlot = () => void;

/** Gives out so many slots at once. Of those that wait, the last to come is next: a test that takes many slots comes to an end. */
export function createSlots(count: number): () => Promise<FreeSlot> {
  const waiting: (() => void)[] = [];
  let left = count;
  const free = (): void => {
    const next = waiting.pop();
    if (next) next();
    else left += 1;
  };
  return async () => {
    if (left > 0) left -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    return free;
  };
}

/** Opens a place once there is a slot for it. Its disposal frees the slot. A test that opens its place twice takes one slot. */
export function withSlot<T extends AsyncDisposable>(
  takeSlot: () => Promise<FreeSlot>,
  open: (place: string) => Promise<T>,
): (place: string) => Promise<T> {
  const held = new Set<string>();
  return async (place) => {
    const free = held.has(place) ? () => undefined : await takeSlot();
    held.add(place);
    const leave = (): void => {
      held.delete(place);
      free();
    };
    try {
      const opened = await open(place);
      const close = async (): Promise<void> => {
        await opened[Symbol.asyncDispose]();
        leave();
      };
      return { ...opened, [Symbol.asyncDispose]: close };
    } catch (error) {
      leave();
      throw error;
    }
  };
}
