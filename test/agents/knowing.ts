import { END, START, StateGraph, textOf } from '@agent-workflow/graph';

/** Does with its memory what the last message says, as JSON: `[method, …arguments]`, and says what came of it, or the name of the error. */
export const graph = new StateGraph({})
  .addNode('do', async ({ context }, { memory, emit }) => {
    const [method, ...given] = JSON.parse(context.map(textOf).at(-1) ?? '') as [keyof typeof memory, ...unknown[]];
    const call = memory[method] as (...args: readonly unknown[]) => Promise<unknown>;
    const outcome = await call(...given).then(
      (value) => ({ value }),
      (error: unknown) => ({ error: (error as Error).name }),
    );
    emit(JSON.stringify(outcome));
  })
  .addEdge(START, 'do')
  .addEdge('do', END)
  .compile();
