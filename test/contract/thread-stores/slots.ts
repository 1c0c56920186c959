/** Ends a turn. */
type EndTurn = () => void;

/** Lets so many go on at once; whoever has had a turn ends it. Who came last is next: a test of many turns comes to an end. */
export function createTurns(count: number): () => Promise<EndTurn> {
  const waiting: (() => void)[] = [];
  let free = count;
  const end = (): void => {
    const next = waiting.pop();
    if (next) next();
    else free += 1;
  };
  return async () => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    return end;
  };
}

/** Opens in turn what is at a place. Its disposal ends the turn. A test that opens its place twice has one turn. */
export function inTurns<T extends AsyncDisposable>(
  takeTurn: () => Promise<EndTurn>,
  open: (place: string) => Promise<T>,
): (place: string) => Promise<T> {
  const held = new Set<string>();
  return async (place) => {
    const end = held.has(place) ? () => undefined : await takeTurn();
    held.add(place);
    const leave = (): void => {
      held.delete(place);
      end();
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
