import { END, START, StateGraph, field } from '@agent-workflow/graph';

const town = { enum: ['Lisbon', 'Porto'] };

/** Says which season its state holds. Its fields have schemas: values to choose from, bounds, a reference. */
export const graph = new StateGraph({
  season: field<string>({ type: 'string', schema: { type: 'string', enum: ['summer', 'winter'] }, default: 'winter' }),
  days: field<number>({ type: 'integer', schema: { type: 'integer', minimum: 1, maximum: 30 }, default: 1 }),
  town: field<string>({ type: 'string', schema: { $defs: { town }, $ref: '#/$defs/town' } }),
})
  .addNode('say', (state, { emit }) =>
    emit(`In ${state.season}, for ${String(state.days)} days, to ${state.town ?? 'no town'}.`),
  )
  .addEdge(START, 'say')
  .addEdge('say', END)
  .compile();
