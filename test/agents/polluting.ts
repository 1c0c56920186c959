import { START, StateGraph, textOf } from '@agent-workflow/graph';

/** Adds members to the objects of everybody, as packages of long ago do. */
function pollute(): void {
  const call = (): string => 'a function';
  Object.assign(Object.prototype, { polluted: 'a text', pollutedCall: call, pollutedObject: { of: 'an object' } });
  Object.assign(Array.prototype, { pollutedList: call });
}

if (process.env['POLLUTE'] === 'load') pollute();

/** Adds them when it is loaded with `POLLUTE=load`, and when it is asked to. */
export const graph = new StateGraph({})
  .addNode('echo', ({ context }, { emit }) => {
    if (context.map(textOf).includes('pollute')) pollute();
    emit('Here.');
  })
  .addEdge(START, 'echo')
  .compile();
