import { StateGraph, START, END, field, textOf } from '@agent-workflow/execution/graph';
export const graph = new StateGraph({ turns: field<number>({ type: 'number', default: 0, reducer: (a, b) => a + b }) })
  .addNode('echo', (state, ctx) => {
    ctx.emit('you said ');
    ctx.emit(textOf(state.context.at(-1)!));
    return { turns: 1 };
  })
  .addEdge(START, 'echo')
  .addEdge('echo', END)
  .compile();
