import test from 'ava';
import { neededValues } from './needed-values.ts';

test('a search reads of the values of threads what it shows', (t) => {
  for (const [showing, needed] of [
    [{}, 'everything'],
    [{ select: ['thread_id', 'values'] }, 'everything'],
    [{ select: ['thread_id'] }, 'nothing'],
    [{ select: ['thread_id'], extract: { a: 'metadata.graph_id' } }, 'nothing'],
    [{ select: ['thread_id'], extract: { a: 'values.count', b: 'values.notes[0].text' } }, 'fields'],
    [{ select: ['thread_id'], extract: { a: 'values.messages_seen' } }, 'fields'],
    [{ select: ['thread_id'], extract: { a: 'values.count', b: 'values.messages[-1].content' } }, 'everything'],
    [{ select: ['thread_id'], extract: { a: 'values.messages' } }, 'everything'],
    [{ select: ['thread_id'], extract: { a: 'values' } }, 'everything'],
    [{ select: ['thread_id'], extract: { a: 'values[0]' } }, 'everything'],
    [{ extract: { a: 'values.count' } }, 'everything'],
    [{ select: [], extract: { a: 'values.a' } }, 'everything'],
  ] as const)
    t.is(neededValues(showing), needed, JSON.stringify(showing));
});
