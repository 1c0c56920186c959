import { distanceMetrics, memoryTypes as allTypes, retrievalStrategies } from '@agent-workflow/protos/lists';
import test from 'ava';
import { columnsOf, firstBoxes } from './comparison.ts';
import { readNumber, readObjectIfAny } from '../../ui/boxes.ts';
import { memoryTypes, metrics, strategies } from './memory-shapes.ts';
import { memoriesText, noSelection, readSelection, selectionText, toForget } from './selection.ts';

test('a comparison has a column for each strategy by one metric, or for each metric by one strategy', (t) => {
  const boxes = { ...firstBoxes, query: 'tea', category: 'taste', limit: '3', score_threshold: '0.5' };
  const columns = columnsOf({ ...boxes, metric: 'manhattan' });
  const queries = 'value' in columns ? columns.value.map(({ query }) => query) : [];
  t.deepEqual(
    queries.map((query) => query.retrieval_strategy),
    [...retrievalStrategies],
  );
  for (const query of queries)
    t.like(query, { query: 'tea', category: 'taste', limit: 3, score_threshold: 0.5, distance_metric: 'manhattan' });
  const byMetric = columnsOf({ ...boxes, compare: 'metrics', strategy: 'hybrid' });
  t.deepEqual('value' in byMetric ? byMetric.value.map(({ query }) => query.distance_metric) : [], [
    ...distanceMetrics,
  ]);
});

test('the lists of the page are those of the service', (t) => {
  t.deepEqual(Object.keys(memoryTypes).toSorted(), [...allTypes].toSorted());
  t.deepEqual(Object.keys(strategies), [...retrievalStrategies]);
  t.deepEqual(Object.keys(metrics), [...distanceMetrics]);
});

test('every box that cannot be read is named, and nothing is searched', (t) => {
  const wrong = { query: ' ', limit: '0', score_threshold: '2', filters: '[1]', options: '{' };
  const read = columnsOf({ ...firstBoxes, ...wrong });
  t.deepEqual('faults' in read ? Object.keys(read.faults).toSorted() : [], Object.keys(wrong).toSorted());
});

test('a box of JSON says its name and what is wrong', (t) => {
  t.deepEqual(readObjectIfAny('Metadata', ' '), { value: undefined });
  t.deepEqual(readObjectIfAny('Metadata', '{"a":1}'), { value: { a: 1 } });
  for (const text of ['1', 'null', '[]', '{']) {
    const read = readObjectIfAny('Metadata', text);
    t.regex('fault' in read ? read.fault : '', /^Metadata (is not JSON|must be)/);
  }
  t.deepEqual(readNumber('Limit', 'x', { least: 1, most: 9 }), { fault: 'Limit must be a number from 1 to 9' });
});

test('a selection without a condition forgets all, and only when it says so', (t) => {
  t.deepEqual(readSelection(noSelection), { value: {} });
  t.deepEqual(toForget({}), { options: { all: true } });
  const boxes = { memory_type: 'semantic', category: 'a', thread_id: 't', filters: '{"year":{"$gte":2020}}' };
  const read = readSelection(boxes);
  const selection = 'value' in read ? read.value : {};
  t.deepEqual(toForget(selection), selection);
  t.is(selectionText(selection), 'type semantic, category a, thread t, metadata {"year":{"$gte":2020}}');
  t.deepEqual([1, 0, 1200].map(memoriesText), ['1 memory', '0 memories', '1,200 memories']);
});
