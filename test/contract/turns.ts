/** Lets so many go on at once; whoever has had a turn ends it. Who came last is next: a test of many turns comes to an end. */
export function createTurns(count: number): () => Promise<() => void> {
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
