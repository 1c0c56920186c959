import { END, START, StateGraph, callsTools, field, textOf, toolNode } from '@agent-workflow/graph';

/**
 * Does what the last message says: `fail` throws, `rounds 3` works three rounds, `call look` asks for the tool `look`, under
 * the id `call-1` or the one that follows, `config` says the config of the run;
 * anything else it says back.
 */
export const graph = new StateGraph({
  rounds: field<number>({ type: 'number', description: 'Rounds worked', default: 0 }),
  notes: field<string[]>({
    type: 'array',
    description: 'What was noted',
    default: [],
    reducer: (notes, more) => [...notes, ...more],
  }),
})
  .addNode('obey', (state, { emit, config }) => {
    const last = state.context.at(-1);
    const [order, operand = '', id = 'call-1'] = last ? textOf(last).split(' ') : [];
    if (order === 'fail') throw new Error('told to');
    if (order === 'call') emit({ type: 'tool_call', id, name: operand, args: { at: 'noon' } });
    else if (order === 'config') emit(JSON.stringify(config));
    else if (order !== 'rounds') emit(last?.role === 'tool' ? 'thank you' : `you said ${last ? textOf(last) : ''}`);
    return { rounds: state.rounds + 1 };
  })
  .addNode('tools', toolNode([]))
  .addEdge(START, 'obey')
  .addConditionalEdges('obey', (state) => {
    if (callsTools(state)) return 'tools';
    const last = state.context.at(-1);
    const [order, operand] = last ? textOf(last).split(' ') : [];
    return order === 'rounds' && state.rounds < Number(operand) ? 'obey' : END;
  })
  .addEdge('tools', 'obey')
  .compile();
